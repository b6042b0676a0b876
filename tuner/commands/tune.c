/* gemmtune [tune]: finds the fastest kernel for each shape and stores it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"
#include "options.h"
#include "output.h"
#include "wanted.h"
#include "../claims.h"
#include "../fit.h"
#include "../timer.h"
#include "../tune.h"
#include "../winners.h"
#include "cover.h"

/* Refuses a shape that cannot fit the GPU before anything is tuned. */
static gt_status check_memory(const gt_device *device, const gt_problem *problem)
{
    char name[GT_PROBLEM_NAME_LENGTH];
    const double needed = (double)gt_problem_bytes(problem, GT_A) + (double)gt_problem_bytes(problem, GT_B) +
                          (double)gt_problem_bytes(problem, GT_C);
    if (needed <= 0.9 * (double)device->memory_bytes)
        return GT_OK;
    gt_problem_name(problem, name);
    return gt_fail(GT_ERROR_INVALID, "%s needs %.1f GiB; %s has %.1f GiB", name, needed / (1 << 30), device->name,
                   (double)device->memory_bytes / (1 << 30));
}

/* Of all types those that some family has a kernel for, here and among the families that were asked for. */
static gt_status keep_offered(const gt_engine *engine, gt_options_cli *options)
{
    static const gt_shape any = {256, 256, 256};
    const gt_search_options search_options = {.family = engine->options.family};
    gt_status status = GT_OK;
    size_t kept = 0;
    for (size_t i = 0; status == GT_OK && i < options->type_count; i++) {
        gt_search *search = NULL;
        gt_problem problem;
        options->types = options->type_list[i];
        status = gt_options_problem(options, options->shapes.count > 0 ? &options->shapes.list[0] : &any, &problem);
        if (status == GT_OK)
            status = gt_search_create(&engine->families, &engine->device, &problem, &search_options, &search);
        gt_search_destroy(search);
        if (status == GT_OK)
            options->type_list[kept++] = options->types;
        else if (status == GT_ERROR_UNSUPPORTED)
            status = GT_OK;
    }
    options->type_count = kept;
    if (status == GT_OK && kept == 0)
        return gt_fail(GT_ERROR_UNSUPPORTED, "no family has a configuration for any type on %s", engine->device.name);
    return status;
}

/* Every shape in every type, type by type. */
static gt_status list_problems(const gt_options_cli *options, const gt_device *device, gt_problem **out, size_t *total)
{
    gt_problem *problems;
    gt_status status = gt_options_problems(options, &problems, total);
    if (status != GT_OK)
        return status;
    for (size_t i = 0; status == GT_OK && i < *total; i++)
        status = check_memory(device, &problems[i]);
    if (status == GT_OK)
        *out = problems;
    else
        free(problems);
    return status;
}

/* The part of the list that is this machine's. */
static gt_status take_shard(const gt_options_cli *options, const gt_engine *engine, gt_problem *problems, size_t *total)
{
    const size_t all = *total;
    const gt_status status = gt_shard_take(&options->shard, engine->driver->soft, problems, total);
    if (status == GT_OK && options->shard.count > 0 && !options->quiet)
        gt_print_note("shard %d/%d: %zu of %zu problems", options->shard.index, options->shard.count, *total, all);
    return status;
}

