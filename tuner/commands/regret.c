/* gemmtune bench --regret: what shapes lose that are searched for normally, or not at all. */
#include "regret.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/core/environment.h"
#include "../../src/core/status.h"
#include "../../src/runtime/select.h"
#include "../engine/tune.h"
#include "entries.h"
#include "output.h"

#define SHARE_S      40.0 /* seconds of searching for a shape, where no budget is given */
#define RACE_SECONDS 0.8

/* Who races. */
enum {
    FULL,    /* the best of every configuration, as far as the time went */
    NORMAL,  /* what `tune` finds */
    UNTUNED, /* what the library takes for a shape that nobody tuned */
    CONTESTANTS
};

typedef struct entry {
    gt_problem problem;
    gt_kernel kernels[CONTESTANTS];
    gt_code codes[CONTESTANTS];
    bool there[CONTESTANTS];
    gt_trial trials[CONTESTANTS];
    int tried; /* candidates */
} entry;

static void finish_codes(entry *e)
{
    for (int i = 0; i < CONTESTANTS; i++)
        gt_code_finish(&e->codes[i]);
}

/* What the library would take from the user's own database; there may be nothing. */
static gt_status choose_untuned(const gt_engine *engine, gt_store *own, entry *e)
{
    gt_measurements measured = {0};
    const gt_demands demands = {0};
    gt_selection selection;
    gt_status status = gt_store_find_measured(own, &engine->device, &e->problem.class, &measured);
    if (status == GT_OK) {
        gt_measurements_leave_out(&measured, &e->problem);
        if (gt_select(&engine->device, &e->problem, &demands, &measured, &selection) == GT_OK) {
            e->kernels[UNTUNED] = gt_selection_kernel(&measured, &selection);
            const gt_measured *row = &measured.list[selection.index];
            status = gt_store_find_code(own, row->kernel_id, row->kernel, &e->codes[UNTUNED]);
            e->there[UNTUNED] = status == GT_OK;
        }
    }
    gt_measurements_finish(&measured);
    return status;
}

/* Tunes the shape, normally or with everything that there is, until a time of the engine's clock. */
static gt_status tune(gt_tuning *tuning, gt_effort effort, double until, int who, entry *e)
{
    gt_tuned tuned;
    const gt_code *code;
    tuning->effort = effort;
    tuning->until = until;
    gt_status status = gt_tune(tuning, &e->problem, &tuned);
    if (status != GT_OK || !tuned.won)
        return status;
    e->tried += tuned.tried;
    e->kernels[who] = tuned.kernel;
    status = gt_engine_code(tuning->engine, &e->problem.class, &e->kernels[who], &code);
    if (status == GT_OK)
        status = gt_code_copy(code, &e->codes[who]);
    e->there[who] = status == GT_OK;
    return status;
}

/* Races all that were found. A kernel that stands for two of them is timed twice. */
static gt_status race(gt_engine *engine, entry *e)
{
    gt_contestant contestants[CONTESTANTS];
    gt_trial trials[CONTESTANTS] = {0};
    gt_baseline baselines[GT_BASELINE_COUNT] = {0};
    int who[CONTESTANTS];
    size_t count = 0;
    const gt_race_terms terms = {.seed = engine->options.check_seed, .seconds = RACE_SECONDS};
    for (int i = 0; i < CONTESTANTS; i++)
        if (e->there[i]) {
            contestants[count] = (gt_contestant){&e->kernels[i], &e->codes[i]};
            who[count++] = i;
        }
    gt_status status = GT_OK;
    if (count > 0)
        status = gt_worker_race(engine->worker, &e->problem, contestants, count, &terms, trials, baselines);
    for (size_t i = 0; status == GT_OK && i < count; i++) {
        e->trials[who[i]] = trials[i];
        e->there[who[i]] = trials[i].outcome == GT_TRIAL_OK && trials[i].us > 0;
    }
    return status;
}

static double best_us(const entry *e)
{
    double best = INFINITY;
    for (int i = 0; i < CONTESTANTS; i++)
        if (e->there[i])
            best = fmin(best, e->trials[i].us);
    return best;
}

/* How much longer one of them takes than the best; 0 where it is not there. */
static double regret_of(const entry *e, int who)
{
    return e->there[who] ? e->trials[who].us / best_us(e) : 0;
}

static void print_shapes(const gt_options_cli *options, const entry *entries, size_t count)
{
    static const gt_column columns[] = {
        {"type", GT_LEFT},       {"shape", GT_LEFT},       {"untuned", GT_LEFT},  {"untuned us", GT_RIGHT},
        {"normal", GT_LEFT},     {"normal us", GT_RIGHT},  {"full", GT_LEFT},     {"full us", GT_RIGHT},
        {"tried", GT_RIGHT},     {"untuned / best", GT_RIGHT}, {"normal / best", GT_RIGHT},
    };
    static const int order[] = {UNTUNED, NORMAL, FULL};
    gt_table *table = gt_table_create(stdout, options->json, columns, sizeof columns / sizeof columns[0]);
    for (const entry *e = entries; e < entries + count; e++) {
        char shape[GT_OPTIONS_SHAPE], types[GT_TYPES_TEXT];
        gt_options_shape(options, &e->problem, shape);
        gt_table_text(table, gt_types_text(gt_class_types(&e->problem.class), types));
        gt_table_text(table, shape);
        for (int i = 0; i < CONTESTANTS; i++) {
            gt_table_text(table, e->there[order[i]] ? e->kernels[order[i]].family : NULL);
            if (e->there[order[i]])
                gt_table_number(table, "%.1f", e->trials[order[i]].us);
            else
                gt_table_none(table);
        }
        gt_table_integer(table, e->tried);
        for (int i = 0; i < 2; i++)
            if (e->there[order[i]])
                gt_table_number(table, "%.3f", regret_of(e, order[i]));
            else
                gt_table_none(table);
    }
    gt_table_finish(table);
}

