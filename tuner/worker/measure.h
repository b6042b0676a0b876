/* Timing: device events around batches of launches, graph replay for short kernels, medians. */
#ifndef GT_MEASURE_H
#define GT_MEASURE_H

#include "../../src/core/device.h"
#include "clock.h"
#include "runner.h"

typedef struct gt_meter {
    const gt_driver *driver;
    CUstream stream;
    CUevent start, stop;
    gt_clock *clock;    /* NULL: not known */
    bool modelled;      /* events tell a model's time: one launch says all */
    bool always_slow;   /* resting did not bring the clock back: samples are taken as they come until it does */
    CUdeviceptr flush;  /* written over to empty L2; made when first needed */
    size_t flush_bytes; /* twice L2 */
} gt_meter;

/* Owned: gt_meter_finish. */
gt_status gt_meter_init(const gt_driver *driver, CUstream stream, const gt_device *device, gt_meter *meter);
void gt_meter_finish(gt_meter *meter);

/*
 * Times one verified runner, operands in L2 where they fit: fills us, us_min, us_spread, samples, clock_mhz. Up to ten
 * samples or about 60 ms; where best_us is not 0 a loser gets fewer and is marked stopped_early.
 */
bool gt_measure_screen(gt_meter *meter, const gt_runner *runner, const gt_launch_operands *operands, double best_us,
                       gt_trial *trial);

/* One that races. A trial that has failed before is passed over. */
typedef struct gt_racer {
    const gt_runner *runner;
    gt_launch_operands operands;
    gt_trial *trial;
} gt_racer;

/* Told whose turn it is before anything of that racer runs. */
typedef void gt_race_turn(void *data, size_t index);

/*
 * Times racers in turn, round after round with the order rotated, until seconds have passed and everyone has had seven
 * samples; then with L2 flushed before each execution (us_cold). A racer that fails gets its outcome and drops out.
 * Returns false if one broke the context: *broken is its index, nothing more can run in this process.
 */
bool gt_measure_race(gt_meter *meter, const gt_racer *racers, size_t count, double seconds, gt_race_turn *turn,
                     void *data, size_t *broken);

#endif
