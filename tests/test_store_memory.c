/* What the store does when memory runs out: every allocation of SQLite fails once, and from there on. */
#include "store_fixture.h"

/* The countdown: SQLite's allocation number n fails, and all after it if `for_good`. */
static sqlite3_mem_methods real;
static long countdown = -1;
static bool for_good;

static bool out_of_memory(void)
{
    if (countdown < 0)
        return false;
    if (countdown > 0) {
        countdown--;
        return false;
    }
    if (!for_good)
        countdown = -1;
    return true;
}

static void *failing_malloc(int bytes)
{
    return out_of_memory() ? NULL : real.xMalloc(bytes);
}

static void *failing_realloc(void *old, int bytes)
{
    return out_of_memory() ? NULL : real.xRealloc(old, bytes);
}

__attribute__((constructor)) static void install_countdown(void)
{
    sqlite3_mem_methods failing;
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0); /* every allocation is counted */
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real);
    failing = real;
    failing.xMalloc = failing_malloc;
    failing.xRealloc = failing_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &failing);
}

/* Everything the store does, once. The first failure ends it. */
static gt_status whole_life(const char *path)
{
    const gt_run run = {"0.1.0", "13.0", "13.0", "host", "", 1};
    const gt_kernel kernel = make_kernel(1);
    const gt_device device = make_device("NVIDIA H200");
    const gt_problem problem = make_problem(64, 64, 64);
    const gt_trial trial = make_win(3, 0.1);
    gt_trial got;
    gt_store *store = NULL;
    gt_code code = {0};
    gt_measurements measured = {0};
    gt_convictions convictions = {0};
    int64_t run_id, gpu, id, kernels, trials;
    bool found;
    char answer[128];
    gt_status status = gt_store_open(path, GT_STORE_WRITE, &store);
#define NEXT(call) status = status == GT_OK ? (call) : status
    NEXT(gt_store_run_begin(store, &run, &run_id));
    NEXT(gt_store_gpu(store, &device, &gpu));
    NEXT(gt_store_problem(store, &problem, &id));
    NEXT(gt_store_put_trial(store, run_id, gpu, id, &kernel, &code_of_tests, &trial));
    NEXT(gt_store_find_trial(store, gpu, id, &kernel, &found, &got));
    NEXT(gt_store_query(store, "SELECT m FROM best_configs", NULL, keep_first, answer));
    NEXT(gt_store_find_convicted(store, &device, &convictions));
    NEXT(gt_store_forget(store, &(gt_forget){.family = "nobody's"}, &kernels, &trials));
    gt_convictions_finish(&convictions);
    gt_store_close(store);
    store = NULL;
    NEXT(gt_store_open(path, GT_STORE_READ, &store));
    NEXT(gt_store_find_measured(store, &device, &problem.class, &measured));
    NEXT(gt_store_find_code(store, 1, NULL, &code));
#undef NEXT
    CHECK(status != GT_OK || measured.count == 1);
    gt_code_finish(&code);
    gt_measurements_finish(&measured);
    gt_store_close(store);
    return status;
}

TEST(out_of_memory_anywhere_is_reported_and_harms_nothing)
{
    char memory[] = "/dev/shm/gemmtune-test-XXXXXX"; /* hundreds of databases: where syncing costs nothing */
    const char *folder = mkdtemp(memory) ? memory : check_folder();
    int failures = 0;
    for (int forever = 0; forever < 2; forever++)
        for (long at = 0;; at += 1 + at / 20) { /* each of the first twenty, then ever fewer */
            const char *path = in_folder(folder, "gemmtune.db");
            gt_store *store = NULL;
            for_good = forever;
            countdown = at;
            const gt_status status = whole_life(path);
            const bool reached = countdown <= 0;
            countdown = -1;
            if (status != GT_OK)
                CHECK_STATUS(status, GT_ERROR_MEMORY);
            failures += status != GT_OK;
            CHECK_OK(gt_store_open(path, GT_STORE_WRITE, &store));
            CHECK_STR(ask(store, "PRAGMA integrity_check"), "ok");
            gt_store_close(store);
            CHECK(remove(path) == 0);
            if (!reached)
                break;
        }
    CHECK(failures > 100);
    rmdir(memory);
}

CHECK_MAIN
