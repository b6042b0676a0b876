/* Files of many machines become one: in any order, as often as one likes. */
#include "merge_fixture.h"

#define FILES 4
#define PROBLEMS 5
#define KERNELS 8
/* Fewer of each where nobody asks for all of them. */
#define ROUNDS (getenv("CHECK_LONG") ? 200 : 25)

/* A trial of any kind: losers, winners of races, failures, and checks that may clear them. */
static gt_trial draw_trial(void)
{
    static const gt_outcome failures[] = {GT_TRIAL_COMPILE_ERROR, GT_TRIAL_LAUNCH_ERROR, GT_TRIAL_WRONG_RESULT,
                                          GT_TRIAL_CRASH};
    gt_trial trial = make_trial(1 + (double)(check_random() % 1000) / 8);
    const uint64_t kind = check_random() % 24;
    trial.modelled = check_random() % 4 == 0;
    if (kind < 2) {
        trial.outcome = failures[check_random() % 4];
        trial.us = 0;
        trial.seed = 1 + check_random() % 2;
    } else if (kind == 2) {
        trial.stage = GT_STAGE_VERIFY;
        trial.seed = 1 + check_random() % 2;
    } else if (kind < 12) {
        trial.stage = GT_STAGE_RACE;
        trial.margin = 0.01 * (double)(check_random() % 3);
    }
    return trial;
}

/* What one machine found, at times of its own. */
static void draw_file(const char *path, int number)
{
    static const char *const models[] = {"NVIDIA H200", "NVIDIA A100"};
    const gt_run run = {"0.1.0", "13.0", "13.0", "host", "gemmtune", 7};
    fixture f = {.path = path, .store = open_quick(path)};
    char sql[256];
    CHECK_OK(gt_store_run_begin(f.store, &run, &f.run));
    for (int i = 0; i < 24; i++) {
        const gt_kernel kernel = make_kernel(1 + (int)(check_random() % KERNELS));
        f.device = make_device(models[check_random() % 2]);
        f.device.memory_bytes += (int64_t)(check_random() % 3) << 20; /* drivers leave more or less of it free */
        f.problem = make_problem(64 << check_random() % PROBLEMS, 64, 64);
        CHECK_OK(gt_store_gpu(f.store, &f.device, &f.gpu));
        CHECK_OK(gt_store_problem(f.store, &f.problem, &f.problem_id));
        CHECK_OK(put(&f, &kernel, check_random() % 2 ? &code_of_tests : NULL, draw_trial()));
        if (i % 4 == 0)
            CHECK_OK(put_baseline(&f, check_random() % 2 ? "cublas" : "cublaslt", 1 + (double)(check_random() % 99)));
        CHECK_OK(gt_store_put_peak(f.store, f.gpu, gt_class_types(&f.problem.class), 50 + (double)(check_random() % 9),
                                   check_random() % 2 ? "measured" : "units x clock"));
        CHECK_OK(gt_store_put_bandwidth(f.store, f.gpu, 3 + (double)(check_random() % 9)));
    }
    snprintf(sql, sizeof sql, "UPDATE trial SET tried_at = strftime('%%Y-%%m-%%d %%H:%%M:%%f', '2026-01-01', (id * 11 +"
                              " %d) || ' seconds')", (int)(check_random() % 100));
    CHECK_OK(gt_sql_execute(f.store, sql));
    snprintf(sql, sizeof sql, "UPDATE baseline SET measured_at = strftime('%%Y-%%m-%%d %%H:%%M:%%f', '2026-01-01',"
                              " (id * 11 + %d) || ' seconds')", (int)(check_random() % 40));
    CHECK_OK(gt_sql_execute(f.store, sql));
    if (number % 2)
        CHECK_OK(gt_store_run_end(f.store, f.run, "done"));
    gt_store_close(f.store);
}

static int add_row(void *data, int columns, const char *const *names, const char *const *values)
{
    (void)names;
    for (int i = 0; i < columns; i++)
        fprintf(data, "%s|", values[i] ? values[i] : "-");
    putc('\n', data);
    return 0;
}

