/* A failure counts: code that was wrong once is out of service until it has passed that very check; and forgetting. */
#include "store_fixture.h"

#define SEED 42

static fixture open_quick(void)
{
    fixture f = fixture_open();
    CHECK_OK(gt_sql_execute(f.store, "PRAGMA synchronous = OFF")); /* nothing here is about power cuts */
    return f;
}

static gt_trial make_failure(gt_outcome outcome, gt_stage stage, uint64_t seed)
{
    gt_trial trial = {.outcome = outcome, .stage = stage, .margin = -1, .seed = seed};
    snprintf(trial.detail, sizeof trial.detail, "C[3,4] is 1, not 2");
    return trial;
}

static gt_trial make_verdict(gt_outcome outcome, uint64_t seed)
{
    gt_trial trial = make_trial(0);
    trial.outcome = outcome;
    trial.stage = GT_STAGE_VERIFY;
    trial.seed = seed;
    return trial;
}

static int64_t add_problem(const fixture *f, int64_t size)
{
    const gt_problem problem = make_problem(size, size, size);
    int64_t id = 0;
    CHECK_OK(gt_store_problem(f->store, &problem, &id));
    return id;
}

static gt_status put_on(const fixture *f, int64_t problem, const gt_kernel *kernel, gt_trial trial)
{
    return gt_store_put_trial(f->store, f->run, f->gpu, problem, kernel, &code_of_tests, &trial);
}

/* The times that the library chooses from, newest first: "2 1". */
static const char *offered(const fixture *f)
{
    static char texts[4][128];
    static int next;
    char *text = texts[next++ % 4];
    gt_measurements found = {0};
    int length = 0;
    text[0] = '\0';
    CHECK_OK(gt_store_find_measured(f->store, &f->device, &f->problem.class, &found));
    for (size_t i = 0; i < found.count; i++)
        length += snprintf(text + length, sizeof texts[0] - (size_t)length, "%s%g%s", i ? " " : "",
                           found.list[i].trial.us, found.list[i].winner ? "!" : "");
    CHECK_INT(found.damaged, 0);
    gt_measurements_finish(&found);
    return text;
}

#define BEST "SELECT group_concat(printf('%g', us), ' ') FROM (SELECT us FROM best_configs ORDER BY m)"

TEST(a_race_that_ends_wrong_takes_the_screening_of_before_out_of_service)
{
    static const gt_outcome blaming[] = {GT_TRIAL_WRONG_RESULT, GT_TRIAL_OUT_OF_BOUNDS, GT_TRIAL_CRASH,
                                         GT_TRIAL_TIMEOUT};
    for (size_t i = 0; i < sizeof blaming / sizeof blaming[0]; i++) {
        fixture f = open_quick();
        const gt_kernel a = make_kernel(1), b = make_kernel(2);
        gt_trial got;
        bool found = false;
        CHECK_OK(put(&f, &a, &code_of_tests, make_trial(1)));
        CHECK_OK(put(&f, &b, &code_of_tests, make_trial(2)));
        CHECK_STR(offered(&f), "2 1");
        CHECK_STR(ask(f.store, BEST), "1");
        CHECK_OK(put(&f, &a, &code_of_tests, make_failure(blaming[i], GT_STAGE_RACE, SEED)));
        CHECK_STR(offered(&f), "2");
        CHECK_STR(ask(f.store, BEST), "2");
        CHECK_OK(put(&f, &a, &code_of_tests, make_win(1, 0.1))); /* no other trial clears it */
        CHECK_STR(offered(&f), "2");
        CHECK_STR(ask(f.store, BEST), "2");
        CHECK_OK(gt_store_find_trial(f.store, f.gpu, f.problem_id, &a, &found, &got)); /* nor is it tried again */
        CHECK(found && got.outcome == blaming[i]);
        fixture_close(&f);
    }
}

TEST(an_outcome_convicts_where_its_name_says_so)
{
    for (int i = 0; i < GT_OUTCOME_COUNT; i++) {
        fixture f = open_quick();
        const gt_kernel a = make_kernel(1);
        gt_trial trial = make_verdict((gt_outcome)i, SEED);
        CHECK_OK(put(&f, &a, &code_of_tests, trial));
        CHECK_STR(ask(f.store, "SELECT count(*) FROM convicted"), gt_outcome_convicts((gt_outcome)i) ? "1" : "0");
        fixture_close(&f);
    }
}

