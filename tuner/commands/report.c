/* gemmtune report: the database as one HTML page, with nothing to fetch and nothing to run. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../db/store.h"
#include "../../src/core/status.h"
#include "../report/chart.h"
#include "../report/figures.h"
#include "options.h"
#include "output.h"
#include "ratings.h"

extern const char gt_embedded_report_css[], gt_embedded_report_js[];

static int put_family(void *data, int count, const char *const *names, const char *const *values)
{
    FILE *out = data;
    (void)names;
    fputs("<tr>", out);
    for (int i = 0; i < count; i++) {
        fputs(i == 0 ? "<td>" : i == 1 ? "<td class='n wide'>" : "<td class=n>", out);
        gt_html_text(out, values[i]);
    }
    putc('\n', out);
    return 0;
}

/* The ladder of families: how far each of them came, on all that it was tried on. */
static gt_status put_families(gt_store *store, FILE *out, const char *gpu_id)
{
    static const char sql[] =
        "WITH best AS (SELECT k.family, t.problem, min(t.us) AS us FROM trial t JOIN kernel k ON k.id = t.kernel"
        "  WHERE t.gpu = ?1 AND t.outcome = 'ok' AND t.us IS NOT NULL GROUP BY 1, 2),"
        " fastest AS (SELECT problem, min(us) AS us FROM best GROUP BY problem)"
        "SELECT b.family, count(*), sum(b.us = f.us), printf('%.2f', avg(f.us / b.us)),"
        " printf('%.2f', max(2.0 * p.m * p.n * p.k * p.batch / b.us / 1e6))"
        " FROM best b JOIN fastest f ON f.problem = b.problem JOIN problem p ON p.id = b.problem"
        " GROUP BY b.family ORDER BY avg(f.us / b.us)";
    fputs("<figure><figcaption>Families: the best of each beside the fastest of all</figcaption><table>"
          "<thead><tr><th>family<th class='n wide'>problems<th class=n>fastest<th class=n>mean speed"
          "<th class=n>most TFLOPS<tbody>\n",
          out);
    const gt_status status = gt_store_query(store, sql, (const char *const[]){gpu_id, NULL}, put_family, out);
    fputs("</table></figure>\n", out);
    return status;
}

/* A number's cell, a dash where there is none. */
static void put_number(FILE *out, const char *class, const char *format, double value, bool known)
{
    fprintf(out, "<td class='n%s%s'>", *class ? " " : "", class);
    if (known)
        fprintf(out, format, value);
    else
        gt_html_text(out, NULL);
}

static void put_table(FILE *out, const gt_best_row *list, size_t count)
{
    fputs("<table><thead><tr><th>shape<th>type<th class='wide long'>family and configuration<th class=n>us"
          "<th class='n wide'>TFLOPS<th class='n wide'>peak %<th class=n>vs cuBLAS<th class='n wide'>margin %"
          "<th class='n wide'>error<th class=wide>tuned<tbody>\n",
          out);
    for (size_t i = 0; i < count; i++) {
        const gt_best_row *w = &list[i];
        char shape[GT_SHAPE_LENGTH];
        gt_shape_name(w->m, w->n, w->k, shape);
        fprintf(out, "<tr><td>%s %s", shape, w->layout);
        if (w->batch > 1)
            fprintf(out, ", batch %" PRId64, w->batch);
        fputs("<td>", out);
        gt_html_text(out, w->type);
        if (strcmp(w->math, "strict") != 0) {
            putc(' ', out);
            gt_html_text(out, w->math);
        }
        fputs("<td class='wide long'>", out);
        gt_html_text(out, w->family);
        putc(' ', out);
        gt_html_text(out, w->params);
        put_number(out, "", "%.1f", w->us, true);
        put_number(out, "wide", "%.2f", w->tflops, true);
        put_number(out, "wide", "%.1f", w->peak_percent, w->peak_percent > 0);
        put_number(out, gt_figure_rate(w->ratio), "%.3f", w->ratio, w->ratio > 0);
        put_number(out, "wide", "%.1f", w->margin, w->margin >= 0);
        put_number(out, "wide", "%.1e", w->error, w->error > 0);
        fprintf(out, "<td class=wide>%.10s%s\n", w->tuned_at, strcmp(w->timing, "measured") ? ", modelled" : "");
    }
    fputs("</table>\n", out);
}

/* How many winners wait for `gemmtune revalidate`, by what changed since. */
static void put_stale(FILE *out, const gt_best_row *list, size_t count)
{
    bool begun = false;
    for (size_t i = 0; i < count; i++) {
        size_t same = 0, before = 0;
        for (size_t j = 0; *list[i].stale && j < count; j++) {
            const bool is = strcmp(list[i].stale, list[j].stale) == 0;
            same += is;
            before += is && j < i;
        }
        if (same == 0 || before > 0)
            continue;
        if (!begun)
            fputs("<h3>Proved under other conditions</h3><table>"
                  "<thead><tr><th class=long>what changed<th class=n>winners<tbody>\n", out);
        begun = true;
        fputs("<tr><td class=long>", out);
        gt_html_text(out, list[i].stale);
        fprintf(out, "<td class=n>%zu\n", same);
    }
    fputs(begun ? "</table>\n" : "", out);
}

static void put_tile(FILE *out, const char *what, const char *format, double value)
{
    fputs("<div><b>", out);
    fprintf(out, format, value);
    fprintf(out, "</b>%s</div>\n", what);
}

