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
    "INSERT INTO kernel (source_hash, nvrtc, arch, family, registers, spills, class" GT_FACTS(COLUMN) ")"
    " VALUES (?, ?, ?, ?, ?, ?, ?" GT_FACTS(MARK) ")";
static const char restore_sql[] =
    "UPDATE kernel SET (source_hash, nvrtc, arch, family, registers, spills, class" GT_FACTS(COLUMN) ") ="
    " (?, ?, ?, ?, ?, ?, ?" GT_FACTS(MARK) "), cubin = NULL, cubin_hash = NULL, ptx = NULL, ptx_hash = NULL"
    " WHERE id = ?";

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

/* All columns but seal and code, in the order of the two statements above. */
static void bind_kernel(gt_bind *bind, const gt_kernel *kernel, const char *class)
{
    bind_identity(bind, kernel);
    gt_bind_text(bind, kernel->family, sizeof kernel->family);
    gt_bind_int(bind, kernel->registers);
    gt_bind_int(bind, kernel->spills);
    gt_bind_text(bind, class, GT_CLASS_LENGTH);
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        gt_bind_int(bind, gt_fact_value(&kernel->facts, i));
}

/* A row of the same code whose seal is broken is this kernel's, or its like's, as it was before the damage: its code is
 * taken out of service. */
static gt_status retire_damaged(gt_store *store, const gt_kernel *kernel)
{
    int64_t id = INT64_MIN;
    bool found = true;
    gt_status status = GT_OK;
    while (status == GT_OK && found) {
        gt_kernel_row row = {.intact = true};
        gt_bind bind = gt_sql_start(store, "SELECT id FROM kernel WHERE source_hash = ? AND nvrtc = ? AND arch = ?"
                                           " AND id > ? AND cubin IS NOT NULL ORDER BY id LIMIT 1");
        bind_identity(&bind, kernel);
        gt_bind_int(&bind, id);
        status = gt_sql_find(store, &bind, &found, &id);
        if (status == GT_OK && found)
            status = gt_kernel_read(store, id, &row);
        if (status != GT_OK || row.intact)
            continue;
        bind = gt_sql_start(store, "UPDATE kernel SET cubin = NULL, cubin_hash = NULL, ptx = NULL, ptx_hash = NULL"
                                   " WHERE id = ?");
        gt_bind_int(&bind, id);
        status = gt_sql_run(store, &bind);
    }
    return status;
}

static gt_status insert_kernel(gt_store *store, const gt_kernel *kernel, const gt_class *class, int64_t *id)
{
    char text[GT_CLASS_LENGTH];
    gt_status status = class ? retire_damaged(store, kernel) : GT_OK;
    if (status != GT_OK)
        return status;
    gt_bind bind = gt_sql_start(store, insert_sql);
    bind_kernel(&bind, kernel, class ? gt_class_text(class, text) : NULL);
    status = gt_sql_run(store, &bind);
    *id = sqlite3_last_insert_rowid(store->db);
    return status == GT_OK ? insert_params(store, *id, &kernel->params) : status;
}

