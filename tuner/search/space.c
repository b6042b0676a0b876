#include "space.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"

/* More configurations than a query may return: a join without its constraints. */
#define ROW_LIMIT 1000000

/* SQLite's steps, in millions, that a query may take: some 3 s of time. The largest of ours takes 20. */
#define STEP_LIMIT 200
#define MILLION    1000000

/* Columns that are neither launch facts nor parameters. */
static const char *const notes[] = {"regs", "penalty", "clocks", "rung", "technique"};

static bool is_param(const char *name)
{
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        if (strcmp(name, notes[i]) == 0)
            return false;
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        if (strcmp(name, gt_fact_rows[i].column) == 0)
            return gt_fact_rows[i].param;
    return true;
}

/* A space is a question, not a program: it may read and call functions, nothing else. */
static int only_select(void *unused, int action, const char *a, const char *b, const char *c, const char *d)
{
    (void)unused, (void)a, (void)b, (void)c, (void)d;
    return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION || action == SQLITE_RECURSIVE
               ? SQLITE_OK
               : SQLITE_DENY;
}

/* Called every million steps; ends the query by what is not 0. */
static int count_steps(void *millions)
{
    return ++*(int *)millions >= STEP_LIMIT;
}

/* What a space may ask for. text is NULL for a number. */
typedef struct parameter {
    const char *name;
    int64_t number;
    const char *text;
} parameter;

static gt_status fail_unknown(const gt_family *family, const char *name, const parameter *list, size_t count)
{
    char names[256] = "";
    for (size_t i = 0, length = 0; i < count && length < sizeof names; i++)
        length += (size_t)snprintf(names + length, sizeof names - length, " %s", list[i].name);
    return gt_fail(GT_ERROR_INVALID, "%s.sql: no parameter '%.40s'; there are:%s", family->name, name ? name : "?", names);
}

