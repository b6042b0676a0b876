#include "space.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/core/status.h"

/* More configurations than a query may return: a join without its constraints. */
#define ROW_LIMIT 4000000

/* Columns that say something about a configuration and are not passed to the template. */
static const char *const facts[] = {"threads", "smem_bytes", "cluster", "ws_tile",   "regs",
                                    "early",   "penalty",    "clocks",  "rung",      "technique"};

static bool is_fact(const char *name)
{
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (strcmp(name, facts[i]) == 0)
            return true;
    return false;
}

/* A space is a question, not a program: it may read and call functions, nothing else. */
static int only_select(void *unused, int action, const char *a, const char *b, const char *c, const char *d)
{
    (void)unused, (void)a, (void)b, (void)c, (void)d;
    return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION || action == SQLITE_RECURSIVE
               ? SQLITE_OK
               : SQLITE_DENY;
}

static void bind(sqlite3_stmt *query, const gt_device *device, const gt_problem *problem)
{
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        {":cc", device->cc},
        {":smem_limit", device->smem_limit},
        {":sm_count", device->sm_count},
        {":elem_bytes", gt_type_find(problem->type_ab)->bytes},
        {":acc_bytes", 4}, /* of a sum: every type's of today */
        {":m", problem->m},
        {":n", problem->n},
        {":k", problem->k},
        {":batch", problem->batch},
        {":align", problem->align},
        {":trans_a", problem->op_a == GT_T},
        {":trans_b", problem->op_b == GT_T},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const int index = sqlite3_bind_parameter_index(query, numbers[i].name);
        if (index > 0)
            sqlite3_bind_int64(query, index, numbers[i].value);
    }
    const int index = sqlite3_bind_parameter_index(query, ":type");
    if (index > 0)
        sqlite3_bind_text(query, index, gt_types_find(problem->type_ab, problem->type_c)->name, -1, SQLITE_STATIC);
}

static gt_status read_columns(sqlite3_stmt *query, gt_space *space)
{
    space->columns = sqlite3_column_count(query);
    if (space->columns > GT_SPACE_COLUMNS)
        return gt_fail(GT_ERROR_INVALID, "%s.sql: more than %d columns", space->family->name, GT_SPACE_COLUMNS);
    for (int i = 0; i < space->columns; i++) {
        const char *name = sqlite3_column_name(query, i);
        if (!name)
            return gt_fail_memory();
        for (const char *c = name; *c; c++)
            if (!(islower((unsigned char)*c) || *c == '_' || (c > name && isdigit((unsigned char)*c))))
                return gt_fail(GT_ERROR_INVALID, "%s.sql: column '%s' is no parameter name (a-z, 0-9 and _)",
                               space->family->name, name);
        if (strlen(name) >= GT_COLUMN_LENGTH)
            return gt_fail(GT_ERROR_INVALID, "%s.sql: column '%s' is too long", space->family->name, name);
        strcpy(space->names[i], name);
        space->tunable[i] = !is_fact(name);
    }
    return GT_OK;
}

static gt_status add_row(sqlite3_stmt *query, gt_space *space, size_t *capacity, int technique)
{
    if (space->rows == *capacity) {
        const size_t more = *capacity ? *capacity * 2 : 256;
        int64_t *values = realloc(space->values, more * (size_t)space->columns * sizeof *values);
        if (!values)
            return gt_fail_memory();
        space->values = values;
        if (technique >= 0) {
            char **techniques = realloc(space->techniques, more * sizeof *techniques);
            if (!techniques)
                return gt_fail_memory();
            space->techniques = techniques;
        }
        *capacity = more;
    }
    for (int i = 0; i < space->columns; i++) {
        if (i != technique && sqlite3_column_type(query, i) != SQLITE_INTEGER)
            return gt_fail(GT_ERROR_INVALID, "%s.sql: column '%s' must hold integers", space->family->name,
                           space->names[i]);
        space->values[space->rows * (size_t)space->columns + (size_t)i] = sqlite3_column_int64(query, i);
    }
    if (technique >= 0) {
        const char *text = (const char *)sqlite3_column_text(query, technique);
        if (!(space->techniques[space->rows] = strdup(text ? text : "")))
            return gt_fail_memory();
    }
    space->rows++;
    return GT_OK;
}

