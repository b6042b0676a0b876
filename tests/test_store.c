/* What the store promises when nothing goes wrong. */
#include <sys/stat.h>

#include "store_fixture.h"

TEST(a_trial_comes_back_as_it_was_put)
{
    fixture f = fixture_open();
    const gt_kernel kernel = make_kernel(1);
    gt_trial put_in = make_trial(123.5), got;
    bool found = true;
    CHECK_OK(gt_store_find_trial(f.store, f.gpu, f.problem_id, &kernel, &found, &got));
    CHECK(!found);
    put_in.outcome = GT_TRIAL_WRONG_RESULT;
    put_in.error = INFINITY;
    put_in.stopped_early = true;
    snprintf(put_in.detail, sizeof put_in.detail, "C[3,4] is nan, 'not' 1.5");
    CHECK_OK(put(&f, &kernel, NULL, put_in));
    CHECK_OK(gt_store_find_trial(f.store, f.gpu, f.problem_id, &kernel, &found, &got));
    CHECK(found);
    CHECK_INT(got.outcome, GT_TRIAL_WRONG_RESULT);
    CHECK_STR(got.detail, put_in.detail);
    CHECK(got.us == put_in.us && got.us_min == put_in.us_min && got.us_spread == put_in.us_spread);
    CHECK(got.us_cold == put_in.us_cold && got.samples == 30 && got.stopped_early && !got.modelled);
    CHECK(got.clock_mhz == 1980 && isinf(got.error) && got.margin == -1 && got.registers == 168 && got.spills == 8);
    fixture_close(&f);
}

TEST(every_outcome_can_be_stored_and_is_told_apart)
{
    fixture f = fixture_open();
    for (int i = 0; i < GT_OUTCOME_COUNT; i++) {
        const gt_kernel kernel = make_kernel(i);
        gt_trial trial = make_trial(0), got = {0};
        bool found = false;
        trial.outcome = (gt_outcome)i;
        trial.error = NAN; /* a reference may not be a number */
        CHECK_OK(put(&f, &kernel, NULL, trial));
        CHECK_OK(gt_store_find_trial(f.store, f.gpu, f.problem_id, &kernel, &found, &got));
        CHECK(found && isnan(got.error));
        CHECK_INT(got.outcome, i);
        CHECK(got.us == 0);
    }
    CHECK_STR(gt_outcome_name(GT_TRIAL_OVER_RESOURCES), "over_resources");
    CHECK_STR(gt_outcome_name((gt_outcome)99), "unknown");
    fixture_close(&f);
}

TEST(rows_are_found_again_not_doubled)
{
    fixture f = fixture_open();
    int64_t id = 0;
    gt_device device = f.device;
    gt_problem problem = f.problem;
    device.memory_bytes -= 300 << 20; /* another driver leaves less free */
    device.ordinal = 5;
    CHECK_OK(gt_store_gpu(f.store, &device, &id));
    CHECK_INT(id, f.gpu);
    device.memory_bytes /= 2;
    CHECK_OK(gt_store_gpu(f.store, &device, &id));
    CHECK(id != f.gpu);
    problem.lda += 4; /* where numbers lie is not what is tuned */
    CHECK_OK(gt_store_problem(f.store, &problem, &id));
    CHECK_INT(id, f.problem_id);
    problem.class.align = 4;
    CHECK_OK(gt_store_problem(f.store, &problem, &id));
    CHECK(id != f.problem_id);
    fixture_close(&f);
}

TEST(a_search_resumes_only_where_source_compiler_facts_and_problem_are_the_same)
{
    fixture f = fixture_open();
    const gt_kernel kernel = make_kernel(1);
    const gt_problem other = make_problem(8, 8, 8);
    int64_t other_id = 0;
    bool found = false;
    gt_trial got;
    CHECK_OK(gt_store_problem(f.store, &other, &other_id));
    CHECK_OK(put(&f, &kernel, NULL, make_trial(10)));
    CHECK_OK(put(&f, &kernel, NULL, make_trial(11)));
    CHECK_OK(put(&f, &kernel, NULL, make_win(12, 0.1)));
    CHECK_OK(gt_store_find_trial(f.store, f.gpu, f.problem_id, &kernel, &found, &got));
    CHECK(found && got.us == 11 && got.stage == GT_STAGE_SCREEN); /* the newest screening, not the race */
    CHECK_OK(gt_store_find_trial(f.store, f.gpu, other_id, &kernel, &found, &got));
    CHECK(!found);
    gt_kernel changed[] = {kernel, kernel, kernel, kernel, kernel};
    strcpy(changed[0].nvrtc, "13.1");
    strcpy(changed[1].arch, "sm_100a");
    changed[2].facts.smem_bytes -= 1024; /* the space file was corrected */
    changed[3] = make_kernel(2);
    changed[4].facts.dependent_launch ^= 1;
    for (int i = 0; i < 5; i++) {
        CHECK_OK(gt_store_find_trial(f.store, f.gpu, f.problem_id, &changed[i], &found, &got));
        CHECK(!found);
    }
    fixture_close(&f);
}

