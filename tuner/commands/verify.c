/* gemmtune verify: proves again that the stored kernels are right, on this GPU, with fresh data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../db/trial.h"
#include "../../src/core/status.h"
#include "options.h"
#include "output.h"
#include "../progress.h"

static const gt_column columns[] = {
    {"problem", GT_LEFT}, {"family", GT_LEFT}, {"configuration", GT_LEFT}, {"outcome", GT_LEFT},
    {"error", GT_RIGHT},  {"detail", GT_LEFT},
};

#define LAYOUTS 4

/* A stored kernel, the problem it is checked on, and what came of it in all rounds. */
typedef struct subject {
    const gt_measured *stored;
    gt_problem problem;
    bool checked;
    gt_trial trial; /* the first that went wrong; else the largest error */
} subject;

typedef struct verification {
    const gt_options_cli *options;
    gt_engine *engine;
    gt_measurements measured[GT_TYPES_MOST][LAYOUTS]; /* the subjects point into these */
    subject *subjects;
    size_t count;
    int rounds; /* that came to their end */
    size_t wrong;
    gt_progress *progress;
} verification;

/* A kernel's code as it is stored, or of the same configuration rendered for compute-sanitizer. *code is a copy. */
static gt_status find_code(verification *v, const gt_measured *stored, gt_kernel *kernel, gt_code *code)
{
    const gt_code *compiled;
    if (!v->options->checked)
        return gt_store_find_code(v->engine->store, stored->kernel_id, code);
    kernel->source_hash[0] = '\0'; /* of the rendering that is stored */
    const gt_status status = gt_engine_code(v->engine, &stored->problem.class, kernel, &compiled);
    return status == GT_OK ? gt_code_copy(compiled, code) : status;
}

/* What is wrong with a stored kernel, so that there is nothing to run. */
static bool explains(gt_status status, gt_trial *trial)
{
    static const struct {
        gt_status status;
        gt_outcome outcome;
    } reasons[] = {{GT_ERROR_CORRUPT, GT_TRIAL_WRONG_RESULT},
                   {GT_ERROR_COMPILE, GT_TRIAL_COMPILE_ERROR},
                   {GT_ERROR_INVALID, GT_TRIAL_COMPILE_ERROR}}; /* the template, or its family, is not what it was */
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (status == reasons[i].status) {
            trial->outcome = reasons[i].outcome;
            snprintf(trial->detail, sizeof trial->detail, "%s", gt_error_message());
            return true;
        }
    return false;
}

static gt_status check(verification *v, subject *s)
{
    gt_kernel kernel = *s->stored->kernel;
    gt_code code = {0};
    gt_trial trial = {0};
    gt_status status = find_code(v, s->stored, &kernel, &code);
    if (status == GT_OK) {
        const gt_contestant contestant = {&kernel, &code};
        status = gt_worker_try(v->engine->worker, &s->problem, &contestant, 0, false, &trial);
    } else if (explains(status, &trial)) {
        status = GT_OK;
    }
    gt_code_finish(&code);
    if (status != GT_OK)
        return status;
    if (trial.outcome != GT_TRIAL_OK && (!s->checked || s->trial.outcome == GT_TRIAL_OK)) {
        const size_t length = strlen(trial.detail);
        snprintf(trial.detail + length, sizeof trial.detail - length, " (--seed %llu)",
                 (unsigned long long)v->engine->options.check_seed);
        s->trial = trial;
        v->wrong++;
    } else if (!s->checked || (s->trial.outcome == GT_TRIAL_OK && trial.error > s->trial.error)) {
        s->trial = trial;
    }
    s->checked = true;
    return GT_OK;
}

/* Everything once, with the data of one seed. */
static gt_status check_round(verification *v)
{
    char name[GT_PROBLEM_NAME_LENGTH];
    gt_progress_state state = {.step = v->rounds, .steps = v->options->rounds, .total = (int)v->count, .what = name};
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && i < v->count && !gt_engine_interrupted(); i++) {
        gt_problem_name(&v->subjects[i].problem, name);
        status = check(v, &v->subjects[i]);
        state.done++;
        state.failed = (int)v->wrong;
        state.elapsed = gt_engine_elapsed(v->engine);
        gt_progress_update(v->progress, &state);
    }
    if (status == GT_OK && !gt_engine_interrupted())
        v->rounds++;
    return status;
}

/* Each round's seed is the one before it and one: any of them can be repeated alone. */
static gt_status check_rounds(verification *v, uint64_t seed)
{
    gt_status status = GT_OK;
    for (int round = 0; status == GT_OK && round < v->options->rounds && !gt_engine_interrupted(); round++) {
        const size_t before = v->wrong;
        if (round > 0)
            status = gt_engine_reseed(v->engine, seed + (uint64_t)round);
        if (status == GT_OK)
            status = check_round(v);
        if (status == GT_OK && v->options->verbose && !gt_engine_interrupted())
            gt_progress_line(v->progress, "round %d of %d, seed %llu: %zu checked, %zu more wrong", round + 1,
                             v->options->rounds, (unsigned long long)(seed + (uint64_t)round), v->count,
                             v->wrong - before);
    }
    return status;
}

static gt_status add(verification *v, const gt_measured *row, const gt_problem *problem)
{
    if ((v->count & (v->count - 1)) == 0) { /* full at every power of two */
        subject *list = realloc(v->subjects, (v->count > 0 ? 2 * v->count : 1) * sizeof *list);
        if (!list)
            return gt_fail_memory();
        v->subjects = list;
    }
    v->subjects[v->count++] = (subject){.stored = row, .problem = *problem};
    return GT_OK;
}

