/*
 * Runners: something that computes a product on the device, a candidate or cuBLAS, so that verification and timing
 * need not care which. What goes wrong with one becomes its trial's outcome: the functions here and in the stages
 * built on them return whether the trial goes on, and fill in outcome and detail where it does not.
 */
#ifndef GT_RUNNER_H
#define GT_RUNNER_H

#include "../../db/trial.h"
#include "../../src/core/launch.h"
#include "checks.h"
#include "guarded.h"

typedef struct gt_runner gt_runner;
struct gt_runner {
    /* Makes the runner ready for launches on one problem. */
    bool (*prepare)(gt_runner *runner, const gt_problem *problem, gt_trial *trial);
    /* Enqueues one product: no allocation, no waiting, safe in stream capture. */
    CUresult (*launch)(const gt_runner *runner, const gt_launch_operands *operands);
    /* Adds the changed bytes around the workspace to counters[0], and those of its counters that are not zero to
     * counters[1]. NULL: there is no workspace. */
    CUresult (*inspect)(const gt_runner *runner, const gt_checks *checks, CUdeviceptr counters);
    /* On the software GPU: keeps launches from what surrounds the workspace, or no longer. NULL: there is none. */
    void (*protect)(const gt_runner *runner, bool on);
    size_t counter_bytes, looked_at; /* of its counters: for this problem, and the most that were inspected so far */
    int64_t parts; /* parts of K to launch with, where the kernel takes any; 0: as it was made */
    bool dealt;    /* one cluster's blocks make all copies of operands that are made first, which any number may */
    bool epilogue; /* it has epilogues, which are checked too */
    bool plain; /* only alpha = 1 and beta = 0 are checked */
};

/* A candidate. The workspace is its own: contestants of a race live side by side. */
typedef struct gt_kernel_runner {
    gt_runner runner;
    const gt_driver *driver;
    const gt_device *device;
    CUstream stream;
    const gt_kernel *kernel;
    gt_module module;
    gt_launch launch;
    gt_launch_operands own; /* its workspace and counters */
    gt_guarded workspace, counters;
    bool cleared; /* the workspace held zeros last, not poison */
} gt_kernel_runner;

/* Loads a candidate's code; notes registers and spills in the trial. device and kernel must outlive the runner. A runner
 * that failed here holds nothing. */
bool gt_kernel_runner_init(const gt_driver *driver, const gt_device *device, CUstream stream, const gt_kernel *kernel,
                           const gt_code *code, gt_kernel_runner *runner, gt_trial *trial);
void gt_kernel_runner_finish(gt_kernel_runner *runner);

/* Sets outcome and detail; returns false. */
bool gt_trial_fail(gt_trial *trial, gt_outcome outcome, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Nothing of the candidate has run, and the detail is the machine's: the outcome becomes GT_TRIAL_NOT_TRIED; returns false. */
bool gt_trial_excuse(gt_trial *trial);

/* Says more behind what the detail says. */
void gt_trial_add(gt_trial *trial, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* true for CUDA_SUCCESS; else the outcome that fits the error, "CUDA_ERROR_... while ...". */
bool gt_trial_check(gt_trial *trial, const gt_driver *driver, CUresult result, const char *doing);

#endif
