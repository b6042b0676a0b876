#include "tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/core/status.h"
#include "verdict.h"

/* The race's field: the fastest in screening, as long as they are this close to the best. */
#define FINALISTS 4
#define CLOSE 1.06

/* Winners besides the newest, of files that were merged, that race too. */
#define RIVALS 8
#define FIELD (FINALISTS + 2 + RIVALS)

/* The fastest besides the winner that are proved and raced with it after a change. */
#define RUNNERS_UP 3

/* Times the best one's that a shape of tile may take and still be stored for other sizes; how many of them, at most. */
#define WORTH_KEEPING 1.10
#define MOST_KEPT     32

/* Seconds of racing, by effort. */
static const double race_seconds[] = {[GT_EFFORT_QUICK] = 0.25, [GT_EFFORT_NORMAL] = 0.8, [GT_EFFORT_FULL] = 1.5,
                                      [GT_EFFORT_COVER] = 0.15};

/* Seconds for cuBLASLt to try its algorithms: enough for the first few that it expects to be fast. `gemmtune bench`
 * lets it try all. */
#define BASELINE_SEARCH_S 0.05

/* A kernel that earlier runs left, kernel_id 0 where none did. */
typedef struct known {
    int64_t kernel_id;
    gt_kernel kernel;
    gt_trial trial;
} known;

/* One problem under way. */
typedef struct work {
    gt_tuning *tuning;
    gt_engine *engine;
    const gt_problem *problem;
    int64_t problem_id;
    gt_search *search;
    gt_tuned *tuned;
    double best_us;
    /* What earlier runs left of this problem: the winner, which defends its place in every race, and what this run
     * would show, which is of its family where that is given. */
    known winner, own;
    known rivals[RIVALS]; /* other winners, which the newest has never raced */
    size_t rival_count;
    known fastest; /* of all that were ever measured on it */
    known anew;    /* revalidating: the winner's configuration, rendered and compiled now; its source is known first */
} work;

/* A budget ends a search, but not before it has found something or seen that little can be found. */
static bool out_of_time(const work *w)
{
    const bool spent = w->tuning->until > 0 && gt_engine_elapsed(w->engine) >= w->tuning->until;
    return gt_engine_interrupted() || (spent && (w->best_us > 0 || w->tuned->tried >= 4));
}

static double tflops(const gt_problem *problem, double us)
{
    return us > 0 ? gt_problem_flops(problem) / us * 1e-6 : 0;
}

static void show(work *w, const gt_candidate *candidate)
{
    gt_progress_state *state = &w->tuning->state;
    state->done++;
    state->elapsed = gt_engine_elapsed(w->engine);
    if (candidate->trial.outcome == GT_TRIAL_OK && (w->best_us == 0 || candidate->trial.us < w->best_us)) {
        w->best_us = candidate->trial.us;
        state->best_tflops = tflops(w->problem, w->best_us);
        state->best = gt_params_text(&candidate->kernel.params, w->tuning->best);
    }
    gt_progress_update(w->tuning->progress, state);
}

/* Notes how a candidate did, and tells of one that was rejected where somebody wants to know. */
static void note(work *w, const gt_kernel *kernel, const gt_trial *trial, bool now)
{
    gt_tuning *tuning = w->tuning;
    char line[GT_REJECTION_LENGTH];
    gt_rejections_note(&tuning->rejections, w->problem, kernel, trial, now);
    if (trial->outcome == GT_TRIAL_OK)
        return;
    if (now) {
        w->tuned->rejected[trial->outcome]++;
        tuning->state.failed++;
    }
    if (!tuning->verbose)
        return;
    gt_rejection_describe(w->problem, kernel, trial, line);
    gt_progress_line(tuning->progress, "rejected%s: %s", now ? "" : " before", line);
}

/* Renders a round and looks up what is known of it; the rest starts compiling. A template that cannot be rendered is
 * the family's fault, not a candidate's: it ends the run. */
