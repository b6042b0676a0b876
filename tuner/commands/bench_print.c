/* What `gemmtune bench` prints of its races: the table, the ratings, the machine; the same as JSON. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "../worker/clock.h"
#include "bench.h"
#include "output.h"

static const gt_column columns[] = {
    {"type", GT_LEFT},       {"shape", GT_LEFT},      {"family", GT_LEFT},     {"configuration", GT_LEFT},
    {"choice", GT_LEFT},
    {"us", GT_RIGHT},        {"TFLOPS", GT_RIGHT},    {"peak %", GT_RIGHT},        {"copy %", GT_RIGHT},
    {"cuBLAS us", GT_RIGHT}, {"cuBLAS TFLOPS", GT_RIGHT}, {"library", GT_LEFT},    {"vs cuBLAS", GT_RIGHT},
    {"cold us", GT_RIGHT},   {"cuBLAS cold us", GT_RIGHT}, {"cold vs cuBLAS", GT_RIGHT},
    {"vs strict", GT_RIGHT}, {"cold vs strict", GT_RIGHT},
};
#define OF_STRICT 2 /* the last ones, where a kernel of strict math raced */

static void number_or_none(gt_table *table, const char *format, double value)
{
    if (value > 0)
        gt_table_number(table, format, value);
    else
        gt_table_none(table);
}

static void print_row(gt_table *table, const gt_options_cli *options, const gt_ceilings *most, const gt_bench_race *e,
                      bool of_strict)
{
    static const char *const choices[] = {"exact", "predicted", "fallback"};
    static const gt_trial none;
    const double flops = gt_problem_flops(&e->problem) * 1e-6;
    const int best = gt_baseline_best(e->baselines);
    const gt_trial *ours = e->ours.outcome == GT_TRIAL_OK ? &e->ours : &none;
    const gt_trial *baseline = best >= 0 ? &e->baselines[best].trial : &none;
    char shape[GT_OPTIONS_SHAPE], params[GT_PARAMS_TEXT], types[GT_TYPES_TEXT];
    gt_options_shape(options, &e->problem, shape);
    gt_table_text(table, gt_types_text(gt_class_types(&e->problem.class), types));
    gt_table_text(table, shape);
    const bool found = e->chosen.kernel.family[0] != '\0';
    gt_table_text(table, found ? e->chosen.kernel.family : NULL);
    gt_table_text(table, found ? gt_params_text(&e->chosen.kernel.params, params) : NULL);
    gt_table_text(table, found ? choices[e->chosen.selection.choice] : NULL);
    number_or_none(table, "%.1f", ours->us);
    number_or_none(table, "%.2f", ours->us > 0 ? flops / ours->us : 0);
    number_or_none(table, "%.1f", gt_ceilings_peak_percent(most, &e->problem, ours->us));
    number_or_none(table, "%.1f", gt_ceilings_copy_percent(most, &e->problem, ours->us));
    number_or_none(table, "%.1f", baseline->us);
    number_or_none(table, "%.2f", baseline->us > 0 ? flops / baseline->us : 0);
    gt_table_text(table, best >= 0 ? gt_baseline_name((size_t)best) : NULL);
    number_or_none(table, "%.3f", gt_race_ratio(&e->ours, e->baselines, GT_FIGURE_WARM));
    number_or_none(table, "%.1f", ours->us_cold);
    number_or_none(table, "%.1f", gt_baseline_cold_us(e->baselines));
    number_or_none(table, "%.3f", gt_race_ratio(&e->ours, e->baselines, GT_FIGURE_COLD));
    if (of_strict) {
        number_or_none(table, "%.3f", ours->us > 0 ? e->strict.us / ours->us : 0);
        number_or_none(table, "%.3f", ours->us_cold > 0 ? e->strict.us_cold / ours->us_cold : 0);
    }
}

