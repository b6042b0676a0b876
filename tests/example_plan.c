/* Plans one matrix product, runs it, and checks it on the CPU. Usage: example_plan [DATABASE [DRIVER]]. */
#include <gemmtune.h>

#include <stdio.h>
#include <stdlib.h>

#include "example.h"

enum { M = 300, N = 260, K = 200 };

static float a[M * K], b[K * N], c[M * N];

int main(int argc, char **argv)
{
    const gt_options options = {.database = argc > 1 ? argv[1] : NULL, .driver = argc > 2 ? argv[2] : NULL};
    const gt_driver *driver = example_open(options.driver);
    if (!driver)
        return EXAMPLE_SKIP;
    example_fill(a, M * K, 1);
    example_fill(b, K * N, 2);
    example_fill(c, M * N, 3);
    void *device_a = example_upload(driver, a, sizeof a), *device_b = example_upload(driver, b, sizeof b);
    void *device_c = example_upload(driver, c, sizeof c);

    gt_context *gt = NULL;
    gt_plan *plan = NULL;
    const gt_gemm gemm = GT_GEMM(GT_F32, M, N, K);
    const float alpha = 1.5f, beta = 0;
    gt_description chosen;
    gt_status status = gt_open(&options, &gt);
    if (status == GT_OK)
        status = gt_plan_gemm(gt, &gemm, &plan);
    if (status == GT_OK)
        status = gt_execute(plan, NULL, &alpha, device_a, device_b, &beta, device_c);
    if (status == GT_OK)
        status = gt_plan_describe(plan, &chosen);
    if (status != GT_OK) {
        gt_close(gt);
        return example_status(status);
    }
    printf("%s %s\n%s; %.1f us expected\n", chosen.family, chosen.params, chosen.reason, chosen.expected_us);

    example_download(driver, device_c, c, sizeof c); /* waits for the product */
    const int good = example_is_product(M, N, K, (double)alpha, a, b, NULL, c);
    gt_plan_destroy(plan);
    gt_close(gt);
    example_free(driver, device_a);
    example_free(driver, device_b);
    example_free(driver, device_c);
    puts(good ? "correct" : "wrong");
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
