/*
 * Samples of how long a runner takes: device events around batches of launches, graph replay for short kernels. How
 * many samples are worth their time is decided in measure.c.
 */
#ifndef GT_METER_H
#define GT_METER_H

#include "../../src/core/device.h"
#include "clock.h"
#include "runner.h"

#define GT_METER_FLUSHES 31

typedef struct gt_meter {
    const gt_driver *driver;
    CUstream stream;
    CUevent start, stop;
    gt_clock *clock;    /* NULL: not known */
    bool modelled;      /* events tell a model's time: one launch says all */
    bool always_slow;   /* resting did not bring the clock back: samples are taken as they come until it does */
    CUdeviceptr flush;  /* written over to empty L2; made when first needed */
    size_t flush_bytes; /* twice L2 */
    double flush_us[GT_METER_FLUSHES]; /* the newest samples of how long that takes, oldest at flush_taken % their number */
    int flush_taken;
} gt_meter;

/* Owned: gt_meter_finish. */
gt_status gt_meter_init(const gt_driver *driver, CUstream stream, const gt_device *device, gt_meter *meter);
void gt_meter_finish(gt_meter *meter);

#define GT_BATCH_US    200.0 /* how long a batch of launches should take that are not replayed from a graph */
#define GT_SERIES_MOST 100
#define GT_SERIES_COLD 31

/* Samples of one runner, the newest GT_SERIES_MOST of them. To begin with: runner, operands, repeats = 1. */
typedef struct gt_series {
    const gt_runner *runner;
    gt_launch_operands operands;
    CUgraphExec graph; /* of `repeats` launches; NULL: launched one by one */
    int repeats;       /* launches a sample */
    double first_us;   /* of one launch after the warm-up */
    double warm[GT_SERIES_MOST], cold[GT_SERIES_COLD]; /* microseconds of one launch */
    double mhz[GT_SERIES_MOST]; /* the clock at each warm sample; 0: not known */
    int taken;                  /* warm samples, those included that newer ones have replaced */
    int warm_count, cold_count;
    double spent_us; /* of the device's time, on samples */
} gt_series;

/* Warms up, times one launch and decides from that how to time on. A modelled time is one sample, and all there is. */
CUresult gt_series_begin(gt_meter *meter, gt_series *series);

/* Adds a warm sample that was taken at this clock, in MHz; 0: not known. */
void gt_series_add(gt_series *series, double us, double mhz);

/* Adds a sample of launches back to back; or a cold one: what a launch adds to a stream of other kernels, which leave nothing
 * of its operands in L2, though its code is where the launch before left it. The latter adds none where L2 cannot be
 * flushed. */
CUresult gt_series_sample(gt_meter *meter, gt_series *series);
CUresult gt_series_sample_cold(gt_meter *meter, gt_series *series);

/* Fills a trial's us, us_min, us_spread, samples and clock_mhz where there are warm samples, us_cold where there are cold
 * ones. Sorts the samples. */
void gt_series_summarise(gt_series *series, gt_trial *trial);

void gt_series_end(const gt_meter *meter, gt_series *series);

#endif
