/* Captures an execution in a CUDA graph, replays it, and checks the sum. Usage: example_graph [DATABASE [DRIVER]]. */
#include <gemmtune.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "example.h"

enum { M = 256, N = 192, K = 320, REPLAYS = 3 };

static float a[M * K], b[K * N], before[M * N], after[M * N];

/* Captures C = A * B + C. A failing execution still ends the capture. */
static gt_status capture(const gt_driver *driver, const gt_plan *plan, CUstream stream, const void *device_a,
                         const void *device_b, void *device_c, CUgraph *graph)
{
    const float one = 1;
    example_check(driver, driver->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
    const gt_status status = gt_execute(plan, stream, &one, device_a, device_b, &one, device_c);
    example_check(driver, driver->cuStreamEndCapture(stream, graph), "cuStreamEndCapture");
    return status;
}

int main(int argc, char **argv)
{
    const gt_options options = {.database = argc > 1 ? argv[1] : NULL, .driver = argc > 2 ? argv[2] : NULL};
    const gt_driver *driver = example_open(options.driver);
    if (!driver)
        return EXAMPLE_SKIP;
    example_fill(a, M * K, 1);
    example_fill(b, K * N, 2);
    example_fill(before, M * N, 3);
    void *device_a = example_upload(driver, a, sizeof a), *device_b = example_upload(driver, b, sizeof b);
    void *device_c = example_upload(driver, before, sizeof before);

    gt_context *gt = NULL;
    gt_plan *plan = NULL;
    CUstream stream;
    CUgraph graph;
    CUgraphExec ready;
    const gt_gemm gemm = GT_GEMM(GT_F32, M, N, K);
    gt_status status = gt_open(&options, &gt);
    if (status == GT_OK)
        status = gt_plan_gemm(gt, &gemm, &plan);
    if (status != GT_OK) {
        gt_close(gt);
        return example_status(status);
    }
    example_check(driver, driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    status = capture(driver, plan, stream, device_a, device_b, device_c, &graph);
    if (status != GT_OK)
        return example_status(status);

    example_download(driver, device_c, after, sizeof after);
    int good = memcmp(before, after, sizeof before) == 0; /* captured, not run */
    example_check(driver, driver->cuGraphInstantiate(&ready, graph, 0), "cuGraphInstantiate");
    for (int i = 0; i < REPLAYS; i++)
        example_check(driver, driver->cuGraphLaunch(ready, stream), "cuGraphLaunch");
    example_check(driver, driver->cuStreamSynchronize(stream), "cuStreamSynchronize");
    example_download(driver, device_c, after, sizeof after);
    good = good && example_is_product(M, N, K, REPLAYS, a, b, before, after);

    driver->cuGraphExecDestroy(ready);
    driver->cuGraphDestroy(graph);
    driver->cuStreamDestroy(stream);
    gt_plan_destroy(plan);
    gt_close(gt);
    example_free(driver, device_a);
    example_free(driver, device_b);
    example_free(driver, device_c);
    puts(good ? "correct" : "wrong");
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
