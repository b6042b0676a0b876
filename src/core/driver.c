#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <config.h>

#include "../softgpu/softgpu.h"
#include "environment.h"

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

bool gt_driver_is_soft(const char *name, const char **profile)
{
    if (!name || strncmp(name, "soft", 4) != 0 || (name[4] != 0 && name[4] != ':'))
        return false;
    if (profile)
        *profile = name[4] ? name + 5 : "";
    return true;
}

static const char *const profiles[] = {"h200", "a100", "rtx4090", "t4"};
#define NO_PROFILE \
    "the software GPU has no profile '%.32s'; there are: h200 a100 rtx4090 t4, each with ,races or ,gpus=2 behind it"

gt_status gt_driver_check_name(const char *name)
{
    const char *profile;
    if (!gt_driver_is_soft(name, &profile))
        return GT_OK;
    size_t length = strcspn(profile, ",");
    bool known = *profile == '\0' && name[4] == '\0';
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++)
        known = known || (strlen(profiles[i]) == length && strncmp(profile, profiles[i], length) == 0);
    for (const char *more = profile + length; known && *more; more += length) { /* "h200,races", "h200,gpus=2" */
        int devices, end = 0;
        more++;
        length = strcspn(more, ",");
        known = (length == 5 && strncmp(more, "races", 5) == 0) ||
                (sscanf(more, "gpus=%2d%n", &devices, &end) == 1 && (size_t)end == length && devices >= 1 &&
                 devices <= GT_SOFT_MOST_DEVICES);
    }
    return known ? GT_OK : gt_fail(GT_ERROR_INVALID, NO_PROFILE, profile);
}

/* Opens the software GPU's library: as $GEMMTUNE_SOFTGPU says; in the build tree of a program that was not installed;
 * on the loader's path; where it was installed. */
static void *open_soft(void)
{
    static const char beside[] = "/../src/softgpu/" GT_SOFTGPU_LIBRARY;
    char path[4096];
    const char *named = gt_environment(GT_ENV_SOFTGPU);
    if (named)
        return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof beside);
    void *library = NULL;
    if (length > 0) {
        path[length] = 0;
        strcpy(strrchr(path, '/'), beside);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (!library)
        library = dlopen(GT_SOFTGPU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    return library ? library : dlopen(GT_SOFTGPU_FOLDER "/" GT_SOFTGPU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
}

/* What a software GPU offers beyond the driver, whether it was wanted by that name or opened as a library. One whose
 * table is too short is refused, not taken for a real driver: its times would pass for measured ones. */
static gt_status find_soft(gt_driver *driver, bool wanted)
{
    const gtSoft *(*get_table)(void) = (const gtSoft *(*)(void))dlsym(driver->library, "gtSoftTable");
    if (!get_table && !wanted)
        return GT_OK;
    const gtSoft *table = get_table ? get_table() : NULL;
    if (!table || table->bytes < sizeof *table)
        return gt_fail(GT_ERROR_NO_DRIVER, "the software GPU (%s) is older than this program: install them together",
                       GT_SOFTGPU_LIBRARY);
    driver->soft = table;
    return GT_OK;
}

/* Tells the software GPU what to be, before it starts. */
static gt_status choose_profile(const gt_driver *driver, const char *profile)
{
    const int result = driver->soft->choose(profile);
    if (result == CUDA_ERROR_ILLEGAL_STATE)
        return gt_fail(GT_ERROR_NO_DEVICE,
                       "this program has started the software GPU as another than %.32s: run it with "
                       "GEMMTUNE_DRIVER=soft:%.32s",
                       profile, profile);
    return result == CUDA_SUCCESS ? GT_OK : gt_fail(GT_ERROR_NO_DEVICE, NO_PROFILE, profile);
}

/* What tells drivers apart: many have one CUDA version. The kernel module knows its own. */
static void describe_release(gt_driver *driver)
{
    char number[24] = "";
    FILE *file = driver->soft ? NULL : fopen("/sys/module/nvidia/version", "re");
    if (file && fgets(number, sizeof number, file))
        number[strcspn(number, "\n")] = '\0';
    if (file)
        fclose(file);
    snprintf(driver->release, sizeof driver->release, "%d.%d%s%s", driver->version / 1000, driver->version % 1000 / 10,
             *number ? " " : "", number);
}

#define LIBRARY "libcuda.so.1"

/* Why a driver cannot be loaded. In a container there may be a file without content in its place. */
static gt_status fail_open(const char *name)
{
    const char *why = dlerror();
    if (name)
        return gt_fail(GT_ERROR_NO_DRIVER, "cannot load the driver '%s': %s", name, why);
    if (why && strncmp(why, LIBRARY ": cannot open", sizeof LIBRARY ": cannot open" - 1) != 0)
        return gt_fail(GT_ERROR_NO_DRIVER, "the CUDA driver cannot be loaded: %s; the software GPU is --device soft", why);
    return gt_fail(GT_ERROR_NO_DRIVER, "no CUDA driver (" LIBRARY ") on this machine: install NVIDIA's driver, or use the "
                                       "software GPU, --device soft");
}

gt_status gt_driver_open(const char *name, gt_driver **out)
{
    gt_status status = GT_OK;
    const char *profile = NULL;
    gt_driver *driver = calloc(1, sizeof *driver);
    if (!driver)
        return gt_fail_memory();
    if (!name)
        name = gt_environment(GT_ENV_DRIVER);
    const bool soft = gt_driver_is_soft(name, &profile);
    driver->library = soft ? open_soft() : dlopen(name ? name : LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!driver->library) {
        status = fail_open(name);
        goto fail;
    }
    if ((status = find_soft(driver, soft)) != GT_OK)
        goto fail;
    if (driver->soft)
        snprintf(driver->soft_name, sizeof driver->soft_name, "%s", soft ? name : "soft");
    if (soft && (status = choose_profile(driver, profile)) != GT_OK)
        goto fail;
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
    describe_release(driver);
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
