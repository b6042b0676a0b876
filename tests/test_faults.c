/*
 * Kernels that hang, trap, write out of bounds, give wrong results or do not compile, among good ones, on a GPU: the
 * run ends, each failure is a row with its reason, and the winner is right.
 */
#include <sys/wait.h>

#include "../db/store.h"
#include "../src/core/driver.h"
#include "check.h"

/* What a sanitizer build takes longer. */
#ifdef __SANITIZE_ADDRESS__
#define SLOWER 6
#else
#define SLOWER 1
#endif

/* What one candidate may take: the software GPU needs seconds for what a GPU does in milliseconds. */
static double limit(void)
{
    return (gt_driver_is_soft(getenv("GEMMTUNE_DRIVER"), NULL) ? 15 : 3) * SLOWER;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The first column of a query's only row. */
static int keep(void *data, int columns, const char *const *names, const char *const *values)
{
    (void)columns, (void)names;
    snprintf(data, 400, "%s", values[0] ? values[0] : "NULL");
    return 0;
}

static const char *ask(gt_store *store, const char *sql)
{
    static char answer[400];
    strcpy(answer, "no row");
    CHECK_OK(gt_store_query(store, sql, NULL, keep, answer));
    return answer;
}

TEST(every_fault_is_found_and_the_run_goes_on)
{
    const char *program = getenv("GEMMTUNE"), *faults = getenv("GEMMTUNE_FAULTS");
    char database[512], command[2048], sql[256];
    gt_driver *driver;
    gt_store *store;
    if (!program || !faults)
        SKIP("GEMMTUNE and GEMMTUNE_FAULTS name the program and the templates");
    if (gt_driver_open(NULL, &driver) != GT_OK)
        SKIP(gt_error_message());
    gt_driver_close(driver);
    snprintf(database, sizeof database, "%s/faults.db", check_folder());
    snprintf(command, sizeof command,
             "%s tune --device 0 --db %s --type f32 --templates %s --family faulty --effort full --shapes 300x200x100 "
             "--timeout %gs",
             program, database, faults, limit());
    const double start = seconds();
    const int code = system(command);
    const double took = seconds() - start;
    printf("took %.1f s\n", took);
    CHECK(WIFEXITED(code) && WEXITSTATUS(code) == 0);
    /* One hang; five workers lost at about a second each to start anew; the good ones in a fraction of their limit. Other
     * tests may keep the software GPU's cores busy. */
    CHECK(took < 10 * limit());
    static const char *const expected[] = {
        [1] = "compile_error", [2] = "timeout",       [3] = "crash",         [4] = "out_of_bounds", [5] = "wrong_result",
        [6] = "out_of_bounds", [7] = "out_of_bounds", [8] = "wrong_result",  [9] = "wrong_result",  [10] = "wrong_result",
    };
    CHECK_OK(gt_store_open(database, GT_STORE_READ, &store));
    for (int fault = 1; fault <= 10; fault++) {
        snprintf(sql, sizeof sql,
                 "SELECT outcome FROM trial JOIN kernel_param USING (kernel) WHERE name = 'fault' AND value = %d", fault);
        const char *outcome = ask(store, sql);
        if (strcmp(outcome, expected[fault]) != 0)
            check_fail(__FILE__, __LINE__, "fault %d gave %s, not %s", fault, outcome, expected[fault]);
        snprintf(sql, sizeof sql,
                 "SELECT detail FROM trial JOIN kernel_param USING (kernel) WHERE name = 'fault' AND value = %d", fault);
        printf("fault %d: %s: %s\n", fault, expected[fault], ask(store, sql));
        CHECK(strlen(ask(store, sql)) > 5);
        CHECK(fault != 3 || strstr(ask(store, sql), "(check 3x"));
    }
    CHECK_STR(ask(store, "SELECT count(*) FROM trial WHERE outcome = 'ok' AND stage = 'screen'"), "4");
    CHECK(strstr(ask(store, "SELECT params FROM best_configs"), "fault=0"));
    gt_store_close(store);
}

/* Tunes a family of ours that sums in no fixed order, and sees that this was found. */
static void find_varied(const char *family, const char *shape, char database[512])
{
    const char *program = getenv("GEMMTUNE"), *faults = getenv("GEMMTUNE_FAULTS");
    char command[2048];
    gt_store *store;
    if (!program || !faults)
        SKIP("GEMMTUNE and GEMMTUNE_FAULTS name the program and the templates");
    snprintf(database, 512, "%s/%s.db", check_folder(), family);
    snprintf(command, sizeof command, "%s tune --quiet --no-cublas --db %s --type f32 --templates %s --family %s "
                                      "--shapes %s > /dev/null", program, database, faults, family, shape);
    const int code = system(command);
    CHECK(WIFEXITED(code) && WEXITSTATUS(code) == 0);
    CHECK_OK(gt_store_open(database, GT_STORE_READ, &store));
    CHECK_STR(ask(store, "SELECT deterministic FROM kernel"), "0");
    gt_store_close(store);
}

static bool is_soft(void)
{
    gt_driver *driver;
    if (gt_driver_open(NULL, &driver) != GT_OK)
        SKIP(gt_error_message());
    const bool soft = driver->soft != NULL;
    gt_driver_close(driver);
    return soft;
}

/* The software GPU runs warps in one order and cannot show it. */
TEST(a_kernel_that_sums_in_no_fixed_order_is_not_sold_as_deterministic)
{
    char database[512];
    if (is_soft())
        SKIP("the software GPU has one order");
    find_varied("atomics", "256x256x8192", database);
    const gt_options options = {.database = database};
    gt_gemm gemm = GT_GEMM(GT_F32, 256, 256, 8192);
    gt_context *gt;
    gt_plan *plan;
    gt_description d;
    CHECK_OK(gt_open(&options, &gt));
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    CHECK_OK(gt_plan_describe(plan, &d));
    CHECK(!d.deterministic);
    gt_plan_destroy(plan);
    gemm.deterministic = 1;
    CHECK_STATUS(gt_plan_gemm(gt, &gemm, &plan), GT_ERROR_NOT_TUNED);
    gt_close(gt);
}

/* The software GPU runs blocks in several orders. */
TEST(a_kernel_that_sums_in_no_fixed_order_only_where_there_is_a_C_is_not_deterministic)
{
    char database[512];
    if (!is_soft())
        SKIP("a GPU has an order of its own");
    find_varied("arrival", "32x64x96", database);
}

CHECK_MAIN
