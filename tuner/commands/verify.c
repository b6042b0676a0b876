/*
 * gemmtune verify: proves again that the stored kernels are right, on this GPU, with fresh data. What is wrong is put
 * on record as it is found, and is out of service from then on; --all gives those that are out another chance.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../db/trial.h"
#include "../../src/core/status.h"
#include "options.h"
#include "output.h"
#include "../progress.h"
#include "../engine/rejections.h"
#include "../engine/retrial.h"
#include "../engine/verdict.h"

static const gt_column columns[] = {
    {"problem", GT_LEFT}, {"family", GT_LEFT}, {"configuration", GT_LEFT},
    {"outcome", GT_LEFT}, {"error", GT_RIGHT}, {"detail", GT_LEFT},
};

#define LAYOUTS 4

/* Rounds of fresh checks that a kernel out of service must pass before it is planned again. */
#define FRESH_ROUNDS 3

/* A stored kernel, the problem it is checked on, and what came of it in all rounds. */
typedef struct subject {
    const gt_measured *stored;
    gt_problem problem;
    bool checked, out; /* out: of service, by what was found now */
    gt_trial trial;    /* the first that went wrong; else the largest error */
} subject;

typedef struct verification {
    const gt_options_cli *options;
    gt_engine *engine;
    gt_measurements measured[GT_TYPES_MOST][LAYOUTS]; /* the subjects point into these */
    subject *subjects;
    size_t count;
    gt_retrials retrials; /* of kernels out of service */
    int rounds;           /* that came to their end */
    char unrecorded[512]; /* why something could not be put on record; "" if none */
    gt_progress *progress;
} verification;

/* A stored kernel as it is rendered for compute-sanitizer, to which only small problems are given: persistent blocks are so few
 * that they take several of its tiles, and share some. */
static gt_kernel rendered_anew(const gt_measured *stored)
{
    gt_kernel kernel = *stored->kernel;
    gt_kernel_deal(&kernel, 3);
    kernel.source_hash[0] = '\0'; /* of the rendering that is stored */
    return kernel;
}

/* A kernel's code as it is stored, or of the same configuration rendered for compute-sanitizer. *code is a copy. */
static gt_status find_code(verification *v, const gt_measured *stored, gt_kernel *kernel, gt_code *code)
{
    const gt_code *compiled;
    if (!v->options->checked)
        return gt_store_find_code(v->engine->store, stored->kernel_id, stored->kernel, code);
    *kernel = rendered_anew(stored);
    const gt_status status = gt_engine_code(v->engine, &stored->problem.class, kernel, &compiled);
    return status == GT_OK ? gt_code_copy(compiled, code) : status;
}

/* Has the compiler begin with all kernels that are rendered anew; what it fails at is told when a kernel's turn comes. */
static void compile_ahead(verification *v)
{
    for (size_t i = 0; v->options->checked && i < v->count; i++) {
        gt_kernel kernel = rendered_anew(v->subjects[i].stored);
        gt_engine_prepare(v->engine, &v->subjects[i].stored->problem.class, &kernel, true);
    }
}