TEST(what_does_not_compile_counts_as_tried_on_every_problem)
{
    fixture f = fixture_open();
    const gt_kernel kernel = make_kernel(1);
    gt_trial trial = {.outcome = GT_TRIAL_COMPILE_ERROR, .detail = "expected ';'", .margin = -1}, got;
    const gt_problem other = make_problem(8, 8, 8);
    int64_t other_id = 0;
    bool found = false;
    CHECK_OK(gt_store_problem(f.store, &other, &other_id));
    CHECK_OK(put(&f, &kernel, NULL, trial));
    CHECK_OK(gt_store_find_trial(f.store, f.gpu, other_id, &kernel, &found, &got));
    CHECK(found);
    CHECK_INT(got.outcome, GT_TRIAL_COMPILE_ERROR);
    fixture_close(&f);
}

TEST(the_view_has_the_columns_people_were_promised)
{
    static const char columns[] = "gpu type math layout m n k batch family bm bn bk wm wn tm tn stages split_k params us "
                                  "tflops peak_pct vs_cublas error margin timing tuned_at align kernel run gpu_id";
    fixture f = fixture_open();
    CHECK_STR(ask(f.store, "SELECT substr(group_concat(name, ' '), 1, 100) FROM pragma_table_info('best_configs')"),
              strndupa(columns, 100));
    CHECK_STR(ask(f.store, "SELECT substr(group_concat(name, ' '), 101) FROM pragma_table_info('best_configs')"),
              columns + 100);
    fixture_close(&f);
}

TEST(a_search_is_known_by_gpu_problem_and_hash)
{
    fixture f = fixture_open();
    char search[GT_HASH_LENGTH], other[GT_HASH_LENGTH];
    bool found = true;
    gt_hash("a", 1, search);
    gt_hash("b", 1, other);
    CHECK_OK(gt_store_find_searched(f.store, f.gpu, f.problem_id, search, &found));
    CHECK(!found);
    CHECK_OK(gt_store_put_searched(f.store, f.run, f.gpu, f.problem_id, search));
    CHECK_OK(gt_store_put_searched(f.store, f.run, f.gpu, f.problem_id, search)); /* twice is no harm */
    CHECK_OK(gt_store_find_searched(f.store, f.gpu, f.problem_id, search, &found));
    CHECK(found);
    CHECK_OK(gt_store_find_searched(f.store, f.gpu, f.problem_id, other, &found));
    CHECK(!found);
    fixture_close(&f);
}

TEST(what_was_measured_of_a_gpu_is_kept_and_found)
{
    fixture f = fixture_open();
    const gt_device other = make_device("NVIDIA H100");
    const gt_types *f32 = gt_types_parse("f32", GT_MATH_STRICT), *tf32 = gt_types_parse("f32", GT_MATH_TF32);
    double tflops = -1, tbs = -1;
    CHECK_OK(gt_store_put_peak(f.store, f.gpu, f32, 67, "units x clock"));
    CHECK_OK(gt_store_find_peak(f.store, &f.device, f32, &tflops));
    CHECK_OK(gt_store_find_bandwidth(f.store, &f.device, &tbs));
    CHECK(tflops == 0 && tbs == 0);
    CHECK_OK(gt_store_put_peak(f.store, f.gpu, f32, 65.25, "measured"));
    CHECK_OK(gt_store_put_peak(f.store, f.gpu, f32, 67, "units x clock"));
    CHECK_OK(gt_store_put_bandwidth(f.store, f.gpu, 4.0));
    CHECK_OK(gt_store_put_bandwidth(f.store, f.gpu, 4.25));
    gt_store_close(f.store);
    CHECK_OK(gt_store_open(f.path, GT_STORE_READ, &f.store));
    CHECK_OK(gt_store_find_peak(f.store, &f.device, f32, &tflops));
    CHECK_OK(gt_store_find_bandwidth(f.store, &f.device, &tbs));
    CHECK(tflops == 65.25 && tbs == 4.25);
    CHECK_OK(gt_store_find_peak(f.store, &f.device, tf32, &tflops)); /* another math, another peak */
    CHECK(tflops == 0);
    CHECK_OK(gt_store_find_peak(f.store, &f.device, gt_types_parse("s32", GT_MATH_STRICT), &tflops));
    CHECK_OK(gt_store_find_bandwidth(f.store, &other, &tbs));
    CHECK(tflops == 0 && tbs == 0);
    fixture_close(&f);
}

