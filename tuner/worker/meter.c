#include "meter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/softgpu/softgpu.h"
#include "../timer.h"

#define GRAPH_BELOW_US 100.0  /* shorter launches are replayed from a graph */
#define GRAPH_US       400.0  /* how long one replay should take: event resolution is about 0.5 us */
#define FILL_BELOW_US  1000.0 /* see time_batch */
#define MOST_REPEATS   200
#define COLD_REPEATS   4     /* flushes of L2 in a cold sample */
#define COLD_FEW_US    200.0 /* a longer launch follows one alone */
#define RESTS          3
#define REST_S         0.05

gt_status gt_meter_init(const gt_driver *driver, CUstream stream, const gt_device *device, gt_meter *out)
{
    gt_meter meter = {.driver = driver, .stream = stream, .flush_bytes = 2 * (size_t)device->l2_bytes,
                      .modelled = driver->soft != NULL};
    CUresult result = driver->cuEventCreate(&meter.start, CU_EVENT_DEFAULT);
    if (result == CUDA_SUCCESS && (result = driver->cuEventCreate(&meter.stop, CU_EVENT_DEFAULT)) != CUDA_SUCCESS)
        driver->cuEventDestroy(meter.start);
    if (result != CUDA_SUCCESS)
        return gt_driver_check(driver, result, "cuEventCreate");
    meter.clock = gt_clock_open(device->bus_id);
    *out = meter;
    return GT_OK;
}

void gt_meter_finish(gt_meter *meter)
{
    if (!meter->driver)
        return;
    if (meter->flush)
        meter->driver->cuMemFree(meter->flush);
    meter->driver->cuEventDestroy(meter->start);
    meter->driver->cuEventDestroy(meter->stop);
    gt_clock_close(meter->clock);
    *meter = (gt_meter){0};
}

static CUresult launch_repeats(const gt_series *s, int repeats)
{
    CUresult result = CUDA_SUCCESS;
    for (int i = 0; i < repeats && result == CUDA_SUCCESS; i++)
        result = s->runner->launch(s->runner, &s->operands);
    return result;
}

static CUresult enqueue(const gt_meter *meter, const gt_series *s)
{
    return s->graph ? meter->driver->cuGraphLaunch(s->graph, meter->stream) : launch_repeats(s, s->repeats);
}

/* Waits for what was enqueued since `start` and gives its time. */
static CUresult stop_watch(const gt_meter *meter, double *us)
{
    float ms = 0;
    CUresult result = meter->driver->cuEventRecord(meter->stop, meter->stream);
    if (result == CUDA_SUCCESS)
        result = meter->driver->cuEventSynchronize(meter->stop);
    if (result == CUDA_SUCCESS)
        result = meter->driver->cuEventElapsedTime(&ms, meter->start, meter->stop);
    if (result == CUDA_SUCCESS)
        *us = ms > 0 ? 1e3 * (double)ms : 0.01; /* never 0: that means not measured */
    return result;
}

/* One sample: microseconds of one launch. The device may reach `start` before the host has enqueued the launches behind
 * it, and would wait for them inside the measured time. Where launches are short enough for that to matter, the same
 * work is enqueued once more before `start`, so that the queue is never empty. */
static CUresult time_batch(const gt_meter *meter, const gt_series *s, double *us)
{
    CUresult result = CUDA_SUCCESS;
    if (s->first_us < FILL_BELOW_US)
        result = s->graph ? enqueue(meter, s) : launch_repeats(s, 1);
    if (result == CUDA_SUCCESS)
        result = meter->driver->cuEventRecord(meter->start, meter->stream);
    if (result == CUDA_SUCCESS)
        result = enqueue(meter, s);
    if (result == CUDA_SUCCESS)
        result = stop_watch(meter, us);
    *us /= s->repeats;
    return result;
}

/* Whether the clock was so low that a sample must be thrown away; if so the GPU has rested since. After RESTS rests in
 * a row that did not help, the low clock is taken for what this GPU gives to this work. */
