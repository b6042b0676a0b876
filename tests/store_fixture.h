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
    gt_kernel kernel = {
        .family = "simt", .nvrtc = "13.0", .arch = "sm_90a", .registers = 168, .spills = 8,
        .params = {4, {{"bm", 128}, {"bn", 256}, {"bk", 16}, {"stages", number}}},
    };
    for (size_t i = 0; i < GT_FACT_COUNT; i++) /* each its own, so that none is taken for another */
        *gt_fact(&kernel.facts, i) = gt_fact_rows[i].high - ((int64_t)i < gt_fact_rows[i].high ? (int64_t)i : 0);
    kernel.facts.tile_m = 128;
    kernel.facts.tile_n = 256;
    kernel.facts.split_k = 2 * kernel.facts.cluster_y; /* what any_split asks for */
    kernel.facts.deterministic = 1;
    char source[32];
    snprintf(source, sizeof source, "source %d", number);
    gt_hash(source, strlen(source), kernel.source_hash);
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

/* Two winners and a kernel that never compiled, as format 3 has them. */
static const char format_3[] __attribute__((unused)) =
    "CREATE VIEW best_configs AS SELECT params, early FROM kernel;"
    "INSERT INTO gpu VALUES (1, 'NVIDIA H200', 90, 'sm_90a', 132, 1980000, 150323855360, 1, 1);"
    "INSERT INTO run (id, program, driver, nvrtc, host, arguments, seed) VALUES (1, '', '', '', '', '', '1');"
    "INSERT INTO problem VALUES (1, 'f32', 'strict', 'nn', 4096, 2048, 1024, 1, 16, 'none'),"
    " (2, 'f32', 'strict', 'nn', 16, 16, 16, 1, 16, 'none');"
    "INSERT INTO kernel (id, family, params, source_hash, nvrtc, arch, tile_m, tile_n, split_k, threads, smem_bytes,"
    " cluster, ws_tile, deterministic, registers, spills, blocks, repack, early, cubin, cubin_hash)"
    " VALUES (7, 'simt_ws', 'bm=128 bn=256 bk=32 group=-8 stages=3', printf('%064d', 1), '13.0', 'sm_90a', 128, 256,"
    " 1, 384,"
    " 1000, 1, 64, 1, 168, 0, 132, 2, 1, x'00', '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d'),"
    " (9, 'skinny', 'bm=1 bn=32', printf('%064d', 2), '13.0', 'sm_90a', 1, 32, 1, 256, 1000, 8, 0, 1, 40, 0, 0, 0, 1,"
    " x'00', '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d'),"
    " (11, 'mine', '', printf('%064d', 3), '13.0', 'sm_90a', 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, NULL, NULL);"
    "INSERT INTO trial (run, gpu, problem, kernel, stage, outcome, detail, timing, us, samples, stopped_early, margin,"
    " registers, spills) VALUES (1, 1, 1, 7, 'race', 'ok', '', 'measured', 500, 30, 0, 0.02, 168, 0),"
    " (1, 1, 2, 9, 'race', 'ok', '', 'measured', 3, 30, 0, 0.02, 40, 0),"
    " (1, 1, 1, 11, 'screen', 'compile_error', 'no', 'measured', NULL, 0, 0, NULL, 0, 0);";

static inline void make_format_3(const char *path)
{
    vandalise(path, gt_embedded_schema_sql);
    vandalise(path, gt_embedded_schema_2_sql);
    vandalise(path, gt_embedded_schema_3_sql);
    vandalise(path, format_3);
}

/* The same one format on. */
static inline void make_format_4(const char *path)
{
    make_format_3(path);
    vandalise(path, "PRAGMA synchronous = OFF; DROP VIEW best_configs");
    vandalise(path, gt_embedded_schema_4_sql);
    vandalise(path,
              "PRAGMA synchronous = OFF;"
              "ALTER TABLE kernel DROP COLUMN params;"
              "ALTER TABLE kernel ADD COLUMN cluster_y INTEGER NOT NULL DEFAULT 1;"
              "ALTER TABLE kernel ADD COLUMN box_a_rows INTEGER NOT NULL DEFAULT 0;"
              "ALTER TABLE kernel ADD COLUMN box_a_columns INTEGER NOT NULL DEFAULT 0;"
              "ALTER TABLE kernel ADD COLUMN box_b_rows INTEGER NOT NULL DEFAULT 0;"
              "ALTER TABLE kernel ADD COLUMN box_b_columns INTEGER NOT NULL DEFAULT 0;"
              "ALTER TABLE kernel ADD COLUMN box_c_rows INTEGER NOT NULL DEFAULT 0;"
              "ALTER TABLE kernel ADD COLUMN box_c_columns INTEGER NOT NULL DEFAULT 0;"
              "ALTER TABLE kernel ADD COLUMN swizzle_ab INTEGER NOT NULL DEFAULT 0;"
              "ALTER TABLE kernel ADD COLUMN swizzle_c INTEGER NOT NULL DEFAULT 0;"
              "ALTER TABLE kernel ADD COLUMN map_promotion INTEGER NOT NULL DEFAULT 2;"
              "PRAGMA user_version = 4");
}

/* The format of a database that is whole: all of its kernels with their parameters, as one format or the other has
 * them. */
static inline int format_of(const char *path)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    CHECK(sqlite3_prepare_v2(db,
                             "SELECT user_version, (SELECT count(*) FROM kernel), (SELECT count(*) FROM trial),"
                             " (SELECT count(*) FROM pragma_foreign_key_check), (SELECT * FROM pragma_integrity_check)"
                             " FROM pragma_user_version",
                             -1, &row, NULL) == SQLITE_OK);
    CHECK(sqlite3_step(row) == SQLITE_ROW);
    const int format = sqlite3_column_int(row, 0);
    CHECK(sqlite3_column_int(row, 1) == 3 && sqlite3_column_int(row, 2) == 3 && sqlite3_column_int(row, 3) == 0);
    CHECK_STR((const char *)sqlite3_column_text(row, 4), "ok");
    sqlite3_finalize(row);
    CHECK(sqlite3_prepare_v2(db, format == 3 ? "SELECT sum(length(params)) FROM kernel"
                                             : "SELECT sum(length(name || '=' || value)) + 5 FROM kernel_param",
                             -1, &row, NULL) == SQLITE_OK);
    CHECK(sqlite3_step(row) == SQLITE_ROW);
    CHECK_INT(sqlite3_column_int(row, 0), 47); /* five blanks between seven parameters of two kernels */
    sqlite3_finalize(row);
    sqlite3_close(db);
    return format;
}

static inline void hash_file(const char *path, char hash[GT_HASH_LENGTH])
{
    static char bytes[8 << 20];
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    gt_hash(bytes, fread(bytes, 1, sizeof bytes, file), hash);
    fclose(file);
}

#endif