static void print_sum(const gt_options_cli *options, const char *name, const entry *entries, size_t count, int who)
{
    double sum = 0, worst = 0;
    size_t shapes = 0;
    char shape[GT_OPTIONS_SHAPE] = "";
    for (const entry *e = entries; e < entries + count; e++) {
        const double regret = regret_of(e, who);
        if (regret <= 0)
            continue;
        sum += log(regret);
        shapes++;
        if (regret > worst) {
            worst = regret;
            gt_options_shape(options, &e->problem, shape);
        }
    }
    if (shapes > 0)
        printf("%s: %zu shape%s take%s %.3f of the best known time at the geometric mean, %.3f at worst (%s)\n", name,
               shapes, shapes == 1 ? "" : "s", shapes == 1 ? "s" : "", exp(sum / (double)shapes), worst, shape);
}

/* One shape after the other, each with its share of the time that is left. */
static gt_status measure_all(gt_engine *engine, const gt_options_cli *options, gt_store *own, entry *entries,
                             size_t total, size_t *count)
{
    gt_tuning tuning = {.engine = engine, .progress = gt_progress_create(options->quiet), .state.steps = (int)total};
    gt_status status = GT_OK;
    for (; status == GT_OK && *count < total && !gt_engine_interrupted(); ++*count) {
        entry *e = &entries[*count];
        const double now = gt_engine_elapsed(engine);
        tuning.state.step = (int)*count;
        const double share = options->budget_s > 0 ? (options->budget_s - now) / (double)(total - *count) : SHARE_S;
        if (own)
            status = choose_untuned(engine, own, e);
        if (status == GT_OK)
            status = tune(&tuning, GT_EFFORT_NORMAL, now + share / 2, NORMAL, e);
        if (status == GT_OK && !gt_engine_interrupted())
            status = tune(&tuning, GT_EFFORT_FULL, now + share, FULL, e);
        if (status == GT_OK && !gt_engine_interrupted())
            status = race(engine, e);
        finish_codes(e);
        if (status != GT_OK || gt_engine_interrupted())
            break;
    }
    gt_progress_destroy(tuning.progress);
    return status;
}

/* A folder for a database that is gone afterwards: what is tried here is no part of the user's own. */
typedef struct scratch {
    char folder[4000], path[4096];
} scratch;

static gt_status open_scratch(const gt_options_cli *options, scratch *s, gt_engine *engine)
{
    gt_engine_options wanted = gt_options_engine(options);
    const char *named = gt_environment(GT_ENV_TMPDIR), *parent = named ? named : P_tmpdir;
    const int length = snprintf(s->folder, sizeof s->folder, "%s/gemmtune-XXXXXX", parent);
    if (length >= (int)sizeof s->folder || !mkdtemp(s->folder)) {
        s->folder[0] = '\0';
        return gt_fail(GT_ERROR_IO, "cannot make a folder for a scratch database in %s: name another one by TMPDIR", parent);
    }
    snprintf(s->path, sizeof s->path, "%s/regret.db", s->folder);
    wanted.database = s->path;
    wanted.baselines = 0;
    return gt_engine_open(&wanted, GT_ENGINE_WRITE, engine);
}

static void remove_scratch(const scratch *s)
{
    static const char *const endings[] = {"", "-claims", "-journal"};
    char name[sizeof s->path + 16];
    for (size_t i = 0; *s->folder && i < sizeof endings / sizeof endings[0]; i++) {
        snprintf(name, sizeof name, "%s%s", s->path, endings[i]);
        unlink(name);
    }
    if (*s->folder)
        rmdir(s->folder);
}

int gt_bench_regret(const gt_options_cli *options)
{
    gt_engine engine = {0};
    gt_store *own = NULL;
    gt_entries shapes = {0};
    size_t count = 0;
    scratch place = {.folder = ""};
    int code = 0;
    gt_status status = open_scratch(options, &place, &engine);
    if (status == GT_OK)
        status = gt_entries_init(options, sizeof(entry), &shapes);
    if (status == GT_OK && gt_store_open(options->database, GT_STORE_READ, &own) != GT_OK && !options->quiet)
        gt_print_note("no untuned kernels: %s", gt_error_message());
    if (status == GT_OK)
        status = measure_all(&engine, options, own, shapes.list, shapes.count, &count);
    if (status != GT_OK)
        code = gt_print_failure();
    if (count > 0) {
        print_shapes(options, shapes.list, count);
        if (!options->json) {
            print_sum(options, "normal", shapes.list, count, NORMAL);
            print_sum(options, "untuned", shapes.list, count, UNTUNED);
            printf("%zu random shape%s, seed %llu\n", count, count == 1 ? "" : "s",
                   (unsigned long long)options->seed);
        }
    }
    gt_store_close(own);
    gt_engine_close(&engine, status == GT_OK ? "done" : "failed");
    remove_scratch(&place);
    gt_entries_finish(&shapes);
    return gt_engine_interrupted() ? 130 : code;
}