static gt_status prepare_round(work *w, gt_candidate **round, size_t count)
{
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && i < count; i++) {
        bool found = false;
        gt_candidate *c = round[i];
        if ((status = gt_engine_prepare(w->engine, &w->problem->class, &c->kernel, false)) != GT_OK)
            break;
        status = gt_store_find_trial(w->engine->store, w->engine->gpu, w->problem_id, &c->kernel, &found, &c->trial);
        if (status == GT_OK && found) {
            c->tried = true;
            w->tuned->skipped++;
            note(w, &c->kernel, &c->trial, false);
        } else if (status == GT_OK) {
            status = gt_engine_prepare(w->engine, &w->problem->class, &c->kernel, true);
        }
    }
    return status;
}

/* What is stored of a kernel's code. A GPU launches the cubin; PTX, three times as large, is kept for winners only, and
 * not of the many that are there for other sizes. The software GPU runs nothing without it. */
static gt_code code_to_store(const work *w, const gt_code *code, bool winner)
{
    if ((winner && !w->tuning->covering) || w->engine->driver->soft)
        return *code;
    return (gt_code){.cubin = code->cubin, .cubin_bytes = code->cubin_bytes};
}

static gt_status try_candidate(work *w, gt_candidate *c)
{
    const gt_code *code = NULL;
    gt_engine *engine = w->engine;
    gt_status status = gt_engine_code(engine, &w->problem->class, &c->kernel, &code);
    if (status == GT_ERROR_COMPILE) {
        c->trial = (gt_trial){.outcome = GT_TRIAL_COMPILE_ERROR, .margin = -1};
        snprintf(c->trial.detail, sizeof c->trial.detail, "%s", gt_error_message());
    } else if (status == GT_OK) {
        const gt_contestant contestant = {&c->kernel, code};
        const gt_try_terms terms = {.seed = engine->options.check_seed, .time_it = true, .best_us = w->best_us};
        status = gt_worker_try(engine->worker, w->problem, &contestant, &terms, &c->trial);
    }
    if (status != GT_OK && status != GT_ERROR_COMPILE)
        return status;
    c->kernel.registers = c->trial.registers;
    c->kernel.spills = c->trial.spills;
    /* The best so far is stored with its code: killed now, the problem still has a kernel to load. So is what won on
     * another problem. */
    const bool passed = c->trial.outcome == GT_TRIAL_OK, best = passed && (w->best_us == 0 || c->trial.us < w->best_us);
    const bool keep = best || (w->tuning->only_seeds && code);
    const gt_code stored = keep ? code_to_store(w, code, false) : (gt_code){0};
    status = gt_store_put_trial(engine->store, engine->run, engine->gpu, w->problem_id, &c->kernel,
                                keep ? &stored : NULL, &c->trial);
    if (status != GT_OK)
        return status;
    c->tried = c->now = true;
    w->tuned->tried++;
    note(w, &c->kernel, &c->trial, true);
    return GT_OK;
}

/* Screens round after round. */
static gt_status screen(work *w)
{
    gt_candidate **round;
    size_t count;
    gt_status status;
    gt_progress_state *state = &w->tuning->state;
    state->done = state->total = 0;
    while ((status = gt_search_round(w->search, &round, &count)) == GT_OK && count > 0) {
        state->total += (int)count;
        /* Known failures cost nothing and come first; an exhaustive round is prepared piece by piece. */
        const size_t piece = 128;
        for (size_t start = 0; status == GT_OK && start < count; start += piece) {
            const size_t end = start + piece < count ? start + piece : count;
            if ((status = prepare_round(w, round + start, end - start)) != GT_OK)
                break;
            for (size_t i = start; status == GT_OK && i < end; i++) {
                if (out_of_time(w)) {
                    w->tuned->cut = !gt_engine_interrupted();
                    gt_compiler_drop(w->engine->compiler);
                    return GT_OK;
                }
                if (!round[i]->tried)
                    status = try_candidate(w, round[i]);
                if (status == GT_OK)
                    show(w, round[i]);
            }
        }
        if (status != GT_OK)
            break;
    }
    return status;
}

/* Stores the code of the best of each shape of tile that is not far behind: they may be the best for sizes that nobody
 * tunes. Others can never be chosen. */