TEST(a_failure_that_does_not_blame_the_code_changes_nothing)
{
    static const gt_outcome harmless[] = {GT_TRIAL_LAUNCH_ERROR, GT_TRIAL_OVER_RESOURCES, GT_TRIAL_COMPILE_ERROR};
    fixture f = open_quick();
    const gt_kernel a = make_kernel(1);
    CHECK_OK(put(&f, &a, &code_of_tests, make_trial(1)));
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        CHECK_OK(put(&f, &a, &code_of_tests, make_failure(harmless[i], GT_STAGE_RACE, SEED)));
    CHECK_STR(offered(&f), "1");
    CHECK_STR(ask(f.store, BEST), "1");
    fixture_close(&f);
}

/* Whether the kernel that is offered with a time has lost no race. */
static bool is_unbeaten(const fixture *f, double us)
{
    gt_measurements found = {0};
    bool unbeaten = false;
    CHECK_OK(gt_store_find_measured(f->store, &f->device, &f->problem.class, &found));
    for (size_t i = 0; i < found.count; i++)
        unbeaten = unbeaten || (found.list[i].trial.us == us && found.list[i].unbeaten);
    gt_measurements_finish(&found);
    return unbeaten;
}

TEST(a_winner_that_could_not_run_in_a_race_has_not_lost_it)
{
    fixture f = open_quick();
    const gt_kernel a = make_kernel(1), b = make_kernel(2);
    CHECK_OK(put(&f, &a, &code_of_tests, make_win(1, 0.1)));
    CHECK_OK(put(&f, &a, &code_of_tests, make_failure(GT_TRIAL_LAUNCH_ERROR, GT_STAGE_RACE, SEED)));
    CHECK_OK(put(&f, &b, &code_of_tests, make_win(2, 0.1)));
    CHECK_STR(offered(&f), "2! 1");
    CHECK(is_unbeaten(&f, 1)); /* they race when the problem is tuned next */
    CHECK_STR(ask(f.store, "SELECT winners FROM contested"), "2");
    CHECK_OK(put(&f, &a, &code_of_tests, make_win(3, -1)));
    CHECK(!is_unbeaten(&f, 3));
    CHECK_STR(ask(f.store, "SELECT winners FROM contested"), "");
    fixture_close(&f);
}

TEST(code_convicted_on_one_size_is_served_on_none_and_under_no_other_facts)
{
    fixture f = open_quick();
    gt_kernel a = make_kernel(1), like = make_kernel(1), newer = make_kernel(1);
    const int64_t small = add_problem(&f, 64), large = add_problem(&f, 8192);
    gt_device sister = make_device("NVIDIA H100");
    gt_trial got;
    bool found = false;
    like.facts.blocks--;
    strcpy(newer.nvrtc, "13.1"); /* other code */
    CHECK_OK(put_on(&f, small, &a, make_win(1, 0.1)));
    CHECK_OK(put_on(&f, f.problem_id, &like, make_win(2, 0.1)));
    CHECK_OK(put_on(&f, f.problem_id, &newer, make_trial(3)));
    CHECK_STR(offered(&f), "3 2! 1!");
    CHECK_OK(gt_store_gpu(f.store, &sister, &f.gpu)); /* and on whatever GPU it was */
    CHECK_OK(put_on(&f, large, &a, make_failure(GT_TRIAL_WRONG_RESULT, GT_STAGE_SCREEN, SEED)));
    CHECK_STR(offered(&f), "3");
    CHECK_STR(ask(f.store, BEST), "3");
    CHECK_STR(ask(f.store, "SELECT group_concat(kernel || ' ' || trial, ', ') FROM"
                           " (SELECT * FROM convicted ORDER BY kernel)"),
              "1 4, 2 4");
    CHECK_OK(gt_store_find_trial(f.store, f.gpu, small, &like, &found, &got)); /* nobody tried it there */
    CHECK(found && got.outcome == GT_TRIAL_WRONG_RESULT);
    CHECK_OK(gt_store_find_trial(f.store, f.gpu, small, &newer, &found, &got));
    CHECK(!found);
    fixture_close(&f);
}

