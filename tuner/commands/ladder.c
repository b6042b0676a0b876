/* gemmtune ladder: every technique from the naive kernel to the tensor core, on this GPU. Nothing is stored. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"
#include "options.h"
#include "output.h"
#include "../progress.h"

#define CUBLAS_SECONDS 0.3

/* One technique on one problem, with the fastest of its configurations. */
typedef struct rung {
    int64_t order;
    char technique[64];
    const gt_types *types;
    gt_kernel kernel;
    gt_trial trial; /* of the fastest; of the last failure if none passed */
    double cublas_us;
} rung;

typedef struct ladder {
    const gt_options_cli *options;
    gt_engine *engine;
    gt_progress *progress;
    gt_progress_state state;
    rung *rungs; /* of the current size */
    size_t count;
} ladder;

static rung *find_rung(ladder *l, const gt_space *space, size_t row, const gt_types *types)
{
    const int64_t order = gt_space_value(space, row, "rung", 0);
    const char *technique = space->techniques ? space->techniques[row] : space->family->name;
    for (size_t i = 0; i < l->count; i++)
        if (l->rungs[i].order == order && strcmp(l->rungs[i].technique, technique) == 0)
            return &l->rungs[i];
    rung *rungs = realloc(l->rungs, (l->count + 1) * sizeof *rungs);
    if (!rungs)
        return NULL;
    l->rungs = rungs;
    rung *r = &rungs[l->count++];
    *r = (rung){.order = order, .types = types, .trial.outcome = GT_TRIAL_COMPILE_ERROR};
    snprintf(r->technique, sizeof r->technique, "%s", technique);
    return r;
}

/* Tries one configuration; the rung keeps the fastest. */
static gt_status climb(ladder *l, const gt_problem *problem, const gt_space *space, size_t row)
{
    gt_kernel kernel;
    gt_trial trial = {.outcome = GT_TRIAL_COMPILE_ERROR};
    const gt_code *code;
    rung *r = find_rung(l, space, row, gt_class_types(&problem->class));
    if (!r)
        return gt_fail_memory();
    gt_status status = gt_space_kernel(space, row, &l->engine->device, &kernel);
    if (status == GT_OK)
        status = gt_engine_code(l->engine, &problem->class, &kernel, &code);
    if (status == GT_ERROR_COMPILE) {
        snprintf(trial.detail, sizeof trial.detail, "%s", gt_error_message());
        status = GT_OK;
    } else if (status == GT_OK) {
        const gt_contestant contestant = {&kernel, code};
        status = gt_worker_try(l->engine->worker, problem, &contestant, r->trial.us, true, &trial);
    }
    if (status != GT_OK)
        return status;
    const bool passed = trial.outcome == GT_TRIAL_OK, before = r->trial.outcome == GT_TRIAL_OK;
    if (passed ? !before || trial.us < r->trial.us : !before) {
        r->kernel = kernel;
        r->trial = trial;
    }
    l->state.done++;
    l->state.elapsed = gt_engine_elapsed(l->engine);
    gt_progress_update(l->progress, &l->state);
    return GT_OK;
}

/* Whether a family's rung has been climbed in other types: those stand for it. */
static bool stands(const ladder *l, const gt_space *space, const gt_types *types)
{
    for (size_t i = 0; space->rows > 0 && i < l->count; i++)
        if (l->rungs[i].types != types && l->rungs[i].order == gt_space_value(space, 0, "rung", 0))
            return true;
    return false;
}

/* All rungs of one element type; then cuBLAS beside the fastest of them. */
static gt_status climb_all(ladder *l, const gt_shape *shape, const gt_types *types)
{
    gt_options_cli options = *l->options;
    gt_problem problem;
    gt_status status;
    options.types = types;
    if ((status = gt_options_problem(&options, shape, &problem)) != GT_OK)
        return status;
    for (size_t f = 0; status == GT_OK && f < l->engine->families.count; f++) {
        const gt_family *family = &l->engine->families.list[f];
        gt_space space;
        if (options.family && strcmp(options.family, family->name) != 0)
            continue;
        if ((status = gt_space_init(family, &l->engine->device, &problem, &space)) != GT_OK)
            return status;
        if (gt_space_column(&space, "rung") >= 0 && !stands(l, &space, types)) {
            l->state.total += (int)space.rows;
            for (size_t row = 0; status == GT_OK && row < space.rows && !gt_engine_interrupted(); row++) {
                gt_kernel kernel;
                if (gt_space_kernel(&space, row, &l->engine->device, &kernel) == GT_OK)
                    gt_engine_prepare(l->engine, &problem.class, &kernel, true); /* the rest compiles meanwhile */
            }
            for (size_t row = 0; status == GT_OK && row < space.rows && !gt_engine_interrupted(); row++)
                status = climb(l, &problem, &space, row);
        }
        gt_space_finish(&space);
    }
    if (status != GT_OK || options.no_cublas)
        return status;
    gt_baseline baselines[GT_BASELINE_COUNT];
    const gt_race_terms terms = {.seconds = CUBLAS_SECONDS, .baselines = GT_BASELINE_BIT(GT_BASELINE_CUBLAS)};
    status = gt_worker_race(l->engine->worker, &problem, NULL, 0, &terms, NULL, baselines);
    for (size_t i = 0; status == GT_OK && i < l->count; i++)
        if (l->rungs[i].types == types && baselines[GT_BASELINE_CUBLAS].trial.outcome == GT_TRIAL_OK)
            l->rungs[i].cublas_us = baselines[GT_BASELINE_CUBLAS].trial.us;
    return status;
}

