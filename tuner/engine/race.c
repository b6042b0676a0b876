/* The race that decides: finalists, winners of earlier runs and baselines, timed in turns. */
#include "work.h"

#include <math.h>

#define FIELD (GT_FINALISTS + 2 + GT_RIVALS)

/* Seconds of racing, by effort. Samples of one kernel lie within 0.1 to 0.5% of their median on an H200: seven rounds, the
 * fewest there are, tell 1% apart, and a problem of the cover list has little more. */
static const double race_seconds[] = {[GT_EFFORT_QUICK] = 0.25, [GT_EFFORT_NORMAL] = 0.8, [GT_EFFORT_FULL] = 1.5,
                                      [GT_EFFORT_COVER] = 0.05, [GT_EFFORT_FIRST] = 0.15, [GT_EFFORT_TWIN] = 0.05};

/* Seconds for cuBLASLt to try its algorithms: enough for the first few that it expects to be fast. `gemmtune bench`
 * lets it try all. */
#define BASELINE_SEARCH_S 0.05

static double find_fastest(const gt_trial *trials, size_t count)
{
    double best = INFINITY;
    for (size_t i = 0; i < count; i++)
        if (trials[i].outcome == GT_TRIAL_OK && trials[i].us > 0)
            best = fmin(best, gt_trial_deciding_us(&trials[i]));
    return best;
}

/* Stores the race: the winner with its margin, and the code of all that were close, so that any of them can be loaded.
 * The fastest of the first `own` is what this run shows. */
static gt_status store_race(gt_work *w, const gt_kernel *kernels, const gt_code *codes, const gt_trial *trials,
                            size_t count, size_t own, const gt_baseline *baselines)
{
    gt_engine *engine = w->engine;
    const double fastest = find_fastest(trials, count);
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && i < count; i++) {
        if (trials[i].outcome == GT_TRIAL_NOT_TRIED) {
            gt_work_note(w, &kernels[i], &trials[i], true);
            continue;
        }
        const bool winner = trials[i].margin >= 0, near = gt_trial_deciding_us(&trials[i]) <= GT_WORTH_KEEPING * fastest;
        const gt_code stored = winner || near ? gt_work_code(w, &codes[i], winner) : (gt_code){0};
        status = gt_store_put_trial(engine->store, engine->run, engine->gpu, w->problem_id, &kernels[i], &stored,
                                    &trials[i]);
        if (status == GT_OK && i < own && trials[i].outcome == GT_TRIAL_OK && trials[i].us > 0 &&
            (!w->tuned->won || gt_trial_deciding_us(&trials[i]) < gt_trial_deciding_us(&w->tuned->trial))) {
            w->tuned->won = true;
            w->tuned->kernel = kernels[i];
            w->tuned->trial = trials[i];
        }
        if (winner && i >= own)
            w->tuned->winner_us = trials[i].us;
        if (status == GT_OK && trials[i].outcome != GT_TRIAL_OK)
            gt_work_note(w, &kernels[i], &trials[i], true);
    }
    for (size_t i = 0; status == GT_OK && i < GT_BASELINE_COUNT; i++)
        if (baselines[i].trial.outcome == GT_TRIAL_OK && baselines[i].trial.us > 0)
            status = gt_store_put_baseline(engine->store, engine->run, engine->gpu, w->problem_id, gt_baseline_name(i),
                                           baselines[i].version, &baselines[i].trial);
    const int best = gt_baseline_best(baselines);
    if (best >= 0)
        w->tuned->cublas = baselines[best].trial;
    return status;
}

/* Lets a winner of earlier runs defend its place, unless its code races already. Its element of errors is the error of
 * its earlier checks. */
static gt_status add_defender(const gt_work *w, const gt_known *winner, gt_kernel *kernels, gt_code *codes,
                              double *errors, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        if (gt_is_same_code(&kernels[i], &winner->kernel))
            return GT_OK;
    const gt_status status = gt_store_find_code(w->engine->store, winner->kernel_id, &winner->kernel, &codes[*count]);
    if (gt_store_lacks_code(status) || status == GT_ERROR_UNTRUSTED)
        return GT_OK; /* no library would load it */
    if (status == GT_OK) {
        kernels[*count] = winner->kernel;
        errors[(*count)++] = winner->trial.error;
    }
    return status;
}

gt_status gt_race(gt_work *w)
{
    gt_candidate *finalists[GT_FINALISTS];
    gt_kernel kernels[FIELD];
    gt_code codes[FIELD] = {0};
    gt_contestant contestants[FIELD];
    gt_trial trials[FIELD] = {0};
    double errors[FIELD];
    gt_baseline baselines[GT_BASELINE_COUNT] = {0};
    const gt_engine_options *options = &w->engine->options;
    const size_t chosen = w->search ? gt_search_finalists(w->search, finalists) : 0;
    size_t count = 0;
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && i < chosen; i++) {
        const gt_code *code;
        kernels[count] = finalists[i]->kernel;
        if ((status = gt_engine_code(w->engine, &w->problem->class, &kernels[count], &code)) == GT_OK)
            status = gt_code_copy(code, &codes[count]);
        errors[count++] = finalists[i]->trial.error;
    }
    const size_t found = count;
    if (status == GT_OK && w->winner.kernel_id != 0 && (found > 0 || w->rival_count > 0 || !w->search))
        status = add_defender(w, &w->winner, kernels, codes, errors, &count);
    if (status == GT_OK && w->anew.kernel_id != 0)
        status = add_defender(w, &w->anew, kernels, codes, errors, &count);
    for (size_t i = 0; status == GT_OK && i < w->rival_count; i++)
        status = add_defender(w, &w->rivals[i], kernels, codes, errors, &count);
    for (size_t i = 0; i < count; i++)
        contestants[i] = (gt_contestant){&kernels[i], &codes[i]};
    const gt_tuning *tuning = w->tuning;
    const gt_effort effort = tuning->covering && tuning->effort != GT_EFFORT_FULL ? GT_EFFORT_COVER
                             : tuning->hurried                                    ? GT_EFFORT_QUICK
                                                                                  : tuning->effort;
    const gt_race_terms terms = {.seed = options->check_seed, .seconds = race_seconds[effort],
                                 .search_s = BASELINE_SEARCH_S, .baselines = options->baselines};
    if (status == GT_OK && count > 0)
        status = gt_worker_race(w->engine->worker, w->problem, contestants, count, &terms, trials, baselines);
    for (size_t i = 0; i < count; i++)
        if (trials[i].error == 0)
            trials[i].error = errors[i];
    if (status == GT_OK && count > 0)
        status = store_race(w, kernels, codes, trials, count, options->family ? found : count, baselines);
    for (size_t i = 0; i < FIELD; i++)
        gt_code_finish(&codes[i]);
    return status;
}