TEST(the_winner_before_the_convicted_one_is_the_winner)
{
    fixture f = open_quick();
    const gt_kernel a = make_kernel(1), b = make_kernel(2), c = make_kernel(3);
    CHECK_OK(put(&f, &a, &code_of_tests, make_win(5, 0.1)));
    CHECK_OK(put(&f, &c, &code_of_tests, make_trial(4)));
    CHECK_OK(put(&f, &b, &code_of_tests, make_win(3, 0.1)));
    CHECK_STR(offered(&f), "3! 4 5");
    CHECK_OK(put(&f, &b, NULL, make_verdict(GT_TRIAL_WRONG_RESULT, SEED)));
    CHECK_STR(offered(&f), "4 5!");
    CHECK_STR(ask(f.store, BEST), "5");
    CHECK_OK(put(&f, &a, NULL, make_verdict(GT_TRIAL_CRASH, SEED)));
    CHECK_STR(offered(&f), "4");
    CHECK_STR(ask(f.store, BEST), "4");
    fixture_close(&f);
}

TEST(only_a_later_verification_on_the_same_problem_and_seed_clears_it)
{
    fixture f = open_quick();
    const gt_kernel a = make_kernel(1);
    gt_kernel like = a;
    const int64_t other = add_problem(&f, 64);
    gt_trial got;
    bool found = true;
    like.facts.smem_bytes--;
    CHECK_OK(put(&f, &a, NULL, make_verdict(GT_TRIAL_OK, SEED))); /* too early */
    CHECK_OK(put(&f, &a, &code_of_tests, make_trial(1)));
    CHECK_OK(put(&f, &a, &code_of_tests, make_failure(GT_TRIAL_WRONG_RESULT, GT_STAGE_RACE, SEED)));
    CHECK_OK(put(&f, &a, &code_of_tests, make_failure(GT_TRIAL_WRONG_RESULT, GT_STAGE_SCREEN, SEED + 1)));
    CHECK_STR(offered(&f), "");
    CHECK_OK(put(&f, &a, NULL, make_verdict(GT_TRIAL_OK, SEED + 7)));
    CHECK_OK(put(&f, &a, NULL, make_verdict(GT_TRIAL_LAUNCH_ERROR, SEED)));
    CHECK_OK(put_on(&f, other, &a, make_verdict(GT_TRIAL_OK, SEED)));
    CHECK_STR(offered(&f), "");
    CHECK_OK(put(&f, &a, NULL, make_verdict(GT_TRIAL_OK, SEED + 1)));
    CHECK_STR(offered(&f), ""); /* one of two */
    CHECK_OK(put(&f, &like, NULL, make_verdict(GT_TRIAL_OK, SEED))); /* the same code */
    CHECK_STR(offered(&f), "1");
    CHECK_STR(ask(f.store, BEST), "1");
    CHECK_OK(gt_store_find_trial(f.store, f.gpu, f.problem_id, &a, &found, &got));
    CHECK(found && got.outcome == GT_TRIAL_OK); /* the screening that failed counts no more */
    CHECK_OK(put(&f, &a, &code_of_tests, make_failure(GT_TRIAL_WRONG_RESULT, GT_STAGE_RACE, SEED)));
    CHECK_STR(offered(&f), ""); /* until the next time */
    fixture_close(&f);
}

TEST(a_trial_without_a_seed_has_that_of_its_run)
{
    fixture f = open_quick();
    const gt_kernel a = make_kernel(1);
    const gt_run second = {"0.1.0", "13.0", "13.0", "host", "gemmtune verify", SEED};
    CHECK_OK(put(&f, &a, &code_of_tests, make_trial(1)));
    CHECK_OK(put(&f, &a, &code_of_tests, make_failure(GT_TRIAL_TIMEOUT, GT_STAGE_RACE, 0)));
    CHECK_OK(gt_store_run_begin(f.store, &second, &f.run));
    CHECK_OK(put(&f, &a, NULL, make_verdict(GT_TRIAL_OK, 0)));
    CHECK_STR(offered(&f), "");
    CHECK_OK(put(&f, &a, NULL, make_verdict(GT_TRIAL_OK, UINT64_MAX))); /* the first run's */
    CHECK_STR(offered(&f), "1");
    CHECK_OK(put(&f, &a, NULL, make_verdict(GT_TRIAL_WRONG_RESULT, 0))); /* a verification's is its own, 0 too */
    CHECK_OK(put(&f, &a, NULL, make_verdict(GT_TRIAL_OK, SEED)));
    CHECK_STR(offered(&f), "");
    CHECK_OK(put(&f, &a, NULL, make_verdict(GT_TRIAL_OK, 0)));
    CHECK_STR(offered(&f), "1");
    fixture_close(&f);
}

