/* Files of many machines become one: all of them or nothing, in any order, as often as one likes. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "store_fixture.h"

#define FILES 4
#define PROBLEMS 5
#define KERNELS 8
/* Fewer of each where nobody asks for all of them. */
#define ROUNDS (getenv("CHECK_LONG") ? 200 : 40)
#define KILLS (getenv("CHECK_LONG") ? 100 : 30)

/* Three files of a test. */
typedef struct files {
    const char *folder;
    char into[96], from[96], third[96];
} files;

static files make_files(void)
{
    files f = {.folder = check_folder()};
    snprintf(f.into, sizeof f.into, "%s/into.db", f.folder);
    snprintf(f.from, sizeof f.from, "%s/from.db", f.folder);
    snprintf(f.third, sizeof f.third, "%s/third.db", f.folder);
    return f;
}

static void copy_file(const char *from, const char *to)
{
    static char bytes[8 << 20];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    CHECK(in && out);
    const size_t count = fread(bytes, 1, sizeof bytes, in);
    CHECK(count < sizeof bytes && fwrite(bytes, 1, count, out) == count);
    CHECK(fclose(in) == 0 && fclose(out) == 0);
}

static void hash_of(const char *path, char hash[GT_HASH_LENGTH])
{
    static char bytes[8 << 20];
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    gt_hash(bytes, fread(bytes, 1, sizeof bytes, file), hash);
    fclose(file);
}

/* Nothing is lost by a crash of the machine here, and the disk is slow. */
static gt_store *open_quick(const char *path)
{
    gt_store *store = NULL;
    CHECK_OK(gt_store_open(path, GT_STORE_WRITE, &store));
    CHECK_OK(gt_sql_execute(store, "PRAGMA synchronous = OFF"));
    return store;
}

static gt_status merge_one(const char *into, const char *from)
{
    gt_store *store = open_quick(into);
    gt_merged merged;
    const gt_status status = gt_store_merge(store, from, &merged);
    gt_store_close(store);
    return status;
}

static void merge_into(gt_store *store, const char *from)
{
    gt_merged merged;
    CHECK_OK(gt_store_merge(store, from, &merged));
}

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

/* A file with a run of its own: a winner of this number, and its time. */
static void make_file(const char *path, int number, double us, const char *time)
{
    fixture f = {.path = path, .store = open_quick(path)};
    char sql[128];
    fixture_rows(&f);
    const gt_kernel kernel = make_kernel(number);
    CHECK_OK(put(&f, &kernel, &code_of_tests, make_win(us, 0.02)));
    CHECK_OK(put_baseline(&f, "cublas", 2 * us));
    snprintf(sql, sizeof sql, "UPDATE trial SET tried_at = '%s'; UPDATE baseline SET measured_at = '%s'", time, time);
    CHECK_OK(gt_sql_execute(f.store, sql));
    gt_store_close(f.store);
}

#define BEST "SELECT stages || ' ' || us || ' ' || vs_cublas FROM best_configs"