static gt_status bind(sqlite3_stmt *query, const gt_family *family, const gt_device *device, const gt_problem *problem)
{
    const parameter list[] = {
        {":cc", device->cc, NULL},
        {":smem_limit", device->smem_limit, NULL},
        {":sm_count", device->sm_count, NULL},
        {":type", 0, gt_class_types(&problem->class)->name},
        {":math", 0, gt_math_name(problem->class.math)},
        {":elem_bytes", gt_type_find(problem->class.type_a)->bytes, NULL},
        {":c_bytes", gt_type_find(problem->class.type_c)->bytes, NULL},
        {":acc_bytes", gt_type_find(gt_class_types(&problem->class)->accumulator)->bytes, NULL},
        {":m", problem->m, NULL},
        {":n", problem->n, NULL},
        {":k", problem->k, NULL},
        {":batch", problem->batch, NULL},
        {":align", problem->class.align, NULL},
        {":trans_a", problem->class.op_a == GT_T, NULL},
        {":trans_b", problem->class.op_b == GT_T, NULL},
    };
    const size_t count = sizeof list / sizeof list[0];
    for (int index = 1; index <= sqlite3_bind_parameter_count(query); index++) {
        const char *name = sqlite3_bind_parameter_name(query, index);
        size_t i = 0;
        while (i < count && !(name && strcmp(list[i].name, name) == 0))
            i++;
        if (i == count)
            return fail_unknown(family, name, list, count);
        const int code = list[i].text ? sqlite3_bind_text(query, index, list[i].text, -1, SQLITE_STATIC)
                                      : sqlite3_bind_int64(query, index, list[i].number);
        if (code != SQLITE_OK)
            return gt_fail_memory();
    }
    return GT_OK;
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
        if (strlen(name) >= GT_PARAM_NAME)
            return gt_fail(GT_ERROR_INVALID, "%s.sql: column '%s' is too long", space->family->name, name);
        if (!gt_param_is_name(name))
            return gt_fail(GT_ERROR_INVALID, "%s.sql: column '%s' is no parameter name (a-z, 0-9 and _)",
                           space->family->name, name);
        for (int before = 0; before < i; before++)
            if (strcmp(space->names[before], name) == 0)
                return gt_fail(GT_ERROR_INVALID, "%s.sql: column '%s' is there twice", space->family->name, name);
        strcpy(space->names[i], name);
        space->tunable[i] = is_param(name);
    }
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        space->facts[i] = gt_space_column(space, gt_fact_rows[i].column);
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
    sqlite3_stmt *query = NULL, *next = NULL;
    const char *rest;
    size_t capacity = 0;
    int step = SQLITE_OK, millions = 0;
    if (sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        status = gt_fail_memory();
        goto end;
    }
    sqlite3_set_authorizer(database, only_select, NULL);
    sqlite3_progress_handler(database, MILLION, count_steps, &millions);
    if (sqlite3_prepare_v2(database, family->space, -1, &query, &rest) != SQLITE_OK || !query) {
        status = gt_fail(GT_ERROR_INVALID, "%s.sql: %s", family->name,
                         sqlite3_errcode(database) == SQLITE_OK ? "no query in it" : sqlite3_errmsg(database));
        goto end;
    }
    /* A semicolon in the middle would take away the constraints behind it. */
    if (sqlite3_prepare_v2(database, rest, -1, &next, NULL) != SQLITE_OK || next) {
        rest += strspn(rest, " \t\r\n");
        status = gt_fail(GT_ERROR_INVALID, "%s.sql: there is more behind the query's semicolon: %.*s", family->name,
                         (int)strcspn(rest, "\r\n"), rest);
        goto end;
    }
    if ((status = bind(query, family, device, problem)) != GT_OK || (status = read_columns(query, &space)) != GT_OK)
        goto end;
    const int technique = gt_space_column(&space, "technique");
    /* A space that does not ask for math has none but strict. */
    const bool offers = problem->class.math == GT_MATH_STRICT || sqlite3_bind_parameter_index(query, ":math") > 0;
    if (!offers)
        step = SQLITE_DONE;
    while (offers && status == GT_OK && (step = sqlite3_step(query)) == SQLITE_ROW) {
        if (space.rows >= ROW_LIMIT)
            status = gt_fail(GT_ERROR_INVALID, "%s.sql: more than %d configurations", family->name, ROW_LIMIT);
        else
            status = add_row(query, &space, &capacity, technique);
    }
    if (status == GT_OK && step == SQLITE_INTERRUPT)
        status = gt_fail(GT_ERROR_INVALID, "%s.sql: no end after %d million steps of SQLite's: is there a recursion or a join "
                         "without its constraint?", family->name, millions);
    else if (status == GT_OK && step != SQLITE_DONE)
        status = gt_fail(GT_ERROR_INVALID, "%s.sql: %s", family->name, sqlite3_errmsg(database));
    if (status == GT_OK)
        *out = space;
end:
    sqlite3_finalize(query);
    sqlite3_finalize(next);
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

gt_status gt_space_kernel(const gt_space *space, size_t row, const gt_device *device, gt_kernel *out)
{
    gt_kernel kernel = {0};
    gt_status status = GT_OK;
    for (size_t i = 0; i < GT_FACT_COUNT; i++) {
        const gt_fact_row *fact = &gt_fact_rows[i];
        const int column = space->facts[i];
        if (fact->absent == GT_FACT_NEEDED && column < 0)
            return gt_fail(GT_ERROR_INVALID, "%s.sql: no column '%s': every space must have it", space->family->name,
                           fact->column);
        *gt_fact(&kernel.facts, i) =
            column < 0 ? fact->absent : space->values[row * (size_t)space->columns + (size_t)column];
    }
    for (int i = 0; status == GT_OK && i < space->columns; i++)
        if (space->tunable[i])
            status = gt_params_add(&kernel.params, space->names[i],
                                   space->values[row * (size_t)space->columns + (size_t)i]);
    if (status != GT_OK)
        return gt_fail(status, "%s.sql: %s", space->family->name, gt_error_message());
    snprintf(kernel.family, sizeof kernel.family, "%s", space->family->name);
    snprintf(kernel.arch, sizeof kernel.arch, "%s", device->arch);
    *out = kernel;
    return GT_OK;
}
