/*
 * The parent's side of workers, and what the two say to each other. This program is its own worker: started with the
 * argument "worker" it plays a part, the candidate's family name, instead of running anything on a GPU.
 */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "../tuner/timer.h"
#include "../tuner/verdict.h"
#include "../tuner/worker.h"
#include "../tuner/worker/child.h"
#include "../tuner/worker/protocol.h"

/* ---- the worker's parts ---- */

static void say(int fd, gt_message_kind kind, void *bytes, size_t count)
{
    if (!gt_message_send(fd, kind, &(struct iovec){bytes, count}, 1))
        _exit(9);
}

static void phase(int fd, gt_phase now, uint32_t index)
{
    gt_message_phase message = {now, index};
    say(fd, GT_MESSAGE_PHASE, &message, sizeof message);
}

static void act(int fd, const char *part, uint32_t index)
{
    if (strcmp(part, "segv") == 0) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    } else if (strcmp(part, "killed") == 0) {
        raise(SIGKILL);
    } else if (strcmp(part, "exit") == 0) {
        _exit(3);
    } else if (strcmp(part, "hang") == 0) {
        phase(fd, GT_PHASE_TIMING, index);
        for (;;)
            pause();
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

static void play_ceiling(int fd, const gt_message *message)
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
static bool is_first(void)
{
    return close(open(getenv("TEST_MARKER"), O_CREAT | O_EXCL, 0600)) == 0;
}

static void play_job(int fd, const gt_message *message)
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
        phase(fd, GT_PHASE_VERIFYING, i);
        act(fd, !first ? part : *part == 'h' ? "hang" : "segv", i);
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

static int play(int fd)
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

/* ---- the tests ---- */

#define LIMIT_S 0.4

static const gt_try_terms timed = {.seed = 9, .time_it = true};

static gt_problem problem;
static char cubin[] = "cubin", ptx[] = "ptx";
static const gt_code code = {.cubin = cubin, .cubin_bytes = sizeof cubin, .ptx = ptx, .ptx_bytes = sizeof ptx};

static gt_worker *make_worker(const volatile sig_atomic_t *interrupted)
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
static gt_kernel part(const char *name, double us)
{
    gt_kernel kernel = {0};
    snprintf(kernel.family, sizeof kernel.family, "%s", name);
    CHECK_OK(gt_params_add(&kernel.params, "tenths", (int64_t)(10 * us)));
    return kernel;
}

static gt_trial try_part(gt_worker *worker, const char *name, double us)
{
    const gt_kernel kernel = part(name, us);
    gt_trial trial = {.outcome = GT_TRIAL_COMPILE_ERROR};
    CHECK_OK(gt_worker_try(worker, &problem, &(gt_contestant){&kernel, &code}, &timed, &trial));
    return trial;
}

/* After whatever happened the next candidate must fare well. */
static void check_goes_on(gt_worker *worker, int losses)
{
    const gt_trial trial = try_part(worker, "good", 7.5);
    CHECK_INT(trial.outcome, GT_TRIAL_OK);
    CHECK(trial.us == 7.5);
    CHECK_INT(gt_worker_losses(worker), losses);
}

TEST(a_machine_without_driver_is_told_so_quickly)
{
    const gt_worker_options options = {.driver = "/nowhere/libcuda.so.1", .limit_s = 1};
    const gt_gemm gemm = GT_GEMM(GT_F32, 64, 64, 64);
    const gt_kernel kernel = part("naive", 0);
    gt_trial trial = {.us = 42};
    gt_worker *worker;
    const double started = gt_now();
    setenv("TEST_ROLE", "real", 1);
    CHECK_OK(gt_problem_init(&gemm, &problem));
    CHECK_OK(gt_worker_create(&options, &worker));
    CHECK_STATUS(gt_worker_try(worker, &problem, &(gt_contestant){&kernel, &code}, &timed, &trial),
                 GT_ERROR_NO_DRIVER);
    CHECK(strstr(gt_error_message(), "/nowhere/libcuda.so.1"));
    CHECK(trial.us == 42);
    CHECK(gt_now() - started < 5);
    gt_worker_destroy(worker);
}

TEST(a_good_candidate_keeps_its_worker)
{
    gt_worker *worker = make_worker(NULL);
    const gt_trial first = try_part(worker, "good", 7.5), second = try_part(worker, "good", 8);
    CHECK_INT(first.outcome, GT_TRIAL_OK);
    CHECK_INT(first.stage, GT_STAGE_SCREEN);
    CHECK(second.us == 8);
    CHECK_INT(first.registers, second.registers); /* the process that answered */
    check_goes_on(worker, 0);
    gt_worker_destroy(worker);
}

TEST(a_dead_worker_is_a_crash_with_the_signals_name)
{
    gt_worker *worker = make_worker(NULL);
    gt_trial trial = try_part(worker, "segv", 0);
    CHECK_INT(trial.outcome, GT_TRIAL_CRASH);
    CHECK(strstr(trial.detail, "SIGSEGV") && strstr(trial.detail, "verifying"));
    check_goes_on(worker, 1);
    trial = try_part(worker, "exit", 0);
    CHECK_INT(trial.outcome, GT_TRIAL_CRASH);
    CHECK(strstr(trial.detail, "status 3"));
    check_goes_on(worker, 2);
    gt_worker_destroy(worker);
}

TEST(a_hanging_candidate_is_killed_within_its_limit_and_two_seconds)
{
    gt_worker *worker = make_worker(NULL);
    const double started = gt_now();
    const gt_trial trial = try_part(worker, "hang", 0);
    CHECK(gt_now() - started >= LIMIT_S);
    CHECK(gt_now() - started < LIMIT_S + 2);
    CHECK_INT(trial.outcome, GT_TRIAL_TIMEOUT);
    CHECK_STR(trial.detail, "no answer within 0.4 s; worker killed while timing");
    check_goes_on(worker, 1);
    gt_worker_destroy(worker);
}

TEST(a_candidate_may_be_given_more_time_than_others)
{
    const gt_kernel kernel = part("hang", 0);
    const gt_try_terms patient = {.limit_s = 2 * LIMIT_S};
    gt_trial trial;
    gt_worker *worker = make_worker(NULL);
    const double started = gt_now();
    CHECK_OK(gt_worker_try(worker, &problem, &(gt_contestant){&kernel, &code}, &patient, &trial));
    CHECK(gt_now() - started >= 2 * LIMIT_S);
    CHECK_STR(trial.detail, "no answer within 0.8 s; worker killed while timing");
    gt_worker_destroy(worker);
}

/* The system kills where memory is short. A candidate cannot. */
TEST(a_worker_that_somebody_killed_is_no_verdict_on_the_candidate)
{
    const gt_kernel kernels[] = {part("good", 11), part("killed", 0), part("good", 10)};
    gt_contestant contestants[3];
    gt_trial trials[3];
    const gt_race_terms alone = {.seconds = 0.1};
    gt_worker *worker = make_worker(NULL);
    const gt_trial trial = try_part(worker, "killed", 0);
    CHECK_INT(trial.outcome, GT_TRIAL_LAUNCH_ERROR);
    CHECK_STR(trial.detail, "the worker died of SIGKILL while verifying");
    CHECK(!gt_outcome_convicts(trial.outcome));
    check_goes_on(worker, 1);
    for (int i = 0; i < 3; i++)
        contestants[i] = (gt_contestant){&kernels[i], &code};
    CHECK_OK(gt_worker_race(worker, &problem, contestants, 3, &alone, trials, NULL));
    CHECK_INT(trials[1].outcome, GT_TRIAL_LAUNCH_ERROR);
    CHECK(trials[2].margin >= 0);
    gt_worker_destroy(worker);
}

TEST(every_job_has_a_seed_of_its_own_on_the_same_worker)
{
    const gt_kernel kernel = part("good", 1);
    const gt_contestant contestant = {&kernel, &code};
    const gt_race_terms race = {.seed = 77, .seconds = 0.1};
    gt_trial trial;
    gt_worker *worker = make_worker(NULL);
    const gt_trial first = try_part(worker, "good", 1);
    CHECK(first.error == 9);
    CHECK_OK(gt_worker_try(worker, &problem, &contestant, &(gt_try_terms){.seed = 10}, &trial));
    CHECK(trial.error == 10 && trial.registers == first.registers);
    CHECK_OK(gt_worker_race(worker, &problem, &contestant, 1, &race, &trial, NULL));
    CHECK(trial.error == 77 && trial.registers == first.registers);
    gt_worker_destroy(worker);
}

/* The verdict on a kernel that plays a part. */
static gt_trial judge(const char *name)
{
    const gt_kernel kernel = part(name, 0);
    gt_trial trial = {0};
    char marker[200];
    gt_engine engine = {.worker = make_worker(NULL), .options = {.limit_s = LIMIT_S}};
    snprintf(marker, sizeof marker, "%s/%s", check_folder(), name);
    setenv("TEST_MARKER", marker, 1);
    CHECK_OK(gt_verdict_find(&engine, &problem, &(gt_contestant){&kernel, &code}, &(gt_try_terms){.seed = 5},
                             &trial));
    CHECK_INT(trial.stage, GT_STAGE_VERIFY);
    CHECK(trial.seed == 5);
    gt_worker_destroy(engine.worker);
    return trial;
}

TEST(a_verdict_is_not_what_a_machine_does_to_right_code)
{
    CHECK_INT(judge("good").outcome, GT_TRIAL_OK);
    CHECK_INT(judge("fault").outcome, GT_TRIAL_OUT_OF_BOUNDS);
    CHECK_INT(judge("hang_once").outcome, GT_TRIAL_OK);        /* the process was stopped, or others were busy */
    CHECK_INT(judge("deadlock").outcome, GT_TRIAL_TIMEOUT);    /* each time */
    CHECK_INT(judge("segv_once").outcome, GT_TRIAL_CRASH);     /* and the machine is sound */
    CHECK_INT(judge("segv_and_lost").outcome, GT_TRIAL_LAUNCH_ERROR);
    CHECK_INT(judge("killed").outcome, GT_TRIAL_LAUNCH_ERROR);
}

TEST(nonsense_from_a_worker_is_a_crash)
{
    gt_worker *worker = make_worker(NULL);
    CHECK_INT(try_part(worker, "garble", 0).outcome, GT_TRIAL_CRASH);
    check_goes_on(worker, 1);
    CHECK_INT(try_part(worker, "lie", 0).outcome, GT_TRIAL_CRASH);
    check_goes_on(worker, 2);
    gt_worker_destroy(worker);
}

TEST(a_broken_context_is_told_and_costs_one_worker)
{
    gt_worker *worker = make_worker(NULL);
    const gt_trial trial = try_part(worker, "fault", 0);
    CHECK_INT(trial.outcome, GT_TRIAL_OUT_OF_BOUNDS);
    CHECK_STR(trial.detail, "strayed");
    check_goes_on(worker, 1);
    gt_worker_destroy(worker);
}

TEST(a_worker_lost_while_preparing_is_not_the_candidates_fault)
{
    gt_worker *worker = make_worker(NULL);
    char marker[200];
    snprintf(marker, sizeof marker, "%s/died", check_folder());
    setenv("TEST_MARKER", marker, 1);
    CHECK_INT(try_part(worker, "dies_first", 1).outcome, GT_TRIAL_OK);
    check_goes_on(worker, 1);
    CHECK_INT(try_part(worker, "dies_preparing", 0).outcome, GT_TRIAL_LAUNCH_ERROR); /* no verdict on the candidate */
    check_goes_on(worker, 3);
    gt_worker_destroy(worker);
}

TEST(a_worker_killed_between_jobs_is_replaced)
{
    gt_worker *worker = make_worker(NULL);
    const gt_trial trial = try_part(worker, "good", 7.5);
    CHECK(kill(trial.registers, SIGKILL) == 0);
    gt_rest(0.05);
    const gt_trial next = try_part(worker, "good", 7.5);
    CHECK_INT(next.outcome, GT_TRIAL_OK);
    CHECK(next.registers != trial.registers);
    gt_worker_destroy(worker);
}

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

TEST(an_interruption_ends_the_wait_and_the_worker)
{
    const struct itimerval soon = {.it_value.tv_usec = 100000};
    const struct sigaction action = {.sa_handler = interrupt};
    const gt_kernel kernel = part("hang", 0);
    gt_trial trial = {.us = 42};
    interrupted = 0;
    gt_worker *worker = make_worker(&interrupted);
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &soon, NULL) == 0);
    const double started = gt_now();
    CHECK_STATUS(gt_worker_try(worker, &problem, &(gt_contestant){&kernel, &code}, &timed, &trial), GT_ERROR_BUSY);
    CHECK_STR(gt_error_message(), "interrupted");
    CHECK(gt_now() - started < LIMIT_S);
    CHECK(trial.us == 42);
    interrupted = 0;
    check_goes_on(worker, 0);
    gt_worker_destroy(worker);
}

