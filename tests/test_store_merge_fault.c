/* Merging files that are not what they should be, onto a full disk, and by a process that is killed: all or nothing. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "merge_fixture.h"

#define KILLS (getenv("CHECK_LONG") ? 100 : 20) /* fewer where nobody asks for all of them */

/* Merging fails with this status, a line that names the file, and the other file as it was. */
static void check_refused(const char *into, const char *from, gt_status expected, const char *says)
{
    char before[GT_HASH_LENGTH], after[GT_HASH_LENGTH];
    hash_file(into, before);
    CHECK_STATUS(merge_one(into, from), expected);
    CHECK(strstr(gt_error_message(), from) && strstr(gt_error_message(), says));
    hash_file(into, after);
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

TEST(a_disk_that_fills_up_leaves_the_file_as_it_was)
{
    const files names = make_files();
    struct rlimit before;
    make_large(names.from);
    make_file(names.into, 1000, 100, "2026-03-01 12:00:00");
    signal(SIGXFSZ, SIG_IGN);
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const struct rlimit small = {1 << 20, before.rlim_max};
    gt_store *store = open_quick(names.into);
    gt_merged merged;
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    const gt_status status = gt_store_merge(store, names.from, &merged);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(status == GT_ERROR_IO && strstr(gt_error_message(), names.into));
    CHECK_STR(ask(store, "SELECT count(*) FROM trial"), "1");
    CHECK_STR(ask(store, "PRAGMA integrity_check"), "ok");
    merge_into(store, names.from);
    CHECK_STR(ask(store, "SELECT count(*) FROM trial"), "101");
    gt_store_close(store);
}

TEST(two_merges_at_once_both_come_to_their_end)
{
    const files names = make_files();
    pid_t children[2];
    gt_store_close(open_quick(names.into));
    make_large(names.from);
    make_file(names.third, 1000, 100, "2026-03-01 12:00:00");
    fflush(stdout);
    for (int i = 0; i < 2; i++)
        if ((children[i] = fork()) == 0) {
            CHECK_OK(merge_one(names.into, i == 0 ? names.from : names.third));
            _exit(0);
        }
    for (int i = 0; i < 2; i++) {
        int status = -1;
        CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0);
    }
    gt_store *store = open_quick(names.into);
    CHECK_STR(ask(store, "SELECT count(*) || ' ' || count(DISTINCT run) FROM trial"), "101 2");
    gt_store_close(store);
}

/* Another process waits for both files in turn: the writer of the first one ends its transaction between. */
TEST(a_file_that_a_tuner_writes_is_merged_as_it_is_before_or_after)
{
    const files names = make_files();
    int ready[2], go[2], status = -1;
    char byte = 0;
    gt_store_close(open_quick(names.into));
    make_file(names.from, 1, 100, "2026-03-01 12:00:00");
    CHECK(pipe(ready) == 0 && pipe(go) == 0);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        gt_store *store = open_quick(names.into);
        CHECK(write(ready[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 1);
        merge_into(store, names.from);
        _exit(0);
    }
    CHECK(read(ready[0], &byte, 1) == 1);
    gt_store *into = open_quick(names.into), *from = open_quick(names.from);
    CHECK_OK(gt_sql_execute(into, "BEGIN IMMEDIATE"));
    CHECK(write(go[1], &byte, 1) == 1);
    usleep(300000); /* it has opened the other file, and waits for this one */
    CHECK_OK(gt_sql_execute(from, "BEGIN EXCLUSIVE; UPDATE run SET host = 'another host'"));
    CHECK_OK(gt_sql_execute(into, "COMMIT"));
    usleep(400000); /* it waits for the other one */
    CHECK_OK(gt_sql_execute(from, "COMMIT"));
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK_STR(ask(into, "SELECT host FROM run"), "another host");
    gt_store_close(from);
    gt_store_close(into);
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
