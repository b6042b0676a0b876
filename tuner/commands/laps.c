#include "laps.h"

#include <stdlib.h>

#include "../../src/core/status.h"
#include "../claims.h"
#include "../timer.h"
#include "../winners.h"
#include "cover.h"
#include "tuned.h"

/* The problem's share of what is left of the budget. */
static double share_until(const gt_tuning *tuning, size_t problems_left)
{
    const double elapsed = gt_engine_elapsed(tuning->engine), deadline = tuning->deadline;
    return deadline > 0 ? elapsed + (deadline - elapsed) / (double)problems_left : 0;
}

#define CLAIM_S 0.2 /* seconds between two looks at a problem that another tuner works on */

/* Tunes one problem, if it can be claimed or must be waited for; *reached says whether it was. */
static gt_status tune_claimed(gt_tuning *tuning, const gt_problem *problem, bool wait, gt_tuned *tuned, bool *reached)
{
    const gt_engine *engine = tuning->engine;
    int64_t id;
    gt_status status = gt_store_problem(engine->store, problem, &id);
    if (status != GT_OK)
        return status;
    *reached = gt_claims_take(engine->claims, engine->gpu, id);
    if (!*reached && wait) {
        char name[GT_PROBLEM_NAME_LENGTH];
        gt_problem_name(problem, name);
        gt_progress_line(tuning->progress, "%s: another tuner of this database works on it; waiting", name);
    }
    while (!*reached && wait && !gt_engine_interrupted() &&
           (tuning->deadline == 0 || gt_engine_elapsed(engine) < tuning->deadline)) {
        gt_rest(CLAIM_S);
        *reached = gt_claims_take(engine->claims, engine->gpu, id);
    }
    if (*reached) {
        status = gt_tune(tuning, problem, tuned);
        gt_claims_drop(engine->claims, engine->gpu, id);
    }
    return status;
}

/* How a problem is searched, and what its search begins with. One of the cover list is searched quickly where it is
 * the first of its row whose rows are aligned, or not; what won there is tried on the others, and little else. Vectors
 * read a matrix along K or across it, and what is good at one says nothing about the other. */
static void choose_search(gt_tuning *tuning, gt_winners *winners, bool covers, const gt_problem *problem)
{
    const int row = covers ? gt_cover_row(problem) : -1;
    tuning->effort = tuning->engine->options.effort;
    if (tuning->brief && tuning->effort == GT_EFFORT_NORMAL)
        tuning->effort = GT_EFFORT_QUICK;
    tuning->seeds = winners->seeds;
    tuning->covering = row >= 0;
    tuning->seed_count = row >= 0 ? gt_winners_of_row(winners, row) : 0;
    const bool vector = problem->m == 1, aligned = problem->class.align > gt_class_element(&problem->class);
    const bool like = (aligned && !vector) || gt_winners_has(winners, row, &problem->class, vector);
    if (row >= 0 && tuning->effort != GT_EFFORT_FULL)
        tuning->effort = like && tuning->seed_count > 0 ? GT_EFFORT_COVER : GT_EFFORT_QUICK;
    if (tuning->seed_count == 0)
        tuning->seed_count = gt_winners_all(winners);
}

/* Whether the time is up. The first problem of a run is never left out. */
static bool is_over(const gt_engine *engine, double deadline, size_t reached)
{
    return deadline > 0 && reached > 0 && gt_engine_elapsed(engine) >= deadline;
}

/* Tunes the problems, in order but for those that another tuner of the database works on: these come last, and little
 * is left to do for them. Of those that are left when the time is up what is known is shown, where others tuned before.
 * *count says how many were reached. */
static gt_status tune_each(gt_tuning *tuning, gt_winners *winners, bool covers, bool others, const gt_problem *problems,
                           size_t total, gt_tuned *tuned, size_t *count)
{
    const int before = tuning->state.step; /* problems of other types */
    gt_status status = GT_OK;
    bool *done = calloc(total, sizeof *done);
    if (!done)
        return gt_fail_memory();
    for (size_t turn = 0; status == GT_OK && turn < 2 * total && !gt_engine_interrupted(); turn++) {
        const size_t i = turn % total;
        gt_tuned *t = &tuned[*count];
        tuning->showing = is_over(tuning->engine, tuning->deadline, *count);
        if (tuning->showing && !others)
            break;
        if (done[i])
            continue;
        /* One share more than there are problems: the last lap's. */
        tuning->until = share_until(tuning, total - *count + 1);
        tuning->state.step = before + (int)*count;
        choose_search(tuning, winners, covers, &problems[i]);
        if ((status = tune_claimed(tuning, &problems[i], turn >= total, t, &done[i])) != GT_OK || !done[i])
            continue;
        if (tuning->showing && !t->won)
            continue;
        ++*count;
        gt_tuned_line(tuning, t);
        if (t->won)
            gt_winners_add(winners, &t->kernel, &t->problem.class, covers ? gt_cover_row(&t->problem) : -1);
    }
    free(done);
    return status;
}

/* The last lap: every winner of a class on every problem of it. What was tuned first gets what was found last, and the
 * library has measurements of each kernel on many sizes to predict from. */
