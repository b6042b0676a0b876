/* A software GPU that is lost while a result comes back: the second copy to the host fails, and all behind it. With
 * $TEST_ENDING the driver is then at its end, as it is while a process ends. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int calls;

CUresult cuCtxGetCurrent(CUcontext *context)
{
    __typeof__(cuCtxGetCurrent) *const next = (__typeof__(cuCtxGetCurrent) *)dlsym(RTLD_NEXT, "cuCtxGetCurrent");
    return getenv("TEST_ENDING") && atomic_load(&calls) > 1 ? CUDA_ERROR_DEINITIALIZED : next(context);
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    if (atomic_fetch_add(&calls, 1) > 0)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    return cuStreamSynchronize(stream) == CUDA_SUCCESS ? cuMemcpyDtoH(to, from, bytes) : CUDA_ERROR_ILLEGAL_ADDRESS;
}