/* All that the store answers, in an order of its own. Owned: free(). */
static char *answers(const char *path)
{
    static const char *const questions[] = {
        "SELECT gpu, type, math, layout, m, n, k, batch, family, stages, params, us, tflops, peak_pct, vs_cublas,"
        " error, margin, timing, tuned_at FROM best_configs ORDER BY gpu, m",
        "SELECT k.source_hash, count(*) FROM convicted c JOIN kernel k ON k.id = c.kernel GROUP BY 1 ORDER BY 1",
        "SELECT g.name, p.m, c.timing, c.winners FROM contested c JOIN gpu g ON g.id = c.gpu JOIN problem p ON"
        " p.id = c.problem ORDER BY 1, 2, 3",
        "SELECT count(*), sum(us) FROM trial UNION ALL SELECT count(*), sum(us) FROM baseline",
        "SELECT count(*), count(ended), '' FROM run UNION ALL SELECT copy_tbs, name, '' FROM bandwidth JOIN gpu ON"
        " gpu.id = bandwidth.gpu ORDER BY 1, 2",
    };
    char *text = NULL;
    size_t size;
    gt_store *store = NULL;
    FILE *stream = open_memstream(&text, &size);
    CHECK(stream != NULL);
    CHECK_OK(gt_store_open(path, GT_STORE_READ, &store));
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++)
        CHECK_OK(gt_store_query(store, questions[i], NULL, add_row, stream));
    gt_store_close(store);
    CHECK(fclose(stream) == 0);
    return text;
}

/* Files in a random order into one, some of them through another that was merged before, some twice. */
static void merge_at_random(const files *f, const char *empty)
{
    int order[FILES];
    copy_file(empty, f->into);
    copy_file(empty, f->third);
    gt_store *into = open_quick(f->into), *third = open_quick(f->third);
    for (int i = 0; i < FILES; i++) {
        const int j = (int)(check_random() % (uint64_t)(i + 1));
        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; i < FILES; i++) {
        char path[96];
        const uint64_t way = check_random() % 4;
        snprintf(path, sizeof path, "%s/%d.db", f->folder, order[i]);
        if (way <= 1)
            merge_into(third, path);
        if (way >= 1)
            merge_into(into, path);
    }
    gt_store_close(third);
    merge_into(into, f->third);
    gt_store_close(into);
}

TEST(files_merged_in_any_split_and_order_give_the_same_answers)
{
    const files f = make_files();
    char path[96], empty[96], *expected = NULL;
    snprintf(empty, sizeof empty, "%s/empty.db", f.folder);
    gt_store_close(open_quick(empty));
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%d.db", f.folder, i);
        draw_file(path, i);
    }
    for (int round = 0; round < ROUNDS; round++) {
        merge_at_random(&f, empty);
        char *found = answers(f.into);
        if (round > 0)
            CHECK_STR(found, expected);
        free(expected);
        expected = found;
    }
    CHECK(strstr(expected, "simt") && strstr(expected, "measured"));
    free(expected);
}

TEST(a_second_merge_leaves_the_file_as_it_is_byte_for_byte)
{
    const files names = make_files();
    const char *into = names.into, *from = names.from;
    char before[GT_HASH_LENGTH], after[GT_HASH_LENGTH];
    draw_file(into, 0);
    draw_file(from, 1);
    CHECK_OK(merge_one(into, from));
    hash_file(into, before);
    CHECK_OK(merge_one(into, from));
    hash_file(into, after);
    CHECK_STR(after, before);
}

TEST(the_newest_is_by_time_whichever_file_comes_last)
{
    const files names = make_files();
    const char *into = names.into, *from = names.from;
    gt_merged merged;
    gt_store *store = NULL;
    make_file(into, 1, 100, "2026-03-01 12:00:00");
    make_file(from, 2, 200, "2026-02-01 12:00:00.000");
    CHECK_OK(gt_store_open(into, GT_STORE_WRITE, &store));
    CHECK_OK(gt_store_merge(store, from, &merged));
    CHECK(merged.runs == 1 && merged.problems == 0 && merged.trials == 1 && merged.baselines == 1);
    CHECK_STR(ask(store, BEST), "1 100.0 2.0");
    CHECK_STR(ask(store, "SELECT count(DISTINCT identity) FROM run"), "2");
    CHECK_STR(ask(store, "SELECT winners FROM contested"), "2"); /* of a race that has not been */
    gt_store_close(store);
}

