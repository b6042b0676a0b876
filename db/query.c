/* Asking the store. What comes out has been range-checked: a file is somebody's word. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define LONGEST_US 1e12 /* eleven days */

#define TRIAL_COLUMNS                                                                                        \
    "t.outcome, t.stage, t.detail, t.us, t.us_min, t.us_spread, t.us_cold, t.samples, t.stopped_early, t.timing," \
    " t.clock_mhz, t.error, t.margin, t.registers, t.spills"

static void take_trial(gt_take *take, gt_trial *trial)
{
    char outcome[32], stage[8], timing[16];
    *trial = (gt_trial){0};
    gt_take_text(take, outcome, sizeof outcome);
    gt_take_text(take, stage, sizeof stage);
    gt_take_text(take, trial->detail, sizeof trial->detail);
    trial->us = gt_take_real(take, 0, LONGEST_US, 0);
    trial->us_min = gt_take_real(take, 0, LONGEST_US, 0);
    trial->us_spread = gt_take_real(take, 0, HUGE_VAL, 0);
    trial->us_cold = gt_take_real(take, 0, LONGEST_US, 0);
    trial->samples = (int)gt_take_int(take, 0, INT_MAX);
    trial->stopped_early = gt_take_int(take, 0, 1) != 0;
    gt_take_text(take, timing, sizeof timing);
    trial->clock_mhz = gt_take_real(take, 0, 1e6, 0);
    trial->error = gt_take_real(take, 0, HUGE_VAL, NAN);
    trial->margin = gt_take_real(take, 0, HUGE_VAL, -1);
    trial->registers = (int)gt_take_int(take, 0, INT_MAX);
    trial->spills = (int)gt_take_int(take, 0, INT_MAX);
    trial->stage = strcmp(stage, "race") == 0 ? GT_STAGE_RACE : GT_STAGE_SCREEN;
    trial->modelled = strcmp(timing, "measured") != 0; /* what is not said to be measured never passes for it */
    if (!gt_outcome_parse(outcome, &trial->outcome))
        take->bad = true;
}

gt_status gt_store_find_trial(gt_store *store, int64_t gpu, int64_t problem, const gt_kernel *kernel, bool *found,
                              gt_trial *trial)
{
    bool known = false;
    int64_t id = 0;
    gt_status status = gt_store_find_kernel(store, kernel, &known, &id);
    if (status != GT_OK)
        return status;
    if (!known) {
        *found = false;
        return GT_OK;
    }
    gt_bind bind = gt_sql_start(
        store, "SELECT " TRIAL_COLUMNS " FROM trial t WHERE t.id = (SELECT max(id) FROM"
               " (SELECT max(id) AS id FROM trial WHERE kernel = ?1 AND problem = ?2 AND gpu = ?3 AND stage = 'screen'"
               " UNION ALL SELECT max(id) FROM trial WHERE kernel = ?1 AND outcome = 'compile_error'))");
    gt_bind_int(&bind, id);
    gt_bind_int(&bind, problem);
    gt_bind_int(&bind, gpu);
    const int code = gt_sql_step(store, &bind);
    gt_take take = {.row = bind.statement, .bad = code != SQLITE_ROW};
    gt_trial row;
    if (!take.bad)
        take_trial(&take, &row);
    status = gt_sql_done(store, &bind, code);
    if (status != GT_OK)
        return status;
    *found = !take.bad; /* a row that makes no sense is no reason not to try again */
    if (*found)
        *trial = row;
    return GT_OK;
}

gt_status gt_store_find_searched(gt_store *store, int64_t gpu, int64_t problem, const char *search, bool *found)
{
    gt_bind bind = gt_sql_start(store, "SELECT 1 FROM searched WHERE gpu = ?1 AND problem = ?2 AND search = ?3");
    gt_bind_int(&bind, gpu);
    gt_bind_int(&bind, problem);
    gt_bind_text(&bind, search, GT_HASH_LENGTH);
    const int code = gt_sql_step(store, &bind);
    const gt_status status = gt_sql_done(store, &bind, code);
    if (status == GT_OK)
        *found = code == SQLITE_ROW;
    return status;
}

