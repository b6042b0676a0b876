/* gemmtune bench: the stored kernels against cuBLAS and cuBLASLt, interleaved in one run. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../src/core/status.h"
#include "accuracy.h"
#include "bench.h"
#include "entries.h"
#include "output.h"
#include "regret.h"

#define RACE_SECONDS   1.0
#define SEARCH_SECONDS 60.0 /* for all of cuBLASLt's algorithms, which take far less but on the largest shapes */
#define BUDGET_PARTS   4    /* of a shape's share of a budget: races warm and cold, that search, checks */

/* What an application would get that asks for strict math instead, proved right; status GT_ERROR_NOT_TUNED: nothing. */
static gt_status find_strict(gt_engine *engine, const gt_options_cli *options, const gt_try_terms *check,
                             gt_bench_race *e, gt_chosen *chosen, gt_code *code)
{
    gt_problem problem = e->problem;
    if (problem.class.math == GT_MATH_STRICT)
        return GT_ERROR_NOT_TUNED;
    problem.class.math = GT_MATH_STRICT;
    gt_status status = gt_chosen_find(engine, &problem, options->untuned, chosen, code);
    if (status == GT_OK)
        status = gt_worker_try(engine->worker, &e->problem, &(gt_contestant){&chosen->kernel, code}, check, &e->strict);
    return status == GT_OK && e->strict.outcome != GT_TRIAL_OK ? GT_ERROR_NOT_TUNED : status;
}

static bool is_same_code(const gt_code *a, const gt_code *b)
{
    return a->cubin_bytes == b->cubin_bytes && memcmp(a->cubin, b->cubin, a->cubin_bytes) == 0;
}

/* A shape that nothing in the database can serve: the others go on. */
static gt_status leave_out(const gt_options_cli *options, gt_bench_race *e)
{
    char name[GT_PROBLEM_NAME_LENGTH];
    gt_problem_name(&e->problem, name);
    e->ours.outcome = GT_TRIAL_LAUNCH_ERROR;
    if (options->untuned && e->chosen.tuned_us > 0)
        gt_fail(GT_ERROR_NOT_TUNED, "%s: untuned it has no kernel: none that was tuned on another size can run it", name);
    snprintf(e->ours.detail, sizeof e->ours.detail, "%s", gt_error_message());
    return GT_OK;
}

static gt_status run_race(gt_engine *engine, const gt_options_cli *options, void *item)
{
    gt_bench_race *e = item;
    gt_chosen strict;
    gt_code code = {0}, strict_code = {0};
    gt_trial trials[2] = {0};
    bool same = false;
    size_t count = 1;
    const gt_try_terms check = {.seed = engine->options.check_seed};
    const double most = e->share_s > 0 ? e->share_s / BUDGET_PARTS : INFINITY;
    const gt_race_terms terms = {.seed = engine->options.check_seed, .seconds = fmin(RACE_SECONDS, most),
                                 .search_s = fmin(SEARCH_SECONDS, most), .baselines = engine->options.baselines};
    for (int i = 0; i < GT_BASELINE_COUNT; i++)
        e->baselines[i].trial.outcome = GT_TRIAL_LAUNCH_ERROR; /* until it has raced */
    gt_status status = gt_chosen_find(engine, &e->problem, options->untuned, &e->chosen, &code);
    if (status == GT_ERROR_NOT_TUNED)
        return leave_out(options, e);
    const gt_contestant contestants[2] = {{&e->chosen.kernel, &code}, {&strict.kernel, &strict_code}};
    /* Stored results are not believed: a kernel is proved right here before it is timed. */
    if (status == GT_OK)
        status = gt_worker_try(engine->worker, &e->problem, &contestants[0], &check, &trials[0]);
    if (status == GT_OK && trials[0].outcome == GT_TRIAL_OK) {
        status = find_strict(engine, options, &check, e, &strict, &strict_code);
        same = status == GT_OK && is_same_code(&code, &strict_code);
        if (status == GT_OK && !same)
            trials[count++] = e->strict;
        if (status == GT_OK || status == GT_ERROR_NOT_TUNED)
            status = gt_worker_race(engine->worker, &e->problem, contestants, count, &terms, trials, e->baselines);
    }
    e->ours = trials[0];
    e->strict = same ? trials[0] : trials[1];
    gt_code_finish(&code);
    gt_code_finish(&strict_code);
    return status;
}

static bool has_kernel(const gt_bench_race *e)
{
    return e->chosen.kernel.family[0] != '\0';
}

/* Where there is no kernel for any shape, the first one's failure says what to do. */
static gt_status check_kernels(const gt_bench_race *races, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (has_kernel(&races[i]))
            return GT_OK;
    return count > 0 ? gt_fail(GT_ERROR_NOT_TUNED, "%s", races[0].ours.detail) : GT_OK;
}

