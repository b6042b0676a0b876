/* Putting rows: every function here is one transaction, whole and on the disk when it returns GT_OK. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* The time of a new row: the clock's. Times of one file only grow, also where the clock was set back or a row came from
 * a machine whose clock runs ahead: the order of rows is that of their making. Two milliseconds are at least one,
 * whichever way SQLite rounds. */
#define TIME_FORMAT "'%Y-%m-%d %H:%M:%f'"
#define NEXT_TIME(table, column)                                                                             \
    "max(strftime(" TIME_FORMAT ", 'now'), coalesce(strftime(" TIME_FORMAT ","                               \
    " (SELECT max(" column ") FROM " table "), '+0.002 seconds'), ''))"

void gt_bind_gpu(gt_bind *bind, const gt_device *device)
{
    gt_bind_text(bind, device->name, sizeof device->name);
    gt_bind_int(bind, device->cc);
    gt_bind_int(bind, device->sm_count);
    gt_bind_int(bind, device->memory_bytes);
}

static gt_status find_gpu(gt_store *store, const gt_device *device, bool *found, int64_t *id)
{
    gt_bind bind = gt_sql_start(store, "SELECT g.id FROM gpu g WHERE " GT_SAME_GPU " ORDER BY g.id LIMIT 1");
    gt_bind_gpu(&bind, device);
    return gt_sql_find(store, &bind, found, id);
}

