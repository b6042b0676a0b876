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

#undef cuEventElapsedTime
#undef cuEventDestroy
#undef cuStreamDestroy
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset

CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent first, CUevent last);
CUresult CUDAAPI cuEventDestroy(CUevent event);
CUresult CUDAAPI cuStreamDestroy(CUstream stream);
CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device);
CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice device);

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
