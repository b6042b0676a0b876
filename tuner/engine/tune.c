#include "tune.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/runtime/select.h"
#include "../search/winners.h"
#include "work.h"

/* Whether there is a reason for a race: a screening found something, and in the last lap something better. */
static bool is_new_best(const gt_work *w)
{
    gt_candidate *best;
    if (!w->tuning->only_seeds)
        return w->tuned->tried > 0;
    return gt_search_best(w->search, &best, 1) == 1 && best->now &&
           (w->own.kernel_id == 0 || gt_trial_deciding_us(&best->trial) < gt_trial_deciding_us(&w->own.trial));
}

/* Whether earlier runs brought the problem to its end: what they left has raced, and against each other. */
static bool is_settled(const gt_work *w)
{
    return w->own.kernel_id != 0 && w->raced && w->rival_count == 0;
}

/* What stands in the store already, where this run found nothing better. */
static gt_status show_stored(gt_work *w)
{
    w->tuned->kernel = w->own.kernel;
    w->tuned->trial = w->own.trial;
    w->tuned->won = true;
    if (w->winner.kernel_id != w->own.kernel_id)
        w->tuned->winner_us = w->winner.trial.us;
    gt_status status = gt_store_find_baseline(w->engine->store, w->engine->gpu, w->problem_id, &w->tuned->cublas.us);
    if (status == GT_OK && w->tuned->cublas.us > 0)
        w->tuned->cublas.outcome = GT_TRIAL_OK;
    return status;
}

/* What an interruption, a machine that fails or the end of a budget leaves: the winner of earlier runs, else the fastest so
 * far, as `gemmtune best` shows it. */
static gt_status show_known(gt_work *w)
{
    bool found = false;
    gt_status status = gt_store_find_problem(w->engine->store, w->problem, &found, &w->problem_id);
    if (status == GT_OK && found)
        status = gt_work_recall(w);
    if (status == GT_OK && w->own.kernel_id == 0 && !w->engine->options.family)
        w->own = w->fastest;
    return status == GT_OK && w->own.kernel_id != 0 ? show_stored(w) : status;
}

/* Whether a problem has no time for a race. One of the list of sizes has, where cuBLAS races too, or where nobody could
 * use the time: else others would get a single candidate. */
static bool lacks_time(const gt_work *w)
{
    const gt_tuning *t = w->tuning;
    return t->hurried && (t->covering || (t->awaited && w->engine->options.baselines == 0));
}

static gt_status leave_unraced(gt_work *w)
{
    w->tuned->cut = true;
    return show_known(w);
}

/* What won on the same size in another class. */
static gt_status find_winner(const gt_work *w, gt_class class, gt_seed *seed, bool *found)
{
    gt_measurements measured;
    gt_problem problem = *w->problem;
    problem.class = class;
    const gt_status status = gt_store_find_measured_on(w->engine->store, &w->engine->device, &problem, &measured);
    if (status != GT_OK)
        return status;
    for (size_t i = 0; i < measured.count && !*found; i++) {
        const gt_measured *row = &measured.list[i];
        *found = row->winner && row->same_gpu;
        if (*found) {
            memcpy(seed->family, row->kernel->family, sizeof seed->family);
            seed->params = row->kernel->params;
        }
    }
    gt_measurements_finish(&measured);
    return GT_OK;
}

/* What won in a math whose kernels serve this one too: so the problem gets nothing slower. */
static gt_status find_served(const gt_work *w, gt_seed *seed, bool *found)
{
    gt_class class = w->problem->class;
    class.math = gt_math_served_by(class.math);
    *found = false;
    return class.math == w->problem->class.math ? GT_OK : find_winner(w, class, seed, found);
}

/* What won in the twin of these types: where nobody asked for the problem, that one is enough, beside the first choice. */
static gt_status find_twin(const gt_work *w, gt_seed *seed, bool *found)
{
    gt_class twin;
    *found = false;
    return gt_class_twin(&w->problem->class, &twin) ? find_winner(w, twin, seed, found) : GT_OK;
}

