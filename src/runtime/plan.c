#include "plan.h"

#include <stdio.h>
#include <stdlib.h>

static gt_status read_source(const gt_context *context, gt_source *source, const gt_class *class)
{
    gt_measurements measured;
    if (source->is_read && gt_class_same(&source->class, class))
        return GT_OK;
    gt_status status = gt_store_find_measured(source->store, &context->device, class, &measured);
    if (status != GT_OK)
        return status;
    gt_measurements_finish(&source->measured);
    source->measured = measured;
    source->class = *class;
    source->is_read = true;
    if (measured.damaged > 1)
        gt_context_tell(context, "%s (not used, and neither are %zu more that are damaged)", measured.damage,
                        measured.damaged - 1);
    else if (measured.damaged > 0)
        gt_context_tell(context, "%s (not used)", measured.damage);
    return GT_OK;
}

/* Loads a kernel, or finds it loaded; one more choice uses it. */
static gt_status load(gt_context *context, const gt_source *source, const gt_measured *row, gt_loaded **out)
{
    gt_code code = {0};
    gt_status status;
    gt_loaded *loaded = gt_choices_find_loaded(&context->choices, source, row->kernel_id);
    if (loaded) {
        *out = loaded;
        return GT_OK;
    }
    if (!(loaded = calloc(1, sizeof *loaded)))
        return gt_fail_memory();
    if ((status = gt_store_find_code(source->store, row->kernel_id, &code)) == GT_OK)
        status = gt_module_load(context->driver, row->kernel, &code, &loaded->module);
    gt_code_finish(&code);
    if (status != GT_OK) {
        free(loaded);
        return status;
    }
    loaded->source = source;
    loaded->kernel_id = row->kernel_id;
    gt_choices_add_loaded(&context->choices, loaded);
    *out = loaded;
    return GT_OK;
}

static void drop_kernel(gt_measurements *measured, int64_t kernel_id)
{
    size_t kept = 0;
    for (size_t i = 0; i < measured->count; i++)
        if (measured->list[i].kernel_id != kernel_id)
            measured->list[kept++] = measured->list[i];
    measured->count = kept;
}

/* The best kernel of one source that can be loaded. One that cannot is told of and the next best taken. */
static gt_status choose_from(gt_context *context, gt_source *source, const gt_problem *problem, gt_chosen *chosen)
{
    gt_status failure = GT_OK;
    char first[512];
    for (;;) {
        gt_status status = read_source(context, source, &problem->class);
        if (status != GT_OK)
            return status;
        status = gt_select(&context->device, problem, &chosen->demands, source->measured.list, source->measured.count,
                           &chosen->selection);
        if (status == GT_ERROR_NOT_TUNED && failure == GT_OK && source->measured.damaged > 0) {
            failure = GT_ERROR_CORRUPT;
            snprintf(first, sizeof first, "%s", source->measured.damage);
        }
        if (status == GT_ERROR_NOT_TUNED && failure != GT_OK) {
            source->is_read = false; /* what was dropped may have been a passing trouble */
            return gt_fail(failure, "%s; no other kernel for this problem can be loaded", first);
        }
        if (status != GT_OK)
            return status;
        const gt_measured *row = &source->measured.list[chosen->selection.index];
        status = load(context, source, row, &chosen->loaded);
        if (status == GT_OK) {
            chosen->kernel = *row->kernel;
            gt_params_text(&chosen->kernel.params, chosen->params);
            return GT_OK;
        }
        if (status != GT_ERROR_CORRUPT && status != GT_ERROR_DRIVER)
            return status;
        if (failure == GT_OK) {
            failure = status;
            snprintf(first, sizeof first, "%s", gt_error_message());
        }
        gt_context_tell(context, "%s (taking the next best kernel instead)", gt_error_message());
        drop_kernel(&source->measured, row->kernel_id);
    }
}

/* The best kernel of all sources, the user's before the system's. */
static gt_status choose_any(gt_context *context, const gt_problem *problem, gt_chosen *chosen)
{
    gt_status status = GT_ERROR_NOT_TUNED;
    for (size_t i = 0; i < context->source_count && (status == GT_ERROR_NOT_TUNED || status == GT_ERROR_CORRUPT); i++)
        status = choose_from(context, &context->sources[i], problem, chosen);
    return status;
}

/* The same, or a kernel of a math that serves the problem's, where nobody tuned that. */
static gt_status choose_served(gt_context *context, const gt_problem *problem, gt_chosen *chosen)
{
    const gt_status status = choose_any(context, problem, chosen);
    gt_problem served = *problem;
    char message[512];
    served.class.math = gt_math_served_by(problem->class.math);
    if (status != GT_ERROR_NOT_TUNED || served.class.math == problem->class.math)
        return status;
    snprintf(message, sizeof message, "%s", gt_error_message());
    return choose_any(context, &served, chosen) == GT_OK ? GT_OK : gt_fail(status, "%s", message);
}