static int by_order(const void *a, const void *b)
{
    const rung *x = a, *y = b;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return strcmp(x->technique, y->technique);
}

static const gt_column columns[] = {
    {"size", GT_RIGHT},     {"rung", GT_RIGHT},     {"technique", GT_LEFT},  {"type", GT_LEFT},
    {"GFLOPS", GT_RIGHT},   {"peak %", GT_RIGHT},   {"x naive", GT_RIGHT},   {"vs cuBLAS", GT_RIGHT},
    {"configuration", GT_LEFT},
};

static void print_size(ladder *l, gt_table *table, const gt_shape *shape)
{
    const double flops = 2.0 * (double)shape->m * (double)shape->n * (double)shape->k;
    double naive_us = 0;
    char size[GT_SHAPE_LENGTH], params[GT_PARAMS_TEXT];
    qsort(l->rungs, l->count, sizeof *l->rungs, by_order);
    if (shape->m == shape->n && shape->n == shape->k)
        snprintf(size, sizeof size, "%lld", (long long)shape->m);
    else
        gt_shape_name(shape->m, shape->n, shape->k, size);
    for (size_t i = 0; i < l->count; i++) {
        const rung *r = &l->rungs[i];
        const double peak = gt_device_peak_tflops(&l->engine->device, r->types);
        const bool ok = r->trial.outcome == GT_TRIAL_OK && r->trial.us > 0;
        if (i == 0 && ok)
            naive_us = r->trial.us;
        gt_table_text(table, size);
        gt_table_integer(table, r->order);
        gt_table_text(table, r->technique);
        gt_table_text(table, r->types->name);
        if (ok) {
            gt_table_number(table, "%.1f", flops / r->trial.us * 1e-3);
            gt_table_number(table, "%.2f", peak > 0 ? flops / r->trial.us * 1e-6 / peak * 100 : 0);
        } else {
            gt_table_none(table);
            gt_table_none(table);
        }
        if (ok && naive_us > 0)
            gt_table_number(table, "%.2f", naive_us / r->trial.us);
        else
            gt_table_none(table);
        if (ok && r->cublas_us > 0)
            gt_table_number(table, "%.3f", r->cublas_us / r->trial.us);
        else
            gt_table_none(table);
        gt_table_text(table, ok ? gt_params_text(&r->kernel.params, params) : r->trial.detail);
    }
    gt_table_rule(table);
}

int gt_cmd_ladder(const gt_options_cli *options)
{
    gt_engine engine;
    int code = 0;
    const gt_engine_options engine_options = gt_options_engine(options);
    gt_status status = gt_engine_open(&engine_options, GT_ENGINE_NO_STORE, &engine);
    ladder l = {.options = options, .engine = &engine, .progress = gt_progress_create(options->quiet)};
    gt_table *table = gt_table_create(stdout, options->json, columns, sizeof columns / sizeof columns[0]);
    l.state.steps = (int)options->shapes.count;
    for (size_t i = 0; status == GT_OK && i < options->shapes.count && !gt_engine_interrupted(); i++) {
        const gt_shape *shape = &options->shapes.list[i];
        char name[GT_SHAPE_LENGTH];
        gt_shape_name(shape->m, shape->n, shape->k, name);
        l.count = 0;
        l.state.step = (int)i;
        l.state.done = l.state.total = 0;
        l.state.what = name;
        status = climb_all(&l, shape, options->types);
        /* The last rung takes f16 and gives f32: it stands on the ladder of f32. */
        if (status == GT_OK && options->types == gt_types_parse("f32", GT_MATH_STRICT))
            status = climb_all(&l, shape, gt_types_parse("f16_f32", GT_MATH_STRICT));
        if (status == GT_OK)
            print_size(&l, table, shape);
        l.state.what = "";
    }
    gt_progress_destroy(l.progress);
    gt_table_finish(table);
    if (status != GT_OK)
        code = gt_print_failure();
    free(l.rungs);
    gt_engine_close(&engine, "done");
    return gt_engine_interrupted() ? 130 : code;
}
