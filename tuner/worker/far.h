/*
 * Verification on operands whose rows or matrices lie more than 2^31 and 2^32 elements apart, and on rows of which those
 * of a tile and of a step of K do: one reservation of addresses, with a little memory mapped at many places. A kernel
 * that computes offsets in 32 bits is found out here.
 */
#ifndef GT_FAR_H
#define GT_FAR_H

#include "runner.h"

#define GT_FAR_PLACES 260

typedef struct gt_far {
    CUdeviceptr reserved, first; /* addresses, and the first place; 0: none */
    size_t bytes;                /* that are reserved */
    CUmemGenericAllocationHandle memory;
    int mapped; /* places */
} gt_far;

/*
 * Runs a candidate on operands whose rows lie so far apart, and on batches whose matrices do, small ones and whole tiles.
 * Makes the memory where it is not there yet; *had becomes whether it could be had: where not, nothing is run, and that is
 * no failure.
 */
bool gt_far_verify(gt_far *far, const gt_checks *checks, const gt_class *class, const gt_kernel *kernel, uint64_t seed,
                   gt_runner *runner, bool *had, gt_trial *trial);

void gt_far_finish(const gt_driver *driver, gt_far *far);

#endif