static gt_status keep_worthy(work *w)
{
    gt_candidate *best[MOST_KEPT];
    const size_t count = gt_search_best(w->search, best, MOST_KEPT);
    gt_status status = GT_OK;
    for (size_t i = 1; status == GT_OK && i < count && best[i]->trial.us < WORTH_KEEPING * best[0]->trial.us; i++) {
        const gt_code *code;
        if (!best[i]->now || !gt_search_leads(w->search, best[i]))
            continue;
        status = gt_engine_code(w->engine, &w->problem->class, &best[i]->kernel, &code);
        const gt_code stored = status == GT_OK ? code_to_store(w, code, false) : (gt_code){0};
        if (status == GT_OK)
            status = gt_store_put_code(w->engine->store, w->problem_id, &best[i]->kernel, &stored);
    }
    return status;
}

static void keep(known *to, const gt_measured *row)
{
    *to = (known){row->kernel_id, *row->kernel, row->trial};
}

static bool is_same_code(const gt_kernel *a, const gt_kernel *b)
{
    return strcmp(a->source_hash, b->source_hash) == 0 && strcmp(a->nvrtc, b->nvrtc) == 0;
}

/* Keeps a kernel that races with the winner; where there are too many, the slowest goes. */
static void keep_rival(work *w, const gt_measured *row)
{
    const size_t most = w->tuning->revalidating ? RUNNERS_UP : RIVALS;
    size_t slowest = 0;
    if (w->rival_count < most) {
        keep(&w->rivals[w->rival_count++], row);
        return;
    }
    for (size_t i = 1; i < most; i++)
        if (w->rivals[i].trial.us > w->rivals[slowest].trial.us)
            slowest = i;
    if (row->trial.us < w->rivals[slowest].trial.us)
        keep(&w->rivals[slowest], row);
}

/* Reads what earlier runs, and this one so far, have stored of the problem. */
static gt_status recall(work *w)
{
    gt_measurements measured;
    const char *family = w->engine->options.family;
    gt_status status = gt_store_find_measured(w->engine->store, &w->engine->device, &w->problem->class, &measured);
    if (status != GT_OK)
        return status;
    w->rival_count = 0;
    for (size_t i = 0; i < measured.count; i++) {
        const gt_measured *row = &measured.list[i];
        if (!row->same_gpu || !gt_problem_same_size(&row->problem, w->problem) ||
            !gt_class_same(&row->problem.class, &w->problem->class))
            continue;
        if (row->winner)
            keep(&w->winner, row);
        else if (is_same_code(row->kernel, &w->anew.kernel))
            keep(&w->anew, row);
        else if (row->unbeaten || w->tuning->revalidating)
            keep_rival(w, row);
        if (w->fastest.kernel_id == 0 || row->trial.us < w->fastest.trial.us)
            keep(&w->fastest, row);
        if (family && strcmp(row->kernel->family, family) == 0 &&
            (w->own.kernel_id == 0 || row->trial.us < w->own.trial.us))
            keep(&w->own, row);
    }
    if (!family || strcmp(w->winner.kernel.family, family) == 0)
        w->own = w->winner;
    gt_measurements_finish(&measured);
    return GT_OK;
}

/* Whether there is a reason for a race: a screening found something, and in the last lap something better. */
static bool is_new_best(const work *w)
{
    gt_candidate *best;
    if (!w->tuning->only_seeds)
        return w->tuned->tried > 0;
    return gt_search_best(w->search, &best, 1) == 1 && best->now &&
           (w->own.kernel_id == 0 || best->trial.us < w->own.trial.us);
}

/* What stands in the store already, where this run found nothing better. */
static gt_status show_stored(work *w)
{
    w->tuned->kernel = w->own.kernel;
    w->tuned->trial = w->own.trial;
    w->tuned->won = true;
    if (w->winner.kernel_id != w->own.kernel_id)
        w->tuned->winner_us = w->winner.trial.us;
    gt_status status = gt_store_find_baseline(w->engine->store, w->engine->gpu, w->problem_id, &w->tuned->cublas.us);
    if (status == GT_OK && w->tuned->cublas.us > 0)
        w->tuned->cublas.outcome = GT_TRIAL_OK;
    return status;
}

/* What an interruption or the end of a budget leaves: the winner of earlier runs, else the fastest so far, as `gemmtune
 * best` shows it. */