/* Whether a row is checked: the winners of this GPU's races; with --all each kernel that the library may pick, once,
 * on the problem that it won, else on the one that it was measured on last. */
static bool is_wanted(const verification *v, const gt_measurements *measured, size_t index)
{
    const gt_measured *list = measured->list, *row = &list[index];
    if (!v->options->all)
        return row->winner && row->same_gpu;
    for (size_t i = 0; i < measured->count; i++)
        if (i != index && list[i].kernel_id == row->kernel_id &&
            (list[i].winner != row->winner ? list[i].winner : i < index))
            return false;
    return true;
}

/* The kernels of some types and one layout: each on its own problem, or on the shapes that were asked for. */
static gt_status add_layout(verification *v, const gt_types *types, gt_op op_a, gt_op op_b, gt_measurements *measured)
{
    gt_problem any, problem;
    gt_options_cli options = *v->options;
    options.types = types;
    options.op_a = op_a;
    options.op_b = op_b;
    gt_status status = gt_options_problem(&options, &(gt_shape){64, 64, 64}, &any);
    if (status == GT_OK)
        status = gt_store_find_measured(v->engine->store, &v->engine->device, &any.class, measured);
    for (size_t i = 0; status == GT_OK && i < measured->count; i++) {
        const gt_measured *row = &measured->list[i];
        if (!is_wanted(v, measured, i))
            continue;
        if (!options.shapes_given)
            status = add(v, row, &row->problem);
        for (size_t s = 0; options.shapes_given && status == GT_OK && s < options.shapes.count; s++) {
            status = gt_options_problem(&options, &options.shapes.list[s], &problem);
            if (status == GT_OK && gt_class_serves(&row->problem.class, &problem.class))
                status = add(v, row, &problem);
        }
    }
    return status;
}

static void print_table(const verification *v)
{
    char name[GT_PROBLEM_NAME_LENGTH], params[GT_PARAMS_TEXT];
    gt_table *table = gt_table_create(stdout, v->options->json, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < v->count; i++) {
        const subject *s = &v->subjects[i];
        if (!s->checked)
            continue;
        gt_problem_name(&s->problem, name);
        gt_table_text(table, name);
        gt_table_text(table, s->stored->kernel->family);
        gt_table_text(table, gt_params_text(&s->stored->kernel->params, params));
        gt_table_text(table, gt_outcome_name(s->trial.outcome));
        if (s->trial.outcome == GT_TRIAL_OK)
            gt_table_number(table, "%.1e", s->trial.error);
        else
            gt_table_none(table);
        gt_table_text(table, s->trial.detail);
    }
    gt_table_finish(table);
}

/* "16 winners, 3 rounds, none wrong (seed 77)". */
static void print_total(const verification *v, uint64_t seed)
{
    char wrong[32] = "none";
    if (v->options->quiet && v->wrong == 0)
        return;
    if (v->wrong > 0)
        snprintf(wrong, sizeof wrong, "%zu", v->wrong);
    fprintf(stderr, "%zu %s%s, %d round%s, %s wrong (seed %llu)\n", v->count, v->options->all ? "kernel" : "winner",
            v->count == 1 ? "" : "s", v->rounds, v->rounds == 1 ? "" : "s", wrong, (unsigned long long)seed);
}

int gt_cmd_verify(const gt_options_cli *options)
{
    gt_engine engine;
    char device[GT_DEVICE_OPTION];
    int code = 0;
    const gt_engine_options engine_options = gt_options_engine(options);
    const uint64_t seed = engine_options.check_seed;
    gt_status status = gt_engine_open(&engine_options, GT_ENGINE_READ, &engine);
    verification v = {.options = options, .engine = &engine, .progress = gt_progress_create(options->quiet)};
    for (size_t i = 0; status == GT_OK && i < LAYOUTS * options->type_count; i++)
        status = add_layout(&v, options->type_list[i / LAYOUTS], (gt_op)(i % LAYOUTS / 2), (gt_op)(i % 2),
                            &v.measured[i / LAYOUTS][i % LAYOUTS]);
    if (status == GT_OK && v.count == 0)
        status = gt_fail(GT_ERROR_NOT_TUNED,
                         "nothing to verify: no stored %s of type %s for %s in %s: run `gemmtune --device %s --type "
                         "%s%s%s`",
                         options->all ? "kernel" : "winner", options->type_names, engine.device.name,
                         gt_store_path(engine.store), gt_device_option(&engine.device, device), options->type_names,
                         options->math_given ? " --math " : "", options->math_given ? gt_math_name(options->math) : "");
    if (status == GT_OK)
        status = check_rounds(&v, seed);
    if (status == GT_ERROR_BUSY && gt_engine_interrupted())
        status = GT_OK; /* a wait that Ctrl-C ended is no failure */
    gt_progress_destroy(v.progress);
    print_table(&v);
    if (status != GT_OK)
        code = gt_print_failure();
    else
        print_total(&v, seed);
    if (v.wrong > 0)
        code = 1;
    for (size_t i = 0; i < LAYOUTS * options->type_count; i++)
        gt_measurements_finish(&v.measured[i / LAYOUTS][i % LAYOUTS]);
    free(v.subjects);
    gt_engine_close(&engine, "done");
    return gt_engine_interrupted() ? 130 : code;
}
