#include "wanted.h"

#include <stdlib.h>

#include "../../db/store.h"
#include "../core/status.h"
#include "counted.h"

gt_status gt_counted_open(gt_counted_gpu **out)
{
    gt_driver *driver;
    CUdevice handle;
    gt_counted_gpu *gpu = malloc(sizeof *gpu);
    if (!gpu)
        return gt_fail_memory();
    gt_status status = gt_driver_open(NULL, &driver);
    if (status == GT_OK) {
        status = gt_driver_check(driver, driver->cuCtxGetDevice(&handle), "cuCtxGetDevice");
        if (status == GT_OK)
            status = gt_device_of(driver, handle, &gpu->device);
        gt_driver_close(driver);
    }
    if (status == GT_OK)
        *out = gpu;
    else
        free(gpu);
    return status;
}

/* What a product takes at least without us, in microseconds: a launch, its arithmetic, its bytes. A program that is allowed
 * another math than it asked for would have had its own. */
static double estimate_us(const gt_device *device, const gt_problem *problem, double copy_tbs)
{
    static const double launch_us = 2;
    gt_class class = problem->class;
    class.math = gt_math_served_by(class.math);
    const double tflops = gt_device_peak_tflops(device, gt_class_types(&class));
    const double bytes = (double)gt_problem_bytes(problem, GT_A) + (double)gt_problem_bytes(problem, GT_B) +
                         (double)gt_problem_bytes(problem, GT_C);
    const double compute = tflops > 0 ? gt_problem_flops(problem) / tflops * 1e-6 : 0;
    const double memory = copy_tbs > 0 ? bytes / copy_tbs * 1e-6 : 0;
    return launch_us + (compute > memory ? compute : memory);
}

/* False for what is no product of the library's. */
static bool translate(const gt_device *device, const gt_counted *counted, double copy_tbs, gt_wanted *wanted)
{
    *wanted = (gt_wanted){.symbol = counted->symbol, .fate = counted->fate, .tunable = counted->tunable != 0,
                          .calls = counted->calls, .us = counted->baseline_us};
    if (counted->calls <= 0 || gt_problem_init(&counted->gemm, &wanted->problem) != GT_OK)
        return false;
    if (counted->expected_us > 0 && counted->baseline_us > counted->expected_us)
        wanted->saved_us = counted->baseline_us - counted->expected_us;
    if (!(wanted->us > 0))
        wanted->us = estimate_us(device, &wanted->problem, copy_tbs);
    return true;
}

gt_status gt_counted_store(const gt_counted_gpu *gpu, const char *program, const gt_counted *list, size_t count)
{
    gt_store *store = NULL;
    int64_t id;
    double copy_tbs = 0;
    size_t kept = 0;
    gt_wanted *rows = calloc(count + 1, sizeof *rows);
    if (!rows)
        return gt_fail_memory();
    gt_status status = gt_store_open(NULL, GT_STORE_ADD, &store);
    if (status == GT_OK)
        status = gt_store_gpu(store, &gpu->device, &id);
    if (status == GT_OK)
        status = gt_store_find_bandwidth(store, &gpu->device, &copy_tbs);
    for (size_t i = 0; status == GT_OK && i < count; i++)
        kept += translate(&gpu->device, &list[i], copy_tbs, &rows[kept]);
    if (status == GT_OK)
        status = gt_store_put_wanted(store, id, program, rows, kept);
    gt_store_close(store);
    free(rows);
    return status;
}