static gt_status show_known(work *w)
{
    gt_status status = gt_store_problem(w->engine->store, w->problem, &w->problem_id);
    if (status == GT_OK)
        status = recall(w);
    if (status == GT_OK && w->own.kernel_id == 0 && !w->engine->options.family)
        w->own = w->fastest;
    return status == GT_OK && w->own.kernel_id != 0 ? show_stored(w) : status;
}

/* Stores the race: the winner with its margin, everyone with code, so that any of them can be loaded. What is shown is
 * the fastest of the first `own`. */
static gt_status store_race(work *w, const gt_kernel *kernels, const gt_code *codes, const gt_trial *trials,
                            size_t count, size_t own, const gt_baseline *baselines)
{
    gt_engine *engine = w->engine;
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && i < count; i++) {
        const bool winner = trials[i].margin >= 0;
        const gt_code stored = code_to_store(w, &codes[i], winner);
        status = gt_store_put_trial(engine->store, engine->run, engine->gpu, w->problem_id, &kernels[i], &stored,
                                    &trials[i]);
        if (status == GT_OK && i < own && trials[i].outcome == GT_TRIAL_OK && trials[i].us > 0 &&
            (!w->tuned->won || gt_trial_deciding_us(&trials[i]) < gt_trial_deciding_us(&w->tuned->trial))) {
            w->tuned->won = true;
            w->tuned->kernel = kernels[i];
            w->tuned->trial = trials[i];
        }
        if (winner && i >= own)
            w->tuned->winner_us = trials[i].us;
        if (status == GT_OK && trials[i].outcome != GT_TRIAL_OK)
            note(w, &kernels[i], &trials[i], true);
    }
    for (size_t i = 0; status == GT_OK && i < GT_BASELINE_COUNT; i++)
        if (baselines[i].trial.outcome == GT_TRIAL_OK && baselines[i].trial.us > 0)
            status = gt_store_put_baseline(engine->store, engine->run, engine->gpu, w->problem_id, gt_baseline_name(i),
                                           baselines[i].version, &baselines[i].trial);
    const int best = gt_baseline_best(baselines);
    if (best >= 0)
        w->tuned->cublas = baselines[best].trial;
    return status;
}

/* Lets a winner of earlier runs defend its place, unless its code is in the field already. *errors gets what it was
 * once checked to. */
static gt_status add_defender(const work *w, const known *winner, gt_kernel *kernels, gt_code *codes, double *errors,
                              size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        if (is_same_code(&kernels[i], &winner->kernel))
            return GT_OK;
    const gt_status status = gt_store_find_code(w->engine->store, winner->kernel_id, &codes[*count]);
    if (status == GT_ERROR_CORRUPT || status == GT_ERROR_UNTRUSTED)
        return GT_OK; /* nobody would run it any more */
    if (status == GT_OK) {
        kernels[*count] = winner->kernel;
        errors[(*count)++] = winner->trial.error;
    }
    return status;
}