TEST(the_convicted_are_listed_with_the_checks_they_have_to_pass)
{
    fixture f = open_quick();
    const gt_kernel a = make_kernel(1), b = make_kernel(2);
    const int64_t other = add_problem(&f, 64);
    const gt_device stranger = make_device("NVIDIA H100");
    gt_convictions list = {0};
    CHECK_OK(gt_store_find_convicted(f.store, &f.device, &list));
    CHECK_INT(list.count, 0);
    CHECK_OK(put(&f, &a, &code_of_tests, make_failure(GT_TRIAL_WRONG_RESULT, GT_STAGE_RACE, 0)));
    CHECK_OK(put(&f, &a, &code_of_tests, make_failure(GT_TRIAL_WRONG_RESULT, GT_STAGE_RACE, 0))); /* the same check */
    gt_trial failure = make_failure(GT_TRIAL_CRASH, GT_STAGE_SCREEN, SEED);
    CHECK_OK(gt_store_put_trial(f.store, f.run, f.gpu, other, &b, NULL, &failure));
    CHECK_OK(gt_store_find_convicted(f.store, &f.device, &list));
    CHECK_INT(list.count, 2);
    CHECK(list.list[0].kernel_id == 2 && !list.list[0].has_code && list.list[0].same_gpu);
    CHECK(list.list[0].problem.m == 64 && list.list[0].trial.seed == SEED);
    CHECK_INT(list.list[0].trial.outcome, GT_TRIAL_CRASH);
    CHECK_STR(list.list[0].kernel.source_hash, b.source_hash);
    CHECK(list.list[1].kernel_id == 1 && list.list[1].has_code && list.list[1].trial.seed == UINT64_MAX);
    CHECK(gt_problem_same(&list.list[1].problem, &f.problem));
    CHECK_STR(list.list[1].trial.detail, "C[3,4] is 1, not 2");
    gt_convictions_finish(&list);
    CHECK_OK(gt_store_find_convicted(f.store, &stranger, &list));
    CHECK(list.count == 2 && !list.list[0].same_gpu);
    gt_convictions_finish(&list);
    CHECK_OK(put(&f, &a, NULL, make_verdict(GT_TRIAL_OK, UINT64_MAX)));
    CHECK_OK(gt_store_find_convicted(f.store, &f.device, &list));
    CHECK(list.count == 1 && list.list[0].kernel_id == 2);
    gt_convictions_finish(&list);
    fixture_close(&f);
}

TEST(a_database_of_version_4_has_its_convicted_kernels_out_of_service)
{
    const char *path = in_folder(check_folder(), "old.db");
    fixture f = {.path = path, .device = make_device("NVIDIA H200"), .problem = make_problem(16, 16, 16), .gpu = 1};
    make_format_4(path);
    vandalise(path, "INSERT INTO trial (run, gpu, problem, kernel, stage, outcome, detail, timing, us, samples,"
                    " stopped_early, registers, spills) VALUES"
                    " (1, 1, 1, 7, 'race', 'wrong_result', 'no', 'measured', NULL, 30, 0, 168, 0)");
    CHECK_OK(gt_store_open(path, GT_STORE_WRITE, &f.store));
    CHECK_STR(ask(f.store, BEST), "3");
    CHECK_STR(offered(&f), "3!");
    gt_convictions list = {0};
    CHECK_OK(gt_store_find_convicted(f.store, &f.device, &list));
    CHECK(list.count == 1 && list.list[0].kernel_id == 7 && list.list[0].trial.seed == 1); /* its run's */
    const gt_trial cleared = make_verdict(GT_TRIAL_OK, list.list[0].trial.seed);
    CHECK_OK(gt_store_put_trial(f.store, 1, 1, 1, &list.list[0].kernel, NULL, &cleared));
    CHECK_STR(ask(f.store, BEST), "3 500");
    CHECK_STR(offered(&f), "3! 500!");
    gt_convictions_finish(&list);
    gt_store_close(f.store);
}

