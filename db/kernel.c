/* Kernels in the store: a row with the launch facts and the code, and a row for each parameter. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* The facts' columns, of all and of those that tell kernels apart, made from their rows. */
#define COLUMN(name, ...) ", " #name
#define MARK(name, ...)   ", ?"
#define KEY_CONDITION(name, column, low, high, absent, param, key, format) KEY_##key(name)
#define KEY_true(name)    " AND " #name " = ?"
#define KEY_false(name)

static const char find_sql[] =
    "SELECT id FROM kernel WHERE source_hash = ? AND nvrtc = ? AND arch = ?" GT_FACTS(KEY_CONDITION);
static const char insert_sql[] =
    "INSERT INTO kernel (source_hash, nvrtc, arch, family, registers, spills" GT_FACTS(COLUMN) ")"
    " VALUES (?, ?, ?, ?, ?, ?" GT_FACTS(MARK) ")";
static const char read_sql[] =
    "SELECT source_hash, nvrtc, arch, family, registers, spills" GT_FACTS(COLUMN) " FROM kernel WHERE id = ?";

static void bind_identity(gt_bind *bind, const gt_kernel *kernel)
{
    gt_bind_text(bind, kernel->source_hash, sizeof kernel->source_hash);
    gt_bind_text(bind, kernel->nvrtc, sizeof kernel->nvrtc);
    gt_bind_text(bind, kernel->arch, sizeof kernel->arch);
}

gt_status gt_kernel_find(gt_store *store, const gt_kernel *kernel, bool *found, int64_t *id)
{
    gt_bind bind = gt_sql_start(store, find_sql);
    bind_identity(&bind, kernel);
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        if (gt_fact_rows[i].key)
            gt_bind_int(&bind, gt_fact_value(&kernel->facts, i));
    return gt_sql_find(store, &bind, found, id);
}

static gt_status insert_params(gt_store *store, int64_t id, const gt_params *params)
{
    gt_status status = GT_OK;
    for (int64_t i = 0; status == GT_OK && i < params->count; i++) {
        gt_bind bind = gt_sql_start(store, "INSERT INTO kernel_param (kernel, place, name, value) VALUES (?, ?, ?, ?)");
        gt_bind_int(&bind, id);
        gt_bind_int(&bind, i);
        gt_bind_text(&bind, params->list[i].name, sizeof params->list[i].name);
        gt_bind_int(&bind, params->list[i].value);
        status = gt_sql_run(store, &bind);
    }
    return status;
}

static gt_status insert_kernel(gt_store *store, const gt_kernel *kernel, int64_t *id)
{
    gt_bind bind = gt_sql_start(store, insert_sql);
    bind_identity(&bind, kernel);
    gt_bind_text(&bind, kernel->family, sizeof kernel->family);
    gt_bind_int(&bind, kernel->registers);
    gt_bind_int(&bind, kernel->spills);
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        gt_bind_int(&bind, gt_fact_value(&kernel->facts, i));
    const gt_status status = gt_sql_run(store, &bind);
    *id = sqlite3_last_insert_rowid(store->db);
    return status == GT_OK ? insert_params(store, *id, &kernel->params) : status;
}

/* What shows only when a kernel runs, which may be after its first trial: registers once it is loaded, and that it is
 * not deterministic, for good. */
static gt_status update_kernel(gt_store *store, int64_t id, const gt_kernel *kernel)
{
    gt_bind bind = gt_sql_start(
        store, "UPDATE kernel SET registers = iif(?1 > 0, ?1, registers), spills = iif(?1 > 0, ?2, spills),"
               " deterministic = min(deterministic, ?3) WHERE id = ?4 AND"
               " (?1 > 0 AND (registers <> ?1 OR spills <> ?2) OR deterministic > ?3)");
    gt_bind_int(&bind, kernel->registers);
    gt_bind_int(&bind, kernel->spills);
    gt_bind_int(&bind, kernel->facts.deterministic);
    gt_bind_int(&bind, id);
    return gt_sql_run(store, &bind);
}

/* Compared with what is there, so that damaged code is replaced by the code that this trial ran. */
static gt_status update_code(gt_store *store, int64_t id, const gt_code *code)
{
    char cubin_hash[GT_HASH_LENGTH], ptx_hash[GT_HASH_LENGTH];
    if (code->cubin)
        gt_hash(code->cubin, code->cubin_bytes, cubin_hash);
    if (code->ptx)
        gt_hash(code->ptx, code->ptx_bytes, ptx_hash);
    gt_bind bind = gt_sql_start(
        store, "UPDATE kernel SET cubin = coalesce(?1, cubin), cubin_hash = coalesce(?2, cubin_hash),"
               " ptx = coalesce(?3, ptx), ptx_hash = coalesce(?4, ptx_hash) WHERE id = ?5 AND"
               " (cubin IS NOT coalesce(?1, cubin) OR ptx IS NOT coalesce(?3, ptx)"
               " OR cubin_hash IS NOT coalesce(?2, cubin_hash) OR ptx_hash IS NOT coalesce(?4, ptx_hash))");
    gt_bind_blob(&bind, code->cubin, code->cubin_bytes);
    gt_bind_text(&bind, code->cubin ? cubin_hash : NULL, sizeof cubin_hash);
    gt_bind_blob(&bind, code->ptx, code->ptx_bytes);
    gt_bind_text(&bind, code->ptx ? ptx_hash : NULL, sizeof ptx_hash);
    gt_bind_int(&bind, id);
    return gt_sql_run(store, &bind);
}

