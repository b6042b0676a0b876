/* gemmtune verify: proves again that the stored winners are right, on this GPU, with fresh data. */
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

typedef struct verification {
    const gt_options_cli *options;
    gt_engine *engine;
    gt_table *table;
    gt_progress *progress;
    gt_progress_state state;
    int checked, wrong;
} verification;

/* A winner's code as it is stored, or of the same configuration rendered for compute-sanitizer. *code is a copy. */
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

static gt_status check(verification *v, const gt_measured *stored, const gt_problem *problem)
{
    gt_kernel kernel = *stored->kernel;
    gt_code code = {0};
    gt_trial trial = {0};
    char name[GT_PROBLEM_NAME_LENGTH], params[GT_PARAMS_TEXT];
    gt_status status = find_code(v, stored, &kernel, &code);
    if (status == GT_OK) {
        const gt_contestant contestant = {&kernel, &code};
        status = gt_worker_try(v->engine->worker, problem, &contestant, 0, false, &trial);
    } else if (explains(status, &trial)) {
        status = GT_OK;
    }
    gt_code_finish(&code);
    if (status != GT_OK)
        return status;
    gt_problem_name(problem, name);
    gt_table_text(v->table, name);
    gt_table_text(v->table, kernel.family);
    gt_table_text(v->table, gt_params_text(&kernel.params, params));
    gt_table_text(v->table, gt_outcome_name(trial.outcome));
    if (trial.outcome == GT_TRIAL_OK)
        gt_table_number(v->table, "%.1e", trial.error);
    else
        gt_table_none(v->table);
    gt_table_text(v->table, trial.detail);
    v->checked++;
    v->wrong += trial.outcome != GT_TRIAL_OK;
    v->state.what = name;
    v->state.done++;
    v->state.elapsed = gt_engine_elapsed(v->engine);
    gt_progress_update(v->progress, &v->state);
    v->state.what = "";
    return GT_OK;
}

/* All winners of one layout: each on its own problem, or on the shapes that were asked for. */
static gt_status check_layout(verification *v, gt_op op_a, gt_op op_b)
{
    const gt_options_cli *options = v->options;
    gt_measurements measured = {0};
    gt_problem any, problem;
    gt_options_cli as_asked = *options;
    as_asked.op_a = op_a;
    as_asked.op_b = op_b;
    gt_status status = gt_options_problem(&as_asked, &(gt_shape){64, 64, 64}, &any);
    if (status == GT_OK)
        status = gt_store_find_measured(v->engine->store, &v->engine->device, &any.class, &measured);
    for (size_t i = 0; status == GT_OK && i < measured.count && !gt_engine_interrupted(); i++) {
        const gt_measured *row = &measured.list[i];
        if (!row->winner || !row->same_gpu)
            continue;
        if (!options->shapes_given)
            status = check(v, row, &row->problem);
        for (size_t s = 0; options->shapes_given && status == GT_OK && s < options->shapes.count; s++) {
            status = gt_options_problem(&as_asked, &options->shapes.list[s], &problem);
            if (status == GT_OK && gt_class_serves(&row->problem.class, &problem.class))
                status = check(v, row, &problem);
        }
    }
    gt_measurements_finish(&measured);
    return status;
}

int gt_cmd_verify(const gt_options_cli *options)
{
    gt_engine engine;
    int code = 0;
    const gt_engine_options engine_options = gt_options_engine(options);
    gt_status status = gt_engine_open(&engine_options, GT_ENGINE_READ, &engine);
    verification v = {
        .options = options,
        .engine = &engine,
        .table = gt_table_create(stdout, options->json, columns, sizeof columns / sizeof columns[0]),
        .progress = gt_progress_create(options->quiet),
        .state = {.steps = 1, .what = ""},
    };
    for (int a = GT_N; status == GT_OK && a <= GT_T; a++)
        for (int b = GT_N; status == GT_OK && b <= GT_T; b++)
            status = check_layout(&v, (gt_op)a, (gt_op)b);
    gt_progress_destroy(v.progress);
    gt_table_finish(v.table);
    if (status != GT_OK)
        code = gt_print_failure();
    else if (v.checked == 0)
        fprintf(stderr, "gemmtune: no stored winner of type %s for %s\n", options->types->name, engine.device.name);
    else
        fprintf(stderr, "%d checked, %d wrong\n", v.checked, v.wrong);
    if (v.wrong > 0)
        code = 1;
    gt_engine_close(&engine, "done");
    return gt_engine_interrupted() ? 130 : code;
}
