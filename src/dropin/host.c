#include "host.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../core/driver.h"
#include "../core/environment.h"
#include "cuda_state.h"
#include "front.h"
#include "pipeline.h"
#include "visit.h"

/* All of it under the lock. */
static struct {
    pthread_mutex_t lock;
    bool tried;
    gt_driver *driver; /* NULL: there is none, or no GPU */
    CUcontext context;
    bool prepared; /* the pipeline, or the attempt at one */
    gt_pipeline *pipeline;
    size_t limit; /* bytes of the GPU's memory that may be taken; 0: half of what is left */
    size_t available; /* bytes that were left when the driver was asked last */
    double asked_us;
} host = {.lock = PTHREAD_MUTEX_INITIALIZER};

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Plain bytes: of what says something else nobody knows what was meant. */
static bool read_limit(void)
{
    const char *text = gt_environment(GT_ENV_BLAS_MEMORY);
    char why[128];
    errno = 0;
    const unsigned long long bytes = text ? strtoull(text, NULL, 10) : 0;
    host.limit = (size_t)bytes;
    if (!text || (!errno && !text[strspn(text, "0123456789")]))
        return true;
    snprintf(why, sizeof why, "GEMMTUNE_BLAS_MEMORY takes a number of bytes, not '%s'", text);
    gt_tally_why(why);
    return false;
}

/* The primary context of the first GPU, which a program that uses CUDA itself shares. */
static bool set_up(void)
{
    CUdevice device;
    gt_driver *driver = NULL;
    if (host.tried)
        return host.driver != NULL;
    host.tried = true;
    if (!read_limit())
        return false;
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
    gt_cuda_state_begin(driver);
    host.driver = driver;
    return true;
}

/* Between two questions to the driver, which takes its time for an answer. */
#define ASKED_US 100e3

/* Bytes of the GPU's memory for tiles: those that are held already, and half of what the GPU has left. */
static size_t find_limit(void)
{
    const double now = now_us();
    if (host.limit > 0)
        return host.limit;
    if (host.asked_us == 0 || now - host.asked_us > ASKED_US) {
        host.asked_us = now;
        if (host.driver->cuMemGetInfo(&host.available, NULL) != CUDA_SUCCESS)
            host.available = 0;
    }
    return host.available > 0 ? gt_pipeline_held(host.pipeline) + host.available / 2 : 0;
}

/* Makes room for the tiles; what the GPU has left is asked for anew where that took some. */
static bool reserve(const gt_host_product *p, const gt_tiles *tiles)
{
    const size_t held = gt_pipeline_held(host.pipeline);
    const bool reserved = gt_pipeline_reserve(host.pipeline, p, tiles);
    if (gt_pipeline_held(host.pipeline) != held)
        host.asked_us = 0;
    return reserved;
}

/* Finds what multiplies each kind of tile, and what is expected of all. */
static gt_fate find_answers(const gt_host_product *p, const gt_tiles *tiles, gt_tile_answers *answers, double *kernel_us)
{
    for (int i = 0; i < 8; i++) {
        const bool last[3] = {i & 1, i & 2, i & 4};
        const gt_request request = {.gemm = gt_pipeline_problem(p, tiles, last), .symbol = p->symbol, .alone = true};
        gt_answer **answer = &answers->of[last[0]][last[1]][last[2]];
        const int64_t count = gt_pipeline_count(p, tiles, last);
        double us = 0;
        if (count == 0)
            continue;
        const gt_fate fate = gt_front_find(&request, gt_pipeline_stream(host.pipeline), answer, &us);
        if (fate != GT_FATE_ANSWERED)
            return fate;
        atomic_fetch_add_explicit(&(*answer)->calls, (unsigned long long)count - 1, memory_order_relaxed);
        *kernel_us += us * (double)count;
    }
    return GT_FATE_ANSWERED;
}

#define ENDING_S 10 /* in which a process ends, whose driver has */

/* A result that is half copied over what it was computed from can neither be computed again nor be told of: a BLAS has no
 * status. While a process ends its threads are there for longer than the driver, and nobody waits for their results. */
static void give_up(void)
{
    CUcontext context;
    if (host.driver->cuCtxGetCurrent(&context) == CUDA_ERROR_DEINITIALIZED)
        sleep(ENDING_S);
    dprintf(STDERR_FILENO, "gemmtune: the GPU was lost while it gave a result back\n");
    abort();
}

/* In the context, under the lock. */
static gt_fate run(const gt_host_product *p, gt_host_worth *worth, void *data, double *moved_us)
{
    gt_tile_answers answers = {0};
    gt_tiles tiles;
    double kernel_us = 0;
    bool written;
    if (!host.prepared)
        host.pipeline = gt_pipeline_create(host.driver, host.context);
    host.prepared = true;
    if (!host.pipeline)
        return GT_FATE_FAILED;
    if (!gt_tiles_choose(p->m, p->n, p->k, p->type == GT_F64 ? 8 : 4, find_limit(), GT_STAGING_LINE, &tiles))
        return GT_FATE_NO_MEMORY;
    const gt_fate fate = find_answers(p, &tiles, &answers, &kernel_us);
    if (fate != GT_FATE_ANSWERED)
        return fate;
    if (!worth(data, kernel_us))
        return GT_FATE_SMALL;
    if (!reserve(p, &tiles))
        return GT_FATE_NO_MEMORY;
    const double begun = now_us();
    if (!gt_pipeline_run(host.pipeline, p, &tiles, &answers, &written)) {
        if (written && p->reads_c)
            give_up();
        return GT_FATE_FAILED;
    }
    /* The first time a kernel is loaded, too, and says little of the next. What overlaps is not told apart. */
    const gt_answer *last = answers.of[1][1][1];
    const double took = now_us() - begun, moved = took - kernel_us;
    if (atomic_load_explicit(&last->calls, memory_order_relaxed) > 1)
        *moved_us = moved > took / 4 ? moved : took / 4;
    return GT_FATE_ANSWERED;
}

/* A program may be capturing streams, in this thread or in others, and what is done here is in none of them: a thread may
 * allocate and wait then only if it says so. */
gt_fate gt_host_run(const gt_host_product *product, bool wait, gt_host_worth *worth, void *data, double *moved_us)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    gt_fate fate = GT_FATE_UNAVAILABLE;
    CUcontext before = NULL;
    gt_visit visit;
    gt_visit_begin(&visit);
    const bool mine = (wait ? pthread_mutex_lock(&host.lock) : pthread_mutex_trylock(&host.lock)) == 0;
    if (!mine)
        fate = GT_FATE_SMALL;
    else if (set_up() && host.driver->cuCtxGetCurrent(&before) == CUDA_SUCCESS &&
        host.driver->cuCtxSetCurrent(host.context) == CUDA_SUCCESS) {
        gt_cuda_exchange_mode(&mode);
        fate = run(product, worth, data, moved_us);
        gt_cuda_exchange_mode(&mode);
        host.driver->cuCtxSetCurrent(before);
    }
    if (mine)
        pthread_mutex_unlock(&host.lock);
    gt_visit_end(&visit);
    return fate;
}
