/* Timing of what was proved right: one candidate until it is plainly slower than the best, finalists in turns. */
#ifndef GT_MEASURE_H
#define GT_MEASURE_H

#include "meter.h"

/*
 * Times one verified runner, operands in L2 where they fit: fills us, us_min, us_spread, samples, clock_mhz. Up to ten
 * samples or about 60 ms; where best_us is not 0 a loser gets fewer and is marked stopped_early.
 */
bool gt_measure_screen(gt_meter *meter, const gt_runner *runner, const gt_launch_operands *operands, double best_us,
                       gt_trial *trial);

/*
 * Takes cold samples of one that was screened (us_cold), up to ten or about 4 ms, of a loser too: candidates are ranked by
 * both times. Where the software GPU models times, and where launches take so long that both are the same, there is none.
 */
bool gt_measure_cold(gt_meter *meter, const gt_runner *runner, const gt_launch_operands *operands, gt_trial *trial);

/* One that races. A trial that has failed before is passed over. */
typedef struct gt_racer {
    const gt_runner *runner;
    gt_launch_operands operands;
    gt_trial *trial;
} gt_racer;

/* Told whose turn it is before anything of that racer runs. */
typedef void gt_race_turn(void *data, size_t index);

/*
 * Times racers in turn, round after round in another order each, until seconds have passed and everyone has had seven
 * samples, of which the newest GT_SERIES_MOST count; then come cold samples (us_cold). A racer that fails gets its outcome
 * and drops out. Returns false if one broke the context: *broken is its index, nothing more can run in this process.
 */
bool gt_measure_race(gt_meter *meter, const gt_racer *racers, size_t count, double seconds, gt_race_turn *turn,
                     void *data, size_t *broken);

#endif
