/* Writers killed at random moments: what a put acknowledged is there, what it did not is there whole or not at all. */
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "store_fixture.h"

#define ROUNDS 100
#define WRITERS 2
#define NOBODY 65534

static char filler[24 << 10]; /* code of several pages: a commit touches many */

/* Puts trials of ever new kernels and tells the pipe the number of each that was acknowledged. Never returns. */
static void write_for_ever(const char *path, int first, int acknowledged)
{
    fixture f = {.path = path};
    const gt_code code = {.cubin = filler, .cubin_bytes = sizeof filler};
    CHECK_OK(gt_store_open(path, GT_STORE_WRITE, &f.store));
    fixture_rows(&f);
    for (int number = first;; number++) {
        const gt_kernel kernel = make_kernel(number);
        CHECK_OK(put(&f, &kernel, &code, make_trial(1)));
        CHECK(write(acknowledged, &number, sizeof number) == sizeof number);
    }
}

static bool is_hot(const char *path)
{
    char journal[300], byte = 0;
    snprintf(journal, sizeof journal, "%s-journal", path);
    FILE *file = fopen(journal, "r");
    const bool hot = file && fread(&byte, 1, 1, file) == 1 && byte != 0;
    if (file)
        fclose(file);
    return hot;
}

/* Every acknowledged trial is found by a reader. */
static int check_acknowledged(gt_store *store, int pipe)
{
    const gt_device device = make_device("NVIDIA H200");
    const gt_problem problem = make_problem(4096, 2048, 1024);
    int64_t gpu = 0, id = 0;
    int number, count = 0;
    for (; read(pipe, &number, sizeof number) == sizeof number; count++) {
        const gt_kernel kernel = make_kernel(number);
        gt_trial trial;
        bool found = false;
        if (count == 0) {
            CHECK_OK(gt_store_gpu(store, &device, &gpu));
            CHECK_OK(gt_store_problem(store, &problem, &id));
        }
        CHECK_OK(gt_store_find_trial(store, gpu, id, &kernel, &found, &trial));
        CHECK(found && trial.us == 1);
    }
    return count;
}

/* One kill: writers start, run for some time, and end in the middle of something. */
static void kill_once(const char *path, int round, int *acknowledged, int *hot)
{
    pid_t writers[WRITERS];
    int pipes[WRITERS][2];
    fflush(stdout);
    for (int i = 0; i < WRITERS; i++) {
        CHECK(pipe(pipes[i]) == 0);
        if ((writers[i] = fork()) == 0)
            write_for_ever(path, round * 100000 + i * 10000, pipes[i][1]);
        close(pipes[i][1]);
    }
    if (round % 4 != 0) { /* else perhaps while the file is made */
        struct pollfd any[WRITERS];
        for (int i = 0; i < WRITERS; i++)
            any[i] = (struct pollfd){.fd = pipes[i][0], .events = POLLIN};
        poll(any, WRITERS, 10000);
    }
    usleep((useconds_t)(check_random() % 30000));
    for (int i = 0; i < WRITERS; i++)
        CHECK(kill(writers[i], SIGKILL) == 0);
    for (int i = 0; i < WRITERS; i++) {
        int status = 0;
        CHECK(waitpid(writers[i], &status, 0) == writers[i] && WIFSIGNALED(status));
    }
    *hot += is_hot(path);
    gt_store *store = NULL;
    const gt_status opened = gt_store_open(path, GT_STORE_READ, &store);
    if (opened == GT_OK) {
        CHECK_STR(ask(store, "PRAGMA integrity_check"), "ok");
        CHECK_STR(ask(store, "SELECT count(*) FROM pragma_foreign_key_check"), "0");
        CHECK_STR(ask(store, "SELECT count(*) FROM kernel WHERE cubin IS NULL OR id NOT IN (SELECT kernel FROM trial)"), "0");
    } else { /* killed before the file was made */
        CHECK(opened == GT_ERROR_NO_DATABASE || (opened == GT_ERROR_DATABASE && strstr(gt_error_message(), "empty")));
    }
    for (int i = 0; i < WRITERS; i++) {
        const int count = check_acknowledged(store, pipes[i][0]);
        CHECK(opened == GT_OK || count == 0);
        *acknowledged += count;
        close(pipes[i][0]);
    }
    gt_store_close(store);
}

TEST(no_acknowledged_trial_is_lost_to_sigkill)
{
    int acknowledged = 0, hot = 0;
    const char *path = NULL;
    for (int round = 0; round < ROUNDS; round++) {
        if (round % 4 == 0)
            path = in_folder(check_folder(), "gemmtune.db");
        kill_once(path, round, &acknowledged, &hot);
    }
    printf("%d kills, %d acknowledged trials, %d hot journals\n", ROUNDS * WRITERS, acknowledged, hot);
    CHECK(acknowledged > ROUNDS / 2);
}