/* Two kernels on two problems, with all that hangs on them; a third on the first problem only. */
static fixture fixture_to_forget(int64_t *other)
{
    fixture f = open_quick();
    char search[GT_HASH_LENGTH];
    gt_hash("a", 1, search);
    *other = add_problem(&f, 64);
    for (int i = 1; i <= 3; i++) {
        gt_kernel kernel = make_kernel(i);
        if (i == 3)
            strcpy(kernel.family, "skinny");
        CHECK_OK(put(&f, &kernel, &code_of_tests, make_trial(i)));
        if (i < 3)
            CHECK_OK(put_on(&f, *other, &kernel, make_trial(10 * i)));
    }
    CHECK_OK(put_baseline(&f, "cublas", 7));
    CHECK_OK(gt_store_put_searched(f.store, f.run, f.gpu, f.problem_id, search));
    CHECK_OK(gt_store_put_searched(f.store, f.run, f.gpu, *other, search));
    return f;
}

#define REST                                                                                                 \
    "SELECT (SELECT group_concat(id) FROM (SELECT id FROM kernel ORDER BY id)) || ' ' ||"                    \
    " (SELECT count(*) FROM trial) || ' ' || (SELECT count(DISTINCT kernel) FROM kernel_param) || ' ' ||"    \
    " (SELECT group_concat(problem) FROM searched) || ' ' || (SELECT count(*) FROM baseline) || ' ' ||"      \
    " (SELECT count(*) FROM pragma_foreign_key_check)"

TEST(a_kernel_is_forgotten_by_its_id_or_hash_and_searches_that_saw_it_are_open)
{
    int64_t other, kernels = -1, trials = -1;
    for (int by_hash = 0; by_hash < 2; by_hash++) {
        fixture f = fixture_to_forget(&other);
        gt_kernel third = make_kernel(3);
        third.source_hash[12] = '\0';
        const gt_forget what = {.kernel_id = by_hash ? 0 : 3, .source_hash = by_hash ? third.source_hash : NULL};
        CHECK_OK(gt_store_forget(f.store, &what, &kernels, &trials));
        CHECK(kernels == 1 && trials == 1);
        CHECK_STR(ask(f.store, REST), "1,2 4 2 2 1 0");
        CHECK_OK(gt_store_forget(f.store, &what, &kernels, &trials));
        CHECK(kernels == 0 && trials == 0);
        fixture_close(&f);
    }
}

TEST(kernels_of_one_code_are_forgotten_together_with_their_failures)
{
    int64_t other, kernels = -1, trials = -1;
    fixture f = fixture_to_forget(&other);
    gt_kernel like = make_kernel(1);
    like.facts.blocks--;
    CHECK_OK(put(&f, &like, &code_of_tests, make_failure(GT_TRIAL_CRASH, GT_STAGE_SCREEN, SEED)));
    const gt_forget what = {.kernel_id = 4};
    CHECK_OK(gt_store_forget(f.store, &what, &kernels, &trials));
    CHECK(kernels == 2 && trials == 3);
    CHECK_STR(ask(f.store, "SELECT min(id) || ',' || max(id) FROM kernel"), "2,3");
    CHECK_OK(put(&f, &like, &code_of_tests, make_trial(5)));
    CHECK_STR(offered(&f), "5 3 20 2");
    CHECK_STR(ask(f.store, "SELECT max(id) FROM kernel"), "5"); /* who holds the old id finds nothing */
    fixture_close(&f);
}

TEST(searches_that_passed_over_a_convicted_kernel_are_open_when_it_comes_back)
{
    int64_t other, kernels = -1, trials = -1;
    for (int forgotten = 0; forgotten < 2; forgotten++) {
        fixture f = fixture_to_forget(&other);
        const gt_kernel fourth = make_kernel(4);
        CHECK_OK(put(&f, &fourth, &code_of_tests, make_failure(GT_TRIAL_CRASH, GT_STAGE_SCREEN, SEED)));
        CHECK_STR(ask(f.store, "SELECT count(*) FROM searched"), "2"); /* on the second it was never tried */
        if (forgotten)
            CHECK_OK(gt_store_forget(f.store, &(gt_forget){.kernel_id = 4}, &kernels, &trials));
        else
            CHECK_OK(put(&f, &fourth, NULL, make_verdict(GT_TRIAL_OK, SEED)));
        CHECK_STR(ask(f.store, "SELECT count(*) FROM convicted"), "0");
        CHECK_STR(ask(f.store, "SELECT count(*) FROM searched"), "0");
        fixture_close(&f);
    }
}