static const gt_race_terms with_all = {.seconds = 0.1, .baselines = GT_BASELINES_ALL};

TEST(a_race_goes_on_without_those_that_break_it)
{
    const gt_kernel kernels[] = {part("good", 11), part("segv", 0), part("good", 10), part("hang", 0),
                                 part("fault", 0)};
    gt_contestant contestants[5];
    gt_trial trials[5];
    gt_baseline baselines[GT_BASELINE_COUNT];
    gt_worker *worker = make_worker(NULL);
    for (int i = 0; i < 5; i++)
        contestants[i] = (gt_contestant){&kernels[i], &code};
    CHECK_OK(gt_worker_race(worker, &problem, contestants, 5, &with_all, trials, baselines));
    const gt_outcome outcomes[] = {GT_TRIAL_OK, GT_TRIAL_CRASH, GT_TRIAL_OK, GT_TRIAL_TIMEOUT, GT_TRIAL_OUT_OF_BOUNDS};
    for (int i = 0; i < 5; i++) {
        CHECK_INT(trials[i].outcome, outcomes[i]);
        CHECK_INT(trials[i].stage, GT_STAGE_RACE);
    }
    CHECK(trials[0].us == 11 && trials[0].margin == -1);
    CHECK_NEAR(trials[2].margin, 0.1, 1e-9);
    CHECK(baselines[GT_BASELINE_CUBLAS].trial.us == 12 && baselines[GT_BASELINE_CUBLASLT].trial.us == 13);
    CHECK_STR(baselines[GT_BASELINE_CUBLASLT].version, "13.1.0");
    CHECK_INT(baselines[GT_BASELINE_CUBLAS].trial.stage, GT_STAGE_RACE);
    CHECK_INT(gt_worker_losses(worker), 3);
    gt_worker_destroy(worker);
}

