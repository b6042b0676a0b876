/* A kernel's row and its seal: a hash over all that a launch depends on. Who changes a row seals it again; who reads
 * one refuses it where the two do not match. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define COLUMN(name, ...) ", " #name
#define COLUMNS                                                                                              \
    "source_hash, nvrtc, arch, family, registers, spills, class, seal, cubin_hash, ptx_hash" GT_FACTS(COLUMN)

const char gt_kernel_sql[] = "SELECT " COLUMNS ", cubin, ptx FROM kernel WHERE id = ?";
static const char read_sql[] = "SELECT " COLUMNS " FROM kernel WHERE id = ?";

/* A text that may be NULL, which is "". */
static void take_optional(gt_take *take, char *text, size_t size)
{
    text[0] = '\0';
    if (sqlite3_column_type(take->row, take->at) == SQLITE_NULL)
        take->at++;
    else
        gt_take_text(take, text, size);
}

/* What the columns say; *stored is their seal, *seal the one that they should have. */
static void take_sealed(gt_take *take, gt_kernel_row *row, char stored[GT_HASH_LENGTH], char seal[GT_HASH_LENGTH])
{
    char class[GT_CLASS_LENGTH];
    gt_kernel *kernel = &row->kernel;
    *row = (gt_kernel_row){0};
    gt_take_text(take, kernel->source_hash, sizeof kernel->source_hash);
    gt_take_text(take, kernel->nvrtc, sizeof kernel->nvrtc);
    gt_take_text(take, kernel->arch, sizeof kernel->arch);
    gt_take_text(take, kernel->family, sizeof kernel->family);
    kernel->registers = (int)gt_take_int(take, 0, INT_MAX);
    kernel->spills = (int)gt_take_int(take, 0, INT_MAX);
    take_optional(take, class, sizeof class);
    take_optional(take, stored, GT_HASH_LENGTH);
    take_optional(take, row->cubin_hash, sizeof row->cubin_hash);
    take_optional(take, row->ptx_hash, sizeof row->ptx_hash);
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        *gt_fact(&kernel->facts, i) = gt_take_int(take, INT64_MIN, INT64_MAX);
    if (!take->bad && !gt_class_parse(class, &row->class))
        take->bad = true;
    if (!take->bad)
        gt_kernel_seal(kernel, &row->class, row->cubin_hash, row->ptx_hash, seal);
}

void gt_take_kernel(gt_take *take, gt_kernel_row *row)
{
    char stored[GT_HASH_LENGTH], seal[GT_HASH_LENGTH];
    take_sealed(take, row, stored, seal);
    row->intact = !take->bad && strcmp(stored, seal) == 0;
    row->usable = row->intact && row->kernel.registers <= GT_REGISTERS_MOST && gt_facts_check(&row->kernel.facts) == GT_OK;
}

static gt_status read_params(gt_store *store, int64_t id, gt_kernel_row *row)
{
    gt_bind bind = gt_sql_start(store, "SELECT name, value FROM kernel_param WHERE kernel = ? ORDER BY place");
    int code;
    gt_bind_int(&bind, id);
    row->kernel.params.count = 0;
    while ((code = gt_sql_step(store, &bind)) == SQLITE_ROW) {
        char name[GT_PARAM_NAME];
        gt_take take = {.row = bind.statement};
        gt_take_text(&take, name, sizeof name);
        const int64_t value = gt_take_int(&take, INT64_MIN, INT64_MAX);
        if (take.bad || gt_params_add(&row->kernel.params, name, value) != GT_OK)
            row->usable = false;
    }
    return gt_sql_done(store, &bind, code);
}

gt_status gt_kernel_read(gt_store *store, int64_t id, gt_kernel_row *row)
{
    gt_bind bind = gt_sql_start(store, read_sql);
    gt_bind_int(&bind, id);
    const int code = gt_sql_step(store, &bind);
    gt_take take = {.row = bind.statement};
    *row = (gt_kernel_row){0};
    if (code == SQLITE_ROW)
        gt_take_kernel(&take, row);
    const gt_status status = gt_sql_done(store, &bind, code);
    return status == GT_OK && row->intact ? read_params(store, id, row) : status;
}

gt_status gt_kernel_reseal(gt_store *store, int64_t id)
{
    gt_kernel_row row;
    char stored[GT_HASH_LENGTH], seal[GT_HASH_LENGTH];
    gt_bind bind = gt_sql_start(store, read_sql);
    gt_bind_int(&bind, id);
    const int code = gt_sql_step(store, &bind);
    gt_take take = {.row = bind.statement, .bad = code != SQLITE_ROW};
    if (!take.bad)
        take_sealed(&take, &row, stored, seal);
    const gt_status status = gt_sql_done(store, &bind, code);
    if (status != GT_OK || take.bad || strcmp(stored, seal) == 0)
        return status; /* a row that makes no sense stays without a seal */
    bind = gt_sql_start(store, "UPDATE kernel SET seal = ? WHERE id = ?");
    gt_bind_text(&bind, seal, sizeof seal);
    gt_bind_int(&bind, id);
    return gt_sql_run(store, &bind);
}

gt_status gt_seal_all(gt_store *store)
{
    int64_t id = INT64_MIN;
    bool found = true;
    gt_status status = gt_sql_execute(
        store, "UPDATE kernel SET class = (SELECT iif(min(class) = max(class), min(class), NULL) FROM"
               " (SELECT " GT_PROBLEM_CLASS " AS class FROM trial t JOIN problem p ON p.id = t.problem"
               " WHERE t.kernel = kernel.id));"
               "UPDATE kernel SET cubin = NULL, cubin_hash = NULL, ptx = NULL, ptx_hash = NULL WHERE class IS NULL");
    while (status == GT_OK && found) {
        gt_bind bind = gt_sql_start(store, "SELECT id FROM kernel WHERE id > ? ORDER BY id LIMIT 1");
        gt_bind_int(&bind, id);
        status = gt_sql_find(store, &bind, &found, &id);
        if (status == GT_OK && found)
            status = gt_kernel_reseal(store, id);
    }
    return status;
}

gt_status gt_kernel_fail(gt_store *store, int64_t id, const char *what, const char *why)
{
    char text[GT_PARAMS_TEXT];
    gt_kernel_row row;
    if (gt_kernel_read(store, id, &row) != GT_OK)
        row = (gt_kernel_row){0};
    else if (!row.usable)
        read_params(store, id, &row); /* for the line: as far as they can be read */
    return gt_fail(GT_ERROR_CORRUPT, "%s: the %s of kernel %lld, %s (%s), %s; tune again, which replaces it",
                   store->path, what, (long long)id, row.kernel.family, gt_params_text(&row.kernel.params, text), why);
}
