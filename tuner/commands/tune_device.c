#include "tune_device.h"

#include <stdio.h>
#include <stdlib.h>

#include "../../src/core/status.h"
#include "../fit/fit.h"
#include "../fit/trim.h"
#include "laps.h"
#include "output.h"
#include "tuned.h"
#include "wanted.h"

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

/* Of all types those that some family has a kernel for, here and among the families that were asked for. Of wanted ones
 * the store has a problem: no other type is looked at, as that takes up to a second each. */
static gt_status keep_offered(const gt_engine *engine, gt_options_cli *options)
{
    static const gt_shape any = {256, 256, 256};
    const gt_search_options search_options = {.family = engine->options.family};
    gt_status status = GT_OK;
    size_t kept = 0;
    for (size_t i = 0; status == GT_OK && i < options->type_count; i++) {
        gt_search *search = NULL;
        gt_problem problem;
        bool has = true;
        options->types = options->type_list[i];
        if (options->wanted && ((status = gt_store_has_types(engine->store, options->types, &has)) != GT_OK || !has))
            continue;
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
    if (status == GT_OK && kept == 0 && !options->wanted)
        return gt_fail(GT_ERROR_UNSUPPORTED, "%s has %s configuration for any type on %s",
                       options->family ? options->family : "no family", options->family ? "no" : "a",
                       engine->device.name);
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
static gt_status take_shard(const gt_options_cli *options, const gt_engine *engine, gt_problem *problems, double *shares,
                            size_t *total)
{
    const size_t all = *total;
    const gt_status status = gt_shard_take(&options->shard, engine->driver->soft, problems, shares, total);
    if (status == GT_OK && options->shard.count > 0 && !options->quiet)
        gt_print_note("shard %d/%d: %zu of %zu problems", options->shard.index, options->shard.count, *total, all);
    return status;
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

/* Fits the estimate, by which the library chooses for sizes that nobody tuned, to what was measured of a type. Where all
 * kinds of sizes were tuned, code that others would hardly miss is dropped: a part of a list tells nothing of the
 * rest. */
static gt_status finish_type(const gt_engine *engine, const gt_options_cli *options, const gt_types *types, bool whole)
{
    size_t dropped;
    const gt_status status = gt_fit_stored(engine->store, &engine->device, engine->gpu, types);
    const bool covered = (options->shapes.cover || options->few.cover) && options->shard.count == 0 && whole;
    return status == GT_OK && covered ? gt_trim(engine->store, &engine->device, engine->gpu, types, &dropped) : status;
}

/* Whether a budget or an interruption has left anything out. */
static bool is_cut(const gt_tuned *tuned, size_t count, size_t total)
{
    bool cut = count < total;
    for (size_t i = 0; i < count; i++)
        cut = cut || tuned[i].cut;
    return cut;
}

/* How the run is stored to have ended. */
static const char *ending(gt_status status, const gt_tuned *tuned, size_t count, size_t total)
{
    const bool cut = is_cut(tuned, count, total);
    return status != GT_OK ? "failed" : gt_engine_interrupted() ? "interrupted" : cut ? "budget" : "done";
}

static int take_count(void *data, int count, const char *const *names, const char *const *values)
{
    (void)count, (void)names;
    *(int *)data = values[0] ? atoi(values[0]) : 0;
    return 1;
}

/* What tuners of parts of the list tried, too, since they began. */
static gt_status count_tried(const gt_engine *engine, const char *since, gt_tuned *tuned)
{
    char ids[2][24];
    int64_t problem;
    gt_status status = gt_store_problem(engine->store, &tuned->problem, &problem);
    snprintf(ids[0], sizeof ids[0], "%lld", (long long)problem);
    snprintf(ids[1], sizeof ids[1], "%lld", (long long)engine->gpu);
    const char *const parameters[] = {since, ids[0], ids[1], NULL};
    return status != GT_OK ? status
                           : gt_store_query(engine->store,
                                            "SELECT count(*) FROM trial WHERE tried_at >= ?1 AND problem = ?2 AND"
                                            " gpu = ?3 AND stage = 'screen'", parameters, take_count, &tuned->tried);
}

int gt_tune_device(const gt_options_cli *given, const char *since)
{
    gt_engine engine;
    gt_options_cli kept = *given;
    const gt_options_cli *options = &kept;
    gt_problem *problems = NULL;
    double *shares = NULL;
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
        status = options->wanted ? gt_wanted_problems(&engine, &kept, &problems, &shares, &total)
                                 : list_problems(options, &engine.device, &problems, &total);
    if (status == GT_OK)
        status = take_shard(options, &engine, problems, shares, &total);
    if (status == GT_OK && !(tuned = calloc(total + 1, sizeof *tuned)))
        status = gt_fail_memory();
    for (size_t i = 0; status == GT_OK && total > 0 && i < options->type_count; i++)
        status = gt_engine_find_limits(&engine, options->type_list[i], &limits[i]);
    if (status == GT_OK)
        status = gt_laps_run(&engine, options, problems, shares, total, tuned, &count);
    for (size_t i = 0; status == GT_OK && since && i < count; i++)
        status = count_tried(&engine, since, &tuned[i]);
    for (size_t i = 0; status == GT_OK && i < options->type_count && gt_laps_tried_any(tuned, count); i++)
        status = finish_type(&engine, options, options->type_list[i], !is_cut(tuned, count, total) && !since);
    if (status == GT_ERROR_BUSY && gt_engine_interrupted())
        status = GT_OK; /* a wait that Ctrl-C ended is no failure */
    if (status != GT_OK)
        code = gt_print_failure();
    if (count > 0)
        gt_tuned_print(&engine, options, limits, tuned, count);
    gt_tuned_note_cover(options, tuned, count);
    if (status == GT_OK && count < total && !gt_engine_interrupted() && !options->quiet)
        gt_print_note("the budget ended before %zu of %zu problems; the same command goes on with them", total - count, total);
    if (count > 0 && !options->quiet)
        gt_print_note("stored in %s", gt_store_path(engine.store));
    for (size_t i = 0; i < count; i++)
        if (!tuned[i].won)
            code = 1;
    gt_engine_close(&engine, ending(status, tuned, count, total));
    free(tuned);
    free(shares);
    free(problems);
    return gt_engine_interrupted() ? 130 : code;
}
