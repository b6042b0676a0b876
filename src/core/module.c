#include "module.h"

#include "../softgpu/softgpu.h"
#include "cubin.h"

CUresult gt_code_load(const gt_driver *driver, const gt_code *code, CUlibrary *library)
{
    if (driver->soft && code->ptx)
        driver->soft->attach_ptx(code->cubin, code->cubin_bytes, code->ptx, code->ptx_bytes);
    return driver->cuLibraryLoadData(library, code->cubin, NULL, NULL, 0, NULL, NULL, 0);
}

static gt_status fail_facts(const gt_kernel *kernel, const char *what, long long code, long long facts)
{
    char params[GT_PARAMS_TEXT];
    return gt_fail(GT_ERROR_CORRUPT, "kernel %s (%s): %s %lld by its code, %lld by its facts", kernel->family,
                   gt_params_text(&kernel->params, params), what, code, facts);
}

/* Holds facts against what the code says of itself. An attribute that a driver does not know is not asked for. */
static gt_status check_facts(const gt_driver *driver, const gt_kernel *kernel, const gt_code *code, CUkernel handle,
                             CUdevice device)
{
    const gt_facts *f = &kernel->facts;
    const struct {
        CUfunction_attribute attribute;
        const char *what;
        int64_t fact;
    } cluster[] = {{CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, "blocks of a cluster along tiles are", f->cluster_x},
                   {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, "blocks of a cluster along K are", f->cluster_y},
                   {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, "blocks of a cluster along matrices are", 1}};
    int value, limit;
    if (driver->cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, handle, device) == CUDA_SUCCESS &&
        f->threads > value)
        return fail_facts(kernel, "threads of a block are at most", value, f->threads);
    const int64_t required = gt_cubin_required_threads(code->cubin, code->cubin_bytes, GT_ENTRY);
    if (required > 0 && f->threads != required)
        return fail_facts(kernel, "threads of a block are", required, f->threads);
    /* One that ignores what it is told to add would be silently wrong. */
    const int64_t maps = (f->box_a_rows > 0) + (f->box_b_rows > 0) + (f->box_c_rows > 0),
                  passed = maps * (int64_t)sizeof(CUtensorMap) + GT_ARGS_BYTES,
                  taken = gt_cubin_parameter_bytes(code->cubin, code->cubin_bytes, GT_ENTRY);
    if (f->epilogue && taken > 0 && taken < passed)
        return fail_facts(kernel, "bytes of parameters, with those of epilogues, are", taken, passed);
    if (driver->cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, handle, device) == CUDA_SUCCESS &&
        driver->cuDeviceGetAttribute(&limit, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device) ==
            CUDA_SUCCESS &&
        f->smem_bytes > limit - value)
        return fail_facts(kernel, "bytes of dynamic shared memory are at most", limit - value, f->smem_bytes);
    for (size_t i = 0; i < sizeof cluster / sizeof cluster[0]; i++)
        if (driver->cuKernelGetAttribute(&value, cluster[i].attribute, handle, device) == CUDA_SUCCESS && value > 0 &&
            value != cluster[i].fact)
            return fail_facts(kernel, cluster[i].what, value, cluster[i].fact);
    return GT_OK;
}

gt_status gt_module_load(const gt_driver *driver, const gt_kernel *kernel, const gt_code *code, gt_module *out)
{
    gt_module module = {0};
    CUkernel handle;
    CUdevice device;
    char params[GT_PARAMS_TEXT];
    /* A driver is not told how long a cubin is: it believes what stands in it. */
    gt_status status = gt_cubin_check(code->cubin, code->cubin_bytes);
    if (status != GT_OK)
        return gt_fail(status, "kernel %s (%s): %s", kernel->family, gt_params_text(&kernel->params, params),
                       gt_error_message());
    CUresult result = gt_code_load(driver, code, &module.library);
    if (result != CUDA_SUCCESS)
        return gt_driver_check(driver, result, "loading the kernel");
    if ((result = driver->cuLibraryGetKernel(&handle, module.library, GT_ENTRY)) != CUDA_SUCCESS ||
        (result = driver->cuCtxGetDevice(&device)) != CUDA_SUCCESS)
        goto fail;
    if ((status = check_facts(driver, kernel, code, handle, device)) != GT_OK) {
        gt_module_unload(driver, &module);
        return status;
    }
    /* Above 48 KB, the kernel's own static arrays included, shared memory must be asked for. */
    if (kernel->facts.smem_bytes > 0 &&
        (result = driver->cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                               (int)kernel->facts.smem_bytes, handle, device)) != CUDA_SUCCESS)
        goto fail;
    if ((result = driver->cuKernelGetAttribute(&module.registers, CU_FUNC_ATTRIBUTE_NUM_REGS, handle, device)) !=
            CUDA_SUCCESS ||
        (result = driver->cuKernelGetAttribute(&module.spills, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, handle, device)) !=
            CUDA_SUCCESS)
        goto fail;
    /* A CUkernel launches in whatever context is current: a plan is not tied to the one it was made in. */
    module.function = (CUfunction)handle;
    if (kernel->facts.repack &&
        (result = driver->cuLibraryGetKernel(&handle, module.library, GT_REPACK_ENTRY)) != CUDA_SUCCESS)
        goto fail;
    module.repack = kernel->facts.repack ? (CUfunction)handle : NULL;
    *out = module;
    return GT_OK;
fail:
    driver->cuLibraryUnload(module.library);
    return gt_driver_check(driver, result, "preparing the kernel");
}

void gt_module_unload(const gt_driver *driver, gt_module *module)
{
    if (module->library)
        driver->cuLibraryUnload(module->library);
    *module = (gt_module){0};
}
