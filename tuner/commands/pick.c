#include "pick.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"
#include "space.h"
#include "../values.h"

/* "128 256 512", cut where there are too many to read. */
static gt_status list_values(const gt_space *space, int column, const bool *rows, char text[160])
{
    int64_t *values;
    size_t count, length = 0;
    gt_status status = gt_space_domain(space, column, rows, &values, &count);
    if (status != GT_OK)
        return status;
    text[0] = '\0';
    for (size_t i = 0; i < count && length < 160; i++)
        length += (size_t)snprintf(text + length, 160 - length, "%s%lld", i > 0 ? " " : "", (long long)values[i]);
    free(values);
    return GT_OK;
}

static gt_status find_column(const gt_space *space, const char *name, int *column)
{
    char list[512] = "";
    size_t length = 0;
    *column = gt_space_column(space, name);
    if (*column >= 0 && space->tunable[*column])
        return GT_OK;
    for (int i = 0; i < space->columns; i++)
        if (space->tunable[i] && length < sizeof list)
            length += (size_t)snprintf(list + length, sizeof list - length, " %s", space->names[i]);
    return gt_fail(GT_ERROR_INVALID, "%s has no parameter '%.40s'; it has:%s", space->family->name, name, list);
}

/* Drops the rows that do not have this one parameter; the failure says which values the rest allows. */
static gt_status keep_matching(const gt_space *space, char *word, const char *before, bool *rows)
{
    int64_t wanted;
    int column;
    size_t left = 0;
    char possible[160];
    char *equals = strchr(word, '=');
    if (!equals)
        return gt_fail(GT_ERROR_INVALID, "--params: '%.40s' has no value; write \"bm=128 bn=128\"", word);
    *equals = '\0';
    gt_status status = find_column(space, word, &column);
    if (status == GT_OK && gt_integer_parse(word, equals + 1, INT64_MIN, INT64_MAX, &wanted) != GT_OK)
        status = gt_fail(GT_ERROR_INVALID, "--params: %s takes a whole number, not '%.40s'", word, equals + 1);
    if (status == GT_OK)
        status = list_values(space, column, rows, possible);
    for (size_t row = 0; status == GT_OK && row < space->rows; row++) {
        rows[row] = rows[row] && space->values[row * (size_t)space->columns + (size_t)column] == wanted;
        left += rows[row];
    }
    if (status == GT_OK && left == 0)
        status = gt_fail(GT_ERROR_INVALID, "%s has no configuration with %s=%lld%s%s; there %s is one of: %s",
                         space->family->name, word, (long long)wanted, *before ? " beside " : "", before, word,
                         possible);
    return status;
}

/* The first row that has all parameters of the text. */
static gt_status find_row(const gt_space *space, const char *params, size_t *found)
{
    char before[GT_PARAMS_TEXT] = "";
    char *copy = strdup(params ? params : ""), *rest = copy;
    bool *rows = malloc(space->rows + 1);
    gt_status status = copy && rows ? GT_OK : gt_fail_memory();
    if (rows)
        memset(rows, true, space->rows + 1);
    for (char *word; status == GT_OK && (word = strsep(&rest, " ,\t\n"));) {
        char text[80];
        if (!*word)
            continue;
        snprintf(text, sizeof text, "%s%s", *before ? " " : "", word);
        status = keep_matching(space, word, before, rows);
        strncat(before, text, sizeof before - strlen(before) - 1);
    }
    size_t row = 0;
    while (status == GT_OK && row < space->rows && !rows[row])
        row++;
    if (status == GT_OK)
        *found = row;
    free(rows);
    free(copy);
    return status;
}

gt_status gt_pick_init(const gt_options_cli *options, const gt_families *families, gt_pick *out)
{
    gt_pick pick = {0};
    gt_space space = {0};
    size_t row = 0;
    char name[GT_PROBLEM_NAME_LENGTH];
    if (options->shapes.count != 1)
        return gt_fail(GT_ERROR_INVALID, "%s takes one shape, not %zu", options->command, options->shapes.count);
    gt_status status = gt_families_get(families, options->operand, &pick.family);
    if (status == GT_OK)
        status = gt_space_device(options, &pick.device);
    if (status == GT_OK)
        status = gt_options_problem(options, &options->shapes.list[0], &pick.problem);
    if (status == GT_OK && (status = gt_space_init(pick.family, &pick.device, &pick.problem, &space)) == GT_ERROR_INVALID)
        status = GT_ERROR_COMPILE; /* the query's fault, not the command line's */
    if (status == GT_OK && space.rows == 0) {
        gt_problem_name(&pick.problem, name);
        status = gt_fail(GT_ERROR_INVALID, "%s has no configuration for %s on %s", pick.family->name, name,
                         pick.device.arch);
    }
    if (status == GT_OK)
        status = find_row(&space, options->params, &row);
    if (status == GT_OK)
        status = gt_space_kernel(&space, row, &pick.device, &pick.kernel);
    gt_space_finish(&space);
    if (status == GT_OK)
        *out = pick;
    return status;
}
