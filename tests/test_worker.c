/* What becomes of a candidate, and of the worker that runs it. */
#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "../tuner/engine/verdict.h"
#include "../tuner/timer.h"
#include "worker_fixture.h"

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
    CHECK_INT(try_part(worker, "syscall", 0).outcome, GT_TRIAL_CRASH);
    check_goes_on(worker, 3);
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

#define CROWD 2

/* Has itself, and the workers that it starts, share one core with others. */
static void crowd(pid_t others[CROWD])
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    CHECK_INT(sched_setaffinity(0, sizeof one, &one), 0);
    for (int i = 0; i < CROWD; i++)
        if ((others[i] = fork()) == 0)
            for (prctl(PR_SET_PDEATHSIG, SIGKILL);;) {
            }
}

TEST(a_candidate_has_its_time_of_a_core_that_others_want_too)
{
    pid_t others[CROWD];
    gt_worker *worker = make_worker(NULL);
    crowd(others);
    double started = gt_now();
    const gt_trial works = try_part(worker, "works", 7.5);
    const double worked = gt_now() - started;
    started = gt_now();
    const gt_trial spins = try_part(worker, "spins", 0);
    const double spun = gt_now() - started;
    for (int i = 0; i < CROWD; i++) {
        kill(others[i], SIGKILL);
        waitpid(others[i], NULL, 0);
    }
    CHECK(worked > LIMIT_S); /* else nothing would be shown */
    CHECK_INT(works.outcome, GT_TRIAL_OK);
    CHECK_INT(spins.outcome, GT_TRIAL_TIMEOUT);
    CHECK(spun < 25 * LIMIT_S);
    gt_worker_destroy(worker);
}

/* The system kills where memory is short, or CPU time is limited. A candidate cannot. */
TEST(a_worker_that_somebody_killed_is_no_verdict_on_the_candidate)
{
    const gt_kernel kernels[] = {part("good", 11), part("killed", 0), part("good", 10)};
    gt_contestant contestants[3];
    gt_trial trials[3];
    const gt_race_terms alone = {.seconds = 0.1};
    char marker[200];
    gt_worker *worker = make_worker(NULL);
    snprintf(marker, sizeof marker, "%s/killed", check_folder());
    setenv("TEST_MARKER", marker, 1);
    const gt_trial trial = try_part(worker, "killed", 0);
    CHECK_INT(trial.outcome, GT_TRIAL_NOT_TRIED);
    CHECK_STR(trial.detail, "the worker died of SIGKILL while verifying");
    CHECK(!gt_outcome_convicts(trial.outcome));
    check_goes_on(worker, 2); /* another one was given a chance */
    CHECK_INT(try_part(worker, "killed_once", 7.5).outcome, GT_TRIAL_OK);
    check_goes_on(worker, 3);
    const gt_trial limited = try_part(worker, "out_of_time", 0);
    CHECK_INT(limited.outcome, GT_TRIAL_NOT_TRIED);
    CHECK_STR(limited.detail, "the worker died of SIGXCPU while verifying");
    check_goes_on(worker, 5);
    for (int i = 0; i < 3; i++)
        contestants[i] = (gt_contestant){&kernels[i], &code};
    CHECK_OK(gt_worker_race(worker, &problem, contestants, 3, &alone, trials, NULL));
    CHECK_INT(trials[1].outcome, GT_TRIAL_NOT_TRIED);
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

#define HELD_S 0.3

/* Takes the turn when it is given up, and keeps it for a while. */
static void *hold_turn(void *turn)
{
    pthread_mutex_lock(turn);
    gt_rest(HELD_S);
    pthread_mutex_unlock(turn);
    return NULL;
}

TEST(a_worker_has_the_gpu_only_while_its_parent_has_the_turn)
{
    pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    pthread_t other;
    const gt_kernel patient = part("patient", 1), dying = part("dies_drawing", 1);
    const gt_try_terms terms = {.seed = 9, .turn = &turn};
    gt_trial trial;
    gt_worker *worker = make_worker(NULL);
    check_goes_on(worker, 0);
    pthread_mutex_lock(&turn);
    CHECK(pthread_create(&other, NULL, hold_turn, &turn) == 0);
    CHECK_OK(gt_worker_try(worker, &problem, &(gt_contestant){&patient, &code}, &terms, &trial));
    CHECK_INT(trial.outcome, GT_TRIAL_OK);
    CHECK(trial.us_min >= HELD_S / 2);
    CHECK(pthread_join(other, NULL) == 0);
    CHECK(pthread_mutex_trylock(&turn) == EBUSY);
    CHECK_OK(gt_worker_try(worker, &problem, &(gt_contestant){&dying, &code}, &terms, &trial));
    CHECK_INT(trial.outcome, GT_TRIAL_NOT_TRIED);
    CHECK_STR(trial.detail, "the worker ended with status 4 while drawing small checks");
    CHECK(pthread_mutex_trylock(&turn) == EBUSY);
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
    CHECK_INT(judge("segv_and_lost").outcome, GT_TRIAL_NOT_TRIED);
    CHECK_INT(judge("killed").outcome, GT_TRIAL_NOT_TRIED);
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
    CHECK_INT(try_part(worker, "dies_preparing", 0).outcome, GT_TRIAL_NOT_TRIED); /* no verdict on the candidate */
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

WORKER_MAIN