static void print_row(gt_table *table, const gt_options_cli *options, const gt_ceilings *most, const gt_tuned *t)
{
    const double speed = t->won ? gt_problem_flops(&t->problem) / t->trial.us * 1e-6 : 0;
    const double shares[] = {gt_ceilings_peak_percent(most, &t->problem, t->trial.us),
                             gt_ceilings_copy_percent(most, &t->problem, t->trial.us)};
    char shape[GT_OPTIONS_SHAPE], params[GT_PARAMS_TEXT], types[GT_TYPES_TEXT];
    gt_options_shape(options, &t->problem, shape);
    gt_table_text(table, gt_types_text(gt_class_types(&t->problem.class), types));
    gt_table_text(table, shape);
    if (!t->won) {
        for (int i = 0; i < 10; i++)
            gt_table_none(table);
        return;
    }
    gt_table_text(table, t->kernel.family);
    gt_table_text(table, gt_params_text(&t->kernel.params, params));
    gt_table_number(table, "%.1f", t->trial.us);
    gt_table_number(table, "%.2f", speed);
    for (int i = 0; i < 2; i++)
        if (shares[i] > 0)
            gt_table_number(table, "%.1f", shares[i]);
        else
            gt_table_none(table);
    if (t->cublas.outcome == GT_TRIAL_OK && t->cublas.us > 0)
        gt_table_number(table, "%.3f", t->cublas.us / t->trial.us);
    else
        gt_table_none(table);
    if (t->trial.margin >= 0)
        gt_table_number(table, "%.1f", 100 * t->trial.margin);
    else
        gt_table_none(table);
    gt_table_integer(table, t->tried);
    gt_table_text(table, t->trial.modelled ? "modelled" : "measured");
}

/* The cover list has a table of its own only where it was asked for by name. */
static bool is_shown(const gt_options_cli *options, const gt_problem *problem)
{
    return options->shapes_given || !options->shapes.cover || gt_cover_row(problem) < 0;
}

/* What became of the cover list beside the table. */
static void note_cover(const gt_options_cli *options, const gt_tuned *tuned, size_t count)
{
    size_t hidden = 0, won = 0;
    for (size_t i = 0; i < count; i++)
        if (!is_shown(options, &tuned[i].problem)) {
            hidden++;
            won += tuned[i].won;
        }
    if (hidden > 0 && !options->quiet)
        gt_print_note("and %zu of %zu problems of other kinds, layouts and alignments, for sizes that nobody tunes "
                      "(--shapes cover)", won, hidden);
}

static void print_table(const gt_engine *engine, const gt_options_cli *options, const gt_limits *limits,
                        const gt_tuned *tuned, size_t count)
{
    static const gt_column columns[] = {
        {"type", GT_LEFT},     {"shape", GT_LEFT},   {"family", GT_LEFT},  {"configuration", GT_LEFT},
        {"us", GT_RIGHT},      {"TFLOPS", GT_RIGHT}, {"peak %", GT_RIGHT}, {"copy %", GT_RIGHT},
        {"vs cuBLAS", GT_RIGHT}, {"margin %", GT_RIGHT}, {"tried", GT_RIGHT}, {"timing", GT_LEFT},
    };
    char line[GT_LIMITS_LINE];
    gt_table *table = gt_table_create(stdout, options->json, columns, sizeof columns / sizeof columns[0]);
    const gt_types *last = NULL;
    for (size_t i = 0; i < count; i++) {
        const gt_types *types = gt_class_types(&tuned[i].problem.class);
        if (!is_shown(options, &tuned[i].problem))
            continue;
        if (last && types != last)
            gt_table_rule(table);
        last = types;
        print_row(table, options, &gt_limits_find(limits, options->type_count, &tuned[i].problem)->ceilings, &tuned[i]);
    }
    gt_table_finish(table);
    if (options->json)
        return;
    gt_limits_describe(limits, options->type_count, line, sizeof line);
    printf("\n%s: %s\n", engine->device.name, line);
}

/* What somebody should know before a long run. */
static void print_notes(const gt_engine *engine, const gt_options_cli *options)
{
    if (options->quiet)
        return;
    if (gt_store_on_network(engine->store))
        gt_print_note("the database is on a network file system, whose locks may not hold: let one process at a time "
                      "tune into it, or use a local file, --db FILE");
    if (options->random > 0)
        gt_print_note("%d random shapes, seed %llu", options->random, (unsigned long long)options->seed);
}

