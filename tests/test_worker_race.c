/* Races in a worker, with baselines, and what a GPU can do at most. */
#include "store_fixture.h"
#include "worker_fixture.h"

#include "../tuner/engine/work.h"

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

TEST(a_winner_whose_code_somebody_dropped_meanwhile_does_not_race)
{
    fixture f = fixture_open();
    gt_engine engine = {.store = f.store, .run = f.run, .gpu = f.gpu};
    gt_tuned tuned = {0};
    gt_tuning tuning = {.engine = &engine};
    gt_work w = {.tuning = &tuning, .engine = &engine, .problem = &f.problem, .problem_id = f.problem_id, .tuned = &tuned};
    w.winner.kernel_id = 77; /* forgotten */
    w.winner.kernel = make_kernel(1);
    w.rival_count = 1;
    w.rivals[0].kernel_id = 1; /* trimmed */
    w.rivals[0].kernel = make_kernel(2);
    CHECK_OK(put(&f, &w.rivals[0].kernel, NULL, make_trial(2)));
    CHECK_OK(gt_race(&w));
    CHECK(!tuned.won);
    fixture_close(&f);
}

WORKER_MAIN