gt_status gt_kernel_put(gt_store *store, const gt_kernel *kernel, const gt_code *code, int64_t *id)
{
    bool found = false;
    gt_status status = gt_kernel_find(store, kernel, &found, id);
    if (status == GT_OK)
        status = found ? update_kernel(store, *id, kernel) : insert_kernel(store, kernel, id);
    if (status == GT_OK && code)
        status = update_code(store, *id, code);
    return status;
}

static gt_status read_params(gt_store *store, int64_t id, bool *good, gt_params *params)
{
    gt_bind bind = gt_sql_start(store, "SELECT name, value FROM kernel_param WHERE kernel = ? ORDER BY place");
    int code;
    gt_bind_int(&bind, id);
    params->count = 0;
    while ((code = gt_sql_step(store, &bind)) == SQLITE_ROW) {
        char name[GT_PARAM_NAME];
        gt_take take = {.row = bind.statement};
        gt_take_text(&take, name, sizeof name);
        const int64_t value = gt_take_int(&take, INT64_MIN, INT64_MAX);
        if (take.bad || gt_params_add(params, name, value) != GT_OK)
            *good = false;
    }
    return gt_sql_done(store, &bind, code);
}

gt_status gt_kernel_read(gt_store *store, int64_t id, bool *good, gt_kernel *kernel)
{
    gt_bind bind = gt_sql_start(store, read_sql);
    gt_bind_int(&bind, id);
    const int code = gt_sql_step(store, &bind);
    gt_take take = {.row = bind.statement, .bad = code != SQLITE_ROW};
    *kernel = (gt_kernel){0};
    if (!take.bad) {
        gt_take_text(&take, kernel->source_hash, sizeof kernel->source_hash);
        gt_take_text(&take, kernel->nvrtc, sizeof kernel->nvrtc);
        gt_take_text(&take, kernel->arch, sizeof kernel->arch);
        gt_take_text(&take, kernel->family, sizeof kernel->family);
        kernel->registers = (int)gt_take_int(&take, 0, 255);
        kernel->spills = (int)gt_take_int(&take, 0, INT_MAX);
        for (size_t i = 0; i < GT_FACT_COUNT; i++)
            *gt_fact(&kernel->facts, i) = gt_take_int(&take, gt_fact_rows[i].low, gt_fact_rows[i].high);
    }
    *good = !take.bad;
    const gt_status status = gt_sql_done(store, &bind, code);
    return status == GT_OK && *good ? read_params(store, id, good, &kernel->params) : status;
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

/* Says which kernel's code is damaged. */
static gt_status fail_corrupt(gt_store *store, int64_t id, const char *what)
{
    char text[GT_PARAMS_TEXT];
    gt_kernel kernel;
    bool good;
    if (gt_kernel_read(store, id, &good, &kernel) != GT_OK)
        kernel = (gt_kernel){0};
    return gt_fail(GT_ERROR_CORRUPT,
                   "%s: the %s of kernel %s (%s) does not match its hash; tune again, which replaces it", store->path,
                   what, kernel.family, gt_params_text(&kernel.params, text));
}

gt_status gt_store_find_code(gt_store *store, int64_t kernel_id, gt_code *code)
{
    gt_code found = {0};
    bool cubin_intact = true, ptx_intact = true;
    void *ptx = NULL;
    /* Readers asked when they opened it. */
    gt_status status = store->mode == GT_STORE_WRITE ? gt_trust_check(store->path) : GT_OK;
    if (status != GT_OK)
        return status;
    gt_bind bind = gt_sql_start(store, "SELECT cubin, cubin_hash, ptx, ptx_hash FROM kernel WHERE id = ?");
    gt_bind_int(&bind, kernel_id);
    const int step = gt_sql_step(store, &bind);
    if (step == SQLITE_ROW) {
        status = take_code(bind.statement, 0, &cubin_intact, &found.cubin, &found.cubin_bytes);
        if (status == GT_OK)
            status = take_code(bind.statement, 2, &ptx_intact, &ptx, &found.ptx_bytes);
        found.ptx = ptx;
    }
    const gt_status ended = gt_sql_done(store, &bind, step);
    if (status == GT_OK)
        status = ended;
    if (status == GT_OK && (!cubin_intact || !ptx_intact))
        status = fail_corrupt(store, kernel_id, cubin_intact ? "PTX" : "cubin");
    else if (status == GT_OK && !found.cubin)
        status = gt_fail(GT_ERROR_NOT_TUNED, "%s: kernel %lld has no code stored", store->path, (long long)kernel_id);
    if (status == GT_OK)
        *code = found;
    else
        gt_code_finish(&found);
    return status;
}
