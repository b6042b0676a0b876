/* Forgetting: what was tried is dropped, so that the next tuning starts afresh. */
#include <string.h>

#include "internal.h"

/* Kernels to be dropped. Those of one code go together: with one of them a failure would be forgotten that keeps the
 * others out of service. */
static const char doomed_sql[] = "CREATE TEMP TABLE IF NOT EXISTS doomed (kernel INTEGER PRIMARY KEY);"
                                 "DELETE FROM doomed";
static const char by_id_sql[] = "INSERT OR IGNORE INTO doomed SELECT o.id FROM kernel k JOIN kernel o ON "
                                GT_SAME_CODE("o", "k") " WHERE k.id = ?";
static const char by_source_sql[] =
    "INSERT OR IGNORE INTO doomed SELECT id FROM kernel WHERE substr(source_hash, 1, length(?1)) = ?1";
static const char by_family_sql[] = "INSERT OR IGNORE INTO doomed SELECT o.id FROM kernel k JOIN kernel o ON "
                                    GT_SAME_CODE("o", "k") " WHERE k.family = ?";
/* Of a problem's kernels those that were tried nowhere else, and those that failed there: without that failure they
 * would be offered for other sizes again. */
static const char by_problem_sql[] =
    "INSERT OR IGNORE INTO doomed SELECT t.kernel FROM trial t WHERE t.problem = ?1 AND NOT EXISTS"
    " (SELECT 1 FROM trial o WHERE o.kernel = t.kernel AND o.problem <> ?1)"
    " UNION SELECT v.kernel FROM (" GT_CONVICTED ") v JOIN trial t ON t.id = v.trial WHERE t.problem = ?1";

/* Runs a statement with one problem's id; *changes counts its rows up. */
static gt_status drop(gt_store *store, const char *sql, int64_t problem, int64_t *changes)
{
    gt_bind bind = gt_sql_start(store, sql);
    gt_bind_int(&bind, problem);
    const gt_status status = gt_sql_run(store, &bind);
    if (status == GT_OK && changes)
        *changes += sqlite3_changes64(store->db);
    return status;
}

/* Drops what is doomed, and all that was found on one problem; 0: on none. Searches that saw any of it are not done, nor those
 * that passed over it as it was out of service. */
static gt_status drop_all(gt_store *store, int64_t problem, int64_t *kernels, int64_t *trials)
{
    gt_status status = drop(store,
                            "DELETE FROM searched WHERE problem = ?1 OR (gpu, problem) IN"
                            " (SELECT gpu, problem FROM trial WHERE kernel IN (SELECT kernel FROM doomed))",
                            problem, NULL);
    if (status == GT_OK)
        status = gt_sql_execute(
            store, GT_OPEN_SEARCHES("SELECT kernel FROM doomed INTERSECT SELECT kernel FROM (" GT_CONVICTED ")"));
    if (status == GT_OK)
        status = drop(store, "DELETE FROM baseline WHERE problem = ?1", problem, NULL);
    if (status == GT_OK)
        status = drop(store, "DELETE FROM trial WHERE problem = ?1 OR kernel IN (SELECT kernel FROM doomed)", problem,
                      trials);
    if (status == GT_OK)
        status = gt_sql_execute(store, "DELETE FROM kernel_param WHERE kernel IN (SELECT kernel FROM doomed)");
    if (status == GT_OK)
        status = gt_sql_execute(store, "DELETE FROM kernel WHERE id IN (SELECT kernel FROM doomed)");
    if (status == GT_OK)
        *kernels += sqlite3_changes64(store->db);
    return status;
}

