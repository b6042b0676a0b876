#include "entrance.h"

#include <stdio.h>
#include <stdlib.h>

#include "../timer.h"
#include "../worker/measure.h"

/* One algorithm that ran, and what it took. */
typedef struct timed {
    double us;
    int offer;
} timed;

static int faster(const void *a, const void *b)
{
    const timed *x = a, *y = b;
    return (x->us > y->us) - (x->us < y->us);
}

/* The problem's operands as they are timed: plain products. */
static gt_launch_operands plain_operands(const gt_residual *residual, const gt_problem *p)
{
    const gt_types *types = gt_class_types(&p->class);
    return (gt_launch_operands){
        .a = (void *)residual->buffers->a.data, .b = (void *)residual->buffers->b.data,
        .c = (void *)residual->buffers->c.data,
        .alpha = gt_scalar_make(types, 1), .beta = gt_scalar_make(types, 0),
    };
}

/* Times what is offered. One that fails is passed over, unless it broke the context: *trial is then its failure and
 * nothing more can run. The number of those that ran. */
static int time_offers(gt_entrance *e, const gt_problem *problem, double search_s, gt_entrance_report *report,
                       void *data, timed *list, gt_trial *trial)
{
    const gt_launch_operands operands = plain_operands(e->residual, problem);
    const gt_runner *runner = gt_cublaslt_runner(e->cublaslt);
    const double until = gt_now() + search_s;
    double best_us = 0;
    int count = 0;
    for (int i = 0; i < gt_cublaslt_offers(e->cublaslt) && (count == 0 || gt_now() < until); i++) {
        gt_trial one = {0};
        report(data, GT_PHASE_TIMING);
        gt_cublaslt_choose(e->cublaslt, i);
        if (gt_measure_screen(e->meter, runner, &operands, best_us, &one)) {
            list[count++] = (timed){one.us, i};
            if (best_us == 0 || one.us < best_us)
                best_us = one.us;
        } else {
            *trial = one;
            gt_residual_spoilt(e->residual);
            if (e->driver->cuCtxSynchronize() != CUDA_SUCCESS)
                return 0;
        }
    }
    return count;
}

/* The fastest algorithm that is right. false: none, or the context is broken; *trial is the last failure. */
static bool choose_right(gt_entrance *e, const gt_problem *problem, const timed *list, int count,
                         gt_entrance_report *report, void *data, gt_launch_operands *operands, gt_trial *trial)
{
    for (int i = 0; i < count; i++) {
        *trial = (gt_trial){0};
        if (!gt_residual_prepare(e->residual, problem, e->seed, trial))
            return false;
        report(data, GT_PHASE_VERIFYING);
        gt_cublaslt_choose(e->cublaslt, list[i].offer);
        if (gt_residual_verify(e->residual, gt_cublaslt_runner(e->cublaslt), operands, trial))
            return true;
        gt_residual_spoilt(e->residual); /* the operands are made anew for the next one */
        if (e->driver->cuCtxSynchronize() != CUDA_SUCCESS)
            return false;
    }
    return false;
}

static gt_runner *enter_cublaslt(gt_entrance *e, const gt_problem *problem, double search_s, gt_entrance_report *report,
                                 void *data, gt_launch_operands *operands, gt_baseline *baseline)
{
    gt_trial *trial = &baseline->trial;
    if (!e->cublaslt && gt_cublaslt_open(e->driver, e->stream, &e->cublaslt) != GT_OK) {
        gt_trial_fail(trial, GT_TRIAL_LAUNCH_ERROR, "%s", gt_error_message());
        return NULL;
    }
    snprintf(baseline->version, sizeof baseline->version, "%s", gt_cublaslt_version(e->cublaslt));
    gt_runner *const runner = gt_cublaslt_runner(e->cublaslt);
    if (!gt_residual_prepare(e->residual, problem, e->seed, trial) || !runner->prepare(runner, problem, trial))
        return NULL;
    timed *list = calloc((size_t)gt_cublaslt_offers(e->cublaslt), sizeof *list);
    if (!list) {
        gt_trial_fail(trial, GT_TRIAL_OVER_RESOURCES, "out of memory");
        return NULL;
    }
    baseline->algorithms = time_offers(e, problem, search_s, report, data, list, trial);
    qsort(list, (size_t)baseline->algorithms, sizeof *list, faster);
    const bool good = choose_right(e, problem, list, baseline->algorithms, report, data, operands, trial);
    free(list);
    return good ? runner : NULL;
}