/* The context's choice for a problem, made now or before, in use. Under the lock. */
static gt_status choose(gt_context *context, const gt_problem *problem, const gt_demands *demands, gt_chosen **out)
{
    gt_status status;
    gt_chosen *chosen = gt_choices_find(&context->choices, problem, demands);
    if (chosen) {
        *out = chosen;
        return GT_OK;
    }
    if (!(chosen = calloc(1, sizeof *chosen)))
        return gt_fail_memory();
    chosen->problem = *problem;
    chosen->demands = *demands;
    if ((status = choose_served(context, problem, chosen)) != GT_OK) {
        free(chosen);
        return status;
    }
    if ((status = gt_choices_add(&context->choices, chosen)) == GT_OK)
        *out = chosen;
    return status;
}

/* Counters, cleared before any stream can see them, and workspace: one allocation. */
static gt_status allocate_workspace(gt_plan *plan)
{
    const gt_driver *driver = plan->driver;
    const size_t bytes = gt_launch_memory(&plan->launch);
    CUstream stream;
    if (bytes == 0)
        return GT_OK;
    CUresult result = driver->cuMemAlloc(&plan->workspace, bytes);
    if (result != CUDA_SUCCESS) {
        char what[64];
        plan->workspace = 0;
        snprintf(what, sizeof what, "a workspace of %zu bytes", bytes);
        return gt_driver_check(driver, result, what);
    }
    gt_launch_place(&plan->launch, (void *)plan->workspace, &plan->own);
    /* A plain cuMemset may return before it is done, and would wait for the caller's work in the default stream. */
    if (plan->own.counters && (result = driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)) == CUDA_SUCCESS) {
        result = driver->cuMemsetD32Async(plan->workspace, 0, plan->launch.counter_bytes / sizeof(unsigned), stream);
        if (result == CUDA_SUCCESS)
            result = driver->cuStreamSynchronize(stream);
        driver->cuStreamDestroy(stream);
    }
    return gt_driver_check(driver, result, "clearing the workspace");
}

gt_status gt_plan_gemm(gt_context *context, const gt_gemm *gemm, gt_plan **out)
{
    gt_problem problem;
    if (!context || !gemm || !out)
        return gt_fail(GT_ERROR_INVALID, "%s is NULL", !context ? "context" : !gemm ? "gemm" : "plan");
    if (!(gemm->max_error >= 0))
        return gt_fail(GT_ERROR_INVALID, "max_error is %g; it must be 0 (any) or more", gemm->max_error);
    gt_status status = gt_problem_init(gemm, &problem);
    if (status != GT_OK)
        return status;
    const gt_demands demands = {.deterministic = gemm->deterministic != 0, .max_error = gemm->max_error};
    gt_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return gt_fail_memory();
    plan->context = context;
    plan->driver = context->driver;
    plan->unaligned_ab = (uintptr_t)gt_class_pointer(&problem.class, problem.class.type_a) - 1;
    plan->unaligned_c = (uintptr_t)gt_class_pointer(&problem.class, problem.class.type_c) - 1;
    plan->launch = (gt_launch){.problem = problem, .empty = problem.m == 0 || problem.n == 0};
    if (plan->launch.empty) {
        *out = plan;
        return GT_OK;
    }
    if ((status = gt_context_enter(context, &plan->cuda)) != GT_OK)
        goto fail;
    pthread_mutex_lock(&context->lock);
    status = choose(context, &problem, &demands, &plan->chosen);
    pthread_mutex_unlock(&context->lock);
    if (status != GT_OK)
        goto fail;
    plan->module = plan->chosen->loaded->module;
    if ((status = gt_launch_init(&plan->chosen->kernel, &problem, &plan->launch)) != GT_OK ||
        (status = allocate_workspace(plan)) != GT_OK)
        goto fail;
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
    if (!plan)
        return;
    if (plan->workspace)
        free_workspace(plan);
    if (plan->chosen) {
        pthread_mutex_lock(&plan->context->lock);
        gt_choices_release(&plan->context->choices, plan->chosen);
        pthread_mutex_unlock(&plan->context->lock);
    }
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
        .expected_us = chosen->selection.expected_us,
        .modelled = chosen->selection.modelled,
        .deterministic = chosen->kernel.facts.deterministic != 0,
        .workspace = gt_launch_memory(&plan->launch),
        .grid = {plan->launch.grid[0], plan->launch.grid[1], plan->launch.grid[2]},
        .threads = plan->launch.threads,
        .baseline_us = chosen->selection.baseline_us,
    };
    return GT_OK;
}
