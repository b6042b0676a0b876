#include "module.h"

#include "../softgpu/softgpu.h"

CUresult gt_code_load(const gt_driver *driver, const gt_code *code, CUlibrary *library)
{
    if (driver->soft && code->ptx)
        driver->soft->attach_ptx(code->cubin, code->cubin_bytes, code->ptx, code->ptx_bytes);
    return driver->cuLibraryLoadData(library, code->cubin, NULL, NULL, 0, NULL, NULL, 0);
}

gt_status gt_module_load(const gt_driver *driver, const gt_kernel *kernel, const gt_code *code, gt_module *out)
{
    gt_module module = {0};
    CUkernel handle;
    CUdevice device;
    CUresult result = gt_code_load(driver, code, &module.library);
    if (result != CUDA_SUCCESS)
        return gt_driver_check(driver, result, "loading the kernel");
    if ((result = driver->cuLibraryGetKernel(&handle, module.library, GT_ENTRY)) != CUDA_SUCCESS ||
        (result = driver->cuCtxGetDevice(&device)) != CUDA_SUCCESS)
        goto fail;
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
