/* gemmtune wanted: the products that programs asked for under `gemmtune run`, those first that take longest. */
#include "wanted.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../db/store.h"
#include "../../src/core/status.h"
#include "output.h"

/* A column of the query, in its order: a text, an integer, or a number with digits. */
static const struct {
    gt_column column;
    const char *format; /* NULL: not a number; "": an integer */
} shown[] = {
    {{"GPU", GT_LEFT}, NULL},      {{"type", GT_LEFT}, NULL},     {{"math", GT_LEFT}, NULL},
    {{"layout", GT_LEFT}, NULL},   {{"m", GT_RIGHT}, ""},         {{"n", GT_RIGHT}, ""},
    {{"k", GT_RIGHT}, ""},         {{"batch", GT_RIGHT}, ""},     {{"align", GT_RIGHT}, ""},
    {{"calls", GT_RIGHT}, ""},     {{"answered", GT_RIGHT}, ""},  {{"ms", GT_RIGHT}, "%.3f"},
    {{"saved ms", GT_RIGHT}, "%.3f"}, {{"forwarded because", GT_LEFT}, NULL}, {{"function", GT_LEFT}, NULL},
    {{"program", GT_LEFT}, NULL},
};

#define SHOWN (sizeof shown / sizeof shown[0])

/* Of several reasons, functions and programs the one with the most calls is told. */
#define MOST_CALLS(what, condition)                                                                          \
    "(SELECT " what " FROM wanted o WHERE o.gpu = w.gpu AND o.problem = w.problem" condition                 \
    " GROUP BY " what " ORDER BY sum(o.calls) DESC LIMIT 1)"

static const char sql[] =
    "SELECT g.name, p.type, p.math, p.layout, p.m, p.n, p.k, p.batch, p.align, sum(w.calls),"
    " coalesce(sum(w.calls) FILTER (WHERE w.fate = 'answered'), 0), sum(w.calls * w.us) / 1000 AS ms,"
    " sum(w.calls * w.saved_us) / 1000, " MOST_CALLS("o.fate", " AND o.fate <> 'answered'") ","
    " " MOST_CALLS("o.symbol", "") ", " MOST_CALLS("o.program", "")
    " FROM wanted w JOIN problem p ON p.id = w.problem JOIN gpu g ON g.id = w.gpu"
    " GROUP BY w.gpu, w.problem ORDER BY ms DESC, p.id LIMIT ?1";

typedef struct listing {
    gt_column columns[SHOWN];
    gt_table *table; /* made with the first row */
    bool json;
} listing;

static int put_row(void *data, int count, const char *const *names, const char *const *values)
{
    listing *l = data;
    (void)names;
    if (!l->table && !(l->table = gt_table_create(stdout, l->json, l->columns, SHOWN)))
        return 1;
    for (size_t i = 0; i < SHOWN && i < (size_t)count; i++)
        if (!values[i])
            gt_table_none(l->table);
        else if (!shown[i].format)
            gt_table_text(l->table, values[i]);
        else if (!*shown[i].format)
            gt_table_integer(l->table, strtoll(values[i], NULL, 10));
        else
            gt_table_number(l->table, shown[i].format, strtod(values[i], NULL));
    return 0;
}

int gt_cmd_wanted(const gt_options_cli *options)
{
    char most[24];
    const char *const parameters[] = {most, NULL};
    listing l = {.json = options->json};
    gt_store *store = NULL;
    for (size_t i = 0; i < SHOWN; i++)
        l.columns[i] = shown[i].column;
    snprintf(most, sizeof most, "%d", options->top > 0 ? options->top : -1);
    gt_status status = gt_store_open(options->database, GT_STORE_READ, &store);
    if (status == GT_OK)
        status = gt_store_query(store, sql, parameters, put_row, &l);
    if (status == GT_OK && !l.table) {
        fputs(options->json ? "[]\n" : "", stdout);
        gt_print_note("no program asked for anything yet: gemmtune run -- PROGRAM");
    }
    gt_table_finish(l.table);
    gt_store_close(store);
    return status == GT_OK ? 0 : gt_print_failure();
}

static bool fits(const gt_device *device, const gt_problem *problem)
{
    const double bytes = (double)gt_problem_bytes(problem, GT_A) + (double)gt_problem_bytes(problem, GT_B) +
                         (double)gt_problem_bytes(problem, GT_C);
    return bytes <= 0.9 * (double)device->memory_bytes;
}

/* Type by type. Half of the time goes to all alike, half by how long programs wait for them. */
static gt_status share_out(const gt_asked *asked, size_t count, const gt_types *const *types, size_t type_count,
                           gt_problem **out, double **out_shares)
{
    gt_problem *problems = calloc(count + 1, sizeof *problems);
    double *shares = calloc(count + 1, sizeof *shares), us = 0;
    size_t next = 0;
    if (!problems || !shares) {
        free(problems);
        free(shares);
        return gt_fail_memory();
    }
    for (size_t i = 0; i < count; i++)
        us += asked[i].us;
    for (size_t t = 0; t < type_count; t++)
        for (size_t i = 0; i < count; i++)
            if (gt_class_types(&asked[i].problem.class) == types[t]) {
                problems[next] = asked[i].problem;
                shares[next++] = 1 / (double)count + (us > 0 ? asked[i].us / us : 0);
            }
    *out = problems;
    *out_shares = shares;
    return GT_OK;
}

gt_status gt_wanted_problems(const gt_engine *engine, gt_options_cli *options, gt_problem **problems, double **shares,
                             size_t *out_count)
{
    const gt_types *kept[GT_TYPES_MOST];
    gt_asked *asked = NULL;
    size_t count = 0, found = 0, type_count = 0;
    const size_t most = options->top > 0 ? (size_t)options->top : SIZE_MAX;
    gt_status status = gt_store_find_wanted(engine->store, &engine->device, &asked, &found);
    for (size_t i = 0; i < found && count < most; i++) {
        const gt_types *types = gt_class_types(&asked[i].problem.class);
        if (!gt_types_among(types, options->type_list, options->type_count) || !fits(&engine->device, &asked[i].problem))
            continue;
        if (!gt_types_among(types, kept, type_count))
            kept[type_count++] = types;
        asked[count++] = asked[i];
    }
    if (status == GT_OK && count == 0)
        status = gt_fail(GT_ERROR_NOT_TUNED, "no program asked for %s on %s yet: gemmtune run -- PROGRAM",
                         found > 0 ? "these types" : "a product", engine->device.name);
    if (status == GT_OK)
        status = share_out(asked, count, kept, type_count, problems, shares);
    free(asked);
    if (status != GT_OK)
        return status;
    memcpy(options->type_list, kept, type_count * sizeof kept[0]);
    options->type_count = type_count;
    *out_count = count;
    return GT_OK;
}