/* The finalists once more, interleaved, with the winners of earlier runs, cuBLAS and cuBLASLt among them. */
static gt_status race(work *w)
{
    gt_candidate *finalists[FINALISTS];
    gt_kernel kernels[FIELD];
    gt_code codes[FIELD] = {0};
    gt_contestant contestants[FIELD];
    gt_trial trials[FIELD] = {0};
    double errors[FIELD];
    gt_baseline baselines[GT_BASELINE_COUNT] = {0};
    const gt_engine_options *options = &w->engine->options;
    const size_t passed = w->search ? gt_search_best(w->search, finalists, FINALISTS) : 0;
    size_t count = 0;
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && i < passed && finalists[i]->trial.us <= CLOSE * finalists[0]->trial.us; i++) {
        const gt_code *code;
        kernels[count] = finalists[i]->kernel;
        if ((status = gt_engine_code(w->engine, &w->problem->class, &kernels[count], &code)) == GT_OK)
            status = gt_code_copy(code, &codes[count]);
        errors[count++] = finalists[i]->trial.error;
    }
    const size_t found = count;
    if (status == GT_OK && w->winner.kernel_id != 0 && (found > 0 || w->rival_count > 0 || !w->search))
        status = add_defender(w, &w->winner, kernels, codes, errors, &count);
    if (status == GT_OK && w->anew.kernel_id != 0)
        status = add_defender(w, &w->anew, kernels, codes, errors, &count);
    for (size_t i = 0; status == GT_OK && i < w->rival_count; i++)
        status = add_defender(w, &w->rivals[i], kernels, codes, errors, &count);
    for (size_t i = 0; i < count; i++)
        contestants[i] = (gt_contestant){&kernels[i], &codes[i]};
    const gt_race_terms terms = {.seed = options->check_seed, .seconds = race_seconds[w->tuning->effort],
                                 .search_s = BASELINE_SEARCH_S, .baselines = options->baselines};
    if (status == GT_OK && count > 0)
        status = gt_worker_race(w->engine->worker, w->problem, contestants, count, &terms, trials, baselines);
    for (size_t i = 0; i < count; i++)
        if (trials[i].error == 0)
            trials[i].error = errors[i];
    if (status == GT_OK && count > 0)
        status = store_race(w, kernels, codes, trials, count, options->family ? found : count, baselines);
    for (size_t i = 0; i < FIELD; i++)
        gt_code_finish(&codes[i]);
    return status;
}

/* Proves a stored kernel right again; one that is not is out of service, and of this race. */
static gt_status prove(work *w, const known *kernel, bool *right)
{
    gt_code code = {0};
    gt_trial trial;
    gt_status status = gt_store_find_code(w->engine->store, kernel->kernel_id, &code);
    if (status == GT_OK) {
        const gt_contestant contestant = {&kernel->kernel, &code};
        const gt_try_terms terms = {.seed = w->engine->options.check_seed,
                                    .quick = w->engine->options.effort == GT_EFFORT_QUICK};
        status = gt_verdict_find(w->engine, w->problem, &contestant, &terms, &trial);
        *right = status == GT_OK && trial.outcome == GT_TRIAL_OK;
        if (status == GT_OK && gt_outcome_convicts(trial.outcome))
            status = gt_verdict_put(w->engine, w->problem, &kernel->kernel, &trial);
        if (status == GT_OK && !*right)
            note(w, &kernel->kernel, &trial, true);
    }
    gt_code_finish(&code);
    return status == GT_ERROR_CORRUPT ? GT_OK : status;
}

/* The winner's configuration, where the template or the compiler makes another kernel of it now, is tried as any candidate
 * is, and races if it passes. What the template or the compiler takes no more is left as it is. */
static gt_status try_anew(work *w)
{
    gt_candidate c = {.kernel = w->winner.kernel};
    bool tried = false;
    gt_status status = gt_families_find(&w->engine->families, c.kernel.family)
                           ? gt_engine_prepare(w->engine, &w->problem->class, &c.kernel, false)
                           : GT_ERROR_INVALID;
    if (status == GT_ERROR_INVALID)
        return GT_OK;
    if (status != GT_OK || is_same_code(&c.kernel, &w->winner.kernel))
        return status;
    status = gt_store_find_trial(w->engine->store, w->engine->gpu, w->problem_id, &c.kernel, &tried, &c.trial);
    if (status == GT_OK && !tried)
        status = try_candidate(w, &c);
    w->anew.kernel = c.kernel;
    return status == GT_OK ? recall(w) : status;
}

/* The winner and its runners-up, proved right and raced again: the order may have changed. */
static gt_status revalidate(work *w)
{
    bool right = false;
    size_t kept = 0;
    gt_status status = gt_store_problem(w->engine->store, w->problem, &w->problem_id);
    if (status == GT_OK)
        status = recall(w);
    if (status == GT_OK && w->winner.kernel_id != 0)
        status = try_anew(w);
    if (status == GT_OK && w->winner.kernel_id != 0)
        status = prove(w, &w->winner, &right);
    if (!right)
        w->winner.kernel_id = 0;
    for (size_t i = 0; status == GT_OK && i < w->rival_count && !gt_engine_interrupted(); i++) {
        right = false;
        status = prove(w, &w->rivals[i], &right);
        if (right)
            w->rivals[kept++] = w->rivals[i];
    }
    w->rival_count = kept;
    return status == GT_OK && !gt_engine_interrupted() ? race(w) : status;
}

