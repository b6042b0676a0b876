/*
 * A damaged database: single bits flipped, single fields changed. Whatever it is, every product that the library then
 * plans and executes is right, or refused with one line; never a wrong one, a crash, a hang, a fault of the device.
 * CHECK_FLIPS=N and CHECK_FIELDS=N in the environment ask for more; CHECK_SEED=N for those of that seed again.
 */
#include <fcntl.h>
#include <sys/wait.h>

#include "../tuner/compile/compile.h"
#include "store_fixture.h"

#define FLIPS   100
#define FIELDS  120
#define LIMIT_S 60 /* of one child; it takes hundredths of a second */

enum { RIGHT = 10, REFUSED, WRONG, FAULT };

/* Each is the winner of its own size, so that all of them are run. */
static const struct {
    const char *family;
    int64_t m, n, k;
    gt_op op_b;
} winners[] = {
    {"naive", 40, 36, 24, GT_N},
    {"partial_sums", 33, 20, 28, GT_N},
    {"tensor_map", 32, 36, 40, GT_N},
    {"naive", 24, 20, 28, GT_T},
};

#define WINNERS (sizeof winners / sizeof winners[0])

static struct {
    char path[64];
    char *bytes; /* of the database before any damage */
    size_t size;
} shared;

static gt_gemm gemm_of(size_t i)
{
    gt_gemm gemm = GT_GEMM(GT_F32, winners[i].m, winners[i].n, winners[i].k);
    gemm.op_b = winners[i].op_b;
    return gemm;
}

/* Compiles each and puts it with a made-up time, for every one on every problem of its class. */
static void make_database(void)
{
    const gt_run run = {"0.1.0", "13.0", "13.0", "host", "", 1};
    gt_driver *driver;
    gt_device device;
    gt_nvrtc *nvrtc;
    gt_families families;
    gt_store *store;
    gt_compiler *compiler;
    gt_compiled compiled;
    int64_t run_id, gpu, problem_id;
    if (gt_driver_open(NULL, &driver) != GT_OK || gt_nvrtc_open(NULL, &nvrtc) != GT_OK)
        SKIP(gt_error_message());
    CHECK_OK(gt_device_query(driver, 0, &device));
    CHECK_OK(gt_families_init(getenv("GEMMTUNE_FAMILIES"), &families));
    CHECK_OK(gt_compiler_create(nvrtc, 2, &compiler));
    CHECK_OK(gt_store_open(shared.path, GT_STORE_WRITE, &store));
    CHECK_OK(gt_store_run_begin(store, &run, &run_id));
    CHECK_OK(gt_store_gpu(store, &device, &gpu));
    for (size_t i = 0; i < WINNERS; i++) {
        const gt_gemm gemm = gemm_of(i);
        gt_problem problem;
        gt_space space;
        gt_kernel kernel;
        char *source;
        CHECK_OK(gt_problem_init(&gemm, &problem));
        const gt_family *family = gt_families_find(&families, winners[i].family);
        CHECK(family);
        CHECK_OK(gt_space_init(family, &device, &problem, &space));
        if (space.rows > 0) {
            CHECK_OK(gt_space_kernel(&space, 0, &device, &kernel));
            snprintf(kernel.nvrtc, sizeof kernel.nvrtc, "13.0");
            CHECK_OK(gt_render(family, &problem.class, GT_VARIANT_FAST, &kernel, &source));
            CHECK_OK(gt_compiler_submit(compiler, &kernel, source, (void *)(uintptr_t)i));
        }
        gt_space_finish(&space);
    }
    while (gt_compiler_next(compiler, &compiled)) {
        const size_t own = (uintptr_t)compiled.tag;
        CHECK_OK(compiled.status);
        for (size_t i = 0; i < WINNERS; i++) {
            const gt_gemm gemm = gemm_of(i);
            gt_problem problem;
            const gt_trial trial = i == own ? make_win(5, 0.1) : make_trial(20 + (double)own);
            CHECK_OK(gt_problem_init(&gemm, &problem));
            if (gemm.op_b != winners[own].op_b)
                continue;
            CHECK_OK(gt_store_problem(store, &problem, &problem_id));
            CHECK_OK(gt_store_put_trial(store, run_id, gpu, problem_id, &compiled.kernel, &compiled.code, &trial));
        }
        gt_code_finish(&compiled.code);
    }
    gt_compiler_destroy(compiler);
    gt_store_close(store);
}