TEST(the_view_tells_speed_share_of_peak_and_ratio_to_cublas)
{
    fixture f = fixture_open();
    const gt_kernel kernel = make_kernel(4);
    gt_trial cublas = make_trial(250);
    const gt_types *f32 = gt_types_parse("f32", GT_MATH_STRICT);
    CHECK_OK(gt_store_put_peak(f.store, f.gpu, f32, 60, "units x clock"));
    CHECK_OK(gt_store_put_peak(f.store, f.gpu, f32, 66, "measured"));
    CHECK_OK(gt_store_put_peak(f.store, f.gpu, gt_types_parse("f32", GT_MATH_TF32), 400, "units x clock"));
    CHECK_OK(put(&f, &kernel, NULL, make_win(500, 0.02)));
    CHECK_STR(ask(f.store, "SELECT vs_cublas FROM best_configs"), "(null)");
    CHECK_OK(gt_store_put_baseline(f.store, f.run, f.gpu, f.problem_id, "cublas", "13.0", &cublas));
    const gt_run later = {"0.1.0", "13.0", "13.0", "host", "", 1};
    int64_t later_run = 0;
    CHECK_OK(gt_store_run_begin(f.store, &later, &later_run));
    cublas.us = 1000; /* newer, but not of the run that made the time */
    CHECK_OK(gt_store_put_baseline(f.store, later_run, f.gpu, f.problem_id, "cublas", "13.0", &cublas));
    CHECK_STR(ask(f.store, "SELECT printf('%s %s %s %s %d %d %d %d', gpu, type, math, layout, m, n, k, batch)"
                           " FROM best_configs"),
              "NVIDIA H200 f32 strict nn 4096 2048 1024 1");
    CHECK_STR(ask(f.store, "SELECT printf('%s %d %d %d %d %d', family, bm, bn, bk, stages, split_k) FROM best_configs"
                           " WHERE wm IS NULL AND wn IS NULL AND tm IS NULL AND tn IS NULL"),
              "simt 128 256 16 4 20");
    /* 2 * 4096 * 2048 * 1024 operations in 500 us are 34.359738368 TFLOPS, 52.06% of 66. */
    CHECK_STR(ask(f.store, "SELECT printf('%.6f %.4f %.3f', tflops, peak_pct, vs_cublas) FROM best_configs"),
              "34.359738 52.0602 0.500");
    CHECK_STR(ask(f.store, "SELECT printf('%s %g %g %d', timing, margin, error, align) FROM best_configs"),
              "measured 0.02 1e-07 16");
    CHECK_STR(ask(f.store, "SELECT tuned_at LIKE '20__-__-__ __:__:__' FROM best_configs"), "1");
    fixture_close(&f);
}

TEST(the_newest_winner_is_the_best_and_the_fastest_only_without_one)
{
    fixture f = fixture_open();
    gt_kernel kernels[5];
    for (int i = 0; i < 5; i++)
        kernels[i] = make_kernel(i);
    gt_trial failed = make_trial(1);
    failed.outcome = GT_TRIAL_WRONG_RESULT;
    CHECK_OK(put(&f, &kernels[0], NULL, make_trial(90)));
    CHECK_OK(put(&f, &kernels[1], NULL, make_trial(80)));
    CHECK_OK(put(&f, &kernels[2], NULL, failed));
    CHECK_STR(ask(f.store, "SELECT us FROM best_configs"), "80.0");
    CHECK_OK(put(&f, &kernels[3], NULL, make_win(85, 0)));
    CHECK_STR(ask(f.store, "SELECT us FROM best_configs"), "85.0");
    CHECK_OK(put(&f, &kernels[4], NULL, make_win(88, 0.1)));
    CHECK_OK(put(&f, &kernels[0], NULL, make_trial(70)));
    CHECK_STR(ask(f.store, "SELECT us FROM best_configs"), "88.0");
    CHECK_STR(ask(f.store, "SELECT count(*) FROM best_configs"), "1");
    fixture_close(&f);
}

