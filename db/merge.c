/* Merging: all that another file knows comes into this one, in one transaction. Rows keep their times and their runs,
 * and what tells a row apart is the same in every file, so the order of merges does not matter and a second one changes
 * nothing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"

/* 256 MiB hold the indices of a million rows. That references are good is known before a row is put (bind_row); for SQLite
 * to look them up again takes a quarter of the time. */
#define IN_BULK "PRAGMA cache_size = -262144; PRAGMA foreign_keys = OFF"
#define AS_EVER "PRAGMA foreign_keys = ON"

/* Tables whose rows are referred to by their ids. */
typedef enum referred { GPU, PROBLEM, RUN, KERNEL, REFERRED_COUNT, NOBODY = REFERRED_COUNT } referred;

/* The ids of one table, theirs in ascending order, and what they are here. */
typedef struct id_map {
    struct id_pair {
        int64_t theirs, ours;
    } *list;
    size_t count, room;
} id_map;

typedef struct merge {
    gt_store *into, *from;
    id_map maps[REFERRED_COUNT];
} merge;

/* How the rows of a table come over. */
typedef struct merged_table {
    const char *read;   /* theirs: the id, where others refer to it, in ascending order, and the columns */
    const char *insert; /* the columns as they are read; a row that is here already is passed over */
    const char *find;   /* the id of that row here, by the first columns; NULL: nobody refers to it */
    referred as;        /* under which others refer to it */
    referred columns[4]; /* the first columns, as long as they are references; NOBODY ends them */
} merged_table;

#define TRIAL_COLUMNS                                                                                        \
    "run, gpu, problem, kernel, stage, outcome, detail, timing, us, us_min, us_spread, us_cold, samples,"      \
    " stopped_early, clock_mhz, error, margin, registers, spills, tried_at, seed"
#define BASELINE_COLUMNS                                                                                     \
    "run, gpu, problem, name, version, outcome, detail, timing, us, us_min, us_spread, us_cold, samples, clock_mhz," \
    " error, measured_at"
#define RUN_COLUMNS "identity, program, driver, nvrtc, host, arguments, seed, started, ended, ending"

/* Cards of one model share a row, as they do where they are put (GT_SAME_GPU). */
static const merged_table gpus = {
    "SELECT id, name, cc, sm_count, memory_bytes, arch, clock_khz, l2_bytes, smem_limit FROM gpu ORDER BY id",
    "INSERT INTO gpu (name, cc, sm_count, memory_bytes, arch, clock_khz, l2_bytes, smem_limit)"
    " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE NOT EXISTS (SELECT 1 FROM gpu g WHERE g.name = ?1 AND g.cc = ?2"
    " AND g.sm_count = ?3 AND abs(g.memory_bytes - ?4) <= g.memory_bytes / 10)",
    "SELECT g.id FROM gpu g WHERE " GT_SAME_GPU " ORDER BY g.id LIMIT 1", GPU, {NOBODY}};
static const merged_table problems = {
    "SELECT id, type, math, layout, m, n, k, batch, align, epilogue FROM problem ORDER BY id",
    "INSERT INTO problem (type, math, layout, m, n, k, batch, align, epilogue) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (type, math, layout, m, n, k, batch, align, epilogue) DO NOTHING",
    "SELECT id FROM problem WHERE type = ? AND math = ? AND layout = ? AND m = ? AND n = ? AND k = ? AND batch = ?"
    " AND align = ? AND epilogue = ?", PROBLEM, {NOBODY}};
/* One that was still going when it was merged before may have ended. */
static const merged_table runs = {
    "SELECT id, " RUN_COLUMNS " FROM run ORDER BY id",
    "INSERT INTO run (" RUN_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (identity)"
    " DO UPDATE SET ended = excluded.ended, ending = excluded.ending"
    " WHERE run.ended IS NULL AND excluded.ended IS NOT NULL",
    "SELECT id FROM run WHERE identity = ?", RUN, {NOBODY}};
