/*
 * Verification on operands whose rows or matrices lie more than 2^31 and 2^32 elements apart, and on rows of which those
 * of a tile, of a step of K and of all steps that a block takes at once do: one reservation of addresses, with a little memory mapped at many places. A kernel
 * that computes offsets in 32 bits is found out here.
 */
#ifndef GT_FAR_H
#define GT_FAR_H

#include "runner.h"

typedef struct gt_far {
    CUdeviceptr reserved, first; /* addresses, and the first place; 0: none */
    size_t bytes;                /* that are reserved */
    CUmemGenericAllocationHandle memory;
    int mapped, wanted; /* places: that there are, and that the products have */
    struct gt_far_product *products; /* drawn for a kernel */
    size_t count;
} gt_far;

/* Draws operands whose rows lie so far apart, and batches whose matrices do, small ones and whole tiles. Only the host
 * works. */
gt_status gt_far_draw(gt_far *far, const gt_class *class, const gt_kernel *kernel, uint64_t seed);

/* Runs a candidate on them. Makes the memory where it is not there yet; where it cannot be had, nothing is mapped and
 * nothing is run, and that is no failure. */
bool gt_far_run(gt_far *far, const gt_checks *checks, const gt_class *class, gt_runner *runner, gt_trial *trial);

/* Compares what was run with what is right, on the host alone. */
bool gt_far_judge(const gt_far *far, gt_trial *trial);

#endif