TEST(a_second_merge_leaves_the_file_as_it_is_byte_for_byte)
{
    const files names = make_files();
    const char *into = names.into, *from = names.from;
    char before[GT_HASH_LENGTH], after[GT_HASH_LENGTH];
    draw_file(into, 0);
    draw_file(from, 1);
    CHECK_OK(merge_one(into, from));
    hash_of(into, before);
    CHECK_OK(merge_one(into, from));
    hash_of(into, after);
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

TEST(a_merged_kernel_has_the_code_that_any_file_had)
{
    const files names = make_files();
    const char *into = names.into, *from = names.from;
    fixture f = {.path = into, .store = open_quick(into)};
    gt_code code;
    fixture_rows(&f);
    const gt_kernel kernel = make_kernel(1);
    CHECK_OK(put(&f, &kernel, NULL, make_trial(150)));
    CHECK_STATUS(gt_store_find_code(f.store, 1, &code), GT_ERROR_NOT_TUNED);
    make_file(from, 1, 100, "2026-03-01 12:00:00");
    CHECK_OK(merge_one(into, from));
    CHECK_OK(gt_store_find_code(f.store, 1, &code));
    CHECK(code.cubin_bytes == sizeof code_bytes && memcmp(code.cubin, code_bytes, sizeof code_bytes) == 0);
    gt_code_finish(&code);
    gt_store_close(f.store);
}

/* Merging fails with this status, a line that names the file, and the other file as it was. */
static void check_refused(const char *into, const char *from, gt_status expected, const char *says)
{
    char before[GT_HASH_LENGTH], after[GT_HASH_LENGTH];
    hash_of(into, before);
    CHECK_STATUS(merge_one(into, from), expected);
    CHECK(strstr(gt_error_message(), from) && strstr(gt_error_message(), says));
    hash_of(into, after);
    CHECK_STR(after, before);
}

TEST(foreign_newer_and_untrusted_files_are_refused_and_a_file_into_itself)
{
    const files names = make_files();
    const char *into = names.into, *from = names.from;
    make_file(into, 1, 100, "2026-03-01 12:00:00");
    CHECK(link(into, names.third) == 0);
    check_refused(into, into, GT_ERROR_INVALID, "into itself");
    check_refused(into, names.third, GT_ERROR_INVALID, "into itself");
    check_refused(into, in_folder(names.folder, "none.db"), GT_ERROR_NO_DATABASE, "no database");
    FILE *file = fopen(from, "w");
    CHECK(file && fputs("My thesis. Chapter one.", file) >= 0 && fclose(file) == 0);
    check_refused(into, from, GT_ERROR_DATABASE, "not a gemmtune database");
    CHECK(remove(from) == 0);
    make_file(from, 2, 200, "2026-02-01 12:00:00");
    CHECK(chmod(from, 0666) == 0);
    check_refused(into, from, GT_ERROR_UNTRUSTED, "others can write it");
    CHECK(chmod(from, 0644) == 0);
    vandalise(from, "PRAGMA user_version = 99");
    check_refused(into, from, GT_ERROR_VERSION, "newer");
}

TEST(a_file_with_any_damage_is_refused_whole)
{
    static const struct {
        const char *sql;
        gt_status status;
        const char *says;
    } damages[] = {
        {"UPDATE kernel SET threads = threads - 1", GT_ERROR_CORRUPT, "does not match its hash"},
        {"UPDATE kernel SET cubin = x'00'", GT_ERROR_CORRUPT, "does not match its hash"},
        {"PRAGMA foreign_keys = OFF; DELETE FROM problem", GT_ERROR_DATABASE, "not there"},
        {"UPDATE trial SET tried_at = '9999-12-31 23:59:59'", GT_ERROR_DATABASE, "of the future"},
        {"UPDATE baseline SET measured_at = 'never'", GT_ERROR_DATABASE, "of the future"},
        {"PRAGMA ignore_check_constraints = ON; UPDATE trial SET us = -1", GT_ERROR_DATABASE, "damaged"},
        {"DROP TABLE searched", GT_ERROR_DATABASE, "damaged"},
    };
    const files names = make_files();
    const char *into = names.into, *from = names.from;
    make_file(into, 1, 100, "2026-03-01 12:00:00");
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        make_file(from, 2, 200, "2026-02-01 12:00:00");
        vandalise(from, damages[i].sql);
        check_refused(into, from, damages[i].status, damages[i].says);
        CHECK(remove(from) == 0);
    }
    make_file(from, 2, 200, "2026-02-01 12:00:00");
    const int fd = open(from, O_WRONLY);
    CHECK(fd >= 0 && pwrite(fd, "\1\2\3\4\5\6\7\10", 8, 4096 * 3) == 8 && close(fd) == 0);
    check_refused(into, from, GT_ERROR_DATABASE, "damaged");
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

/* A file of many pages. */
static void make_large(const char *path)
{
    static char filler[24 << 10];
    const gt_code code = {.cubin = filler, .cubin_bytes = sizeof filler};
    fixture f = {.path = path, .store = open_quick(path)};
    fixture_rows(&f);
    for (int i = 0; i < 100; i++) {
        const gt_kernel kernel = make_kernel(i);
        CHECK_OK(put(&f, &kernel, &code, make_trial(1 + i)));
    }
    gt_store_close(f.store);
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Merges in a process of its own, which is killed after some time; 0: not at all. */
static void merge_and_kill(const files *names, useconds_t after)
{
    int status = 0;
    copy_file(names->third, names->into);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        gt_store *store = NULL;
        CHECK_OK(gt_store_open(names->into, GT_STORE_WRITE, &store));
        merge_into(store, names->from);
        _exit(0);
    }
    usleep(after);
    CHECK(child > 0 && (after == 0 || kill(child, SIGKILL) == 0));
    CHECK(waitpid(child, &status, 0) == child && (WIFSIGNALED(status) || WEXITSTATUS(status) == 0));
}

TEST(a_merge_that_is_killed_left_all_or_nothing)
{
    const files names = make_files();
    int done = 0;
    make_large(names.from);
    make_file(names.third, 1000, 100, "2026-03-01 12:00:00");
    const double start = now_us();
    merge_and_kill(&names, 0);
    const double whole = now_us() - start;
    for (int round = 0; round < KILLS; round++) {
        gt_store *store = NULL;
        merge_and_kill(&names, 1 + (useconds_t)(whole * 1.2 * (double)(check_random() % 1000) / 1000));
        CHECK_OK(gt_store_open(names.into, GT_STORE_READ, &store));
        CHECK_STR(ask(store, "PRAGMA integrity_check"), "ok");
        const int trials = atoi(ask(store, "SELECT count(*) FROM trial"));
        CHECK(trials == 1 || trials == 101);
        CHECK_INT(atoi(ask(store, "SELECT count(*) FROM kernel")), trials);
        CHECK_INT(atoi(ask(store, "SELECT count(*) FROM run")), trials == 1 ? 1 : 2);
        gt_store_close(store);
        done += trials > 1;
    }
    printf("killed %d times: %d merges undone, %d done\n", KILLS, KILLS - done, done);
    CHECK(done < KILLS);
    CHECK_OK(merge_one(names.into, names.from));
}

CHECK_MAIN
