/* gemmtune forget: drops a kernel, a family or some sizes from the database, so that tuning starts afresh there. */
#include <stdio.h>
#include <string.h>

#include "../../db/store.h"
#include "../../src/core/status.h"
#include "../values.h"
#include "options.h"
#include "output.h"

static const gt_column columns[] = {{"forgotten", GT_LEFT}, {"kernels", GT_RIGHT}, {"trials", GT_RIGHT}};

#define NAME_LENGTH (GT_FAMILY_LENGTH + GT_PARAMS_TEXT + 64)

typedef struct forgetting {
    gt_store *store;
    gt_table *table;
    int64_t rows; /* that went */
} forgetting;

/* Forgets one thing; a row tells of it under this name where anything went. */
static gt_status forget(forgetting *f, const gt_forget *what, const char *name)
{
    int64_t kernels, trials;
    const gt_status status = gt_store_forget(f->store, what, &kernels, &trials);
    if (status != GT_OK || kernels + trials == 0)
        return status;
    gt_table_text(f->table, name);
    gt_table_integer(f->table, kernels);
    gt_table_integer(f->table, trials);
    f->rows += kernels + trials;
    return GT_OK;
}

static int put_config(void *data, int count, const char *const *names, const char *const *values)
{
    char *name = data;
    (void)count, (void)names;
    snprintf(name + strlen(name), NAME_LENGTH - strlen(name), ", %s %s", values[0] ? values[0] : "",
             values[1] ? values[1] : "");
    return 1;
}

/* A kernel by its number, or by the beginning of its source's hash. */
static gt_status forget_kernel(forgetting *f, const char *text, char name[NAME_LENGTH])
{
    static const char sql[] = "SELECT family, params FROM config WHERE kernel = CAST(?1 AS INTEGER)";
    gt_forget what = {0};
    gt_status status = GT_OK;
    snprintf(name, NAME_LENGTH, "kernel %.80s", text);
    if (gt_integer_parse("--kernel", text, 1, INT64_MAX, &what.kernel_id) == GT_OK)
        status = gt_store_query(f->store, sql, (const char *const[]){text, NULL}, put_config, name);
    else
        what.source_hash = text;
    return status == GT_OK ? forget(f, &what, name) : status;
}

/* Each size, as the same words would have tuned it. */
static gt_status forget_shapes(forgetting *f, const gt_options_cli *options, char name[NAME_LENGTH])
{
    gt_problem *problems;
    size_t count;
    gt_status status = gt_options_problems(options, &problems, &count);
    if (status != GT_OK)
        return status;
    for (size_t i = 0; status == GT_OK && i < count; i++) {
        gt_problem_name(&problems[i], name);
        status = forget(f, &(gt_forget){.problem = &problems[i]}, name);
    }
    if (count > 1)
        snprintf(name, NAME_LENGTH, "any of %zu problems", count);
    free(problems);
    return status;
}

int gt_cmd_forget(const gt_options_cli *options)
{
    char name[NAME_LENGTH] = "";
    forgetting f = {0};
    gt_status status = gt_store_find(options->database);
    if (status == GT_OK)
        status = gt_store_open(options->database, GT_STORE_WRITE, &f.store);
    if (status == GT_OK)
        f.table = gt_table_create(stdout, options->json, columns, sizeof columns / sizeof columns[0]);
    if (status == GT_OK && options->kernel) {
        status = forget_kernel(&f, options->kernel, name);
    } else if (status == GT_OK && options->family) {
        snprintf(name, sizeof name, "family %.80s", options->family);
        status = forget(&f, &(gt_forget){.family = options->family}, name);
    } else if (status == GT_OK) {
        status = forget_shapes(&f, options, name);
    }
    if (status == GT_OK && f.rows == 0)
        status = gt_fail(GT_ERROR_NOT_TUNED, "nothing in %s matches %s", gt_store_path(f.store), name);
    gt_table_finish(f.table);
    gt_store_close(f.store);
    if (status == GT_ERROR_INVALID) /* what stands for a kernel cannot be one */
        return gt_print_usage_failure();
    return status == GT_OK ? 0 : gt_print_failure();
}
