/*
 * Verification on operands whose rows or matrices lie more than 2^31 and 2^32 elements apart: one reservation of
 * addresses, with pages only where there is something. A kernel that computes offsets in 32 bits is found out here.
 */
#ifndef GT_FAR_H
#define GT_FAR_H

#include "runner.h"

#define GT_FAR_CHUNKS 6

typedef struct gt_far {
    CUdeviceptr base; /* 0: none */
    size_t bytes, chunk;
    int elements[2]; /* bytes of an element of A and B, and of C, that the pages are for */
    CUmemGenericAllocationHandle handles[GT_FAR_CHUNKS];
    CUdeviceptr mapped[GT_FAR_CHUNKS];
    int count;
} gt_far;

/*
 * Runs a candidate with these facts on operands whose rows lie so far apart, and on batches whose matrices do, small ones
 * and whole tiles. Makes the memory where it is not there yet; *had becomes whether it could be had: where not, nothing
 * is run, and that is no failure.
 */
bool gt_far_verify(gt_far *far, const gt_checks *checks, const gt_class *class, const gt_facts *facts, uint64_t seed,
                   gt_runner *runner, bool *had, gt_trial *trial);

void gt_far_finish(const gt_driver *driver, gt_far *far);

#endif
