#include "plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "../core/bound.h"
#include "../estimate/estimate.h"
#include "choose.h"

/* From here on 1 to 2 us, which an early begin is worth, are less than what it may cost: see execute.c. */
#define LASTING_US 50

/* A plain cuMemset may return before it is done, and would wait for the caller's work in the default stream. */
static CUresult clear(const gt_driver *driver, CUdeviceptr memory, size_t bytes)
{
    CUstream stream;
    CUresult result = driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (result != CUDA_SUCCESS)
        return result;
    result = driver->cuMemsetD32Async(memory, 0, bytes / sizeof(unsigned), stream);
    if (result == CUDA_SUCCESS)
        result = driver->cuStreamSynchronize(stream);
    driver->cuStreamDestroy(stream);
    return result;
}

/* Counters, cleared before any stream can see them, and workspace: one allocation. */
static gt_status allocate_workspace(gt_plan *plan)
{
    const gt_driver *driver = plan->driver;
    const size_t bytes = gt_launch_memory(&plan->launch), counters = plan->launch.counter_bytes;
    CUdeviceptr memory;
    if (bytes == 0)
        return GT_OK;
    CUresult result = driver->cuMemAlloc(&memory, bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        return gt_fail(GT_ERROR_DEVICE_MEMORY, "no device memory for a workspace of %zu bytes", bytes);
    if (result != CUDA_SUCCESS) {
        char what[64];
        snprintf(what, sizeof what, "a workspace of %zu bytes", bytes);
        return gt_driver_check(driver, result, what);
    }
    if (counters > 0 && (result = clear(driver, memory, counters)) != CUDA_SUCCESS) {
        driver->cuMemFree(memory);
        return gt_driver_check(driver, result, "clearing the workspace");
    }
    plan->workspace = memory;
    gt_launch_place(&plan->launch, (void *)memory, &plan->own);
    return GT_OK;
}

/* Chooses, and works out the launch. */
static gt_status prepare(gt_plan *plan, const gt_problem *problem, const gt_demands *demands)
{
    gt_context *context = plan->context;
    pthread_mutex_lock(&context->lock);
    const gt_status status = gt_choose(context, problem, demands, &plan->chosen);
    pthread_mutex_unlock(&context->lock);
    if (status != GT_OK)
        return status;
    gt_problem served = *problem;
    served.class.math = plan->chosen->math;
    plan->module = plan->chosen->loaded->module;
    return gt_launch_init(&context->device, &plan->chosen->kernel, &served, &plan->launch);
}

static void release(gt_plan *plan)
{
    if (!plan->chosen)
        return;
    pthread_mutex_lock(&plan->context->lock);
    gt_choices_release(&plan->context->choices, plan->chosen);
    pthread_mutex_unlock(&plan->context->lock);
    plan->chosen = NULL;
}

/* A plan for a problem, with its workspace. Where there is no memory for that, a kernel that needs less of it is taken:
 * fewer bytes are refused each time, so that the end is a kernel without a workspace, or none. */
static gt_status fit_plan(gt_plan *plan, const gt_problem *problem, gt_demands demands)
{
    char refused[512] = "";
    for (;;) {
        gt_status status = prepare(plan, problem, &demands);
        if (status == GT_ERROR_NOT_TUNED && *refused)
            return gt_fail(GT_ERROR_DEVICE_MEMORY, "%s; no kernel for this problem needs less", refused);
        if (status == GT_OK)
            status = allocate_workspace(plan);
        if (status != GT_ERROR_DEVICE_MEMORY || !plan->chosen)
            return status;
        snprintf(refused, sizeof refused, "%s", gt_error_message());
        const size_t fewer = gt_launch_memory(&plan->launch) / 2 + 1;
        if (demands.refused > 0 && fewer >= demands.refused)
            return status;
        demands.refused = fewer;
        release(plan);
    }
}

/* The same while streams are captured, by this thread or others: what is loaded and allocated here is part of no capture, and
 * a thread that does not say so has it refused and the captures ended. */
static gt_status make_plan(gt_plan *plan, const gt_problem *problem, gt_demands demands)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    plan->driver->cuThreadExchangeStreamCaptureMode(&mode);
    const gt_status status = fit_plan(plan, problem, demands);
    plan->driver->cuThreadExchangeStreamCaptureMode(&mode);
    return status;
}

/* What is asked for, with pointers that are multiples of the smallest element however little is promised of them. */
static gt_gemm align_elements(const gt_gemm *gemm)
{
    const gt_type types[] = {gemm->type_ab, gemm->type_b ? gemm->type_b : gemm->type_ab, gemm->type_c};
    gt_gemm aligned = *gemm;
    int element = 16;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const gt_type_info *type = gt_type_find(types[i]); /* NULL: refused later */
        element = type && type->bytes < element ? type->bytes : element;
    }
    if (gemm->align == 1 || gemm->align == 2 || gemm->align == 4)
        aligned.align = gemm->align > element ? gemm->align : element;
    return aligned;
}

