/* A software GPU on a machine that is short of memory: while $TEST_SHORT is a file, other processes hold all of the GPU's;
 * while $TEST_KILL is, the system kills a worker that loads its first candidate. */
#include <cuda.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int exists(const char *variable)
{
    const char *path = getenv(variable);
    return path && access(path, F_OK) == 0;
}

CUresult cuMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    __typeof__(cuMemGetInfo) *next = (__typeof__(cuMemGetInfo) *)dlsym(RTLD_NEXT, "cuMemGetInfo_v2");
    if (!exists("TEST_SHORT"))
        return next(free_bytes, total_bytes);
    *free_bytes = 8192;
    return cuDeviceTotalMem(total_bytes, 0);
}

#define OWN_LIBRARIES 1 /* of a worker, before any candidate's */

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *options, void **values, unsigned count,
                           CUlibraryOption *library_options, void **library_values, unsigned library_count)
{
    static int loaded;
    __typeof__(cuLibraryLoadData) *next = (__typeof__(cuLibraryLoadData) *)dlsym(RTLD_NEXT, "cuLibraryLoadData");
    if (++loaded > OWN_LIBRARIES && exists("TEST_KILL"))
        raise(SIGKILL);
    return next(library, code, options, values, count, library_options, library_values, library_count);
}
