/* gt_execute: from a plan and pointers to a launch, without locks or allocations. */
#include <string.h>

#include "plan.h"

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

#define WORKSPACE_ALIGN 256

/* Says which pointer cannot be used and why. Kept out of the fast path. */
static __attribute__((noinline, cold)) gt_status refuse(const gt_plan *plan, const gt_launch_operands *o, bool reads,
                                                        bool scales)
{
    const gt_class *class = &plan->launch.problem.class;
    const struct {
        const char *name;
        const void *pointer;
        gt_type type;
        bool needed;
    } operands[] = {{plan->swapped ? "B" : "A", o->a, class->type_a, reads},
                    {plan->swapped ? "A" : "B", o->b, class->type_b, reads},
                    {"C", o->c, class->type_c, scales || !o->d},
                    {"D", o->d, class->type_c, false}};
    for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++) {
        const uintptr_t address = (uintptr_t)operands[i].pointer;
        const int align = (int)(address & -address & 15), element = gt_type_find(operands[i].type)->bytes;
        if (address == 0 && operands[i].needed)
            return gt_fail(GT_ERROR_INVALID, "%s is NULL", operands[i].name);
        if (address % (uintptr_t)gt_class_pointer(class, operands[i].type) == 0)
            continue;
        if (align < element)
            return gt_fail(GT_ERROR_ALIGNMENT, "%s (%p) is not a multiple of its elements' %d bytes", operands[i].name,
                           operands[i].pointer, element);
        return gt_fail(GT_ERROR_ALIGNMENT,
                       "%s (%p) is not a multiple of %d bytes, as the plan was promised: plan with gt_gemm.align %d",
                       operands[i].name, operands[i].pointer, class->align, align);
    }
    const int element = gt_type_find(class->type_c)->bytes;
    if ((uintptr_t)o->bias % (uintptr_t)element != 0)
        return gt_fail(GT_ERROR_ALIGNMENT, "bias (%p) is not a multiple of its elements' %d bytes", o->bias, element);
    if (!o->bias && o->epilogue & GT_EPILOGUE_BIAS)
        return gt_fail(GT_ERROR_INVALID, "bias is NULL, and the plan's epilogue has one");
    return gt_fail(GT_ERROR_UNSUPPORTED, "the plan's kernel, %s, cannot read C beside D: plan with gt_gemm.beside",
                   plan->chosen->kernel.family);
}

/* Puts counters and workspace where the caller says. Whether the counters are to be cleared. */
static gt_status take_workspace(const gt_plan *plan, const gt_operands *operands, gt_launch_operands *o, bool *clear)
{
    const size_t needed = gt_launch_memory(&plan->launch);
    if ((uintptr_t)operands->workspace % WORKSPACE_ALIGN != 0)
        return gt_fail(GT_ERROR_ALIGNMENT, "workspace (%p) is not a multiple of %d bytes", operands->workspace,
                       WORKSPACE_ALIGN);
    if (operands->workspace_bytes < needed)
        return gt_fail(GT_ERROR_INVALID, "workspace_bytes is %zu, the plan needs %zu (gt_plan_describe)",
                       operands->workspace_bytes, needed);
    if ((uintptr_t)operands->counters % sizeof *o->counters != 0)
        return gt_fail(GT_ERROR_ALIGNMENT, "counters (%p) is not a multiple of %zu bytes", operands->counters,
                       sizeof *o->counters);
    gt_launch_place(&plan->launch, operands->workspace, o);
    *clear = o->counters && !operands->counters;
    if (o->counters && operands->counters)
        o->counters = operands->counters;
    return GT_OK;
}

/* The counters of a caller's workspace are cleared in the stream first: what the memory held, or another plan left
 * there, does not matter. */
static CUresult enqueue(const gt_plan *plan, const gt_launch_operands *o, bool clear, CUstream stream)
{
    CUresult result = CUDA_SUCCESS;
    if (UNLIKELY(clear))
        result = plan->driver->cuMemsetD32Async((CUdeviceptr)o->counters, 0,
                                                plan->launch.counter_bytes / sizeof(unsigned), stream);
    return result == CUDA_SUCCESS ? gt_launch_run(plan->driver, &plan->module, &plan->launch, o, stream) : result;
}