/* Writes a damaged row anew. Nothing of it is believed, so its code goes, until this trial brings it. */
static gt_status restore_kernel(gt_store *store, int64_t id, const gt_kernel *kernel, const gt_class *class)
{
    char text[GT_CLASS_LENGTH];
    gt_bind bind = gt_sql_start(store, restore_sql);
    bind_kernel(&bind, kernel, gt_class_text(class, text));
    gt_bind_int(&bind, id);
    gt_status status = gt_sql_run(store, &bind);
    if (status != GT_OK)
        return status;
    bind = gt_sql_start(store, "DELETE FROM kernel_param WHERE kernel = ?");
    gt_bind_int(&bind, id);
    status = gt_sql_run(store, &bind);
    return status == GT_OK ? insert_params(store, id, &kernel->params) : status;
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

/* Holds a row that is there against what is put. */
static gt_status mend_kernel(gt_store *store, int64_t id, const gt_kernel *kernel, const gt_class *class)
{
    gt_kernel_row row;
    char rendered[GT_CLASS_LENGTH], asked[GT_CLASS_LENGTH];
    const gt_status status = gt_kernel_read(store, id, &row);
    if (status != GT_OK)
        return status;
    if (!row.intact)
        return restore_kernel(store, id, kernel, class);
    if (!gt_class_serves(&row.class, class))
        return gt_fail(GT_ERROR_INVALID, "%s: kernel %lld was rendered for %s and cannot have run %s", store->path,
                       (long long)id, gt_class_text(&row.class, rendered), gt_class_text(class, asked));
    return update_kernel(store, id, kernel);
}

gt_status gt_kernel_put(gt_store *store, const gt_kernel *kernel, const gt_class *class, const gt_code *code,
                        int64_t *id)
{
    bool found = false;
    gt_status status = gt_kernel_find(store, kernel, &found, id);
    if (status == GT_OK && !found)
        status = insert_kernel(store, kernel, class, id);
    else if (status == GT_OK && class)
        status = mend_kernel(store, *id, kernel, class);
    if (status == GT_OK && code)
        status = update_code(store, *id, code);
    return status == GT_OK ? gt_kernel_reseal(store, *id) : status;
}

/* Copies code out of a row and holds it against its hash; an absent one stays NULL. One byte more than the code has,
 * a zero, ends PTX. */
static gt_status take_code(gt_take *take, const char *stored, bool *intact, void **bytes, size_t *count)
{
    const int column = take->at++, type = sqlite3_column_type(take->row, column);
    char hash[GT_HASH_LENGTH];
    *intact = type == SQLITE_NULL && !*stored;
    if (type != SQLITE_BLOB)
        return GT_OK;
    const void *blob = sqlite3_column_blob(take->row, column);
    const size_t size = (size_t)sqlite3_column_bytes(take->row, column);
    char *copy = blob || size == 0 ? malloc(size + 1) : NULL;
    if (!copy)
        return gt_fail_memory();
    if (size > 0)
        memcpy(copy, blob, size);
    copy[size] = '\0';
    gt_hash(copy, size, hash);
    *intact = strcmp(stored, hash) == 0;
    *bytes = copy;
    *count = size;
    return GT_OK;
}

/* The code that stands in the row of the wanted kernel, none in another's, and which part of the row is damaged; NULL: none. */
static gt_status take_sealed_code(sqlite3_stmt *row, const gt_kernel *wanted, gt_code *code, const char **damaged)
{
    gt_take take = {.row = row};
    gt_kernel_row kernel;
    bool cubin_intact = true, ptx_intact = true;
    void *ptx = NULL;
    gt_take_kernel(&take, &kernel);
    if (!kernel.usable) {
        *damaged = "row";
        return GT_OK;
    }
    if (wanted && !gt_kernel_same(wanted, &kernel.kernel))
        return GT_OK;
    gt_status status = take_code(&take, kernel.cubin_hash, &cubin_intact, &code->cubin, &code->cubin_bytes);
    if (status == GT_OK)
        status = take_code(&take, kernel.ptx_hash, &ptx_intact, &ptx, &code->ptx_bytes);
    code->ptx = ptx;
    *damaged = !cubin_intact ? "cubin" : !ptx_intact ? "PTX" : NULL;
    return status;
}

bool gt_store_lacks_code(gt_status status)
{
    return status == GT_ERROR_CORRUPT || status == GT_ERROR_NOT_TUNED;
}

gt_status gt_store_find_code(gt_store *store, int64_t kernel_id, const gt_kernel *kernel, gt_code *code)
{
    gt_code found = {0};
    const char *damaged = NULL;
    /* Readers asked when they opened it. */
    gt_status status = store->mode != GT_STORE_READ ? gt_trust_check(store->path) : GT_OK;
    if (status != GT_OK)
        return status;
    gt_bind bind = gt_sql_start(store, gt_kernel_sql);
    gt_bind_int(&bind, kernel_id);
    const int step = gt_sql_step(store, &bind);
    if (step == SQLITE_ROW)
        status = take_sealed_code(bind.statement, kernel, &found, &damaged);
    const gt_status ended = gt_sql_done(store, &bind, step);
    if (status == GT_OK)
        status = ended;
    if (status == GT_OK && damaged)
        status = gt_kernel_fail(store, kernel_id, damaged, "does not match its hash");
    else if (status == GT_OK && !found.cubin)
        status = gt_fail(GT_ERROR_NOT_TUNED, "%s: kernel %lld has no code stored", store->path, (long long)kernel_id);
    if (status == GT_OK)
        *code = found;
    else
        gt_code_finish(&found);
    return status;
}
