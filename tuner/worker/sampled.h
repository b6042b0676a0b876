/*
 * Verification of some blocks of a problem that is too large to run whole, on the software GPU: it runs a few tiles
 * with all of their K, and what they wrote is held against the reference. residual.h checks a smaller problem beside.
 */
#ifndef GT_SAMPLED_H
#define GT_SAMPLED_H

#include "buffers.h"

typedef struct gt_sampled {
    const gt_checks *checks;
    uint64_t seed; /* of the data that is ready */
    gt_buffers *buffers; /* the problem's operands, shared with the timing */
    bool ready;
    void *a, *b; /* on the host, as they are stored */
} gt_sampled;

void gt_sampled_init(const gt_checks *checks, gt_buffers *buffers, gt_sampled *sampled);

/* Fills the operands of a problem from a seed; quick where that is done already. */
bool gt_sampled_prepare(gt_sampled *sampled, const gt_problem *problem, uint64_t seed, gt_trial *trial);

/* Runs some blocks of a candidate, prepared for the problem, with alpha 1 and beta 0, and checks what they wrote.
 * *share becomes how much of C that was. */
bool gt_sampled_verify(gt_sampled *sampled, const gt_runner *runner, const gt_launch_operands *operands, double *share,
                       gt_trial *trial);

#endif