/* A writer whose half reached the file, and that was killed there. */
static void leave_hot_journal(const char *path)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        gt_store *store = NULL;
        CHECK_OK(gt_store_open(path, GT_STORE_WRITE, &store));
        CHECK_OK(gt_sql_execute(store, "PRAGMA cache_size = 4; BEGIN IMMEDIATE; UPDATE trial SET us = 666;"
                                       "UPDATE kernel SET family = 'half', cubin = zeroblob(200000)"));
        kill(getpid(), SIGKILL);
    }
    CHECK(waitpid(child, NULL, 0) == child);
    CHECK(is_hot(path));
}

static fixture fixture_with_code(void)
{
    fixture f = fixture_open();
    const gt_kernel kernel = make_kernel(1);
    CHECK_OK(put(&f, &kernel, &code_of_tests, make_trial(1)));
    gt_store_close(f.store);
    f.store = NULL;
    return f;
}

static void check_whole(const fixture *f, gt_store *store)
{
    gt_measurements found = {0};
    gt_code code = {0};
    CHECK_OK(gt_store_find_measured(store, &f->device, &f->problem.class, &found));
    CHECK(found.count == 1 && found.list[0].trial.us == 1);
    CHECK_STR(found.list[0].kernel->family, "simt");
    CHECK_OK(gt_store_find_code(store, found.list[0].kernel_id, NULL, &code));
    gt_code_finish(&code);
    gt_measurements_finish(&found);
}

TEST(a_reader_undoes_the_half_of_a_killed_writer)
{
    fixture f = fixture_with_code();
    leave_hot_journal(f.path);
    CHECK_OK(gt_store_open(f.path, GT_STORE_READ, &f.store));
    CHECK(!is_hot(f.path));
    check_whole(&f, f.store);
    fixture_close(&f);
}

TEST(a_reader_that_is_open_while_a_writer_is_killed_goes_on)
{
    fixture f = fixture_with_code();
    CHECK_OK(gt_store_open(f.path, GT_STORE_READ, &f.store));
    leave_hot_journal(f.path); /* nothing prepared yet */
    check_whole(&f, f.store);
    leave_hot_journal(f.path); /* everything prepared */
    check_whole(&f, f.store);
    leave_hot_journal(f.path);
    CHECK_STR(ask(f.store, "SELECT us FROM best_configs"), "1.0");
    fixture_close(&f);
}

TEST(a_reader_that_may_not_undo_it_is_told_what_to_do)
{
    fixture f = fixture_with_code();
    char folder[256];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(f.path, '/') - f.path), f.path);
    leave_hot_journal(f.path);
    CHECK(chmod(check.root, 0755) == 0 && chmod(folder, 0555) == 0);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        CHECK(geteuid() != 0 || (setgid(NOBODY) == 0 && setuid(NOBODY) == 0)); /* modes do not bind root */
        CHECK_STATUS(gt_store_open(f.path, GT_STORE_READ, &f.store), GT_ERROR_BUSY);
        CHECK(strstr(gt_error_message(), f.path) && strstr(gt_error_message(), "owner"));
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    CHECK(chmod(folder, 0700) == 0);
    CHECK_OK(gt_store_open(f.path, GT_STORE_READ, &f.store)); /* the owner can */
    check_whole(&f, f.store);
    fixture_close(&f);
}

TEST(a_migration_killed_at_any_moment_loses_nothing)
{
    const char *folder = check_folder(), *path = strdup(in_folder(folder, "old.db"));
    int migrated = 0, rolled_back = 0;
    make_format_3(in_folder(folder, "3"));
    make_format_4(in_folder(folder, "4"));
    for (int i = 0; i < 60; i++) {
        char command[600];
        snprintf(command, sizeof command, "rm -f %s*; cp %s/%d %s", path, folder, 3 + i % 2, path);
        CHECK(system(command) == 0);
        const pid_t child = fork();
        if (child == 0) {
            gt_store *store = NULL;
            _exit(gt_store_open(path, GT_STORE_WRITE, &store) == GT_OK ? 0 : 1);
        }
        usleep((useconds_t)(check_random() % 40000));
        kill(child, SIGKILL);
        CHECK(waitpid(child, NULL, 0) == child);
        *(format_of(path) == 8 ? &migrated : &rolled_back) += 1;
        gt_store *store = NULL;
        CHECK_OK(gt_store_open(path, GT_STORE_WRITE, &store));
        gt_store_close(store);
        CHECK_INT(format_of(path), 8);
    }
    printf("%d came through, %d were rolled back\n", migrated, rolled_back);
    free((char *)path);
}

CHECK_MAIN
