/* gemmtune fit: fits the estimate of time to what was measured, and says how good it is for sizes nobody tuned. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"
#include "../fit/fit.h"
#include "../fit/trials.h"
#include "options.h"
#include "output.h"

static const gt_column columns[] = {
    {"type", GT_LEFT},       {"family", GT_LEFT},     {"trials", GT_RIGHT},
    {"shipped %", GT_RIGHT}, {"fitted %", GT_RIGHT}, {"held out %", GT_RIGHT},
#define X(name) {#name, GT_RIGHT},
    GT_TERMS(X)
#undef X
};

#define COLUMNS (sizeof columns / sizeof columns[0])

/* Where results go: a table for each type, or for programs one of all types. */
typedef struct fit_output {
    gt_table *all; /* of all types, for programs, from the first one on that has something to fit */
    bool json, any;
} fit_output;

static void put_families(gt_table *table, const gt_types *types, const gt_fit *fit)
{
    char text[GT_TYPES_TEXT];
    for (size_t i = 0; i < fit->count; i++) {
        gt_fit_family family = fit->families[i];
        gt_table_text(table, gt_types_text(types, text));
        gt_table_text(table, family.fitted.family);
        gt_table_integer(table, (int64_t)family.trials);
        gt_table_number(table, "%.1f", 100 * family.shipped);
        gt_table_number(table, "%.1f", 100 * family.error);
        if (family.held_out > 0)
            gt_table_number(table, "%.1f", 100 * family.held_out);
        else
            gt_table_none(table);
        for (size_t t = 0; t < GT_TERM_COUNT; t++)
            gt_table_number(table, "%.3f", *gt_term(&family.fitted.coefficients, t));
    }
}

static void print_choices(const char *by, const gt_fit_choices *c)
{
    char name[GT_PROBLEM_NAME_LENGTH] = "";
    if (c->problems == 0)
        return;
    if (c->worst > 1)
        gt_problem_name(&c->worst_problem, name);
    printf("%s: left out, each of %zu problems takes %.3f of its best known time at the geometric mean, %.2f at most%s%s%s; "
           "the best kernel is among the first 8 on %.0f%%\n", by, c->problems, c->mean, c->worst, *name ? " (" : "", name,
           *name ? ")" : "", 100 * c->among_first);
}

static gt_status fit_lists(fit_output *output, const gt_device *device, const gt_types *types,
                           const gt_measurements *lists, size_t count, gt_fit *fit)
{
    const gt_status status = gt_fit_init(device, lists, count, true, fit);
    if (status != GT_OK || fit->count == 0)
        return status;
    gt_table *table = output->all ? output->all : gt_table_create(stdout, output->json, columns, COLUMNS);
    put_families(table, types, fit);
    output->any = true;
    if (output->json) {
        output->all = table;
    } else {
        gt_table_finish(table);
        print_choices("shipped", &fit->before);
        print_choices("fitted", &fit->after);
        if (fit->order.problems > 0)
            printf("order of the trials of %zu problem%s, Spearman: %.3f by the shipped coefficients, %.3f by the fitted "
                   "ones\n", fit->order.problems, fit->order.problems == 1 ? "" : "s", fit->order.before,
                   fit->order.after);
    }
    return GT_OK;
}

/* A table of trials, whose types follow each other. Nothing is stored. */
static gt_status fit_table(const gt_options_cli *options, fit_output *output)
{
    gt_trials trials;
    gt_status status = gt_trials_read(options->trials, &trials);
    for (size_t i = 0, end; status == GT_OK && i < trials.count; i = end) {
        const gt_types *types = gt_class_types(&trials.lists[i].list[0].problem.class);
        gt_fit fit;
        for (end = i + 1; end < trials.count && gt_class_types(&trials.lists[end].list[0].problem.class) == types; end++)
            continue;
        if (!gt_types_among(types, options->type_list, options->type_count))
            continue;
        status = fit_lists(output, &trials.device, types, trials.lists + i, end - i, &fit);
        gt_fit_finish(&fit);
    }
    gt_trials_finish(&trials);
    if (status == GT_OK && !output->any)
        status = gt_fail(GT_ERROR_NOT_TUNED, "nothing to fit: %s has no trial of these types", options->trials);
    return status;
}

/* One type of a database: told of, stored, and written where a table is wanted. */
static gt_status fit_type(fit_output *output, const gt_device *device, gt_store *store, int64_t gpu,
                          const gt_types *types, FILE *table, size_t *all)
{
    gt_measurements lists[GT_FIT_LISTS] = {0};
    gt_fit fit = {0};
    size_t trials = 0;
    gt_status status = gt_fit_read(store, device, types, lists);
    for (size_t i = 0; status == GT_OK && i < GT_FIT_LISTS; i++) {
        trials += lists[i].count;
        if (table && !gt_trials_write(table, &lists[i]))
            status = gt_fail(GT_ERROR_IO, "cannot write the table of trials");
    }
    if (status == GT_OK && trials > 0)
        status = fit_lists(output, device, types, lists, GT_FIT_LISTS, &fit);
    if (status == GT_OK && trials > 0)
        status = gt_fit_store(store, gpu, types, &fit);
    *all += trials;
    gt_fit_finish(&fit);
    for (size_t i = 0; i < GT_FIT_LISTS; i++)
        gt_measurements_finish(&lists[i]);
    return status;
}

static gt_status fail_saving(const char *path)
{
    return gt_fail(GT_ERROR_IO, "%s: cannot be written: %s", path, strerror(errno));
}

static gt_status fit_store(const gt_options_cli *options, fit_output *output)
{
    gt_device device;
    gt_store *store = NULL;
    int64_t gpu = 0;
    FILE *table = NULL;
    size_t trials = 0;
    /* Trials of another GPU, or of none, would be fitted to the wrong peaks. */
    gt_status status = gt_options_gpu(options, &device);
    if (status == GT_OK)
        status = gt_store_find(options->database);
    if (status == GT_OK)
        status = gt_store_open(options->database, GT_STORE_WRITE, &store);
    if (status == GT_OK)
        status = gt_store_gpu(store, &device, &gpu);
    if (status == GT_OK && options->save && !(table = fopen(options->save, "w")))
        status = fail_saving(options->save);
    if (status == GT_OK && table && !gt_trials_write_device(table, &device))
        status = fail_saving(options->save);
    for (size_t i = 0; status == GT_OK && i < options->type_count; i++)
        status = fit_type(output, &device, store, gpu, options->type_list[i], table, &trials);
    if (status == GT_OK && trials == 0)
        status = gt_fail(GT_ERROR_NOT_TUNED, "nothing to fit: %s has no trial of these types on %s", gt_store_path(store),
                         device.name);
    if (table && fclose(table) != 0 && status == GT_OK)
        status = fail_saving(options->save);
    gt_store_close(store);
    return status;
}

int gt_cmd_fit(const gt_options_cli *options)
{
    if (options->trials && (options->save || options->database || options->device_given)) {
        gt_fail(GT_ERROR_INVALID, "fit --trials stores nothing and asks no GPU: no --save, --db or --device beside it");
        return gt_print_usage_failure();
    }
    fit_output output = {.json = options->json};
    const gt_status status = options->trials ? fit_table(options, &output) : fit_store(options, &output);
    gt_table_finish(output.all);
    return status == GT_OK ? 0 : gt_print_failure();
}