static int wait_for(pid_t child)
{
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void write_database(const char *bytes)
{
    const int file = open(shared.path, O_WRONLY | O_TRUNC | O_CREAT, 0600);
    CHECK(file >= 0 && write(file, bytes, shared.size) == (ssize_t)shared.size && close(file) == 0);
}

/* In processes of their own: a driver survives no fork. */
static void prepare(void)
{
    struct stat st;
    if (shared.bytes)
        return;
    if (!getenv("GEMMTUNE_FAMILIES"))
        SKIP("GEMMTUNE_FAMILIES names the templates");
    if (access("/dev/shm", W_OK) == 0 && !check.root[0]) /* thousands of files: where syncing costs nothing */
        CHECK(mkdtemp(strcpy(check.root, "/dev/shm/gemmtune-XXXXXX")));
    snprintf(shared.path, sizeof shared.path, "%s/damage.db", check_folder());
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        make_database();
        _exit(PASSED);
    }
    const int made = wait_for(child);
    if (made != PASSED)
        check_leave(made == SKIPPED ? SKIPPED : FAILED);
    const int file = open(shared.path, O_RDONLY);
    CHECK(file >= 0 && fstat(file, &st) == 0);
    shared.size = (size_t)st.st_size;
    CHECK((shared.bytes = malloc(shared.size)) && read(file, shared.bytes, shared.size) == st.st_size);
    close(file);
}

static float number(int64_t i, int salt)
{
    return (float)((i * 7 + salt * 13 + i / 11) % 9 - 4);
}

static CUdeviceptr upload(const gt_driver *driver, const float *host, size_t count)
{
    CUdeviceptr memory;
    CHECK(driver->cuMemAlloc(&memory, count * sizeof *host) == CUDA_SUCCESS);
    CHECK(driver->cuMemcpyHtoD(memory, host, count * sizeof *host) == CUDA_SUCCESS);
    return memory;
}

/* A refusal has one line for people. */
static int refused(gt_status status)
{
    const char *message = gt_error_message();
    if (*message && !strchr(message, '\n') && strcmp(gt_status_name(status), "unknown gt_status") != 0)
        return REFUSED;
    printf("no line, or more than one: '%s'\n", message);
    return FAULT;
}

/* Plans and executes one product into memory of just its size, and looks at each element. */
static int multiply(gt_context *gt, const gt_driver *driver, const gt_gemm *g)
{
    const int64_t m = g->m, n = g->n, k = g->k;
    const float one = 1, zero = 0;
    float *a = malloc((size_t)(m * k) * sizeof *a), *b = malloc((size_t)(k * n) * sizeof *b);
    float *c = malloc((size_t)(m * n) * sizeof *c);
    gt_plan *plan;
    gt_description d;
    gt_status status = gt_plan_gemm(gt, g, &plan);
    if (status != GT_OK)
        return refused(status);
    CHECK_OK(gt_plan_describe(plan, &d));
    for (int64_t i = 0; i < m * k; i++)
        a[i] = number(i, 1);
    for (int64_t i = 0; i < k * n; i++)
        b[i] = number(i, 2);
    memset(c, 0xff, (size_t)(m * n) * sizeof *c);
    const CUdeviceptr on_a = upload(driver, a, (size_t)(m * k)), on_b = upload(driver, b, (size_t)(k * n));
    const CUdeviceptr on_c = upload(driver, c, (size_t)(m * n));
    status = gt_execute(plan, NULL, &one, (void *)on_a, (void *)on_b, &zero, (void *)on_c);
    if (status != GT_OK)
        return refused(status);
    if (driver->cuCtxSynchronize() != CUDA_SUCCESS ||
        driver->cuMemcpyDtoH(c, on_c, (size_t)(m * n) * sizeof *c) != CUDA_SUCCESS) {
        printf("a fault of the device in %s (%s)\n", d.family, d.params);
        return FAULT;
    }
    for (int64_t i = 0; i < m * n; i++) {
        float expected = 0;
        for (int64_t p = 0; p < k; p++)
            expected += a[i / n * k + p] * (g->op_b == GT_N ? b[p * n + i % n] : b[i % n * k + p]);
        if (!(c[i] == expected)) {
            printf("element %lld of %lldx%lldx%lld is %g, not %g, by %s (%s)\n", (long long)i, (long long)m,
                   (long long)n, (long long)k, (double)c[i], (double)expected, d.family, d.params);
            return WRONG;
        }
    }
    gt_plan_destroy(plan);
    return RIGHT;
}

