/* The worker process: takes jobs from the tuner, runs candidates, answers. */
#include "child.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../baselines/entrance.h"
#include "sampled.h"
#include "verify.h"

typedef struct session {
    int fd;
    gt_driver *driver;
    gt_device device;
    CUcontext context;
    CUstream stream;
    gt_checks checks;
    gt_buffers buffers, timed; /* of the problem that is checked; of the one that is timed, where it is another */
    gt_verifier verifier;
    gt_residual residual;
    gt_sampled sampled; /* of a problem that is timed, and too large to be checked whole */
    gt_meter meter;
    gt_entrance entrance;
} session;

/* Nobody is there to be told, or nothing can be run any more. Exit handlers of a broken driver may hang: none run. */
static _Noreturn void leave(int code)
{
    _exit(code);
}

static void answer(const session *s, gt_message_kind kind, const struct iovec *parts, int count)
{
    if (!gt_message_send(s->fd, kind, parts, count))
        leave(1);
}

static void report(const session *s, gt_phase phase, size_t index)
{
    gt_message_phase message = {.phase = phase, .index = (uint32_t)index};
    answer(s, GT_MESSAGE_PHASE, &(struct iovec){&message, sizeof message}, 1);
}

/* Tells of a contestant that broke the context, and ends. */
static _Noreturn void give_up(const session *s, size_t index, const gt_trial *trial)
{
    gt_message_fault fault = {.index = index, .trial = *trial};
    answer(s, GT_MESSAGE_FAULT, &(struct iovec){&fault, sizeof fault}, 1);
    leave(0);
}

/* After a failure: a context that can go on goes on, with operands made anew; else this process ends. */
static void recover(session *s, size_t index, const gt_trial *trial)
{
    if (trial->outcome == GT_TRIAL_OK)
        return;
    if (s->driver->cuCtxSynchronize() != CUDA_SUCCESS)
        give_up(s, index, trial);
    gt_residual_spoilt(&s->residual);
}

static gt_status set_up(session *s, const gt_message_init *init, const char *driver, const gt_code *checks)
{
    CUdevice device;
    CUresult result;
    gt_status status = gt_driver_open(driver, &s->driver);
    if (status != GT_OK)
        return status;
    if ((status = gt_device_query(s->driver, init->device, &s->device)) != GT_OK)
        return status;
    if ((result = s->driver->cuDeviceGet(&device, init->device)) != CUDA_SUCCESS ||
        (result = s->driver->cuDevicePrimaryCtxRetain(&s->context, device)) != CUDA_SUCCESS ||
        (result = s->driver->cuCtxSetCurrent(s->context)) != CUDA_SUCCESS)
        return gt_driver_check(s->driver, result, "opening the GPU");
    /* A stream that waits for the default one: plain copies between host and device are in order with it. */
    if ((result = s->driver->cuStreamCreate(&s->stream, CU_STREAM_DEFAULT)) != CUDA_SUCCESS)
        return gt_driver_check(s->driver, result, "cuStreamCreate");
    if ((status = gt_checks_init(s->driver, s->stream, checks, &s->checks)) != GT_OK ||
        (status = gt_meter_init(s->driver, s->stream, &s->device, &s->meter)) != GT_OK)
        return status;
    gt_buffers_init(&s->checks, &s->buffers);
    gt_buffers_init(&s->checks, &s->timed);
    gt_verifier_init(&s->checks, &s->verifier);
    gt_residual_init(&s->checks, &s->buffers, &s->residual);
    gt_sampled_init(&s->checks, &s->timed, &s->sampled);
    s->entrance = (gt_entrance){.driver = s->driver, .stream = s->stream, .meter = &s->meter,
                                .residual = &s->residual,
                                .other_driver = driver != NULL || s->driver->soft != NULL};
    return GT_OK;
}

/* The next blob of a message, copied so that it is aligned as memory of its own; NULL for none. false: not there. */
static bool take_blob(const gt_message *message, uint64_t bytes, size_t *at, void **blob)
{
    *blob = NULL;
    if (bytes == 0)
        return true;
    const void *from = bytes <= SIZE_MAX ? gt_message_take(message, (size_t)bytes, at) : NULL;
    if (!from || !(*blob = malloc((size_t)bytes)))
        return false;
    memcpy(*blob, from, (size_t)bytes);
    return true;
}