/* Has cuBLAS find its fastest algorithm, before anything of it is checked or timed. */
static bool autotune(gt_entrance *e, gt_runner *runner, const gt_problem *problem, gt_entrance_report *report,
                     void *data, gt_trial *trial)
{
    const gt_launch_operands operands = plain_operands(e->residual, problem);
    report(data, GT_PHASE_TIMING);
    if (!runner->prepare(runner, problem, trial))
        return false;
    CUresult result = runner->launch(runner, &operands);
    if (result == CUDA_SUCCESS)
        result = e->driver->cuStreamSynchronize(e->stream);
    return gt_trial_check(trial, e->driver, result, "autotuning");
}

/* false: it is not to be had, or not on this driver. */
static bool open_cublas(gt_entrance *e, gt_trial *trial)
{
    if (e->other_driver)
        return gt_trial_fail(trial, GT_TRIAL_LAUNCH_ERROR, "%s runs on the CUDA driver only",
                             gt_baseline_name(GT_BASELINE_CUBLAS));
    if (!e->cublas && gt_cublas_open(e->driver, e->stream, &e->cublas) != GT_OK)
        return gt_trial_fail(trial, GT_TRIAL_LAUNCH_ERROR, "%s", gt_error_message());
    return true;
}

gt_runner *gt_entrance_cublas(gt_entrance *e, gt_trial *trial)
{
    return open_cublas(e, trial) ? gt_cublas_runner(e->cublas, GT_CUBLAS_HEURISTIC) : NULL;
}

static gt_runner *enter_cublas(gt_entrance *e, gt_cublas_choice choice, const gt_problem *problem,
                               gt_entrance_report *report, void *data, gt_launch_operands *operands,
                               gt_baseline *baseline)
{
    gt_trial *trial = &baseline->trial;
    if (!open_cublas(e, trial))
        return NULL;
    snprintf(baseline->version, sizeof baseline->version, "%s", gt_cublas_version(e->cublas));
    if (!gt_residual_prepare(e->residual, problem, e->seed, trial))
        return NULL;
    baseline->algorithms = 1;
    gt_runner *const runner = gt_cublas_runner(e->cublas, choice);
    if (choice != GT_CUBLAS_AUTOTUNE || autotune(e, runner, problem, report, data, trial)) {
        report(data, GT_PHASE_VERIFYING);
        if (gt_residual_verify(e->residual, runner, operands, trial))
            return runner;
    }
    gt_residual_spoilt(e->residual);
    return NULL;
}

gt_runner *gt_baseline_enter(gt_entrance *e, gt_baseline_id id, const gt_problem *problem, double search_s,
                          gt_entrance_report *report, void *data, gt_launch_operands *operands, gt_baseline *baseline)
{
    report(data, GT_PHASE_PREPARING);
    if (e->other_driver) {
        gt_trial_fail(&baseline->trial, GT_TRIAL_LAUNCH_ERROR, "%s runs on the CUDA driver only", gt_baseline_name(id));
        return NULL;
    }
    if (id == GT_BASELINE_CUBLASLT)
        return enter_cublaslt(e, problem, search_s, report, data, operands, baseline);
    return enter_cublas(e, id == GT_BASELINE_AUTOTUNE ? GT_CUBLAS_AUTOTUNE : GT_CUBLAS_HEURISTIC, problem, report, data,
                        operands, baseline);
}