static void report(gt_tuning *tuning, const gt_tuned *t)
{
    char name[GT_PROBLEM_NAME_LENGTH], params[GT_PARAMS_TEXT], rest[96 + GT_REJECTION_COUNTS] = "";
    char rejected[GT_REJECTION_COUNTS];
    gt_problem_name(&t->problem, name);
    if (t->cublas.outcome == GT_TRIAL_OK && t->won)
        snprintf(rest, sizeof rest, ", %.2f of cuBLAS", t->cublas.us / t->trial.us);
    if (t->winner_us > 0)
        snprintf(rest + strlen(rest), sizeof rest - strlen(rest), ", %.2f of the winner's speed",
                 t->winner_us / t->trial.us);
    gt_rejection_counts(t->rejected, rejected);
    if (rejected[0])
        snprintf(rest + strlen(rest), sizeof rest - strlen(rest), "; rejected: %s", rejected);
    if (t->won)
        gt_progress_line(tuning->progress, "%s: %.2f TFLOPS, %s %s (%d tried, %d known%s)", name,
                         gt_problem_flops(&t->problem) / t->trial.us * 1e-6, t->kernel.family,
                         gt_params_text(&t->kernel.params, params), t->tried, t->skipped, rest);
    else
        gt_progress_line(tuning->progress, "%s: no winner (%d tried, %d known%s)", name, t->tried, t->skipped, rest);
}

/* The problem's share of what is left of the budget. */
static double share_until(const gt_tuning *tuning, size_t problems_left)
{
    const double elapsed = gt_engine_elapsed(tuning->engine), deadline = tuning->deadline;
    return deadline > 0 ? elapsed + (deadline - elapsed) / (double)problems_left : 0;
}

#define CLAIM_S 0.2 /* seconds between two looks at a problem that another tuner works on */

/* Tunes one problem, if it can be claimed or must be waited for; *reached says whether it was. */
static gt_status tune_claimed(gt_tuning *tuning, const gt_problem *problem, bool wait, gt_tuned *tuned, bool *reached)
{
    const gt_engine *engine = tuning->engine;
    int64_t id;
    gt_status status = gt_store_problem(engine->store, problem, &id);
    if (status != GT_OK)
        return status;
    *reached = gt_claims_take(engine->claims, engine->gpu, id);
    if (!*reached && wait) {
        char name[GT_PROBLEM_NAME_LENGTH];
        gt_problem_name(problem, name);
        gt_progress_line(tuning->progress, "%s: another tuner of this database works on it; waiting", name);
    }
    while (!*reached && wait && !gt_engine_interrupted() &&
           (tuning->deadline == 0 || gt_engine_elapsed(engine) < tuning->deadline)) {
        gt_rest(CLAIM_S);
        *reached = gt_claims_take(engine->claims, engine->gpu, id);
    }
    if (*reached) {
        status = gt_tune(tuning, problem, tuned);
        gt_claims_drop(engine->claims, engine->gpu, id);
    }
    return status;
}

/* How a problem is searched, and what its search begins with. One of the cover list is searched quickly where it is
 * the first of its row whose rows are aligned, or not; what won there is tried on the others, and little else. */
static void choose_search(gt_tuning *tuning, gt_winners *winners, bool covers, const gt_problem *problem)
{
    const int row = covers ? gt_cover_row(problem) : -1;
    tuning->effort = tuning->engine->options.effort;
    tuning->seeds = winners->seeds;
    tuning->covering = row >= 0;
    tuning->seed_count = row >= 0 ? gt_winners_of_row(winners, row) : 0;
    const bool aligned = problem->class.align > gt_class_element(&problem->class);
    const bool like = tuning->seed_count > 0 && (aligned || gt_winners_has(winners, row, problem->class.align));
    if (row >= 0 && tuning->effort != GT_EFFORT_FULL)
        tuning->effort = like ? GT_EFFORT_COVER : GT_EFFORT_QUICK;
    if (tuning->seed_count == 0)
        tuning->seed_count = gt_winners_all(winners);
}

