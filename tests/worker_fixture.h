/*
 * Tests of the parent's side of workers. Such a program is its own worker: started with the argument "worker" it plays a
 * part, the candidate's family name, instead of running anything on a GPU.
 */
#ifndef WORKER_FIXTURE_H
#define WORKER_FIXTURE_H

#include "check.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>

#include "../tuner/engine/worker.h"
#include "../tuner/timer.h"
#include "../tuner/worker/child.h"
#include "../tuner/worker/protocol.h"

/* ---- the worker's parts ---- */

static inline void say(int fd, gt_message_kind kind, void *bytes, size_t count)
{
    if (!gt_message_send(fd, kind, &(struct iovec){bytes, count}, 1))
        _exit(9);
}

static inline void phase(int fd, gt_phase now, uint32_t index)
{
    gt_message_phase message = {now, index};
    say(fd, GT_MESSAGE_PHASE, &message, sizeof message);
}

static inline void act(int fd, const char *part, uint32_t index)
{
    if (strcmp(part, "segv") == 0) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    } else if (strcmp(part, "killed") == 0) {
        raise(SIGKILL);
    } else if (strcmp(part, "out_of_time") == 0) {
        raise(SIGXCPU);
    } else if (strcmp(part, "syscall") == 0) {
        raise(SIGSYS);
    } else if (strcmp(part, "exit") == 0) {
        _exit(3);
    } else if (strcmp(part, "hang") == 0) {
        phase(fd, GT_PHASE_TIMING, index);
        for (;;)
            pause();
    } else if (strcmp(part, "works") == 0 || strcmp(part, "spins") == 0) {
        const clock_t enough = clock() + CLOCKS_PER_SEC / 4;
        while (clock() < enough || *part == 's') {
        }
    } else if (strcmp(part, "garble") == 0) {
        CHECK(write(fd, "this is not a message", 21) == 21);
        pause();
    } else if (strcmp(part, "lie") == 0) {
        phase(fd, (gt_phase)7, index);
        pause();
    } else if (strcmp(part, "fault") == 0 || strcmp(part, "deadlock") == 0) {
        gt_message_fault fault = {.index = index, .trial = {.outcome = GT_TRIAL_OUT_OF_BOUNDS, .detail = "strayed"}};
        if (*part == 'd')
            fault.trial.outcome = GT_TRIAL_TIMEOUT;
        say(fd, GT_MESSAGE_FAULT, &fault, sizeof fault);
        _exit(0);
    }
}

static inline void play_ceiling(int fd, const gt_message *message)
{
    gt_message_ceiling job;
    size_t at = 0;
    memcpy(&job, gt_message_take(message, sizeof job, &at), sizeof job);
    act(fd, getenv("TEST_CEILING"), 0);
    gt_ceilings ceilings = {65.5 + job.class.type_a, (double)(message->bytes - at)};
    say(fd, GT_MESSAGE_CEILINGS, &ceilings, sizeof ceilings);
}

/* The variables that name the baselines' parts. */
static const char *const baseline_parts[] = {[GT_BASELINE_CUBLAS] = "TEST_CUBLAS",
                                             [GT_BASELINE_CUBLASLT] = "TEST_CUBLASLT",
                                             [GT_BASELINE_AUTOTUNE] = "TEST_AUTOTUNE"};

/* Whether nobody called this before in one test: what happens once leaves a mark. */
static inline bool is_first(void)
{
    return close(open(getenv("TEST_MARKER"), O_CREAT | O_EXCL, 0600)) == 0;
}