/* What is wrong with a stored kernel, so that there is nothing to run. */
static bool explains(gt_status status, gt_trial *trial)
{
    static const struct {
        gt_status status;
        gt_outcome outcome;
    } reasons[] = {{GT_ERROR_CORRUPT, GT_TRIAL_WRONG_RESULT},
                   {GT_ERROR_NOT_TUNED, GT_TRIAL_NOT_TRIED}, /* another process has dropped its code */
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

/* Whether the code of a kernel was found wrong in this run. */
static bool is_wrong(const verification *v, const gt_kernel *kernel)
{
    for (size_t i = 0; i < v->count; i++)
        if (gt_outcome_convicts(v->subjects[i].trial.outcome) &&
            strcmp(v->subjects[i].stored->kernel->source_hash, kernel->source_hash) == 0)
            return true;
    return false;
}

/* Puts on record what a check changes: a kernel is wrong, or not deterministic after all. */
static void record(verification *v, subject *s, const gt_trial *trial)
{
    char line[GT_REJECTION_LENGTH];
    const gt_kernel *kernel = s->stored->kernel;
    const bool wrong = gt_outcome_convicts(trial->outcome);
    const bool varies = trial->outcome == GT_TRIAL_OK && trial->varied && kernel->facts.deterministic;
    if (!wrong && (!varies || is_wrong(v, kernel)))
        return;
    const bool put = gt_verdict_put(v->engine, &s->problem, kernel, trial) == GT_OK;
    if (!put)
        snprintf(v->unrecorded, sizeof v->unrecorded, "%s", gt_error_message());
    if (!wrong)
        return;
    s->out = put;
    gt_rejection_describe(&s->problem, kernel, trial, line);
    gt_progress_line(v->progress, "kernel %lld is wrong%s: %s", (long long)s->stored->kernel_id,
                     put ? ", no longer planned" : "", line);
}

/* Whether a is the worse result: a wrong one is worse than one that could not be checked, that worse than a right one;
 * of two right ones the larger error is. */
static bool is_worse(const gt_trial *a, const gt_trial *b)
{
    const int x = (a->outcome != GT_TRIAL_OK) + gt_outcome_convicts(a->outcome);
    const int y = (b->outcome != GT_TRIAL_OK) + gt_outcome_convicts(b->outcome);
    return x != y ? x > y : x == 0 && a->error > b->error;
}

/* What is rendered for racecheck is launched where races are looked for. */
static gt_extent find_extent(const gt_options_cli *options)
{
    if (options->effort != GT_EFFORT_QUICK)
        return GT_EXTENT_ALL;
    return options->checked ? GT_EXTENT_WATCHED : GT_EXTENT_FEW;
}

static gt_status check(verification *v, subject *s, uint64_t seed)
{
    gt_kernel kernel = *s->stored->kernel;
    gt_code code = {0};
    gt_trial trial = {.seed = seed};
    gt_status status = find_code(v, s->stored, &kernel, &code);
    if (status == GT_OK) {
        const gt_contestant contestant = {&kernel, &code};
        const gt_try_terms terms = {.seed = seed, .extent = find_extent(v->options)};
        status = gt_verdict_find(v->engine, &s->problem, &contestant, &terms, &trial);
        if (status == GT_OK && !v->options->checked) /* that variant is other code */
            record(v, s, &trial);
    } else if (explains(status, &trial)) {
        status = GT_OK;
    }
    gt_code_finish(&code);
    if (status == GT_OK && (!s->checked || is_worse(&trial, &s->trial)))
        s->trial = trial;
    s->checked = s->checked || status == GT_OK;
    return status;
}

/* Subjects that failed because they are wrong, or for other reasons. */
static size_t count_failed(const verification *v, bool wrong)
{
    size_t count = 0;
    for (size_t i = 0; i < v->count; i++)
        count += v->subjects[i].checked && v->subjects[i].trial.outcome != GT_TRIAL_OK &&
                 gt_outcome_convicts(v->subjects[i].trial.outcome) == wrong;
    return count;
}

/* "3 of 18: f32 nn 300x200x132, simt_ws bm=128 bn=256 bk=32: ok, 1.2 s" */
static void tell(verification *v, const subject *s, double since)
{
    char name[GT_PROBLEM_NAME_LENGTH], params[GT_PARAMS_TEXT];
    if (!v->options->verbose)
        return;
    gt_problem_name(&s->problem, name);
    gt_progress_line(v->progress, "%zu of %zu: %s, %s %s: %s, %.1f s", (size_t)(s - v->subjects) + 1, v->count, name,
                     s->stored->kernel->family, gt_params_text(&s->stored->kernel->params, params),
                     gt_outcome_name(s->trial.outcome), gt_engine_elapsed(v->engine) - since);
}

/* Checks every kernel once, with the data of one seed; in later rounds not those that were found wrong. */
static gt_status check_round(verification *v, uint64_t seed)
{
    char name[GT_PROBLEM_NAME_LENGTH];
    gt_progress_state state = {.step = v->rounds, .steps = v->options->rounds, .total = (int)v->count, .what = name};
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && i < v->count && !gt_engine_interrupted(); i++) {
        gt_problem_name(&v->subjects[i].problem, name);
        const double since = gt_engine_elapsed(v->engine);
        if (v->rounds == 0 || !is_wrong(v, v->subjects[i].stored->kernel))
            status = check(v, &v->subjects[i], seed);
        if (status == GT_OK)
            tell(v, &v->subjects[i], since);
        state.done++;
        state.failed = (int)count_failed(v, true);
        state.elapsed = gt_engine_elapsed(v->engine);
        gt_progress_update(v->progress, &state);
    }
    if (status == GT_OK && !gt_engine_interrupted())
        v->rounds++;
    return status;
}

/* Round by round, with consecutive seeds: `--seed` repeats any of them alone. */
static gt_status check_rounds(verification *v)
{
    gt_status status = GT_OK;
    for (int round = 0; status == GT_OK && round < v->options->rounds && !gt_engine_interrupted(); round++) {
        const uint64_t seed = v->engine->options.check_seed + (uint64_t)round;
        const size_t before = count_failed(v, true);
        status = check_round(v, seed);
        if (status == GT_OK && v->options->verbose && !gt_engine_interrupted())
            gt_progress_line(v->progress, "round %d of %d, seed %llu: %zu checked, %zu more wrong", round + 1,
                             v->options->rounds, (unsigned long long)seed, v->count, count_failed(v, true) - before);
    }
    return status;
}

/* Kernels out of service, each on what it failed and on fresh data. */
static gt_status retry(verification *v)
{
    const int rounds = v->options->rounds > FRESH_ROUNDS ? v->options->rounds : FRESH_ROUNDS;
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && i < v->retrials.count && !gt_engine_interrupted();
         i = gt_retrials_end(&v->retrials, i)) {
        status = gt_retrials_run(v->engine, &v->retrials, i, rounds);
        if (v->retrials.list[i].cleared)
            gt_progress_line(v->progress, "kernel %lld passes what it failed, and fresh checks: planned again",
                             (long long)v->retrials.list[i].convicted->kernel_id);
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

/* Whether a kernel, which may have won several races, is already to be checked on a problem. Rendered anew, a configuration
 * that serves two modes of math has the same code in both. */
static bool is_listed(const verification *v, const gt_measured *row, const gt_problem *problem)
{
    for (size_t i = 0; i < v->count; i++) {
        const gt_measured *stored = v->subjects[i].stored;
        gt_problem listed = v->subjects[i].problem;
        bool same = stored->kernel_id == row->kernel_id;
        if (v->options->checked && listed.class.math != problem->class.math &&
            listed.class.math == gt_math_served_by(problem->class.math)) {
            listed.class.math = problem->class.math;
            same = strcmp(stored->kernel->family, row->kernel->family) == 0 &&
                   gt_params_same(&stored->kernel->params, &row->kernel->params) &&
                   stored->problem.class.align == row->problem.class.align;
        }
        if (same && gt_problem_same(&listed, problem))
            return true;
    }
    return false;
}

/* Of --shard's I/N every N-th kernel is left, from the I-th on. */
static void take_shard(verification *v)
{
    const gt_shard *shard = &v->options->shard;
    if (shard->count == 0)
        return;
    size_t left = 0;
    for (size_t i = (size_t)shard->index - 1; i < v->count; i += (size_t)shard->count)
        v->subjects[left++] = v->subjects[i];
    v->count = left;
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
            if (status == GT_OK && gt_class_serves(&row->problem.class, &problem.class) &&
                !is_listed(v, row, &problem))
                status = add(v, row, &problem);
        }
    }
    return status;
}

