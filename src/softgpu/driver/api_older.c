/* Names under which older callers ask for the same functions. cuda.h has only the newest of each. */
#include <cuda.h>

static CUresult elapsed(float *milliseconds, CUevent first, CUevent last)
{
    return cuEventElapsedTime(milliseconds, first, last);
}

static CUresult destroy_event(CUevent event)
{
    return cuEventDestroy(event);
}

static CUresult destroy_stream(CUstream stream)
{
    return cuStreamDestroy(stream);
}

static CUresult release(CUdevice device)
{
    return cuDevicePrimaryCtxRelease(device);
}

static CUresult reset(CUdevice device)
{
    return cuDevicePrimaryCtxReset(device);
}

static CUresult create_context(CUcontext *context, unsigned flags, CUdevice device)
{
    return cuCtxCreate(context, NULL, flags, device);
}

static CUresult destroy_context(CUcontext context)
{
    return cuCtxDestroy(context);
}

static CUresult push(CUcontext context)
{
    return cuCtxPushCurrent(context);
}

static CUresult pop(CUcontext *context)
{
    return cuCtxPopCurrent(context);
}

static CUresult get_address(const char *symbol, void **function, int version, cuuint64_t flags,
                            CUdriverProcAddressQueryResult *status)
{
    return cuGetProcAddress(symbol, function, version, flags, status);
}

#undef cuEventElapsedTime
#undef cuEventDestroy
#undef cuStreamDestroy
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuCtxDestroy
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
#undef cuGetProcAddress

CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent first, CUevent last);
CUresult CUDAAPI cuEventDestroy(CUevent event);
CUresult CUDAAPI cuStreamDestroy(CUstream stream);
CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device);
CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice device);
CUresult CUDAAPI cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);
CUresult CUDAAPI cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *params, int count, unsigned flags,
                                CUdevice device);
CUresult CUDAAPI cuCtxDestroy(CUcontext context);
CUresult CUDAAPI cuCtxPushCurrent(CUcontext context);
CUresult CUDAAPI cuCtxPopCurrent(CUcontext *context);
CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags);

CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent first, CUevent last)
{
    return elapsed(milliseconds, first, last);
}

CUresult CUDAAPI cuEventDestroy(CUevent event)
{
    return destroy_event(event);
}

CUresult CUDAAPI cuStreamDestroy(CUstream stream)
{
    return destroy_stream(stream);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device)
{
    return release(device);
}

CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice device)
{
    return reset(device);
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device)
{
    return create_context(context, flags, device);
}

CUresult CUDAAPI cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *params, int count, unsigned flags,
                                CUdevice device)
{
    CUctxCreateParams all = {.execAffinityParams = params, .numExecAffinityParams = count};
    return cuCtxCreate(context, &all, flags, device);
}

CUresult CUDAAPI cuCtxDestroy(CUcontext context)
{
    return destroy_context(context);
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext context)
{
    return push(context);
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext *context)
{
    return pop(context);
}

/* The first one said by its result what the newer one says in its status. */
CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status;
    const CUresult result = get_address(symbol, function, version, flags, &status);
    return result == CUDA_SUCCESS && !*function ? CUDA_ERROR_NOT_FOUND : result;
}
