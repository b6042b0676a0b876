/* What a program around gemmtune has anyway: a GPU, memory on it, numbers. For the examples and the benchmark. */
#ifndef GT_EXAMPLE_H
#define GT_EXAMPLE_H

#ifdef __cplusplus
extern "C" {
#endif

#include "../src/core/driver.h"

#define EXAMPLE_SKIP 77 /* the exit status by which meson knows a test that could not run */

/* Opens the driver (NULL: the CUDA driver) and makes device 0's primary context current. NULL, with a line on standard
 * error, where there is no driver or no GPU. Lives to the end of the program. */
const gt_driver *example_open(const char *path);

/* Device memory with a copy of some host bytes. Ends the program on failure, as all below do. */
void *example_upload(const gt_driver *driver, const void *host, size_t bytes);
void example_download(const gt_driver *driver, const void *device, void *host, size_t bytes);
void example_free(const gt_driver *driver, void *device);
void example_check(const gt_driver *driver, CUresult result, const char *what);

/* Fills with numbers from -1 to 1. */
void example_fill(float *values, size_t count, unsigned seed);

/* Whether c is scale * a * b + c0, row-major and packed, within what f32 can promise; prints the first element that is
 * not. c0 may be NULL for zero. */
int example_is_product(int64_t m, int64_t n, int64_t k, double scale, const float *a, const float *b, const float *c0,
                       const float *c);

/* The exit status for a failed gemmtune call, whose message is printed: to skip where nothing is tuned here. */
int example_status(gt_status status);

#ifdef __cplusplus
}
#endif

#endif