/* One row: a kernel on a problem, how that went, and what follows from it. */
static void print_row(gt_table *table, const gt_problem *problem, const gt_kernel *kernel, const gt_trial *trial,
                      const char *consequence)
{
    char name[GT_PROBLEM_NAME_LENGTH], params[GT_PARAMS_TEXT], detail[GT_DETAIL_LENGTH + 80];
    const bool passed = trial->outcome == GT_TRIAL_OK;
    snprintf(detail, sizeof detail, "%s", trial->detail);
    if (!passed)
        snprintf(detail, sizeof detail, "%s (--seed %llu)", trial->detail, (unsigned long long)trial->seed);
    if (consequence)
        snprintf(detail + strlen(detail), sizeof detail - strlen(detail), "; %s", consequence);
    gt_problem_name(problem, name);
    gt_table_text(table, name);
    gt_table_text(table, kernel->family);
    gt_table_text(table, gt_params_text(&kernel->params, params));
    gt_table_text(table, gt_outcome_name(trial->outcome));
    if (passed)
        gt_table_number(table, "%.1e", trial->error);
    else
        gt_table_none(table);
    gt_table_text(table, detail);
}

static void print_table(const verification *v)
{
    gt_table *table = gt_table_create(stdout, v->options->json, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < v->count; i++) {
        const subject *s = &v->subjects[i];
        if (i > 0 && gt_class_types(&s->problem.class) != gt_class_types(&v->subjects[i - 1].problem.class))
            gt_table_rule(table);
        if (s->checked)
            print_row(table, &s->problem, s->stored->kernel, &s->trial, s->out ? "no longer planned" : NULL);
    }
    for (size_t i = 0; i < v->retrials.count; i++) {
        const gt_retrial *r = &v->retrials.list[i];
        if (r->checked)
            print_row(table, &r->convicted->problem, &r->convicted->kernel, &r->trial,
                      r->cleared ? "planned again" : "still not planned");
    }
    gt_table_finish(table);
}

