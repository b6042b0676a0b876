#include "figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../commands/ratings.h"
#include "../commands/shapes.h"
#include "../worker/reference.h"
#include "chart.h"

const char *gt_figure_rate(double ratio)
{
    return !(ratio > 0) ? "any" : ratio > (1 + GT_TIE) ? "good" : ratio < (1 - GT_TIE) ? "bad" : "tie";
}

static double gflop(const gt_best_row *w)
{
    return 2e-9 * (double)w->m * (double)w->n * (double)w->k * (double)w->batch;
}

static void name(const gt_best_row *w, char text[256])
{
    char shape[GT_SHAPE_LENGTH];
    gt_shape_name(w->m, w->n, w->k, shape);
    snprintf(text, 256, "%s %s%s, %s: %.4g us, %.4g TFLOPS", w->layout, shape, w->batch > 1 ? " batched" : "",
             w->family, w->us, w->tflops);
}

void gt_figure_ratios(FILE *out, const gt_best_row *list, size_t count)
{
    gt_axis x = {.label = "GFLOP"}, y = {.label = "cuBLAS\xe2\x80\x99s time over ours"};
    char text[300];
    for (size_t i = 0; i < count; i++)
        if (list[i].ratio > 0) {
            gt_axis_take(&x, gflop(&list[i]));
            gt_axis_take(&y, list[i].ratio);
        }
    if (!(y.low > 0))
        return;
    gt_axis_take(&y, 0.9);
    gt_axis_take(&y, 1.1);
    const gt_chart chart = gt_chart_begin(out, "Against cuBLAS: above 1 is faster; the stripe is a tie", x, y);
    gt_chart_band(&chart, (1 - GT_TIE), (1 + GT_TIE));
    for (size_t i = 0; i < count; i++) {
        name(&list[i], text);
        snprintf(text + strlen(text), sizeof text - strlen(text), ", %.3f", list[i].ratio);
        if (list[i].ratio > 0)
            gt_chart_dot(&chart, gt_figure_rate(list[i].ratio), gflop(&list[i]), list[i].ratio, text);
    }
    gt_chart_end(&chart);
}

void gt_figure_roofline(FILE *out, const gt_best_row *list, size_t count)
{
    gt_axis x = {.label = "flops a byte of A, B and C"}, y = {.label = "TFLOPS"};
    const double peak = list[0].peak, copy = list[0].copy_tbs;
    char text[256];
    for (size_t i = 0; i < count; i++)
        if (list[i].bytes > 0) {
            gt_axis_take(&x, gflop(&list[i]) * 1e9 / list[i].bytes);
            gt_axis_take(&y, list[i].tflops);
        }
    if (!(y.low > 0))
        return;
    gt_axis_take(&y, peak);
    const gt_chart chart = gt_chart_begin(out, "Roofline: multiply-adds and, where measured, memory", x, y);
    if (peak > 0)
        gt_chart_line(&chart, "l", copy > 0 ? peak / copy : chart.x.low, peak, chart.x.high, peak);
    if (peak > 0 && copy > 0)
        gt_chart_line(&chart, "l", chart.x.low, chart.x.low * copy, peak / copy, peak);
    for (size_t i = 0; i < count; i++) {
        name(&list[i], text);
        gt_chart_dot(&chart, gt_figure_rate(list[i].ratio), gflop(&list[i]) * 1e9 / list[i].bytes, list[i].tflops,
                     text);
    }
    gt_chart_end(&chart);
}

/* The bound of an element's error, relative to its sum of |a||b|, in the best case, where all products are equal. The
 * bound grows with the sum of their squares, which is least then. */
static double least_bound(const gt_types *types, double k)
{
    return gt_reference_bound(types, (int64_t)k, 0, 1, 0, 1 / k, 0);
}

#define STEPS 40 /* of a curve */

