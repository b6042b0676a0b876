/* gemmtune space: the families, or what one family's query offers for a device and a problem. */
#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"
#include "space.h"
#include "options.h"
#include "output.h"

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

gt_status gt_space_domain(const gt_space *space, int column, const bool *rows, int64_t **out, size_t *count)
{
    int64_t *values = malloc((space->rows + 1) * sizeof *values);
    size_t used = 0, distinct = 0;
    if (!values)
        return gt_fail_memory();
    for (size_t row = 0; row < space->rows; row++)
        if (!rows || rows[row])
            values[used++] = space->values[row * (size_t)space->columns + (size_t)column];
    qsort(values, used, sizeof *values, by_value);
    for (size_t i = 0; i < used; i++)
        if (i == 0 || values[i] != values[distinct - 1])
            values[distinct++] = values[i];
    *out = values;
    *count = distinct;
    return GT_OK;
}

/* One domain: "64 128 256" for people, an array for programs. */
static gt_status print_domain(const gt_space *space, int column, bool json)
{
    int64_t *values;
    size_t count;
    gt_status status = gt_space_domain(space, column, NULL, &values, &count);
    if (status != GT_OK)
        return status;
    if (!json)
        printf("  %-12s", space->names[column]);
    for (size_t i = 0; i < count; i++)
        printf("%s%lld", !json ? " " : i > 0 ? ", " : "", (long long)values[i]);
    fputs(json ? "" : "\n", stdout);
    free(values);
    return GT_OK;
}

/* The parameters of one space with all values they take in it. */
static gt_status print_domains(const gt_space *space, const gt_device *device, const char *problem, bool json)
{
    gt_status status = GT_OK;
    bool first = true;
    if (json) {
        fputs("{\"family\": ", stdout);
        gt_json_text(stdout, space->family->name);
        printf(", \"arch\": \"%s\", \"problem\": ", device->arch);
        gt_json_text(stdout, problem);
        printf(", \"configurations\": %zu, \"parameters\": {", space->rows);
    } else {
        printf("%s for %s on %s (%s): %zu configuration%s\n", space->family->name, problem, device->name, device->arch,
               space->rows, space->rows == 1 ? "" : "s");
    }
    for (int i = 0; status == GT_OK && i < space->columns; i++) {
        if (!space->tunable[i])
            continue;
        if (json)
            printf("%s\"%s\": [", first ? "" : ", ", space->names[i]);
        first = false;
        status = print_domain(space, i, json);
        fputs(json ? "]" : "", stdout);
    }
    fputs(json ? "}}" : "", stdout);
    return status;
}

/* Every configuration of one space as rows of a table, facts after tunables as the query has them. */
static void add_configurations(gt_table *table, const gt_space *space, const char *problem)
{
    for (size_t row = 0; row < space->rows; row++) {
        gt_table_text(table, problem);
        for (int i = 0; i < space->columns; i++)
            if (space->techniques && strcmp(space->names[i], "technique") == 0)
                gt_table_text(table, space->techniques[row]);
            else
                gt_table_integer(table, space->values[row * (size_t)space->columns + (size_t)i]);
    }
}

static gt_status show_family(const gt_options_cli *options, const gt_family *family, const gt_device *device)
{
    gt_status status = GT_OK;
    gt_column columns[GT_SPACE_COLUMNS + 1] = {{"problem", GT_LEFT}};
    gt_space first = {0}; /* holds the columns' names until the table is printed */
    gt_table *table = NULL;
    char name[GT_PROBLEM_NAME_LENGTH];
    fputs(options->json && !options->all ? "[" : "", stdout);
    for (size_t i = 0; status == GT_OK && i < options->shapes.count; i++) {
        gt_problem problem;
        gt_space space;
        if ((status = gt_options_problem(options, &options->shapes.list[i], &problem)) != GT_OK ||
            (status = gt_space_init(family, device, &problem, &space)) != GT_OK)
            break;
        gt_problem_name(&problem, name);
        if (options->all && i == 0) {
            for (int c = 0; c < space.columns; c++)
                columns[c + 1] = (gt_column){strcpy(first.names[c], space.names[c]), GT_RIGHT};
            table = gt_table_create(stdout, options->json, columns, (size_t)space.columns + 1);
            status = table ? GT_OK : gt_fail_memory();
        }
        if (options->all) {
            add_configurations(table, &space, name);
        } else {
            fputs(i == 0 ? "" : options->json ? ",\n " : "\n", stdout);
            status = print_domains(&space, device, name, options->json);
        }
        gt_space_finish(&space);
    }
    fputs(options->json && !options->all ? "]\n" : "", stdout);
    gt_table_finish(table);
    return status;
}

static gt_status show_families(const gt_options_cli *options, const gt_families *families, const gt_device *device)
{
    static const gt_column columns[] = {
        {"family", GT_LEFT}, {"arch", GT_LEFT}, {"problem", GT_LEFT}, {"configurations", GT_RIGHT}, {"from", GT_LEFT}};
    gt_status status = GT_OK;
    char name[GT_PROBLEM_NAME_LENGTH];
    gt_table *table = gt_table_create(stdout, options->json, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; status == GT_OK && i < options->shapes.count; i++) {
        gt_problem problem;
        status = gt_options_problem(options, &options->shapes.list[i], &problem);
        gt_table_rule(table);
        for (size_t f = 0; status == GT_OK && f < families->count; f++) {
            const gt_family *family = &families->list[f];
            gt_space space;
            if ((status = gt_space_init(family, device, &problem, &space)) != GT_OK)
                break;
            gt_problem_name(&problem, name);
            gt_table_text(table, family->name);
            gt_table_text(table, device->arch);
            gt_table_text(table, name);
            gt_table_integer(table, (long long)space.rows);
            gt_table_text(table, family->built_in ? "built in" : options->templates);
            gt_space_finish(&space);
        }
    }
    gt_table_finish(table);
    return status;
}

gt_status gt_space_device(const gt_options_cli *options, gt_device *device)
{
    gt_status status = gt_options_device(options, device);
    if (status == GT_OK && device->ordinal < 0 && !options->arch)
        gt_print_note("no GPU here: this is for %s; --arch chooses another", device->arch);
    return status;
}

int gt_cmd_space(const gt_options_cli *options)
{
    gt_families families = {0};
    gt_device device;
    const gt_family *family = NULL;
    gt_status status = gt_families_init(options->templates, &families);
    if (status == GT_OK && options->operand)
        status = gt_families_get(&families, options->operand, &family);
    if (status == GT_OK)
        status = gt_space_device(options, &device);
    if (status == GT_OK)
        status = family ? show_family(options, family, &device) : show_families(options, &families, &device);
    gt_families_finish(&families);
    return status == GT_OK ? 0 : gt_print_failure();
}