/* What won on the same size in a math whose kernels serve this one too: so the problem gets nothing slower. */
static gt_status find_served(const work *w, gt_seed *seed, bool *found)
{
    gt_class class = w->problem->class;
    gt_measurements measured;
    class.math = gt_math_served_by(class.math);
    *found = false;
    if (class.math == w->problem->class.math)
        return GT_OK;
    gt_status status = gt_store_find_measured(w->engine->store, &w->engine->device, &class, &measured);
    if (status != GT_OK)
        return status;
    for (size_t i = 0; i < measured.count && !*found; i++) {
        const gt_measured *row = &measured.list[i];
        *found = row->winner && row->same_gpu && gt_problem_same_size(&row->problem, w->problem) &&
                 gt_class_same(&row->problem.class, &class);
        if (*found) {
            memcpy(seed->family, row->kernel->family, sizeof seed->family);
            seed->params = row->kernel->params;
        }
    }
    gt_measurements_finish(&measured);
    return GT_OK;
}

/* Screens and races, unless this very search was brought to its end before. */
static gt_status tune_problem(work *w)
{
    gt_engine *engine = w->engine;
    gt_tuning *tuning = w->tuning;
    gt_search_options options = {
        .effort = tuning->effort,
        .seed = engine->options.seed,
        .family = engine->options.family,
        .seeds = tuning->seeds,
        .seed_count = tuning->seed_count,
        .only_seeds = tuning->only_seeds,
        .fitted = tuning->fitted,
        .fitted_count = tuning->fitted_count,
    };
    gt_seed served;
    bool searched = false, found = false;
    gt_status status = gt_store_problem(engine->store, w->problem, &w->problem_id);
    if (status == GT_OK)
        status = recall(w);
    if (status == GT_OK && !tuning->only_seeds)
        status = find_served(w, &served, &found);
    if (found)
        options.served = &served;
    if (status == GT_OK && !tuning->only_seeds)
        status = gt_store_find_searched(engine->store, engine->gpu, w->problem_id, engine->search[tuning->effort], &searched);
    if (status != GT_OK)
        return status;
    if (searched && w->own.kernel_id != 0 && w->rival_count == 0)
        return show_stored(w);
    if ((status = gt_search_create(&engine->families, &engine->device, w->problem, &options, &w->search)) == GT_OK)
        status = screen(w);
    if (status == GT_OK && !tuning->only_seeds && !gt_engine_interrupted())
        status = keep_worthy(w);
    if (status == GT_OK && !is_new_best(w) && w->own.kernel_id != 0 && w->rival_count == 0)
        status = show_stored(w);
    else if (status == GT_OK && !gt_engine_interrupted())
        status = race(w);
    if (status == GT_OK && !tuning->only_seeds && w->tuned->won && !out_of_time(w))
        status = gt_store_put_searched(engine->store, engine->run, engine->gpu, w->problem_id, engine->search[tuning->effort]);
    return status;
}

gt_status gt_tune(gt_tuning *tuning, const gt_problem *problem, gt_tuned *tuned)
{
    char name[GT_PROBLEM_NAME_LENGTH];
    work w = {.tuning = tuning, .engine = tuning->engine, .problem = problem, .tuned = tuned};
    *tuned = (gt_tuned){.problem = *problem, .cublas.outcome = GT_TRIAL_LAUNCH_ERROR};
    gt_problem_name(problem, name);
    tuning->state.what = name;
    tuning->state.best_tflops = 0;
    tuning->state.best = NULL;
    gt_status status = tuning->revalidating ? revalidate(&w) : tuning->showing ? show_known(&w) : tune_problem(&w);
    /* A wait that Ctrl-C ended is no failure: what was found so far is stored. */
    if (status == GT_ERROR_BUSY && gt_engine_interrupted())
        status = GT_OK;
    if (status == GT_OK && gt_engine_interrupted() && !tuned->won && !tuning->only_seeds && !tuning->revalidating)
        status = show_known(&w);
    gt_search_destroy(w.search);
    tuning->state.what = "";
    tuning->state.best = NULL;
    return status;
}