static void put_summary(FILE *out, const gt_best_row *list, size_t count)
{
    gt_rating rating = {0};
    size_t stale = 0;
    for (size_t i = 0; i < count; i++) {
        stale += *list[i].stale != '\0';
        gt_rating_add(&rating, list[i].ratio, i);
    }
    fputs("<div class=tiles>\n", out);
    put_tile(out, "problems tuned", "%.0f", (double)count);
    if (rating.count > 0) {
        put_tile(out, "of cuBLAS\xe2\x80\x99s speed, geometric mean", "%.3f", gt_rating_mean(&rating));
        put_tile(out, "ahead of cuBLAS", "%.0f", rating.ahead);
        put_tile(out, "tied, 0.98 to 1.02", "%.0f", rating.tied);
        put_tile(out, "behind cuBLAS", "%.0f", rating.behind);
    }
    put_tile(out, "proved under other conditions", "%.0f", (double)stale);
    fputs("</div>\n", out);
}

/* A GPU's part: figures for each type, then what is about all of them. */
static gt_status put_gpu(gt_store *store, FILE *out, const gt_best_row *list, size_t count)
{
    fputs("<h2>", out);
    gt_html_text(out, list[0].gpu);
    fputs("</h2>\n", out);
    for (size_t i = 0, size; i < count; i += size) {
        size = gt_best_rows_of_types(list + i, count - i);
        fputs("<h3>", out);
        gt_html_text(out, list[i].type);
        putc(' ', out);
        gt_html_text(out, list[i].math);
        fprintf(out, "</h3>\n<p>%zu problem%s</p>\n<div class=figures>\n", size, size == 1 ? "" : "s");
        gt_figure_ratios(out, list + i, size);
        gt_figure_roofline(out, list + i, size);
        gt_figure_errors(out, list + i, size);
        fputs("</div>\n", out);
    }
    fputs("<h3>Search</h3>\n<div class=figures>\n", out);
    gt_status status = gt_figure_progress(store, out, list[0].gpu_id);
    if (status == GT_OK)
        status = put_families(store, out, list[0].gpu_id);
    fputs("</div>\n", out);
    put_stale(out, list, count);
    fputs("<h3>Winners</h3>\n", out);
    put_table(out, list, count);
    return status;
}

static gt_status put_page(gt_store *store, FILE *out)
{
    char day[32] = "";
    const time_t now = time(NULL);
    struct tm parts;
    gt_best_rows winners;
    gt_status status = gt_best_rows_read(store, &winners);
    if (status != GT_OK)
        return status;
    strftime(day, sizeof day, "%Y-%m-%d %H:%M UTC", gmtime_r(&now, &parts));
    fprintf(out, "<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width, "
                 "initial-scale=1'>\n<title>gemmtune report</title>\n<style>\n%s</style>\n"
                 "<h1>gemmtune report</h1>\n<p>",
            gt_embedded_report_css);
    gt_html_text(out, gt_store_path(store));
    fprintf(out, ", %s, gemmtune %s</p>\n", day, gt_version());
    put_summary(out, winners.list, winners.count);
    if (winners.count == 0)
        fputs("<p>Nothing is tuned yet: run gemmtune.</p>\n", out);
    for (size_t i = 0, size; status == GT_OK && i < winners.count; i += size) {
        size = gt_best_rows_of_gpu(winners.list + i, winners.count - i);
        status = put_gpu(store, out, winners.list + i, size);
    }
    fprintf(out, "<script>\n%s</script>\n", gt_embedded_report_js);
    gt_best_rows_finish(&winners);
    return status;
}

/* What the user takes away from the mode of new files, which mkstemp makes for the owner alone. */
static mode_t creation_mask(void)
{
    const mode_t mask = umask(0);
    umask(mask);
    return mask;
}

/* A file is there whole or not at all: the page is written beside it and takes its place. Not that of what is no plain
 * file: a pipe, a device, a link such as /dev/stdout. */
static gt_status write_file(gt_store *store, const char *path)
{
    char part[4096];
    struct stat facts;
    const bool plain = lstat(path, &facts) != 0 || S_ISREG(facts.st_mode);
    const int length = snprintf(part, sizeof part, "%s%s", path, plain ? ".XXXXXX" : "");
    int fd = -1;
    if (length > 0 && (size_t)length < sizeof part)
        fd = plain ? mkstemp(part) : open(part, O_WRONLY | O_TRUNC | O_CLOEXEC);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!out)
        return gt_fail(GT_ERROR_IO, "%s: cannot be written: %s", path, strerror(errno));
    gt_status status = put_page(store, out);
    if (plain)
        fchmod(fd, 0666 & ~creation_mask());
    const bool failed = ferror(out) != 0;
    if ((fclose(out) != 0 || failed || (status == GT_OK && plain && rename(part, path) != 0)) && status == GT_OK)
        status = gt_fail(GT_ERROR_IO, "%s: cannot be written: %s", path, strerror(errno));
    if (status != GT_OK && plain)
        remove(part);
    return status;
}

int gt_cmd_report(const gt_options_cli *options)
{
    gt_store *store;
    if (gt_store_open(options->database, GT_STORE_READ, &store) != GT_OK)
        return gt_print_failure();
    const gt_status status = options->output ? write_file(store, options->output) : put_page(store, stdout);
    gt_store_close(store);
    return status == GT_OK ? 0 : gt_print_failure();
}