TEST(a_race_is_decided_by_both_times)
{
    gt_kernel kernels[] = {part("good", 10), part("good", 10.2), part("good", 20)};
    gt_contestant contestants[3];
    gt_trial trials[3];
    gt_worker *worker = make_worker(NULL);
    const int64_t cold_tenths[] = {200, 150, 150};
    for (int i = 0; i < 3; i++) {
        CHECK_OK(gt_params_add(&kernels[i].params, "cold_tenths", cold_tenths[i]));
        contestants[i] = (gt_contestant){&kernels[i], &code};
    }
    CHECK_OK(gt_worker_race(worker, &problem, contestants, 3, &with_all, trials, NULL));
    CHECK(trials[0].margin == -1 && trials[2].margin == -1);
    CHECK_NEAR(trials[1].margin, sqrt(10 * 20 / (10.2 * 15)) - 1, 1e-9);
    gt_worker_destroy(worker);
}

TEST(a_race_goes_on_without_a_baseline_that_breaks_it)
{
    const gt_kernel kernels[] = {part("good", 10), part("good", 20)};
    const gt_contestant contestants[] = {{&kernels[0], &code}, {&kernels[1], &code}};
    const gt_race_terms alone = {.seconds = 0.1};
    gt_trial trials[2];
    gt_baseline baselines[GT_BASELINE_COUNT];
    gt_worker *worker = make_worker(NULL);
    setenv("TEST_CUBLASLT", "segv", 1);
    CHECK_OK(gt_worker_race(worker, &problem, contestants, 2, &with_all, trials, baselines));
    CHECK_INT(baselines[GT_BASELINE_CUBLASLT].trial.outcome, GT_TRIAL_CRASH);
    CHECK_INT(baselines[GT_BASELINE_CUBLAS].trial.outcome, GT_TRIAL_OK);
    CHECK_INT(gt_baseline_best(baselines), GT_BASELINE_CUBLAS);
    setenv("TEST_CUBLAS", "hang", 1);
    CHECK_OK(gt_worker_race(worker, &problem, contestants, 2, &with_all, trials, baselines));
    CHECK_INT(baselines[GT_BASELINE_CUBLAS].trial.outcome, GT_TRIAL_TIMEOUT);
    CHECK_INT(baselines[GT_BASELINE_CUBLASLT].trial.outcome, GT_TRIAL_CRASH);
    CHECK_INT(gt_baseline_best(baselines), GT_BASELINE_AUTOTUNE);
    setenv("TEST_AUTOTUNE", "fault", 1);
    CHECK_OK(gt_worker_race(worker, &problem, contestants, 2, &with_all, trials, baselines));
    CHECK_INT(gt_baseline_best(baselines), -1);
    CHECK_INT(trials[0].outcome, GT_TRIAL_OK);
    CHECK_NEAR(trials[0].margin, 1, 1e-9);
    CHECK(trials[1].margin == -1);
    CHECK_OK(gt_worker_race(worker, &problem, contestants, 1, &alone, trials, NULL));
    CHECK(trials[0].margin == 0); /* nobody else ran */
    gt_worker_destroy(worker);
}

