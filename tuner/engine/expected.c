/* The library's own choice, put to the test. */
#include <math.h>
#include <stdlib.h>

#include "../../src/core/copies.h"
#include "../../src/core/status.h"
#include "../../src/runtime/neighbours.h"
#include "../../src/runtime/select.h"
#include "work.h"

/* Choices that are tried on a problem, one after the other. */
#define MOST_CHOICES 4

/* Squared distance of sizes that are taken for the same: together a factor of two. What was measured that near would
 * make the choice easier than programs do. */
#define NEARBY 0.48

/* The time of a kernel on a problem, or (id 0) of the fastest one; INFINITY where it was not tried there. */
static double find_us(const gt_measurements *measured, const gt_problem *problem, int64_t kernel_id)
{
    double best = INFINITY;
    for (size_t i = 0; i < measured->count; i++) {
        const gt_measured *row = &measured->list[i];
        if ((kernel_id == 0 || row->kernel_id == kernel_id) && gt_problem_same_size(&row->problem, problem) &&
            gt_class_same(&row->problem.class, &problem->class))
            best = fmin(best, gt_measured_us(row));
    }
    return best;
}

/* What the library would choose from if nobody had tuned the problem nor any size within that distance, without the kernels
 * that were tried on it, and where it is served without those that do not split operands. *others is freed by the caller:
 * its list is its own. */
static gt_status leave_out_known(const gt_problem *problem, bool served, double nearby, const gt_measurements *measured,
                                 gt_measurements *others)
{
    *others = *measured;
    others->count = 0;
    if (!(others->list = malloc((measured->count + 1) * sizeof *others->list)))
        return gt_fail_memory();
    for (size_t i = 0; i < measured->count; i++) {
        const gt_measured *row = &measured->list[i];
        const bool decided = served && !(row->kernel->facts.repack & GT_COPY_SPLIT);
        if (!decided && gt_neighbours_distance2(problem, &row->problem) > nearby &&
            isinf(find_us(measured, problem, row->kernel_id)))
            others->list[others->count++] = *row;
    }
    return GT_OK;
}

/* A stored kernel, proved right and timed on the problem: quickly, as all checks were made where it was found. */
static gt_status try_stored(gt_work *w, gt_known *stored)
{
    gt_engine *engine = w->engine;
    const gt_try_terms terms = {
        .seed = engine->options.check_seed, .time_it = true, .extent = GT_EXTENT_FEW, .best_us = w->best_us,
        .turn = engine->turn};
    gt_code code = {0};
    gt_status status = gt_store_find_code(engine->store, stored->kernel_id, &stored->kernel, &code);
    if (gt_store_lacks_code(status)) { /* which is the library's to tell of */
        stored->trial.outcome = GT_TRIAL_NOT_TRIED;
        return GT_OK;
    }
    const gt_contestant contestant = {&stored->kernel, &code};
    if (status == GT_OK)
        status = gt_worker_try(engine->worker, w->problem, &contestant, &terms, &stored->trial);
    const bool tried = status == GT_OK && stored->trial.outcome != GT_TRIAL_NOT_TRIED;
    if (tried)
        status = gt_store_put_trial(engine->store, engine->run, engine->gpu, w->problem_id, &stored->kernel, NULL,
                                    &stored->trial);
    gt_code_finish(&code);
    if (status == GT_OK) {
        w->tuned->tried += tried;
        gt_work_note(w, &stored->kernel, &stored->trial, true);
    }
    return status;
}

/* Tries choices, so many at most, until the next one is not expected to be faster than what is known. */
static gt_status try_choices(gt_work *w, int most, const gt_measurements *measured, gt_measurements *others)
{
    const gt_demands demands = {0};
    double best = find_us(measured, w->problem, 0);
    gt_status status = GT_OK;
    for (int i = 0; status == GT_OK && i < most && !gt_work_out_of_time(w); i++) {
        gt_selection selection;
        if (gt_select(&w->engine->device, w->problem, &demands, others, &selection) != GT_OK ||
            selection.expected_us >= best)
            break;
        const gt_measured *row = &others->list[selection.index];
        gt_known expected = {row->kernel_id, *row->kernel, row->trial};
        gt_trial before;
        bool tried;
        status = gt_store_find_trial(w->engine->store, w->engine->gpu, w->problem_id, &expected.kernel, &tried, &before);
        if (status == GT_OK && !tried)
            status = try_stored(w, &expected);
        if (status == GT_OK && !tried && expected.trial.outcome == GT_TRIAL_OK)
            best = fmin(best, expected.trial.us);
        gt_measurements_drop_kernel(others, expected.kernel_id);
    }
    return status;
}

static gt_status try_known(gt_work *w, int most, double nearby, const gt_measurements *measured)
{
    gt_measurements others;
    gt_status status = leave_out_known(w->problem, w->served, nearby, measured, &others);
    if (status == GT_OK) {
        status = try_choices(w, most, measured, &others);
        free(others.list);
    }
    return status;
}

gt_status gt_try_expected(gt_work *w, const gt_measurements *stored)
{
    return try_known(w, MOST_CHOICES, NEARBY, stored);
}

gt_status gt_try_choice(gt_work *w, const gt_measurements *stored)
{
    return try_known(w, 1, -1, stored);
}
