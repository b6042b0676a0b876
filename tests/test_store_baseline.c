/* What the store tells of baselines: the newest of each library, the best of them, for the view and for measurements. */
#include "store_fixture.h"

TEST(the_best_of_the_baselines_newest_times_is_found)
{
    fixture f = fixture_open();
    gt_trial baseline = make_trial(250);
    double us = -1;
    CHECK_OK(gt_store_find_baseline(f.store, f.gpu, f.problem_id, &us));
    CHECK_NEAR(us, 0, 0);
    CHECK_OK(put_baseline(&f, "cublas", 230));
    CHECK_OK(put_baseline(&f, "cublas", 240));
    CHECK_OK(gt_store_find_baseline(f.store, f.gpu, f.problem_id, &us));
    CHECK_NEAR(us, 240, 0);
    CHECK_OK(put_baseline(&f, "cublaslt", 235));
    CHECK_OK(gt_store_find_baseline(f.store, f.gpu, f.problem_id, &us));
    CHECK_NEAR(us, 235, 0);
    baseline.outcome = GT_TRIAL_WRONG_RESULT;
    CHECK_OK(gt_store_put_baseline(f.store, f.run, f.gpu, f.problem_id, "cublaslt", "13.0", &baseline));
    CHECK_OK(put_baseline(&f, "cublaslt", 300));
    CHECK_OK(gt_store_find_baseline(f.store, f.gpu, f.problem_id, &us));
    CHECK_NEAR(us, 240, 0);
    fixture_close(&f);
}

TEST(the_view_compares_with_the_better_library_of_the_winners_run)
{
    fixture f = fixture_open();
    const gt_kernel kernel = make_kernel(1);
    CHECK_OK(put(&f, &kernel, NULL, make_win(100, 0)));
    CHECK_OK(put_baseline(&f, "cublas", 110));
    CHECK_OK(put_baseline(&f, "cublaslt", 60));
    CHECK_OK(put_baseline(&f, "cublaslt", 105)); /* raced once more in the same run: the newest counts */
    CHECK_OK(put_baseline(&f, "someone", 1));
    CHECK_STR(ask(f.store, "SELECT printf('%.2f', vs_cublas) FROM best_configs"), "1.05");
    const gt_run later = {"0.1.0", "13.0", "13.0", "host", "", 1};
    CHECK_OK(gt_store_run_begin(f.store, &later, &f.run));
    CHECK_OK(put_baseline(&f, "cublas", 90));
    CHECK_STR(ask(f.store, "SELECT printf('%.2f', vs_cublas) FROM best_configs"), "1.05");
    CHECK_OK(gt_store_run_begin(f.store, &later, &f.run));
    CHECK_OK(put(&f, &kernel, NULL, make_win(100, 0))); /* a run without baselines: those of others */
    CHECK_STR(ask(f.store, "SELECT printf('%.2f', vs_cublas) FROM best_configs"), "0.90");
    fixture_close(&f);
}

TEST(measurements_come_with_the_baselines_newest_and_best_time)
{
    fixture f = fixture_open();
    const gt_kernel kernel = make_kernel(1);
    gt_measurements found;
    CHECK_OK(put(&f, &kernel, &code_of_tests, make_win(100, 0.1)));
    CHECK_OK(gt_store_find_measured(f.store, &f.device, &f.problem.class, &found));
    CHECK_INT(found.count, 1);
    CHECK(found.list[0].baseline_us == 0);
    gt_measurements_finish(&found);
    CHECK_OK(put_baseline(&f, "cublas", 90));
    CHECK_OK(put_baseline(&f, "cublas", 130));
    CHECK_OK(put_baseline(&f, "cublaslt", 120));
    gt_trial modelled = make_trial(1);
    modelled.modelled = true; /* says nothing beside a kernel that was measured */
    CHECK_OK(gt_store_put_baseline(f.store, f.run, f.gpu, f.problem_id, "autotune", "13.0", &modelled));
    CHECK_OK(gt_store_find_measured(f.store, &f.device, &f.problem.class, &found));
    CHECK_INT(found.count, 1);
    CHECK_NEAR(found.list[0].baseline_us, 120, 1e-9);
    gt_measurements_finish(&found);
    fixture_close(&f);
}

TEST(a_baseline_that_is_better_cold_is_taken_at_that)
{
    fixture f = fixture_open();
    const gt_kernel kernel = make_kernel(1);
    gt_measurements found;
    gt_trial won = make_win(100, 0.1), theirs = make_trial(130);
    won.us_cold = 200;
    theirs.us_cold = 180; /* 0.9 of ours, where it is 1.3 warm */
    CHECK_OK(put(&f, &kernel, &code_of_tests, won));
    CHECK_OK(gt_store_put_baseline(f.store, f.run, f.gpu, f.problem_id, "cublas", "13.0", &theirs));
    CHECK_OK(gt_store_find_measured(f.store, &f.device, &f.problem.class, &found));
    CHECK_NEAR(found.list[0].baseline_us, 90, 1e-9);
    gt_measurements_finish(&found);
    fixture_close(&f);
}

CHECK_MAIN
