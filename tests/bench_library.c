/*
 * What the library costs: opening and planning beside the creation of a CUDA context, and gt_execute beside a bare
 * cuLaunchKernelEx of the same kernel with the same arguments. Usage: bench_library [DATABASE [DRIVER]].
 */
#include <gemmtune.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "example.h"

enum {
    SIZE = 64,     /* small: the GPU must keep up with the launches */
    CALLS = 100,   /* in one sample, well under the depth of a stream's queue */
    SAMPLES = 301, /* of each kind, taken in turns */
    PLANS = 31,    /* of one size, and of others */
};

/* The same launch without gemmtune: what a captured execution turned into. */
typedef struct bare_launch {
    CUgraph graph; /* owns the arguments */
    CUDA_KERNEL_NODE_PARAMS node;
    CUfunction function;
    CUlaunchAttribute cluster; /* sides of 0: none */
} bare_launch;

typedef struct operands {
    void *a, *b, *c;
    float alpha, beta;
} operands;

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

static gt_status execute(const gt_plan *plan, CUstream stream, const operands *o)
{
    return gt_execute(plan, stream, &o->alpha, o->a, o->b, &o->beta, o->c);
}

/* Captures one execution and reads its kernel, grid and arguments. 0 where this driver cannot tell. */
static int find_bare_launch(const gt_driver *driver, const gt_plan *plan, CUstream stream, const operands *o,
                            bare_launch *bare)
{
    __typeof__(cuGraphGetNodes) *get_nodes = dlsym(driver->library, "cuGraphGetNodes");
    __typeof__(cuGraphKernelNodeGetParams) *get_params = dlsym(driver->library, "cuGraphKernelNodeGetParams_v2");
    __typeof__(cuGraphKernelNodeGetAttribute) *get_attribute = dlsym(driver->library, "cuGraphKernelNodeGetAttribute");
    CUlaunchAttributeValue cluster = {0};
    CUgraphNode node;
    size_t count = 1;
    if (!get_nodes || !get_params || !get_attribute)
        return 0;
    example_check(driver, driver->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
    const gt_status status = execute(plan, stream, o);
    example_check(driver, driver->cuStreamEndCapture(stream, &bare->graph), "cuStreamEndCapture");
    if (status != GT_OK || get_nodes(bare->graph, &node, &count) != CUDA_SUCCESS || count != 1 ||
        get_params(node, &bare->node) != CUDA_SUCCESS ||
        get_attribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &cluster) != CUDA_SUCCESS)
        return 0;
    bare->cluster = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value = cluster};
    bare->function = bare->node.func ? bare->node.func : (CUfunction)bare->node.kern;
    return 1;
}

static CUresult launch_bare(const gt_driver *driver, const bare_launch *bare, CUstream stream)
{
    const CUDA_KERNEL_NODE_PARAMS *node = &bare->node;
    CUlaunchAttribute cluster = bare->cluster;
    const CUlaunchConfig config = {
        .gridDimX = node->gridDimX, .gridDimY = node->gridDimY, .gridDimZ = node->gridDimZ,
        .blockDimX = node->blockDimX, .blockDimY = node->blockDimY, .blockDimZ = node->blockDimZ,
        .sharedMemBytes = node->sharedMemBytes, .hStream = stream,
        .attrs = &cluster, .numAttrs = cluster.value.clusterDim.x > 0,
    };
    return driver->cuLaunchKernelEx(&config, bare->function, node->kernelParams, NULL);
}

