#include "worker.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../timer.h"
#include "../worker/protocol.h"
#include "worker_process.h"

#define PREPARE_S 120.0 /* data and references of a problem, cuBLAS to be loaded: nobody's fault */
#define CEILING_S 20.0  /* a tenth of a second's work */

/* What a process gets of a core, at least, where it wants one, and at least where it has one for itself. A candidate has so
 * many times its limit at most. */
#define WANTED 0.01
#define ALONE  0.95
#define LATEST 20

/* How a job went. Where it was lost: by whom and what is to be said of it. */
typedef struct reply {
    bool lost;
    gt_message result; /* RESULT, if not lost; owned */
    gt_phase phase;
    size_t index;
    gt_trial trial;
    bool away; /* the worker needs no GPU: the turn may be another's */
} reply;

static bool send_job(gt_worker *worker, gt_message_kind kind, const gt_message_job *job,
                     const gt_contestant *const *contestants)
{
    static const gt_message_contestant blank;
    struct iovec parts[1 + 3 * GT_CONTESTANTS];
    gt_message_contestant *facts = calloc(job->count + 1, sizeof *facts);
    int count = 0;
    if (!facts)
        return false;
    parts[count++] = (struct iovec){(void *)job, sizeof *job};
    for (uint32_t i = 0; i < job->count; i++) {
        facts[i] = blank;
        facts[i].kernel = *contestants[i]->kernel;
        facts[i].cubin_bytes = contestants[i]->code->cubin_bytes;
        facts[i].ptx_bytes = contestants[i]->code->ptx ? contestants[i]->code->ptx_bytes : 0;
        parts[count++] = (struct iovec){&facts[i], sizeof facts[i]};
        parts[count++] = (struct iovec){contestants[i]->code->cubin, (size_t)facts[i].cubin_bytes};
        parts[count++] = (struct iovec){contestants[i]->code->ptx, (size_t)facts[i].ptx_bytes};
    }
    const bool sent = gt_message_send(worker->fd, kind, parts, count);
    free(facts);
    return sent;
}

