/* What the store does with files that are not what they should be, and when the disk or locks fail. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "store_fixture.h"

#define NOBODY 65534

static void write_file(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
}

/* Opening fails in both modes with this status and a line that names the file, which stays as it was. */
static void check_refused(const char *path, gt_status expected)
{
    char before[GT_HASH_LENGTH], after[GT_HASH_LENGTH];
    gt_store *store = NULL;
    hash_file(path, before);
    CHECK_STATUS(gt_store_open(path, GT_STORE_READ, &store), expected);
    CHECK(strstr(gt_error_message(), path) != NULL);
    CHECK_STATUS(gt_store_open(path, GT_STORE_WRITE, &store), expected);
    CHECK(strstr(gt_error_message(), path) != NULL);
    CHECK(store == NULL);
    hash_file(path, after);
    CHECK_STR(after, before);
}

/* Runs a body in a process of its own; its checks count. */
static int finish_child(pid_t child)
{
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(a_missing_file_is_no_database)
{
    gt_store *store = NULL;
    CHECK_STATUS(gt_store_open("/nonexistent/x.db", GT_STORE_READ, &store), GT_ERROR_NO_DATABASE);
    CHECK(strstr(gt_error_message(), "/nonexistent/x.db"));
    CHECK_STATUS(gt_store_open("", GT_STORE_READ, &store), GT_ERROR_INVALID);
    CHECK_STATUS(gt_store_open("/proc/nonexistent/x.db", GT_STORE_WRITE, &store), GT_ERROR_IO);
    CHECK_STATUS(gt_store_open(check_folder(), GT_STORE_WRITE, &store), GT_ERROR_DATABASE);
}

TEST(a_file_that_is_no_database_is_refused_and_left_alone)
{
    const char *folder = check_folder();
    static const char text[4096] = "My thesis. Chapter one.";
    write_file(in_folder(folder, "short"), text, 30);
    write_file(in_folder(folder, "long"), text, sizeof text);
    check_refused(in_folder(folder, "short"), GT_ERROR_DATABASE);
    check_refused(in_folder(folder, "long"), GT_ERROR_DATABASE);
}

TEST(an_empty_file_is_filled_by_a_writer_and_refused_by_a_reader)
{
    const char *path = in_folder(check_folder(), "empty.db");
    gt_store *store = NULL;
    write_file(path, "", 0);
    CHECK_STATUS(gt_store_open(path, GT_STORE_READ, &store), GT_ERROR_DATABASE);
    CHECK_OK(gt_store_open(path, GT_STORE_WRITE, &store));
    gt_store_close(store);
    CHECK_OK(gt_store_open(path, GT_STORE_READ, &store));
    gt_store_close(store);
}

TEST(a_database_of_another_program_is_refused_and_left_alone)
{
    const char *folder = check_folder();
    vandalise(in_folder(folder, "tables"), "CREATE TABLE trial (id INTEGER)");
    vandalise(in_folder(folder, "id"), "PRAGMA application_id = 7");
    vandalise(in_folder(folder, "version"), "PRAGMA user_version = 1");
    vandalise(in_folder(folder, "ours"), "PRAGMA application_id = 0x474d5431; PRAGMA user_version = 1;"
                                         "CREATE TABLE other (id INTEGER)");
    vandalise(in_folder(folder, "zero"), "PRAGMA application_id = 0x474d5431; CREATE TABLE other (id INTEGER)");
    for (const char *const *name = (const char *const[]){"tables", "id", "version", "ours", "zero", NULL}; *name; name++)
        check_refused(in_folder(folder, *name), GT_ERROR_DATABASE);
}

TEST(a_table_replaced_by_a_view_is_refused)
{
    fixture f = fixture_open();
    vandalise(f.path, "DROP TABLE peak; CREATE VIEW peak AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x FROM r)"
                      " SELECT x FROM r");
    check_refused(f.path, GT_ERROR_DATABASE);
    fixture_close(&f);
}

TEST(a_newer_database_is_refused_by_its_version)
{
    fixture f = fixture_open();
    vandalise(f.path, "PRAGMA user_version = 9");
    check_refused(f.path, GT_ERROR_VERSION);
    fixture_close(&f);
}

TEST(a_truncated_file_is_damaged)
{
    fixture f = fixture_open();
    const gt_kernel kernel = make_kernel(1);
    struct stat st;
    CHECK_OK(put(&f, &kernel, &code_of_tests, make_trial(1)));
    gt_store_close(f.store);
    f.store = NULL;
    CHECK(stat(f.path, &st) == 0);
    for (off_t size = st.st_size - 1; size > 0; size = size * 2 / 3) {
        CHECK(truncate(f.path, size) == 0);
        check_refused(f.path, GT_ERROR_DATABASE);
    }
    fixture_close(&f);
}

TEST(random_damage_never_crashes_and_never_passes_wrong_code)
{
    fixture f = fixture_open();
    static char whole[1 << 20], copy[1 << 20];
    for (int i = 0; i < 20; i++) {
        const gt_kernel kernel = make_kernel(i);
        CHECK_OK(put(&f, &kernel, &code_of_tests, make_trial(i + 1)));
    }
    gt_store_close(f.store);
    f.store = NULL;
    FILE *file = fopen(f.path, "r");
    const size_t size = fread(whole, 1, sizeof whole, file);
    fclose(file);
    for (int round = 0; round < 300; round++) {
        gt_measurements found = {0};
        gt_store *store = NULL;
        memcpy(copy, whole, size);
        for (uint64_t flips = 1 + check_random() % 20; flips > 0; flips--)
            copy[check_random() % size] = (char)check_random();
        write_file(f.path, copy, size);
        if (gt_store_open(f.path, GT_STORE_READ, &store) != GT_OK)
            continue;
        if (gt_store_find_measured(store, &f.device, &f.problem.class, &found) == GT_OK)
            for (size_t i = 0; i < found.count; i++) {
                gt_code code = {0};
                if (gt_store_find_code(store, found.list[i].kernel_id, NULL, &code) == GT_OK)
                    CHECK(code.cubin_bytes == sizeof code_bytes && memcmp(code.cubin, code_bytes, sizeof code_bytes) == 0);
                gt_code_finish(&code);
            }
        gt_measurements_finish(&found);
        gt_store_close(store);
    }
    fixture_close(&f);
}

TEST(code_that_does_not_match_its_hash_is_named_and_replaced_by_the_next_put)
{
    fixture f = fixture_open();
    const gt_kernel kernel = make_kernel(1);
    gt_code code = {0};
    CHECK_OK(put(&f, &kernel, &code_of_tests, make_trial(1)));
    vandalise(f.path, "UPDATE kernel SET cubin = CAST(replace(CAST(cubin AS TEXT), 'pretend', 'PRETEND') AS BLOB)");
    CHECK_STATUS(gt_store_find_code(f.store, 1, NULL, &code), GT_ERROR_CORRUPT);
    CHECK(strstr(gt_error_message(), "simt") && strstr(gt_error_message(), "bm=128 bn=256 bk=16 stages=1"));
    CHECK(code.cubin == NULL);
    CHECK_OK(put(&f, &kernel, &code_of_tests, make_trial(1)));
    CHECK_OK(gt_store_find_code(f.store, 1, NULL, &code));
    gt_code_finish(&code);
    vandalise(f.path, "UPDATE kernel SET ptx = x'00'");
    CHECK_STATUS(gt_store_find_code(f.store, 1, NULL, &code), GT_ERROR_CORRUPT);
    fixture_close(&f);
}

TEST(a_row_that_does_not_match_its_seal_is_named_left_out_and_mended_by_the_next_put)
{
    static const char *const damage[] = {
        "tile_m = 96", "tile_n = tile_n + 1", "split_k = 2", "threads = threads - 1", "smem_bytes = 0", "cluster_x = 2",
        "blocks = 7", "ws_tile = 0", "any_split = 0", "repack = 0", "dependent_launch = 0", "box_a_rows = 0", "swizzle_ab = 0",
        "map_promotion = 0", "deterministic = 0", "class = 'f32 strict none nt 16'", "class = 'f32 strict none nn 4'",
        "class = NULL", "seal = printf('%064d', 1)", "seal = NULL", "nvrtc = '12.9'", "family = 'skinny'",
        "source_hash = printf('%064d', 1)", "cubin_hash = printf('%064d', 1)", "ptx_hash = printf('%064d', 1)",
        "cubin = x'00'", "ptx = x'00'", "ptx = NULL, ptx_hash = NULL",
    };
    for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        fixture f = fixture_open();
        const gt_kernel a = make_kernel(1), b = make_kernel(2);
        gt_measurements found = {0};
        gt_code code = {0};
        char sql[256];
        CHECK_OK(gt_sql_execute(f.store, "PRAGMA synchronous = OFF")); /* nothing here is about power cuts */
        CHECK_OK(put(&f, &a, &code_of_tests, make_trial(1)));
        CHECK_OK(put(&f, &b, &code_of_tests, make_trial(2)));
        snprintf(sql, sizeof sql, "PRAGMA synchronous = OFF; UPDATE kernel SET %s WHERE id = 1", damage[i]);
        vandalise(f.path, sql);
        CHECK_STATUS(gt_store_find_code(f.store, 1, NULL, &code), GT_ERROR_CORRUPT);
        CHECK(strstr(gt_error_message(), "kernel 1") && strstr(gt_error_message(), "stages=1"));
        const bool only_code = strncmp(damage[i], "cubin = ", 8) == 0 || strncmp(damage[i], "ptx = x", 7) == 0;
        CHECK_OK(gt_store_find_measured(f.store, &f.device, &f.problem.class, &found));
        CHECK_INT(found.damaged, !only_code);
        CHECK_INT(found.count, only_code ? 2 : 1);
        CHECK(only_code || (found.list[0].kernel_id == 2 && strstr(found.damage, "kernel 1")));
        gt_measurements_finish(&found);
        CHECK_OK(put(&f, &a, &code_of_tests, make_trial(1)));
        CHECK_OK(gt_store_find_measured(f.store, &f.device, &f.problem.class, &found));
        if (strncmp(damage[i], "source", 6) != 0 && strncmp(damage[i], "nvrtc", 5) != 0) {
            CHECK_INT(found.damaged, 0);
            CHECK_INT(found.count, 2);
        }
        CHECK(memcmp(&found.list[0].kernel->facts, &a.facts, sizeof a.facts) == 0);
        CHECK_OK(gt_store_find_code(f.store, found.list[0].kernel_id, NULL, &code));
        gt_code_finish(&code);
        gt_measurements_finish(&found);
        fixture_close(&f);
    }
}

