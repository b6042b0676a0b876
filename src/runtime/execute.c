#include "plan.h"

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* Says which pointer cannot be used and why. Kept out of the fast path. */
static __attribute__((noinline, cold)) gt_status refuse(const gt_plan *plan, const gt_args *args)
{
    const struct {
        const char *name;
        const void *pointer;
        gt_type type;
        bool needed;
    } operands[] = {{"A", args->a, plan->problem.class.type_ab, args->k > 0},
                    {"B", args->b, plan->problem.class.type_ab, args->k > 0},
                    {"C", args->c, plan->problem.class.type_c, true}};
    for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++) {
        const uintptr_t address = (uintptr_t)operands[i].pointer;
        const int align = (int)(address & -address & 15), element = gt_type_find(operands[i].type)->bytes;
        if (address == 0 && operands[i].needed)
            return gt_fail(GT_ERROR_INVALID, "%s is NULL", operands[i].name);
        if (!(address & plan->unaligned))
            continue;
        if (align < element)
            return gt_fail(GT_ERROR_ALIGNMENT, "%s (%p) is not a multiple of its elements' %d bytes", operands[i].name,
                           operands[i].pointer, element);
        return gt_fail(GT_ERROR_ALIGNMENT,
                       "%s (%p) is not a multiple of %d bytes, as the plan was promised: plan with gt_gemm.align %d",
                       operands[i].name, operands[i].pointer, plan->problem.class.align, align);
    }
    return GT_OK;
}

/* A thread of a program that uses the runtime API may never have made a context current: it is lent the plan's. */
static __attribute__((noinline, cold)) gt_status retry(const gt_plan *plan, const gt_args *args, CUstream stream,
                                                       CUresult result)
{
    const gt_driver *driver = plan->driver;
    CUcontext current = NULL;
    if (result == CUDA_ERROR_INVALID_CONTEXT && driver->cuCtxGetCurrent(&current) == CUDA_SUCCESS && !current &&
        driver->cuCtxSetCurrent(plan->cuda) == CUDA_SUCCESS)
        result = gt_launch_run(driver, &plan->module, &plan->launch, &plan->problem, args, stream);
    return gt_driver_check(driver, result, "launching the kernel");
}

gt_status gt_execute(const gt_plan *plan, struct CUstream_st *stream, const void *alpha, const void *a,
                     const void *b, const void *beta, void *c)
{
    if (UNLIKELY(!plan))
        return gt_fail(GT_ERROR_INVALID, "plan is NULL");
    if (UNLIKELY(plan->launch.empty))
        return GT_OK;
    if (UNLIKELY(!alpha || !beta))
        return gt_fail(GT_ERROR_INVALID, "%s is NULL", alpha ? "beta" : "alpha");

    gt_args args = plan->args;
    gt_args_scale(&args, plan->types, plan->problem.k, alpha, beta);
    const bool reads = args.k > 0;
    args.a = reads ? a : NULL; /* never read, so they need not be good pointers */
    args.b = reads ? b : NULL;
    args.c = c;
    const uintptr_t bits = (uintptr_t)args.a | (uintptr_t)args.b | (uintptr_t)c;
    if (UNLIKELY((bits & plan->unaligned) || !c || (reads && (!a || !b))))
        return refuse(plan, &args);

    CUresult result = gt_launch_run(plan->driver, &plan->module, &plan->launch, &plan->problem, &args, stream);
    return UNLIKELY(result != CUDA_SUCCESS) ? retry(plan, &args, stream, result) : GT_OK;
}
