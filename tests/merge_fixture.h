/* Files for the tests of merging. */
#ifndef MERGE_FIXTURE_H
#define MERGE_FIXTURE_H

#include "store_fixture.h"

/* Three files of a test. */
typedef struct files {
    const char *folder;
    char into[96], from[96], third[96];
} files;

static inline files make_files(void)
{
    files f = {.folder = check_folder()};
    snprintf(f.into, sizeof f.into, "%s/into.db", f.folder);
    snprintf(f.from, sizeof f.from, "%s/from.db", f.folder);
    snprintf(f.third, sizeof f.third, "%s/third.db", f.folder);
    return f;
}

static inline void copy_file(const char *from, const char *to)
{
    static char bytes[8 << 20];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    CHECK(in && out);
    const size_t count = fread(bytes, 1, sizeof bytes, in);
    CHECK(count < sizeof bytes && fwrite(bytes, 1, count, out) == count);
    CHECK(fclose(in) == 0 && fclose(out) == 0);
}

/* Nothing is lost by a crash of the machine here, and the disk is slow. */
static inline gt_store *open_quick(const char *path)
{
    gt_store *store = NULL;
    CHECK_OK(gt_store_open(path, GT_STORE_WRITE, &store));
    CHECK_OK(gt_sql_execute(store, "PRAGMA synchronous = OFF"));
    return store;
}

static inline gt_status merge_one(const char *into, const char *from)
{
    gt_store *store = open_quick(into);
    gt_merged merged;
    const gt_status status = gt_store_merge(store, from, &merged);
    gt_store_close(store);
    return status;
}

static inline void merge_into(gt_store *store, const char *from)
{
    gt_merged merged;
    CHECK_OK(gt_store_merge(store, from, &merged));
}

/* A file with a run of its own: a winner of this number, and its time. */
static inline void make_file(const char *path, int number, double us, const char *time)
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

#endif
