/* The primary context, the only one. */
#include "capture.h"

/* Programs hold it and hand it back; it points at nothing they could use. */
static CUcontext context_handle(void)
{
    return (CUcontext)&sg;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS && !context)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && device != 0)
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS && sg.retained == 0)
        result = sg.fault; /* no new context in a process whose last one broke */
    if (result == CUDA_SUCCESS) {
        sg.retained++;
        *context = context_handle();
    }
    return sg_leave(result);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS && device != 0)
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS && sg.retained == 0)
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS && --sg.retained == 0)
        sg_context_destroy();
    return sg_leave(result);
}

CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice device)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS && device != 0)
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS)
        sg_context_destroy();
    return sg_leave(result);
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS && (!flags || !active))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && device != 0)
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS) {
        *flags = 0;
        *active = sg.retained > 0;
    }
    return sg_leave(result);
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS && context && context != context_handle())
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS)
        sg_set_current(context != NULL);
    return sg_leave(result);
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *context)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS && !context)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *context = sg_is_current() ? context_handle() : NULL;
    return sg_leave(result);
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
    CUresult result = sg_enter(SG_NEEDS_CONTEXT);
    if (result == CUDA_SUCCESS && !device)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *device = 0;
    return sg_leave(result);
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    if (result == CUDA_SUCCESS)
        result = sg_refuse_any();
    return sg_leave(result);
}