static const merged_table trials = {
    "SELECT " TRIAL_COLUMNS " FROM trial ORDER BY id",
    "INSERT INTO trial (" TRIAL_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (tried_at, run) DO NOTHING", NULL, NOBODY, {RUN, GPU, PROBLEM, KERNEL}};
static const merged_table baselines = {
    "SELECT " BASELINE_COLUMNS " FROM baseline ORDER BY id",
    "INSERT INTO baseline (" BASELINE_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (measured_at, run) DO NOTHING", NULL, NOBODY, {RUN, GPU, PROBLEM, NOBODY}};
static const merged_table searches = {
    "SELECT run, gpu, problem, search FROM searched",
    "INSERT INTO searched (run, gpu, problem, search) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (gpu, problem, search) DO NOTHING", NULL, NOBODY, {RUN, GPU, PROBLEM, NOBODY}};
/* The most that a GPU could do is the larger of two that were found in the same way. */
static const merged_table peaks = {
    "SELECT gpu, type, math, tflops, source FROM peak",
    "INSERT INTO peak (gpu, type, math, tflops, source) VALUES (?, ?, ?, ?, ?) ON CONFLICT (gpu, type, math) DO UPDATE"
    " SET tflops = excluded.tflops, source = excluded.source"
    " WHERE (excluded.source = 'measured', excluded.tflops) > (peak.source = 'measured', peak.tflops)",
    NULL, NOBODY, {GPU, NOBODY}};
static const merged_table bandwidths = {
    "SELECT gpu, copy_tbs FROM bandwidth",
    "INSERT INTO bandwidth (gpu, copy_tbs) VALUES (?, ?) ON CONFLICT (gpu) DO UPDATE"
    " SET copy_tbs = max(copy_tbs, excluded.copy_tbs)", NULL, NOBODY, {GPU, NOBODY}};

/* A fit follows from trials, and has no time: the one that is here stays, until `gemmtune fit` makes a new one. */
static const merged_table coefficients = {
    "SELECT gpu, type, math, family, term, value FROM coefficient",
    "INSERT INTO coefficient (gpu, type, math, family, term, value) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (gpu, type, math, family, term) DO NOTHING", NULL, NOBODY, {GPU, NOBODY}};
/* Calls are counted up where a program runs. The larger count has the smaller one in it where the files are of one
 * machine, and a sum would grow with every merge. Processes of one job are seen last in the same second: of their times the
 * larger ones stay, whichever comes first. */
#define NEWER_WANTED                                                                                         \
    "(excluded.last_seen, excluded.tunable, excluded.us, excluded.saved_us) > (last_seen, tunable, us, saved_us)"
static const merged_table wants = {
    "SELECT gpu, problem, symbol, fate, program, tunable, calls, us, saved_us, first_seen, last_seen FROM wanted",
    "INSERT INTO wanted (gpu, problem, symbol, fate, program, tunable, calls, us, saved_us, first_seen, last_seen)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (gpu, problem, symbol, fate, program) DO UPDATE SET"
    " (tunable, us, saved_us) = (SELECT excluded.tunable, excluded.us, excluded.saved_us"
    "  WHERE " NEWER_WANTED " UNION ALL SELECT tunable, us, saved_us LIMIT 1),"
    " calls = max(calls, excluded.calls), first_seen = min(first_seen, excluded.first_seen),"
    " last_seen = max(last_seen, excluded.last_seen)"
    " WHERE excluded.calls > calls OR excluded.first_seen < first_seen OR " NEWER_WANTED,
    NULL, NOBODY, {GPU, PROBLEM, NOBODY}};

static gt_status fail_damaged(const merge *m, const char *what)
{
    return gt_fail(GT_ERROR_DATABASE, "%s: damaged, %s; nothing of it was merged", m->from->path, what);
}

static gt_status map_add(id_map *map, int64_t theirs, int64_t ours)
{
    const gt_status status = gt_list_grow((void **)&map->list, map->count, &map->room, sizeof *map->list);
    if (status == GT_OK)
        map->list[map->count++] = (struct id_pair){theirs, ours};
    return status;
}

static int by_theirs(const void *key, const void *element)
{
    const int64_t id = *(const int64_t *)key, theirs = ((const struct id_pair *)element)->theirs;
    return (id > theirs) - (id < theirs);
}

static bool map_find(const id_map *map, int64_t theirs, int64_t *ours)
{
    const struct id_pair *pair =
        map->count ? bsearch(&theirs, map->list, map->count, sizeof *map->list, by_theirs) : NULL;
    if (pair)
        *ours = pair->ours;
    return pair != NULL;
}

/* Binds as many of a row's columns as a statement takes. */
static gt_status bind_row(const merge *m, const merged_table *table, sqlite3_stmt *row, gt_bind *bind)
{
    const int first = table->as != NOBODY, count = sqlite3_bind_parameter_count(bind->statement);
    bool references = true;
    for (int i = 0; i < count && bind->code == SQLITE_OK; i++) {
        int64_t ours;
        references = references && i < 4 && table->columns[i] != NOBODY;
        if (!references) {
            bind->code = sqlite3_bind_value(bind->statement, ++bind->at, sqlite3_column_value(row, first + i));
        } else {
            if (!map_find(&m->maps[table->columns[i]], sqlite3_column_int64(row, first + i), &ours))
                return fail_damaged(m, "a row refers to one that is not there");
            gt_bind_int(bind, ours);
        }
    }
    return GT_OK;
}

static gt_status merge_row(merge *m, const merged_table *table, sqlite3_stmt *row, int64_t *added)
{
    bool found = false;
    int64_t ours = 0;
    gt_bind bind = gt_sql_start(m->into, table->insert);
    gt_status status = bind.code == SQLITE_OK ? bind_row(m, table, row, &bind) : GT_OK;
    if (status == GT_OK)
        status = gt_sql_run(m->into, &bind);
    if (status == GT_ERROR_INVALID) /* the table's own checks */
        status = fail_damaged(m, "a row makes no sense");
    if (status == GT_OK)
        *added += sqlite3_changes64(m->into->db);
    if (status != GT_OK || !table->find)
        return status;
    bind = gt_sql_start(m->into, table->find);
    status = bind.code == SQLITE_OK ? bind_row(m, table, row, &bind) : GT_OK;
    if (status == GT_OK)
        status = gt_sql_find(m->into, &bind, &found, &ours);
    if (status == GT_OK && !found)
        status = fail_damaged(m, "a row makes no sense");
    return status == GT_OK ? map_add(&m->maps[table->as], sqlite3_column_int64(row, 0), ours) : status;
}

/* *added counts the rows that are new here, or changed. */
static gt_status merge_table(merge *m, const merged_table *table, int64_t *added)
{
    gt_status status = GT_OK;
    int code;
    gt_bind read = gt_sql_start(m->from, table->read);
    while ((code = gt_sql_step(m->from, &read)) == SQLITE_ROW && status == GT_OK)
        status = merge_row(m, table, read.statement, added);
    const gt_status ended = gt_sql_done(m->from, &read, code);
    return status == GT_OK ? ended : status;
}

/* The code that comes over with a kernel: where there is none here, else, of two that were compiled from one source,
 * the one with the smaller hash, whichever came first. */
static gt_status choose_code(merge *m, int64_t theirs, const gt_kernel_row *row, gt_code *code)
{
    gt_kernel_row here = {0};
    int64_t ours = 0;
    bool found = false;
    gt_status status = gt_kernel_find(m->into, &row->kernel, &found, &ours);
    if (status == GT_OK && found)
        status = gt_kernel_read(m->into, ours, &here);
    if (status != GT_OK)
        return status;
    const int order = here.intact && *here.cubin_hash ? strcmp(row->cubin_hash, here.cubin_hash) : -1;
    return order < 0 || (order == 0 && !*here.ptx_hash) ? gt_store_find_code(m->from, theirs, &row->kernel, code) : GT_OK;
}

/* One kernel, which must be what its seal says where it has code. A row without needs none: it is there for the
 * failures of its trials. */
static gt_status merge_kernel(merge *m, int64_t theirs, bool has_code)
{
    gt_kernel_row row;
    gt_code code = {0};
    int64_t ours = 0;
    gt_status status = gt_kernel_read(m->from, theirs, &row);
    if (status == GT_OK && has_code && !row.usable)
        status = gt_kernel_fail(m->from, theirs, "row", "does not match its hash");
    if (status == GT_OK && has_code)
        status = choose_code(m, theirs, &row, &code);
    if (status == GT_OK)
        status = gt_kernel_put(m->into, &row.kernel, row.intact ? &row.class : NULL, code.cubin ? &code : NULL, &ours);
    gt_code_finish(&code);
    return status == GT_OK ? map_add(&m->maps[KERNEL], theirs, ours) : status;
}

static gt_status merge_kernels(merge *m)
{
    gt_status status = GT_OK;
    int code;
    gt_bind read = gt_sql_start(m->from, "SELECT id, cubin_hash IS NOT NULL OR ptx_hash IS NOT NULL FROM kernel"
                                         " ORDER BY id");
    while ((code = gt_sql_step(m->from, &read)) == SQLITE_ROW && status == GT_OK)
        status = merge_kernel(m, sqlite3_column_int64(read.statement, 0), sqlite3_column_int(read.statement, 1) != 0);
    const gt_status ended = gt_sql_done(m->from, &read, code);
    return status == GT_OK ? ended : status;
}

static int take_verdict(void *data, int columns, const char *const *names, const char *const *values)
{
    (void)columns, (void)names;
    *(bool *)data = values[0] && strcmp(values[0], "ok") == 0;
    return 1;
}

/* Reads every page, which nobody does who opens a file: what is merged is not looked at again for a long time. Rows of
 * tomorrow would be the newest for ever. */
static gt_status check_from(merge *m)
{
    bool whole = false, found = false;
    int64_t odd = 0;
    gt_status status = gt_store_query(m->from, "PRAGMA quick_check(1)", NULL, take_verdict, &whole);
    if (status != GT_OK)
        return status;
    if (!whole)
        return fail_damaged(m, "its pages are not what they should be");
    gt_bind bind = gt_sql_start(m->from, "SELECT EXISTS (SELECT 1 FROM trial WHERE tried_at < '2000' OR"
                                         " tried_at > datetime('now', '+1 day')) OR EXISTS (SELECT 1 FROM baseline"
                                         " WHERE measured_at < '2000' OR measured_at > datetime('now', '+1 day'))");
    status = gt_sql_find(m->from, &bind, &found, &odd);
    if (status == GT_OK && odd)
        return gt_fail(GT_ERROR_DATABASE, "%s: has rows of the future, or of long ago; the clock of its machine or of "
                                          "this one is wrong, and nothing of it was merged",
                       m->from->path);
    return status;
}

/* What must come first comes first: rows are referred to. */
static gt_status merge_all(merge *m, gt_merged *merged)
{
    int64_t others = 0;
    gt_status status = check_from(m);
    if (status == GT_OK)
        status = merge_table(m, &gpus, &others);
    if (status == GT_OK)
        status = merge_table(m, &problems, &merged->problems);
    if (status == GT_OK)
        status = merge_table(m, &runs, &merged->runs);
    if (status == GT_OK)
        status = merge_kernels(m);
    if (status == GT_OK)
        status = merge_table(m, &trials, &merged->trials);
    if (status == GT_OK)
        status = merge_table(m, &baselines, &merged->baselines);
    if (status == GT_OK)
        status = merge_table(m, &searches, &others);
    if (status == GT_OK)
        status = merge_table(m, &peaks, &others);
    if (status == GT_OK)
        status = merge_table(m, &bandwidths, &others);
    if (status == GT_OK)
        status = merge_table(m, &coefficients, &others);
    return status == GT_OK ? merge_table(m, &wants, &others) : status;
}

/* SQLite's own writers wait while it is read; others do not. */
static bool changed(const struct stat *before, const struct stat *after)
{
    return before->st_ino != after->st_ino || before->st_size != after->st_size ||
           before->st_mtim.tv_sec != after->st_mtim.tv_sec || before->st_mtim.tv_nsec != after->st_mtim.tv_nsec;
}

/* Both files under their locks: a moment of one goes into the other. */
static gt_status merge_locked(merge *m, gt_merged *merged)
{
    struct stat before, after;
    gt_status status = gt_sql_begin(m->into);
    if (status != GT_OK)
        return status;
    status = gt_sql_execute(m->from, "BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1"); /* which takes the lock */
    if (status == GT_OK && stat(m->from->path, &before) != 0)
        status = gt_fail(GT_ERROR_IO, "%s: %s", m->from->path, strerror(errno));
    if (status == GT_OK)
        status = merge_all(m, merged);
    if (status == GT_OK && (stat(m->from->path, &after) != 0 || changed(&before, &after)))
        status = gt_fail(GT_ERROR_BUSY, "%s: changed while it was read; nothing of it was merged", m->from->path);
    status = gt_sql_end(m->from, status);
    return gt_sql_end(m->into, status);
}

gt_status gt_store_merge(gt_store *into, const char *from, gt_merged *merged)
{
    struct stat here, there;
    merge m = {.into = into};
    gt_merged counts = {0};
    if (stat(into->path, &here) == 0 && stat(from, &there) == 0 && here.st_dev == there.st_dev &&
        here.st_ino == there.st_ino)
        return gt_fail(GT_ERROR_INVALID, "%s: a file is not merged into itself", from);
    gt_status status = gt_store_open(from, GT_STORE_READ, &m.from);
    if (status == GT_OK)
        status = gt_sql_execute(into, IN_BULK);
    if (status == GT_OK)
        status = merge_locked(&m, &counts);
    const gt_status ended = gt_sql_execute(into, AS_EVER);
    if (status == GT_OK)
        status = ended;
    for (int i = 0; i < REFERRED_COUNT; i++)
        free(m.maps[i].list);
    gt_store_close(m.from);
    if (status == GT_OK)
        *merged = counts;
    return status;
}