/* A thread of a program that uses the runtime API may never have made a context current: it is lent the plan's. Whether
 * it was. */
static __attribute__((noinline, cold)) bool lend_context(const gt_plan *plan)
{
    CUcontext current = NULL;
    return plan->driver->cuCtxGetCurrent(&current) == CUDA_SUCCESS && !current &&
           plan->driver->cuCtxSetCurrent(plan->cuda) == CUDA_SUCCESS;
}

/* Whether a product is to wait for the one before it: where it lasts, and this thread's last in the stream was another
 * kernel's. Blocks that take the places of the same kernel's one by one, or of another library's, gain 1 to 2 us on an
 * H200; between two kernels of 330 us that took turns they cost 9. */
static bool waits_for_last(const gt_plan *plan, CUstream stream)
{
    static _Thread_local struct {
        CUstream stream;
        CUfunction function;
    } last;
    const bool waits =
        plan->lasts && last.function && last.function != plan->module.function && last.stream == stream;
    last.stream = stream;
    last.function = plan->module.function;
    return waits;
}

gt_status gt_execute_ex(const gt_plan *plan, struct CUstream_st *stream, const gt_operands *operands)
{
    if (UNLIKELY(!plan || !operands))
        return gt_fail(GT_ERROR_INVALID, "%s is NULL", plan ? "operands" : "plan");
    if (UNLIKELY(plan->launch.empty))
        return GT_OK;
    if (UNLIKELY(!operands->alpha || !operands->beta))
        return gt_fail(GT_ERROR_INVALID, "%s is NULL", operands->alpha ? "beta" : "alpha");

    gt_launch_operands o = plan->own;
    memcpy(&o.alpha, operands->alpha, (size_t)plan->launch.scalar->bytes);
    memcpy(&o.beta, operands->beta, (size_t)plan->launch.scalar->bytes);
    const bool reads = gt_launch_reads(&plan->launch, &o.alpha);
    const void *const a = plan->swapped ? operands->b : operands->a;
    const void *const b = plan->swapped ? operands->a : operands->b;
    o.a = reads ? a : NULL; /* never read, so they need not be good pointers */
    o.b = reads ? b : NULL;
    const bool scales = plan->launch.scalar->load(&o.beta, 0) != 0;
    o.d = operands->d == operands->c ? NULL : operands->d;
    o.c = scales || !o.d ? operands->c : NULL;
    o.bias = o.epilogue & GT_EPILOGUE_BIAS ? operands->bias : NULL;
    const uintptr_t unaligned = (((uintptr_t)o.a | (uintptr_t)o.b) & plan->unaligned_ab) |
                                (((uintptr_t)o.c | (uintptr_t)o.d) & plan->unaligned_c) |
                                ((uintptr_t)o.bias & plan->unaligned_bias);
    const bool missing =
        (reads && (!o.a || !o.b)) || (!o.c && (scales || !o.d)) || (!o.bias && o.epilogue & GT_EPILOGUE_BIAS);
    if (UNLIKELY(unaligned || missing || (o.d && scales && !plan->reads_apart)))
        return refuse(plan, &o, reads, scales);
    bool clear = false;
    gt_status status;
    if (UNLIKELY(operands->workspace != NULL) && (status = take_workspace(plan, operands, &o, &clear)) != GT_OK)
        return status;
    o.serial = waits_for_last(plan, stream);
    CUresult result = enqueue(plan, &o, clear, stream);
    if (UNLIKELY(result == CUDA_ERROR_INVALID_CONTEXT) && lend_context(plan))
        result = enqueue(plan, &o, clear, stream);
    return gt_driver_check(plan->driver, result, "launching the kernel");
}

gt_status gt_execute(const gt_plan *plan, struct CUstream_st *stream, const void *alpha, const void *a,
                     const void *b, const void *beta, void *c)
{
    const gt_operands operands = {.alpha = alpha, .beta = beta, .a = a, .b = b, .c = c};
    return gt_execute_ex(plan, stream, &operands);
}