gt_status gt_plan_gemm(gt_context *context, const gt_gemm *asked, gt_plan **out)
{
    gt_problem problem;
    bool swapped;
    if (!context || !asked || !out)
        return gt_fail(GT_ERROR_INVALID, "%s is NULL", !context ? "context" : !asked ? "gemm" : "plan");
    if (!(asked->max_error >= 0))
        return gt_fail(GT_ERROR_INVALID, "max_error is %g; it must be 0 (any) or more", asked->max_error);
    const gt_gemm aligned = align_elements(asked), *const gemm = &aligned;
    gt_status status = gt_problem_fold(gemm, &problem, &swapped);
    if (status != GT_OK)
        return status;
    const gt_demands demands = {.deterministic = gemm->deterministic != 0,
                                .epilogue = gemm->epilogue != GT_EPILOGUE_NONE || gemm->beside,
                                .max_error = gemm->max_error, .db_option = context->db_option};
    gt_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return gt_fail_memory();
    plan->context = context;
    plan->driver = context->driver;
    plan->swapped = swapped;
    plan->own.epilogue = gemm->epilogue;
    plan->launch = (gt_launch){.problem = problem, .empty = problem.m == 0 || problem.n == 0};
    if (plan->launch.empty) {
        *out = plan;
        return GT_OK;
    }
    if ((status = gt_context_enter(context, &plan->cuda)) != GT_OK)
        goto fail;
    if ((status = make_plan(plan, &problem, demands)) == GT_ERROR_NOT_TUNED) {
        /* Nothing serves the folded form: perhaps the layout as it was given has kernels. */
        plan->swapped = false;
        if ((status = gt_problem_init(gemm, &problem)) == GT_OK)
            status = make_plan(plan, &problem, demands);
    }
    if (status != GT_OK)
        goto fail;
    plan->reads_apart = plan->chosen->kernel.facts.epilogue != 0;
    plan->lasts = plan->chosen->selection.expected_us >= LASTING_US;
    plan->unaligned_ab = (uintptr_t)gt_class_pointer(&problem.class, problem.class.type_a) - 1;
    plan->unaligned_c = (uintptr_t)gt_class_pointer(&problem.class, problem.class.type_c) - 1;
    plan->unaligned_bias = (uintptr_t)gt_type_find(problem.class.type_c)->bytes - 1;
    *out = plan;
    return GT_OK;
fail:
    gt_plan_destroy(plan);
    return status;
}

/* Runs in the context that the plan was made in, whichever thread destroys it. */
static void free_workspace(const gt_plan *plan)
{
    CUcontext current = NULL;
    const bool moved = plan->driver->cuCtxGetCurrent(&current) == CUDA_SUCCESS && current != plan->cuda &&
                       plan->driver->cuCtxSetCurrent(plan->cuda) == CUDA_SUCCESS;
    plan->driver->cuMemFree(plan->workspace);
    if (moved)
        plan->driver->cuCtxSetCurrent(current);
}

void gt_plan_destroy(gt_plan *plan)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; /* as in make_plan */
    if (!plan)
        return;
    plan->driver->cuThreadExchangeStreamCaptureMode(&mode);
    if (plan->workspace)
        free_workspace(plan);
    release(plan);
    plan->driver->cuThreadExchangeStreamCaptureMode(&mode);
    free(plan);
}

gt_status gt_plan_describe(const gt_plan *plan, gt_description *description)
{
    if (!plan || !description)
        return gt_fail(GT_ERROR_INVALID, "%s is NULL", plan ? "description" : "plan");
    if (!plan->chosen) {
        *description = (gt_description){
            .family = "", .params = "", .reason = "no element of C: nothing to launch", .deterministic = 1};
        return GT_OK;
    }
    const gt_chosen *chosen = plan->chosen;
    *description = (gt_description){
        .choice = chosen->selection.choice,
        .family = chosen->kernel.family,
        .params = chosen->params,
        .reason = chosen->selection.reason,
        .expected_us = chosen->selection.expected_us +
                       gt_estimate_epilogue_us(&plan->context->device, chosen->kernel.family, &plan->launch.problem,
                                               plan->own.epilogue),
        .modelled = chosen->selection.modelled,
        .deterministic = chosen->kernel.facts.deterministic != 0,
        .workspace = gt_launch_memory(&plan->launch),
        .grid = {plan->launch.grid[0], plan->launch.grid[1], plan->launch.grid[2]},
        .threads = plan->launch.threads,
        .baseline_us = chosen->selection.baseline_us,
        .math = chosen->math,
        .error_bound = gt_error_bound(gt_class_types(&plan->launch.problem.class), &chosen->kernel.facts,
                                      plan->launch.problem.k),
        .counters = plan->launch.counter_bytes,
    };
    return GT_OK;
}
