#include "verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The time for a second check after a timeout: times the limit, and seconds at least. The GPU may have been busy with
 * others, or this process stopped. */
#define PATIENCE       4
#define LEAST_PATIENCE 60

gt_status gt_verdict_find(gt_engine *engine, const gt_problem *problem, const gt_contestant *contestant,
                          const gt_try_terms *given, gt_trial *out)
{
    gt_try_terms terms = *given;
    gt_trial trial = {0}, again = {0};
    gt_status status = gt_worker_try(engine->worker, problem, contestant, &terms, &trial);
    if (status == GT_OK && (trial.outcome == GT_TRIAL_CRASH || trial.outcome == GT_TRIAL_TIMEOUT)) {
        terms.limit_s = fmax(PATIENCE * engine->options.limit_s, LEAST_PATIENCE);
        status = gt_worker_try(engine->worker, problem, contestant, &terms, &again);
        const bool ran = status == GT_OK && (again.outcome == GT_TRIAL_OK || gt_outcome_convicts(again.outcome));
        if (!ran || trial.outcome == GT_TRIAL_TIMEOUT)
            trial = again;
    }
    if (status != GT_OK)
        return status;
    *out = trial;
    out->stage = GT_STAGE_VERIFY;
    out->seed = terms.seed;
    if (terms.extent != GT_EXTENT_ALL)
        snprintf(out->detail + strlen(out->detail), sizeof out->detail - strlen(out->detail), " (--effort quick)");
    return GT_OK;
}

gt_status gt_verdict_put(gt_engine *engine, const gt_problem *problem, const gt_kernel *kernel, const gt_trial *trial)
{
    int64_t id = 0;
    gt_status status = gt_engine_begin_writing(engine);
    if (status == GT_OK)
        status = gt_store_problem(engine->store, problem, &id);
    if (status == GT_OK)
        status = gt_store_put_trial(engine->store, engine->run, engine->gpu, id, kernel, NULL, trial);
    return status;
}
