/* How baselines come into a race: opened, made ready for the problem and proved right, in the worker. */
#ifndef GT_BASELINE_ENTER_H
#define GT_BASELINE_ENTER_H

#include "cublas.h"
#include "cublaslt.h"
#include "../worker/meter.h"
#include "../worker/residual.h"
#include "baseline.h"
#include "../worker/protocol.h"

/* What baselines are made ready with; the libraries stay open from problem to problem. */
typedef struct gt_entrance {
    const gt_driver *driver;
    CUstream stream;
    gt_meter *meter;
    gt_residual *residual;
    uint64_t seed; /* of the problem's data */
    gt_cublas *cublas; /* NULL: not asked for yet, or not to be had */
    gt_cublaslt *cublaslt;
    bool other_driver; /* not the CUDA driver, which these libraries would use behind our back */
} gt_entrance;

/* cuBLAS as a program calls it that names no algorithm, open from the first time on; NULL: *trial says why. */
gt_runner *gt_entrance_cublas(gt_entrance *entrance, gt_trial *trial);

/* Told what comes next, before anything of the baseline runs. */
typedef void gt_entrance_report(void *data, gt_phase phase);

/*
 * Makes a baseline ready for a problem; operands for timing are in *operands. A baseline with a choice of algorithms
 * has them timed for about search_s, in the order it expects them to be fast, and runs the fastest one that is right.
 * NULL if it cannot race: baseline->trial says why, and the context may be broken.
 */
gt_runner *gt_baseline_enter(gt_entrance *entrance, gt_baseline_id id, const gt_problem *problem, double search_s,
                          gt_entrance_report *report, void *data, gt_launch_operands *operands, gt_baseline *baseline);

#endif