static bool take_code(const gt_message *message, uint64_t cubin_bytes, uint64_t ptx_bytes, size_t *at, gt_code *code)
{
    void *ptx = NULL;
    *code = (gt_code){.cubin_bytes = (size_t)cubin_bytes, .ptx_bytes = (size_t)ptx_bytes};
    const bool whole = take_blob(message, cubin_bytes, at, &code->cubin) && take_blob(message, ptx_bytes, at, &ptx);
    code->ptx = ptx;
    return whole;
}

/* The part of a message that is always there. */
static bool take_fixed(const gt_message *message, void *fixed, size_t bytes, size_t *at)
{
    const void *found = gt_message_take(message, bytes, at);
    if (found)
        memcpy(fixed, found, bytes);
    return found;
}

static bool begin(session *s, const gt_message *message)
{
    gt_message_init init;
    size_t at = 0;
    void *driver = NULL;
    gt_code checks = {0};
    if (!take_fixed(message, &init, sizeof init, &at))
        return false;
    if (!take_blob(message, init.driver_bytes, &at, &driver) ||
        !take_code(message, init.cubin_bytes, init.ptx_bytes, &at, &checks) || at != message->bytes ||
        (driver && ((char *)driver)[init.driver_bytes - 1] != 0))
        return false;
    const gt_status status = set_up(s, &init, driver, &checks);
    free(driver);
    gt_code_finish(&checks);
    if (status == GT_OK) {
        answer(s, GT_MESSAGE_READY, NULL, 0);
        return true;
    }
    gt_message_failed failed = {.status = status};
    snprintf(failed.line, sizeof failed.line, "%s", gt_error_message());
    answer(s, GT_MESSAGE_FAILED, &(struct iovec){&failed, sizeof failed}, 1);
    return false;
}

/* Measures and answers. A failure ends the process: the context may be broken. */
static bool measure_ceilings(session *s, const gt_message *message)
{
    gt_message_ceiling job;
    gt_ceilings ceilings = {0};
    gt_code code = {0};
    size_t at = 0;
    if (!take_fixed(message, &job, sizeof job, &at))
        return false;
    const gt_types *types = gt_class_types(&job.class);
    if (!types || !take_code(message, job.cubin_bytes, job.ptx_bytes, &at, &code) || at != message->bytes)
        return false;
    const gt_status status = gt_ceilings_measure(&s->meter, &s->device, types, &code, &ceilings);
    gt_code_finish(&code);
    if (status == GT_OK)
        answer(s, GT_MESSAGE_CEILINGS, &(struct iovec){&ceilings, sizeof ceilings}, 1);
    return status == GT_OK;
}

/* Runs a kernel, and cuBLAS, on the same data and answers. false: the context is broken. */
static bool measure_accuracy(session *s, const gt_message *message)
{
    gt_message_accuracy job;
    gt_message_accuracies found = {0};
    gt_kernel_runner runner = {0};
    gt_accuracy_case made = {0};
    gt_code code = {0};
    size_t at = 0;
    if (!take_fixed(message, &job, sizeof job, &at))
        return false;
    if (!gt_class_types(&job.problem.class) || job.kind >= GT_DATA_KINDS ||
        !take_code(message, job.contestant.cubin_bytes, job.contestant.ptx_bytes, &at, &code) || at != message->bytes)
        return false;
    s->sampled.ready = false; /* its operands go */
    if (!gt_accuracy_prepare(&s->timed, &job.problem, (gt_data_kind)job.kind, job.seed, &made, &found.kernel.trial)) {
        found.cublas.trial = found.kernel.trial;
    } else {
        gt_runner *const cublas = job.baseline ? gt_entrance_cublas(&s->entrance, &found.cublas.trial) : NULL;
        if (!job.baseline)
            gt_trial_fail(&found.cublas.trial, GT_TRIAL_LAUNCH_ERROR, "not asked for");
        if (gt_kernel_runner_init(s->driver, s->stream, &job.contestant.kernel, &code, &runner, &found.kernel.trial))
            gt_accuracy_measure(&made, &runner.runner, &found.kernel);
        if (cublas)
            gt_accuracy_measure(&made, cublas, &found.cublas);
    }
    answer(s, GT_MESSAGE_ACCURACIES, &(struct iovec){&found, sizeof found}, 1);
    gt_kernel_runner_finish(&runner);
    gt_accuracy_finish(&made);
    gt_code_finish(&code);
    return s->driver->cuCtxSynchronize() == CUDA_SUCCESS;
}