TEST(only_baselines_that_are_asked_for_race)
{
    const gt_kernel kernel = part("good", 10);
    const gt_race_terms terms = {.seconds = 0.1, .baselines = GT_BASELINE_BIT(GT_BASELINE_CUBLASLT)};
    gt_trial trial;
    gt_baseline baselines[GT_BASELINE_COUNT];
    gt_worker *worker = make_worker(NULL);
    setenv("TEST_CUBLAS", "segv", 1);
    CHECK_OK(gt_worker_race(worker, &problem, &(gt_contestant){&kernel, &code}, 1, &terms, &trial, baselines));
    CHECK(baselines[GT_BASELINE_CUBLAS].trial.outcome != GT_TRIAL_OK && baselines[GT_BASELINE_CUBLAS].trial.us == 0);
    CHECK_INT(gt_baseline_best(baselines), GT_BASELINE_CUBLASLT);
    CHECK_INT(gt_worker_losses(worker), 0);
    gt_worker_destroy(worker);
}

TEST(the_fastest_baseline_is_the_best_and_a_time_that_failed_is_none)
{
    gt_baseline baselines[GT_BASELINE_COUNT] = {0};
    CHECK_INT(gt_baseline_best(baselines), -1);
    CHECK(gt_baseline_cold_us(baselines) == 0);
    baselines[GT_BASELINE_CUBLAS].trial.us = 10;
    baselines[GT_BASELINE_CUBLASLT].trial.us = 9;
    CHECK_STR(gt_baseline_name((size_t)gt_baseline_best(baselines)), "cublaslt");
    baselines[GT_BASELINE_AUTOTUNE].trial.us = 8;
    CHECK_STR(gt_baseline_name((size_t)gt_baseline_best(baselines)), "cublas_autotune");
    /* Who is the fastest back to back need not be so with L2 flushed. */
    baselines[GT_BASELINE_CUBLAS].trial.us_cold = 12;
    baselines[GT_BASELINE_CUBLASLT].trial.us_cold = 11;
    baselines[GT_BASELINE_AUTOTUNE].trial.us_cold = 13;
    CHECK(gt_baseline_cold_us(baselines) == 11);
    baselines[GT_BASELINE_CUBLASLT].trial.outcome = baselines[GT_BASELINE_AUTOTUNE].trial.outcome =
        GT_TRIAL_WRONG_RESULT;
    CHECK_STR(gt_baseline_name((size_t)gt_baseline_best(baselines)), "cublas");
    CHECK(gt_baseline_cold_us(baselines) == 12);
}

