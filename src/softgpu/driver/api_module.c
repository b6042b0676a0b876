/* Modules: code that belongs to the context in which it was loaded. */
#include <stdio.h>
#include <stdlib.h>

#include "library.h"

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options,
                                    void **values)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    if (result == CUDA_SUCCESS)
        result = sg_library_create(SG_MODULE, sg_current()->number, image, &(sg_jit){options, values, count},
                                   (void **)module);
    return sg_leave(result);
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image)
{
    return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

/* A file's bytes with a zero behind them, as PTX needs it; free(). */
static CUresult read_file(const char *path, char **contents)
{
    FILE *file = fopen(path, "rb");
    CUresult result = CUDA_ERROR_FILE_NOT_FOUND;
    char *bytes = NULL;
    if (file && fseek(file, 0, SEEK_END) == 0) {
        const long size = ftell(file);
        bytes = size >= 0 ? calloc(1, (size_t)size + 1) : NULL;
        rewind(file);
        result = !bytes ? CUDA_ERROR_OUT_OF_MEMORY
                 : fread(bytes, 1, (size_t)size, file) == (size_t)size ? CUDA_SUCCESS
                                                                       : CUDA_ERROR_FILE_NOT_FOUND;
    }
    if (file)
        fclose(file);
    if (result == CUDA_SUCCESS)
        *contents = bytes;
    else
        free(bytes);
    return result;
}

CUresult CUDAAPI cuModuleLoad(CUmodule *module, const char *path)
{
    char *image = NULL;
    CUresult result = sg_leave(sg_enter(SG_NEEDS_WORK));
    if (result == CUDA_SUCCESS)
        result = module && path ? read_file(path, &image) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = cuModuleLoadData(module, image);
    free(image);
    return result;
}

/* Enters and finds the module. */
static CUresult enter_module(CUmodule handle, sg_library **module)
{
    const CUresult result = sg_enter(SG_NEEDS_WORK);
    *module = result == CUDA_SUCCESS ? sg_handle_find(SG_MODULE, handle) : NULL;
    return result == CUDA_SUCCESS && !*module ? CUDA_ERROR_INVALID_HANDLE : result;
}

CUresult CUDAAPI cuModuleUnload(CUmodule handle)
{
    sg_library *module;
    const CUresult result = enter_module(handle, &module);
    if (result == CUDA_SUCCESS)
        sg_library_free(module);
    return sg_leave(result);
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule handle, const char *name)
{
    sg_library *module;
    CUresult result = enter_module(handle, &module);
    if (result == CUDA_SUCCESS && (!function || !name))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = sg_library_function(module, name, (CUkernel *)function);
    return sg_leave(result);
}

CUresult CUDAAPI cuModuleGetGlobal(CUdeviceptr *address, size_t *bytes, CUmodule handle, const char *name)
{
    sg_library *module;
    CUresult result = enter_module(handle, &module);
    if (result == CUDA_SUCCESS)
        result = sg_library_variable(module, name, address, bytes);
    return sg_leave(result);
}

CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS && !mode)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *mode = CU_MODULE_EAGER_LOADING;
    return sg_leave(result);
}
