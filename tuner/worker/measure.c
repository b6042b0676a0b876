#include "measure.h"

#include <math.h>
#include <stdlib.h>

#include "../../src/softgpu/softgpu.h"
#include "../timer.h"

#define GRAPH_BELOW_US 100.0  /* shorter launches are replayed from a graph */
#define GRAPH_US       400.0  /* how long one replay should take: event resolution is about 0.5 us */
#define BATCH_US       200.0  /* the same without a graph */
#define COVER_BELOW_US 1000.0 /* see time_batch */
#define MOST_REPEATS   200
#define MOST_SAMPLES   100
#define SCREEN_LEAST   3
#define SCREEN_MOST    10
#define SCREEN_US      60e3
#define SLOW_US        20e3 /* from here on the first launch counts as a sample */
#define LOSER          1.15 /* so much slower than the best: not worth more samples */
#define RACE_ROUNDS    7
#define RACE_FEWEST    3 /* rounds of a race that takes far longer than it was given */
#define COLD_ROUNDS    7
#define THROTTLED      0.75 /* share of the highest clock; nvbench's rule */
#define RESTS          3
#define REST_S         0.05

/* Samples of one runner. */
typedef struct series {
    const gt_runner *runner;
    gt_launch_operands operands;
    CUgraphExec graph; /* of `repeats` launches; NULL: launched one by one */
    int repeats;
    double first_us;   /* of one launch after the warm-up */
    double warm[MOST_SAMPLES], cold[COLD_ROUNDS];
    int warm_count, cold_count;
    double clock_sum;
    int clock_count;
} series;

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

static CUresult launch_repeats(const series *s, int repeats)
{
    CUresult result = CUDA_SUCCESS;
    for (int i = 0; i < repeats && result == CUDA_SUCCESS; i++)
        result = s->runner->launch(s->runner, &s->operands);
    return result;
}

static CUresult enqueue(const gt_meter *meter, const series *s)
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

/* One sample: microseconds of one launch. The device reaches `start` while the host still enqueues, and would wait
 * for the rest inside the measured time; where that matters, the same work once more before it keeps the queue full. */
