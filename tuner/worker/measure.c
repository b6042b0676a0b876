#include "measure.h"

#include <stdlib.h>

#include "../random.h"
#include "../timer.h"

#define SCREEN_LEAST 3
#define SCREEN_MOST  10
#define SCREEN_US    60e3
#define SLOW_US      20e3 /* from here on the first launch counts as a sample */
#define LOSER        1.15 /* so much slower than the best: not worth more samples */
#define SCREEN_COLD    10
#define SCREEN_COLD_US 4e3 /* of the device's time, on cold samples beyond the first */
#define RACE_ROUNDS  7
#define RACE_FEWEST  3    /* rounds of a race that takes far longer than it was given */
#define COLD_SECONDS 0.06 /* of cold rounds beyond RACE_ROUNDS */

static double smallest(const gt_series *s)
{
    double least = s->warm[0];
    for (int i = 1; i < s->warm_count; i++)
        if (s->warm[i] < least)
            least = s->warm[i];
    return least;
}

/* Samples until it is enough. A launch of many milliseconds needs no batch around it; one that is plainly slow is not
 * run more often than it takes to say so. */
static CUresult screen(gt_meter *meter, gt_series *s, double best_us, bool *loser)
{
    int least = SCREEN_LEAST;
    CUresult result = CUDA_SUCCESS;
    if (s->first_us >= SLOW_US) {
        gt_series_add(s, s->first_us, 0);
        s->spent_us = s->first_us;
        least = 1;
    } else if (best_us > 0 && s->first_us > 2 * best_us + 2 * GT_BATCH_US) {
        least = 1;
    }
    while (result == CUDA_SUCCESS && s->warm_count < SCREEN_MOST) {
        if (s->warm_count >= least) {
            *loser = best_us > 0 && smallest(s) > LOSER * best_us;
            if (*loser || s->spent_us >= SCREEN_US)
                break;
        }
        result = gt_series_sample(meter, s);
    }
    return result;
}

bool gt_measure_screen(gt_meter *meter, const gt_runner *runner, const gt_launch_operands *operands, double best_us,
                       gt_trial *trial)
{
    gt_series s = {.runner = runner, .operands = *operands, .repeats = 1};
    bool loser = false;
    CUresult result = gt_series_begin(meter, &s);
    if (result == CUDA_SUCCESS && !meter->modelled)
        result = screen(meter, &s, best_us, &loser);
    gt_series_end(meter, &s);
    if (!gt_trial_check(trial, meter->driver, result, "timing"))
        return false;
    trial->stopped_early = loser;
    trial->modelled = meter->modelled;
    gt_series_summarise(&s, trial);
    return true;
}

bool gt_measure_cold(gt_meter *meter, const gt_runner *runner, const gt_launch_operands *operands, gt_trial *trial)
{
    gt_series s = {.runner = runner, .operands = *operands, .repeats = 1, .first_us = trial->us};
    CUresult result = CUDA_SUCCESS;
    if (meter->modelled || trial->us >= SLOW_US)
        return true;
    for (int i = 0; result == CUDA_SUCCESS && i < SCREEN_COLD && s.spent_us < SCREEN_COLD_US; i++)
        result = gt_series_sample_cold(meter, &s);
    if (!gt_trial_check(trial, meter->driver, result, "timing"))
        return false;
    gt_series_summarise(&s, trial);
    return true;
}

/* What a racer does when it is its turn. */
typedef CUresult race_step(gt_meter *meter, gt_series *s);

typedef struct race {
    gt_meter *meter;
    const gt_racer *racers;
    gt_series *all;
    size_t *order; /* of this round */
    size_t count;
    gt_race_turn *turn;
    void *data;
} race;

/* Another order for each round: a kernel that draws much power lowers the clock for the one behind it. */
static void shuffle(const race *r, int round)
{
    gt_draws draws = {.seed = (uint64_t)round};
    for (size_t i = 0; i < r->count; i++) {
        const size_t at = (size_t)gt_draw_below(&draws, (int64_t)i + 1);
        r->order[i] = r->order[at];
        r->order[at] = i;
    }
}

/* One round: everyone still in the race takes one step. false: the context is broken. */
static bool take_round(const race *r, int round, race_step *step, size_t *broken)
{
    shuffle(r, round);
    for (size_t i = 0; i < r->count; i++) {
        const size_t index = r->order[i];
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
    if (!take_round(r, 0, gt_series_begin, broken))
        return false;
    if (r->meter->modelled)
        return true;
    /* The newest samples decide: under a power limit the clock falls within some tenths of a second, and kernels suffer
     * by it unequally. At 512x4096x11008 bf16 on an H200 it turns 64.8 and 65.0 us into 73 and 69. */
    const double started = gt_now();
    for (int round = 0;; round++) {
        const double elapsed = gt_now() - started;
        if (elapsed >= seconds && (round >= RACE_ROUNDS || (round >= RACE_FEWEST && elapsed >= 4 * seconds)))
            break;
        if (!take_round(r, round, gt_series_sample, broken))
            return false;
    }
    const double cold_started = gt_now(), warm_s = cold_started - started;
    for (int round = 0; round < GT_SERIES_COLD; round++) {
        const double elapsed = gt_now() - cold_started;
        if ((round >= RACE_FEWEST && elapsed > warm_s) || (round >= RACE_ROUNDS && elapsed > COLD_SECONDS))
            break;
        if (!take_round(r, round, gt_series_sample_cold, broken))
            return false;
    }
    return true;
}

bool gt_measure_race(gt_meter *meter, const gt_racer *racers, size_t count, double seconds, gt_race_turn *turn,
                     void *data, size_t *broken)
{
    gt_series *all = calloc(count + 1, sizeof *all);
    size_t *order = calloc(count + 1, sizeof *order);
    if (!all || !order) {
        for (size_t i = 0; i < count; i++)
            gt_trial_fail(racers[i].trial, GT_TRIAL_NOT_TRIED, "out of memory");
        free(order);
        free(all);
        return true;
    }
    for (size_t i = 0; i < count; i++)
        all[i] = (gt_series){.runner = racers[i].runner, .operands = racers[i].operands, .repeats = 1};
    const race r = {meter, racers, all, order, count, turn, data};
    const bool whole = run_race(&r, seconds, broken);
    for (size_t i = 0; i < count; i++) {
        if (whole)
            gt_series_end(meter, &all[i]);
        racers[i].trial->modelled = meter->modelled;
        if (racers[i].trial->outcome == GT_TRIAL_OK)
            gt_series_summarise(&all[i], racers[i].trial);
    }
    free(order);
    free(all);
    return whole;
}
