#include "host.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../core/driver.h"
#include "answers.h"
#include "front.h"
#include "staging.h"

#define ROW_BYTES 16 /* that rows on the GPU are a multiple of: kernels for aligned matrices serve all sizes */

/* All of it under the lock. */
static struct {
    pthread_mutex_t lock;
    bool tried;
    gt_driver *driver; /* NULL: there is none, or no GPU */
    CUcontext context;
    CUstream stream;
    gt_staging *staging;
    struct {
        CUdeviceptr data;
        size_t bytes;
    } buffers[3];
} host = {.lock = PTHREAD_MUTEX_INITIALIZER};

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* The primary context of the first GPU, which a program that uses CUDA itself shares. */
static bool set_up(void)
{
    CUdevice device;
    gt_driver *driver = NULL;
    if (host.tried)
        return host.driver != NULL;
    host.tried = true;
    if (gt_driver_open(NULL, &driver) != GT_OK) {
        gt_tally_why(gt_error_message());
        return false;
    }
    if (driver->cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
        driver->cuDevicePrimaryCtxRetain(&host.context, device) != CUDA_SUCCESS) {
        gt_tally_why("no GPU");
        gt_driver_close(driver);
        return false;
    }
    host.driver = driver;
    return true;
}

/* Stream and staging, in the context. */
static bool prepare(void)
{
    if (!host.stream && host.driver->cuStreamCreate(&host.stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        host.stream = NULL;
    if (host.stream && !host.staging)
        host.staging = gt_staging_create(host.driver, host.stream);
    return host.staging != NULL;
}

/* A buffer of at least so many bytes, which may take no more than half of what the GPU has left. */
static bool reserve(int i, size_t bytes)
{
    size_t available = 0;
    if (host.buffers[i].bytes >= bytes)
        return true;
    if (host.buffers[i].data)
        host.driver->cuMemFree(host.buffers[i].data);
    host.buffers[i].data = 0;
    host.buffers[i].bytes = 0;
    if (host.driver->cuMemGetInfo(&available, NULL) != CUDA_SUCCESS || bytes > available / 2 ||
        host.driver->cuMemAlloc(&host.buffers[i].data, bytes) != CUDA_SUCCESS)
        return false;
    host.buffers[i].bytes = bytes;
    return true;
}

/* A result that is half copied can neither be computed again nor be told of: a BLAS has no status. */
static void give_up(void)
{
    dprintf(STDERR_FILENO, "gemmtune: the GPU was lost while it gave a result back\n");
    abort();
}

/* In the context, under the lock. */
static gt_fate run(const gt_host_product *p, gt_host_worth *worth, void *data, double *moved_us)
{
    const size_t element = p->type == GT_F64 ? 8 : 4;
    const gt_host_matrix *const matrices[] = {&p->a, &p->b, &p->c};
    gt_staged staged[3];
    gt_answer *answer;
    double kernel_us = 0;
    if (!prepare())
        return GT_FATE_FAILED;
    for (int i = 0; i < 3; i++)
        staged[i] = (gt_staged){.host = matrices[i]->data, .rows = (size_t)matrices[i]->rows,
                                .row_bytes = (size_t)matrices[i]->columns * element,
                                .host_pitch = (size_t)matrices[i]->ld * element,
                                .pitch = ((size_t)matrices[i]->columns * element + ROW_BYTES - 1) & -ROW_BYTES};
    const gt_request request = {
        .gemm = {.m = p->m, .n = p->n, .k = p->k, .lda = (int64_t)(staged[0].pitch / element),
                 .ldb = (int64_t)(staged[1].pitch / element), .ldc = (int64_t)(staged[2].pitch / element), .batch = 1,
                 .op_a = p->op_a, .op_b = p->op_b, .type_ab = p->type, .type_c = p->type, .align = ROW_BYTES,
                 .deterministic = 1},
        .symbol = p->symbol, .alone = true};
    const gt_fate fate = gt_front_find(&request, host.stream, &answer, &kernel_us);
    if (fate != GT_FATE_ANSWERED)
        return fate;
    if (!worth(data, kernel_us))
        return GT_FATE_SMALL;
    for (int i = 0; i < 3; i++)
        if (!gt_staging_takes(&staged[i]) || !reserve(i, staged[i].rows * staged[i].pitch))
            return GT_FATE_NO_ROOM;
        else
            staged[i].device = host.buffers[i].data;
    const gt_operands operands = {.alpha = p->alpha, .beta = p->beta, .a = (void *)staged[0].device,
                                  .b = (void *)staged[1].device, .c = (void *)staged[2].device};
    const double begun = now_us();
    for (int i = 0; i < (p->reads_c ? 3 : 2); i++)
        if (!gt_staging_upload(host.staging, &staged[i]))
            return GT_FATE_FAILED;
    if (gt_front_execute(answer, host.stream, &operands) != GT_FATE_ANSWERED ||
        host.driver->cuStreamSynchronize(host.stream) != CUDA_SUCCESS)
        return GT_FATE_FAILED;
    if (!gt_staging_download(host.staging, &staged[2]))
        give_up();
    /* The first time a kernel is loaded, too, and says little of the next. */
    *moved_us = atomic_load_explicit(&answer->calls, memory_order_relaxed) > 1 ? now_us() - begun - kernel_us : 0;
    return GT_FATE_ANSWERED;
}

gt_fate gt_host_run(const gt_host_product *product, bool wait, gt_host_worth *worth, void *data, double *moved_us)
{
    gt_fate fate = GT_FATE_UNAVAILABLE;
    CUcontext before = NULL;
    if ((wait ? pthread_mutex_lock(&host.lock) : pthread_mutex_trylock(&host.lock)) != 0)
        return GT_FATE_SMALL;
    if (set_up() && host.driver->cuCtxGetCurrent(&before) == CUDA_SUCCESS &&
        host.driver->cuCtxSetCurrent(host.context) == CUDA_SUCCESS) {
        fate = run(product, worth, data, moved_us);
        host.driver->cuCtxSetCurrent(before);
    }
    pthread_mutex_unlock(&host.lock);
    return fate;
}
