/* Coefficients of the estimate of time, and rates of the machine, in and out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define TERM_LENGTH 32

/* A term's name in the table, with the version of what the terms mean: what another one fitted is not found. */
static const char *name_term(size_t term, char name[TERM_LENGTH])
{
    snprintf(name, TERM_LENGTH, "%s.%d", gt_term_names[term], GT_TERMS_VERSION);
    return name;
}

static gt_status put_one(gt_store *store, int64_t gpu, const gt_types *types, const gt_fitted *fitted)
{
    gt_status status = GT_OK;
    gt_terms values = fitted->coefficients;
    for (size_t i = 0; status == GT_OK && i < GT_TERM_COUNT; i++) {
        char name[TERM_LENGTH];
        gt_bind bind = gt_sql_start(
            store, "INSERT OR REPLACE INTO coefficient (gpu, type, math, family, term, value) VALUES (?, ?, ?, ?, ?, ?)");
        gt_bind_int(&bind, gpu);
        gt_bind_text(&bind, types->name, GT_ANY_LENGTH);
        gt_bind_text(&bind, gt_math_name(types->math), GT_ANY_LENGTH);
        gt_bind_text(&bind, fitted->family, sizeof fitted->family);
        gt_bind_text(&bind, name_term(i, name), sizeof name);
        gt_bind_real(&bind, *gt_term(&values, i));
        status = gt_sql_run(store, &bind);
    }
    return status;
}

gt_status gt_store_put_fitted(gt_store *store, int64_t gpu, const gt_types *types, const gt_fitted *list, size_t count)
{
    gt_status status = gt_sql_begin(store);
    if (status != GT_OK)
        return status;
    for (size_t i = 0; status == GT_OK && i < count; i++)
        status = gt_coefficients_check(&list[i].coefficients)
                     ? put_one(store, gpu, types, &list[i])
                     : gt_fail(GT_ERROR_INVALID, "coefficients of %s make no sense", list[i].family);
    return gt_sql_end(store, status);
}

static size_t find_term(const char *name)
{
    char known[TERM_LENGTH];
    size_t i = 0;
    while (i < GT_TERM_COUNT && strcmp(name_term(i, known), name) != 0)
        i++;
    return i;
}

/* Takes a family's rows as they come, which lie together. A family that lacks a term, or has one out of range, does not
 * count. */
gt_status gt_store_find_fitted(gt_store *store, const gt_device *device, const gt_types *types, gt_fitted **out,
                               size_t *out_count, size_t *left_out)
{
    gt_fitted *list = NULL;
    size_t count = 0, room = 0, kept = 0;
    gt_status status = GT_OK;
    int code;
    gt_bind bind = gt_sql_start(store, "SELECT c.family, c.term, c.value FROM coefficient c JOIN gpu g ON g.id = c.gpu"
                                       " WHERE " GT_SAME_GPU " AND c.type = ? AND c.math = ? ORDER BY c.family, c.gpu");
    gt_bind_gpu(&bind, device);
    gt_bind_text(&bind, types->name, GT_ANY_LENGTH);
    gt_bind_text(&bind, gt_math_name(types->math), GT_ANY_LENGTH);
    while (status == GT_OK && (code = gt_sql_step(store, &bind)) == SQLITE_ROW) {
        gt_take take = {.row = bind.statement};
        char family[GT_FAMILY_LENGTH], name[TERM_LENGTH];
        gt_take_text(&take, family, sizeof family);
        gt_take_text(&take, name, sizeof name);
        const double value = sqlite3_column_double(bind.statement, 2);
        if (take.bad || find_term(name) == GT_TERM_COUNT)
            continue;
        if (count == 0 || strcmp(list[count - 1].family, family) != 0) {
            if ((status = gt_list_grow((void **)&list, count, &room, sizeof *list)) != GT_OK)
                break;
            memcpy(list[count].family, family, sizeof family);
            for (size_t i = 0; i < GT_TERM_COUNT; i++)
                *gt_term(&list[count].coefficients, i) = -1;
            count++;
        }
        *gt_term(&list[count - 1].coefficients, find_term(name)) = value;
    }
    const gt_status ended = gt_sql_done(store, &bind, status == GT_OK ? code : SQLITE_DONE);
    if (status == GT_OK)
        status = ended;
    if (status != GT_OK) {
        free(list);
        return status;
    }
    for (size_t i = 0; i < count; i++)
        if (gt_coefficients_check(&list[i].coefficients))
            list[kept++] = list[i];
    *out = list;
    *out_count = kept;
    *left_out = count - kept;
    return GT_OK;
}

/* Rates are of no type and math, and "host" is no family. */
gt_status gt_store_put_rate(gt_store *store, int64_t gpu, const char *name, double value)
{
    gt_bind bind = gt_sql_start(store, "INSERT OR REPLACE INTO coefficient (gpu, type, math, family, term, value)"
                                       " VALUES (?, '', '', 'host', ?, ?)");
    gt_bind_int(&bind, gpu);
    gt_bind_text(&bind, name, GT_ANY_LENGTH);
    gt_bind_real(&bind, value);
    return gt_sql_run(store, &bind);
}

gt_status gt_store_find_rate(gt_store *store, const char *name, double *value)
{
    gt_bind bind = gt_sql_start(store, "SELECT value FROM coefficient WHERE type = '' AND math = '' AND family = 'host'"
                                       " AND term = ? ORDER BY rowid DESC LIMIT 1");
    gt_bind_text(&bind, name, GT_ANY_LENGTH);
    const int code = gt_sql_step(store, &bind);
    if (code == SQLITE_ROW)
        *value = sqlite3_column_double(bind.statement, 0);
    return gt_sql_done(store, &bind, code == SQLITE_ROW ? SQLITE_DONE : code);
}