TEST(what_is_put_after_a_merge_is_newer_though_the_other_clock_ran_ahead)
{
    const files names = make_files();
    const char *into = names.into, *from = names.from;
    fixture f = {.path = into};
    char ahead[64];
    f.store = open_quick(into);
    snprintf(ahead, sizeof ahead, "%s", ask(f.store, "SELECT strftime('%Y-%m-%d %H:%M:%f', 'now', '+2 hours')"));
    fixture_rows(&f);
    make_file(from, 2, 200, ahead);
    CHECK_OK(merge_one(into, from));
    for (int i = 0; i < 50; i++) {
        const gt_kernel kernel = make_kernel(3 + i);
        CHECK_OK(put(&f, &kernel, &code_of_tests, make_win(100 + i, 0.02)));
        CHECK_OK(put_baseline(&f, "cublas", 1000 + i));
    }
    CHECK_STR(ask(f.store, "SELECT stages || ' ' || us FROM best_configs"), "52 149.0");
    double us = 0;
    CHECK_OK(gt_store_find_baseline(f.store, f.gpu, f.problem_id, &us));
    CHECK_NEAR(us, 1049, 0);
    gt_store_close(f.store);
}

TEST(a_kernel_that_failed_in_one_file_is_out_of_all)
{
    const files names = make_files();
    const char *good = names.into, *bad = names.from;
    const gt_device device = make_device("NVIDIA H200");
    gt_measurements measured;
    gt_trial failure = make_trial(0);
    make_file(good, 1, 100, "2026-03-01 12:00:00");
    make_file(bad, 2, 200, "2026-02-01 12:00:00");
    fixture f = {.path = bad, .store = open_quick(bad)};
    fixture_rows(&f);
    const gt_kernel kernel = make_kernel(1);
    failure.outcome = GT_TRIAL_WRONG_RESULT;
    CHECK_OK(put(&f, &kernel, NULL, failure));
    CHECK_OK(gt_sql_execute(f.store, "UPDATE trial SET tried_at = '2026-01-01 12:00:00' WHERE outcome <> 'ok'"));
    gt_store_close(f.store);
    for (int way = 0; way < 2; way++) {
        gt_store *store = NULL;
        remove(names.third);
        CHECK_OK(merge_one(names.third, way ? good : bad));
        CHECK_OK(merge_one(names.third, way ? bad : good));
        CHECK_OK(gt_store_open(names.third, GT_STORE_READ, &store));
        CHECK_STR(ask(store, BEST), "2 200.0 2.0");
        CHECK_OK(gt_store_find_measured(store, &device, &f.problem.class, &measured));
        CHECK_INT(measured.count, 1);
        gt_measurements_finish(&measured);
        gt_store_close(store);
    }
}

/* A check of kernel 1 in a file of its own. */
static void make_check(const char *path, gt_outcome outcome, const char *time)
{
    fixture f = {.path = path, .store = open_quick(path)};
    const gt_kernel kernel = make_kernel(1);
    const gt_trial trial = {.stage = GT_STAGE_VERIFY, .outcome = outcome, .seed = 5, .margin = -1};
    char sql[128];
    fixture_rows(&f);
    CHECK_OK(put(&f, &kernel, &code_of_tests, trial));
    snprintf(sql, sizeof sql, "UPDATE trial SET tried_at = '%s'", time);
    CHECK_OK(gt_sql_execute(f.store, sql));
    gt_store_close(f.store);
}

TEST(a_check_that_was_passed_clears_failures_before_it_and_none_after)
{
    for (int way = 0; way < 4; way++) {
        const files names = make_files();
        const bool later = way & 1, last = way & 2;
        gt_store *store = open_quick(names.third);
        make_check(names.into, GT_TRIAL_WRONG_RESULT, "2026-02-01 12:00:00");
        make_check(names.from, GT_TRIAL_OK, later ? "2026-03-01 12:00:00" : "2026-01-01 12:00:00");
        merge_into(store, last ? names.into : names.from);
        merge_into(store, last ? names.from : names.into);
        CHECK_STR(ask(store, "SELECT count(*) FROM convicted"), later ? "0" : "1");
        gt_store_close(store);
    }
}

