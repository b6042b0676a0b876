#include "chosen.h"

#include <stdio.h>

#include "../../src/core/status.h"
#include "options.h"

/* The best kernel of one database for a problem, or what it would be if nobody had tuned that, with its code. */
static gt_status choose_from(const gt_engine *engine, gt_store *store, gt_store *other, const gt_problem *problem,
                             bool untuned, gt_chosen *chosen, gt_code *code)
{
    gt_measurements measured = {0};
    char db[GT_OPTIONS_DB];
    const gt_demands demands = {.db_option = gt_options_db(engine->options.database, db)};
    gt_status status = gt_store_find_measured(store, &engine->device, &problem->class, &measured);
    if (status == GT_OK && other)
        status = gt_measurements_drop_convicted(&measured, other, &engine->device);
    if (status == GT_OK && untuned)
        chosen->tuned_us = gt_measurements_leave_out(&measured, problem);
    if (status == GT_OK)
        status = gt_select(&engine->device, problem, &demands, &measured, &chosen->selection);
    if (status == GT_OK) {
        chosen->kernel = gt_selection_kernel(&measured, &chosen->selection);
        const gt_measured *row = &measured.list[chosen->selection.index];
        status = gt_store_find_code(store, row->kernel_id, row->kernel, code);
    }
    gt_measurements_finish(&measured);
    return status;
}

/* The same of both databases. */
static gt_status choose_among(const gt_engine *engine, const gt_problem *problem, bool untuned, gt_chosen *chosen,
                              gt_code *code)
{
    gt_chosen behind = {0};
    gt_code other = {0};
    *chosen = behind;
    gt_status status = choose_from(engine, engine->store, engine->behind, problem, untuned, chosen, code);
    if (!engine->behind || (status == GT_OK && chosen->selection.choice == GT_CHOICE_EXACT) ||
        (status != GT_OK && status != GT_ERROR_NOT_TUNED && status != GT_ERROR_CORRUPT))
        return status;
    const gt_status found = choose_from(engine, engine->behind, engine->store, problem, untuned, &behind, &other);
    if (found == GT_OK && (status != GT_OK || behind.selection.choice < chosen->selection.choice)) {
        gt_code_finish(code);
        *code = other;
        *chosen = behind;
        return GT_OK;
    }
    gt_code_finish(&other);
    return status;
}

gt_status gt_chosen_find(const gt_engine *engine, const gt_problem *problem, bool untuned, gt_chosen *chosen,
                         gt_code *code)
{
    const gt_status status = choose_among(engine, problem, untuned, chosen, code);
    gt_problem served = *problem;
    gt_chosen other;
    gt_code others = {0};
    char message[512];
    const gt_math math = problem->class.math;
    served.class.math = gt_math_served_by(math);
    if (served.class.math == math || (status != GT_OK && status != GT_ERROR_NOT_TUNED) ||
        (status == GT_OK && chosen->selection.choice == GT_CHOICE_EXACT))
        return status;
    snprintf(message, sizeof message, "%s", gt_error_message());
    const gt_status found = choose_among(engine, &served, untuned, &other, &others);
    if (found == GT_OK && (status != GT_OK || gt_selection_serves(&other.selection, &chosen->selection, math))) {
        gt_code_finish(code);
        *code = others;
        other.tuned_us = chosen->tuned_us;
        *chosen = other;
        return GT_OK;
    }
    gt_code_finish(&others);
    return status == GT_OK ? GT_OK : gt_fail(status, "%s", message);
}
