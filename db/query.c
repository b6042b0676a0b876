/* Asking the store. What comes out has been range-checked: file contents are untrusted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Runs a query for one trial. A row that makes no sense is no reason not to try again. */
static gt_status find_one(gt_store *store, gt_bind *bind, bool *found, gt_trial *trial)
{
    const int code = gt_sql_step(store, bind);
    gt_take take = {.row = bind->statement, .bad = code != SQLITE_ROW};
    gt_trial row;
    if (!take.bad)
        gt_take_trial(&take, &row);
    const gt_status status = gt_sql_done(store, bind, code);
    if (status != GT_OK)
        return status;
    *found = !take.bad;
    if (*found)
        *trial = row;
    return GT_OK;
}

gt_status gt_store_find_trial(gt_store *store, int64_t gpu, int64_t problem, const gt_kernel *kernel, bool *found,
                              gt_trial *trial)
{
    bool known = false;
    int64_t id = 0;
    gt_kernel_row row = {0};
    gt_bind bind = gt_sql_start(
        store, "SELECT " GT_TRIAL_COLUMNS " FROM trial t WHERE t.id = (SELECT c.trial FROM (" GT_CONVICTIONS ") c"
               " WHERE c.source_hash = ?1 AND c.nvrtc = ?2 AND c.arch = ?3 ORDER BY c.tried_at DESC LIMIT 1)");
    gt_bind_text(&bind, kernel->source_hash, sizeof kernel->source_hash);
    gt_bind_text(&bind, kernel->nvrtc, sizeof kernel->nvrtc);
    gt_bind_text(&bind, kernel->arch, sizeof kernel->arch);
    gt_status status = find_one(store, &bind, found, trial);
    if (status != GT_OK || *found)
        return status;
    status = gt_kernel_find(store, kernel, &known, &id);
    if (status == GT_OK && known)
        status = gt_kernel_read(store, id, &row);
    if (status != GT_OK || !row.intact) /* a damaged row is mended by trying again */
        return status;
    bind = gt_sql_start(
        store, "SELECT " GT_TRIAL_COLUMNS " FROM trial t WHERE t.id = (SELECT id FROM"
               " (SELECT s.id, s.tried_at FROM trial s WHERE s.kernel = ?1 AND s.problem = ?2 AND s.gpu = ?3"
               " AND s.stage = 'screen' AND s.outcome IN " GT_NO_BLAME " AND NOT " GT_MACHINE_FAILED("s") " UNION ALL"
               " SELECT s.id, s.tried_at FROM trial s WHERE s.kernel = ?1 AND s.outcome = 'compile_error'"
               " AND NOT " GT_MACHINE_FAILED("s") ")"
               " ORDER BY tried_at DESC LIMIT 1)");
    gt_bind_int(&bind, id);
    gt_bind_int(&bind, problem);
    gt_bind_int(&bind, gpu);
    return find_one(store, &bind, found, trial);
}

gt_status gt_store_find_conditions(gt_store *store, int64_t run, gt_conditions *out)
{
    gt_conditions found = {0};
    gt_bind bind =
        gt_sql_start(store, "SELECT substr(driver, 1, 31), substr(nvrtc, 1, 31), substr(program, 1, 31) FROM run"
                            " WHERE id = ?");
    gt_bind_int(&bind, run);
    const int code = gt_sql_step(store, &bind);
    gt_take take = {.row = bind.statement};
    if (code == SQLITE_ROW) {
        gt_take_text(&take, found.driver, sizeof found.driver);
        gt_take_text(&take, found.nvrtc, sizeof found.nvrtc);
        gt_take_text(&take, found.program, sizeof found.program);
    }
    const gt_status status = gt_sql_done(store, &bind, code);
    if (status == GT_OK)
        *out = found;
    return status;
}

/* Of "13.0 580.159.04" rows of before have the first word only. */
static bool same_driver(const char *a, const char *b)
{
    const size_t cuda = strcspn(a, " ");
    return cuda == strcspn(b, " ") && strncmp(a, b, cuda) == 0 && (!a[cuda] || !b[cuda] || strcmp(a, b) == 0);
}

#define SAME_CLOCK 1.02 /* times the highest clock that a GPU may be read at */

const char *gt_conditions_compare(const gt_conditions *then, const gt_conditions *now, char text[GT_CONDITIONS_TEXT])
{
    const struct {
        const char *name, *then, *now;
    } parts[] = {{"driver", then->driver, now->driver},
                 {"NVRTC", then->nvrtc, now->nvrtc},
                 {"gemmtune", then->program, now->program}};
    text[0] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && !*text; i++)
        if (*parts[i].then && *parts[i].now &&
            !(i == 0 ? same_driver(then->driver, now->driver) : strcmp(parts[i].then, parts[i].now) == 0))
            snprintf(text, GT_CONDITIONS_TEXT, "%s %s, now %s", parts[i].name, parts[i].then, parts[i].now);
    if (!*text && now->clock_mhz > 0 && then->clock_mhz > SAME_CLOCK * now->clock_mhz)
        snprintf(text, GT_CONDITIONS_TEXT, "an SM clock of %.0f MHz, now %.0f at most", then->clock_mhz, now->clock_mhz);
    return text;
}

/* Whether a query has a row. */
static gt_status find_any(gt_store *store, gt_bind *bind, bool *found)
{
    const int code = gt_sql_step(store, bind);
    const gt_status status = gt_sql_done(store, bind, code);
    if (status == GT_OK)
        *found = code == SQLITE_ROW;
    return status;
}