/* "16 winners, 3 rounds, none wrong (seed 77)". */
static void print_total(const verification *v)
{
    const size_t wrong = count_failed(v, true), unchecked = count_failed(v, false);
    char some[32] = "none", rest[64] = "";
    size_t codes = 0, cleared = 0;
    for (size_t i = 0; i < v->retrials.count; i = gt_retrials_end(&v->retrials, i)) {
        codes++;
        cleared += v->retrials.list[i].cleared;
    }
    if (v->options->quiet && wrong + unchecked == 0)
        return;
    if (wrong > 0)
        snprintf(some, sizeof some, "%zu", wrong);
    if (unchecked > 0)
        snprintf(rest, sizeof rest, ", %zu could not be checked", unchecked);
    fprintf(stderr, "%zu %s%s, %d round%s, %s wrong%s (seed %llu)\n", v->count, v->options->all ? "kernel" : "winner",
            v->count == 1 ? "" : "s", v->rounds, v->rounds == 1 ? "" : "s", some, rest,
            (unsigned long long)v->engine->options.check_seed);
    if (codes > 0 && v->options->all)
        fprintf(stderr, "%zu out of service, %zu of them planned again\n", codes, cleared);
    else if (codes > 0)
        fprintf(stderr, "%zu out of service; --all checks them again\n", codes);
}

/* What there is to do: subjects, and kernels out of service. */
static gt_status find_subjects(verification *v)
{
    const gt_options_cli *options = v->options;
    gt_status status = GT_OK;
    char device[GT_DEVICE_OPTION], db[GT_OPTIONS_DB];
    const char *types = options->all_types ? "" : options->type_names;
    for (size_t i = 0; status == GT_OK && i < LAYOUTS * options->type_count; i++)
        status = add_layout(v, options->type_list[i / LAYOUTS], (gt_op)(i % LAYOUTS / 2), (gt_op)(i % 2),
                            &v->measured[i / LAYOUTS][i % LAYOUTS]);
    if (status == GT_OK && !options->checked)
        status = gt_retrials_find(v->engine, options->type_list, options->type_count, &v->retrials);
    if (status != GT_OK || v->count > 0 || (options->all && v->retrials.count > 0))
        return status;
    return gt_fail(GT_ERROR_NOT_TUNED,
                   "nothing to verify: no stored %s%s%s for %s in %s: run `gemmtune --device %s%s%s%s%s%s`",
                   options->all ? "kernel" : "winner", *types ? " of type " : "", types, v->engine->device.name,
                   gt_store_path(v->engine->store), gt_device_option(&v->engine->device, device),
                   *types ? " --type " : "", types, options->math_names ? " --math " : "",
                   options->math_names ? options->math_names : "", gt_options_db(options->database, db));
}

int gt_cmd_verify(const gt_options_cli *options)
{
    gt_engine engine;
    int code = 0;
    const gt_engine_options engine_options = gt_options_engine(options);
    /* Nothing is written where nothing is found: the first finding lets the engine write. */
    gt_status status = gt_engine_open(&engine_options, GT_ENGINE_READ, &engine);
    verification v = {.options = options, .engine = &engine, .progress = gt_progress_create(options->quiet)};
    if (status == GT_OK)
        status = find_subjects(&v);
    if (status == GT_OK) {
        take_shard(&v);
        compile_ahead(&v);
    }
    if (status == GT_OK)
        status = check_rounds(&v);
    if (status == GT_OK && options->all)
        status = retry(&v);
    if (status == GT_ERROR_BUSY && gt_engine_interrupted())
        status = GT_OK; /* a wait that Ctrl-C ended is no failure */
    gt_progress_destroy(v.progress);
    print_table(&v);
    if (status == GT_OK)
        print_total(&v);
    else
        code = gt_print_failure();
    if (status == GT_OK && v.unrecorded[0]) {
        gt_fail(GT_ERROR_IO, "what was found could not be recorded: %s", v.unrecorded);
        code = gt_print_failure();
    }
    if (count_failed(&v, true) + count_failed(&v, false) > 0)
        code = 1;
    for (size_t i = 0; i < LAYOUTS * options->type_count; i++)
        gt_measurements_finish(&v.measured[i / LAYOUTS][i % LAYOUTS]);
    gt_retrials_finish(&v.retrials);
    free(v.subjects);
    gt_engine_close(&engine, status != GT_OK ? "failed" : gt_engine_interrupted() ? "interrupted" : "done");
    return gt_engine_interrupted() ? 130 : code;
}
