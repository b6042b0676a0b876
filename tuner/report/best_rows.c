#include "best_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"

/* The winners, in the order of `best`, with what their GPU can do and, where the newest run on that GPU had another
 * driver, compiler or gemmtune than the one that proved them, the difference. */
static const char winners_sql[] =
    "WITH newest AS MATERIALIZED (SELECT g.id, " GT_GPU_LABEL " AS label, r.driver, r.nvrtc, r.program"
    " FROM gpu g JOIN run r ON r.id ="
    "  (SELECT t.run FROM trial t WHERE t.gpu = g.id ORDER BY t.tried_at DESC LIMIT 1))"
    "SELECT n.label, b.type, b.math, b.layout, b.family, b.timing, b.tuned_at, b.params, b.m, b.n, b.k, b.batch, b.us,"
    " b.tflops, b.peak_pct, b.vs_cublas, b.error, 100 * b.margin,"
    " (SELECT tflops FROM peak WHERE gpu = n.id AND type = b.type AND math = b.math),"
    " (SELECT copy_tbs FROM bandwidth WHERE gpu = n.id),"
    " CASE WHEN instr(n.driver || ' ', r.driver || ' ') <> 1 AND instr(r.driver || ' ', n.driver || ' ') <> 1 THEN 'driver ' || r.driver || ', now ' || n.driver"
    "  WHEN r.nvrtc <> n.nvrtc THEN 'NVRTC ' || r.nvrtc || ', now ' || n.nvrtc"
    "  WHEN r.program <> n.program THEN 'gemmtune ' || r.program || ', now ' || n.program END, b.gpu_id"
    " FROM best_configs b JOIN run r ON r.id = b.run JOIN newest n ON n.id = b.gpu_id"
    " ORDER BY b.gpu, b.gpu_id, b.type, b.math, b.layout, b.batch, 1.0 * b.m * b.n * b.k, b.m, b.n, b.k";

static double number(const char *text)
{
    return text ? strtod(text, NULL) : 0;
}

/* Bytes of A, B and C, each once. */
static double count_bytes(const gt_best_row *w)
{
    gt_math math;
    const gt_types *types = gt_math_parse(w->math, &math) ? gt_types_parse(w->type, math) : NULL;
    if (!types)
        return 0;
    const double a = gt_type_find(types->a)->bytes, b = gt_type_find(types->b)->bytes;
    const double c = gt_type_find(types->c)->bytes;
    return (double)w->batch * (a * (double)w->m * (double)w->k + b * (double)w->k * (double)w->n +
                               c * (double)w->m * (double)w->n);
}

static int take_winner(void *data, int count, const char *const *names, const char *const *v)
{
    gt_best_rows *p = data;
    (void)count, (void)names;
    if (p->count == p->room) {
        const size_t room = p->room ? 2 * p->room : 256;
        gt_best_row *list = realloc(p->list, room * sizeof *list);
        if (!list) {
            p->status = gt_fail_memory();
            return 1;
        }
        p->list = list;
        p->room = room;
    }
    gt_best_row *w = &p->list[p->count++];
    *w = (gt_best_row){.m = atoll(v[8]), .n = atoll(v[9]), .k = atoll(v[10]), .batch = atoll(v[11]),
                       .us = number(v[12]), .tflops = number(v[13]), .peak_percent = number(v[14]),
                       .ratio = number(v[15]), .error = number(v[16]), .margin = v[17] ? number(v[17]) : -1,
                       .peak = number(v[18]), .copy_tbs = number(v[19])};
    const struct {
        char *to;
        size_t size;
        const char *from;
    } texts[] = {{w->gpu_id, sizeof w->gpu_id, v[21]}, {w->gpu, sizeof w->gpu, v[0]},          {w->type, sizeof w->type, v[1]},
                 {w->math, sizeof w->math, v[2]},        {w->layout, sizeof w->layout, v[3]},
                 {w->family, sizeof w->family, v[4]},    {w->timing, sizeof w->timing, v[5]},
                 {w->tuned_at, sizeof w->tuned_at, v[6]}, {w->params, sizeof w->params, v[7]},
                 {w->stale, sizeof w->stale, v[20]}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        snprintf(texts[i].to, texts[i].size, "%s", texts[i].from ? texts[i].from : "");
    w->bytes = count_bytes(w);
    return 0;
}

gt_status gt_best_rows_read(gt_store *store, gt_best_rows *out)
{
    gt_best_rows winners = {0};
    gt_status status = gt_store_query(store, winners_sql, NULL, take_winner, &winners);
    if (status == GT_OK)
        status = winners.status;
    if (status == GT_OK)
        *out = winners;
    else
        gt_best_rows_finish(&winners);
    return status;
}

void gt_best_rows_finish(gt_best_rows *winners)
{
    free(winners->list);
    *winners = (gt_best_rows){0};
}

size_t gt_best_rows_of_gpu(const gt_best_row *list, size_t count)
{
    size_t end = 0;
    while (end < count && strcmp(list[end].gpu_id, list[0].gpu_id) == 0)
        end++;
    return end;
}

size_t gt_best_rows_of_types(const gt_best_row *list, size_t count)
{
    size_t end = 0;
    while (end < count && strcmp(list[end].gpu_id, list[0].gpu_id) == 0 && strcmp(list[end].type, list[0].type) == 0 &&
           strcmp(list[end].math, list[0].math) == 0)
        end++;
    return end;
}