static inline void play_job(int fd, const gt_message *message)
{
    struct {
        gt_message_result result;
        gt_trial trials[8];
    } answer = {0};
    gt_message_job job;
    size_t at = 0;
    memcpy(&job, gt_message_take(message, sizeof job, &at), sizeof job);
    phase(fd, GT_PHASE_PREPARING, 0);
    for (uint32_t i = 0; i < job.count; i++) {
        gt_message_contestant contestant;
        memcpy(&contestant, gt_message_take(message, sizeof contestant, &at), sizeof contestant);
        gt_message_take(message, contestant.cubin_bytes + contestant.ptx_bytes, &at);
        const char *part = contestant.kernel.family;
        if (strcmp(part, "dies_preparing") == 0 || (strcmp(part, "dies_first") == 0 && is_first()))
            _exit(4);
        const bool lost = strcmp(part, "segv_and_lost") == 0, first = (lost || strstr(part, "_once")) && is_first();
        if (lost && !first)
            _exit(4);
        if (strcmp(part, "patient") == 0) {
            gt_message go;
            phase(fd, GT_PHASE_DRAWING, i);
            gt_rest(0.1); /* who waits for the turn gets it */
            phase(fd, GT_PHASE_PREPARING, i);
            const double asked = gt_now();
            if (gt_message_receive(fd, INFINITY, NULL, &go) != GT_RECEIVED || go.kind != GT_MESSAGE_GO)
                _exit(9);
            answer.trials[i].us_min = gt_now() - asked;
        }
        if (strcmp(part, "dies_drawing") == 0) {
            phase(fd, GT_PHASE_DRAWING, i);
            _exit(4);
        }
        phase(fd, GT_PHASE_VERIFYING, i);
        act(fd, !first ? part : *part == 'h' ? "hang" : *part == 'k' ? "killed" : "segv", i);
        int64_t tenths = 0, cold_tenths = 0;
        gt_params_find(&contestant.kernel.params, "tenths", &tenths);
        gt_params_find(&contestant.kernel.params, "cold_tenths", &cold_tenths);
        answer.trials[i].us = (double)tenths / 10;
        answer.trials[i].us_cold = (double)cold_tenths / 10;
        answer.trials[i].registers = (int)getpid();
        answer.trials[i].error = (double)job.seed;
    }
    for (uint32_t i = 0; i < GT_BASELINE_COUNT; i++) {
        if (!(job.baselines & GT_BASELINE_BIT(i)))
            continue;
        phase(fd, GT_PHASE_VERIFYING, job.count + i);
        act(fd, getenv(baseline_parts[i]), job.count + i);
        answer.result.baselines[i].trial.us = 12 + i;
        strcpy(answer.result.baselines[i].version, "13.1.0");
    }
    say(fd, GT_MESSAGE_RESULT, &answer, sizeof answer.result + job.count * sizeof(gt_trial));
}

static inline int play(int fd)
{
    gt_message message;
    if (!getenv("TEST_ROLE") || strcmp(getenv("TEST_ROLE"), "real") == 0)
        return gt_worker_main(fd);
    while (gt_message_receive(fd, INFINITY, NULL, &message) == GT_RECEIVED) {
        if (message.kind == GT_MESSAGE_INIT)
            say(fd, GT_MESSAGE_READY, NULL, 0);
        else if (message.kind == GT_MESSAGE_CEILING)
            play_ceiling(fd, &message);
        else
            play_job(fd, &message);
        gt_message_finish(&message);
    }
    return 0;
}

/* ---- the parent ---- */

#define LIMIT_S 0.4

static const gt_try_terms timed = {.seed = 9, .time_it = true};

static gt_problem problem;
static char cubin[] = "cubin", ptx[] = "ptx";
static const gt_code code = {.cubin = cubin, .cubin_bytes = sizeof cubin, .ptx = ptx, .ptx_bytes = sizeof ptx};

static inline gt_worker *make_worker(const volatile sig_atomic_t *interrupted)
{
    const gt_gemm gemm = GT_GEMM(GT_F32, 64, 64, 64);
    const gt_worker_options options = {.limit_s = LIMIT_S, .checks = &code, .interrupted = interrupted};
    gt_worker *worker = NULL;
    setenv("TEST_ROLE", "played", 1);
    for (int i = 0; i < GT_BASELINE_COUNT; i++)
        setenv(baseline_parts[i], "good", 1);
    CHECK_OK(gt_problem_init(&gemm, &problem));
    CHECK_OK(gt_worker_create(&options, &worker));
    return worker;
}

/* A kernel that plays a part, and takes so long at it. */
static inline gt_kernel part(const char *name, double us)
{
    gt_kernel kernel = {0};
    snprintf(kernel.family, sizeof kernel.family, "%s", name);
    CHECK_OK(gt_params_add(&kernel.params, "tenths", (int64_t)(10 * us)));
    return kernel;
}

static inline gt_trial try_part(gt_worker *worker, const char *name, double us)
{
    const gt_kernel kernel = part(name, us);
    gt_trial trial = {.outcome = GT_TRIAL_COMPILE_ERROR};
    CHECK_OK(gt_worker_try(worker, &problem, &(gt_contestant){&kernel, &code}, &timed, &trial));
    return trial;
}

/* After whatever happened the next candidate must fare well. */
static inline void check_goes_on(gt_worker *worker, int losses)
{
    const gt_trial trial = try_part(worker, "good", 7.5);
    CHECK_INT(trial.outcome, GT_TRIAL_OK);
    CHECK(trial.us == 7.5);
    CHECK_INT(gt_worker_losses(worker), losses);
}

#define WORKER_MAIN                                                                                          \
    int main(int argc, char **argv)                                                                          \
    {                                                                                                        \
        if (argc == 3 && strcmp(argv[1], "worker") == 0)                                                     \
            return play(atoi(argv[2]));                                                                      \
        return check_main(argc, argv);                                                                       \
    }

#endif