TEST(ceilings_are_measured_in_the_worker_and_a_failure_costs_one)
{
    const gt_types *types = gt_types_parse("s32", GT_MATH_STRICT);
    gt_ceilings ceilings = {1, 2};
    gt_worker *worker = make_worker(NULL);
    setenv("TEST_CEILING", "exit", 1);
    CHECK_STATUS(gt_worker_ceilings(worker, types, &code, &ceilings), GT_ERROR_DRIVER);
    CHECK(ceilings.tflops == 1 && ceilings.copy_tbs == 2);
    setenv("TEST_CEILING", "garble", 1);
    CHECK_STATUS(gt_worker_ceilings(worker, types, &code, &ceilings), GT_ERROR_DRIVER);
    setenv("TEST_CEILING", "good", 1);
    check_goes_on(worker, 2); /* a new process, which has the new part */
    CHECK_OK(gt_worker_ceilings(worker, types, &code, &ceilings));
    CHECK_NEAR(ceilings.tflops, 65.5 + GT_S32, 0);
    CHECK_NEAR(ceilings.copy_tbs, (double)(sizeof cubin + sizeof ptx), 0); /* the code came along */
    check_goes_on(worker, 2);
    gt_worker_destroy(worker);
}

/* A pair of connected sockets, closed by the test. */
static void make_pair(int pair[2])
{
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
}

