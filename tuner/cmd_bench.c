/* gemmtune bench: the stored kernels against cuBLAS, interleaved in one run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../src/select.h"
#include "../src/status.h"
#include "engine.h"
#include "output.h"
#include "progress.h"

#define RACE_SECONDS 1.0

/* One shape's race. */
typedef struct entry {
    gt_problem problem;
    gt_kernel kernel;
    gt_selection selection;
    gt_trial ours, cublas;
    char cublas_version[16];
} entry;

/* The kernel an application would get for this problem, with its code. */
static gt_status choose(gt_engine *engine, entry *e, gt_code *code)
{
    gt_measured *list = NULL;
    size_t count;
    const gt_demands demands = {0};
    gt_status status = gt_store_find_measured(engine->store, &engine->device, &e->problem, &list, &count);
    if (status == GT_OK)
        status = gt_select(&engine->device, &e->problem, &demands, list, count, &e->selection);
    if (status == GT_OK) {
        e->kernel = list[e->selection.index].kernel;
        status = gt_store_find_code(engine->store, list[e->selection.index].kernel_id, code);
    }
    free(list);
    return status;
}

static gt_status bench_one(gt_engine *engine, const gt_shape *shape, entry *e)
{
    gt_code code = {0};
    const bool with_cublas = !engine->options->no_cublas;
    gt_status status = gt_options_problem(engine->options, shape, &e->problem);
    if (status == GT_OK)
        status = choose(engine, e, &code);
    if (status == GT_OK) {
        const gt_contestant contestant = {&e->kernel, &code};
        /* Stored results are not believed: a kernel is proved right here before it is timed. */
        status = gt_worker_try(engine->worker, &e->problem, &contestant, 0, false, &e->ours);
        if (status == GT_OK && e->ours.outcome == GT_TRIAL_OK)
            status = gt_worker_race(engine->worker, &e->problem, &contestant, 1, RACE_SECONDS, &e->ours,
                                    with_cublas ? &e->cublas : NULL, e->cublas_version);
    }
    gt_code_finish(&code);
    return status;
}

static const gt_column columns[] = {
    {"shape", GT_LEFT},       {"family", GT_LEFT},   {"configuration", GT_LEFT}, {"choice", GT_LEFT},
    {"us", GT_RIGHT},         {"TFLOPS", GT_RIGHT},  {"cuBLAS us", GT_RIGHT},    {"cuBLAS TFLOPS", GT_RIGHT},
    {"vs cuBLAS", GT_RIGHT},  {"cold us", GT_RIGHT}, {"cuBLAS cold us", GT_RIGHT},
};

static void number_or_none(gt_table *table, const char *format, double value, bool there)
{
    if (there && value > 0)
        gt_table_number(table, format, value);
    else
        gt_table_none(table);
}

static void print_row(gt_table *table, const entry *e)
{
    static const char *const choices[] = {"exact", "predicted", "fallback"};
    const double flops = gt_problem_flops(&e->problem) * 1e-6;
    const bool ok = e->ours.outcome == GT_TRIAL_OK, rival = e->cublas.outcome == GT_TRIAL_OK && e->cublas.us > 0;
    char shape[GT_SHAPE_LENGTH];
    gt_shape_name(e->problem.m, e->problem.n, e->problem.k, shape);
    gt_table_text(table, shape);
    gt_table_text(table, e->kernel.family);
    gt_table_text(table, e->kernel.params);
    gt_table_text(table, choices[e->selection.choice]);
    number_or_none(table, "%.1f", e->ours.us, ok);
    number_or_none(table, "%.2f", ok && e->ours.us > 0 ? flops / e->ours.us : 0, ok);
    number_or_none(table, "%.1f", e->cublas.us, rival);
    number_or_none(table, "%.2f", rival ? flops / e->cublas.us : 0, rival);
    number_or_none(table, "%.3f", ok && rival ? e->cublas.us / e->ours.us : 0, ok && rival);
    number_or_none(table, "%.1f", e->ours.us_cold, ok);
    number_or_none(table, "%.1f", e->cublas.us_cold, rival);
}

static int print_all(const gt_engine *engine, const entry *entries, size_t count)
{
    double logs = 0;
    int rated = 0, wrong = 0;
    gt_table *table = gt_table_create(stdout, engine->options->json, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < count; i++) {
        const entry *e = &entries[i];
        print_row(table, e);
        if (e->ours.outcome != GT_TRIAL_OK)
            wrong++;
        else if (e->cublas.outcome == GT_TRIAL_OK && e->cublas.us > 0) {
            logs += log(e->cublas.us / e->ours.us);
            rated++;
        }
    }
    gt_table_finish(table);
    if (rated > 0)
        fprintf(stderr, "geometric mean over %d shapes: %.3f of cuBLAS\n", rated, exp(logs / rated));
    for (size_t i = 0; i < count; i++)
        if (entries[i].ours.outcome != GT_TRIAL_OK)
            fprintf(stderr, "gemmtune: %s %s: %s\n", entries[i].kernel.family, entries[i].kernel.params,
                    entries[i].ours.detail);
    return wrong > 0;
}

int gt_cmd_bench(const gt_options_cli *options)
{
    gt_engine engine;
    size_t done = 0;
    int code = 0;
    entry *entries = calloc(options->shapes.count, sizeof *entries);
    gt_status status = entries ? gt_engine_open(options, GT_ENGINE_READ, &engine) : gt_fail_memory();
    gt_progress *progress = gt_progress_create(options->quiet);
    for (; status == GT_OK && done < options->shapes.count && !gt_engine_interrupted(); done++) {
        char name[GT_SHAPE_LENGTH];
        const gt_shape *shape = &options->shapes.list[done];
        gt_shape_name(shape->m, shape->n, shape->k, name);
        const gt_progress_state state = {.step = (int)done, .steps = (int)options->shapes.count, .what = name,
                                         .elapsed = gt_engine_elapsed(&engine)};
        gt_progress_update(progress, &state);
        if ((status = bench_one(&engine, shape, &entries[done])) != GT_OK)
            break;
    }
    gt_progress_destroy(progress);
    if (status != GT_OK)
        code = gt_print_failure();
    if (done > 0 && print_all(&engine, entries, done) != 0)
        code = 1;
    if (entries)
        gt_engine_close(&engine, "done");
    free(entries);
    return gt_engine_interrupted() ? 130 : code;
}