/* Makes the problem ready on which a kernel is checked: the tuned one, on the software GPU one that is like it. */
static bool prepare_problem(session *s, const gt_message_job *job, const gt_kernel *kernel, gt_trial *trial)
{
    const gt_problem *problem = &job->problem;
    if (problem->m == 0 || problem->n == 0)
        return gt_trial_fail(trial, GT_TRIAL_LAUNCH_ERROR, "C is empty: there is nothing to run");
    const gt_problem checked = s->meter.modelled && kernel ? gt_residual_stand_in(problem, kernel) : *problem;
    return gt_residual_prepare(&s->residual, &checked, job->seed, trial);
}

/* After the check: makes the runner and its operands ready to be timed on the tuned problem. Where another was checked
 * in its place some blocks of this one are, and the trial says so. */
static bool prepare_timing(session *s, const gt_message_job *job, gt_runner *runner, gt_launch_operands *operands,
                           gt_trial *trial)
{
    const gt_problem *problem = &job->problem;
    char name[GT_PROBLEM_NAME_LENGTH];
    double share = 0;
    if (gt_problem_same(problem, &s->buffers.problem))
        return true;
    if (!gt_sampled_prepare(&s->sampled, problem, job->seed, trial))
        return false;
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
static void try_candidate(session *s, const gt_message_job *job, const gt_kernel *kernel, const gt_code *code,
                          gt_trial *trial)
{
    gt_kernel_runner runner = {0};
    gt_launch_operands operands;
    report(s, GT_PHASE_PREPARING, 0);
    bool good = prepare_problem(s, job, kernel, trial) &&
                gt_verify_prepare(&s->verifier, &job->problem.class, kernel, job->seed, job->quick, trial);
    if (good) {
        report(s, GT_PHASE_VERIFYING, 0);
        good = gt_kernel_runner_init(s->driver, s->stream, kernel, code, &runner, trial) &&
               gt_verify_cases(&s->verifier, kernel, &runner.runner, trial) &&
               gt_residual_verify(&s->residual, &runner.runner, &operands, trial) &&
               prepare_timing(s, job, &runner.runner, &operands, trial);
    }
    if (good && job->time_it) {
        report(s, GT_PHASE_TIMING, 0);
        if (gt_measure_screen(&s->meter, &runner.runner, &operands, job->best_us, trial) && !s->meter.modelled &&
            gt_residual_verify_left(&s->residual, &runner.runner, trial))
            gt_residual_verify_again(&s->residual, &runner.runner, &operands, trial);
    }
    recover(s, 0, trial);
    gt_kernel_runner_finish(&runner);
}

/* Whose entry is under way. */
typedef struct entry {
    session *session;
    size_t index;
} entry;

static void report_entry(void *data, gt_phase phase)
{
    const entry *e = data;
    report(e->session, phase, e->index);
}

/* The baselines that are asked for, behind the contestants. One that cannot race has failed: the race passes over it.
 */
static void enter_baselines(session *s, const gt_message_job *job, gt_racer *racers, gt_baseline *baselines)
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
            give_up(s, index, &baseline->trial);
    }
}

static void take_turn(void *data, size_t index)
{
    report(data, GT_PHASE_TIMING, index);
}