/* All products on the database as it is: the worst that came of any. */
static int use_database(void)
{
    const gt_options options = {.database = shared.path};
    gt_context *gt;
    gt_driver *driver;
    int worst = RIGHT, result = RIGHT;
    const gt_status status = gt_open(&options, &gt);
    if (status != GT_OK)
        return refused(status);
    CHECK_OK(gt_driver_open(NULL, &driver)); /* the same one, once more: for memory and copies */
    for (size_t i = 0; i <= WINNERS && result <= REFUSED; i++) { /* a fault would be every later one's, too */
        const gt_gemm untuned = GT_GEMM(GT_F32, 17, 52, 36), gemm = i < WINNERS ? gemm_of(i) : untuned;
        result = multiply(gt, driver, &gemm);
        worst = result > worst ? result : worst;
    }
    if (worst <= REFUSED)
        gt_close(gt);
    return worst;
}

typedef struct tally {
    int right, refused;
} tally;

/* In a process of its own, and not for ever. `what` is what was done to the database. */
static void judge(const char *what, tally *seen)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(LIMIT_S);
        const int result = use_database();
        fflush(stdout);
        _exit(result);
    }
    const int result = wait_for(child);
    seen->right += result == RIGHT;
    seen->refused += result == REFUSED;
    if (result != RIGHT && result != REFUSED)
        check_fail(__FILE__, __LINE__, "%s: %s (%d)", what,
                   result == WRONG   ? "a wrong product"
                   : result == FAULT ? "a fault"
                                     : "a crash, or too long",
                   result);
}

static int wanted(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

TEST(an_undamaged_database_gives_right_products)
{
    tally c = {0};
    prepare();
    write_database(shared.bytes);
    judge("nothing", &c);
    CHECK_INT(c.right, 1);
}

static void keep_line(void *data, const char *message)
{
    snprintf(data, 512, "%s", message);
}

/* What became of the first winner's problem: its kernel's family, or how it was refused. */
static void plan_first(char *told, const char **family, gt_status *status)
{
    static gt_context *gt;
    const gt_options options = {.database = shared.path, .log = keep_line, .log_data = told};
    const gt_gemm gemm = gemm_of(0);
    gt_plan *plan;
    gt_description d = {0};
    CHECK_OK(gt_open(&options, &gt));
    if ((*status = gt_plan_gemm(gt, &gemm, &plan)) == GT_OK)
        CHECK_OK(gt_plan_describe(plan, &d));
    *family = d.family;
}

TEST(a_damaged_winner_is_told_of_and_the_next_best_taken)
{
    prepare();
    write_database(shared.bytes);
    vandalise(shared.path, "UPDATE kernel SET tile_m = 96 WHERE id = 1");
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        char told[512] = "";
        const char *family;
        gt_status status;
        plan_first(told, &family, &status);
        CHECK_OK(status);
        CHECK_STR(family, "partial_sums");
        CHECK(strstr(told, "kernel 1, naive (bm=16 bn=16), does not match its hash"));
        vandalise(shared.path, "UPDATE kernel SET tile_m = 96");
        plan_first(told, &family, &status);
        CHECK_INT(status, GT_ERROR_CORRUPT);
        CHECK(strstr(gt_error_message(), "kernel 1, naive") && strstr(gt_error_message(), "no other kernel"));
        CHECK(strstr(told, "2 more"));
        _exit(PASSED);
    }
    CHECK_INT(wait_for(child), PASSED);
}

