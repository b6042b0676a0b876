/* gemmtune ladder: every technique from the naive kernel to the tensor core, on this GPU. Nothing is stored. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"
#include "options.h"
#include "output.h"
#include "../progress.h"

#define CUBLAS_SECONDS 0.3

/* A technique of a family that is tuned for production: those of its configurations that have these parameters, the
 * best few by the family's own estimate. */
typedef struct production {
    int64_t order;
    const char *technique, *family;
    bool persistent;
    gt_math math;
    struct {
        const char *name;
        int64_t value;
    } params[7];
} production;

#define MOST_TRIED 3

/* Behind WMMA, in the same types; the last one is f32 again. Hopper's begin with small tiles, each in a block of its own. */
static const production productions[] = {
    {17, "mma.sync, ldmatrix", "mma", true, GT_MATH_STRICT, {{"split_k", 1}}},
    {18, "TMA, wgmma", "wgmma", false, GT_MATH_STRICT,
     {{"warp_groups", 1}, {"bm", 64}, {"swap", 0}, {"cluster_m", 1}, {"cluster_n", 1}, {"cluster_k", 1},
      {"split_k", 1}}},
    {19, "warp-specialised, large tile", "wgmma", false, GT_MATH_STRICT,
     {{"warp_groups", 2}, {"swap", 0}, {"cluster_m", 1}, {"cluster_n", 1}, {"cluster_k", 1}, {"split_k", 1}}},
    {20, "persistent, clusters of two", "wgmma", true, GT_MATH_STRICT,
     {{"swap", 0}, {"cluster_m", 2}, {"cluster_n", 1}, {"cluster_k", 1}, {"split_k", 1}}},
    {21, "operands in two parts of f16", "split", true, GT_MATH_SPLIT, {{"split_k", 1}}},
};

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

static bool is_quick(const ladder *l)
{
    return l->options->effort == GT_EFFORT_QUICK;
}

