/* gemmtune best: the winners that the database holds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../db/store.h"
#include "../../src/core/bound.h"
#include "../../src/core/status.h"
#include "../../src/runtime/select.h"
#include "options.h"
#include "output.h"

#define MOST_COLUMNS 64

#define BOUND "bound" /* the column that is no view's: what is proved of errors */

/* Columns for people: the view's name, the heading, and how its numbers are written (NULL: as they are). */
static const struct {
    const char *name;
    const char *title;
    gt_align_cell align;
    const char *format;
    double scale;
} shown[] = {
    {"gpu_label", "GPU", GT_LEFT, NULL, 0},
    {"type", "type", GT_LEFT, NULL, 0},
    {"math", "math", GT_LEFT, NULL, 0},
    {"layout", "layout", GT_LEFT, NULL, 0},
    {"m", "m", GT_RIGHT, NULL, 0},
    {"n", "n", GT_RIGHT, NULL, 0},
    {"k", "k", GT_RIGHT, NULL, 0},
    {"batch", "batch", GT_RIGHT, NULL, 0},
    {"family", "family", GT_LEFT, NULL, 0},
    {"params", "params", GT_LEFT, NULL, 0},
    {"us", "us", GT_RIGHT, "%.2f", 1},
    {"tflops", "TFLOPS", GT_RIGHT, "%.2f", 1},
    {"peak_pct", "peak", GT_RIGHT, "%.1f%%", 1},
    {"vs_cublas", "vs cuBLAS", GT_RIGHT, "%.2fx", 1},
    {"margin", "margin", GT_RIGHT, "%.1f%%", 100},
    {"error", "error", GT_RIGHT, "%.1e", 1},
    {BOUND, "bound", GT_RIGHT, "%.1e", 1},
    {"timing", "timing", GT_LEFT, NULL, 0},
};

#define SHOWN (sizeof shown / sizeof shown[0])

/* Columns that stay text in JSON even where they look like a number. */
static const char *const text_columns[] = {"gpu",    "type",   "math",   "layout",   "epilogue",
                                           "family", "params", "timing", "tuned_at", "gpu_label"};

typedef struct listing {
    const gt_options_cli *options;
    gt_table *table;
    gt_column columns[MOST_COLUMNS];
    char *names; /* the view's own, copied for as long as the table lives */
    size_t rows;
    const gt_device *device; /* that shapes are explained for; NULL: none are */
    bool *seen; /* of the shapes that were asked for: there is a row of that GPU */
    char group[256];  /* GPU, type and math of the last row */
    gt_status status; /* of making the table */
} listing;

static bool is_text(const char *name)
{
    for (size_t i = 0; i < sizeof text_columns / sizeof text_columns[0]; i++)
        if (strcmp(name, text_columns[i]) == 0)
            return true;
    return false;
}

static const char *find(const char *name, int count, const char *const *names, const char *const *values)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return values[i];
    return NULL;
}

/* NULL where this program does not know them. */
static const gt_types *types_of(int count, const char *const *names, const char *const *values)
{
    const char *type = find("type", count, names, values), *name = find("math", count, names, values);
    gt_math math;
    return type && name && gt_math_parse(name, &math) ? gt_types_parse(type, math) : NULL;
}

/* Whether sizes in the layout that was given, or in any, are stored as a row's: vectors are stored as rows. */
static bool is_stored_as(const gt_options_cli *given, const gt_types *types, const gt_shape *shape, const gt_shape *row,
                         const char *layout)
{
    gt_options_cli options = *given;
    gt_problem problem;
    options.types = types;
    for (int a = GT_N; a <= GT_T; a++)
        for (int b = GT_N; b <= GT_T; b++) {
            options.op_a = (gt_op)a;
            options.op_b = (gt_op)b;
            if ((!given->layout_given || (options.op_a == given->op_a && options.op_b == given->op_b)) &&
                gt_options_problem(&options, shape, &problem) == GT_OK && problem.m == row->m && problem.n == row->n &&
                strcmp(gt_class_layout(&problem.class), layout) == 0)
                return true;
        }
    return false;
}