gt_status gt_store_find_searched(gt_store *store, int64_t gpu, int64_t problem, const char *search, bool *found)
{
    gt_bind bind = gt_sql_start(store, "SELECT 1 FROM searched WHERE gpu = ?1 AND problem = ?2 AND search = ?3");
    gt_bind_int(&bind, gpu);
    gt_bind_int(&bind, problem);
    gt_bind_text(&bind, search, GT_HASH_LENGTH);
    return find_any(store, &bind, found);
}

gt_status gt_store_has_types(gt_store *store, const gt_types *types, bool *has)
{
    const char *math = gt_math_name(types->math);
    gt_bind bind = gt_sql_start(store, "SELECT 1 FROM problem WHERE type = ?1 AND math = ?2 LIMIT 1");
    gt_bind_text(&bind, types->name, strlen(types->name) + 1);
    gt_bind_text(&bind, math, strlen(math) + 1);
    return find_any(store, &bind, has);
}

/* Runs a query for one number; 0 where there is none, or none that makes sense. */
static gt_status find_real(gt_store *store, gt_bind *bind, double *value)
{
    const int code = gt_sql_step(store, bind);
    gt_take take = {.row = bind->statement};
    const double found = code == SQLITE_ROW ? gt_take_real(&take, 0, GT_LONGEST_US, 0) : 0;
    const gt_status status = gt_sql_done(store, bind, code);
    if (status == GT_OK)
        *value = found;
    return status;
}

gt_status gt_store_find_baseline(gt_store *store, int64_t gpu, int64_t problem, double *us)
{
    gt_bind bind = gt_sql_start(store, "SELECT " GT_BASELINE_US("?1", "?2", ""));
    gt_bind_int(&bind, problem);
    gt_bind_int(&bind, gpu);
    return find_real(store, &bind, us);
}

gt_status gt_store_find_peak(gt_store *store, const gt_device *device, const gt_types *types, double *tflops)
{
    gt_bind bind = gt_sql_start(store, "SELECT p.tflops FROM peak p JOIN gpu g ON g.id = p.gpu WHERE " GT_SAME_GPU
                                       " AND p.type = ? AND p.math = ? AND p.source = 'measured'"
                                       " ORDER BY g.id LIMIT 1");
    gt_bind_gpu(&bind, device);
    gt_bind_text(&bind, types->name, GT_ANY_LENGTH);
    gt_bind_text(&bind, gt_math_name(types->math), GT_ANY_LENGTH);
    return find_real(store, &bind, tflops);
}

gt_status gt_store_find_bandwidth(gt_store *store, const gt_device *device, double *copy_tbs)
{
    gt_bind bind =
        gt_sql_start(store, "SELECT b.copy_tbs FROM bandwidth b JOIN gpu g ON g.id = b.gpu WHERE " GT_SAME_GPU
                            " ORDER BY g.id LIMIT 1");
    gt_bind_gpu(&bind, device);
    return find_real(store, &bind, copy_tbs);
}

/* Binds and runs a prepared query; what a row needs is allocated once by the caller. */
static gt_status hand_out(gt_store *store, gt_bind *bind, const char *const *parameters, const char **names,
                          const char **values, gt_store_row *row, void *data)
{
    const int columns = sqlite3_column_count(bind->statement);
    int code;
    for (; parameters && *parameters; parameters++)
        gt_bind_text(bind, *parameters, GT_ANY_LENGTH);
    while ((code = gt_sql_step(store, bind)) == SQLITE_ROW) {
        for (int i = 0; i < columns; i++) {
            names[i] = sqlite3_column_name(bind->statement, i);
            values[i] = (const char *)sqlite3_column_text(bind->statement, i);
            if (!names[i] || (!values[i] && sqlite3_column_type(bind->statement, i) != SQLITE_NULL))
                return gt_fail_memory();
        }
        if (row(data, columns, names, values) != 0)
            break;
    }
    return gt_sql_done(store, bind, code);
}

/* Queries see the views of this program: those of the file may be another version's, or never end. */
static gt_status place_views(gt_store *store)
{
    const gt_status status = store->has_views ? GT_OK : gt_migrate_views(store, "TEMP VIEW IF NOT EXISTS");
    store->has_views = status == GT_OK;
    return status;
}

gt_status gt_store_query(gt_store *store, const char *sql, const char *const *parameters, gt_store_row *row, void *data)
{
    gt_bind bind = {0};
    const char **texts = NULL;
    gt_status status = place_views(store);
    if (status != GT_OK)
        return status;
    bind.code = gt_sql_prepare(store, sql, &bind.statement);
    if (bind.code == SQLITE_ERROR)
        return gt_fail(GT_ERROR_INVALID, "%s: %s", store->path, sqlite3_errmsg(store->db));
    if (bind.code != SQLITE_OK)
        return gt_sql_fail(store, bind.code);
    const int columns = bind.statement ? sqlite3_column_count(bind.statement) : 0;
    if (columns == 0 || !sqlite3_stmt_readonly(bind.statement))
        status = gt_fail(GT_ERROR_INVALID, "%s: only queries can be run here", store->path);
    else if (!(texts = calloc(2 * (size_t)columns, sizeof *texts)))
        status = gt_fail_memory();
    else
        status = hand_out(store, &bind, parameters, texts, texts + columns, row, data);
    free(texts);
    sqlite3_finalize(bind.statement);
    return status;
}