/* Whether a search of this effort was brought to its end before. */
static gt_status find_searched(const gt_work *w, bool *searched)
{
    const gt_engine *engine = w->engine;
    return gt_store_find_searched(engine->store, engine->gpu, w->problem_id, engine->search[w->tuning->effort], searched);
}

/* Families none of whose configurations can be launched: they have no candidates. */
static void note_refused(const gt_work *w)
{
    gt_kernel kernel;
    char reason[GT_DETAIL_LENGTH];
    for (size_t at = 0; w->tuning->rejections && (at = gt_search_refused(w->search, at, &kernel, reason)) > 0;)
        gt_rejections_refuse(w->tuning->rejections, w->problem, &kernel, reason);
}

/* Lists what may be tried, and screens it. */
static gt_status search(gt_work *w, const gt_search_options *options)
{
    gt_engine *engine = w->engine;
    gt_engine_give_turn(engine); /* it takes long, and asks for nothing that lanes share */
    const gt_status status =
        gt_search_create(&engine->families, &engine->device, w->problem, options, &w->search);
    gt_engine_take_turn(engine);
    if (status == GT_OK)
        note_refused(w);
    return status == GT_OK ? gt_screen(w) : status;
}

/* Stored kernels are expected to take so many times as long as the estimate's first choice of all configurations, where that
 * one is worth a compilation on a size that nobody asked for. By replay of a bf16 run on an H200, whose store lacked 4.2% on
 * sizes drawn otherwise. */
#define WORTH_COMPILING 1.08

/* The estimate's first choice, where the stored kernels are not expected to come near it. */
static gt_status try_lacking(gt_work *w, const gt_measurements *stored, gt_search_options options)
{
    double stored_us;
    const gt_status status = gt_select_least_estimate(&w->engine->device, w->problem, stored, &stored_us);
    options.effort = GT_EFFORT_FIRST;
    options.only_seeds = false;
    options.most_us = stored_us / WORTH_COMPILING;
    return status == GT_OK ? search(w, &options) : status;
}

/* The library's choices, and on a drawn size a kernel where the store has none of the kind. */
static gt_status try_choices(gt_work *w, const gt_measurements *stored, const gt_search_options *options)
{
    const gt_status status = gt_try_expected(w, stored);
    return status == GT_OK && w->tuning->drawn && !gt_work_out_of_time(w) ? try_lacking(w, stored, *options) : status;
}

/* The first kernel of a size of the cover list, for which nobody asked: a stored one where that is as good. Of 90 compilations
 * for bf16 in tn 35 are saved so, which serve drawn sizes far better, by estimates. */
static gt_status try_covering(gt_work *w, const gt_measurements *stored, const gt_search_options *options)
{
    const gt_status status = try_lacking(w, stored, *options);
    return status == GT_OK && w->best_us == 0 && !gt_engine_interrupted() ? gt_try_choice(w, stored) : status;
}

/* Tries stored kernels on a problem: in the last laps those that the library would choose, else one for a first choice. */
static gt_status try_stored(gt_work *w, const gt_search_options *options)
{
    gt_measurements stored;
    gt_status status = gt_store_find_measured(w->engine->store, &w->engine->device, &w->problem->class, &stored);
    if (status != GT_OK)
        return status;
    status = w->tuning->only_seeds ? try_choices(w, &stored, options) : try_covering(w, &stored, options);
    gt_measurements_finish(&stored);
    return status;
}