static gt_status insert_gpu(gt_store *store, const gt_device *device, int64_t *id)
{
    gt_bind bind = gt_sql_start(store, "INSERT INTO gpu (name, cc, sm_count, memory_bytes, arch, clock_khz, l2_bytes,"
                                       " smem_limit) VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    gt_bind_gpu(&bind, device);
    gt_bind_text(&bind, device->arch, sizeof device->arch);
    gt_bind_int(&bind, device->clock_khz);
    gt_bind_int(&bind, device->l2_bytes);
    gt_bind_int(&bind, device->smem_limit);
    const gt_status status = gt_sql_run(store, &bind);
    *id = sqlite3_last_insert_rowid(store->db);
    return status;
}

gt_status gt_store_gpu(gt_store *store, const gt_device *device, int64_t *id)
{
    bool found = false;
    int64_t row = 0;
    gt_status status = find_gpu(store, device, &found, &row);
    if (status == GT_OK && !found) {
        status = gt_sql_begin(store);
        if (status != GT_OK)
            return status;
        status = find_gpu(store, device, &found, &row); /* again: now nobody else can put it */
        if (status == GT_OK && !found)
            status = insert_gpu(store, device, &row);
        status = gt_sql_end(store, status);
    }
    if (status == GT_OK)
        *id = row;
    return status;
}

static void bind_problem(gt_bind *bind, const gt_problem *problem)
{
    gt_bind_text(bind, gt_class_types(&problem->class)->name, GT_ANY_LENGTH);
    gt_bind_text(bind, gt_math_name(problem->class.math), GT_ANY_LENGTH);
    gt_bind_text(bind, gt_class_layout(&problem->class), GT_LAYOUT_LENGTH);
    gt_bind_int(bind, problem->m);
    gt_bind_int(bind, problem->n);
    gt_bind_int(bind, problem->k);
    gt_bind_int(bind, problem->batch);
    gt_bind_int(bind, problem->class.align);
    gt_bind_text(bind, gt_epilogue_name(problem->class.epilogue), GT_ANY_LENGTH);
}

gt_status gt_problem_find(gt_store *store, const gt_problem *problem, bool *found, int64_t *id)
{
    gt_bind bind = gt_sql_start(store, "SELECT id FROM problem WHERE type = ? AND math = ? AND layout = ? AND m = ? AND"
                                       " n = ? AND k = ? AND batch = ? AND align = ? AND epilogue = ?");
    bind_problem(&bind, problem);
    return gt_sql_find(store, &bind, found, id);
}

gt_status gt_problem_insert(gt_store *store, const gt_problem *problem, int64_t *id)
{
    gt_bind bind = gt_sql_start(store, "INSERT INTO problem (type, math, layout, m, n, k, batch, align, epilogue)"
                                       " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    bind_problem(&bind, problem);
    const gt_status status = gt_sql_run(store, &bind);
    *id = sqlite3_last_insert_rowid(store->db);
    return status;
}

gt_status gt_store_find_problem(gt_store *store, const gt_problem *problem, bool *found, int64_t *id)
{
    if (!gt_class_types(&problem->class))
        return gt_fail(GT_ERROR_INVALID, "a problem of types that are not offered cannot be stored");
    return gt_problem_find(store, problem, found, id);
}

gt_status gt_store_problem(gt_store *store, const gt_problem *problem, int64_t *id)
{
    bool found = false;
    int64_t row = 0;
    gt_status status = gt_store_find_problem(store, problem, &found, &row);
    if (status == GT_OK && !found) {
        status = gt_sql_begin(store);
        if (status != GT_OK)
            return status;
        status = gt_problem_find(store, problem, &found, &row);
        if (status == GT_OK && !found)
            status = gt_problem_insert(store, problem, &row);
        status = gt_sql_end(store, status);
    }
    if (status == GT_OK)
        *id = row;
    return status;
}

gt_status gt_store_run_begin(gt_store *store, const gt_run *run, int64_t *id)
{
    char seed[24];
    snprintf(seed, sizeof seed, "%" PRIu64, run->seed);
    const char *const texts[] = {run->program, run->driver, run->nvrtc, run->host, run->arguments, seed};
    gt_status status = gt_sql_begin(store);
    if (status != GT_OK)
        return status;
    gt_bind bind = gt_sql_start(store, "INSERT INTO run (program, driver, nvrtc, host, arguments, seed)"
                                       " VALUES (?, ?, ?, ?, ?, ?)");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        gt_bind_text(&bind, texts[i] ? texts[i] : "", GT_ANY_LENGTH);
    status = gt_sql_run(store, &bind);
    const int64_t row = sqlite3_last_insert_rowid(store->db);
    status = gt_sql_end(store, status);
    if (status == GT_OK)
        *id = row;
    return status;
}

gt_status gt_store_run_end(gt_store *store, int64_t run, const char *end)
{
    gt_status status = gt_sql_begin(store);
    if (status != GT_OK)
        return status;
    gt_bind bind = gt_sql_start(store, "UPDATE run SET ending = ?, ended = CURRENT_TIMESTAMP WHERE id = ?");
    gt_bind_text(&bind, end, GT_ANY_LENGTH);
    gt_bind_int(&bind, run);
    status = gt_sql_run(store, &bind);
    if (status == GT_OK && sqlite3_changes(store->db) != 1)
        status = gt_fail(GT_ERROR_INVALID, "%s: no run %lld to end", store->path, (long long)run);
    return gt_sql_end(store, status);
}

/* What trials and baselines share. A reference that was not a number leaves error NULL. */
static void bind_times(gt_bind *bind, const gt_trial *trial)
{
    gt_bind_text(bind, gt_outcome_name(trial->outcome), GT_ANY_LENGTH);
    gt_bind_text(bind, trial->detail, sizeof trial->detail);
    gt_bind_text(bind, trial->modelled ? "modelled" : "measured", GT_ANY_LENGTH);
    gt_bind_positive(bind, trial->us);
    gt_bind_positive(bind, trial->us_min);
    gt_bind_real(bind, trial->us_spread);
    gt_bind_positive(bind, trial->us_cold);
    gt_bind_int(bind, trial->samples);
    gt_bind_positive(bind, trial->clock_mhz);
    gt_bind_real(bind, trial->error);
}

/* A verification has no times: nothing was timed that could be compared with others. Its seed is its own. */
static gt_trial without_times(const gt_trial *trial)
{
    gt_trial checked = *trial;
    checked.us = checked.us_min = checked.us_cold = checked.us_spread = 0;
    checked.margin = -1;
    return checked;
}

static gt_status insert_trial(gt_store *store, const int64_t keys[4], const gt_trial *given)
{
    const gt_trial checked = without_times(given), *trial = given->stage == GT_STAGE_VERIFY ? &checked : given;
    char seed[24];
    snprintf(seed, sizeof seed, "%" PRIu64, trial->seed);
    gt_bind bind = gt_sql_start(
        store, "INSERT INTO trial (run, gpu, problem, kernel, outcome, detail, timing, us, us_min, us_spread, us_cold,"
               " samples, clock_mhz, error, stage, stopped_early, margin, registers, spills, seed, tried_at)"
               " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
               " " NEXT_TIME("trial", "tried_at") ")");
    for (int i = 0; i < 4; i++)
        gt_bind_int(&bind, keys[i]);
    bind_times(&bind, trial);
    gt_bind_text(&bind, gt_stage_name(trial->stage), GT_ANY_LENGTH);
    gt_bind_int(&bind, trial->stopped_early);
    gt_bind_real(&bind, trial->margin >= 0 ? trial->margin : NAN);
    gt_bind_int(&bind, trial->registers);
    gt_bind_int(&bind, trial->spills);
    gt_bind_text(&bind, trial->seed || trial->stage == GT_STAGE_VERIFY ? seed : NULL, sizeof seed);
    return gt_sql_run(store, &bind);
}

/* The class of a problem's row. */
static gt_status find_class(gt_store *store, int64_t problem, gt_class *class)
{
    char text[GT_CLASS_LENGTH];
    gt_bind bind = gt_sql_start(store, "SELECT " GT_PROBLEM_CLASS " FROM problem p WHERE p.id = ?");
    gt_bind_int(&bind, problem);
    const int code = gt_sql_step(store, &bind);
    gt_take take = {.row = bind.statement, .bad = code != SQLITE_ROW};
    if (!take.bad)
        gt_take_text(&take, text, sizeof text);
    const gt_status status = gt_sql_done(store, &bind, code);
    if (status == GT_OK && (take.bad || !gt_class_parse(text, class)))
        return gt_fail(GT_ERROR_INVALID, "%s: no problem %lld, or none that makes sense", store->path,
                       (long long)problem);
    return status;
}

/* A verification that is stored as passed clears its kernel of what it failed before. */
static gt_status open_searches(gt_store *store, int64_t kernel)
{
    gt_bind bind = gt_sql_start(store, GT_OPEN_SEARCHES("?1"));
    gt_bind_int(&bind, kernel);
    return gt_sql_run(store, &bind);
}

gt_status gt_store_put_trial(gt_store *store, int64_t run, int64_t gpu, int64_t problem, const gt_kernel *kernel,
                             const gt_code *code, const gt_trial *trial)
{
    int64_t keys[4] = {run, gpu, problem, 0};
    gt_kernel seen = *kernel;
    gt_class class;
    gt_status status = gt_sql_begin(store);
    if (status != GT_OK)
        return status;
    if (trial->varied)
        seen.facts.deterministic = 0;
    status = find_class(store, problem, &class);
    if (status == GT_OK)
        status = gt_kernel_put(store, &seen, &class, code, &keys[3]);
    if (status == GT_OK)
        status = insert_trial(store, keys, trial);
    if (status == GT_OK && trial->stage == GT_STAGE_VERIFY && trial->outcome == GT_TRIAL_OK)
        status = open_searches(store, keys[3]);
    return gt_sql_end(store, status);
}

gt_status gt_store_put_code(gt_store *store, int64_t problem, const gt_kernel *kernel, const gt_code *code)
{
    int64_t id;
    gt_class class;
    gt_status status = gt_sql_begin(store);
    if (status != GT_OK)
        return status;
    status = find_class(store, problem, &class);
    if (status == GT_OK)
        status = gt_kernel_put(store, kernel, &class, code, &id);
    return gt_sql_end(store, status);
}

gt_status gt_store_put_baseline(gt_store *store, int64_t run, int64_t gpu, int64_t problem, const char *name,
                                const char *version, const gt_trial *trial)
{
    gt_status status = gt_sql_begin(store);
    if (status != GT_OK)
        return status;
    gt_bind bind = gt_sql_start(
        store, "INSERT INTO baseline (run, gpu, problem, name, version, outcome, detail, timing, us, us_min, us_spread,"
               " us_cold, samples, clock_mhz, error, measured_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
               " " NEXT_TIME("baseline", "measured_at") ")");
    gt_bind_int(&bind, run);
    gt_bind_int(&bind, gpu);
    gt_bind_int(&bind, problem);
    gt_bind_text(&bind, name, GT_ANY_LENGTH);
    gt_bind_text(&bind, version, GT_ANY_LENGTH);
    bind_times(&bind, trial);
    return gt_sql_end(store, gt_sql_run(store, &bind));
}

gt_status gt_store_put_searched(gt_store *store, int64_t run, int64_t gpu, int64_t problem, const char *search)
{
    gt_status status = gt_sql_begin(store);
    if (status != GT_OK)
        return status;
    gt_bind bind =
        gt_sql_start(store, "INSERT OR IGNORE INTO searched (run, gpu, problem, search) VALUES (?, ?, ?, ?)");
    gt_bind_int(&bind, run);
    gt_bind_int(&bind, gpu);
    gt_bind_int(&bind, problem);
    gt_bind_text(&bind, search, GT_ANY_LENGTH);
    return gt_sql_end(store, gt_sql_run(store, &bind));
}

gt_status gt_store_put_peak(gt_store *store, int64_t gpu, const gt_types *types, double tflops, const char *source)
{
    gt_status status = gt_sql_begin(store);
    if (status != GT_OK)
        return status;
    gt_bind bind = gt_sql_start(
        store, "INSERT INTO peak (gpu, type, math, tflops, source) VALUES (?, ?, ?, ?, ?)"
               " ON CONFLICT (gpu, type, math) DO UPDATE SET tflops = excluded.tflops, source = excluded.source"
               " WHERE peak.source <> 'measured' OR excluded.source = 'measured'");
    gt_bind_int(&bind, gpu);
    gt_bind_text(&bind, types->name, GT_ANY_LENGTH);
    gt_bind_text(&bind, gt_math_name(types->math), GT_ANY_LENGTH);
    gt_bind_real(&bind, tflops);
    gt_bind_text(&bind, source, GT_ANY_LENGTH);
    return gt_sql_end(store, gt_sql_run(store, &bind));
}

gt_status gt_store_put_bandwidth(gt_store *store, int64_t gpu, double copy_tbs)
{
    gt_status status = gt_sql_begin(store);
    if (status != GT_OK)
        return status;
    gt_bind bind = gt_sql_start(store, "INSERT INTO bandwidth (gpu, copy_tbs) VALUES (?, ?)"
                                       " ON CONFLICT (gpu) DO UPDATE SET copy_tbs = excluded.copy_tbs");
    gt_bind_int(&bind, gpu);
    gt_bind_real(&bind, copy_tbs);
    return gt_sql_end(store, gt_sql_run(store, &bind));
}