static CUresult time_batch(const gt_meter *meter, const series *s, double *us)
{
    CUresult result = CUDA_SUCCESS;
    if (s->first_us < COVER_BELOW_US)
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

/* Whether the clock was so low that a sample must be thrown away; rests then. Where resting does not help, at most
 * RESTS times in a row, the low clock is what this GPU gives to this work. */
static bool throttled(gt_meter *meter, series *s, int *rests)
{
    const double mhz = gt_clock_mhz(meter->clock), max = gt_clock_max_mhz(meter->clock);
    if (mhz <= 0)
        return false;
    if (mhz < THROTTLED * max) {
        if (!meter->always_slow && *rests < RESTS) {
            ++*rests;
            gt_rest(REST_S);
            return true;
        }
        meter->always_slow = true;
    } else {
        meter->always_slow = false;
    }
    s->clock_sum += mhz;
    s->clock_count++;
    return false;
}

static CUresult add_sample(gt_meter *meter, series *s)
{
    int rests = 0;
    double us = 0;
    CUresult result;
    do
        result = time_batch(meter, s, &us);
    while (result == CUDA_SUCCESS && throttled(meter, s, &rests));
    if (result == CUDA_SUCCESS && s->warm_count < MOST_SAMPLES)
        s->warm[s->warm_count++] = us;
    return result;
}

/* One execution with nothing of its operands in L2. The flush itself keeps the queue full. */
static CUresult add_cold_sample(gt_meter *meter, series *s)
{
    const gt_driver *driver = meter->driver;
    double us = 0;
    CUresult result = CUDA_SUCCESS;
    if (!meter->flush && meter->flush_bytes > 0)
        result = driver->cuMemAlloc(&meter->flush, meter->flush_bytes);
    if (result != CUDA_SUCCESS || meter->flush_bytes == 0) {
        meter->flush = 0;
        meter->flush_bytes = 0; /* no room or no L2 known: no cold times */
        return CUDA_SUCCESS;
    }
    result = driver->cuMemsetD32Async(meter->flush, 0, meter->flush_bytes / 4, meter->stream);
    if (result == CUDA_SUCCESS)
        result = driver->cuEventRecord(meter->start, meter->stream);
    if (result == CUDA_SUCCESS)
        result = launch_repeats(s, 1);
    if (result == CUDA_SUCCESS)
        result = stop_watch(meter, &us);
    if (result == CUDA_SUCCESS && s->cold_count < COLD_ROUNDS)
        s->cold[s->cold_count++] = us;
    return result;
}

static CUresult capture(const gt_meter *meter, series *s)
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
static CUresult time_first(const gt_meter *meter, series *s)
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

/* Warms up, times one launch, and decides from that how to time on. */
static CUresult begin(const gt_meter *meter, series *s)
{
    const gtSoft *soft = meter->driver->soft; /* which is spared launches that are only timed */
    if (soft)
        soft->sample(1);
    CUresult result = time_first(meter, s);
    if (soft)
        soft->sample(0);
    if (result != CUDA_SUCCESS)
        return result;
    if (meter->modelled) {
        s->warm[s->warm_count++] = s->first_us;
        return CUDA_SUCCESS;
    }
    if (s->first_us >= GRAPH_BELOW_US) {
        s->repeats = repeats_for(BATCH_US, s->first_us);
        return CUDA_SUCCESS;
    }
    s->repeats = repeats_for(GRAPH_US, s->first_us);
    if ((result = capture(meter, s)) != CUDA_SUCCESS)
        return result;
    return enqueue(meter, s); /* the first replay uploads the graph */
}

static void end(const gt_meter *meter, series *s)
{
    if (s->graph)
        meter->driver->cuGraphExecDestroy(s->graph);
    s->graph = NULL;
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

static void summarise(series *s, gt_trial *trial)
{
    if (s->warm_count == 0)
        return;
    qsort(s->warm, (size_t)s->warm_count, sizeof s->warm[0], ascending);
    trial->us = quantile(s->warm, s->warm_count, 0.5);
    trial->us_min = s->warm[0];
    trial->us_spread =
        (quantile(s->warm, s->warm_count, 0.75) - quantile(s->warm, s->warm_count, 0.25)) / 2 / trial->us;
    trial->samples = s->warm_count;
    trial->clock_mhz = s->clock_count > 0 ? s->clock_sum / s->clock_count : 0;
    if (s->cold_count > 0) {
        qsort(s->cold, (size_t)s->cold_count, sizeof s->cold[0], ascending);
        trial->us_cold = quantile(s->cold, s->cold_count, 0.5);
    }
}

static double smallest(const series *s)
{
    double least = s->warm[0];
    for (int i = 1; i < s->warm_count; i++)
        if (s->warm[i] < least)
            least = s->warm[i];
    return least;
}

/* Samples until it is enough. A launch of many milliseconds needs no batch around it; one that is plainly slow is not
 * run more often than it takes to say so. */
static CUresult screen(gt_meter *meter, series *s, double best_us, bool *loser)
{
    const double cost = s->first_us < COVER_BELOW_US ? 2 : 1;
    double spent = 0;
    int least = SCREEN_LEAST;
    CUresult result = CUDA_SUCCESS;
    if (s->first_us >= SLOW_US) {
        s->warm[s->warm_count++] = s->first_us;
        spent = s->first_us;
        least = 1;
    } else if (best_us > 0 && s->first_us > 2 * best_us + 2 * BATCH_US) {
        least = 1;
    }
    while (result == CUDA_SUCCESS && s->warm_count < SCREEN_MOST) {
        if (s->warm_count >= least) {
            *loser = best_us > 0 && smallest(s) > LOSER * best_us;
            if (*loser || spent >= SCREEN_US)
                break;
        }
        result = add_sample(meter, s);
        if (result == CUDA_SUCCESS)
            spent += s->warm[s->warm_count - 1] * s->repeats * cost;
    }
    return result;
}

bool gt_measure_screen(gt_meter *meter, const gt_runner *runner, const gt_launch_operands *operands, double best_us,
                       gt_trial *trial)
{
    series s = {.runner = runner, .operands = *operands, .repeats = 1};
    bool loser = false;
    CUresult result = begin(meter, &s);
    if (result == CUDA_SUCCESS && !meter->modelled)
        result = screen(meter, &s, best_us, &loser);
    end(meter, &s);
    if (!gt_trial_check(trial, meter->driver, result, "timing"))
        return false;
    trial->stopped_early = loser;
    trial->modelled = meter->modelled;
    summarise(&s, trial);
    return true;
}

/* What a racer does when it is its turn. */
typedef CUresult race_step(gt_meter *meter, series *s);

static CUresult step_begin(gt_meter *meter, series *s)
{
    return begin(meter, s);
}

typedef struct race {
    gt_meter *meter;
    const gt_racer *racers;
    series *all;
    size_t count;
    gt_race_turn *turn;
    void *data;
} race;

/* One round: everyone still in the race takes one step, beginning with number `round`. false: the context is broken. */
static bool take_round(const race *r, int round, race_step *step, size_t *broken)
{
    for (size_t i = 0; i < r->count; i++) {
        const size_t index = (i + (size_t)round) % r->count;
        gt_trial *trial = r->racers[index].trial;
        if (trial->outcome != GT_TRIAL_OK)
            continue;
        r->turn(r->data, index);
        CUresult result = step(r->meter, &r->all[index]);
        if (gt_trial_check(trial, r->meter->driver, result, "racing"))
            continue;
        if (r->meter->driver->cuCtxSynchronize() != CUDA_SUCCESS) {
            *broken = index;
            return false;
        }
    }
    return true;
}

static bool run_race(const race *r, double seconds, size_t *broken)
{
    if (!take_round(r, 0, step_begin, broken))
        return false;
    if (r->meter->modelled)
        return true;
    const double started = gt_now();
    for (int round = 0; round < MOST_SAMPLES; round++) {
        const double elapsed = gt_now() - started;
        if (elapsed >= seconds && (round >= RACE_ROUNDS || (round >= RACE_FEWEST && elapsed >= 4 * seconds)))
            break;
        if (!take_round(r, round, add_sample, broken))
            return false;
    }
    const double warm_s = gt_now() - started;
    for (int round = 0; round < COLD_ROUNDS; round++) {
        if (round >= RACE_FEWEST && gt_now() - started > 2 * warm_s)
            break;
        if (!take_round(r, round, add_cold_sample, broken))
            return false;
    }
    return true;
}

bool gt_measure_race(gt_meter *meter, const gt_racer *racers, size_t count, double seconds, gt_race_turn *turn,
                     void *data, size_t *broken)
{
    series *all = calloc(count + 1, sizeof *all);
    if (!all) {
        for (size_t i = 0; i < count; i++)
            gt_trial_fail(racers[i].trial, GT_TRIAL_OVER_RESOURCES, "out of memory");
        return true;
    }
    for (size_t i = 0; i < count; i++)
        all[i] = (series){.runner = racers[i].runner, .operands = racers[i].operands, .repeats = 1};
    const race r = {meter, racers, all, count, turn, data};
    const bool whole = run_race(&r, seconds, broken);
    for (size_t i = 0; i < count; i++) {
        if (whole)
            end(meter, &all[i]);
        racers[i].trial->modelled = meter->modelled;
        if (racers[i].trial->outcome == GT_TRIAL_OK)
            summarise(&all[i], racers[i].trial);
    }
    free(all);
    return whole;
}
