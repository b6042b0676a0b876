#include "plan.h"

#include <stdio.h>
#include <stdlib.h>

static gt_status read_source(const gt_context *context, gt_source *source, const gt_class *class)
{
    gt_measured *list = NULL;
    size_t count = 0;
    if (source->is_read && gt_class_same(&source->class, class))
        return GT_OK;
    gt_status status = gt_store_find_measured(source->store, &context->device, class, &list, &count);
    if (status != GT_OK)
        return status;
    free(source->list);
    source->list = list;
    source->count = count;
    source->class = *class;
    source->is_read = true;
    return GT_OK;
}

/* Loads a kernel, or finds it loaded. */
static gt_status load(gt_context *context, const gt_source *source, const gt_measured *row, const gt_loaded **out)
{
    gt_code code = {0};
    gt_status status;
    for (const gt_loaded *loaded = context->loaded; loaded; loaded = loaded->next)
        if (loaded->source == source && loaded->kernel_id == row->kernel_id) {
            *out = loaded;
            return GT_OK;
        }
    gt_loaded *loaded = calloc(1, sizeof *loaded);
    if (!loaded)
        return gt_fail_memory();
    if ((status = gt_store_find_code(source->store, row->kernel_id, &code)) == GT_OK)
        status = gt_module_load(context->driver, &row->kernel, &code, &loaded->module);
    gt_code_finish(&code);
    if (status != GT_OK) {
        free(loaded);
        return status;
    }
    loaded->source = source;
    loaded->kernel_id = row->kernel_id;
    loaded->next = context->loaded;
    context->loaded = loaded;
    *out = loaded;
    return GT_OK;
}

static void drop_kernel(gt_source *source, int64_t kernel_id)
{
    size_t kept = 0;
    for (size_t i = 0; i < source->count; i++)
        if (source->list[i].kernel_id != kernel_id)
            source->list[kept++] = source->list[i];
    source->count = kept;
}

/* The best kernel of one source that can be loaded. One that cannot is told of and the next best taken. */
static gt_status choose_from(gt_context *context, gt_source *source, gt_chosen *chosen)
{
    gt_status failure = GT_OK;
    char first[512];
    for (;;) {
        gt_status status = read_source(context, source, &chosen->problem.class);
        if (status != GT_OK)
            return status;
        status = gt_select(&context->device, &chosen->problem, &chosen->demands, source->list, source->count,
                           &chosen->selection);
        if (status == GT_ERROR_NOT_TUNED && failure != GT_OK) {
            source->is_read = false; /* what was dropped may have been a passing trouble */
            return gt_fail(failure, "%s; no other kernel for this problem can be loaded", first);
        }
        if (status != GT_OK)
            return status;
        const gt_measured *row = &source->list[chosen->selection.index];
        status = load(context, source, row, &chosen->loaded);
        if (status == GT_OK) {
            chosen->kernel = row->kernel;
            return GT_OK;
        }
        if (status != GT_ERROR_CORRUPT && status != GT_ERROR_DRIVER)
            return status;
        if (failure == GT_OK) {
            failure = status;
            snprintf(first, sizeof first, "%s", gt_error_message());
        }
        gt_context_tell(context, "%s (taking the next best kernel instead)", gt_error_message());
        drop_kernel(source, row->kernel_id);
    }
}

/* The context's choice for a problem, made now or before. Under the lock. */
static gt_status choose(gt_context *context, const gt_problem *problem, const gt_demands *demands,
                        const gt_chosen **out)
{
    gt_status status = GT_ERROR_NOT_TUNED;
    for (const gt_chosen *chosen = context->chosen; chosen; chosen = chosen->next) {
        const gt_problem *p = &chosen->problem;
        if (gt_class_same(&p->class, &problem->class) && gt_problem_same_size(p, problem) &&
            chosen->demands.deterministic == demands->deterministic &&
            chosen->demands.max_error == demands->max_error) {
            *out = chosen;
            return GT_OK;
        }
    }
    gt_chosen *chosen = calloc(1, sizeof *chosen);
    if (!chosen)
        return gt_fail_memory();
    chosen->problem = *problem;
    chosen->demands = *demands;
    for (size_t i = 0; i < context->source_count && (status == GT_ERROR_NOT_TUNED || status == GT_ERROR_CORRUPT); i++)
        status = choose_from(context, &context->sources[i], chosen);
    if (status != GT_OK) {
        free(chosen);
        return status;
    }
    chosen->next = context->chosen;
    context->chosen = chosen;
    *out = chosen;
    return GT_OK;
}

/* Counters first, cleared before any stream can see them, then the workspace: one allocation. */
static gt_status allocate_workspace(gt_plan *plan)
{
    const gt_driver *driver = plan->driver;
    const size_t counters = (plan->launch.counter_bytes + 255) & ~(size_t)255;
    CUstream stream;
    plan->workspace_bytes = counters + plan->launch.workspace_bytes;
    if (plan->workspace_bytes == 0)
        return GT_OK;
    CUresult result = driver->cuMemAlloc(&plan->workspace, plan->workspace_bytes);
    if (result != CUDA_SUCCESS) {
        char what[64];
        plan->workspace = 0;
        snprintf(what, sizeof what, "a workspace of %zu bytes", plan->workspace_bytes);
        return gt_driver_check(driver, result, what);
    }
    /* A plain cuMemset may return before it is done, and would wait for the caller's work in the default stream. */
    if (counters > 0 && (result = driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)) == CUDA_SUCCESS) {
        result = driver->cuMemsetD32Async(plan->workspace, 0, counters / sizeof(unsigned), stream);
        if (result == CUDA_SUCCESS)
            result = driver->cuStreamSynchronize(stream);
        driver->cuStreamDestroy(stream);
    }
    plan->args.counters = counters > 0 ? (unsigned *)plan->workspace : NULL;
    plan->args.workspace = (void *)(plan->workspace + counters);
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
    plan->driver = context->driver;
    plan->types = gt_class_types(&problem.class);
    plan->problem = problem;
    plan->unaligned = (uintptr_t)problem.class.align - 1;
    plan->launch.empty = problem.m == 0 || problem.n == 0;
    gt_args_init(&problem, &plan->args);
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

void gt_plan_destroy(gt_plan *plan)
{
    CUcontext current = NULL;
    if (!plan)
        return;
    if (plan->workspace) {
        /* Whichever thread destroys the plan, the memory belongs to the context it was made in. */
        const bool moved = plan->driver->cuCtxGetCurrent(&current) == CUDA_SUCCESS && current != plan->cuda &&
                           plan->driver->cuCtxSetCurrent(plan->cuda) == CUDA_SUCCESS;
        plan->driver->cuMemFree(plan->workspace);
        if (moved)
            plan->driver->cuCtxSetCurrent(current);
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
        .params = chosen->kernel.params,
        .reason = chosen->selection.reason,
        .expected_us = chosen->selection.expected_us,
        .modelled = chosen->selection.modelled,
        .deterministic = chosen->kernel.deterministic,
        .workspace = plan->workspace_bytes,
        .grid = {plan->launch.grid[0], plan->launch.grid[1], plan->launch.grid[2]},
        .threads = plan->launch.threads,
    };
    return GT_OK;
}