/* Everyone is checked at the tuned size once more: this process may never have seen them. */
static void race(session *s, const gt_message_job *job, const gt_kernel *kernels, const gt_code *codes,
                 gt_kernel_runner *runners, gt_racer *racers, gt_trial *trials, gt_baseline *baselines)
{
    size_t broken = 0;
    for (uint32_t i = 0; i < job->count; i++) {
        report(s, GT_PHASE_PREPARING, 0);
        racers[i] = (gt_racer){&runners[i].runner, {0}, &trials[i]};
        if (!prepare_problem(s, job, &kernels[i], &trials[i])) {
            recover(s, i, &trials[i]);
        } else {
            report(s, GT_PHASE_VERIFYING, i);
            if (!gt_kernel_runner_init(s->driver, s->stream, &kernels[i], &codes[i], &runners[i], &trials[i]) ||
                !gt_residual_verify(&s->residual, &runners[i].runner, &racers[i].operands, &trials[i]) ||
                !prepare_timing(s, job, &runners[i].runner, &racers[i].operands, &trials[i]))
                recover(s, i, &trials[i]);
        }
    }
    enter_baselines(s, job, racers, baselines);
    if (!gt_measure_race(&s->meter, racers, job->count + GT_BASELINE_COUNT, job->seconds, take_turn, s, &broken))
        give_up(s, broken, racers[broken].trial);
    for (uint32_t i = 0; i < job->count; i++) {
        if (trials[i].outcome == GT_TRIAL_OK && !s->meter.modelled) {
            report(s, GT_PHASE_VERIFYING, i);
            gt_residual_verify_again(&s->residual, &runners[i].runner, &racers[i].operands, &trials[i]);
        }
        recover(s, i, &trials[i]);
        gt_kernel_runner_finish(&runners[i]);
    }
}

/* A job's contestants, taken from its message. */
typedef struct job_contents {
    gt_kernel *kernels;
    gt_code *codes;
    gt_kernel_runner *runners;
    gt_racer *racers;
    gt_trial *trials;
} job_contents;

static bool take_contestants(const gt_message *message, uint32_t count, size_t *at, job_contents *c)
{
    /* More than there are: room for baselines among the racers, and no allocation of nothing. */
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
        if (!take_fixed(message, &contestant, sizeof contestant, at))
            return false;
        c->kernels[i] = contestant.kernel;
        if (!take_code(message, contestant.cubin_bytes, contestant.ptx_bytes, at, &c->codes[i]))
            return false;
    }
    return *at == message->bytes;
}

static void free_contents(job_contents *c, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        gt_code_finish(&c->codes[i]);
    free(c->kernels);
    free(c->codes);
    free(c->runners);
    free(c->racers);
    free(c->trials);
}

static bool work(session *s, const gt_message *message)
{
    gt_message_job job;
    job_contents c = {0};
    size_t at = 0;
    if (!take_fixed(message, &job, sizeof job, &at))
        return false;
    if (job.count > GT_CONTESTANTS || (message->kind == GT_MESSAGE_TRY && job.count != 1) ||
        !gt_class_types(&job.problem.class) || !take_contestants(message, job.count, &at, &c))
        return false;
    gt_message_result result = {.count = job.count};
    if (message->kind == GT_MESSAGE_TRY)
        try_candidate(s, &job, &c.kernels[0], &c.codes[0], &c.trials[0]);
    else
        race(s, &job, c.kernels, c.codes, c.runners, c.racers, c.trials, result.baselines);
    for (uint32_t i = 0; i < job.count; i++)
        c.trials[i].margin = -1;
    const struct iovec parts[] = {{&result, sizeof result}, {c.trials, job.count * sizeof *c.trials}};
    answer(s, GT_MESSAGE_RESULT, parts, 2);
    free_contents(&c, job.count);
    return true;
}

int gt_worker_main(int fd)
{
    static const int tuners[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    session s = {.fd = fd};
    gt_message message = {0};
    sigset_t none;
    /* A signal to the whole group is the tuner's to act on. This process ends with its parent: by the signal asked for
     * here (which comes when the thread that started it ends), or by the socket's end. */
    for (size_t i = 0; i < sizeof tuners / sizeof tuners[0]; i++)
        signal(tuners[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    fcntl(fd, F_SETFD, FD_CLOEXEC);

    while (gt_message_receive(fd, INFINITY, NULL, &message) == GT_RECEIVED) {
        bool good = false;
        if (message.kind == GT_MESSAGE_INIT && !s.driver)
            good = begin(&s, &message);
        else if ((message.kind == GT_MESSAGE_TRY || message.kind == GT_MESSAGE_RACE) && s.context)
            good = work(&s, &message);
        else if (message.kind == GT_MESSAGE_CEILING && s.context)
            good = measure_ceilings(&s, &message);
        else if (message.kind == GT_MESSAGE_ACCURACY && s.context)
            good = measure_accuracy(&s, &message);
        gt_message_finish(&message);
        if (!good)
            leave(1);
    }
    leave(0);
}
