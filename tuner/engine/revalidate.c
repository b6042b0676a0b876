/* A stored winner and its runners-up, proved right and raced again under the conditions of now. */
#include "verdict.h"
#include "work.h"

/* Proves a stored kernel right again; one that is not is out of service, and of this race, and so is one whose
 * code is damaged or gone. */
static gt_status prove(gt_work *w, const gt_known *kernel, bool *right)
{
    gt_code code = {0};
    gt_trial trial;
    gt_status status = gt_store_find_code(w->engine->store, kernel->kernel_id, &kernel->kernel, &code);
    if (status == GT_OK) {
        const gt_contestant contestant = {&kernel->kernel, &code};
        const bool quick = w->engine->options.effort == GT_EFFORT_QUICK;
        const gt_try_terms terms = {.seed = w->engine->options.check_seed,
                                    .extent = quick ? GT_EXTENT_FEW : GT_EXTENT_ALL};
        status = gt_verdict_find(w->engine, w->problem, &contestant, &terms, &trial);
        *right = status == GT_OK && trial.outcome == GT_TRIAL_OK;
        if (status == GT_OK && gt_outcome_convicts(trial.outcome))
            status = gt_verdict_put(w->engine, w->problem, &kernel->kernel, &trial);
        if (status == GT_OK && !*right)
            gt_work_note(w, &kernel->kernel, &trial, true);
    }
    gt_code_finish(&code);
    return gt_store_lacks_code(status) ? GT_OK : status;
}

/* The winner's configuration, where the template or the compiler makes another kernel of it now, is tried as any
 * candidate is, and races if it passes. What the template or the compiler takes no more is left as it is. */
static gt_status try_anew(gt_work *w)
{
    gt_candidate c = {.kernel = w->winner.kernel};
    bool tried = false;
    gt_status status = gt_families_find(&w->engine->families, c.kernel.family)
                           ? gt_engine_prepare(w->engine, &w->problem->class, &c.kernel, false)
                           : GT_ERROR_INVALID;
    if (status == GT_ERROR_INVALID)
        return GT_OK;
    if (status != GT_OK || gt_is_same_code(&c.kernel, &w->winner.kernel))
        return status;
    status = gt_store_find_trial(w->engine->store, w->engine->gpu, w->problem_id, &c.kernel, &tried, &c.trial);
    if (status == GT_OK && !tried)
        status = gt_screen_try(w, &c);
    w->anew.kernel = c.kernel;
    return status == GT_OK ? gt_work_recall(w) : status;
}

gt_status gt_revalidate(gt_work *w)
{
    bool right = false;
    size_t kept = 0;
    gt_status status = gt_store_problem(w->engine->store, w->problem, &w->problem_id);
    if (status == GT_OK)
        status = gt_work_recall(w);
    if (status == GT_OK && w->winner.kernel_id != 0)
        status = try_anew(w);
    if (status == GT_OK && w->winner.kernel_id != 0)
        status = prove(w, &w->winner, &right);
    if (w->tuned->missed > 0) /* a race without the winner would be no race for its place */
        return status;
    if (!right)
        w->winner.kernel_id = 0;
    for (size_t i = 0; status == GT_OK && i < w->rival_count && !gt_engine_interrupted(); i++) {
        right = false;
        status = prove(w, &w->rivals[i], &right);
        if (right)
            w->rivals[kept++] = w->rivals[i];
    }
    w->rival_count = kept;
    return status == GT_OK && !gt_engine_interrupted() ? gt_race(w) : status;
}
