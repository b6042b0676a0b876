#include "job.h"

#include <stdlib.h>

#include "measure.h"

/* A job's contestants, as arrays of one size. */
typedef struct contestants {
    gt_kernel *kernels;
    gt_code *codes;
    gt_kernel_runner *runners;
    gt_racer *racers;
    gt_trial *trials;
} contestants;

static bool take_contestants(const gt_message *message, uint32_t count, size_t *at, contestants *c)
{
    /* Baselines are racers too; and calloc(0) may be NULL. */
    const size_t room = (size_t)count + GT_BASELINE_COUNT;
    c->kernels = calloc(room, sizeof *c->kernels);
    c->codes = calloc(room, sizeof *c->codes);
    c->runners = calloc(room, sizeof *c->runners);
    c->racers = calloc(room, sizeof *c->racers);
    c->trials = calloc(room, sizeof *c->trials);
    if (!c->kernels || !c->codes || !c->runners || !c->racers || !c->trials)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        gt_message_contestant contestant;
        if (!gt_message_take_struct(message, &contestant, sizeof contestant, at))
            return false;
        c->kernels[i] = contestant.kernel;
        if (!gt_message_take_code(message, contestant.cubin_bytes, contestant.ptx_bytes, at, &c->codes[i]))
            return false;
    }
    return *at == message->bytes;
}

static void free_contestants(contestants *c, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        gt_code_finish(&c->codes[i]);
    free(c->kernels);
    free(c->codes);
    free(c->runners);
    free(c->racers);
    free(c->trials);
}

/* Prepares the problem on which a kernel is checked: the tuned one, or on the software GPU, where a large one would
 * take too long, a smaller one with the same tails. Where it cannot be had, the machine is short of memory or worse. */
static bool prepare_problem(gt_session *s, const gt_message_job *job, const gt_kernel *kernel, gt_trial *trial)
{
    const gt_problem *problem = &job->problem;
    if (problem->m == 0 || problem->n == 0)
        return gt_trial_fail(trial, GT_TRIAL_LAUNCH_ERROR, "C is empty: there is nothing to run");
    const gt_problem checked = s->meter.modelled && kernel ? gt_residual_stand_in(problem, kernel) : *problem;
    return gt_residual_prepare(&s->residual, &checked, job->seed, trial) || gt_trial_excuse(trial);
}

/* After the check: prepares the tuned problem for timing. Where a smaller one was checked in its place, sampled blocks
 * of this one are checked here, and the trial says how many. */
static bool prepare_timing(gt_session *s, const gt_message_job *job, gt_runner *runner, gt_launch_operands *operands,
                           gt_trial *trial)
{
    const gt_problem *problem = &job->problem;
    char name[GT_PROBLEM_NAME_LENGTH];
    double share = 0;
    if (gt_problem_same(problem, &s->buffers.problem))
        return true;
    if (!gt_sampled_prepare(&s->sampled, problem, job->seed, trial))
        return gt_trial_excuse(trial);
    operands->a = (void *)s->timed.a.data;
    operands->b = (void *)s->timed.b.data;
    operands->c = (void *)s->timed.c.data;
    if (!runner->prepare(runner, problem, trial) ||
        !gt_sampled_verify(&s->sampled, runner, operands, &share, trial))
        return false;
    gt_problem_name(&s->buffers.problem, name);
    gt_trial_add(trial, "%s%s in its place, %.3g%% of the problem itself", *trial->detail ? "; " : "", name,
                 100 * share);
    return true;
}

/* Verifies and times one candidate. */
static void try_candidate(gt_session *s, const gt_message_job *job, const gt_kernel *kernel, const gt_code *code,
                          gt_trial *trial)
{
    gt_kernel_runner runner = {0};
    gt_launch_operands operands;
    gt_session_report(s, GT_PHASE_DRAWING, 0);
    bool good =
        gt_verify_prepare(&s->verifier, &job->problem.class, kernel, job->seed, (gt_extent)job->extent, trial);
    gt_session_report(s, GT_PHASE_PREPARING, 0);
    good = good && prepare_problem(s, job, kernel, trial);
    if (good) {
        gt_session_report(s, GT_PHASE_VERIFYING, 0);
        good = gt_kernel_runner_init(s->driver, &s->device, s->stream, kernel, code, &runner, trial) &&
               gt_verify_run(&s->verifier, &runner.runner, trial);
    }
    if (good) {
        gt_session_report(s, GT_PHASE_JUDGING, 0);
        good = gt_verify_judge(&s->verifier, kernel, trial);
        gt_session_report(s, GT_PHASE_VERIFYING, 0);
        good = good && gt_residual_verify(&s->residual, &runner.runner, &operands, trial) &&
               prepare_timing(s, job, &runner.runner, &operands, trial);
    }
    if (good && job->time_it) {
        gt_session_report(s, GT_PHASE_TIMING, 0);
        if (gt_measure_screen(&s->meter, &runner.runner, &operands, job->best_us, trial) &&
            gt_measure_cold(&s->meter, &runner.runner, &operands, trial) && !s->meter.modelled &&
            gt_residual_verify_left(&s->residual, &runner.runner, trial))
            gt_residual_verify_again(&s->residual, &runner.runner, &operands, trial);
    }
    gt_session_recover(s, 0, trial);
    gt_kernel_runner_finish(&runner);
}