TEST(a_kernel_is_not_offered_for_a_problem_whose_row_was_changed)
{
    static const char *const changes[] = {"layout = 'nt'", "align = 4", "type = 'f16_f32'"};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        fixture f = fixture_open();
        const gt_kernel kernel = make_kernel(1);
        gt_measurements found = {0};
        gt_problem asked = f.problem;
        char sql[256];
        CHECK_OK(put(&f, &kernel, &code_of_tests, make_trial(1)));
        snprintf(sql, sizeof sql, "UPDATE problem SET %s", changes[i]);
        vandalise(f.path, sql);
        if (i == 0)
            asked.class.op_b = GT_T;
        if (i == 1)
            asked.class.align = 4;
        if (i == 2)
            asked.class.type_a = asked.class.type_b = GT_F16;
        CHECK_OK(gt_store_find_measured(f.store, &f.device, &asked.class, &found));
        CHECK_INT(found.count, 0);
        CHECK(found.damaged == 1 && strstr(found.damage, "kernel 1") && strstr(found.damage, "rendered"));
        gt_measurements_finish(&found);
        fixture_close(&f);
    }
}

TEST(absurd_rows_are_skipped)
{
    static const char *const nonsense[] = {
        "UPDATE kernel SET threads = 99999 WHERE id = 1", "UPDATE kernel SET tile_m = 0 WHERE id = 1",
        "UPDATE kernel SET family = printf('%.*c', 1000, 'x') WHERE id = 1", "UPDATE kernel SET cluster_x = 1 << 40 WHERE id = 1",
        "UPDATE kernel SET nvrtc = CAST(x'310032' AS TEXT) WHERE id = 1", "UPDATE trial SET us = 9e999 WHERE id = 1",
        "UPDATE trial SET samples = 1 << 40 WHERE id = 1", "UPDATE trial SET outcome = 'fine' WHERE id = 1",
        "UPDATE problem SET m = 9223372036854775807 WHERE id = 1", "UPDATE problem SET align = 3 WHERE id = 1",
        "UPDATE problem SET batch = -1 WHERE id = 1",
    };
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
        fixture f = fixture_open();
        const gt_kernel a = make_kernel(1), b = make_kernel(2);
        const gt_problem other = make_problem(64, 64, 64);
        gt_measurements found = {0};
        char sql[256];
        CHECK_OK(put(&f, &a, &code_of_tests, make_trial(1)));
        CHECK_OK(gt_store_problem(f.store, &other, &f.problem_id));
        CHECK_OK(put(&f, &b, &code_of_tests, make_trial(2)));
        snprintf(sql, sizeof sql, "PRAGMA ignore_check_constraints = ON; %s", nonsense[i]);
        vandalise(f.path, sql);
        CHECK_OK(gt_store_find_measured(f.store, &f.device, &f.problem.class, &found));
        CHECK_INT(found.count, 1);
        CHECK(found.list[0].trial.us == 2);
        gt_measurements_finish(&found);
        fixture_close(&f);
    }
}

