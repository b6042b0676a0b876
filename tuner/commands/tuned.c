#include "tuned.h"

#include <stdio.h>
#include <string.h>

#include "cover.h"
#include "output.h"

static void print_row(gt_table *table, const gt_options_cli *options, const gt_ceilings *most, const gt_tuned *t)
{
    const double speed = t->won ? gt_problem_flops(&t->problem) / t->trial.us * 1e-6 : 0;
    const double shares[] = {gt_ceilings_peak_percent(most, &t->problem, t->trial.us),
                             gt_ceilings_copy_percent(most, &t->problem, t->trial.us)};
    char shape[GT_OPTIONS_SHAPE], params[GT_PARAMS_TEXT], types[GT_TYPES_TEXT];
    gt_options_shape(options, &t->problem, shape);
    gt_table_text(table, gt_types_text(gt_class_types(&t->problem.class), types));
    gt_table_text(table, shape);
    if (!t->won) {
        for (int i = 0; i < 10; i++)
            gt_table_none(table);
        return;
    }
    gt_table_text(table, t->kernel.family);
    gt_table_text(table, gt_params_text(&t->kernel.params, params));
    gt_table_number(table, "%.1f", t->trial.us);
    gt_table_number(table, "%.2f", speed);
    for (int i = 0; i < 2; i++)
        if (shares[i] > 0)
            gt_table_number(table, "%.1f", shares[i]);
        else
            gt_table_none(table);
    if (t->cublas.outcome == GT_TRIAL_OK && t->cublas.us > 0)
        gt_table_number(table, "%.3f", t->cublas.us / t->trial.us);
    else
        gt_table_none(table);
    if (t->trial.margin >= 0)
        gt_table_number(table, "%.1f", 100 * t->trial.margin);
    else
        gt_table_none(table);
    gt_table_integer(table, t->tried);
    gt_table_text(table, t->trial.modelled ? "modelled" : "measured");
}

/* The cover list has a table of its own only where it was asked for by name. */
static bool is_shown(const gt_options_cli *options, const gt_problem *problem)
{
    return options->shapes_given || !options->shapes.cover || gt_cover_row(problem) < 0;
}

void gt_tuned_note_cover(const gt_options_cli *options, const gt_tuned *tuned, size_t count)
{
    size_t hidden = 0, won = 0;
    for (size_t i = 0; i < count; i++)
        if (!is_shown(options, &tuned[i].problem)) {
            hidden++;
            won += tuned[i].won;
        }
    if (hidden > 0 && !options->quiet)
        gt_print_note("and %zu of %zu problems of other kinds, layouts and alignments, for sizes that nobody tunes "
                      "(--shapes cover)", won, hidden);
}

void gt_tuned_print(const gt_engine *engine, const gt_options_cli *options, const gt_limits *limits,
                    const gt_tuned *tuned, size_t count)
{
    static const gt_column columns[] = {
        {"type", GT_LEFT},     {"shape", GT_LEFT},   {"family", GT_LEFT},  {"configuration", GT_LEFT},
        {"us", GT_RIGHT},      {"TFLOPS", GT_RIGHT}, {"peak %", GT_RIGHT}, {"copy %", GT_RIGHT},
        {"vs cuBLAS", GT_RIGHT}, {"margin %", GT_RIGHT}, {"tried", GT_RIGHT}, {"timing", GT_LEFT},
    };
    char line[GT_LIMITS_LINE];
    gt_table *table = gt_table_create(stdout, options->json, columns, sizeof columns / sizeof columns[0]);
    const gt_types *last = NULL;
    for (size_t i = 0; i < count; i++) {
        const gt_types *types = gt_class_types(&tuned[i].problem.class);
        if (!is_shown(options, &tuned[i].problem))
            continue;
        if (last && types != last)
            gt_table_rule(table);
        last = types;
        print_row(table, options, &gt_limits_find(limits, options->type_count, &tuned[i].problem)->ceilings, &tuned[i]);
    }
    gt_table_finish(table);
    if (options->json)
        return;
    gt_limits_describe(limits, options->type_count, line, sizeof line);
    printf("\n%s: %s\n", engine->device.name, line);
}

void gt_tuned_line(const gt_tuning *tuning, const gt_tuned *t)
{
    char name[GT_PROBLEM_NAME_LENGTH], params[GT_PARAMS_TEXT], rest[128 + GT_REJECTION_COUNTS] = "";
    char rejected[GT_REJECTION_COUNTS];
    gt_problem_name(&t->problem, name);
    if (t->cublas.outcome == GT_TRIAL_OK && t->won)
        snprintf(rest, sizeof rest, ", %.2f of cuBLAS", t->cublas.us / t->trial.us);
    if (t->winner_us > 0)
        snprintf(rest + strlen(rest), sizeof rest - strlen(rest), ", %.2f of the winner's speed",
                 t->winner_us / t->trial.us);
    gt_rejection_counts(t->rejected, rejected);
    if (rejected[0])
        snprintf(rest + strlen(rest), sizeof rest - strlen(rest), "; rejected: %s", rejected);
    if (t->missed > 0)
        snprintf(rest + strlen(rest), sizeof rest - strlen(rest), "; %d could not be tried", t->missed);
    if (t->won)
        gt_progress_line(tuning->progress, "%s: %.2f TFLOPS, %s %s (%d tried, %d known%s)", name,
                         gt_problem_flops(&t->problem) / t->trial.us * 1e-6, t->kernel.family,
                         gt_params_text(&t->kernel.params, params), t->tried, t->skipped, rest);
    else
        gt_progress_line(tuning->progress, "%s: no winner (%d tried, %d known%s)", name, t->tried, t->skipped, rest);
}

void gt_tuned_explain(const gt_rejections *rejections, const gt_options_cli *options, const gt_tuned *tuned,
                      size_t count)
{
    char counts[GT_REJECTION_COUNTS];
    bool lost = false;
    for (size_t i = 0; i < count; i++)
        lost = lost || !tuned[i].won;
    gt_rejection_counts(rejections->counts, counts);
    if (counts[0] && !options->quiet)
        gt_print_note("rejected: %s%s", counts, options->verbose ? "" : " (--verbose says why)");
    if (rejections->missed > 0 && (lost || !options->quiet))
        gt_print_note("%d candidates could not be tried, and are for the next run; the first: %s", rejections->missed,
                      rejections->first_missed);
    for (size_t i = 0; i < rejections->count && (lost || !options->quiet); i++) {
        const gt_family_trials *family = &rejections->families[i];
        if (family->tried == 0)
            gt_print_note("no configuration of %s can be launched; the first: %s", family->family, family->first);
        else if (family->passed == 0)
            gt_print_note("no candidate of %s passed, of %d; the first: %s", family->family, family->tried,
                          family->first);
    }
}