static gt_status last_lap(gt_tuning *tuning, gt_winners *winners, bool covers, gt_tuned *tuned, size_t count)
{
    tuning->only_seeds = true;
    tuning->showing = false;
    for (size_t i = 0; i < count && !gt_engine_interrupted() && !is_over(tuning->engine, tuning->deadline, count); i++) {
        gt_tuned again;
        choose_search(tuning, winners, covers, &tuned[i].problem);
        tuning->seed_count = gt_winners_of_class(winners, &tuned[i].problem.class);
        if (tuning->seed_count < 2)
            continue;
        tuning->until = share_until(tuning, count - i);
        bool reached;
        const gt_status status = tune_claimed(tuning, &tuned[i].problem, false, &again, &reached);
        if (status != GT_OK)
            return status;
        if (!reached) /* another tuner is on its last lap */
            continue;
        tuned[i].tried += again.tried;
        again.cut = tuned[i].cut = tuned[i].cut || again.cut;
        if (!again.won || gt_params_same(&again.kernel.params, &tuned[i].kernel.params))
            continue;
        again.tried = tuned[i].tried;
        tuned[i] = again;
        gt_tuned_line(tuning, &again);
    }
    return GT_OK;
}

bool gt_laps_tried_any(const gt_tuned *tuned, size_t count)
{
    int tried = 0;
    for (size_t i = 0; i < count; i++)
        tried += tuned[i].tried;
    return tried > 0;
}

/* Whether a kernel is out of service. */
static gt_status find_convicted(const gt_engine *engine, const gt_tuned *tuned, bool *convicted)
{
    int64_t id;
    bool found = false;
    gt_trial trial;
    gt_status status = gt_store_problem(engine->store, &tuned->problem, &id);
    if (status == GT_OK)
        status = gt_store_find_trial(engine->store, engine->gpu, id, &tuned->kernel, &found, &trial);
    if (status == GT_OK)
        *convicted = found && gt_outcome_convicts(trial.outcome);
    return status;
}

/* A winner that turned out wrong on a later problem has won nothing: its problems are tuned again, without it, for
 * which a race of what was tried is enough. */
static gt_status replace_convicted(gt_tuning *tuning, gt_tuned *tuned, size_t count)
{
    tuning->only_seeds = tuning->showing = false;
    tuning->effort = tuning->engine->options.effort;
    for (size_t i = 0; i < count && !gt_engine_interrupted(); i++) {
        gt_tuned *t = &tuned[i], again = {0};
        bool convicted = false, reached = false;
        gt_status status = t->won ? find_convicted(tuning->engine, t, &convicted) : GT_OK;
        if (status == GT_OK && convicted)
            status = tune_claimed(tuning, &t->problem, true, &again, &reached);
        if (status != GT_OK)
            return status;
        if (!convicted)
            continue;
        again.problem = t->problem;
        again.tried += t->tried;
        *t = again;
        gt_tuned_line(tuning, t);
    }
    return GT_OK;
}

/* Puts the results in the order of the list. */
static void restore_order(const gt_problem *problems, size_t total, gt_tuned *tuned, size_t count)
{
    size_t placed = 0;
    for (size_t i = 0; i < total; i++)
        for (size_t j = placed; j < count; j++)
            if (gt_problem_same(&tuned[j].problem, &problems[i])) {
                const gt_tuned moved = tuned[j];
                tuned[j] = tuned[placed];
                tuned[placed++] = moved;
                break;
            }
}

/* The problems of one type, until the deadline. state->step says how many of others came before. */
static gt_status tune_type(gt_engine *engine, const gt_options_cli *options, double deadline, gt_progress_state *state,
                           const gt_problem *problems, size_t total, gt_tuned *tuned, size_t *count)
{
    gt_winners winners;
    gt_tuning tuning = {.engine = engine, .progress = gt_progress_create(options->quiet), .state = *state,
                        .deadline = deadline, .verbose = options->verbose};
    const gt_types *types = gt_class_types(&problems[0].class);
    const bool covers = options->shapes.cover || options->few.cover;
    gt_fitted *fitted = NULL;
    size_t misfits;
    gt_status status = gt_winners_init(total, &winners);
    if (status == GT_OK)
        status = gt_store_find_fitted(engine->store, &engine->device, types, &fitted, &tuning.fitted_count, &misfits);
    tuning.fitted = fitted;
    tuning.brief = options->all_types && !gt_types_are_usual(types);
    if (status == GT_OK)
        status = tune_each(&tuning, &winners, covers, options->all_devices, problems, total, tuned, count);
    /* All known from runs before, they have had it; but parts of a list only by themselves. */
    if (status == GT_OK && (gt_laps_tried_any(tuned, *count) || options->all_devices))
        status = last_lap(&tuning, &winners, covers, tuned, *count);
    if (status == GT_OK)
        status = replace_convicted(&tuning, tuned, *count);
    *state = tuning.state;
    gt_progress_destroy(tuning.progress);
    restore_order(problems, total, tuned, *count);
    gt_tuned_explain(&tuning.rejections, options, tuned, *count);
    gt_rejections_finish(&tuning.rejections);
    gt_winners_finish(&winners);
    free(fitted);
    return status;
}

gt_status gt_laps_run(gt_engine *engine, const gt_options_cli *options, const gt_problem *problems, size_t total,
                      gt_tuned *tuned, size_t *count)
{
    const double budget = options->budget_s;
    gt_progress_state state = {.steps = (int)total, .budget = budget};
    gt_status status = GT_OK;
    for (size_t i = 0, group; status == GT_OK && i < total && !gt_engine_interrupted(); i += group) {
        const double elapsed = gt_engine_elapsed(engine);
        if (is_over(engine, budget, *count) && !options->all_devices)
            break;
        size_t more = 0;
        group = gt_options_group(problems + i, total - i);
        const double share = (budget - elapsed) * (double)group / (double)(total - i);
        state.step = (int)i;
        status = tune_type(engine, options, budget > 0 ? elapsed + share : 0, &state, problems + i, group,
                           tuned + *count, &more);
        *count += more;
    }
    return status;
}