/* Whether the time is up. The first problem of a run is never left out. */
static bool is_over(const gt_engine *engine, double deadline, size_t reached)
{
    return gt_engine_interrupted() || (deadline > 0 && reached > 0 && gt_engine_elapsed(engine) >= deadline);
}

/* Tunes the problems, in order but for those that another tuner of the database works on: these come last, and little
 * is left to do for them. *count says how many were reached. */
static gt_status tune_each(gt_tuning *tuning, gt_winners *winners, bool covers, const gt_problem *problems,
                           size_t total, gt_tuned *tuned, size_t *count)
{
    const int before = tuning->state.step; /* problems of other types */
    gt_status status = GT_OK;
    bool *done = calloc(total, sizeof *done);
    if (!done)
        return gt_fail_memory();
    for (size_t turn = 0; status == GT_OK && turn < 2 * total && !is_over(tuning->engine, tuning->deadline, *count); turn++) {
        const size_t i = turn % total;
        gt_tuned *t = &tuned[*count];
        if (done[i])
            continue;
        /* One share more than there are problems: the last lap's. */
        tuning->until = share_until(tuning, total - *count + 1);
        tuning->state.step = before + (int)*count;
        choose_search(tuning, winners, covers, &problems[i]);
        if ((status = tune_claimed(tuning, &problems[i], turn >= total, t, &done[i])) != GT_OK || !done[i])
            continue;
        ++*count;
        report(tuning, t);
        if (t->won)
            gt_winners_add(winners, &t->kernel, &t->problem.class, covers ? gt_cover_row(&t->problem) : -1);
    }
    free(done);
    return status;
}

/* The last lap: every winner of a class on every problem of it. What was tuned first gets what was found last, and the
 * library has measurements of each kernel on many sizes to predict from. */
static gt_status last_lap(gt_tuning *tuning, gt_winners *winners, bool covers, gt_tuned *tuned, size_t count)
{
    tuning->only_seeds = true;
    for (size_t i = 0; i < count && !is_over(tuning->engine, tuning->deadline, count); i++) {
        gt_tuned again;
        choose_search(tuning, winners, covers, &tuned[i].problem);
        tuning->seed_count = gt_winners_of_class(winners, &tuned[i].problem.class);
        if (tuning->seed_count < 2)
            continue;
        tuning->until = share_until(tuning, count - i);
        bool reached;
        const gt_status status = tune_claimed(tuning, &tuned[i].problem, false, &again, &reached);
        if (status != GT_OK)
            return status;
        if (!reached) /* another tuner is on its last lap */
            continue;
        tuned[i].tried += again.tried;
        again.cut = tuned[i].cut = tuned[i].cut || again.cut;
        if (!again.won || gt_params_same(&again.kernel.params, &tuned[i].kernel.params))
            continue;
        again.tried = tuned[i].tried;
        tuned[i] = again;
        report(tuning, &again);
    }
    return GT_OK;
}

/* Whether a run tried anything: all known from runs before, these have had their last lap. */
static bool tried_any(const gt_tuned *tuned, size_t count)
{
    int tried = 0;
    for (size_t i = 0; i < count; i++)
        tried += tuned[i].tried;
    return tried > 0;
}

/* Whether a kernel is out of service. */
static gt_status find_convicted(const gt_engine *engine, const gt_tuned *tuned, bool *convicted)
{
    int64_t id;
    bool found = false;
    gt_trial trial;
    gt_status status = gt_store_problem(engine->store, &tuned->problem, &id);
    if (status == GT_OK)
        status = gt_store_find_trial(engine->store, engine->gpu, id, &tuned->kernel, &found, &trial);
    if (status == GT_OK)
        *convicted = found && gt_outcome_convicts(trial.outcome);
    return status;
}

/* A winner that turned out wrong on a later problem has won nothing: its problems are tuned again, without it, for
 * which a race of what was tried is enough. */