TEST(a_locked_database_is_busy_for_readers_and_writers)
{
    fixture f = fixture_open();
    const gt_kernel kernel = make_kernel(1);
    sqlite3 *other = NULL;
    gt_store *reader = NULL;
    CHECK(sqlite3_open(f.path, &other) == SQLITE_OK);
    CHECK(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_busy_timeout(f.store->db, 50); /* a writer would wait for half a minute */
    CHECK_STATUS(put(&f, &kernel, NULL, make_trial(1)), GT_ERROR_BUSY);
    CHECK_STATUS(gt_store_open(f.path, GT_STORE_READ, &reader), GT_ERROR_BUSY);
    CHECK(strstr(gt_error_message(), f.path));
    sqlite3_close(other);
    CHECK_OK(put(&f, &kernel, NULL, make_trial(1)));
    CHECK_STR(ask(f.store, "SELECT count(*) FROM trial"), "1");
    fixture_close(&f);
}

TEST(a_full_disk_loses_only_the_trial_that_did_not_fit)
{
    fixture f = fixture_open();
    static char bytes[600 << 10];
    const gt_code large = {.cubin = bytes, .cubin_bytes = sizeof bytes};
    const struct rlimit small = {300 << 10, RLIM_INFINITY};
    struct rlimit before;
    const gt_kernel a = make_kernel(1), b = make_kernel(2);
    CHECK_OK(put(&f, &a, &code_of_tests, make_trial(1)));
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    const gt_status status = put(&f, &b, &large, make_trial(2));
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK_STATUS(status, GT_ERROR_IO);
    CHECK(strstr(gt_error_message(), f.path) && strstr(gt_error_message(), "space"));
    CHECK_STR(ask(f.store, "SELECT (SELECT count(*) FROM kernel) || (SELECT count(*) FROM trial)"), "11");
    CHECK_STR(ask(f.store, "PRAGMA integrity_check"), "ok");
    CHECK_OK(put(&f, &b, &large, make_trial(2))); /* with space again, on the same connection */
    CHECK_STR(ask(f.store, "SELECT count(*) FROM trial"), "2");
    fixture_close(&f);
}

TEST(a_reader_without_write_access_reads_and_cannot_put)
{
    fixture f = fixture_open();
    const gt_kernel kernel = make_kernel(1);
    char folder[256];
    CHECK_OK(put(&f, &kernel, &code_of_tests, make_trial(1)));
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(f.path, '/') - f.path), f.path);
    CHECK(chmod(check.root, 0755) == 0 && chmod(folder, 0555) == 0 && chmod(f.path, 0444) == 0);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        gt_store *reader = NULL, *writer = NULL;
        gt_measurements found = {0};
        int64_t id;
        CHECK(geteuid() != 0 || (setgid(NOBODY) == 0 && setuid(NOBODY) == 0)); /* modes do not bind root */
        CHECK_OK(gt_store_open(f.path, GT_STORE_READ, &reader));
        CHECK_OK(gt_store_find_measured(reader, &f.device, &f.problem.class, &found));
        CHECK_INT(found.count, 1);
        CHECK_OK(gt_store_gpu(reader, &f.device, &id)); /* finding is not making */
        const gt_types *types = gt_types_parse("f32", GT_MATH_STRICT);
        CHECK_STATUS(gt_store_put_peak(reader, f.gpu, types, 1, "measured"), GT_ERROR_IO);
        CHECK_STATUS(gt_store_open(f.path, GT_STORE_WRITE, &writer), GT_ERROR_IO);
        CHECK_STATUS(gt_store_open(in_folder(folder, "new/gemmtune.db"), GT_STORE_WRITE, &writer), GT_ERROR_IO);
        CHECK(strstr(gt_error_message(), "/new: cannot make this folder: Permission denied"));
        _exit(0);
    }
    CHECK_INT(finish_child(child), 0);
    chmod(folder, 0700);
    fixture_close(&f);
}