/* Runs a query for one number; 0 where there is none, or none that makes sense. */
static gt_status find_real(gt_store *store, gt_bind *bind, double *value)
{
    const int code = gt_sql_step(store, bind);
    gt_take take = {.row = bind->statement};
    const double found = code == SQLITE_ROW ? gt_take_real(&take, 0, LONGEST_US, 0) : 0;
    const gt_status status = gt_sql_done(store, bind, code);
    if (status == GT_OK)
        *value = found;
    return status;
}

gt_status gt_store_find_baseline(gt_store *store, int64_t gpu, int64_t problem, double *us)
{
    gt_bind bind = gt_sql_start(store, "SELECT min(us) FROM (SELECT us, max(id) FROM baseline WHERE problem = ?1"
                                       " AND gpu = ?2 AND outcome = 'ok' AND us IS NOT NULL GROUP BY name)");
    gt_bind_int(&bind, problem);
    gt_bind_int(&bind, gpu);
    return find_real(store, &bind, us);
}

gt_status gt_store_find_peak(gt_store *store, const gt_device *device, const char *types, double *tflops)
{
    gt_bind bind = gt_sql_start(store, "SELECT p.tflops FROM peak p JOIN gpu g ON g.id = p.gpu WHERE " GT_SAME_GPU
                                       " AND p.type = ? AND p.source = 'measured' ORDER BY g.id LIMIT 1");
    gt_bind_gpu(&bind, device);
    gt_bind_text(&bind, types, GT_ANY_LENGTH);
    return find_real(store, &bind, tflops);
}

gt_status gt_store_find_bandwidth(gt_store *store, const gt_device *device, double *copy_tbs)
{
    gt_bind bind = gt_sql_start(store, "SELECT b.copy_tbs FROM bandwidth b JOIN gpu g ON g.id = b.gpu WHERE " GT_SAME_GPU
                                       " ORDER BY g.id LIMIT 1");
    gt_bind_gpu(&bind, device);
    return find_real(store, &bind, copy_tbs);
}

/* Limits as launch.c has them: of what any GPU allows. */
static void take_kernel(gt_take *take, gt_kernel *kernel)
{
    *kernel = (gt_kernel){0};
    gt_take_text(take, kernel->family, sizeof kernel->family);
    gt_take_text(take, kernel->params, sizeof kernel->params);
    gt_take_text(take, kernel->source_hash, sizeof kernel->source_hash);
    gt_take_text(take, kernel->nvrtc, sizeof kernel->nvrtc);
    gt_take_text(take, kernel->arch, sizeof kernel->arch);
    kernel->tile_m = (int)gt_take_int(take, 1, 1 << 16);
    kernel->tile_n = (int)gt_take_int(take, 1, 1 << 16);
    kernel->split_k = (int)gt_take_int(take, 1, 65535);
    kernel->threads = (int)gt_take_int(take, 1, 1024);
    kernel->smem_bytes = (int)gt_take_int(take, 0, 1 << 20);
    kernel->cluster = (int)gt_take_int(take, 1, 16);
    kernel->blocks = (int)gt_take_int(take, 0, 1 << 16);
    kernel->repack = (int)gt_take_int(take, 0, 3);
    kernel->early = gt_take_int(take, 0, 1) != 0;
    kernel->ws_tile = gt_take_int(take, 0, 1ll << 32);
    kernel->deterministic = gt_take_int(take, 0, 1) != 0;
    kernel->registers = (int)gt_take_int(take, 0, 255);
    kernel->spills = (int)gt_take_int(take, 0, INT_MAX);
}

/* Sizes and alignment; all else a row shares with the problem it was asked for. */
static void take_problem(gt_take *take, const gt_class *like, gt_problem *problem)
{
    gt_gemm gemm = gt_class_gemm(like, 0, 0, 0);
    gemm.m = gt_take_int(take, 0, INT64_MAX);
    gemm.n = gt_take_int(take, 0, INT64_MAX);
    gemm.k = gt_take_int(take, 0, INT64_MAX);
    gemm.batch = gt_take_int(take, 1, INT64_MAX);
    gemm.align = (int)gt_take_int(take, 1, 16);
    if (take->bad || gt_problem_init(&gemm, problem) != GT_OK)
        take->bad = true;
    else
        problem->class.align = gemm.align; /* of the leading dimensions it was tuned with, not of packed ones */
}