/* The largest error that checks saw, beside its bound and what one rounding of a result gives. */
void gt_figure_errors(FILE *out, const gt_best_row *list, size_t count)
{
    gt_axis x = {.label = "k"}, y = {.label = "largest error over \xce\xa3|a||b|"};
    gt_math math;
    const gt_types *types = gt_math_parse(list[0].math, &math) ? gt_types_parse(list[0].type, math) : NULL;
    char text[256];
    for (size_t i = 0; i < count; i++)
        if (list[i].error > 0) {
            gt_axis_take(&x, (double)list[i].k);
            gt_axis_take(&y, list[i].error);
        }
    if (!(y.low > 0))
        return;
    const double once = types ? types->result_roundoff : 0;
    gt_axis_take(&y, once);
    if (once > 0) {
        gt_axis_take(&y, least_bound(types, x.low));
        gt_axis_take(&y, least_bound(types, x.high));
    }
    const gt_chart chart =
        gt_chart_begin(out, "Errors that checks saw; line: their bound; dashed: one rounding of a result", x, y);
    if (once > 0)
        gt_chart_line(&chart, "d", chart.x.low, once, chart.x.high, once);
    for (int i = 0; once > 0 && i < STEPS; i++) {
        const double from = x.low * pow(x.high / x.low, i / (double)STEPS);
        const double to = x.low * pow(x.high / x.low, (i + 1) / (double)STEPS);
        gt_chart_line(&chart, "l", from, least_bound(types, from), to, least_bound(types, to));
    }
    for (size_t i = 0; i < count; i++) {
        name(&list[i], text);
        gt_chart_dot(&chart, "any", (double)list[i].k, list[i].error, text);
    }
    gt_chart_end(&chart);
}

/* Points of a line, one after the other. */
typedef struct curve {
    double x[256], y[256];
    size_t count;
} curve;

static int take_point(void *data, int count, const char *const *names, const char *const *values)
{
    curve *c = data;
    (void)count, (void)names;
    c->x[c->count] = values[0] ? strtod(values[0], NULL) : 0;
    c->y[c->count] = values[1] ? strtod(values[1], NULL) : 0;
    return ++c->count == sizeof c->x / sizeof c->x[0];
}

/* How soon a search comes near its best: on average over the problems of a GPU, as long as half of them go on. One whose
 * search has ended is where it will stay. */
gt_status gt_figure_progress(gt_store *store, FILE *out, const char *gpu_id)
{
    static const char sql[] =
        "WITH tried AS (SELECT t.problem, row_number() OVER w AS place, min(t.us) OVER w AS best,"
        "  min(t.us) OVER (PARTITION BY t.problem) AS final FROM trial t"
        "  WHERE t.gpu = ?1 AND t.stage = 'screen' AND t.outcome = 'ok' AND t.us IS NOT NULL"
        "  WINDOW w AS (PARTITION BY t.problem ORDER BY t.tried_at))"
        "SELECT place, 1 - sum(1 - final / best) / n FROM tried, (SELECT count(DISTINCT problem) AS n FROM tried)"
        " GROUP BY place HAVING count(*) * 2 >= n ORDER BY place";
    gt_axis x = {.label = "candidates that passed"}, y = {.label = "share of the final speed"};
    curve c = {.count = 0};
    const gt_status status = gt_store_query(store, sql, (const char *const[]){gpu_id, NULL}, take_point, &c);
    for (size_t i = 0; i < c.count; i++) {
        gt_axis_take(&x, c.x[i]);
        gt_axis_take(&y, c.y[i]);
    }
    if (status != GT_OK || c.count < 2)
        return status;
    const gt_chart chart = gt_chart_begin(out, "Search: the best so far, of the best in the end", x, y);
    for (size_t i = 1; i < c.count; i++)
        gt_chart_line(&chart, "l", c.x[i - 1], c.y[i - 1], c.x[i], c.y[i]);
    gt_chart_end(&chart);
    return GT_OK;
}

