/* Libraries: code that belongs to no context. */
#include "library.h"

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *options, void **values,
                                   unsigned count, CUlibraryOption *library_options, void **library_values,
                                   unsigned library_count)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    (void)library_values;
    if (result == CUDA_SUCCESS && library_count > 0 && !library_options)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = sg_library_create(SG_LIBRARY, SG_NOBODY, code, &(sg_jit){options, values, count}, (void **)out);
    return sg_leave(result);
}

/* Enters and finds the library. */
static CUresult enter_library(sg_need need, CUlibrary handle, sg_library **library)
{
    const CUresult result = sg_enter(need);
    *library = result == CUDA_SUCCESS ? sg_handle_find(SG_LIBRARY, handle) : NULL;
    return result == CUDA_SUCCESS && !*library ? CUDA_ERROR_INVALID_HANDLE : result;
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary handle)
{
    sg_library *library;
    const CUresult result = enter_library(SG_NEEDS_INIT, handle, &library);
    if (result == CUDA_SUCCESS)
        sg_library_free(library);
    return sg_leave(result);
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *kernel, CUlibrary handle, const char *name)
{
    sg_library *library;
    CUresult result = enter_library(SG_NEEDS_INIT, handle, &library);
    if (result == CUDA_SUCCESS && (!kernel || !name))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = sg_library_function(library, name, kernel);
    return sg_leave(result);
}

CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary handle, const char *name)
{
    sg_library *library;
    CUresult result = enter_library(SG_NEEDS_WORK, handle, &library);
    if (result == CUDA_SUCCESS)
        result = sg_library_variable(library, name, address, bytes);
    return sg_leave(result);
}
