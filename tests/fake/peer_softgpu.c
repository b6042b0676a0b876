/* A software GPU whose allocations wait for what runs in their context, as a driver's may. In one context that is half of a
 * collective: it ends when the program has launched the other half. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <unistd.h>

#define SECONDS 20

CUcontext peer_context;
atomic_int peer_runs, peer_waits; /* the half was launched; an allocation waits for it */

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes)
{
    __typeof__(cuMemAlloc) *const real = (__typeof__(cuMemAlloc) *)dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    CUcontext current = NULL;
    if (cuCtxGetCurrent(&current) != CUDA_SUCCESS || !real)
        return CUDA_ERROR_UNKNOWN;
    for (int i = 0; current == peer_context && atomic_load(&peer_runs); i++) {
        atomic_store(&peer_waits, 1);
        if (i == SECONDS * 1000)
            return CUDA_ERROR_LAUNCH_TIMEOUT;
        usleep(1000);
    }
    return real(address, bytes);
}