static bool throttled(gt_meter *meter, double mhz, int *rests)
{
    if (mhz <= 0)
        return false;
    if (mhz < GT_THROTTLED * gt_clock_max_mhz(meter->clock)) {
        if (!meter->always_slow && *rests < RESTS) {
            ++*rests;
            gt_rest(REST_S);
            return true;
        }
        meter->always_slow = true;
    } else {
        meter->always_slow = false;
    }
    return false;
}

void gt_series_add(gt_series *s, double us, double mhz)
{
    const int at = s->taken++ % GT_SERIES_MOST;
    s->warm[at] = us;
    s->mhz[at] = mhz;
    s->warm_count = s->taken < GT_SERIES_MOST ? s->taken : GT_SERIES_MOST;
}

CUresult gt_series_sample(gt_meter *meter, gt_series *s)
{
    int rests = 0;
    double us = 0, mhz = 0;
    CUresult result;
    do {
        result = time_batch(meter, s, &us);
        mhz = gt_clock_mhz(meter->clock);
    } while (result == CUDA_SUCCESS && throttled(meter, mhz, &rests));
    if (result == CUDA_SUCCESS) {
        gt_series_add(s, us, mhz);
        s->spent_us += us * s->repeats * (s->first_us < FILL_BELOW_US ? 2 : 1);
    }
    return result;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value below which a share of sorted samples lies, between neighbours by proportion. */
static double quantile(const double *sorted, int count, double share)
{
    const double at = share * (count - 1);
    const int low = (int)at;
    return low + 1 < count ? sorted[low] + (at - low) * (sorted[low + 1] - sorted[low]) : sorted[low];
}

/* The median of samples, which it sorts. */
static double median(double *samples, int count)
{
    qsort(samples, (size_t)count, sizeof samples[0], ascending);
    return quantile(samples, count, 0.5);
}

/* Microseconds of so many flushes of L2, with a launch of this series behind each, or alone. A launch before them brings the
 * code of a short one to the multiprocessors. Else racers of the same code, as cuBLAS and cuBLASLt often are, would be faster in
 * turn than one that comes behind other code: 0.5 us of 9 at 1024^3 bf16 on an H200. A first flush keeps the queue full, as the
 * work before `start` does in time_batch. */
static CUresult time_flushes(const gt_meter *meter, const gt_series *s, int count, bool alone, double *us)
{
    const gt_driver *driver = meter->driver;
    CUresult result = alone || s->first_us >= FILL_BELOW_US ? CUDA_SUCCESS : launch_repeats(s, 1);
    for (int i = -1; i < count && result == CUDA_SUCCESS; i++) {
        result = driver->cuMemsetD32Async(meter->flush, 0, meter->flush_bytes / 4, meter->stream);
        if (result == CUDA_SUCCESS && i < 0)
            result = driver->cuEventRecord(meter->start, meter->stream);
        else if (result == CUDA_SUCCESS && !alone)
            result = launch_repeats(s, 1);
    }
    return result == CUDA_SUCCESS ? stop_watch(meter, us) : result;
}

/* The median of the newest samples of flushes. */
static double typical_flush(const gt_meter *meter)
{
    double samples[GT_METER_FLUSHES];
    memcpy(samples, meter->flush_us, sizeof samples);
    return median(samples, meter->flush_taken < GT_METER_FLUSHES ? meter->flush_taken : GT_METER_FLUSHES);
}

/* An event right before a launch would hide what programs have: a dependent launch begins while the kernel before it ends, and
 * the GPU reads what is to be launched meanwhile. So kernels are timed between others, and the others alone: on an H200 128^3
 * in bf16 adds 2.2 us, cuBLAS's 3.7; behind an event they take 4.5 and 4.8, of which an empty kernel takes 2.7. */
CUresult gt_series_sample_cold(gt_meter *meter, gt_series *s)
{
    const gt_driver *driver = meter->driver;
    const int count = s->first_us < COLD_FEW_US ? COLD_REPEATS : 1;
    double flushes = 0, both = 0;
    CUresult result = CUDA_SUCCESS;
    if (!meter->flush && meter->flush_bytes > 0)
        result = driver->cuMemAlloc(&meter->flush, meter->flush_bytes);
    if (result != CUDA_SUCCESS || meter->flush_bytes == 0) {
        meter->flush = 0;
        meter->flush_bytes = 0; /* no room or no L2 known: no cold times */
        return CUDA_SUCCESS;
    }
    result = time_flushes(meter, s, COLD_REPEATS, true, &flushes);
    if (result == CUDA_SUCCESS)
        result = time_flushes(meter, s, count, false, &both);
    if (result != CUDA_SUCCESS)
        return result;
    s->spent_us += flushes + both;
    meter->flush_us[meter->flush_taken++ % GT_METER_FLUSHES] = flushes / COLD_REPEATS;
    const double us = both / count - typical_flush(meter);
    if (us > 0 && s->cold_count < GT_SERIES_COLD)
        s->cold[s->cold_count++] = us;
    return CUDA_SUCCESS;
}

static CUresult capture(const gt_meter *meter, gt_series *s)
{
    const gt_driver *driver = meter->driver;
    CUgraph graph = NULL;
    CUresult result = driver->cuStreamBeginCapture(meter->stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    if (result != CUDA_SUCCESS)
        return result;
    result = launch_repeats(s, s->repeats);
    const CUresult ended = driver->cuStreamEndCapture(meter->stream, &graph);
    if (result == CUDA_SUCCESS)
        result = ended;
    if (result == CUDA_SUCCESS)
        result = driver->cuGraphInstantiate(&s->graph, graph, 0);
    if (result != CUDA_SUCCESS)
        s->graph = NULL;
    if (graph)
        driver->cuGraphDestroy(graph);
    return result;
}

static int repeats_for(double target_us, double us)
{
    const double repeats = ceil(target_us / us);
    return repeats < 1 ? 1 : repeats > MOST_REPEATS ? MOST_REPEATS : (int)repeats;
}

/* One launch after one that warms up. */
static CUresult time_first(const gt_meter *meter, gt_series *s)
{
    const gt_driver *driver = meter->driver;
    CUresult result = launch_repeats(s, 1);
    if (result == CUDA_SUCCESS)
        result = driver->cuStreamSynchronize(meter->stream);
    if (result == CUDA_SUCCESS)
        result = driver->cuEventRecord(meter->start, meter->stream);
    if (result == CUDA_SUCCESS)
        result = launch_repeats(s, 1);
    return result == CUDA_SUCCESS ? stop_watch(meter, &s->first_us) : result;
}

CUresult gt_series_begin(gt_meter *meter, gt_series *s)
{
    const gtSoft *soft = meter->driver->soft; /* samples blocks of launches that are only timed */
    if (soft)
        soft->sample(1);
    CUresult result = time_first(meter, s);
    if (soft)
        soft->sample(0);
    if (result != CUDA_SUCCESS)
        return result;
    if (meter->modelled) {
        gt_series_add(s, s->first_us, 0);
        return CUDA_SUCCESS;
    }
    if (s->first_us >= GRAPH_BELOW_US) {
        s->repeats = repeats_for(GT_BATCH_US, s->first_us);
        return CUDA_SUCCESS;
    }
    s->repeats = repeats_for(GRAPH_US, s->first_us);
    if ((result = capture(meter, s)) != CUDA_SUCCESS)
        return result;
    return enqueue(meter, s); /* the first replay uploads the graph */
}

void gt_series_end(const gt_meter *meter, gt_series *s)
{
    if (s->graph)
        meter->driver->cuGraphExecDestroy(s->graph);
    s->graph = NULL;
}

static double mean_of_known(const double *values, int count)
{
    double sum = 0;
    int known = 0;
    for (int i = 0; i < count; i++) {
        sum += values[i];
        known += values[i] > 0;
    }
    return known > 0 ? sum / known : 0;
}

void gt_series_summarise(gt_series *s, gt_trial *trial)
{
    if (s->cold_count > 0)
        trial->us_cold = median(s->cold, s->cold_count);
    if (s->warm_count == 0)
        return;
    trial->us = median(s->warm, s->warm_count);
    trial->us_min = s->warm[0];
    trial->us_spread =
        (quantile(s->warm, s->warm_count, 0.75) - quantile(s->warm, s->warm_count, 0.25)) / 2 / trial->us;
    trial->samples = s->warm_count;
    trial->clock_mhz = mean_of_known(s->mhz, s->warm_count);
}

