/* Made-up GPUs, problems, kernels and trials for the tests of the store. */
#ifndef STORE_FIXTURE_H
#define STORE_FIXTURE_H

#include <sqlite3.h>

#include "../db/internal.h"
#include "check.h"

static inline const char *in_folder(const char *folder, const char *name)
{
    static char paths[8][256];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static inline gt_device make_device(const char *name)
{
    gt_device device;
    CHECK_OK(gt_device_model(90, &device));
    snprintf(device.name, sizeof device.name, "%s", name);
    device.sm_count = 132;
    device.memory_bytes = 140ll << 30;
    return device;
}

static inline gt_problem make_problem(int64_t m, int64_t n, int64_t k)
{
    const gt_gemm gemm = GT_GEMM(GT_F32, m, n, k);
    gt_problem problem;
    CHECK_OK(gt_problem_init(&gemm, &problem));
    return problem;
}

/* Another number, another kernel. */
static inline gt_kernel make_kernel(int number)
{
    gt_kernel kernel = {.family = "simt", .nvrtc = "13.0", .arch = "sm_90a", .tile_m = 128, .tile_n = 256, .split_k = 1,
                        .threads = 256, .smem_bytes = 49152, .cluster = 1, .blocks = 132, .repack = 2, .early = true, .ws_tile = 64,
                        .registers = 168, .spills = 8, .deterministic = true};
    char source[32];
    snprintf(source, sizeof source, "source %d", number);
    gt_hash(source, strlen(source), kernel.source_hash);
    snprintf(kernel.params, sizeof kernel.params, "bm=128 bn=256 bk=16 stages=%d", number);
    return kernel;
}

static inline gt_trial make_trial(double us)
{
    return (gt_trial){.us = us, .us_min = us * 0.9, .us_spread = 0.01, .us_cold = us * 1.5, .samples = 30,
                      .clock_mhz = 1980, .error = 1e-7, .margin = -1, .registers = 168, .spills = 8};
}

static inline gt_trial make_win(double us, double margin)
{
    gt_trial trial = make_trial(us);
    trial.stage = GT_STAGE_RACE;
    trial.margin = margin;
    return trial;
}

static char code_bytes[] = "these bytes pretend to be a cubin", ptx_bytes[] = ".version 8.0";
static const gt_code code_of_tests = {.cubin = code_bytes, .cubin_bytes = sizeof code_bytes, .ptx = ptx_bytes,
                                      .ptx_bytes = sizeof ptx_bytes - 1};

/* A store in a fresh folder with one run, GPU and problem. */
typedef struct fixture {
    const char *path;
    gt_store *store;
    gt_device device;
    gt_problem problem;
    int64_t run, gpu, problem_id;
} fixture;

static inline void fixture_rows(fixture *f)
{
    const gt_run run = {"0.1.0", "13.0", "13.0", "host", "gemmtune --device 0", UINT64_MAX};
    f->device = make_device("NVIDIA H200");
    f->problem = make_problem(4096, 2048, 1024);
    CHECK_OK(gt_store_run_begin(f->store, &run, &f->run));
    CHECK_OK(gt_store_gpu(f->store, &f->device, &f->gpu));
    CHECK_OK(gt_store_problem(f->store, &f->problem, &f->problem_id));
}

static inline fixture fixture_open(void)
{
    fixture f = {.path = NULL};
    f.path = strdup(in_folder(check_folder(), "gemmtune.db"));
    CHECK_OK(gt_store_open(f.path, GT_STORE_WRITE, &f.store));
    fixture_rows(&f);
    return f;
}

static inline void fixture_close(fixture *f)
{
    gt_store_close(f->store);
    free((char *)f->path);
    *f = (fixture){0};
}

static inline gt_status put(const fixture *f, const gt_kernel *kernel, const gt_code *code, gt_trial trial)
{
    return gt_store_put_trial(f->store, f->run, f->gpu, f->problem_id, kernel, code, &trial);
}

static inline gt_status put_baseline(const fixture *f, const char *name, double us)
{
    const gt_trial trial = make_trial(us);
    return gt_store_put_baseline(f->store, f->run, f->gpu, f->problem_id, name, "13.0", &trial);
}

/* Does to a file what the store never would. */
static inline void vandalise(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    char *message = NULL;
    sqlite3_exec(db, sql, NULL, NULL, &message);
    sqlite3_close(db);
    CHECK_STR(message ? message : "", "");
}

static inline int keep_first(void *data, int columns, const char *const *names, const char *const *values)
{
    (void)columns, (void)names;
    snprintf(data, 128, "%s", values[0] ? values[0] : "(null)");
    return 1;
}

/* The first value that a query gives, "" without a row. */
static inline const char *ask(gt_store *store, const char *sql)
{
    static char answers[8][128];
    static int next;
    char *answer = answers[next++ % 8];
    answer[0] = '\0';
    CHECK_OK(gt_store_query(store, sql, NULL, keep_first, answer));
    return answer;
}

#endif