TEST(messages_arrive_whole_however_they_are_cut)
{
    static char sent[3 << 20];
    int pair[2];
    gt_message message;
    for (size_t i = 0; i < sizeof sent; i++)
        sent[i] = (char)check_random();
    make_pair(pair);
    const pid_t child = fork();
    if (child == 0) {
        const struct iovec parts[] = {
            {sent, 1}, {sent + 1, 1000000}, {NULL, 0}, {sent + 1000001, sizeof sent - 1000001}};
        _exit(gt_message_send(pair[1], GT_MESSAGE_TRY, parts, 4) ? 0 : 1);
    }
    CHECK(child > 0);
    CHECK_INT(gt_message_receive(pair[0], gt_now() + 10, NULL, &message), GT_RECEIVED);
    CHECK_INT(message.kind, GT_MESSAGE_TRY);
    CHECK_INT(message.bytes, sizeof sent);
    CHECK(memcmp(message.payload, sent, sizeof sent) == 0);
    gt_message_finish(&message);
    close(pair[1]);
    CHECK_INT(gt_message_receive(pair[0], gt_now() + 10, NULL, &message), GT_RECEIVE_END);
    close(pair[0]);
}

TEST(messages_that_are_none_are_refused)
{
    const gt_message_header bad[] = {{0, GT_MESSAGE_READY, 0},
                                     {GT_MESSAGE_MAGIC, 0, 0},
                                     {GT_MESSAGE_MAGIC, 99, 0},
                                     {GT_MESSAGE_MAGIC, GT_MESSAGE_READY, GT_MESSAGE_MOST + 1},
                                     {GT_MESSAGE_MAGIC, GT_MESSAGE_READY, UINT64_MAX}};
    int pair[2];
    gt_message message;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        make_pair(pair);
        CHECK(write(pair[1], &bad[i], sizeof bad[i]) == sizeof bad[i]);
        CHECK_INT(gt_message_receive(pair[0], gt_now() + 1, NULL, &message), GT_RECEIVE_BAD);
        close(pair[0]);
        close(pair[1]);
    }
}

TEST(waiting_ends_at_its_deadline_and_sending_to_nobody_fails)
{
    int pair[2];
    gt_message message;
    make_pair(pair);
    const double started = gt_now();
    CHECK_INT(gt_message_receive(pair[0], gt_now() + 0.15, NULL, &message), GT_RECEIVE_LATE);
    CHECK(gt_now() - started >= 0.15 && gt_now() - started < 1);
    CHECK(write(pair[1], "half", 4) == 4); /* a message that never comes to its end is late too */
    CHECK_INT(gt_message_receive(pair[0], gt_now() + 0.1, NULL, &message), GT_RECEIVE_LATE);
    close(pair[0]);
    CHECK(!gt_message_send(pair[1], GT_MESSAGE_READY, NULL, 0));
    close(pair[1]);
}

TEST(taking_more_than_a_message_holds_gives_nothing)
{
    char bytes[8] = "1234567";
    const gt_message message = {.bytes = 8, .payload = bytes};
    size_t at = 0;
    CHECK(gt_message_take(&message, 3, &at) == bytes);
    CHECK(gt_message_take(&message, 6, &at) == NULL);
    CHECK(gt_message_take(&message, SIZE_MAX, &at) == NULL);
    CHECK(gt_message_take(&message, 5, &at) == bytes + 3);
    CHECK(gt_message_take(&message, 1, &at) == NULL);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "worker") == 0)
        return play(atoi(argv[2]));
    return check_main(argc, argv);
}