static void say_lost(reply *r, gt_outcome outcome, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void say_lost(reply *r, gt_outcome outcome, const char *format, ...)
{
    va_list arguments;
    r->lost = true;
    r->trial = (gt_trial){.outcome = outcome, .margin = -1};
    va_start(arguments, format);
    vsnprintf(r->trial.detail, sizeof r->trial.detail, format, arguments);
    va_end(arguments);
}

static const char *const doing[] = {
    [GT_PHASE_DRAWING] = "drawing small checks", [GT_PHASE_PREPARING] = "preparing the problem",
    [GT_PHASE_VERIFYING] = "verifying",          [GT_PHASE_JUDGING] = "judging results",
    [GT_PHASE_TIMING] = "timing"};
_Static_assert(sizeof doing / sizeof doing[0] == GT_PHASE_COUNT, "every phase has its words");

/* Takes in one message of a running job. false: it makes no sense. */
static bool take_message(gt_message *message, const gt_message_job *job, reply *r)
{
    if (message->kind == GT_MESSAGE_PHASE && message->bytes == sizeof(gt_message_phase)) {
        gt_message_phase phase;
        memcpy(&phase, message->payload, sizeof phase);
        r->phase = (gt_phase)phase.phase;
        r->index = phase.index;
        return phase.phase < GT_PHASE_COUNT && phase.index < job->count + GT_BASELINE_COUNT;
    }
    if (message->kind == GT_MESSAGE_FAULT && message->bytes == sizeof(gt_message_fault)) {
        gt_message_fault fault;
        memcpy(&fault, message->payload, sizeof fault);
        r->lost = true;
        r->index = (size_t)fault.index;
        r->trial = fault.trial;
        r->trial.detail[GT_DETAIL_LENGTH - 1] = 0;
        return fault.index < job->count + GT_BASELINE_COUNT && fault.trial.outcome > GT_TRIAL_OK &&
               fault.trial.outcome <= GT_TRIAL_NOT_TRIED;
    }
    return message->kind == GT_MESSAGE_RESULT &&
           message->bytes == sizeof(gt_message_result) + job->count * sizeof(gt_trial);
}

/* Gives the turn up where a phase needs no GPU. Where it is needed again, takes the turn and tells the worker. */
static void pass_turn(const gt_worker *worker, pthread_mutex_t *turn, reply *r)
{
    const bool needed = gt_phase_needs_gpu(r->phase);
    if (needed != r->away)
        return;
    r->away = !needed;
    if (turn && needed)
        pthread_mutex_lock(turn);
    else if (turn)
        pthread_mutex_unlock(turn);
    if (needed)
        gt_message_send(worker->fd, GT_MESSAGE_GO, NULL, 0); /* one that is gone is found out by its silence */
}

/* How long an answer is awaited: when that began and when it went on, and the CPU time that the worker had taken then. */
typedef struct patience {
    double seconds, deadline, begun, looked, begun_cpu_s, looked_cpu_s;
} patience;

static patience begin_patience(const gt_worker *worker, double seconds)
{
    const double now = gt_now(), cpu_s = gt_worker_cpu_s(worker);
    return (patience){seconds, now + seconds, now, now, cpu_s, cpu_s};
}

/* Whether a worker that is late has waited for a core, which others have: it has its seconds of CPU time, then. On a GPU that
 * hangs it spins, or sleeps. */
static bool goes_on(const gt_worker *worker, patience *p)
{
    const double now = gt_now(), cpu_s = gt_worker_cpu_s(worker), taken = cpu_s - p->begun_cpu_s;
    if (taken > ALONE * p->seconds || cpu_s - p->looked_cpu_s < WANTED * (now - p->looked) ||
        now - p->begun > LATEST * p->seconds)
        return false;
    p->looked = now;
    p->looked_cpu_s = cpu_s;
    p->deadline = now + p->seconds - taken;
    return true;
}

/*
 * Listens until the job has its end. The clock of a candidate begins with its verification, and again when it has the GPU
 * once more; in a race, where they take turns, with every turn.
 */
static gt_status hear_out(gt_worker *worker, gt_message_kind kind, const gt_message_job *job, double limit_s,
                          pthread_mutex_t *turn, reply *r)
{
    patience wait = begin_patience(worker, PREPARE_S);
    bool running = false;
    char how[64];
    for (;;) {
        gt_message message = {0};
        const gt_receipt receipt = gt_message_await(worker->fd, &wait.deadline, worker->options.interrupted, &message);
        if (receipt == GT_RECEIVE_INTERRUPTED)
            return gt_worker_interrupt(worker);
        if (receipt == GT_RECEIVE_END) {
            const bool killed = gt_worker_collect(worker, how, sizeof how);
            say_lost(r, killed ? GT_TRIAL_NOT_TRIED : GT_TRIAL_CRASH, "the worker %s while %s", how,
                     doing[r->phase]);
            break;
        }
        if (receipt == GT_RECEIVE_LATE && goes_on(worker, &wait))
            continue;
        if (receipt == GT_RECEIVE_LATE) {
            gt_worker_kill(worker);
            say_lost(r, GT_TRIAL_TIMEOUT, "no answer within %.1f s; worker killed while %s", wait.seconds, doing[r->phase]);
            break;
        }
        if (receipt != GT_RECEIVED || !take_message(&message, job, r)) {
            gt_message_finish(&message);
            gt_worker_kill(worker);
            say_lost(r, GT_TRIAL_CRASH, "garbled answer; worker killed");
            break;
        }
        if (message.kind == GT_MESSAGE_RESULT) {
            r->result = message;
            return GT_OK;
        }
        gt_message_finish(&message);
        if (r->lost) {
            gt_worker_collect(worker, how, sizeof how);
            break;
        }
        pass_turn(worker, turn, r);
        if (r->phase == GT_PHASE_PREPARING || r->away) {
            wait = begin_patience(worker, PREPARE_S);
            running = false;
        } else if (!running || kind == GT_MESSAGE_RACE) {
            wait = begin_patience(worker, limit_s);
            running = true;
        }
    }
    worker->losses++;
    return GT_OK;
}

/* The same; whatever ends it, the turn is the caller's again. */
static gt_status listen_to(gt_worker *worker, gt_message_kind kind, const gt_message_job *job, double limit_s,
                           pthread_mutex_t *turn, reply *r)
{
    const gt_status status = hear_out(worker, kind, job, limit_s, turn, r);
    if (turn && r->away)
        pthread_mutex_lock(turn);
    return status;
}

/* Whether no candidate has run yet. */
static bool is_early(const reply *r)
{
    return r->phase <= GT_PHASE_PREPARING;
}

/* One job, on a new worker where the old one turns out to be dead or unable before any candidate ran, or is killed. */
static gt_status converse(gt_worker *worker, gt_message_kind kind, const gt_message_job *job,
                          const gt_contestant *const *contestants, double limit_s, pthread_mutex_t *turn, reply *r)
{
    for (int i = 0; i < 2; i++) {
        *r = (reply){.phase = GT_PHASE_PREPARING};
        gt_status status = gt_worker_start(worker);
        if (status != GT_OK)
            return status;
        if (!send_job(worker, kind, job, contestants)) {
            gt_worker_kill(worker);
            worker->losses++;
            say_lost(r, GT_TRIAL_CRASH, "the worker takes no orders");
            continue;
        }
        status = listen_to(worker, kind, job, limit_s, turn, r);
        const bool blames = !is_early(r) && r->trial.outcome != GT_TRIAL_NOT_TRIED;
        if (status != GT_OK || !r->lost || blames || r->trial.outcome == GT_TRIAL_TIMEOUT)
            return status;
    }
    return GT_OK;
}

/* What happened before any candidate ran says nothing of one. */
static gt_trial blameless(const reply *r)
{
    gt_trial trial = r->trial;
    if (is_early(r))
        trial.outcome = GT_TRIAL_NOT_TRIED;
    return trial;
}

/* The trials of a RESULT; what came through the socket is held to what a trial may be. */
static void read_trials(const gt_message *message, uint32_t count, gt_message_result *result, gt_trial *trials)
{
    memcpy(result, message->payload, sizeof *result);
    memcpy(trials, message->payload + sizeof *result, count * sizeof *trials);
    for (uint32_t i = 0; i < GT_BASELINE_COUNT; i++)
        result->baselines[i].version[GT_BASELINE_VERSION - 1] = 0;
    for (uint32_t i = 0; i < count + GT_BASELINE_COUNT; i++) {
        gt_trial *trial = i < count ? &trials[i] : &result->baselines[i - count].trial;
        trial->detail[GT_DETAIL_LENGTH - 1] = 0;
        if ((unsigned)trial->outcome > GT_TRIAL_NOT_TRIED)
            trial->outcome = GT_TRIAL_CRASH;
    }
}

gt_status gt_worker_try(gt_worker *worker, const gt_problem *problem, const gt_contestant *contestant,
                        const gt_try_terms *terms, gt_trial *trial)
{
    const gt_message_job job = {.problem = *problem, .seed = terms->seed, .best_us = terms->best_us, .count = 1,
                                .time_it = terms->time_it, .extent = (uint32_t)terms->extent};
    reply r;
    const gt_status status = converse(worker, GT_MESSAGE_TRY, &job, &contestant,
                                      terms->limit_s > 0 ? terms->limit_s : worker->options.limit_s, terms->turn, &r);
    if (status != GT_OK)
        return status;
    if (r.lost) {
        *trial = blameless(&r);
    } else {
        gt_message_result result;
        read_trials(&r.result, 1, &result, trial);
        gt_message_finish(&r.result);
    }
    trial->stage = GT_STAGE_SCREEN;
    trial->margin = -1;
    return GT_OK;
}

/* The fastest one's lead over the next; none where it stands alone. */
static void set_margin(gt_trial *trials, size_t count)
{
    gt_trial *first = NULL;
    double least = 0, next = 0;
    for (size_t i = 0; i < count; i++) {
        if (trials[i].outcome != GT_TRIAL_OK || !(trials[i].us > 0))
            continue;
        const double us = gt_trial_deciding_us(&trials[i]);
        if (!first || us < least) {
            next = least;
            least = us;
            first = &trials[i];
        } else if (next == 0 || us < next) {
            next = us;
        }
    }
    if (first)
        first->margin = next > 0 ? next / least - 1 : 0;
}

/* A race as far as it has come. */
typedef struct race {
    gt_trial trials[GT_CONTESTANTS];
    gt_baseline baselines[GT_BASELINE_COUNT];
    unsigned asked; /* baselines that are still in it */
} race;

/* Runs everyone who has not failed. *done: nobody broke the worker on the way. */
static gt_status race_once(gt_worker *worker, const gt_problem *problem, const gt_contestant *contestants, size_t count,
                           const gt_race_terms *terms, race *state, bool *done)
{
    gt_message_job job = {.problem = *problem, .seed = terms->seed, .seconds = terms->seconds,
                          .search_s = terms->search_s, .baselines = state->asked};
    const gt_contestant *running[GT_CONTESTANTS];
    size_t place[GT_CONTESTANTS];
    reply r;
    for (size_t i = 0; i < count; i++)
        if (state->trials[i].outcome == GT_TRIAL_OK) {
            place[job.count] = i;
            running[job.count++] = &contestants[i];
        }
    *done = true;
    if (job.count == 0 && state->asked == 0)
        return GT_OK;
    const gt_status status = converse(worker, GT_MESSAGE_RACE, &job, running, worker->options.limit_s, NULL, &r);
    if (status != GT_OK)
        return status;
    if (!r.lost) {
        gt_message_result result;
        gt_trial trials[GT_CONTESTANTS];
        read_trials(&r.result, job.count, &result, trials);
        gt_message_finish(&r.result);
        for (uint32_t i = 0; i < job.count; i++)
            state->trials[place[i]] = trials[i];
        for (size_t i = 0; i < GT_BASELINE_COUNT; i++)
            if (state->asked & GT_BASELINE_BIT(i))
                state->baselines[i] = result.baselines[i];
    } else if (r.index >= job.count && (state->asked & GT_BASELINE_BIT(r.index - job.count))) {
        state->baselines[r.index - job.count].trial = r.trial;
        state->asked &= ~GT_BASELINE_BIT(r.index - job.count);
        *done = false;
    } else if (is_early(&r)) { /* the problem itself cannot be had */
        for (uint32_t i = 0; i < job.count; i++)
            state->trials[place[i]] = blameless(&r);
        for (size_t i = 0; i < GT_BASELINE_COUNT; i++)
            if (state->asked & GT_BASELINE_BIT(i))
                state->baselines[i].trial = blameless(&r);
    } else {
        state->trials[place[r.index < job.count ? r.index : 0]] = r.trial;
        *done = false;
    }
    return GT_OK;
}

gt_status gt_worker_race(gt_worker *worker, const gt_problem *problem, const gt_contestant *contestants, size_t count,
                         const gt_race_terms *terms, gt_trial *trials, gt_baseline baselines[GT_BASELINE_COUNT])
{
    gt_status status = GT_OK;
    bool done = false;
    if (count > GT_CONTESTANTS)
        return gt_fail(GT_ERROR_INVALID, "%zu contestants; a race takes up to %d", count, GT_CONTESTANTS);
    race *state = calloc(1, sizeof *state);
    if (!state)
        return gt_fail_memory();
    state->asked = terms->baselines & GT_BASELINES_ALL;
    for (size_t i = 0; i < GT_BASELINE_COUNT; i++) /* who is not asked does not race */
        state->baselines[i].trial.outcome = GT_TRIAL_LAUNCH_ERROR;
    while (!done && status == GT_OK)
        status = race_once(worker, problem, contestants, count, terms, state, &done);
    if (status == GT_OK) {
        for (size_t i = 0; i < count; i++) {
            trials[i] = state->trials[i];
            trials[i].stage = GT_STAGE_RACE;
            trials[i].margin = -1;
        }
        set_margin(trials, count);
        for (size_t i = 0; baselines && i < GT_BASELINE_COUNT; i++) {
            baselines[i] = state->baselines[i];
            baselines[i].trial.stage = GT_STAGE_RACE;
            baselines[i].trial.margin = -1;
        }
    }
    free(state);
    return status;
}

/* Asks for something that has one answer, of so many bytes. `what` ends the failure's line. */
static gt_status ask(gt_worker *worker, gt_message_kind kind, const struct iovec parts[3], double limit_s,
                     gt_message_kind answered, const char *what, void *found, size_t bytes)
{
    gt_message message = {0};
    gt_status status = gt_worker_start(worker);
    if (status != GT_OK)
        return status;
    gt_receipt receipt = GT_RECEIVE_END;
    if (gt_message_send(worker->fd, kind, parts, 3))
        receipt = gt_message_receive(worker->fd, gt_now() + limit_s, worker->options.interrupted, &message);
    if (receipt == GT_RECEIVE_INTERRUPTED)
        return gt_worker_interrupt(worker);
    if (receipt == GT_RECEIVED && message.kind == answered && message.bytes == bytes) {
        memcpy(found, message.payload, bytes);
    } else {
        status = gt_fail(GT_ERROR_DRIVER, "the worker could not measure %s", what);
        gt_worker_kill(worker);
        worker->losses++;
    }
    gt_message_finish(&message);
    return status;
}

gt_status gt_worker_ceilings(gt_worker *worker, const gt_types *types, const gt_code *code, gt_ceilings *ceilings)
{
    const gt_message_ceiling job = {
        .class = {.type_a = types->a, .type_b = types->b, .type_c = types->c, .math = types->math},
        .cubin_bytes = code->cubin_bytes, .ptx_bytes = code->ptx ? code->ptx_bytes : 0,
    };
    const struct iovec parts[] = {{(void *)&job, sizeof job}, {code->cubin, code->cubin_bytes},
                                  {code->ptx, (size_t)job.ptx_bytes}};
    return ask(worker, GT_MESSAGE_CEILING, parts, CEILING_S, GT_MESSAGE_CEILINGS, "what the GPU can do", ceilings,
               sizeof *ceilings);
}

gt_status gt_worker_accuracy(gt_worker *worker, const gt_problem *problem, const gt_contestant *contestant,
                             const gt_accuracy_terms *terms, gt_accuracy *kernel, gt_accuracy *cublas)
{
    const gt_code *code = contestant->code;
    const gt_message_accuracy job = {
        .problem = *problem, .seed = terms->seed, .kind = terms->kind, .baseline = terms->baseline,
        .contestant = {.kernel = *contestant->kernel, .cubin_bytes = code->cubin_bytes,
                       .ptx_bytes = code->ptx ? code->ptx_bytes : 0},
    };
    const struct iovec parts[] = {{(void *)&job, sizeof job}, {code->cubin, code->cubin_bytes},
                                  {code->ptx, (size_t)job.contestant.ptx_bytes}};
    gt_message_accuracies found;
    const gt_status status = ask(worker, GT_MESSAGE_ACCURACY, parts, PREPARE_S, GT_MESSAGE_ACCURACIES, "errors", &found,
                                 sizeof found);
    if (status == GT_OK) {
        found.kernel.trial.detail[GT_DETAIL_LENGTH - 1] = found.cublas.trial.detail[GT_DETAIL_LENGTH - 1] = 0;
        *kernel = found.kernel;
        *cublas = found.cublas;
    }
    return status;
}
