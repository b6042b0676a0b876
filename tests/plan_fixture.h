/* Contexts on databases that the program makes, and products whose results are known. */
#ifndef PLAN_FIXTURE_H
#define PLAN_FIXTURE_H

#include <sys/wait.h>

#include "../src/runtime/plan.h"
#include "check.h"

#define SIDE  64
#define DEPTH 200

static gt_driver *driver;

/* Puts one family's kernel for some shapes into a database. */
static void tune(const char *database, const char *family, const char *more)
{
    char command[2048];
    snprintf(command, sizeof command,
             "%s tune --quiet --no-cublas --device 0 --db %s --type f32 --templates %s --family %s %s > /dev/null",
             getenv("GEMMTUNE"), database, getenv("GEMMTUNE_FAMILIES"), family, more);
    const int code = system(command);
    CHECK(WIFEXITED(code) && WEXITSTATUS(code) == 0);
}

/* A context on a database with one family's kernel for some shapes, which the program makes the first time. */
static gt_context *tuned(const char *family, const char *more)
{
    static char made[512], whose[200];
    const char *program = getenv("GEMMTUNE"), *families = getenv("GEMMTUNE_FAMILIES");
    CUdevice device;
    CUcontext context;
    gt_context *gt;
    if (!program || !families)
        SKIP("GEMMTUNE and GEMMTUNE_FAMILIES name the program and the templates");
    if (!driver && gt_driver_open(NULL, &driver) != GT_OK)
        SKIP(gt_error_message());
    CHECK(driver->cuDeviceGet(&device, 0) == CUDA_SUCCESS);
    CHECK(driver->cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS);
    CHECK(driver->cuCtxSetCurrent(context) == CUDA_SUCCESS);
    char key[200];
    snprintf(key, sizeof key, "%s %s", family, more);
    if (strcmp(key, whose) != 0) {
        snprintf(made, sizeof made, "%s/plans.db", check_folder());
        tune(made, family, more);
        strcpy(whose, key);
    }
    const gt_options options = {.database = made};
    CHECK_OK(gt_open(&options, &gt));
    return gt;
}

/* Small whole numbers, so that every sum is exact. */
static float number(int64_t i, int salt)
{
    return (float)((i * 7 + salt * 13 + i / 11) % 9 - 4);
}

static CUdeviceptr upload(const float *host, size_t count)
{
    CUdeviceptr device;
    CHECK(driver->cuMemAlloc(&device, count * sizeof *host) == CUDA_SUCCESS);
    CHECK(driver->cuMemcpyHtoD(device, host, count * sizeof *host) == CUDA_SUCCESS);
    return device;
}

/* What a caller has of one product: its own operands, and what must come out. */
typedef struct job {
    gt_plan *plan;
    CUdeviceptr a, b, c, workspace;
    size_t workspace_bytes;
    float *wanted, *got;
    int times;
    bool wrong;
} job;

static job make_job(gt_plan *plan, int salt, int times)
{
    job j = {.plan = plan, .times = times, .wanted = calloc(SIDE * SIDE, sizeof(float)),
             .got = calloc(SIDE * SIDE, sizeof(float))};
    float *a = malloc(SIDE * DEPTH * sizeof *a), *b = malloc(SIDE * DEPTH * sizeof *b);
    gt_description d;
    for (int64_t i = 0; i < SIDE * DEPTH; i++) {
        a[i] = number(i, salt);
        b[i] = number(i, salt + 1);
    }
    for (int i = 0; i < SIDE; i++)
        for (int j_ = 0; j_ < SIDE; j_++)
            for (int p = 0; p < DEPTH; p++)
                j.wanted[i * SIDE + j_] += a[i * DEPTH + p] * b[p * SIDE + j_];
    j.a = upload(a, SIDE * DEPTH);
    j.b = upload(b, SIDE * DEPTH);
    j.c = upload(j.got, SIDE * SIDE);
    CHECK_OK(gt_plan_describe(plan, &d));
    j.workspace_bytes = d.workspace;
    CHECK(driver->cuMemAlloc(&j.workspace, d.workspace + 256) == CUDA_SUCCESS);
    CHECK(driver->cuMemsetD8(j.workspace, 0xff, d.workspace) == CUDA_SUCCESS); /* it needs no preparation */
    CHECK(driver->cuCtxSynchronize() == CUDA_SUCCESS); /* a stream that does not wait for the default one comes next */
    free(a);
    free(b);
    return j;
}

static void finish_job(job *j)
{
    const CUdeviceptr memory[] = {j->a, j->b, j->c, j->workspace};
    for (size_t i = 0; i < 4; i++)
        CHECK(driver->cuMemFree(memory[i]) == CUDA_SUCCESS);
    free(j->wanted);
    free(j->got);
}

static void *run_job(void *data)
{
    job *j = data;
    const float one = 1, zero = 0;
    const gt_operands operands = {.alpha = &one, .beta = &zero, .a = (void *)j->a, .b = (void *)j->b, .c = (void *)j->c,
                                  .workspace = (void *)j->workspace, .workspace_bytes = j->workspace_bytes};
    CUcontext context;
    CUstream stream;
    if (driver->cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        driver->cuCtxSetCurrent(context) != CUDA_SUCCESS ||
        driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        j->wrong = true;
    for (int i = 0; i < j->times && !j->wrong; i++) {
        const gt_status status = gt_execute_ex(j->plan, stream, &operands);
        CUresult result = driver->cuStreamSynchronize(stream);
        if (result == CUDA_SUCCESS)
            result = driver->cuMemcpyDtoH(j->got, j->c, SIDE * SIDE * sizeof(float));
        int64_t at = 0;
        while (at < SIDE * SIDE && j->got[at] == j->wanted[at])
            at++;
        j->wrong = status != GT_OK || result != CUDA_SUCCESS || at < SIDE * SIDE;
        if (j->wrong)
            printf("execution %d: status %d, driver %d, element %lld is %g, not %g\n", i, (int)status, (int)result,
                   (long long)at, at < SIDE * SIDE ? (double)j->got[at] : 0, at < SIDE * SIDE ? (double)j->wanted[at] : 0);
    }
    driver->cuStreamDestroy(stream);
    return NULL;
}

#endif