static bool take_measured(sqlite3_stmt *row, const gt_class *like, gt_measured *measured)
{
    gt_take take = {.row = row};
    measured->kernel_id = gt_take_int(&take, INT64_MIN, INT64_MAX);
    take_kernel(&take, &measured->kernel);
    take_problem(&take, like, &measured->problem);
    take_trial(&take, &measured->trial);
    measured->same_gpu = gt_take_int(&take, 0, 1) != 0;
    measured->winner = gt_take_int(&take, 0, 1) != 0;
    return !take.bad && measured->trial.us > 0;
}

/*
 * `tried` is every successful trial of a loadable kernel; `ranked` puts first, for each kernel and problem, what is
 * told of them: measured, on this model, the won race, the newest. A problem with any measured time shows no
 * modelled ones: the two cannot be compared.
 */
static const char measured_sql[] =
    "WITH tried AS ("
    " SELECT t.*, g.id IN (SELECT g.id FROM gpu g WHERE " GT_SAME_GPU ") AS same_gpu,"
    "  t.margin IS NOT NULL AND t.id = coalesce("
    "   (SELECT w.id FROM trial w WHERE w.problem = t.problem AND w.gpu = t.gpu AND w.timing = 'measured'"
    "    AND w.margin IS NOT NULL ORDER BY w.id DESC LIMIT 1),"
    "   (SELECT w.id FROM trial w WHERE w.problem = t.problem AND w.gpu = t.gpu AND w.timing = 'modelled'"
    "    AND w.margin IS NOT NULL ORDER BY w.id DESC LIMIT 1)) AS winner"
    " FROM kernel k JOIN trial t ON t.kernel = k.id JOIN gpu g ON g.id = t.gpu JOIN problem p ON p.id = t.problem"
    " WHERE k.arch = ? AND k.cubin IS NOT NULL AND g.arch = k.arch AND p.type = ? AND p.math = ? AND p.layout = ?"
    "  AND p.epilogue = ? AND p.align <= ? AND t.outcome = 'ok' AND t.us IS NOT NULL),"
    " ranked AS ("
    " SELECT *, row_number() OVER (PARTITION BY kernel, problem"
    "   ORDER BY timing = 'modelled', same_gpu DESC, winner DESC, id DESC) AS place,"
    "  min(timing = 'modelled') OVER (PARTITION BY problem) AS only_modelled FROM tried)"
    "SELECT k.id, k.family, k.params, k.source_hash, k.nvrtc, k.arch, k.tile_m, k.tile_n, k.split_k, k.threads,"
    " k.smem_bytes, k.cluster, k.blocks, k.repack, k.early, k.ws_tile, k.deterministic, k.registers, k.spills,"
    " p.m, p.n, p.k, p.batch, p.align,"
    " " TRIAL_COLUMNS ", t.same_gpu, t.winner"
    " FROM ranked t JOIN kernel k ON k.id = t.kernel JOIN problem p ON p.id = t.problem"
    " WHERE t.place = 1 AND (t.timing = 'measured' OR t.only_modelled) ORDER BY t.id DESC";

/* Room for one more at the end of a list. */
static gt_status grow(gt_measured **list, size_t count, size_t *room)
{
    if (count < *room)
        return GT_OK;
    const size_t more = *room ? 2 * *room : 64;
    gt_measured *larger = more <= SIZE_MAX / sizeof **list ? realloc(*list, more * sizeof **list) : NULL;
    if (!larger)
        return gt_fail_memory();
    *list = larger;
    *room = more;
    return GT_OK;
}