static rung *find_rung(ladder *l, int64_t order, const char *technique, const gt_types *types)
{
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
static gt_status climb(ladder *l, const gt_problem *problem, rung *r, const gt_kernel *given)
{
    gt_kernel kernel = *given;
    gt_trial trial = {.outcome = GT_TRIAL_COMPILE_ERROR};
    const gt_code *code;
    gt_status status = gt_engine_code(l->engine, &problem->class, &kernel, &code);
    if (status == GT_ERROR_COMPILE) {
        snprintf(trial.detail, sizeof trial.detail, "%s", gt_error_message());
        status = GT_OK;
    } else if (status == GT_OK) {
        const gt_contestant contestant = {&kernel, code};
        const gt_try_terms terms = {
            .seed = l->engine->options.check_seed, .time_it = true, .best_us = r->trial.us};
        status = gt_worker_try(l->engine->worker, problem, &contestant, &terms, &trial);
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

/* All configurations of a family whose space says which rungs they are; quick, the first of each rung that is right. */
static gt_status climb_space(ladder *l, const gt_problem *problem, const gt_space *space)
{
    const gt_types *types = gt_class_types(&problem->class);
    gt_kernel kernel;
    gt_status status = GT_OK;
    l->state.total += (int)space->rows;
    for (size_t row = 0; row < space->rows && !is_quick(l) && !gt_engine_interrupted(); row++)
        if (gt_space_kernel(space, row, &l->engine->device, &kernel) == GT_OK)
            gt_engine_prepare(l->engine, &problem->class, &kernel, true); /* the rest compiles meanwhile */
    for (size_t row = 0; status == GT_OK && row < space->rows && !gt_engine_interrupted(); row++) {
        rung *r = find_rung(l, gt_space_value(space, row, "rung", 0),
                            space->techniques ? space->techniques[row] : space->family->name, types);
        if (!r)
            return gt_fail_memory();
        if (is_quick(l) && r->trial.outcome == GT_TRIAL_OK)
            l->state.total--;
        else if ((status = gt_space_kernel(space, row, &l->engine->device, &kernel)) == GT_OK)
            status = climb(l, problem, r, &kernel);
    }
    return status;
}

/* Whether a family's rung has been climbed in other types: those stand for it. */
static bool stands(const ladder *l, const gt_space *space, const gt_types *types)
{
    for (size_t i = 0; space->rows > 0 && i < l->count; i++)
        if (l->rungs[i].types != types && l->rungs[i].order == gt_space_value(space, 0, "rung", 0))
            return true;
    return false;
}

static bool has_params(const production *p, const gt_space *space, size_t row)
{
    for (size_t i = 0; i < sizeof p->params / sizeof p->params[0] && p->params[i].name; i++)
        if (gt_space_value(space, row, p->params[i].name, INT64_MIN) != p->params[i].value)
            return false;
    return true;
}

/* At most so many rows of a technique, with the least estimates, the least first; returns how many. */
static size_t find_rows(const production *p, const gt_space *space, size_t most, size_t rows[MOST_TRIED])
{
    size_t count = 0;
    for (size_t row = 0; row < space->rows; row++) {
        const int64_t clocks = gt_space_value(space, row, "clocks", 0);
        size_t at = count;
        while (at > 0 && clocks < gt_space_value(space, rows[at - 1], "clocks", 0))
            at--;
        if (at == most || !has_params(p, space, row))
            continue;
        count += count < most;
        memmove(&rows[at + 1], &rows[at], (count - 1 - at) * sizeof *rows);
        rows[at] = row;
    }
    return count;
}

/* A block for each tile instead of a persistent grid. */
static void spread(gt_kernel *kernel)
{
    kernel->facts.blocks = 0;
    for (int64_t i = 0; i < kernel->params.count; i++)
        if (strcmp(kernel->params.list[i].name, "blocks") == 0)
            kernel->params.list[i].value = 0;
}

/* One technique; one that this GPU or this size has nothing for says so. */
static gt_status climb_production(ladder *l, const gt_problem *problem, const production *p)
{
    char name[GT_PROBLEM_NAME_LENGTH];
    const gt_family *family;
    gt_kernel kernels[MOST_TRIED];
    size_t rows[MOST_TRIED], count = 0;
    gt_space space = {0};
    gt_status status = gt_families_get(&l->engine->families, p->family, &family);
    if (status == GT_OK)
        status = gt_space_init(family, &l->engine->device, problem, &space);
    if (status == GT_OK)
        count = find_rows(p, &space, is_quick(l) ? 1 : MOST_TRIED, rows);
    for (size_t i = 0; status == GT_OK && i < count; i++) {
        if ((status = gt_space_kernel(&space, rows[i], &l->engine->device, &kernels[i])) != GT_OK)
            break;
        if (!p->persistent)
            spread(&kernels[i]);
        gt_engine_prepare(l->engine, &problem->class, &kernels[i], true);
    }
    gt_space_finish(&space);
    rung *r = status == GT_OK ? find_rung(l, p->order, p->technique, gt_class_types(&problem->class)) : NULL;
    if (!r)
        return status != GT_OK ? status : gt_fail_memory();
    gt_problem_name(problem, name);
    if (count == 0)
        snprintf(r->trial.detail, sizeof r->trial.detail, "none for %s on %s", name, l->engine->device.arch);
    l->state.total += (int)count;
    for (size_t i = 0; status == GT_OK && i < count && !gt_engine_interrupted(); i++)
        status = climb(l, problem, r, &kernels[i]);
    return status;
}

/* The techniques of tensor cores, for types that all of them take. */
static gt_status climb_productions(ladder *l, const gt_problem *problem)
{
    const gt_unit unit = gt_class_types(&problem->class)->unit;
    gt_status status = GT_OK;
    if (unit != GT_UNIT_TENSOR_F16 && unit != GT_UNIT_TENSOR_BF16 && unit != GT_UNIT_TENSOR_SPLIT)
        return GT_OK;
    for (size_t i = 0; status == GT_OK && i < sizeof productions / sizeof productions[0]; i++)
        if (!gt_engine_interrupted() && productions[i].math == problem->class.math &&
            (!l->options->family || strcmp(l->options->family, productions[i].family) == 0))
            status = climb_production(l, problem, &productions[i]);
    return status;
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
        if (gt_space_column(&space, "rung") >= 0 && !stands(l, &space, types))
            status = climb_space(l, &problem, &space);
        gt_space_finish(&space);
    }
    if (status == GT_OK)
        status = climb_productions(l, &problem);
    if (status != GT_OK || options.no_cublas)
        return status;
    gt_baseline baselines[GT_BASELINE_COUNT];
    const gt_race_terms terms = {.seed = l->engine->options.check_seed, .seconds = CUBLAS_SECONDS,
                                 .baselines = GT_BASELINE_BIT(GT_BASELINE_CUBLAS)};
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
    char size[GT_SHAPE_LENGTH], params[GT_PARAMS_TEXT], types[GT_TYPES_TEXT];
    qsort(l->rungs, l->count, sizeof *l->rungs, by_order);
    if (shape->m == shape->n && shape->n == shape->k)
        snprintf(size, sizeof size, "%lld", (long long)shape->m);
    else
        gt_shape_name(shape->m, shape->n, shape->k, size);
    for (size_t i = 0; i < l->count; i++) {
        const rung *r = &l->rungs[i];
        const double peak = gt_device_peak_tflops(&l->engine->device, r->types);
        const bool ok = r->trial.outcome == GT_TRIAL_OK && r->trial.us > 0;
        if (!ok && !*r->trial.detail) /* an interruption came before it was tried */
            continue;
        if (r->order == 1 && ok)
            naive_us = r->trial.us;
        gt_table_text(table, size);
        gt_table_integer(table, r->order);
        gt_table_text(table, r->technique);
        gt_table_text(table, gt_types_text(r->types, types));
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
        /* The last rungs take f16 and give f32, or split f32 into f16: they stand on the ladder of f32. */
        const bool f32 = options->types == gt_types_parse("f32", GT_MATH_STRICT);
        if (status == GT_OK && f32)
            status = climb_all(&l, shape, gt_types_parse("f16_f32", GT_MATH_STRICT));
        if (status == GT_OK && f32)
            status = climb_all(&l, shape, gt_types_parse("f32", GT_MATH_SPLIT));
        if (status == GT_OK || gt_engine_interrupted())
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