static gt_status replace_convicted(gt_tuning *tuning, gt_tuned *tuned, size_t count)
{
    tuning->only_seeds = false;
    tuning->effort = tuning->engine->options.effort;
    for (size_t i = 0; i < count && !gt_engine_interrupted(); i++) {
        gt_tuned *t = &tuned[i], again = {0};
        bool convicted = false, reached = false;
        gt_status status = t->won ? find_convicted(tuning->engine, t, &convicted) : GT_OK;
        if (status == GT_OK && convicted)
            status = tune_claimed(tuning, &t->problem, true, &again, &reached);
        if (status != GT_OK)
            return status;
        if (!convicted)
            continue;
        again.problem = t->problem;
        again.tried += t->tried;
        *t = again;
        report(tuning, t);
    }
    return GT_OK;
}

/* Why candidates were rejected. A family none of whose candidates passed is told of with its first reason: somebody
 * may have just written it. That is a note, unless it left a problem without a winner. */
static void explain(const gt_rejections *rejections, const gt_options_cli *options, const gt_tuned *tuned, size_t count)
{
    char counts[GT_REJECTION_COUNTS];
    bool lost = false;
    for (size_t i = 0; i < count; i++)
        lost = lost || !tuned[i].won;
    gt_rejection_counts(rejections->counts, counts);
    if (counts[0] && !options->quiet)
        gt_print_note("rejected: %s%s", counts, options->verbose ? "" : " (--verbose says why)");
    for (size_t i = 0; i < rejections->count && (lost || !options->quiet); i++) {
        const gt_family_trials *family = &rejections->families[i];
        if (family->passed == 0)
            gt_print_note("no candidate of %s passed, of %d; the first: %s", family->family, family->tried,
                          family->first);
    }
}

/* Puts the results in the order of the list. */
static void restore_order(const gt_problem *problems, size_t total, gt_tuned *tuned, size_t count)
{
    size_t placed = 0;
    for (size_t i = 0; i < total; i++)
        for (size_t j = placed; j < count; j++)
            if (gt_problem_same(&tuned[j].problem, &problems[i])) {
                const gt_tuned moved = tuned[j];
                tuned[j] = tuned[placed];
                tuned[placed++] = moved;
                break;
            }
}

/* The problems of one type, until the deadline. state->step says how many of others came before. */
static gt_status tune_type(gt_engine *engine, const gt_options_cli *options, double deadline, gt_progress_state *state,
                           const gt_problem *problems, size_t total, gt_tuned *tuned, size_t *count)
{
    gt_winners winners;
    gt_tuning tuning = {.engine = engine, .progress = gt_progress_create(options->quiet), .state = *state,
                        .deadline = deadline, .verbose = options->verbose};
    const bool covers = options->shapes.cover || options->few.cover;
    gt_status status = gt_winners_init(total, &winners);
    if (status == GT_OK)
        status = tune_each(&tuning, &winners, covers, problems, total, tuned, count);
    if (status == GT_OK && tried_any(tuned, *count))
        status = last_lap(&tuning, &winners, covers, tuned, *count);
    if (status == GT_OK)
        status = replace_convicted(&tuning, tuned, *count);
    *state = tuning.state;
    gt_progress_destroy(tuning.progress);
    restore_order(problems, total, tuned, *count);
    explain(&tuning.rejections, options, tuned, *count);
    gt_rejections_finish(&tuning.rejections);
    gt_winners_finish(&winners);
    return status;
}

/* Type by type: what is left of the budget is shared among the problems that are left. */
static gt_status tune_all(gt_engine *engine, const gt_options_cli *options, const gt_problem *problems, size_t total,
                          gt_tuned *tuned, size_t *count)
{
    const double budget = options->budget_s;
    gt_progress_state state = {.steps = (int)total, .budget = budget};
    gt_status status = GT_OK;
    for (size_t i = 0, group; status == GT_OK && i < total && !is_over(engine, budget, *count); i += group) {
        const double elapsed = gt_engine_elapsed(engine);
        size_t more = 0;
        group = gt_options_group(problems + i, total - i);
        const double share = (budget - elapsed) * (double)group / (double)(total - i);
        state.step = (int)i;
        status = tune_type(engine, options, budget > 0 ? elapsed + share : 0, &state, problems + i, group,
                           tuned + *count, &more);
        *count += more;
    }
    return status;
}

