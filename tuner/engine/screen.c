/* Screening: candidates are compiled, proved right, timed briefly and stored, round after round. */
#include <stdio.h>

#include "work.h"

/* Shapes of tile that are stored for other sizes, at most. */
#define MOST_KEPT 32

/* A machine that fails so many candidates, one after the other, fails the next ones, too. */
#define MOST_MISSED 3

static double tflops(const gt_problem *problem, double us)
{
    return us > 0 ? gt_problem_flops(problem) / us * 1e-6 : 0;
}

static void show(gt_work *w, const gt_candidate *candidate)
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

/* Renders a round and looks up what is known of it; the rest starts compiling. A template that cannot be rendered is
 * the family's fault, not a candidate's: it ends the run. */
static gt_status prepare_round(gt_work *w, gt_candidate **round, size_t count)
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
            gt_work_note(w, &c->kernel, &c->trial, false);
        } else if (status == GT_OK) {
            status = gt_engine_prepare(w->engine, &w->problem->class, &c->kernel, true);
        }
    }
    return status;
}

/* Proves a candidate right and times it. code is empty where it does not compile. */
static gt_status run(gt_work *w, gt_candidate *c, gt_code *code)
{
    const gt_code *cached;
    gt_engine *engine = w->engine;
    gt_status status = gt_engine_code(engine, &w->problem->class, &c->kernel, &cached);
    if (status == GT_ERROR_COMPILE || status == GT_ERROR_NO_COMPILER) {
        const bool blames = status == GT_ERROR_COMPILE;
        c->trial = (gt_trial){.outcome = blames ? GT_TRIAL_COMPILE_ERROR : GT_TRIAL_NOT_TRIED, .margin = -1};
        snprintf(c->trial.detail, sizeof c->trial.detail, "%s", gt_error_message());
        return GT_OK;
    }
    if (status == GT_OK)
        status = gt_code_copy(cached, code); /* the turn is given up, and with it what the cache has */
    const gt_contestant contestant = {&c->kernel, code};
    const gt_try_terms terms = {
        .seed = engine->options.check_seed, .time_it = true, .best_us = w->best_us, .turn = engine->turn};
    return status == GT_OK ? gt_worker_try(engine->worker, w->problem, &contestant, &terms, &c->trial) : status;
}

static gt_status store(gt_work *w, gt_candidate *c, const gt_code *code)
{
    gt_engine *engine = w->engine;
    c->kernel.registers = c->trial.registers;
    c->kernel.spills = c->trial.spills;
    /* The best so far is stored with its code: killed now, the problem still has a kernel to load. So is what won on
     * another problem. */
    const bool passed = c->trial.outcome == GT_TRIAL_OK, best = passed && (w->best_us == 0 || c->trial.us < w->best_us);
    const bool keep = best || (w->tuning->only_seeds && code->cubin);
    const gt_code stored = keep ? gt_work_code(w, code, false) : (gt_code){0};
    return gt_store_put_trial(engine->store, engine->run, engine->gpu, w->problem_id, &c->kernel,
                              keep ? &stored : NULL, &c->trial);
}

gt_status gt_screen_try(gt_work *w, gt_candidate *c)
{
    gt_code code = {0};
    gt_status status = run(w, c, &code);
    const bool tried = status == GT_OK && c->trial.outcome != GT_TRIAL_NOT_TRIED;
    if (tried)
        status = store(w, c, &code);
    gt_code_finish(&code);
    if (status != GT_OK)
        return status;
    c->tried = true; /* this time, whatever came of it */
    c->now = tried;
    w->tuned->tried += tried;
    w->missed_now = tried ? 0 : w->missed_now + 1;
    gt_work_note(w, &c->kernel, &c->trial, true);
    return GT_OK;
}

gt_status gt_screen(gt_work *w)
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
                const bool hopeless = w->missed_now >= MOST_MISSED;
                if (hopeless || gt_work_out_of_time(w)) {
                    w->tuned->cut = !hopeless && !gt_engine_interrupted();
                    gt_compiler_drop(w->engine->compiler, w->engine);
                    return GT_OK;
                }
                if (!round[i]->tried)
                    status = gt_screen_try(w, round[i]);
                if (status == GT_OK)
                    show(w, round[i]);
            }
        }
        if (status != GT_OK)
            break;
    }
    return status;
}

gt_status gt_screen_keep(gt_work *w)
{
    gt_candidate *best[MOST_KEPT];
    const size_t count = gt_search_best(w->search, best, MOST_KEPT);
    gt_status status = GT_OK;
    for (size_t i = 1; status == GT_OK && i < count; i++) {
        const gt_code *code;
        if (!best[i]->now || best[i]->trial.us >= GT_WORTH_KEEPING * w->best_us || !gt_search_leads(w->search, best[i]))
            continue;
        status = gt_engine_code(w->engine, &w->problem->class, &best[i]->kernel, &code);
        const gt_code stored = status == GT_OK ? gt_work_code(w, code, false) : (gt_code){0};
        if (status == GT_OK)
            status = gt_store_put_code(w->engine->store, w->problem_id, &best[i]->kernel, &stored);
    }
    return status;
}