TEST(what_is_told_of_a_database_that_was_named_names_it_in_the_command)
{
    char sql[2][200] = {"", "UPDATE run SET driver = '1.0'"}, lines[2][200];
    snprintf(sql[0], sizeof sql[0], "INSERT INTO coefficient VALUES (1, 'f32', 'strict', 'naive', '%s.%d', 1)",
             gt_term_names[0], GT_TERMS_VERSION);
    prepare();
    snprintf(lines[0], sizeof lines[0], "run `gemmtune fit --db %s`", shared.path);
    snprintf(lines[1], sizeof lines[1], "`gemmtune revalidate --db %s` proves it again", shared.path);
    for (int i = 0; i < 2; i++) {
        write_database(shared.bytes);
        vandalise(shared.path, sql[i]);
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            char told[512] = "";
            const char *family;
            gt_status status;
            plan_first(told, &family, &status);
            CHECK_OK(status);
            if (!strstr(told, lines[i]))
                check_fail(__FILE__, __LINE__, "told '%s', not '%s'", told, lines[i]);
            _exit(PASSED);
        }
        CHECK_INT(wait_for(child), PASSED);
    }
}

/* Plans the first winner's problem when its kernel is gone that was there when the class was read. */
static void plan_forgotten(char *told)
{
    const gt_options options = {.database = shared.path, .log = keep_line, .log_data = told};
    gt_gemm gemm = gemm_of(0);
    gt_context *gt;
    gt_plan *plan;
    gt_store *store;
    gt_description d;
    int64_t kernels, trials;
    CHECK_OK(gt_open(&options, &gt));
    gemm.beside = 1; /* what none of them can: the class is read, and nothing is loaded */
    CHECK_STATUS(gt_plan_gemm(gt, &gemm, &plan), GT_ERROR_NOT_TUNED);
    CHECK_OK(gt_store_open(shared.path, GT_STORE_WRITE, &store));
    CHECK_OK(gt_store_forget(store, &(gt_forget){.family = "naive"}, &kernels, &trials));
    CHECK(kernels > 0);
    CHECK_STR(told, "");
    gemm.beside = 0;
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    CHECK_OK(gt_plan_describe(plan, &d));
    CHECK_STR(d.family, "partial_sums");
    gt_plan_destroy(plan);
    gt_store_close(store);
    gt_close(gt);
}

TEST(kernels_that_another_process_has_forgotten_are_told_of_and_the_next_best_taken)
{
    prepare();
    write_database(shared.bytes);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        char told[512] = "";
        plan_forgotten(told);
        CHECK(strstr(told, "kernel 1 has no code stored (reading the database again)"));
        _exit(PASSED);
    }
    CHECK_INT(wait_for(child), PASSED);
}