TEST(a_database_that_others_can_write_is_not_trusted)
{
    fixture f = fixture_open();
    const gt_kernel kernel = make_kernel(1);
    gt_store *store = NULL;
    gt_code code = {0};
    char folder[256];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(f.path, '/') - f.path), f.path);
    CHECK_OK(put(&f, &kernel, &code_of_tests, make_trial(1)));
    for (const mode_t *mode = (const mode_t[]){0666, 0620, 0602, 0}; *mode; mode++) {
        CHECK(chmod(f.path, *mode) == 0);
        CHECK_STATUS(gt_store_open(f.path, GT_STORE_READ, &store), GT_ERROR_UNTRUSTED);
        CHECK(strstr(gt_error_message(), "chmod go-w"));
        CHECK_STATUS(gt_store_find_code(f.store, 1, NULL, &code), GT_ERROR_UNTRUSTED); /* who writes it runs no code of it */
    }
    CHECK(chmod(f.path, 0644) == 0);
    CHECK_OK(gt_store_find_code(f.store, 1, NULL, &code));
    gt_code_finish(&code);
    for (const mode_t *mode = (const mode_t[]){0777, 01777, 0770, 0}; *mode; mode++) {
        CHECK(chmod(folder, *mode) == 0);
        CHECK_STATUS(gt_store_open(f.path, GT_STORE_READ, &store), GT_ERROR_UNTRUSTED);
    }
    CHECK(chmod(folder, 0700) == 0 && chmod(check.root, 0777) == 0);
    CHECK_STATUS(gt_store_open(f.path, GT_STORE_READ, &store), GT_ERROR_UNTRUSTED);
    CHECK(chmod(check.root, 0755) == 0);
    if (geteuid() == 0) {
        CHECK(chown(f.path, 12345, 0) == 0);
        CHECK_STATUS(gt_store_open(f.path, GT_STORE_READ, &store), GT_ERROR_UNTRUSTED);
        CHECK(chown(f.path, 0, 0) == 0);
    }
    CHECK_OK(gt_store_open(f.path, GT_STORE_READ, &store));
    gt_store_close(store);
    fixture_close(&f);
}

