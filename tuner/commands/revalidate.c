/* gemmtune revalidate: winners that were proved under another driver, compiler, gemmtune or clock, or rendered from another
 * template, are proved and raced again. */
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "output.h"
#include "../engine/stale.h"
#include "../engine/tune.h"
#include "../worker/clock.h"

static const gt_column columns[] = {
    {"problem", GT_LEFT},   {"proved under", GT_LEFT}, {"was us", GT_RIGHT}, {"us", GT_RIGHT},    {"change %", GT_RIGHT},
    {"was MHz", GT_RIGHT}, {"MHz", GT_RIGHT},         {"winner", GT_LEFT},  {"configuration", GT_LEFT},
};

static gt_status find_stale(const gt_engine *engine, const gt_options_cli *options, gt_stales *stales)
{
    gt_stale_terms terms = {.device = &engine->device, .families = &engine->families, .types = options->type_list,
                            .type_count = options->type_count, .all = options->all};
    const gt_status status = gt_store_find_conditions(engine->store, engine->run, &terms.now);
    terms.now.clock_mhz = gt_clock_awake_mhz(engine->driver, &engine->device);
    return status == GT_OK ? gt_stales_find(engine->store, &terms, stales) : status;
}

static void print_clock(gt_table *table, double mhz)
{
    if (mhz > 0)
        gt_table_number(table, "%.0f", mhz);
    else
        gt_table_none(table);
}

static void print_row(gt_table *table, const gt_stale *was, const gt_tuned *now)
{
    char name[GT_PROBLEM_NAME_LENGTH], params[GT_PARAMS_TEXT];
    const bool same = now->won && strcmp(now->kernel.source_hash, was->kernel.source_hash) == 0;
    gt_problem_name(&was->problem, name);
    gt_table_text(table, name);
    gt_table_text(table, *was->why ? was->why : "the same");
    gt_table_number(table, "%.2f", was->trial.us);
    if (!now->won) {
        for (int i = 0; i < 4; i++)
            gt_table_none(table);
        gt_table_text(table, now->missed > 0 ? "the machine failed: try again" : "none is right: tune again");
        gt_table_none(table);
        return;
    }
    gt_table_number(table, "%.2f", now->trial.us);
    gt_table_number(table, "%+.1f", 100 * (now->trial.us / was->trial.us - 1));
    print_clock(table, was->trial.clock_mhz);
    print_clock(table, now->trial.clock_mhz);
    gt_table_text(table, same ? "kept" : "replaced");
    char text[GT_FAMILY_LENGTH + GT_PARAMS_TEXT + 2];
    snprintf(text, sizeof text, "%s %s", now->kernel.family, gt_params_text(&now->kernel.params, params));
    gt_table_text(table, text);
}

/* Goes over them until all are done or the budget is spent. *done counts. */
static gt_status run(gt_engine *engine, const gt_options_cli *options, const gt_stales *s, gt_table *table, size_t *done,
                     size_t *lost)
{
    gt_tuning tuning = {.engine = engine, .progress = gt_progress_create(options->quiet), .revalidating = true,
                        .verbose = options->verbose, .state = {.steps = (int)s->count, .budget = options->budget_s}};
    gt_status status = GT_OK;
    for (; status == GT_OK && *done < s->count && !gt_engine_interrupted(); ++*done) {
        gt_tuned now;
        if (options->budget_s > 0 && gt_engine_elapsed(engine) >= options->budget_s)
            break;
        tuning.state.step = (int)*done;
        status = gt_tune(&tuning, &s->list[*done].problem, &now);
        if (status != GT_OK || (gt_engine_interrupted() && !now.won))
            break;
        *lost += !now.won;
        print_row(table, &s->list[*done], &now);
    }
    gt_progress_destroy(tuning.progress);
    return status;
}

int gt_cmd_revalidate(const gt_options_cli *options)
{
    gt_engine engine;
    gt_stales s = {0};
    size_t done = 0, lost = 0;
    const gt_engine_options engine_options = gt_options_engine(options);
    if (gt_store_find(options->database) != GT_OK)
        return gt_print_failure();
    gt_table *table = gt_table_create(stdout, options->json, columns, sizeof columns / sizeof columns[0]);
    gt_status status = gt_engine_open(&engine_options, GT_ENGINE_WRITE, &engine);
    if (status == GT_OK)
        status = find_stale(&engine, options, &s);
    if (status == GT_OK)
        status = run(&engine, options, &s, table, &done, &lost);
    const int code = status == GT_OK ? lost > 0 : gt_print_failure();
    gt_table_finish(table);
    if (status == GT_OK && !options->quiet && s.count == 0)
        gt_print_note("%zu winners, all proved under the conditions of now", s.winners);
    else if (status == GT_OK && !options->quiet)
        gt_print_note("%zu of %zu winners were proved under other conditions; %zu revalidated%s", s.stale, s.winners,
                      done, done < s.count ? ", the rest is for the next run" : "");
    gt_engine_close(&engine, status != GT_OK            ? "failed"
                             : gt_engine_interrupted() ? "interrupted"
                             : done < s.count          ? "budget"
                                                       : "done");
    gt_stales_finish(&s);
    return gt_engine_interrupted() ? 130 : code;
}