TEST(a_winner_that_failed_on_another_size_is_not_planned_until_it_has_passed)
{
#define INSERT                                                                                               \
    "INSERT INTO trial (run, gpu, problem, kernel, stage, outcome, detail, timing, samples, stopped_early,"  \
    " registers, spills, seed, tried_at) SELECT 1, 1, id, 1, "
#define ELSEWHERE                                                                                            \
    ", '', 'modelled', 0, 0, 0, 0, '42', (SELECT max(tried_at) || '1' FROM trial) FROM problem WHERE m = 32" /* newest */
    static const char failed[] = INSERT "'race', 'wrong_result'" ELSEWHERE;
    static const char passed[] = INSERT "'verify', 'ok'" ELSEWHERE;
    static const char *const steps[][2] = {{"", "naive"}, {failed, "partial_sums"}, {passed, "naive"}};
    prepare();
    write_database(shared.bytes);
    for (size_t i = 0; i < 3; i++) {
        vandalise(shared.path, steps[i][0]);
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            char told[512] = "";
            const char *family;
            gt_status status;
            plan_first(told, &family, &status);
            CHECK_OK(status);
            CHECK_STR(family, steps[i][1]);
            CHECK_STR(told, ""); /* that is no damage */
            _exit(PASSED);
        }
        CHECK_INT(wait_for(child), PASSED);
    }
}

TEST(a_cubin_that_is_too_short_is_refused_though_its_hash_is_right)
{
    prepare();
    write_database(shared.bytes);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        gt_store *store = NULL;
        gt_code code = {0};
        gt_measurements found = {0};
        gt_problem problem;
        gt_driver *driver;
        gt_device device;
        gt_run run = {"0.1.0", "13.0", "13.0", "host", "", 1};
        const gt_gemm gemm = gemm_of(0);
        int64_t run_id, gpu, id;
        char told[512] = "";
        const char *family;
        gt_status status;
        CHECK_OK(gt_driver_open(NULL, &driver));
        CHECK_OK(gt_device_query(driver, 0, &device));
        CHECK_OK(gt_problem_init(&gemm, &problem));
        CHECK_OK(gt_store_open(shared.path, GT_STORE_WRITE, &store));
        CHECK_OK(gt_store_find_measured(store, &device, &problem.class, &found));
        CHECK_OK(gt_store_run_begin(store, &run, &run_id));
        CHECK_OK(gt_store_gpu(store, &device, &gpu));
        CHECK_OK(gt_store_problem(store, &problem, &id));
        for (size_t i = 0; i < found.count; i++)
            if (found.list[i].kernel_id == 1) {
                const gt_trial trial = make_win(5, 0.1);
                CHECK_OK(gt_store_find_code(store, 1, NULL, &code));
                code.cubin_bytes = 60; /* sealed as it is */
                CHECK_OK(gt_store_put_trial(store, run_id, gpu, id, found.list[i].kernel, &code, &trial));
                gt_code_finish(&code);
            }
        gt_store_close(store);
        plan_first(told, &family, &status);
        CHECK_OK(status);
        CHECK_STR(family, "partial_sums");
        CHECK(strstr(told, "kernel naive (bm=16 bn=16): the cubin of 60 bytes is shorter than an ELF header"));
        _exit(PASSED);
    }
    CHECK_INT(wait_for(child), PASSED);
}

/* Where code lies a flip is found by its hash: every other flip goes where SQLite's own pages and rows are. */
static size_t draw_offset(void)
{
    const size_t page = 4096, pages = shared.size / page;
    size_t at = check_random() % shared.size;
    for (int tries = 0; check_random() % 2 && tries < 1000; tries++) {
        const size_t number = check_random() % pages;
        const char kind = shared.bytes[number * page];
        if (number > 0 && kind != 2 && kind != 5 && kind != 10 && kind != 13) /* no page of a tree */
            continue;
        at = number * page + check_random() % page;
        break;
    }
    return at;
}

TEST(a_flipped_bit_gives_no_wrong_product)
{
    const int flips = wanted("CHECK_FLIPS", FLIPS);
    tally c = {0};
    prepare();
    for (int i = 0; i < flips; i++) {
        const size_t at = draw_offset();
        const int bit = (int)(check_random() % 8);
        char what[100];
        snprintf(what, sizeof what, "bit %d of byte %zu", bit, at);
        shared.bytes[at] = (char)(shared.bytes[at] ^ 1 << bit);
        write_database(shared.bytes);
        shared.bytes[at] = (char)(shared.bytes[at] ^ 1 << bit);
        judge(what, &c);
    }
    printf("%d flips: %d right, %d refused\n", flips, c.right, c.refused);
    CHECK(flips < 50 || (c.right > 0 && c.refused > 0));
}

