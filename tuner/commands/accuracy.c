/* gemmtune bench --errors: what results err by, on several kinds of data, beside cuBLAS. */
#include "accuracy.h"

#include <stdio.h>

#include "../../src/core/bound.h"
#include "../../src/core/status.h"
#include "chosen.h"
#include "entries.h"
#include "output.h"

typedef struct entry {
    gt_problem problem;
    gt_chosen chosen;
    gt_accuracy ours[GT_DATA_KINDS], cublas[GT_DATA_KINDS];
} entry;

static gt_status measure(gt_engine *engine, const gt_options_cli *options, void *item)
{
    (void)options;
    entry *e = item;
    gt_code code = {0};
    gt_status status = gt_chosen_find(engine, &e->problem, false, &e->chosen, &code);
    const gt_contestant contestant = {&e->chosen.kernel, &code};
    for (int kind = 0; status == GT_OK && kind < GT_DATA_KINDS; kind++) {
        const gt_accuracy_terms terms = {.seed = engine->options.check_seed,
                                         .kind = (gt_data_kind)kind,
                                         .baseline = engine->options.baselines & GT_BASELINE_BIT(GT_BASELINE_CUBLAS)};
        status = gt_worker_accuracy(engine->worker, &e->problem, &contestant, &terms, &e->ours[kind], &e->cublas[kind]);
    }
    gt_code_finish(&code);
    return status;
}

static void put_accuracy(gt_table *table, const gt_accuracy *accuracy)
{
    if (accuracy->trial.outcome == GT_TRIAL_OK) {
        gt_table_number(table, "%.1e", accuracy->largest);
        gt_table_number(table, "%.1e", accuracy->rms);
    } else {
        gt_table_none(table);
        gt_table_none(table);
    }
}

static void print_table(const gt_options_cli *options, const entry *entries, size_t count)
{
    static const gt_column columns[] = {
        {"type", GT_LEFT},   {"shape", GT_LEFT},           {"data", GT_LEFT},
        {"family", GT_LEFT}, {"bound", GT_RIGHT},          {"largest", GT_RIGHT},
        {"rms", GT_RIGHT},   {"cuBLAS largest", GT_RIGHT}, {"cuBLAS rms", GT_RIGHT},
    };
    gt_table *table = gt_table_create(stdout, options->json, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < count * GT_DATA_KINDS; i++) {
        const entry *e = &entries[i / GT_DATA_KINDS];
        const int kind = (int)(i % GT_DATA_KINDS);
        const gt_types *types = gt_class_types(&e->problem.class);
        char shape[GT_OPTIONS_SHAPE], text[GT_TYPES_TEXT];
        if (kind == 0 && i > 0)
            gt_table_rule(table);
        gt_options_shape(options, &e->problem, shape);
        gt_table_text(table, gt_types_text(types, text));
        gt_table_text(table, shape);
        gt_table_text(table, gt_data_name((gt_data_kind)kind));
        gt_table_text(table, e->chosen.kernel.family);
        gt_table_number(table, "%.1e", gt_error_bound(types, &e->chosen.kernel.facts, e->problem.k));
        put_accuracy(table, &e->ours[kind]);
        put_accuracy(table, &e->cublas[kind]);
    }
    gt_table_finish(table);
    if (!options->json)
        printf(
            "\nerrors of elements over their sums of |a||b|, against f64, in up to 64 rows; bound: what is proved\n");
}

/* Tells of what did not run, and of errors beyond what is proved. The number of these. */
static int tell_failures(const gt_options_cli *options, const entry *entries, size_t count)
{
    int wrong = 0;
    for (size_t i = 0; i < count * GT_DATA_KINDS; i++) {
        const entry *e = &entries[i / GT_DATA_KINDS];
        const gt_accuracy *ours = &e->ours[i % GT_DATA_KINDS];
        const double bound = gt_error_bound(gt_class_types(&e->problem.class), &e->chosen.kernel.facts, e->problem.k);
        char shape[GT_OPTIONS_SHAPE], params[GT_PARAMS_TEXT];
        const bool ran = ours->trial.outcome == GT_TRIAL_OK;
        if (ran && ours->largest <= bound)
            continue;
        wrong++;
        gt_options_shape(options, &e->problem, shape);
        fprintf(stderr, "gemmtune: %s %s on %s: ", e->chosen.kernel.family,
                gt_params_text(&e->chosen.kernel.params, params), shape);
        if (ran)
            fprintf(stderr, "an error of %.2g is beyond the bound of %.2g\n", ours->largest, bound);
        else
            fprintf(stderr, "%s\n", ours->trial.detail);
    }
    if (count > 0 && !options->no_cublas && !options->quiet && entries[0].cublas[0].trial.outcome != GT_TRIAL_OK)
        gt_print_note("no errors of cuBLAS: %s", entries[0].cublas[0].trial.detail);
    return wrong;
}

static gt_status check_types(const gt_options_cli *options)
{
    for (size_t i = 0; i < options->type_count; i++)
        if (!gt_accuracy_offered(options->type_list[i]))
            return gt_fail(GT_ERROR_UNSUPPORTED, "--errors takes types with the range of f32, not %s",
                           options->type_list[i]->name);
    return GT_OK;
}

int gt_bench_errors(const gt_options_cli *options)
{
    gt_engine engine = {0};
    gt_entries entries = {0};
    size_t count = 0;
    const gt_engine_options engine_options = gt_options_engine(options);
    gt_status status = check_types(options);
    if (status == GT_OK)
        status = gt_engine_open(&engine_options, GT_ENGINE_READ, &engine);
    if (status == GT_OK)
        status = gt_entries_init(options, sizeof(entry), &entries);
    if (status == GT_OK)
        status = gt_entries_run(&entries, &engine, options, measure, &count);
    int code = status == GT_OK ? 0 : gt_print_failure();
    if (count > 0)
        print_table(options, entries.list, count);
    if (tell_failures(options, entries.list, count) > 0)
        code = 1;
    gt_engine_close(&engine, "done");
    gt_entries_finish(&entries);
    return gt_engine_interrupted() ? 130 : code;
}