/* Medians in microseconds of one call. Kinds alternate, so that a drifting clock touches both alike. */
static gt_status time_calls(const gt_driver *driver, const gt_plan *plan, CUstream stream, const operands *o,
                            const bare_launch *bare, double *with_us, double *bare_us)
{
    static double with[SAMPLES], without[SAMPLES];
    gt_status status = GT_OK;
    for (int sample = -20; sample < SAMPLES && status == GT_OK; sample++) { /* the first 20 warm up */
        const double start = now_us();
        for (int i = 0; i < CALLS && status == GT_OK; i++)
            status = execute(plan, stream, o);
        const double end = now_us();
        example_check(driver, driver->cuStreamSynchronize(stream), "cuStreamSynchronize");
        const double bare_start = now_us();
        for (int i = 0; i < CALLS; i++)
            example_check(driver, launch_bare(driver, bare, stream), "cuLaunchKernelEx");
        const double bare_end = now_us();
        example_check(driver, driver->cuStreamSynchronize(stream), "cuStreamSynchronize");
        if (sample >= 0) {
            with[sample] = (end - start) / CALLS;
            without[sample] = (bare_end - bare_start) / CALLS;
        }
    }
    *with_us = median(with, SAMPLES);
    *bare_us = median(without, SAMPLES);
    return status;
}

/* The median in microseconds of planning sizes, each `apart` larger than the one before; the first is SIZE + apart. */
static gt_status time_plans(gt_context *gt, int apart, double *us)
{
    double took[PLANS];
    gt_status status = GT_OK;
    for (int i = 0; i < PLANS && status == GT_OK; i++) {
        const gt_gemm gemm = GT_GEMM(GT_F32, SIZE + (i + 1) * apart, SIZE, SIZE);
        gt_plan *plan = NULL;
        const double start = now_us();
        status = gt_plan_gemm(gt, &gemm, &plan);
        took[i] = now_us() - start;
        gt_plan_destroy(plan);
    }
    *us = status == GT_OK ? median(took, PLANS) : 0;
    return status;
}

static void print_time(const char *what, double us)
{
    printf("  %-44s %10.3f %s\n", what, us < 1000 ? us : us / 1000, us < 1000 ? "us" : "ms");
}

int main(int argc, char **argv)
{
    static float zeros[SIZE * SIZE];
    const gt_options options = {.database = argc > 1 ? argv[1] : NULL, .driver = argc > 2 ? argv[2] : NULL};
    const gt_gemm gemm = GT_GEMM(GT_F32, SIZE, SIZE, SIZE);
    gt_context *gt = NULL;
    gt_plan *plan = NULL;
    CUstream stream;
    bare_launch bare;
    double again_us, other_us, with_us, bare_us, at[4];

    at[0] = now_us();
    const gt_driver *driver = example_open(options.driver);
    if (!driver)
        return EXAMPLE_SKIP;
    at[1] = now_us();
    gt_status status = gt_open(&options, &gt);
    at[2] = now_us();
    if (status == GT_OK)
        status = gt_plan_gemm(gt, &gemm, &plan);
    at[3] = now_us();
    if (status == GT_OK)
        status = time_plans(gt, 0, &again_us);
    if (status == GT_OK)
        status = time_plans(gt, 4, &other_us);
    if (status != GT_OK)
        return example_status(status);
    operands o = {.alpha = 1, .beta = 0};
    o.a = example_upload(driver, zeros, sizeof zeros);
    o.b = example_upload(driver, zeros, sizeof zeros);
    o.c = example_upload(driver, zeros, sizeof zeros);
    example_check(driver, driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");

    puts("opening and planning");
    print_time("driver and CUDA context", at[1] - at[0]);
    print_time("gt_open", at[2] - at[1]);
    print_time("gt_plan_gemm, first", at[3] - at[2]);
    print_time("gt_plan_gemm, the same again, median", again_us);
    print_time("gt_plan_gemm, other sizes, median", other_us);
    print_time("gt_open and the first gt_plan_gemm", at[3] - at[1]);
    if (!find_bare_launch(driver, plan, stream, &o, &bare)) {
        puts("this driver cannot tell what was captured: no bare launch to compare with");
    } else {
        if ((status = time_calls(driver, plan, stream, &o, &bare, &with_us, &bare_us)) != GT_OK)
            return example_status(status);
        puts("one call, median");
        print_time("gt_execute", with_us);
        print_time("cuLaunchKernelEx of the same kernel", bare_us);
        print_time("gt_execute above it", with_us - bare_us);
        driver->cuGraphDestroy(bare.graph);
    }
    driver->cuStreamDestroy(stream);
    gt_plan_destroy(plan);
    gt_close(gt);
    return 0;
}
