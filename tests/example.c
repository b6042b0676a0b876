#include "example.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* src/driver.c, compiled in, reports through these two; the library keeps its own to itself. */
gt_status gt_fail(gt_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return status;
}

gt_status gt_fail_memory(void)
{
    return gt_fail(GT_ERROR_MEMORY, "out of memory");
}

const gt_driver *example_open(const char *path)
{
    gt_driver *driver;
    CUdevice device;
    CUcontext context;
    if (gt_driver_open(path, &driver) != GT_OK)
        return NULL;
    example_check(driver, driver->cuDeviceGet(&device, 0), "cuDeviceGet");
    example_check(driver, driver->cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    example_check(driver, driver->cuCtxSetCurrent(context), "cuCtxSetCurrent");
    return driver;
}

void example_check(const gt_driver *driver, CUresult result, const char *what)
{
    if (gt_driver_check(driver, result, what) != GT_OK)
        exit(1);
}

void *example_upload(const gt_driver *driver, const void *host, size_t bytes)
{
    CUdeviceptr device;
    example_check(driver, driver->cuMemAlloc(&device, bytes), "cuMemAlloc");
    example_check(driver, driver->cuMemcpyHtoD(device, host, bytes), "cuMemcpyHtoD");
    return (void *)device;
}

void example_download(const gt_driver *driver, const void *device, void *host, size_t bytes)
{
    example_check(driver, driver->cuMemcpyDtoH(host, (CUdeviceptr)device, bytes), "cuMemcpyDtoH");
}

void example_free(const gt_driver *driver, void *device)
{
    driver->cuMemFree((CUdeviceptr)device);
}

void example_fill(float *values, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 8) * 0x1p-23f - 1;
    }
}

int example_is_product(int64_t m, int64_t n, int64_t k, double scale, const float *a, const float *b, const float *c0,
                       const float *c)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0, size = 0;
            for (int64_t p = 0; p < k; p++) {
                const double term = (double)a[i * k + p] * (double)b[p * n + j];
                sum += term;
                size += fabs(term);
            }
            const double start = c0 ? (double)c0[i * n + j] : 0, want = scale * sum + start;
            /* k products and sums and a few steps for the scaling, each with f32's unit roundoff; and as much for
             * every time the result is summed up again. */
            const double bound = (double)(k + 8) * 0x1p-24 * (fabs(scale) * size + fabs(start)) * 2;
            if (!(fabs((double)c[i * n + j] - want) <= bound)) {
                fprintf(stderr, "C[%lld,%lld] is %.9g, not %.9g\n", (long long)i, (long long)j, (double)c[i * n + j],
                        want);
                return 0;
            }
        }
    return 1;
}

int example_status(gt_status status)
{
    const int skip = status == GT_ERROR_NO_DATABASE || status == GT_ERROR_NOT_TUNED || status == GT_ERROR_NO_DRIVER ||
                     status == GT_ERROR_NO_DEVICE;
    fprintf(stderr, "%s%s: %s\n", skip ? "skipped: " : "", gt_status_name(status), gt_error_message());
    return skip ? EXAMPLE_SKIP : 1;
}