/* Screens and races, unless this very search was brought to its end before. */
static gt_status tune_problem(gt_work *w)
{
    gt_engine *engine = w->engine;
    gt_tuning *tuning = w->tuning;
    gt_search_options options = {
        .effort = tuning->effort,
        .seed = engine->options.seed,
        .family = engine->options.family,
        .seeds = tuning->seeds,
        .seed_count = tuning->seed_count,
        .only_seeds = tuning->only_seeds,
        .fitted = tuning->fitted,
        .fitted_count = tuning->fitted_count,
    };
    gt_seed served, twin;
    bool searched = false, has_twin = false;
    gt_status status = gt_store_problem(engine->store, w->problem, &w->problem_id);
    if (status == GT_OK)
        status = gt_work_recall(w);
    if (status == GT_OK)
        status = find_served(w, &served, &w->served);
    if (status == GT_OK && tuning->only_choices)
        return (status = try_stored(w, &options)) == GT_OK && w->own.kernel_id != 0 ? show_stored(w) : status;
    if (w->served)
        options.served = &served;
    if (status == GT_OK && !tuning->only_seeds)
        status = find_searched(w, &searched);
    const bool little = tuning->effort == GT_EFFORT_QUICK || tuning->effort == GT_EFFORT_COVER;
    if (status == GT_OK && !searched && !tuning->only_seeds && little && (tuning->covering || tuning->brief))
        status = find_twin(w, &twin, &has_twin);
    if (has_twin) {
        tuning->effort = options.effort = GT_EFFORT_TWIN;
        options.seeds = &twin;
        options.seed_count = 1;
        status = find_searched(w, &searched);
    }
    if (status != GT_OK)
        return status;
    if (searched && is_settled(w))
        return show_stored(w);
    const bool first = tuning->effort == GT_EFFORT_FIRST;
    if (first && (options.family ? w->own : w->fastest).kernel_id != 0)
        return GT_OK;
    status = first && tuning->covering && !options.family ? try_stored(w, &options) : search(w, &options);
    if (first)
        return status == GT_OK && tuning->asked && w->tuned->tried > 0 && !gt_engine_interrupted() ? gt_race(w) : status;
    if (status == GT_OK && tuning->only_seeds)
        status = try_stored(w, &options);
    if (status == GT_OK && !tuning->only_seeds && !gt_engine_interrupted())
        status = gt_screen_keep(w);
    if (status == GT_OK && !is_new_best(w) && is_settled(w))
        status = show_stored(w);
    else if (status == GT_OK && lacks_time(w))
        status = leave_unraced(w);
    else if (status == GT_OK && !gt_engine_interrupted())
        status = gt_race(w);
    if (status == GT_OK && w->tuned->missed > 0 && !w->tuned->won)
        status = show_known(w);
    if (status == GT_OK && !tuning->only_seeds && w->tuned->won && w->tuned->missed == 0 && !gt_work_out_of_time(w))
        status = gt_store_put_searched(engine->store, engine->run, engine->gpu, w->problem_id,
                                       engine->search[tuning->effort]);
    return status;
}

gt_status gt_tune(gt_tuning *tuning, const gt_problem *problem, gt_tuned *tuned)
{
    char name[GT_PROBLEM_NAME_LENGTH];
    gt_work w = {.tuning = tuning, .engine = tuning->engine, .problem = problem, .tuned = tuned};
    *tuned = (gt_tuned){.problem = *problem, .cublas.outcome = GT_TRIAL_LAUNCH_ERROR};
    gt_problem_name(problem, name);
    tuning->state.what = name;
    tuning->state.best_tflops = 0;
    tuning->state.best = NULL;
    gt_status status = tuning->revalidating ? gt_revalidate(&w) : tuning->showing ? show_known(&w) : tune_problem(&w);
    /* A wait that Ctrl-C ended is no failure: what was found so far is stored. */
    if (status == GT_ERROR_BUSY && gt_engine_interrupted())
        status = GT_OK;
    if (status == GT_OK && gt_engine_interrupted() && !tuned->won && !tuning->only_seeds && !tuning->revalidating)
        status = show_known(&w);
    gt_search_destroy(w.search);
    tuning->state.what = "";
    tuning->state.best = NULL;
    return status;
}