/* Marks the kernels that are meant. *problem is the row of the problem that is, 0 if none. */
static gt_status doom(gt_store *store, const gt_forget *what, int64_t *problem)
{
    gt_bind bind;
    bool found = false;
    gt_status status = gt_sql_execute(store, doomed_sql);
    if (status == GT_OK && what->problem)
        status = gt_problem_find(store, what->problem, &found, problem);
    if (status != GT_OK || (what->problem && !found))
        return status;
    if (what->problem) {
        bind = gt_sql_start(store, by_problem_sql);
        gt_bind_int(&bind, *problem);
    } else if (what->family) {
        bind = gt_sql_start(store, by_family_sql);
        gt_bind_text(&bind, what->family, GT_ANY_LENGTH);
    } else if (what->source_hash) {
        bind = gt_sql_start(store, by_source_sql);
        gt_bind_text(&bind, what->source_hash, GT_ANY_LENGTH);
    } else {
        bind = gt_sql_start(store, by_id_sql);
        gt_bind_int(&bind, what->kernel_id);
    }
    return gt_sql_run(store, &bind);
}

gt_status gt_store_forget(gt_store *store, const gt_forget *what, int64_t *kernels, int64_t *trials)
{
    int64_t problem = 0, kernels_dropped = 0, trials_dropped = 0;
    if ((what->kernel_id != 0) + (what->source_hash != NULL) + (what->family != NULL) + (what->problem != NULL) != 1)
        return gt_fail(GT_ERROR_INVALID, "one thing is forgotten at a time: a kernel, a family or a problem");
    if (what->source_hash && (strlen(what->source_hash) < GT_FORGET_PREFIX ||
                              strspn(what->source_hash, "0123456789abcdef") != strlen(what->source_hash)))
        return gt_fail(GT_ERROR_INVALID, "'%.80s' is not the beginning of a hash, at least %d digits of it",
                       what->source_hash, GT_FORGET_PREFIX);
    gt_status status = gt_sql_begin(store);
    if (status != GT_OK)
        return status;
    status = doom(store, what, &problem);
    if (status == GT_OK)
        status = drop_all(store, problem, &kernels_dropped, &trials_dropped);
    status = gt_sql_end(store, status);
    if (status != GT_OK)
        return status;
    *kernels = kernels_dropped;
    *trials = trials_dropped;
    return GT_OK;
}

/* Gives the space of what was dropped back to the disk. SQLite attaches a temporary database for that, which no other
 * statement may. A file that stays large is no failure. */
static void shrink(gt_store *store)
{
    const int before = sqlite3_limit(store->db, SQLITE_LIMIT_ATTACHED, 1);
    sqlite3_exec(store->db, "VACUUM", NULL, NULL, NULL);
    sqlite3_limit(store->db, SQLITE_LIMIT_ATTACHED, before);
}

gt_status gt_store_find_code_bytes(gt_store *store, int64_t kernel, int64_t *bytes)
{
    gt_bind bind = gt_sql_start(store, "SELECT coalesce(length(cubin), 0) + coalesce(length(ptx), 0) FROM kernel WHERE id = ?");
    bool found;
    *bytes = 0;
    gt_bind_int(&bind, kernel);
    return gt_sql_find(store, &bind, &found, bytes);
}

gt_status gt_store_drop_code(gt_store *store, int64_t gpu, const int64_t *kernels, size_t count, size_t *dropped)
{
    size_t changed = 0;
    gt_status status = gt_sql_begin(store);
    if (status != GT_OK)
        return status;
    for (size_t i = 0; status == GT_OK && i < count; i++) {
        gt_bind bind = gt_sql_start(
            store, "UPDATE kernel SET cubin = NULL, cubin_hash = NULL, ptx = NULL, ptx_hash = NULL WHERE id = ? AND"
                   " cubin IS NOT NULL AND NOT EXISTS (SELECT 1 FROM trial t WHERE t.kernel = kernel.id AND t.gpu <> ?)");
        gt_bind_int(&bind, kernels[i]);
        gt_bind_int(&bind, gpu);
        status = gt_sql_run(store, &bind);
        changed += (size_t)sqlite3_changes64(store->db);
        if (status == GT_OK)
            status = gt_kernel_reseal(store, kernels[i]);
    }
    status = gt_sql_end(store, status);
    if (status != GT_OK)
        return status;
    if (changed > 0)
        shrink(store);
    *dropped = changed;
    return GT_OK;
}