static gt_bench_summary sum_up(const gt_options_cli *options, const gt_bench_race *races, size_t count)
{
    gt_bench_summary s = {.version = ""};
    for (size_t i = 0, type = 0; i < count; i++) {
        const gt_bench_race *e = &races[i];
        const double mhz = e->ours.clock_mhz;
        const int best = gt_baseline_best(e->baselines);
        s.wrong += e->ours.outcome != GT_TRIAL_OK;
        if (mhz > 0) {
            s.low_mhz = s.low_mhz > 0 ? fmin(s.low_mhz, mhz) : mhz;
            s.high_mhz = fmax(s.high_mhz, mhz);
        }
        const gt_baseline *lt = &e->baselines[GT_BASELINE_CUBLASLT];
        if (lt->trial.outcome == GT_TRIAL_OK) {
            s.fewest = s.fewest > 0 && s.fewest < lt->algorithms ? s.fewest : lt->algorithms;
            s.most = s.most > lt->algorithms ? s.most : lt->algorithms;
        }
        s.autotuned = s.autotuned || e->baselines[GT_BASELINE_AUTOTUNE].trial.outcome == GT_TRIAL_OK;
        s.version = best >= 0 ? e->baselines[best].version : s.version;
        while (options->type_list[type] != gt_class_types(&e->problem.class))
            type++;
        for (int figure = 0; figure < GT_FIGURE_COUNT; figure++)
            gt_rating_add(&s.ratings[type][figure], gt_race_ratio(&e->ours, e->baselines, (gt_figure)figure), i);
    }
    return s;
}

/* Of all types those that something is stored for. */
static gt_status keep_tuned(const gt_engine *engine, gt_options_cli *options)
{
    static const gt_shape any = {256, 256, 256};
    gt_status status = GT_OK;
    size_t kept = 0;
    for (size_t i = 0; status == GT_OK && i < options->type_count; i++) {
        gt_measurements measured = {0};
        gt_problem problem;
        options->types = options->type_list[i];
        status = gt_options_problem(options, options->shapes.count > 0 ? &options->shapes.list[0] : &any, &problem);
        if (status == GT_OK)
            status = gt_store_find_measured(engine->store, &engine->device, &problem.class, &measured);
        if (status == GT_OK && measured.count == 0 && engine->behind) {
            gt_measurements_finish(&measured);
            status = gt_store_find_measured(engine->behind, &engine->device, &problem.class, &measured);
        }
        if (measured.count > 0)
            options->type_list[kept++] = options->types;
        gt_measurements_finish(&measured);
    }
    if (kept > 0) /* else the first one's failure says what to do */
        options->type_count = kept;
    return status;
}

int gt_cmd_bench(const gt_options_cli *given)
{
    gt_engine engine;
    gt_options_cli kept = *given;
    const gt_options_cli *options = &kept;
    gt_limits limits[GT_TYPES_MOST] = {0};
    gt_entries races = {0};
    size_t done = 0;
    int code = 0;
    if (given->regret > 0)
        return gt_bench_regret(given);
    if (given->errors)
        return gt_bench_errors(given);
    const gt_engine_options engine_options = gt_options_engine(given);
    gt_status status = gt_engine_open(&engine_options, GT_ENGINE_READ, &engine);
    if (status == GT_OK && given->all_types)
        status = keep_tuned(&engine, &kept);
    if (status == GT_OK)
        status = gt_entries_init(options, sizeof(gt_bench_race), &races);
    const double left = fmax(options->budget_s - gt_engine_elapsed(&engine), 1e-3);
    for (size_t i = 0; status == GT_OK && options->budget_s > 0 && i < races.count; i++)
        ((gt_bench_race *)races.list)[i].share_s = left / (double)races.count;
    for (size_t i = 0; status == GT_OK && i < options->type_count; i++)
        status = gt_engine_find_limits(&engine, options->type_list[i], &limits[i]);
    if (status == GT_OK)
        status = gt_entries_run(&races, &engine, options, run_race, &done);
    if (status == GT_OK && (status = check_kernels(races.list, done)) != GT_OK)
        done = 0;
    if (status != GT_OK)
        code = gt_print_failure();
    if (done > 0) {
        const gt_bench_summary s = sum_up(options, races.list, done);
        gt_bench_print(&engine, options, limits, races.list, done, &s);
        code = s.wrong > 0 ? 1 : code;
    }
    gt_engine_close(&engine, "done");
    gt_entries_finish(&races);
    return gt_engine_interrupted() ? 130 : code;
}
