/* gemmtune merge: takes the rows of other databases into one. */
#include <stdio.h>
#include <stdlib.h>

#include "../../db/store.h"
#include "options.h"
#include "output.h"

static const gt_column columns[] = {{"merged", GT_LEFT},    {"runs", GT_RIGHT},      {"problems", GT_RIGHT},
                                    {"trials", GT_RIGHT},   {"baselines", GT_RIGHT}};

static int take_count(void *data, int count, const char *const *names, const char *const *values)
{
    (void)count, (void)names;
    *(long long *)data = values[0] ? atoll(values[0]) : 0;
    return 1;
}

/* Winners of different files have never raced each other. */
static gt_status tell_contested(gt_store *store, bool quiet)
{
    long long count = 0;
    const gt_status status = gt_store_query(store, "SELECT count(*) FROM contested", NULL, take_count, &count);
    if (status == GT_OK && count > 0 && !quiet)
        gt_print_note("%lld problem%s more than one winner; `gemmtune` on such a GPU races them", count,
                      count == 1 ? " has" : "s have");
    return status;
}

static bool can_be_read(const char *path)
{
    gt_store *store;
    if (gt_store_open(path, GT_STORE_READ, &store) != GT_OK)
        return false;
    gt_store_close(store);
    return true;
}

/* Each file is a transaction of its own: one that is refused leaves the others merged. The first one that can be read
 * makes the file that they go into: of nothing none is made. */
int gt_cmd_merge(const gt_options_cli *options)
{
    gt_store *store = NULL;
    int code = 0;
    gt_table *table = gt_table_create(stdout, options->json, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < options->file_count; i++) {
        gt_merged merged;
        if (!store && can_be_read(options->files[i]) &&
            gt_store_open(options->operand, GT_STORE_WRITE, &store) != GT_OK) {
            code = gt_print_failure();
            break;
        }
        if (!store || gt_store_merge(store, options->files[i], &merged) != GT_OK) {
            code = gt_print_failure();
            continue;
        }
        gt_table_text(table, options->files[i]);
        gt_table_integer(table, merged.runs);
        gt_table_integer(table, merged.problems);
        gt_table_integer(table, merged.trials);
        gt_table_integer(table, merged.baselines);
    }
    gt_table_finish(table);
    if (store && tell_contested(store, options->quiet) != GT_OK)
        code = gt_print_failure();
    gt_store_close(store);
    return code;
}