/* Whether --shapes, where given, names this row's sizes. */
static bool wanted(listing *l, int count, const char *const *names, const char *const *values)
{
    static const char *const keys[] = {"m", "n", "k"};
    const gt_options_cli *options = l->options;
    const char *gpu = find("gpu", count, names, values), *layout = find("layout", count, names, values);
    const gt_types *types = types_of(count, names, values);
    bool found = !options->shapes_given;
    int64_t sizes[3];
    for (int i = 0; i < 3; i++) {
        const char *text = find(keys[i], count, names, values);
        sizes[i] = text ? strtoll(text, NULL, 10) : 0;
    }
    const gt_shape row = {sizes[0], sizes[1], sizes[2]};
    const bool here = !l->device || (gpu && strcmp(gpu, l->device->name) == 0);
    for (size_t i = 0; options->shapes_given && types && layout && i < options->shapes.count; i++) {
        const gt_shape *s = &options->shapes.list[i];
        const bool same = s->m == row.m && s->n == row.n, turned = s->m == row.n && s->n == row.m;
        const bool named = (same || turned) && s->k == row.k && is_stored_as(options, types, s, &row, layout);
        found = found || named;
        l->seen[i] = l->seen[i] || (named && here);
    }
    return found;
}

/* The table's columns: for programs the view's, known with the first row; for people our own. */
static gt_status begin(listing *l, int count, const char *const *names)
{
    size_t used = SHOWN;
    for (size_t i = 0; i < SHOWN; i++)
        l->columns[i] = (gt_column){shown[i].title, shown[i].align};
    if (l->options->json) {
        size_t size;
        FILE *stream = open_memstream(&l->names, &size);
        if (!stream)
            return gt_fail_memory();
        used = count < MOST_COLUMNS - 1 ? (size_t)count : MOST_COLUMNS - 1;
        for (size_t i = 0; i < used; i++)
            fprintf(stream, "%s%c", names[i], '\0');
        fprintf(stream, BOUND "%c", '\0');
        used++;
        if (fclose(stream) != 0)
            return gt_fail_memory();
        const char *name = l->names;
        for (size_t i = 0; i < used; i++, name += strlen(name) + 1)
            l->columns[i] = (gt_column){name, GT_LEFT};
    }
    l->table = gt_table_create(stdout, l->options->json, l->columns, used);
    return l->table ? GT_OK : gt_fail_memory();
}

static void put_json(gt_table *table, const char *name, const char *value)
{
    char *end = NULL;
    const double number = value ? strtod(value, &end) : 0;
    if (!value)
        gt_table_none(table);
    else if (is_text(name) || end == value || *end || !isfinite(number))
        gt_table_text(table, value);
    else if (strspn(value, "-0123456789") == strlen(value))
        gt_table_integer(table, strtoll(value, NULL, 10));
    else
        gt_table_number(table, "%g", number);
}

/* What the errors of a row's kernel are proved to be within, over the sum of |a||b|; NaN where its types are not known. */
static double bound_of(int count, const char *const *names, const char *const *values)
{
    const char *k = find("k", count, names, values), *repack = find("repack", count, names, values);
    const gt_types *types = types_of(count, names, values);
    const gt_facts facts = {.repack = repack ? strtoll(repack, NULL, 10) : 0};
    return types && k ? gt_error_bound(types, &facts, strtoll(k, NULL, 10)) : NAN;
}

/* A blank line before the first row of another GPU, type or math. */
static void separate(listing *l, int count, const char *const *names, const char *const *values)
{
    static const char *const keys[] = {"gpu_id", "type", "math"};
    char group[sizeof l->group] = "";
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *value = find(keys[i], count, names, values);
        snprintf(group + strlen(group), sizeof group - strlen(group), "%s\n", value ? value : "");
    }
    if (strcmp(group, l->group) != 0)
        gt_table_rule(l->table);
    memcpy(l->group, group, sizeof group);
}

static int put_row(void *data, int count, const char *const *names, const char *const *values)
{
    listing *l = data;
    if (!wanted(l, count, names, values))
        return 0;
    if (!l->table && (l->status = begin(l, count, names)) != GT_OK)
        return 1;
    l->rows++;
    separate(l, count, names, values);
    const double bound = bound_of(count, names, values);
    for (int i = 0; l->options->json && i < count && i < MOST_COLUMNS - 1; i++)
        put_json(l->table, names[i], values[i]);
    if (l->options->json)
        gt_table_number(l->table, "%g", bound);
    for (size_t i = 0; !l->options->json && i < SHOWN; i++) {
        const char *value = find(shown[i].name, count, names, values);
        if (strcmp(shown[i].name, BOUND) == 0)
            gt_table_number(l->table, shown[i].format, bound);
        else if (!value || !shown[i].format)
            gt_table_text(l->table, value);
        else if (strtod(value, NULL) < 0) /* a margin that nobody lost by */
            gt_table_none(l->table);
        else
            gt_table_number(l->table, shown[i].format, strtod(value, NULL) * shown[i].scale);
    }
    return 0;
}

