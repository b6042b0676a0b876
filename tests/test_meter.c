/* What a race is decided by: samples, on a GPU whose every call is written down. */
#include <string.h>

#include "../tuner/worker/measure.h"
#include "check.h"

static char calls[64]; /* a letter each: launch, flush, start or stop of the watch */
static int launches;
static double now_ms, started_ms, flush_ms; /* the GPU's time, when the watch was started, and what a flush takes */

#define START ((CUevent)&started_ms)

static void note(char call)
{
    const size_t length = strlen(calls);
    if (length + 1 < sizeof calls)
        calls[length] = call;
}

/* A launch takes 2 ms while the GPU is cool, for 200 launches, and 3 ms when its clock has fallen. */
static CUresult launch(const gt_runner *runner, const gt_launch_operands *operands)
{
    (void)runner, (void)operands;
    now_ms += ++launches <= 200 ? 2 : 3;
    note('l');
    return CUDA_SUCCESS;
}

static CUresult flush(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
    (void)to, (void)value, (void)count, (void)stream;
    now_ms += flush_ms;
    note('f');
    return CUDA_SUCCESS;
}

static CUresult record(CUevent event, CUstream stream)
{
    (void)stream;
    if (event == START)
        started_ms = now_ms;
    note('w');
    return CUDA_SUCCESS;
}

static CUresult synchronize_event(CUevent event)
{
    (void)event;
    return CUDA_SUCCESS;
}

static CUresult synchronize_stream(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

static CUresult elapsed(float *ms, CUevent start, CUevent stop)
{
    (void)start, (void)stop;
    *ms = (float)(now_ms - started_ms);
    return CUDA_SUCCESS;
}

static CUresult allocate(CUdeviceptr *memory, size_t bytes)
{
    (void)bytes;
    *memory = 256;
    return CUDA_SUCCESS;
}

static gt_driver driver;
static const gt_runner runner = {.launch = launch};

static gt_meter make_meter(void)
{
    driver = (gt_driver){0};
    driver.cuMemAlloc = allocate;
    driver.cuMemsetD32Async = flush;
    driver.cuEventRecord = record;
    driver.cuEventSynchronize = synchronize_event;
    driver.cuEventElapsedTime = elapsed;
    driver.cuStreamSynchronize = synchronize_stream;
    launches = 0;
    flush_ms = 0.03125;
    memset(calls, 0, sizeof calls);
    return (gt_meter){.driver = &driver, .start = START, .flush_bytes = 1 << 20};
}

static void pass(void *data, size_t index)
{
    (void)data, (void)index;
}

TEST(a_race_is_decided_by_its_newest_samples)
{
    gt_meter meter = make_meter();
    gt_trial trial = {0};
    const gt_racer racer = {.runner = &runner, .trial = &trial};
    size_t broken;
    CHECK(gt_measure_race(&meter, &racer, 1, 0.01, pass, NULL, &broken));
    CHECK(launches > 2 * 200); /* it goes on while there is time, however many samples that makes */
    CHECK(trial.us == 3000 && trial.us_spread == 0 && trial.samples == GT_SERIES_MOST);
}

/* What follows what: who had the turn before. */
typedef struct turns {
    size_t last;
    bool followed[5][5];
} turns;

static void take_turn(void *data, size_t index)
{
    turns *t = data;
    t->followed[index][t->last] = true;
    t->last = index;
}

TEST(in_a_race_every_kernel_follows_every_other)
{
    gt_meter meter = make_meter();
    gt_trial trials[5] = {0};
    gt_racer racers[5];
    turns t = {0};
    size_t broken;
    for (size_t i = 0; i < 5; i++)
        racers[i] = (gt_racer){.runner = &runner, .trial = &trials[i]};
    CHECK(gt_measure_race(&meter, racers, 5, 0.01, take_turn, &t, &broken));
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 5; j++)
            CHECK(i == j || t.followed[i][j]);
}

TEST(the_clock_is_that_of_the_samples_that_count)
{
    gt_series series = {0};
    gt_trial trial = {0};
    for (int i = 0; i < 50; i++)
        gt_series_add(&series, 63, 1980);
    for (int i = 0; i < GT_SERIES_MOST; i++)
        gt_series_add(&series, 73, i % 2 ? 1500 : 0); /* every other reading fails */
    gt_series_summarise(&series, &trial);
    CHECK(trial.us == 73 && trial.us_min == 73 && trial.clock_mhz == 1500);
}

TEST(a_cold_sample_is_what_a_launch_adds_to_other_kernels)
{
    gt_meter meter = make_meter();
    gt_series series = {.runner = &runner, .repeats = 1, .first_us = 9};
    CHECK(gt_series_sample_cold(&meter, &series) == CUDA_SUCCESS);
    /* The queue filled, flushes alone; then the code is brought, and each has a launch behind it. */
    CHECK_STR(calls, "fwffffw" "lfwflflflflw");
    CHECK(series.cold_count == 1 && series.cold[0] == 2000);
}

TEST(a_long_launch_follows_one_flush_in_a_cold_sample)
{
    gt_meter meter = make_meter();
    gt_series series = {.runner = &runner, .repeats = 1, .first_us = 2000};
    CHECK(gt_series_sample_cold(&meter, &series) == CUDA_SUCCESS);
    CHECK_STR(calls, "fwffffw" "fwflw");
    CHECK(series.cold_count == 1 && series.cold[0] == 2000);
}

TEST(a_flush_that_once_took_longer_does_not_make_a_launch_shorter)
{
    gt_meter meter = make_meter();
    gt_series series = {.runner = &runner, .repeats = 1, .first_us = 9};
    for (int i = 0; i < 4; i++)
        CHECK(gt_series_sample_cold(&meter, &series) == CUDA_SUCCESS);
    for (int i = 0; i < 2; i++) /* of the flushes alone in two samples of five */
        meter.flush_us[i] = 4000;
    CHECK(gt_series_sample_cold(&meter, &series) == CUDA_SUCCESS);
    CHECK(series.cold_count == 5 && series.cold[4] == 2000);
}

TEST(a_launch_that_seems_to_take_no_time_is_no_sample)
{
    gt_meter meter = make_meter();
    gt_series series = {.runner = &runner, .repeats = 1, .first_us = 9};
    for (; meter.flush_taken < GT_METER_FLUSHES; meter.flush_taken++)
        meter.flush_us[meter.flush_taken] = 4000;
    CHECK(gt_series_sample_cold(&meter, &series) == CUDA_SUCCESS && series.cold_count == 0);
}

TEST(a_screened_candidate_is_timed_cold_unless_it_takes_long)
{
    gt_meter meter = make_meter();
    gt_trial trial = {.us = 9, .us_min = 8, .samples = 10, .stopped_early = true}, slow = {.us = 30e3},
             modelled = {.us = 9};
    CHECK(gt_measure_cold(&meter, &runner, &(gt_launch_operands){0}, &trial));
    CHECK(launches == 4 + 1); /* one sample of four, which take 8 ms, and one brings the code */
    CHECK(trial.us == 9 && trial.us_min == 8 && trial.us_cold == 2000 && trial.samples == 10);
    CHECK(gt_measure_cold(&meter, &runner, &(gt_launch_operands){0}, &slow) && slow.us_cold == 0);
    meter.modelled = true;
    CHECK(gt_measure_cold(&meter, &runner, &(gt_launch_operands){0}, &modelled) && modelled.us_cold == 0);
    CHECK(launches == 4 + 1);
}

CHECK_MAIN