/* The ratings of each type that has some. */
static void print_ratings(const gt_options_cli *options, const gt_bench_race *races, const gt_bench_summary *s)
{
    static const gt_column titles[] = {
        {"type", GT_LEFT},   {"vs cuBLAS", GT_LEFT},   {"shapes", GT_RIGHT}, {"geometric mean", GT_RIGHT},
        {"least", GT_RIGHT}, {"least shape", GT_LEFT}, {"ahead", GT_RIGHT},  {"tied", GT_RIGHT},
        {"behind", GT_RIGHT},
    };
    gt_table *table = gt_table_create(stdout, options->json, titles, sizeof titles / sizeof titles[0]);
    for (size_t i = 0; i < options->type_count * GT_FIGURE_COUNT; i++) {
        const gt_figure figure = (gt_figure)(i % GT_FIGURE_COUNT);
        const gt_rating *rating = &s->ratings[i / GT_FIGURE_COUNT][figure];
        const gt_problem *weakest = &races[rating->weakest].problem;
        char shape[GT_OPTIONS_SHAPE], types[GT_TYPES_TEXT];
        if (rating->count == 0)
            continue;
        if (figure == GT_FIGURE_WARM)
            gt_table_rule(table);
        gt_options_shape(options, weakest, shape);
        gt_table_text(table, gt_types_text(options->type_list[i / GT_FIGURE_COUNT], types));
        gt_table_text(table, gt_figure_name(figure));
        gt_table_integer(table, rating->count);
        gt_table_number(table, "%.3f", gt_rating_mean(rating));
        gt_table_number(table, "%.3f", rating->least);
        gt_table_text(table, shape);
        gt_table_integer(table, rating->ahead);
        gt_table_integer(table, rating->tied);
        gt_table_integer(table, rating->behind);
    }
    gt_table_finish(table);
}

/* The machine and the day, without which times say nothing. */
typedef struct scene {
    char driver[64], clock[48], ceilings[GT_LIMITS_LINE], date[16];
} scene;

static scene describe(const gt_engine *engine, const gt_limits *limits, size_t types, const gt_bench_summary *s)
{
    scene c = {0};
    char release[32];
    const time_t now = time(NULL);
    gt_clock *nvml = engine->driver->soft ? NULL : gt_clock_open(engine->device.bus_id);
    gt_clock_driver(nvml, release, sizeof release);
    gt_clock_close(nvml);
    snprintf(c.driver, sizeof c.driver, "%s%sCUDA %d.%d", release, *release ? ", " : "", engine->driver->version / 1000,
             engine->driver->version % 1000 / 10);
    if (s->high_mhz - s->low_mhz >= 1)
        snprintf(c.clock, sizeof c.clock, ", SM clock %.0f to %.0f MHz", s->low_mhz, s->high_mhz);
    else if (s->high_mhz > 0)
        snprintf(c.clock, sizeof c.clock, ", SM clock %.0f MHz", s->high_mhz);
    gt_limits_describe(limits, types, c.ceilings, sizeof c.ceilings);
    strftime(c.date, sizeof c.date, "%Y-%m-%d", gmtime(&now));
    return c;
}

static void print_footer(const gt_engine *engine, const gt_options_cli *options, const gt_bench_summary *s,
                         const scene *c)
{
    if (*s->version)
        printf("\ntied: %.2f to %.2f; cold: another kernel before each launch, which empties L2; smaller of both: "
               "shape by shape",
               1 - GT_TIE, 1 + GT_TIE);
    if (s->autotuned || s->most > 0)
        printf("\ncuBLAS is the best of cuBLAS%s",
               s->autotuned ? ", what it finds fastest itself (CUBLAS_GEMM_AUTOTUNE)" : "");
    if (s->most > 0)
        printf(" and all algorithms that cuBLASLt's heuristics offer, %d to %d a shape", s->fewest, s->most);
    printf("\n%s, driver %s%s%s%s, %s, %s\n", engine->device.name, c->driver, *s->version ? ", cuBLAS " : "",
           s->version, c->clock, c->ceilings, c->date);
    if (options->random > 0)
        printf("%d random shapes, seed %llu\n", options->random, (unsigned long long)options->seed);
}

static void print_json_number(const char *key, double value)
{
    printf(", \"%s\": ", key);
    gt_json_number(stdout, value > 0 ? value : NAN);
}

static void print_json_text(const char *key, const char *value)
{
    printf(", \"%s\": ", key);
    gt_json_text(stdout, *value ? value : NULL);
}

static void print_json_summary(const gt_engine *engine, const gt_limits *limits, size_t types,
                               const gt_bench_summary *s, const scene *c)
{
    fputs(", \"summary\": {\"gpu\": ", stdout);
    gt_json_text(stdout, engine->device.name);
    print_json_text("driver", c->driver);
    print_json_text("cublas", s->version);
    print_json_number("cublaslt_fewest", s->fewest);
    print_json_number("cublaslt_most", s->most);
    print_json_number("sm_clock_mhz_low", s->low_mhz);
    print_json_number("sm_clock_mhz_high", s->high_mhz);
    for (size_t i = 0; i < types; i++) {
        char text[GT_TYPES_TEXT];
        fputs(i == 0 ? ", \"peaks\": [{\"type\": " : ", {\"type\": ", stdout);
        gt_json_text(stdout, gt_types_text(limits[i].types, text));
        print_json_number("tflops", limits[i].ceilings.tflops);
        print_json_text("source", limits[i].measured ? "measured" : "units x clock");
        fputs(i + 1 < types ? "}" : "}]", stdout);
    }
    print_json_number("copy_tbs", limits[0].ceilings.copy_tbs);
    print_json_text("date", c->date);
    printf(", \"seed\": %llu}}\n", (unsigned long long)engine->options.seed);
}

