#include "clock.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "../timer.h"

/* The few calls of NVML that are needed; their types are stable across all its versions. */
enum { NVML_SUCCESS = 0, NVML_CLOCK_SM = 1 };

struct gt_clock {
    void *library, *device;
    double max_mhz;
    int (*shutdown)(void);
    int (*clock_info)(void *device, int kind, unsigned *mhz);
    int (*driver_release)(char *text, unsigned size); /* may be NULL */
};

gt_clock *gt_clock_open(const char *bus_id)
{
    gt_clock *clock = calloc(1, sizeof *clock);
    if (!clock)
        return NULL;
    clock->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!clock->library)
        goto fail;
    int (*const init)(void) = (int (*)(void))dlsym(clock->library, "nvmlInit_v2");
    int (*const find)(const char *, void **) =
        (int (*)(const char *, void **))dlsym(clock->library, "nvmlDeviceGetHandleByPciBusId_v2");
    int (*const max_info)(void *, int, unsigned *) =
        (int (*)(void *, int, unsigned *))dlsym(clock->library, "nvmlDeviceGetMaxClockInfo");
    int (*const stop)(void) = (int (*)(void))dlsym(clock->library, "nvmlShutdown");
    clock->clock_info = (int (*)(void *, int, unsigned *))dlsym(clock->library, "nvmlDeviceGetClockInfo");
    clock->driver_release = (int (*)(char *, unsigned))dlsym(clock->library, "nvmlSystemGetDriverVersion");
    if (!init || !find || !max_info || !stop || !clock->clock_info || init() != NVML_SUCCESS)
        goto fail;
    clock->shutdown = stop;
    unsigned max = 0;
    if (find(bus_id, &clock->device) != NVML_SUCCESS || max_info(clock->device, NVML_CLOCK_SM, &max) != NVML_SUCCESS)
        goto fail;
    clock->max_mhz = max;
    return clock;
fail:
    gt_clock_close(clock);
    return NULL;
}

void gt_clock_close(gt_clock *clock)
{
    if (!clock)
        return;
    if (clock->shutdown)
        clock->shutdown();
    if (clock->library)
        dlclose(clock->library);
    free(clock);
}

double gt_clock_mhz(const gt_clock *clock)
{
    unsigned mhz = 0;
    if (!clock || clock->clock_info(clock->device, NVML_CLOCK_SM, &mhz) != NVML_SUCCESS)
        return 0;
    return mhz;
}

double gt_clock_max_mhz(const gt_clock *clock)
{
    return clock ? clock->max_mhz : 0;
}

#define AWAKE_S     0.15 /* NVML's readings are some ten milliseconds old */
#define AWAKE_BYTES (16 << 20)

/* The highest reading while memory is filled, in the current context. */
static double read_awake(const gt_driver *driver, const gt_clock *clock)
{
    const double end = gt_now() + AWAKE_S;
    CUdeviceptr memory;
    double highest = 0;
    if (driver->cuMemAlloc(&memory, AWAKE_BYTES) != CUDA_SUCCESS)
        return 0;
    while (gt_now() < end && driver->cuMemsetD32(memory, 0, AWAKE_BYTES / 4) == CUDA_SUCCESS &&
           driver->cuCtxSynchronize() == CUDA_SUCCESS) {
        const double mhz = gt_clock_mhz(clock);
        highest = mhz > highest ? mhz : highest;
    }
    driver->cuMemFree(memory);
    return highest;
}

double gt_clock_awake_mhz(const gt_driver *driver, const gt_device *device)
{
    gt_clock *clock = driver->soft ? NULL : gt_clock_open(device->bus_id);
    CUdevice handle;
    CUcontext context;
    double mhz = 0;
    if (clock && driver->cuDeviceGet(&handle, device->ordinal) == CUDA_SUCCESS &&
        driver->cuDevicePrimaryCtxRetain(&context, handle) == CUDA_SUCCESS) {
        if (driver->cuCtxSetCurrent(context) == CUDA_SUCCESS)
            mhz = read_awake(driver, clock);
        driver->cuCtxSetCurrent(NULL);
        driver->cuDevicePrimaryCtxRelease(handle);
    }
    gt_clock_close(clock);
    return mhz > 0 ? mhz : device->clock_khz / 1e3;
}

void gt_clock_driver(const gt_clock *clock, char *release, size_t size)
{
    if (!clock || !clock->driver_release || clock->driver_release(release, (unsigned)size) != NVML_SUCCESS)
        release[0] = 0;
}
