/* Made-up measurements for the tests of the choice of a kernel. */
#ifndef SELECT_FIXTURE_H
#define SELECT_FIXTURE_H

#include "../src/runtime/select.h"
#include "check.h"

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static const gt_demands anything;

static inline gt_device h200(void)
{
    gt_device device;
    if (gt_device_model(90, &device) != GT_OK)
        abort();
    device.ordinal = 0;
    device.sm_count = 132;
    device.l2_bytes = 50 << 20;
    snprintf(device.name, sizeof device.name, "NVIDIA H200");
    return device;
}

static inline gt_problem sized(int64_t m, int64_t n, int64_t k)
{
    const gt_gemm gemm = GT_GEMM(GT_F32, m, n, k);
    gt_problem problem;
    if (gt_problem_init(&gemm, &problem) != GT_OK)
        abort();
    problem.class.align = 16;
    return problem;
}

static inline gt_kernel tiled(int tile_m, int tile_n, int split_k)
{
    const int threads = tile_m * tile_n >= 64 * 128 ? 256 : 128;
    gt_kernel kernel = {
        .family = "simt", .arch = "sm_90a", .registers = 40 + tile_m * tile_n / threads * 5 / 4,
    };
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        *gt_fact(&kernel.facts, i) = gt_fact_rows[i].absent;
    kernel.facts.tile_m = tile_m;
    kernel.facts.tile_n = tile_n;
    kernel.facts.split_k = split_k;
    kernel.facts.threads = threads;
    kernel.facts.smem_bytes = (tile_m + tile_n) * 16 * 4 * 3;
    return kernel;
}

/* One measurement of kernel `id` on this GPU. */
static inline gt_measured row(int64_t id, gt_kernel kernel, gt_problem problem, double us)
{
    static gt_kernel kernels[2048]; /* more than any list has */
    static size_t next;
    gt_kernel *own = &kernels[next++ % 2048];
    *own = kernel;
    return (gt_measured){.kernel_id = id, .kernel = own, .problem = problem, .same_gpu = true,
                         .trial = {.outcome = GT_TRIAL_OK, .us = us, .error = 1e-7, .margin = -1}};
}

/* The id of the kernel chosen; -1 where there is none. */
static inline int64_t choose(gt_problem problem, gt_demands demands, const gt_measured *list, size_t count,
                      gt_selection *selection)
{
    const gt_device device = h200();
    const gt_measurements measured = {.list = (gt_measured *)list, .count = count};
    return gt_select(&device, &problem, &demands, &measured, selection) == GT_OK
               ? list[selection->index].kernel_id : -1;
}

#endif
