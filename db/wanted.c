/* What programs asked for. */
#include <stdlib.h>

#include "internal.h"

static gt_status put_row(gt_store *store, int64_t gpu, const char *program, const gt_wanted *wanted)
{
    bool found = false;
    int64_t problem = 0;
    gt_status status = gt_problem_find(store, &wanted->problem, &found, &problem);
    if (status == GT_OK && !found)
        status = gt_problem_insert(store, &wanted->problem, &problem);
    if (status != GT_OK)
        return status;
    gt_bind bind = gt_sql_start(
        store, "INSERT INTO wanted (gpu, problem, symbol, fate, program, tunable, calls, us, saved_us)"
               " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (gpu, problem, symbol, fate, program) DO UPDATE"
               " SET calls = calls + excluded.calls, tunable = excluded.tunable, us = excluded.us,"
               " saved_us = excluded.saved_us, last_seen = CURRENT_TIMESTAMP");
    gt_bind_int(&bind, gpu);
    gt_bind_int(&bind, problem);
    gt_bind_text(&bind, wanted->symbol, GT_ANY_LENGTH);
    gt_bind_text(&bind, wanted->fate, GT_ANY_LENGTH);
    gt_bind_text(&bind, program, GT_ANY_LENGTH);
    gt_bind_int(&bind, wanted->tunable);
    gt_bind_int(&bind, wanted->calls);
    gt_bind_real(&bind, wanted->us);
    gt_bind_real(&bind, wanted->saved_us);
    return gt_sql_run(store, &bind);
}

gt_status gt_store_put_wanted(gt_store *store, int64_t gpu, const char *program, const gt_wanted *list, size_t count)
{
    gt_status status = gt_sql_begin(store);
    if (status != GT_OK)
        return status;
    for (size_t i = 0; status == GT_OK && i < count; i++)
        status = put_row(store, gpu, program, &list[i]);
    if (status == GT_OK) {
        gt_bind bind = gt_sql_start(store, "DELETE FROM wanted WHERE id IN"
                                           " (SELECT id FROM wanted ORDER BY last_seen DESC, id DESC LIMIT -1 OFFSET ?)");
        gt_bind_int(&bind, GT_WANTED_MOST);
        status = gt_sql_run(store, &bind);
    }
    return gt_sql_end(store, status);
}

static const char wanted_sql[] =
    "SELECT " GT_PROBLEM_CLASS ", p.m, p.n, p.k, p.batch, p.align, sum(w.calls * w.us) AS cost"
    " FROM wanted w JOIN problem p ON p.id = w.problem"
    " WHERE w.tunable AND w.gpu IN (SELECT g.id FROM gpu g WHERE " GT_SAME_GPU ")"
    " GROUP BY p.id ORDER BY cost DESC, p.id";

/* False where a row makes no sense: of a type that this program does not know. */
static bool take_asked(sqlite3_stmt *row, gt_asked *asked)
{
    gt_take take = {.row = row};
    char text[GT_CLASS_LENGTH];
    gt_class class;
    gt_take_text(&take, text, sizeof text);
    if (take.bad || !gt_class_parse(text, &class))
        return false;
    gt_take_problem(&take, &class, &asked->problem);
    asked->us = gt_take_real(&take, 0, 1e300, 0);
    return !take.bad;
}

gt_status gt_store_find_wanted(gt_store *store, const gt_device *device, gt_asked **out, size_t *out_count)
{
    gt_asked *list = NULL;
    size_t count = 0, room = 0;
    gt_status status = GT_OK;
    int code;
    gt_bind bind = gt_sql_start(store, wanted_sql);
    gt_bind_gpu(&bind, device);
    while ((code = gt_sql_step(store, &bind)) == SQLITE_ROW) {
        if ((status = gt_list_grow((void **)&list, count, &room, sizeof *list)) != GT_OK)
            break;
        count += take_asked(bind.statement, &list[count]);
    }
    const gt_status ended = gt_sql_done(store, &bind, code);
    if (status == GT_OK)
        status = ended;
    if (status != GT_OK) {
        free(list);
        return status;
    }
    *out = list;
    *out_count = count;
    return GT_OK;
}
