/* Contexts: each device's primary one, those that programs create, and each thread's stack of them. */
#include "capture.h"

/* Enters with a device's number. */
static CUresult enter_device(CUdevice device)
{
    const CUresult result = sg_enter(SG_NEEDS_INIT);
    return result == CUDA_SUCCESS && !sg_is_device(device) ? CUDA_ERROR_INVALID_DEVICE : result;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUresult result = enter_device(device);
    if (result == CUDA_SUCCESS && !context)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && sg.primary[device].retained == 0)
        result = sg.fault; /* no new context in a process whose last one broke */
    if (result == CUDA_SUCCESS) {
        sg.primary[device].retained++;
        *context = sg.primary[device].handle;
    }
    return sg_leave(result);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device)
{
    CUresult result = enter_device(device);
    if (result == CUDA_SUCCESS && sg.primary[device].retained == 0)
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS && --sg.primary[device].retained == 0)
        sg_context_empty(&sg.primary[device]);
    return sg_leave(result);
}

CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice device)
{
    const CUresult result = enter_device(device);
    if (result == CUDA_SUCCESS) {
        sg_context_empty(&sg.primary[device]);
        sg.primary[device].retained = 0;
    }
    return sg_leave(result);
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    CUresult result = enter_device(device);
    if (result == CUDA_SUCCESS && (!flags || !active))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        *flags = sg.primary[device].flags;
        *active = sg.primary[device].retained > 0;
    }
    return sg_leave(result);
}

/* How the host waits is one of three, or the driver's choice; the other flags go together. */
static bool are_flags(unsigned flags)
{
    const unsigned waits = flags & CU_CTX_SCHED_MASK;
    return !(flags & ~(unsigned)CU_CTX_FLAGS_MASK) && (waits & (waits - 1)) == 0;
}

/* Parts of a device, and a share with graphics, cannot be had here. */
static CUresult check_params(const CUctxCreateParams *params)
{
    if (params && params->numExecAffinityParams < 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (params && params->numExecAffinityParams > 0)
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return params && params->cigParams ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxCreate(CUcontext *out, CUctxCreateParams *params, unsigned flags, CUdevice device)
{
    CUresult result = enter_device(device);
    if (result == CUDA_SUCCESS && (!out || !are_flags(flags)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = check_params(params);
    if (result == CUDA_SUCCESS)
        result = sg.fault;
    if (result == CUDA_SUCCESS) {
        sg_context *context = sg_context_create(flags, device);
        if (context && sg_push(context->handle)) {
            *out = context->handle;
        } else {
            if (context)
                sg_context_destroy(context);
            result = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return sg_leave(result);
}

/* A primary context is released instead. */
CUresult CUDAAPI cuCtxDestroy(CUcontext handle)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    sg_context *context = result == CUDA_SUCCESS ? sg_context_find(handle) : NULL;
    if (result == CUDA_SUCCESS && (!context || context == &sg.primary[context->device]))
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS) {
        if (sg_top() == handle)
            sg_pop();
        sg_context_destroy(context);
    }
    return sg_leave(result);
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext handle)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS && !sg_handle_find(SG_CONTEXT, handle))
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS && !sg_push(handle))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    return sg_leave(result);
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext *handle)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    const CUcontext top = result == CUDA_SUCCESS ? sg_pop() : NULL;
    if (result == CUDA_SUCCESS && !top)
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (top && handle)
        *handle = top;
    return sg_leave(result);
}

/* Replaces the top of the stack; NULL takes it away. */
CUresult CUDAAPI cuCtxSetCurrent(CUcontext handle)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS && handle && !sg_handle_find(SG_CONTEXT, handle))
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS) {
        sg_pop();
        if (handle)
            sg_push(handle);
    }
    return sg_leave(result);
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *handle)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS && !handle)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *handle = sg_top();
    return sg_leave(result);
}

/* A context that is named, or with NULL the current one; it must live. */
static CUresult enter_context(CUcontext handle)
{
    const CUresult result = sg_enter(handle ? SG_NEEDS_INIT : SG_NEEDS_CONTEXT);
    return result == CUDA_SUCCESS && handle && !sg_context_find(handle) ? CUDA_ERROR_INVALID_CONTEXT : result;
}

CUresult CUDAAPI cuCtxGetDevice_v2(CUdevice *device, CUcontext handle)
{
    CUresult result = enter_context(handle);
    if (result == CUDA_SUCCESS && !device)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *device = (handle ? sg_context_find(handle) : sg_current())->device;
    return sg_leave(result);
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
    return cuCtxGetDevice_v2(device, NULL);
}

CUresult CUDAAPI cuCtxGetFlags(unsigned *flags)
{
    CUresult result = sg_enter(SG_NEEDS_CONTEXT);
    if (result == CUDA_SUCCESS && !flags)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *flags = sg_current()->flags;
    return sg_leave(result);
}

CUresult CUDAAPI cuCtxGetApiVersion(CUcontext handle, unsigned *version)
{
    CUresult result = enter_context(handle);
    if (result == CUDA_SUCCESS && !version)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *version = 3020; /* since when contexts are what they are */
    return sg_leave(result);
}

CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext handle)
{
    CUresult result = enter_context(handle);
    if (result == CUDA_SUCCESS)
        result = sg.fault;
    if (result == CUDA_SUCCESS)
        result = sg_refuse_any();
    return sg_leave(result);
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    return cuCtxSynchronize_v2(NULL);
}