TEST(what_programs_asked_for_is_counted_once_however_often_it_is_merged)
{
    const files names = make_files();
    gt_store *store = open_quick(names.into);
    for (int i = 0; i < 2; i++) {
        const char *path = i == 0 ? names.from : names.third;
        fixture f = {.path = path, .store = open_quick(path)};
        fixture_rows(&f);
        const gt_wanted wanted = {.problem = f.problem, .symbol = "cublasSgemm_v2", .fate = "not tuned",
                                  .tunable = true, .calls = 10 + i, .us = 5 + i};
        CHECK_OK(gt_store_put_wanted(f.store, f.gpu, "train", &wanted, 1));
        CHECK_OK(gt_sql_execute(f.store, "UPDATE wanted SET first_seen = '2026-01-02', last_seen = '2026-02-02'"));
        if (i == 1)
            CHECK_OK(gt_sql_execute(f.store, "UPDATE wanted SET first_seen = '2026-01-01', last_seen = '2026-02-01'"));
        gt_store_close(f.store);
    }
    for (int i = 0; i < 3; i++)
        merge_into(store, i == 1 ? names.third : names.from);
    CHECK_STR(ask(store, "SELECT calls || ' ' || us || ' ' || first_seen || ' ' || last_seen FROM wanted"),
              "11 5.0 2026-01-01 2026-02-02");
    gt_store_close(store);
}

/* As the processes of a job are, that end together. */
TEST(what_programs_asked_for_in_the_same_second_is_told_alike_whichever_file_comes_first)
{
    const files names = make_files();
    gt_store *into[2] = {open_quick(names.into), open_quick(in_folder(names.folder, "other.db"))};
    for (int i = 0; i < 2; i++) {
        fixture f = {.path = i == 0 ? names.from : names.third, .store = open_quick(i == 0 ? names.from : names.third)};
        fixture_rows(&f);
        const gt_wanted wanted = {.problem = f.problem, .symbol = "cublasSgemm_v2", .fate = "not tuned",
                                  .tunable = true, .calls = 10, .us = 5 + i};
        CHECK_OK(gt_store_put_wanted(f.store, f.gpu, "train", &wanted, 1));
        CHECK_OK(gt_sql_execute(f.store, "UPDATE wanted SET first_seen = '2026-01-02', last_seen = '2026-02-02'"));
        gt_store_close(f.store);
    }
    for (int i = 0; i < 2; i++) {
        merge_into(into[i], i == 0 ? names.from : names.third);
        merge_into(into[i], i == 0 ? names.third : names.from);
        CHECK_STR(ask(into[i], "SELECT calls || ' ' || us FROM wanted"), "10 6.0");
        gt_store_close(into[i]);
    }
}

TEST(a_merged_kernel_has_the_code_that_any_file_had)
{
    const files names = make_files();
    const char *into = names.into, *from = names.from;
    fixture f = {.path = into, .store = open_quick(into)};
    gt_code code;
    fixture_rows(&f);
    const gt_kernel kernel = make_kernel(1);
    CHECK_OK(put(&f, &kernel, NULL, make_trial(150)));
    CHECK_STATUS(gt_store_find_code(f.store, 1, NULL, &code), GT_ERROR_NOT_TUNED);
    make_file(from, 1, 100, "2026-03-01 12:00:00");
    CHECK_OK(merge_one(into, from));
    CHECK_OK(gt_store_find_code(f.store, 1, NULL, &code));
    CHECK(code.cubin_bytes == sizeof code_bytes && memcmp(code.cubin, code_bytes, sizeof code_bytes) == 0);
    gt_code_finish(&code);
    gt_store_close(f.store);
}

TEST(a_kernel_that_never_had_code_comes_with_its_failure)
{
    const files names = make_files();
    const char *into = names.into, *from = names.from;
    fixture f = {.path = into};
    bool found = false;
    gt_trial trial;
    make_file(from, 2, 200, "2026-02-01 12:00:00");
    vandalise(from, "UPDATE kernel SET cubin = NULL, cubin_hash = NULL, ptx = NULL, ptx_hash = NULL, class = NULL,"
                    " seal = NULL; UPDATE trial SET outcome = 'crash', margin = NULL");
    make_file(into, 1, 100, "2026-03-01 12:00:00");
    CHECK_OK(merge_one(into, from));
    f.store = open_quick(into);
    fixture_rows(&f);
    const gt_kernel kernel = make_kernel(2);
    CHECK_OK(gt_store_find_trial(f.store, f.gpu, f.problem_id, &kernel, &found, &trial));
    CHECK(found && trial.outcome == GT_TRIAL_CRASH);
    gt_store_close(f.store);
}

CHECK_MAIN