TEST(a_family_is_forgotten)
{
    int64_t other, kernels = -1, trials = -1;
    fixture f = fixture_to_forget(&other);
    CHECK_OK(gt_store_forget(f.store, &(gt_forget){.family = "simt"}, &kernels, &trials));
    CHECK(kernels == 2 && trials == 4);
    CHECK_STR(offered(&f), "3");
    CHECK_STR(ask(f.store, "SELECT count(*) FROM searched"), "0");
    CHECK_OK(gt_store_forget(f.store, &(gt_forget){.family = "nobody's"}, &kernels, &trials));
    CHECK(kernels == 0 && trials == 0);
    fixture_close(&f);
}

TEST(a_problem_is_forgotten_with_the_kernels_of_it_alone_and_those_that_failed_there)
{
    int64_t other, kernels = -1, trials = -1;
    fixture f = fixture_to_forget(&other);
    const gt_kernel second = make_kernel(2);
    CHECK_OK(put(&f, &second, &code_of_tests, make_failure(GT_TRIAL_CRASH, GT_STAGE_RACE, SEED)));
    CHECK_OK(gt_store_forget(f.store, &(gt_forget){.problem = &f.problem}, &kernels, &trials));
    CHECK(kernels == 2 && trials == 5); /* the second's on the other problem, too, or it would be served there again */
    CHECK_STR(offered(&f), "10");
    CHECK_STR(ask(f.store, "SELECT (SELECT count(*) FROM baseline) || (SELECT count(*) FROM searched)"), "00");
    CHECK_STR(ask(f.store, "SELECT count(*) FROM pragma_foreign_key_check"), "0");
    CHECK_OK(put(&f, &second, &code_of_tests, make_trial(1))); /* its row is still there for who holds its id */
    const gt_problem unknown = make_problem(3, 3, 3);
    CHECK_OK(gt_store_forget(f.store, &(gt_forget){.problem = &unknown}, &kernels, &trials));
    CHECK(kernels == 0 && trials == 0);
    fixture_close(&f);
}

TEST(what_to_forget_must_be_one_thing_and_named_well_enough)
{
    fixture f = open_quick();
    int64_t kernels, trials;
    const gt_forget wrong[] = {{0}, {.kernel_id = 1, .family = "simt"}, {.source_hash = ""}, {.source_hash = "abc"},
                               {.source_hash = "%%%%"}, {.family = "simt", .problem = &f.problem}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK_STATUS(gt_store_forget(f.store, &wrong[i], &kernels, &trials), GT_ERROR_INVALID);
    fixture_close(&f);
}

/* How a query is run, in one line. */
static const char *plan_of(gt_store *store, const char *sql)
{
    static char all[8192];
    sqlite3_stmt *row = NULL;
    all[0] = '\0';
    char *explain = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sql);
    CHECK(sqlite3_prepare_v2(store->db, explain, -1, &row, NULL) == SQLITE_OK);
    while (sqlite3_step(row) == SQLITE_ROW)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s; ", (const char *)sqlite3_column_text(row, 3));
    sqlite3_finalize(row);
    sqlite3_free(explain);
    return all;
}

TEST(convictions_are_found_by_an_index_of_failures_alone)
{
    fixture f = open_quick();
    const char *plan = plan_of(f.store, "SELECT * FROM convicted");
    CHECK(strstr(plan, "SCAN f USING INDEX trial_failed"));
    CHECK(strstr(plan, "trial_verified") && strstr(plan, "kernel_key") && !strstr(plan, "SCAN k"));
    plan = plan_of(f.store, "SELECT * FROM best_configs WHERE m = 1");
    CHECK(strstr(plan, "trial_failed") && strstr(plan, "trial_winner") && strstr(plan, "trial_fastest"));
    fixture_close(&f);
}

CHECK_MAIN