/* What a field is changed to; %s is its column. */
static const char *const changes[] = {
    "%s + 1", "%s - 1", "%s * 2", "%s * 3", "%s / 2", "0", "1", "2", "-1", "96", "1 << 40", "9223372036854775807",
    "NULL", "''", "'x'", "upper(%s)", "substr(%s, 2)", "%s || 'x'", "%s || x'00'", "x''", "zeroblob(60)",
    "CAST(x'7f454c46020101' || zeroblob(53) AS BLOB)", "'nt'", "'tn'", "'f16_f32'", "'s32'", "'sm_80'", "'ok'",
    "'modelled'", "'race'", "'verify'", "'wrong_result'", "'none'", "4", "16", "1e300", "0.5", "printf('%%064d', 7)",
    "'f32 strict none nt 16'", "'f32 strict none nn 4'",
};

/* Of another row, or of all: every row takes the value of the last one. */
static const char *const rows[] = {"1", "id = 1", "id = 2", "id = 3"};

typedef struct field {
    char table[16], column[32];
} field;

static int list_fields(field *fields, int most)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    int count = 0;
    write_database(shared.bytes);
    CHECK(sqlite3_open(shared.path, &db) == SQLITE_OK);
    CHECK(sqlite3_prepare_v2(db,
                             "SELECT t.name, c.name FROM pragma_table_list t, pragma_table_info(t.name) c"
                             " WHERE t.name IN ('kernel', 'problem', 'gpu', 'trial')",
                             -1, &row, NULL) == SQLITE_OK);
    for (; sqlite3_step(row) == SQLITE_ROW; count++) {
        CHECK(count < most);
        snprintf(fields[count].table, sizeof fields->table, "%s", (const char *)sqlite3_column_text(row, 0));
        snprintf(fields[count].column, sizeof fields->column, "%s", (const char *)sqlite3_column_text(row, 1));
    }
    sqlite3_finalize(row);
    sqlite3_close(db);
    return count;
}

/* Whether the database took the change: STRICT tables refuse what is of another type. */
static bool change(const char *sql)
{
    sqlite3 *db = NULL;
    CHECK(sqlite3_open(shared.path, &db) == SQLITE_OK);
    sqlite3_exec(db, "PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF", NULL, NULL, NULL);
    const bool taken = sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK && sqlite3_changes(db) > 0;
    sqlite3_close(db);
    return taken;
}

TEST(a_changed_field_gives_no_wrong_product)
{
    const int least = wanted("CHECK_FIELDS", FIELDS);
    field fields[100];
    tally c = {0};
    prepare();
    const int columns = list_fields(fields, 100);
    const uint64_t start = check_random();
    CHECK(columns > 60);
    for (int i = 0, done = 0; done < least; i++) { /* every column in turn */
        const field *f = &fields[(start + (uint64_t)i) % (uint64_t)columns];
        const char *where = rows[check_random() % (sizeof rows / sizeof rows[0])];
        char value[200], sql[600];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
        const char *form = changes[check_random() % (sizeof changes / sizeof changes[0])];
        snprintf(value, sizeof value, form, f->column);
#pragma GCC diagnostic pop
        snprintf(sql, sizeof sql, "UPDATE OR IGNORE %s SET %s = %s WHERE %s AND %s IS NOT %s", f->table, f->column,
                 value, where, f->column, value);
        write_database(shared.bytes);
        if (!change(sql))
            continue;
        judge(sql, &c);
        done++;
    }
    printf("%d fields of %d columns: %d right, %d refused\n", least, columns, c.right, c.refused);
    CHECK(least < 50 || (c.right > 0 && c.refused > 0));
}

CHECK_MAIN
