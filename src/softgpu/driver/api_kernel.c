/* Kernels: their attributes, and how many of their blocks fit. */
#include "../model/limits.h"
#include "state.h"

CUresult CUDAAPI cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    if (result == CUDA_SUCCESS && !sg_handle_find(SG_FUNCTION, kernel))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS && !function)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *function = (CUfunction)kernel;
    return sg_leave(result);
}

static CUresult get_attribute(const sg_function *f, CUfunction_attribute attribute, int *value)
{
    const sg_cubin_kernel *a = &f->assembled;
    const int by_registers = sg_most_threads(sg.profile, (int)a->registers), bound = (int)a->max_threads;
    const struct {
        CUfunction_attribute attribute;
        int value;
    } attributes[] = {
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, bound > 0 && bound < by_registers ? bound : by_registers},
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, (int)a->static_shared},
        {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, (int)a->constant_bytes},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, (int)a->local_bytes},
        {CU_FUNC_ATTRIBUTE_NUM_REGS, (int)a->registers},
        {CU_FUNC_ATTRIBUTE_PTX_VERSION, sg.profile->cc},
        {CU_FUNC_ATTRIBUTE_BINARY_VERSION, sg.profile->cc},
        {CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, 0},
        {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f->max_dynamic_shared},
        {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, f->carveout},
        {CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, a->cluster[0] > 0},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, (int)f->cluster[0]},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, (int)f->cluster[1]},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, (int)f->cluster[2]},
        {CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, f->nonportable_cluster},
        {CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 0},
    };
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        if (attributes[i].attribute == attribute) {
            *value = attributes[i].value;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

/* Where the code itself names a cluster, that is the one. */
static CUresult set_cluster(sg_function *f, int side, int value)
{
    if (f->assembled.cluster[0] > 0)
        return CUDA_ERROR_NOT_PERMITTED;
    if (value < 0 || sg.profile->cluster_max == 0)
        return CUDA_ERROR_INVALID_VALUE;
    f->cluster[side] = (uint32_t)value;
    return CUDA_SUCCESS;
}

static CUresult set_attribute(sg_function *f, CUfunction_attribute attribute, int value)
{
    if (attribute >= CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH && attribute <= CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH)
        return set_cluster(f, (int)attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, value);
    const int most = sg.profile->smem_per_block_optin - (int)f->assembled.static_shared;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value >= 0 && value <= most)
        f->max_dynamic_shared = value;
    else if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT && value >= -1 && value <= 100)
        f->carveout = value;
    else if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED && sg.profile->cluster_max > 0)
        f->nonportable_cluster = value != 0;
    else if (attribute != CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE || value < 0 || value > 2)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* Enters and finds the function behind either kind of handle. */
static CUresult enter_function(sg_need need, const void *handle, CUdevice device, sg_function **function)
{
    CUresult result = sg_enter(need);
    if (result == CUDA_SUCCESS && !(*function = sg_handle_find(SG_FUNCTION, handle)))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS && !sg_is_device(device))
        result = CUDA_ERROR_INVALID_DEVICE;
    return result;
}

CUresult CUDAAPI cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device)
{
    sg_function *function;
    CUresult result = enter_function(SG_NEEDS_INIT, kernel, device, &function);
    if (result == CUDA_SUCCESS)
        result = value ? get_attribute(function, attribute, value) : CUDA_ERROR_INVALID_VALUE;
    return sg_leave(result);
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device)
{
    sg_function *function;
    CUresult result = enter_function(SG_NEEDS_INIT, kernel, device, &function);
    if (result == CUDA_SUCCESS)
        result = set_attribute(function, attribute, value);
    return sg_leave(result);
}

CUresult CUDAAPI cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle)
{
    sg_function *function;
    CUresult result = enter_function(SG_NEEDS_WORK, handle, 0, &function);
    if (result == CUDA_SUCCESS)
        result = value ? get_attribute(function, attribute, value) : CUDA_ERROR_INVALID_VALUE;
    return sg_leave(result);
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
    sg_function *function;
    CUresult result = enter_function(SG_NEEDS_WORK, handle, 0, &function);
    if (result == CUDA_SUCCESS)
        result = set_attribute(function, attribute, value);
    return sg_leave(result);
}

CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
    sg_function *function;
    CUresult result = enter_function(SG_NEEDS_WORK, handle, 0, &function);
    if (result == CUDA_SUCCESS && (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        result = CUDA_ERROR_INVALID_VALUE; /* else a preference: nothing here depends on it */
    return sg_leave(result);
}

CUresult CUDAAPI cuFuncGetName(const char **name, CUfunction handle)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    const sg_function *function = result == CUDA_SUCCESS ? sg_handle_find(SG_FUNCTION, handle) : NULL;
    if (result == CUDA_SUCCESS && (!name || !function))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *name = function->facts->name;
    return sg_leave(result);
}

CUresult CUDAAPI cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *bytes)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    const sg_function *function = result == CUDA_SUCCESS ? sg_handle_find(SG_FUNCTION, handle) : NULL;
    if (result == CUDA_SUCCESS && (!offset || !function || index >= function->facts->param_count))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *offset = function->facts->param_offsets[index];
    if (result == CUDA_SUCCESS && bytes)
        *bytes = function->facts->param_bytes[index];
    return sg_leave(result);
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int threads, size_t shared)
{
    sg_function *f;
    CUresult result = enter_function(SG_NEEDS_WORK, handle, 0, &f);
    if (result == CUDA_SUCCESS && (!blocks || threads < 1))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *blocks = shared > (size_t)f->max_dynamic_shared
                      ? 0
                      : sg_blocks_per_sm(sg.profile, threads, (int)f->assembled.registers,
                                         (int)(f->assembled.static_shared + shared));
    return sg_leave(result);
}