TEST(a_modelled_time_never_stands_before_a_measured_one)
{
    fixture f = fixture_open();
    const gt_kernel a = make_kernel(1), b = make_kernel(2);
    gt_trial modelled = make_win(1, 0.5);
    gt_measurements found = {0};
    modelled.modelled = true;
    CHECK_OK(put(&f, &a, &code_of_tests, modelled));
    CHECK_STR(ask(f.store, "SELECT timing || us FROM best_configs"), "modelled1.0");
    CHECK_OK(gt_store_find_measured(f.store, &f.device, &f.problem.class, &found));
    CHECK(found.count == 1 && found.list[0].trial.modelled && found.list[0].winner);
    CHECK_INT(found.list[0].kernel->align, f.problem.class.align);
    gt_measurements_finish(&found);
    CHECK_OK(put(&f, &b, &code_of_tests, make_trial(50)));
    CHECK_STR(ask(f.store, "SELECT timing || us FROM best_configs"), "measured50.0");
    CHECK_OK(gt_store_find_measured(f.store, &f.device, &f.problem.class, &found));
    CHECK(found.count == 1 && !found.list[0].trial.modelled && found.list[0].trial.us == 50);
    gt_measurements_finish(&found);
    fixture_close(&f);
}

TEST(a_trial_keeps_its_seed_and_its_stage)
{
    fixture f = fixture_open();
    const gt_kernel kernel = make_kernel(1);
    gt_trial trial = make_trial(10), got;
    bool found = false;
    CHECK_OK(put(&f, &kernel, NULL, trial));
    trial.seed = UINT64_MAX - 1;
    CHECK_OK(put(&f, &kernel, NULL, trial));
    trial.stage = GT_STAGE_VERIFY;
    trial.margin = 0.5;
    CHECK_OK(put(&f, &kernel, NULL, trial));
    CHECK_OK(gt_store_find_trial(f.store, f.gpu, f.problem_id, &kernel, &found, &got));
    CHECK(found && got.seed == UINT64_MAX - 1 && got.stage == GT_STAGE_SCREEN);
    CHECK_STR(ask(f.store, "SELECT group_concat(stage || ' ' || coalesce(seed, '-') || ' ' || coalesce(us, '-'), ', ')"
                           " FROM trial"),
              "screen - 10.0, screen 18446744073709551614 10.0, verify 18446744073709551614 -");
    fixture_close(&f);
}

TEST(a_run_is_closed_with_its_end)
{
    fixture f = fixture_open();
    CHECK_STR(ask(f.store, "SELECT seed || ' ' || (ended IS NULL) FROM run"), "18446744073709551615 1");
    CHECK_OK(gt_store_run_end(f.store, f.run, "budget"));
    CHECK_STR(ask(f.store, "SELECT ending || ' ' || (ended >= started) FROM run"), "budget 1");
    CHECK_STATUS(gt_store_run_end(f.store, f.run, "tired"), GT_ERROR_INVALID);
    CHECK_STATUS(gt_store_run_end(f.store, 999, "done"), GT_ERROR_INVALID);
    fixture_close(&f);
}