/* Fits the estimate, by which the library chooses for sizes that nobody tuned, to what was measured of a type. */
static gt_status fit_estimate(gt_engine *engine, const gt_types *types)
{
    gt_measurements lists[GT_FIT_LISTS] = {0};
    gt_fit fit = {0};
    gt_status status = gt_fit_read(engine->store, &engine->device, types, lists);
    if (status == GT_OK)
        status = gt_fit_init(&engine->device, lists, GT_FIT_LISTS, false, &fit);
    if (status == GT_OK)
        status = gt_fit_store(engine->store, engine->gpu, types, &fit);
    gt_fit_finish(&fit);
    for (int i = 0; i < GT_FIT_LISTS; i++)
        gt_measurements_finish(&lists[i]);
    return status;
}

/* How the run is stored to have ended. */
static const char *ending(gt_status status, const gt_tuned *tuned, size_t count, size_t total)
{
    bool cut = count < total;
    for (size_t i = 0; i < count; i++)
        cut = cut || tuned[i].cut;
    return status != GT_OK ? "failed" : gt_engine_interrupted() ? "interrupted" : cut ? "budget" : "done";
}

int gt_cmd_tune(const gt_options_cli *given)
{
    gt_engine engine;
    gt_options_cli kept = *given;
    const gt_options_cli *options = &kept;
    gt_problem *problems = NULL;
    gt_tuned *tuned = NULL;
    gt_limits limits[GT_TYPES_MOST] = {0};
    size_t total = 0, count = 0;
    int code = 0;
    const gt_engine_options engine_options = gt_options_engine(given);
    gt_status status = gt_engine_open(&engine_options, GT_ENGINE_WRITE, &engine);
    if (status == GT_OK)
        print_notes(&engine, options);
    if (status == GT_OK && given->all_types)
        status = keep_offered(&engine, &kept);
    if (status == GT_OK)
        status = options->wanted ? gt_wanted_problems(&engine, &kept, &problems, &total)
                                 : list_problems(options, &engine.device, &problems, &total);
    if (status == GT_OK)
        status = take_shard(options, &engine, problems, &total);
    if (status == GT_OK && !(tuned = calloc(total + 1, sizeof *tuned)))
        status = gt_fail_memory();
    for (size_t i = 0; status == GT_OK && total > 0 && i < options->type_count; i++)
        status = gt_engine_find_limits(&engine, options->type_list[i], &limits[i]);
    if (status == GT_OK)
        status = tune_all(&engine, options, problems, total, tuned, &count);
    for (size_t i = 0; status == GT_OK && i < options->type_count && tried_any(tuned, count); i++)
        status = fit_estimate(&engine, options->type_list[i]);
    if (status == GT_ERROR_BUSY && gt_engine_interrupted())
        status = GT_OK; /* a wait that Ctrl-C ended is no failure */
    if (status != GT_OK)
        code = gt_print_failure();
    if (count > 0)
        print_table(&engine, options, limits, tuned, count);
    note_cover(options, tuned, count);
    if (status == GT_OK && count < total && !gt_engine_interrupted() && !options->quiet)
        gt_print_note("the budget ended before %zu of %zu problems; the same command goes on with them", total - count, total);
    if (count > 0 && !options->quiet)
        gt_print_note("stored in %s", gt_store_path(engine.store));
    for (size_t i = 0; i < count; i++)
        if (!tuned[i].won)
            code = 1;
    gt_engine_close(&engine, ending(status, tuned, count, total));
    free(tuned);
    free(problems);
    return gt_engine_interrupted() ? 130 : code;
}