TEST(many_creators_of_one_file_all_succeed)
{
    for (int round = 0; round < 10; round++) {
        const char *path = in_folder(check_folder(), "new/folder/gemmtune.db");
        pid_t children[4];
        int gate[2];
        char byte;
        CHECK(pipe(gate) == 0);
        for (int i = 0; i < 4; i++)
            if ((children[i] = fork()) == 0) {
                fixture f = {.path = path};
                close(gate[1]);
                CHECK(read(gate[0], &byte, 1) == 0); /* all start when the last one stands here */
                CHECK_OK(gt_store_open(path, GT_STORE_WRITE, &f.store));
                fixture_rows(&f);
                _exit(0);
            }
        close(gate[0]);
        close(gate[1]);
        for (int i = 0; i < 4; i++)
            CHECK_INT(finish_child(children[i]), 0);
        gt_store *store = NULL;
        CHECK_OK(gt_store_open(path, GT_STORE_READ, &store));
        CHECK_STR(ask(store, "SELECT (SELECT count(*) FROM gpu) || (SELECT count(*) FROM run)"), "14");
        gt_store_close(store);
    }
}

TEST(a_database_switched_to_a_write_ahead_log_is_switched_back)
{
    fixture f = fixture_open();
    gt_store_close(f.store);
    vandalise(f.path, "PRAGMA journal_mode = WAL");
    CHECK_OK(gt_store_open(f.path, GT_STORE_WRITE, &f.store));
    char header[20] = "";
    FILE *file = fopen(f.path, "r");
    CHECK(file && fread(header, 1, sizeof header, file) == sizeof header && fclose(file) == 0);
    CHECK_INT(header[18], 1); /* 2 is write-ahead */
    fixture_close(&f);
}

CHECK_MAIN