TEST(conditions_differ_in_what_both_have)
{
    static const struct {
        gt_conditions then, now;
        const char *says;
    } cases[] = {
        {{"13.0", "13.0", "1.0", 1980}, {"13.0", "13.0", "1.0", 1980}, ""},
        {{"13.0"}, {"13.0 580.159.04"}, ""}, /* the release was not stored always */
        {{"13.0 580.95.05"}, {"13.0 580.159.04"}, "driver 13.0 580.95.05, now 13.0 580.159.04"},
        {{"13.0 580.95.05"}, {"13.1"}, "driver 13.0 580.95.05, now 13.1"},
        {{"13.1"}, {"13.10"}, "driver 13.1, now 13.10"},
        {{"13.0", "12.9", "1.0"}, {"13.0", "13.0", "1.1"}, "NVRTC 12.9, now 13.0"},
        {{"13.0", "", "1.0"}, {"13.0", "13.0", "1.1"}, "gemmtune 1.0, now 1.1"},
        {{.clock_mhz = 1980}, {.clock_mhz = 1200}, "an SM clock of 1980 MHz, now 1200 at most"},
        {{.clock_mhz = 1200}, {.clock_mhz = 1980}, ""}, /* load may have lowered it */
        {{.clock_mhz = 1980}, {.clock_mhz = 0}, ""},
    };
    char text[GT_CONDITIONS_TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK_STR(gt_conditions_compare(&cases[i].then, &cases[i].now, text), cases[i].says);
}

TEST(a_refused_trial_leaves_nothing_behind)
{
    fixture f = fixture_open();
    const gt_kernel kernel = make_kernel(1);
    gt_trial trial = make_trial(10);
    trial.samples = -1;
    CHECK_STATUS(put(&f, &kernel, &code_of_tests, trial), GT_ERROR_INVALID);
    trial = make_trial(10);
    trial.outcome = (gt_outcome)77;
    CHECK_STATUS(put(&f, &kernel, &code_of_tests, trial), GT_ERROR_INVALID);
    trial = make_trial(10);
    CHECK_STATUS(gt_store_put_trial(f.store, f.run, 99, f.problem_id, &kernel, NULL, &trial), GT_ERROR_INVALID);
    CHECK_STR(ask(f.store, "SELECT (SELECT count(*) FROM kernel) + (SELECT count(*) FROM trial)"), "0");
    CHECK_OK(put(&f, &kernel, NULL, trial)); /* and the store goes on */
    fixture_close(&f);
}

TEST(queries_take_parameters_and_refuse_everything_that_writes)
{
    fixture f = fixture_open();
    const char *const parameters[] = {"2048", "x'); DROP TABLE run; --", NULL};
    char answer[128] = "";
    CHECK_OK(gt_store_query(f.store, "SELECT m || ?2 FROM problem WHERE n = ?1", parameters, keep_first, answer));
    CHECK_STR(answer, "4096x'); DROP TABLE run; --");
    CHECK_STATUS(gt_store_query(f.store, "DELETE FROM run RETURNING id", NULL, keep_first, answer), GT_ERROR_INVALID);
    CHECK_STATUS(gt_store_query(f.store, "BEGIN", NULL, keep_first, answer), GT_ERROR_INVALID);
    CHECK_STATUS(gt_store_query(f.store, "SELECT nonsense", NULL, keep_first, answer), GT_ERROR_INVALID);
    CHECK_STATUS(gt_store_query(f.store, "", NULL, keep_first, answer), GT_ERROR_INVALID);
    CHECK_STR(ask(f.store, "SELECT count(*) FROM run"), "1");
    fixture_close(&f);
}

TEST(a_view_of_the_file_that_never_ends_is_not_asked)
{
    fixture f = fixture_open();
    const gt_kernel kernel = make_kernel(1);
    char answer[128] = "";
    CHECK_OK(put(&f, &kernel, &code_of_tests, make_trial(10)));
    vandalise(f.path, "DROP VIEW best_configs; CREATE VIEW best_configs AS WITH RECURSIVE r(m) AS (SELECT 1 UNION ALL"
                      " SELECT m + 1 FROM r) SELECT m FROM r WHERE m < 0");
    CHECK_OK(gt_store_query(f.store, "SELECT m FROM best_configs", NULL, keep_first, answer));
    CHECK_STR(answer, "4096");
    fixture_close(&f);
}

TEST(the_default_place_follows_the_environment)
{
    char path[256];
    setenv("HOME", "/home/ada", 1);
    unsetenv("XDG_DATA_HOME");
    unsetenv("GEMMTUNE_DB");
    CHECK_OK(gt_store_default_path(path, sizeof path));
    CHECK_STR(path, "/home/ada/.local/share/gemmtune/gemmtune.db");
    setenv("XDG_DATA_HOME", "/data", 1);
    CHECK_OK(gt_store_default_path(path, sizeof path));
    CHECK_STR(path, "/data/gemmtune/gemmtune.db");
    setenv("GEMMTUNE_DB", "here.db", 1);
    CHECK_OK(gt_store_default_path(path, sizeof path));
    CHECK_STR(path, "here.db");
    CHECK_STATUS(gt_store_default_path(path, 7), GT_ERROR_INVALID);
}

TEST(missing_folders_are_made_and_belong_to_the_user_alone)
{
    const char *home = check_folder();
    const char *path = in_folder(home, "share/gemmtune/gemmtune.db");
    gt_store *store = NULL;
    struct stat st;
    setenv("XDG_DATA_HOME", home, 1);
    const mode_t mask = umask(0);
    CHECK_OK(gt_store_open(path, GT_STORE_WRITE, &store));
    umask(mask);
    CHECK(stat(in_folder(home, "share/gemmtune"), &st) == 0 && (st.st_mode & 0777) == 0700);
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0644);
    gt_store_close(store);
    CHECK_OK(gt_store_open(path, GT_STORE_READ, &store)); /* what was made is trusted, whatever the umask */
    gt_store_close(store);
}

CHECK_MAIN
