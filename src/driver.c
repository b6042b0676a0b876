#include "driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* cuLibraryLoadData, which every kernel is loaded with, came with CUDA 12.0. */
#define OLDEST_DRIVER 12000

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

/* A driver older than the headers lacks their newest versions of a symbol. Where both have the same
 * signature the older one serves. */
static void *find_symbol(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    if (!symbol && strcmp(name, "cuEventElapsedTime_v2") == 0)
        symbol = dlsym(library, "cuEventElapsedTime");
    return symbol;
}

gt_status gt_driver_open(const char *path, gt_driver **out)
{
    gt_status status = GT_OK;
    gt_driver *driver = calloc(1, sizeof *driver);
    if (!driver)
        return gt_fail_memory();
    driver->library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver->library) {
        status = path ? gt_fail(GT_ERROR_NO_DRIVER, "cannot load the driver '%s': %s", path, dlerror())
                      : gt_fail(GT_ERROR_NO_DRIVER, "no CUDA driver (libcuda.so.1) on this machine: install NVIDIA's driver");
        goto fail;
    }
#define X(symbol)                                                                                            \
    driver->symbol = (__typeof__(driver->symbol))find_symbol(driver->library, STRING(symbol));                \
    if (!driver->symbol) {                                                                                   \
        status = gt_fail(GT_ERROR_NO_DRIVER, "the CUDA driver has no %s: it is older than CUDA 12.0, update it", \
                         STRING(symbol));                                                                    \
        goto fail;                                                                                           \
    }
    GT_DRIVER_SYMBOLS(X)
#undef X
    CUresult result = driver->cuInit(0);
    if (result == CUDA_ERROR_NO_DEVICE) {
        status = gt_fail(GT_ERROR_NO_DEVICE, "the CUDA driver finds no GPU on this machine");
        goto fail;
    }
    if (result != CUDA_SUCCESS || driver->cuDriverGetVersion(&driver->version) != CUDA_SUCCESS) {
        gt_driver_check(driver, result, "cuInit");
        status = gt_fail(GT_ERROR_NO_DRIVER, "the CUDA driver does not start: %s", gt_error_message());
        goto fail;
    }
    if (driver->version < OLDEST_DRIVER) {
        status = gt_fail(GT_ERROR_NO_DRIVER, "the CUDA driver is for CUDA %d.%d; 12.0 or newer is needed",
                         driver->version / 1000, driver->version % 1000 / 10);
        goto fail;
    }
    *out = driver;
    return GT_OK;
fail:
    gt_driver_close(driver);
    return status;
}

void gt_driver_close(gt_driver *driver)
{
    if (!driver)
        return;
    if (driver->library)
        dlclose(driver->library);
    free(driver);
}

gt_status gt_driver_check(const gt_driver *driver, CUresult result, const char *what)
{
    const char *name = NULL, *description = NULL;
    if (result == CUDA_SUCCESS)
        return GT_OK;
    driver->cuGetErrorName(result, &name);
    driver->cuGetErrorString(result, &description);
    return gt_fail(result == CUDA_ERROR_OUT_OF_MEMORY ? GT_ERROR_DEVICE_MEMORY : GT_ERROR_DRIVER, "%s: %s (%d): %s",
                   what, name ? name : "unknown error", (int)result, description ? description : "no description");
}
