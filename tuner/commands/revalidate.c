/* gemmtune revalidate: winners that were proved under another driver, compiler or gemmtune are proved and raced
 * again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"
#include "options.h"
#include "output.h"
#include "../tune.h"

static const gt_column columns[] = {
    {"problem", GT_LEFT}, {"proved under", GT_LEFT}, {"was us", GT_RIGHT},      {"us", GT_RIGHT},
    {"change %", GT_RIGHT}, {"winner", GT_LEFT},     {"configuration", GT_LEFT},
};

/* A winner of before. */
typedef struct stale {
    gt_problem problem;
    gt_kernel kernel;
    double us;
    double use; /* us that programs' calls of it took in all, as far as somebody counted */
    char why[GT_CONDITIONS_TEXT];
} stale;

typedef struct stales {
    stale *list;
    size_t count, room, winners; /* winners: of all, how many there are */
} stales;

static gt_status add(stales *s, const gt_measured *row, const char *why)
{
    if (s->count == s->room) {
        const size_t room = s->room ? 2 * s->room : 64;
        stale *list = realloc(s->list, room * sizeof *list);
        if (!list)
            return gt_fail_memory();
        s->list = list;
        s->room = room;
    }
    stale *at = &s->list[s->count++];
    *at = (stale){.problem = row->problem, .kernel = *row->kernel, .us = row->trial.us};
    memcpy(at->why, why, GT_CONDITIONS_TEXT);
    return GT_OK;
}

/* Winners of one class that are stale, or with --all any. */
static gt_status find_in(gt_engine *engine, const gt_options_cli *options, const gt_conditions *now, stales *s)
{
    gt_problem any;
    gt_measurements measured;
    gt_status status = gt_options_problem(options, &(gt_shape){64, 64, 64}, &any);
    if (status == GT_OK)
        status = gt_store_find_measured(engine->store, &engine->device, &any.class, &measured);
    if (status != GT_OK)
        return status;
    for (size_t i = 0; status == GT_OK && i < measured.count; i++) {
        const gt_measured *row = &measured.list[i];
        gt_conditions then;
        char why[GT_CONDITIONS_TEXT];
        if (!row->winner || !row->same_gpu)
            continue;
        s->winners++;
        status = gt_store_find_conditions(engine->store, row->run, &then);
        if (status == GT_OK && (*gt_conditions_compare(&then, now, why) || options->all))
            status = add(s, row, why);
    }
    gt_measurements_finish(&measured);
    return status;
}

static int take_use(void *data, int count, const char *const *names, const char *const *values)
{
    (void)count, (void)names;
    *(double *)data = values[0] ? strtod(values[0], NULL) : 0;
    return 1;
}

static gt_status find_use(gt_store *store, stale *s)
{
    static const char sql[] =
        "SELECT sum(w.calls * w.us) FROM wanted w JOIN problem p ON p.id = w.problem WHERE p.type = ?1"
        " AND p.math = ?2 AND p.layout = ?3 AND p.m = ?4 AND p.n = ?5 AND p.k = ?6 AND p.batch = ?7";
    const int64_t numbers[] = {s->problem.m, s->problem.n, s->problem.k, s->problem.batch};
    char texts[4][24];
    for (int i = 0; i < 4; i++)
        snprintf(texts[i], sizeof texts[i], "%lld", (long long)numbers[i]);
    const char *const parameters[] = {gt_class_types(&s->problem.class)->name, gt_math_name(s->problem.class.math),
                                      gt_class_layout(&s->problem.class), texts[0], texts[1], texts[2], texts[3], NULL};
    return gt_store_query(store, sql, parameters, take_use, &s->use);
}

/* What programs spend most time in comes first, then what takes longest: a budget goes where most is to be had. */
static int by_use(const void *a, const void *b)
{
    const stale *x = a, *y = b;
    return x->use != y->use ? (x->use < y->use) - (x->use > y->use) : (x->us < y->us) - (x->us > y->us);
}

static gt_status find_stale(gt_engine *engine, const gt_options_cli *given, stales *s)
{
    static const gt_op ops[] = {GT_N, GT_T};
    gt_options_cli options = *given;
    gt_conditions now;
    gt_status status = gt_store_find_conditions(engine->store, engine->run, &now);
    for (size_t i = 0; status == GT_OK && i < 4 * given->type_count; i++) {
        options.types = given->type_list[i / 4];
        options.op_a = ops[i / 2 % 2];
        options.op_b = ops[i % 2];
        status = find_in(engine, &options, &now, s);
    }
    for (size_t i = 0; status == GT_OK && i < s->count; i++)
        status = find_use(engine->store, &s->list[i]);
    qsort(s->list, s->count, sizeof *s->list, by_use);
    return status;
}

static void print_row(gt_table *table, const stale *was, const gt_tuned *now)
{
    char name[GT_PROBLEM_NAME_LENGTH], params[GT_PARAMS_TEXT];
    const bool same = now->won && strcmp(now->kernel.source_hash, was->kernel.source_hash) == 0;
    gt_problem_name(&was->problem, name);
    gt_table_text(table, name);
    gt_table_text(table, *was->why ? was->why : "the same");
    gt_table_number(table, "%.2f", was->us);
    if (!now->won) {
        gt_table_none(table);
        gt_table_none(table);
        gt_table_text(table, "none is right: tune again");
        gt_table_none(table);
        return;
    }
    gt_table_number(table, "%.2f", now->trial.us);
    gt_table_number(table, "%+.1f", 100 * (now->trial.us / was->us - 1));
    gt_table_text(table, same ? "kept" : "replaced");
    char text[GT_FAMILY_LENGTH + GT_PARAMS_TEXT + 2];
    snprintf(text, sizeof text, "%s %s", now->kernel.family, gt_params_text(&now->kernel.params, params));
    gt_table_text(table, text);
}

/* Goes over them until all are done or the budget is spent. *done counts. */
static gt_status run(gt_engine *engine, const gt_options_cli *options, const stales *s, gt_table *table, size_t *done,
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
    gt_rejections_finish(&tuning.rejections);
    return status;
}

int gt_cmd_revalidate(const gt_options_cli *options)
{
    gt_engine engine;
    stales s = {0};
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
        gt_print_note("%zu of %zu winners were proved under other conditions; %zu revalidated%s", s.count, s.winners,
                      done, done < s.count ? ", the rest is for the next run" : "");
    gt_engine_close(&engine, status != GT_OK            ? "failed"
                             : gt_engine_interrupted() ? "interrupted"
                             : done < s.count          ? "budget"
                                                       : "done");
    free(s.list);
    return gt_engine_interrupted() ? 130 : code;
}