/* What it costs that shapes are not tuned. */
static void print_untuned(const gt_options_cli *options, const gt_bench_race *races, size_t count)
{
    double sum = 0, least = HUGE_VAL;
    size_t shapes = 0, weakest = 0;
    char shape[GT_OPTIONS_SHAPE];
    for (size_t i = 0; i < count; i++) {
        if (races[i].chosen.tuned_us <= 0 || races[i].ours.outcome != GT_TRIAL_OK || races[i].ours.us <= 0)
            continue;
        const double share = races[i].chosen.tuned_us / races[i].ours.us;
        sum += log(share);
        shapes++;
        if (share < least) {
            least = share;
            weakest = i;
        }
    }
    if (shapes == 0)
        return;
    gt_options_shape(options, &races[weakest].problem, shape);
    printf("untuned, %zu shape%s reach%s %.3f of their tuned speed at the geometric mean, %.3f at least (%s)\n", shapes,
           shapes == 1 ? "" : "s", shapes == 1 ? "es" : "", exp(sum / (double)shapes), least, shape);
}

/* Why a baseline was not there, once for each: a table without it would pass for a victory. A cuBLAS that does not
 * autotune has raced all the same. */
static void note_absent(const gt_options_cli *options, const gt_bench_race *races, size_t count)
{
    for (int id = 0; id < GT_BASELINE_COUNT && !options->no_cublas && !options->quiet; id++) {
        const gt_trial *first = NULL;
        size_t absent = 0;
        for (size_t i = 0; i < count; i++) {
            const gt_trial *trial = &races[i].baselines[id].trial;
            if (races[i].ours.outcome != GT_TRIAL_OK || trial->outcome == GT_TRIAL_OK ||
                (id == GT_BASELINE_AUTOTUNE && trial->outcome == GT_TRIAL_LAUNCH_ERROR))
                continue;
            first = first ? first : trial;
            absent++;
        }
        if (absent > 0)
            gt_print_note("%s did not race on %zu of %zu shapes: %s", gt_baseline_name((size_t)id), absent, count,
                          first->detail);
    }
}

void gt_bench_print(const gt_engine *engine, const gt_options_cli *options, const gt_limits *limits,
                    const gt_bench_race *races, size_t count, const gt_bench_summary *s)
{
    const bool json = options->json;
    const size_t types = options->type_count;
    const scene c = describe(engine, limits, types, s);
    bool of_strict = false;
    for (size_t i = 0; i < count; i++)
        of_strict = of_strict || races[i].strict.us > 0;
    fputs(json ? "{\"shapes\": " : "", stdout);
    gt_table *table = gt_table_create(stdout, json, columns,
                                      sizeof columns / sizeof columns[0] - (of_strict ? 0 : OF_STRICT));
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && gt_class_types(&races[i].problem.class) != gt_class_types(&races[i - 1].problem.class))
            gt_table_rule(table);
        print_row(table, options, &gt_limits_find(limits, types, &races[i].problem)->ceilings, &races[i],
                  of_strict);
    }
    gt_table_finish(table);
    fputs(json ? ", \"ratings\": " : *s->version ? "\n" : "", stdout);
    print_ratings(options, races, s);
    if (json)
        print_json_summary(engine, limits, types, s, &c);
    else
        print_footer(engine, options, s, &c);
    if (!json && options->untuned)
        print_untuned(options, races, count);
    note_absent(options, races, count);
    for (size_t i = 0; i < count; i++) {
        const gt_kernel *kernel = &races[i].chosen.kernel;
        char params[GT_PARAMS_TEXT];
        if (races[i].ours.outcome != GT_TRIAL_OK)
            fprintf(stderr, "gemmtune: %s%s%s%s%s\n", kernel->family, *kernel->family ? " " : "",
                    gt_params_text(&kernel->params, params), *kernel->family ? ": " : "", races[i].ours.detail);
    }
}