/* The file asked for; else the user's, and behind it the system's. */
static gt_status open_store(const gt_options_cli *options, gt_store **store)
{
    char missing[1024];
    const gt_status status = gt_store_open(options->database, GT_STORE_READ, store);
    if (status != GT_ERROR_NO_DATABASE || options->database)
        return status;
    snprintf(missing, sizeof missing, "%s", gt_error_message());
    return gt_store_open(gt_store_system_path(), GT_STORE_READ, store) == GT_OK ? GT_OK
                                                                                : gt_fail(status, "%s", missing);
}

/* What the library would take for a shape that the table does not show, on the GPU that was asked for. */
static void explain(const gt_options_cli *options, gt_store *store, const gt_device *device, const gt_shape *shape)
{
    char db[GT_OPTIONS_DB];
    const gt_demands demands = {.db_option = gt_options_db(options->database, db)};
    gt_measurements measured = {0};
    gt_selection selection;
    gt_problem problem;
    char name[GT_PROBLEM_NAME_LENGTH], params[GT_PARAMS_TEXT];
    if (gt_options_problem(options, shape, &problem) != GT_OK ||
        gt_store_find_measured(store, device, &problem.class, &measured) != GT_OK)
        return;
    gt_problem_name(&problem, name);
    if (gt_select(device, &problem, &demands, &measured, &selection) == GT_OK) {
        const gt_kernel kernel = gt_selection_kernel(&measured, &selection);
        gt_print_note("%s: %sthe library takes %s %s, %.3g us: %s", name,
                      selection.choice == GT_CHOICE_EXACT ? "" : "not tuned; ", kernel.family,
                      gt_params_text(&kernel.params, params), selection.expected_us, selection.reason);
    } else {
        gt_print_note("%s", gt_error_message());
    }
    gt_measurements_finish(&measured);
}

static void explain_unseen(const listing *l, gt_store *store)
{
    for (size_t i = 0; l->device && i < l->options->shapes.count; i++)
        if (!l->seen[i])
            explain(l->options, store, l->device, &l->options->shapes.list[i]);
}

/* The GPU that sizes are explained for. What would be taken depends on it: without one nothing is said, unless it was
 * named. */
static gt_status find_device(const gt_options_cli *options, gt_device *device, bool *found)
{
    const bool asked = options->shapes_given && !options->quiet && !options->json;
    const gt_status status = asked || options->device_given ? gt_options_gpu(options, device) : GT_ERROR_NO_DEVICE;
    *found = asked && status == GT_OK;
    return options->device_given ? status : GT_OK;
}

int gt_cmd_best(const gt_options_cli *options)
{
    static const char sql[] =
        "SELECT *, (SELECT repack FROM kernel k WHERE k.id = best_configs.kernel) AS repack,"
        " (SELECT " GT_GPU_LABEL " FROM gpu g WHERE g.id = gpu_id) AS gpu_label FROM best_configs"
        " WHERE (?1 = '' OR type = ?1) AND (?2 = '' OR layout = ?2) AND (?3 = '' OR family = ?3)"
        " AND (?4 = '' OR math = ?4) ORDER BY gpu, gpu_id, type, math, layout, batch, 1.0 * m * n * k, m, n, k";
    const gt_class class = {.op_a = options->op_a, .op_b = options->op_b};
    const bool typed = options->type_given || options->math_names;
    const bool filtered = typed || options->layout_given || options->family || options->shapes_given;
    listing l = {.options = options, .seen = calloc(options->shapes.count + 1, sizeof *l.seen)};
    gt_store *store = NULL;
    gt_device device;
    char db[GT_OPTIONS_DB];
    bool found = false;
    gt_status status = l.seen ? open_store(options, &store) : gt_fail_memory();
    if (status == GT_OK)
        status = find_device(options, &device, &found);
    l.device = found ? &device : NULL;
    for (size_t i = 0; status == GT_OK && i < (typed ? options->type_count : 1); i++) {
        const char *const filters[] = {typed ? options->type_list[i]->name : "",
                                       options->layout_given && !options->shapes_given ? gt_class_layout(&class) : "",
                                       options->family ? options->family : "",
                                       typed ? gt_math_name(options->type_list[i]->math) : "", NULL};
        status = gt_store_query(store, sql, filters, put_row, &l);
    }
    if (status == GT_OK)
        status = l.status;
    if (status == GT_OK && l.rows == 0) {
        fputs(options->json ? "[]\n" : "", stdout);
        if (!options->quiet && filtered)
            gt_print_note("nothing in %s matches", gt_store_path(store));
        else if (!options->quiet)
            gt_print_note("nothing is tuned yet in %s: run `gemmtune%s`", gt_store_path(store),
                          gt_options_db(options->database, db));
    }
    gt_table_finish(l.table);
    if (status == GT_OK)
        explain_unseen(&l, store);
    free(l.names);
    free(l.seen);
    gt_store_close(store);
    return status == GT_OK ? 0 : gt_print_failure();
}