/* What report_entry is told: which racer is entering. */
typedef struct entry {
    gt_session *session;
    size_t index;
} entry;

static void report_entry(void *data, gt_phase phase)
{
    const entry *e = data;
    gt_session_report(e->session, phase, e->index);
}

/* Enters the baselines that are asked for, behind the contestants. The race passes over those whose trial failed. */
static void enter_baselines(gt_session *s, const gt_message_job *job, gt_racer *racers, gt_baseline *baselines)
{
    s->entrance.seed = job->seed;
    for (size_t id = 0; id < GT_BASELINE_COUNT; id++) {
        const size_t index = job->count + id;
        gt_baseline *baseline = &baselines[id];
        entry e = {s, index};
        racers[index] = (gt_racer){.trial = &baseline->trial};
        if (!(job->baselines & GT_BASELINE_BIT(id))) {
            gt_trial_fail(&baseline->trial, GT_TRIAL_LAUNCH_ERROR, "not asked for");
            continue;
        }
        if (prepare_problem(s, job, NULL, &baseline->trial))
            racers[index].runner = gt_baseline_enter(&s->entrance, (gt_baseline_id)id, &job->problem, job->search_s,
                                                  report_entry, &e, &racers[index].operands, baseline);
        if (!racers[index].runner && s->driver->cuCtxSynchronize() != CUDA_SUCCESS)
            gt_session_give_up(s, index, &baseline->trial);
    }
}

static void take_turn(void *data, size_t index)
{
    gt_session_report(data, GT_PHASE_TIMING, index);
}

/* Checks a contestant at the tuned size once more: this process may never have seen it. */
static void enter_contestant(gt_session *s, const gt_message_job *job, const contestants *c, size_t index)
{
    gt_kernel_runner *runner = &c->runners[index];
    gt_racer *racer = &c->racers[index];
    gt_trial *trial = &c->trials[index];
    *racer = (gt_racer){&runner->runner, {0}, trial};
    gt_session_report(s, GT_PHASE_PREPARING, 0);
    bool good = prepare_problem(s, job, &c->kernels[index], trial);
    if (good) {
        gt_session_report(s, GT_PHASE_VERIFYING, index);
        good = gt_kernel_runner_init(s->driver, &s->device, s->stream, &c->kernels[index], &c->codes[index], runner,
                                     trial) &&
               gt_residual_verify(&s->residual, &runner->runner, &racer->operands, trial) &&
               prepare_timing(s, job, &runner->runner, &racer->operands, trial);
    }
    if (!good)
        gt_session_recover(s, index, trial);
}

static void race(gt_session *s, const gt_message_job *job, const contestants *c, gt_baseline *baselines)
{
    size_t broken = 0;
    for (uint32_t i = 0; i < job->count; i++)
        enter_contestant(s, job, c, i);
    enter_baselines(s, job, c->racers, baselines);
    if (!gt_measure_race(&s->meter, c->racers, job->count + GT_BASELINE_COUNT, job->seconds, take_turn, s, &broken))
        gt_session_give_up(s, broken, c->racers[broken].trial);
    for (uint32_t i = 0; i < job->count; i++) {
        if (c->trials[i].outcome == GT_TRIAL_OK && !s->meter.modelled) {
            gt_session_report(s, GT_PHASE_VERIFYING, i);
            gt_residual_verify_again(&s->residual, &c->runners[i].runner, &c->racers[i].operands, &c->trials[i]);
        }
        gt_session_recover(s, i, &c->trials[i]);
        gt_kernel_runner_finish(&c->runners[i]);
    }
}

bool gt_job_run(gt_session *s, const gt_message *message)
{
    gt_message_job job;
    contestants c = {0};
    size_t at = 0;
    if (!gt_message_take_struct(message, &job, sizeof job, &at))
        return false;
    if (job.count > GT_CONTESTANTS || (message->kind == GT_MESSAGE_TRY && job.count != 1) ||
        !gt_class_types(&job.problem.class) || !take_contestants(message, job.count, &at, &c))
        return false;
    gt_message_result result = {.count = job.count};
    if (message->kind == GT_MESSAGE_TRY)
        try_candidate(s, &job, &c.kernels[0], &c.codes[0], &c.trials[0]);
    else
        race(s, &job, &c, result.baselines);
    for (uint32_t i = 0; i < job.count; i++)
        c.trials[i].margin = -1;
    const struct iovec parts[] = {{&result, sizeof result}, {c.trials, job.count * sizeof *c.trials}};
    gt_session_answer(s, GT_MESSAGE_RESULT, parts, 2);
    free_contestants(&c, job.count);
    return true;
}