gt_status gt_store_find_measured(gt_store *store, const gt_device *device, const gt_class *class,
                                 gt_measured **list, size_t *count)
{
    const gt_types *types = gt_class_types(class);
    gt_measured *rows = NULL;
    size_t room = 0, used = 0;
    gt_status status = GT_OK;
    int code;
    if (!types)
        return gt_fail(GT_ERROR_UNSUPPORTED, "no problem of these types is ever stored");
    gt_bind bind = gt_sql_start(store, measured_sql);
    gt_bind_gpu(&bind, device);
    gt_bind_text(&bind, device->arch, sizeof device->arch);
    gt_bind_text(&bind, types->name, GT_ANY_LENGTH);
    gt_bind_text(&bind, gt_math_name(class->math), GT_ANY_LENGTH);
    gt_bind_text(&bind, gt_class_layout(class), GT_LAYOUT_LENGTH);
    gt_bind_text(&bind, gt_epilogue_name(class->epilogue), GT_ANY_LENGTH);
    gt_bind_int(&bind, class->align);
    while ((code = gt_sql_step(store, &bind)) == SQLITE_ROW) {
        status = grow(&rows, used, &room);
        if (status != GT_OK)
            break;
        used += take_measured(bind.statement, class, &rows[used]);
    }
    const gt_status ended = gt_sql_done(store, &bind, code);
    if (status == GT_OK)
        status = ended;
    if (status != GT_OK) {
        free(rows);
        return status;
    }
    *list = rows;
    *count = used;
    return GT_OK;
}

/* Copies code out of a row and holds it against its hash; an absent one stays NULL. One byte more than the code has,
 * a zero, ends PTX. */
static gt_status take_code(sqlite3_stmt *row, int column, bool *intact, void **bytes, size_t *count)
{
    const int type = sqlite3_column_type(row, column);
    char hash[GT_HASH_LENGTH];
    *intact = type == SQLITE_BLOB || type == SQLITE_NULL;
    if (type != SQLITE_BLOB)
        return GT_OK;
    const void *blob = sqlite3_column_blob(row, column);
    const size_t size = (size_t)sqlite3_column_bytes(row, column);
    const char *stored = (const char *)sqlite3_column_text(row, column + 1);
    char *copy = blob || size == 0 ? malloc(size + 1) : NULL;
    if (!copy)
        return gt_fail_memory();
    if (size > 0)
        memcpy(copy, blob, size);
    copy[size] = '\0';
    gt_hash(copy, size, hash);
    *intact = stored && strcmp(stored, hash) == 0;
    *bytes = copy;
    *count = size;
    return GT_OK;
}

gt_status gt_store_find_code(gt_store *store, int64_t kernel_id, gt_code *code)
{
    gt_code found = {0};
    bool cubin_intact = true, ptx_intact = true;
    void *ptx = NULL;
    char family[GT_FAMILY_LENGTH] = "", params[GT_PARAMS_LENGTH] = "";
    /* Readers asked when they opened it. */
    gt_status status = store->mode == GT_STORE_WRITE ? gt_trust_check(store->path) : GT_OK;
    if (status != GT_OK)
        return status;
    gt_bind bind = gt_sql_start(store, "SELECT family, params, cubin, cubin_hash, ptx, ptx_hash FROM kernel"
                                       " WHERE id = ?");
    gt_bind_int(&bind, kernel_id);
    const int step = gt_sql_step(store, &bind);
    if (step == SQLITE_ROW) {
        gt_take take = {.row = bind.statement};
        gt_take_text(&take, family, sizeof family);
        gt_take_text(&take, params, sizeof params);
        status = take_code(bind.statement, 2, &cubin_intact, &found.cubin, &found.cubin_bytes);
        if (status == GT_OK)
            status = take_code(bind.statement, 4, &ptx_intact, &ptx, &found.ptx_bytes);
        found.ptx = ptx;
    }
    const gt_status ended = gt_sql_done(store, &bind, step);
    if (status == GT_OK)
        status = ended;
    if (status == GT_OK && (!cubin_intact || !ptx_intact))
        status = gt_fail(GT_ERROR_CORRUPT,
                         "%s: the %s of kernel %s (%s) does not match its hash; tune again, which replaces it", store->path,
                         cubin_intact ? "PTX" : "cubin", family, params);
    else if (status == GT_OK && !found.cubin)
        status = gt_fail(GT_ERROR_NOT_TUNED, "%s: kernel %lld has no code stored", store->path, (long long)kernel_id);
    if (status == GT_OK)
        *code = found;
    else
        gt_code_finish(&found);
    return status;
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

gt_status gt_store_query(gt_store *store, const char *sql, const char *const *parameters, gt_store_row *row, void *data)
{
    gt_bind bind = {0};
    gt_status status = GT_OK;
    const char **texts = NULL;
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
