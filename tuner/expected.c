/* The library's own choice, put to the test. */
#include "../src/runtime/neighbours.h"
#include "../src/runtime/select.h"
#include "work.h"

/* Choices that are tried on a problem, one after the other: each corrects the estimate that the next one is made by. */
#define MOST_CHOICES 4

/* Squared distance of sizes that are taken for the same: together a factor of two. What was measured that near would
 * make the choice easier than programs do. */
#define NEARBY 0.48

static void leave_out_nearby(const gt_problem *problem, gt_measurements *measured)
{
    size_t kept = 0;
    for (size_t i = 0; i < measured->count; i++)
        if (gt_neighbours_distance2(problem, &measured->list[i].problem) > NEARBY)
            measured->list[kept++] = measured->list[i];
    measured->count = kept;
}

/* What the library would take for the problem if nobody had tuned it nor any size nearby; kernel_id 0 where it has
 * nothing. */
static gt_status find_expected(const gt_work *w, gt_known *expected)
{
    const gt_demands demands = {0};
    gt_measurements measured;
    gt_selection selection;
    gt_status status = gt_store_find_measured(w->engine->store, &w->engine->device, &w->problem->class, &measured);
    *expected = (gt_known){0};
    if (status != GT_OK)
        return status;
    leave_out_nearby(w->problem, &measured);
    status = gt_select(&w->engine->device, w->problem, &demands, &measured, &selection);
    if (status == GT_OK) {
        const gt_measured *row = &measured.list[selection.index];
        *expected = (gt_known){row->kernel_id, *row->kernel, row->trial};
    }
    gt_measurements_finish(&measured);
    return status == GT_ERROR_NOT_TUNED ? GT_OK : status;
}

/* A stored kernel, proved right and timed on the problem. */
static gt_status try_stored(gt_work *w, gt_known *stored)
{
    gt_engine *engine = w->engine;
    const gt_try_terms terms = {.seed = engine->options.check_seed, .time_it = true, .best_us = w->best_us};
    gt_code code = {0};
    gt_status status = gt_store_find_code(engine->store, stored->kernel_id, &code);
    const gt_contestant contestant = {&stored->kernel, &code};
    if (status == GT_OK)
        status = gt_worker_try(engine->worker, w->problem, &contestant, &terms, &stored->trial);
    if (status == GT_OK)
        status = gt_store_put_trial(engine->store, engine->run, engine->gpu, w->problem_id, &stored->kernel, NULL,
                                    &stored->trial);
    gt_code_finish(&code);
    if (status == GT_OK) {
        w->tuned->tried++;
        gt_work_note(w, &stored->kernel, &stored->trial, true);
    }
    return status;
}

gt_status gt_try_expected(gt_work *w)
{
    gt_status status = GT_OK;
    for (int i = 0; status == GT_OK && i < MOST_CHOICES && !gt_work_out_of_time(w); i++) {
        gt_known expected;
        gt_trial before;
        bool tried = false;
        status = find_expected(w, &expected);
        if (status == GT_OK && expected.kernel_id != 0)
            status = gt_store_find_trial(w->engine->store, w->engine->gpu, w->problem_id, &expected.kernel, &tried,
                                         &before);
        if (status != GT_OK || expected.kernel_id == 0 || tried)
            break;
        status = try_stored(w, &expected);
    }
    return status == GT_ERROR_CORRUPT ? GT_OK : status; /* damaged code is the library's to tell of */
}
