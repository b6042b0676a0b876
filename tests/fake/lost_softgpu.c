/* A software GPU that is lost while a result comes back: the second copy to the host fails, and all behind it. */
#include <cuda.h>
#include <stdatomic.h>

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    static atomic_int calls;
    if (atomic_fetch_add(&calls, 1) > 0)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    return cuStreamSynchronize(stream) == CUDA_SUCCESS ? cuMemcpyDtoH(to, from, bytes) : CUDA_ERROR_ILLEGAL_ADDRESS;
}