gt_status gt_space_init(const gt_family *family, const gt_device *device, const gt_problem *problem, gt_space *out)
{
    gt_status status = GT_OK;
    gt_space space = {.family = family};
    sqlite3 *database = NULL;
    sqlite3_stmt *query = NULL;
    size_t capacity = 0;
    int step = SQLITE_OK;
    if (sqlite3_open(":memory:", &database) != SQLITE_OK) {
        status = gt_fail_memory();
        goto end;
    }
    sqlite3_set_authorizer(database, only_select, NULL);
    if (sqlite3_prepare_v2(database, family->space, -1, &query, NULL) != SQLITE_OK || !query) {
        status = gt_fail(GT_ERROR_INVALID, "%s.sql: %s", family->name,
                         sqlite3_errcode(database) == SQLITE_OK ? "no query in it" : sqlite3_errmsg(database));
        goto end;
    }
    bind(query, device, problem);
    if ((status = read_columns(query, &space)) != GT_OK)
        goto end;
    const int technique = gt_space_column(&space, "technique");
    while (status == GT_OK && (step = sqlite3_step(query)) == SQLITE_ROW) {
        if (space.rows >= ROW_LIMIT)
            status = gt_fail(GT_ERROR_INVALID, "%s.sql: more than %d configurations", family->name, ROW_LIMIT);
        else
            status = add_row(query, &space, &capacity, technique);
    }
    if (status == GT_OK && step != SQLITE_DONE)
        status = gt_fail(GT_ERROR_INVALID, "%s.sql: %s", family->name, sqlite3_errmsg(database));
    if (status == GT_OK)
        *out = space;
end:
    sqlite3_finalize(query);
    sqlite3_close(database);
    if (status != GT_OK)
        gt_space_finish(&space);
    return status;
}

void gt_space_finish(gt_space *space)
{
    if (space->techniques)
        for (size_t i = 0; i < space->rows; i++)
            free(space->techniques[i]);
    free(space->techniques);
    free(space->values);
    *space = (gt_space){0};
}

int gt_space_column(const gt_space *space, const char *name)
{
    for (int i = 0; i < space->columns; i++)
        if (strcmp(space->names[i], name) == 0)
            return i;
    return -1;
}

int64_t gt_space_value(const gt_space *space, size_t row, const char *name, int64_t fallback)
{
    const int column = gt_space_column(space, name);
    return column < 0 ? fallback : space->values[row * (size_t)space->columns + (size_t)column];
}

void gt_space_params(const gt_space *space, size_t row, char params[GT_PARAMS_LENGTH])
{
    size_t length = 0;
    params[0] = 0;
    for (int i = 0; i < space->columns && length < GT_PARAMS_LENGTH; i++)
        if (space->tunable[i])
            length += (size_t)snprintf(params + length, GT_PARAMS_LENGTH - length, "%s%s=%lld", length ? " " : "",
                                       space->names[i],
                                       (long long)space->values[row * (size_t)space->columns + (size_t)i]);
}

gt_status gt_space_kernel(const gt_space *space, size_t row, const gt_device *device, gt_kernel *out)
{
    const char *const needed[] = {"bm", "bn", "threads"};
    for (size_t i = 0; i < 3; i++)
        if (gt_space_column(space, needed[i]) < 0)
            return gt_fail(GT_ERROR_INVALID, "%s.sql: no column '%s': every space must have it", space->family->name,
                           needed[i]);
    gt_kernel kernel = {
        .tile_m = (int)gt_space_value(space, row, "bm", 0),
        .tile_n = (int)gt_space_value(space, row, "bn", 0),
        .split_k = (int)gt_space_value(space, row, "split_k", 1),
        .threads = (int)gt_space_value(space, row, "threads", 0),
        .smem_bytes = (int)gt_space_value(space, row, "smem_bytes", 0),
        .cluster = (int)gt_space_value(space, row, "cluster", 1),
        .blocks = (int)gt_space_value(space, row, "blocks", 0),
        .repack = (int)gt_space_value(space, row, "repack", 0),
        .early = gt_space_value(space, row, "early", 0) != 0,
        .ws_tile = gt_space_value(space, row, "ws_tile", 0),
        .deterministic = true,
    };
    snprintf(kernel.family, sizeof kernel.family, "%s", space->family->name);
    snprintf(kernel.arch, sizeof kernel.arch, "%s", device->arch);
    gt_space_params(space, row, kernel.params);
    *out = kernel;
    return GT_OK;
}
