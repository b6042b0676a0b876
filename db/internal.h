/* What the store's files share: the connection, statements, and rows in and out. */
#ifndef GT_STORE_INTERNAL_H
#define GT_STORE_INTERNAL_H

#include <limits.h>
#include <sqlite3.h>

#include "../src/core/status.h"
#include "store.h"

#define GT_APPLICATION_ID 0x474d5431 /* as in schema.sql */
#define GT_STORE_STATEMENTS 64
#define GT_ANY_LENGTH ((size_t)1 << 20) /* of texts that have no limit of their own */

struct gt_store {
    sqlite3 *db;
    gt_store_mode mode;
    char path[PATH_MAX]; /* absolute, so that SQLite never takes it for a URI or a name with a meaning */
    bool has_views;      /* of its own, before those of the file */
    struct {
        const char *sql; /* a literal: found again by its address */
        sqlite3_stmt *statement;
    } statements[GT_STORE_STATEMENTS]; /* prepared once */
};

extern const char gt_embedded_schema_sql[], gt_embedded_schema_2_sql[], gt_embedded_schema_3_sql[],
    gt_embedded_schema_4_sql[], gt_embedded_schema_5_sql[], gt_embedded_schema_6_sql[], gt_embedded_schema_7_sql[],
    gt_embedded_views_sql[];

/* migrate.c: the format this program writes, and the way to it from an earlier one, 0 for an empty file, inside a write
 * transaction with foreign keys off. */
int64_t gt_migrate_format(void);
gt_status gt_migrate(gt_store *store, int64_t from);

/* Makes the views that people ask: "VIEW" in the file, "TEMP VIEW IF NOT EXISTS" before it, for this connection. */
gt_status gt_migrate_views(gt_store *store, const char *kind);

/* place.c: the file's absolute path; in WRITE mode makes its folders. GT_ERROR_NO_DATABASE in READ mode. */
gt_status gt_place_resolve(const char *path, gt_store_mode mode, char absolute[PATH_MAX]);

/* trust.c: GT_ERROR_UNTRUSTED if somebody other than the user and root can change or replace this file, or
 * put one in its place where there is none yet. */
gt_status gt_trust_check(const char *absolute);

/* sql.c: opens store->path with every guard SQLite has. May leave store->db set on failure: gt_store_close. */
gt_status gt_sql_connect(gt_store *store);

/* The gt_status of an SQLite result code, with a line that names the file and what to do. */
gt_status gt_sql_fail(const gt_store *store, int code);

/* Runs SQL of our own without parameters and rows; may be many statements. */
gt_status gt_sql_execute(gt_store *store, const char *sql);

/* One write transaction: begin, the statements, end. End commits if status is GT_OK, else undoes everything and
 * returns status. Where it returns GT_OK the transaction is on the disk. */
gt_status gt_sql_begin(gt_store *store);
gt_status gt_sql_end(gt_store *store, gt_status status);

/* sqlite3_prepare; in READ mode rolls an interrupted transaction back first. */
int gt_sql_prepare(gt_store *store, const char *sql, sqlite3_stmt **statement);

/* A statement with its parameters, bound in order. The first failure sticks and is reported by what runs it; what
 * is bound must live until then. */
typedef struct gt_bind {
    sqlite3_stmt *statement;
    int at, code;
} gt_bind;

/* start keeps the statement for the next time; sql is a literal. */
gt_bind gt_sql_start(gt_store *store, const char *sql);
void gt_bind_int(gt_bind *bind, int64_t value);
void gt_bind_real(gt_bind *bind, double value);     /* NaN becomes NULL */
void gt_bind_positive(gt_bind *bind, double value); /* anything but a finite number above zero becomes NULL */
void gt_bind_text(gt_bind *bind, const char *value, size_t limit); /* reads at most limit bytes */
void gt_bind_blob(gt_bind *bind, const void *value, size_t bytes); /* NULL is allowed */

/* Runs a statement that gives no rows. */
gt_status gt_sql_run(gt_store *store, gt_bind *bind);

/* Runs a query for one integer; *found is false if there is no row. */
gt_status gt_sql_find(gt_store *store, gt_bind *bind, bool *found, int64_t *value);

/* The next row: SQLITE_ROW, SQLITE_DONE or an error. In READ mode rolls an interrupted transaction back first. */
int gt_sql_step(gt_store *store, gt_bind *bind);

/* Ends a query, also in the middle; code is the last step's. */
gt_status gt_sql_done(gt_store *store, gt_bind *bind, int code);

/* The columns of a row, taken in order. A column of the wrong kind or out of range makes the row bad: file contents are
 * untrusted. */
typedef struct gt_take {
    sqlite3_stmt *row;
    int at;
    bool bad;
} gt_take;

int64_t gt_take_int(gt_take *take, int64_t low, int64_t high);
double gt_take_real(gt_take *take, double low, double high, double absent); /* absent: what NULL means */
void gt_take_text(gt_take *take, char *text, size_t size);

/* Room for one more element behind `count` of them; *room is how many fit. */
gt_status gt_list_grow(void **list, size_t count, size_t *room, size_t element);

/* The class of a row `p` of problem, as gt_class_text has it. */
#define GT_PROBLEM_CLASS "p.type || ' ' || p.math || ' ' || p.epilogue || ' ' || p.layout || ' ' || p.align"

/* seal.c: a kernel's row, held against its seal. */
typedef struct gt_kernel_row {
    gt_kernel kernel;
    gt_class class;                                            /* that it was rendered for */
    char cubin_hash[GT_HASH_LENGTH], ptx_hash[GT_HASH_LENGTH]; /* "": no code */
    bool intact; /* the row is there, and its seal is that of what it says */
    bool usable; /* and what it says makes sense */
} gt_kernel_row;

/* Asks for a kernel by its id, its cubin and PTX behind all else; how that is taken, up to them. */
extern const char gt_kernel_sql[];
void gt_take_kernel(gt_take *take, gt_kernel_row *row);

/* A kernel by its row's id; params are read of an intact one only. */
gt_status gt_kernel_read(gt_store *store, int64_t id, gt_kernel_row *row);

/* Seals a row as it is: for what was just written. */
gt_status gt_kernel_reseal(gt_store *store, int64_t id);

/* Classes and seals for a database of a format before them, of which all must be believed. A kernel whose trials do not
 * tell its class loses its code. */
gt_status gt_seal_all(gt_store *store);

/* Says which kernel is damaged: GT_ERROR_CORRUPT, "PATH: the WHAT of kernel FAMILY (PARAMS) WHY; ...". */
gt_status gt_kernel_fail(gt_store *store, int64_t id, const char *what, const char *why);

/* kernel.c: the row of a kernel, if there is one; the same, made where there is none and mended where it is damaged,
 * inside a write transaction. class is that of the problem it runs: GT_ERROR_INVALID where the kernel was rendered for
 * another that does not serve it. NULL: not known, for a kernel that has no code and gets none. */
gt_status gt_kernel_find(gt_store *store, const gt_kernel *kernel, bool *found, int64_t *id);
gt_status gt_kernel_put(gt_store *store, const gt_kernel *kernel, const gt_class *class, const gt_code *code,
                        int64_t *id);

/* trial.c: a trial's columns, of a table or query `t`, and how they are taken. */
#define GT_LONGEST_US 1e12 /* eleven days */
#define GT_TRIAL_COLUMNS                                                                                     \
    "t.outcome, t.stage, t.detail, t.us, t.us_min, t.us_spread, t.us_cold, t.samples, t.stopped_early, t.timing," \
    " t.clock_mhz, t.error, t.margin, t.registers, t.spills, t.seed"
void gt_take_trial(gt_take *take, gt_trial *trial);
uint64_t gt_take_seed(gt_take *take); /* NULL is 0 */

/* The name in the database, "screen". */
const char *gt_stage_name(gt_stage stage);

/*
 * The rule of convictions, for every query that must know it. A trial whose outcome says that the code is wrong (a
 * wrong result, a write out of bounds, a crash, a timeout: gt_outcome_convicts) convicts its code: all kernels of that
 * source, compiler and architecture, on every size and GPU. Only a later verification clears it, passed by the same
 * code on the same problem and seed. An outcome that nobody knows convicts, too. The condition on outcome is that of
 * the index trial_failed.
 */
#define GT_SAME_CODE(a, b)                                                                                   \
    a ".source_hash = " b ".source_hash AND " a ".nvrtc = " b ".nvrtc AND " a ".arch = " b ".arch"
#define GT_SEED(t) "coalesce(" t ".seed, (SELECT seed FROM run WHERE id = " t ".run))"
#define GT_NO_BLAME "('ok', 'compile_error', 'launch_error', 'over_resources')"
/* Screenings `t` in which the machine failed, not the candidate: earlier versions stored them. They count as not made. */
#define GT_MACHINE_FAILED(t)                                                                                 \
    "(" t ".outcome = 'launch_error' AND (" t ".detail GLOB 'the worker *' OR " t ".detail GLOB 'no answer within *')" \
    " OR " t ".outcome = 'over_resources' AND " t ".detail GLOB '* needs * GiB free'"                        \
    " OR " t ".outcome = 'compile_error' AND " t ".detail GLOB 'NVRTC*')"
#define GT_CONVICTIONS                                                                                       \
    "SELECT f.id AS trial, f.tried_at, f.problem, " GT_SEED("f") " AS seed, b.source_hash, b.nvrtc, b.arch"  \
    " FROM trial f JOIN kernel b ON b.id = f.kernel WHERE f.outcome NOT IN " GT_NO_BLAME                     \
    " AND NOT EXISTS (SELECT 1 FROM trial v JOIN kernel a ON a.id = v.kernel WHERE v.stage = 'verify'"       \
    " AND v.outcome = 'ok' AND v.problem = f.problem AND v.tried_at > f.tried_at"                           \
    " AND " GT_SEED("v") " = " GT_SEED("f") " AND " GT_SAME_CODE("a", "b") ")"

/* Every kernel that is convicted, with the trial that did it. Also a view of the database, for people and
 * best_configs. */
#define GT_CONVICTED                                                                                         \
    "SELECT k.id AS kernel, c.trial FROM (" GT_CONVICTIONS ") c CROSS JOIN kernel k ON " GT_SAME_CODE("k", "c")

/* Opens the searches that may have passed over kernels for a conviction that is gone: those of all problems of the class that
 * they were rendered for. */
#define GT_OPEN_SEARCHES(kernels)                                                                            \
    "DELETE FROM searched WHERE problem IN (SELECT p.id FROM problem p WHERE " GT_PROBLEM_CLASS              \
    " IN (SELECT class FROM kernel WHERE id IN (" kernels ")))"

/* The best of the baselines' newest times on a problem, in microseconds; NULL: none. `more` narrows the rows `b` that
 * count. Two that are as new as each other, which takes two files, are both the newest. */
#define GT_BASELINE_US(problem, gpu, more) GT_BASELINE_LEAST("us", problem, gpu, more)
#define GT_BASELINE_LEAST(column, problem, gpu, more)                                                        \
    "(SELECT min(b." column ") FROM baseline b WHERE b.problem = " problem " AND b.gpu = " gpu " AND b.outcome = 'ok'" \
    " AND b.us IS NOT NULL" more " AND NOT EXISTS (SELECT 1 FROM baseline n WHERE n.problem = b.problem"     \
    " AND n.gpu = b.gpu AND n.name = b.name AND n.measured_at > b.measured_at AND n.outcome = 'ok'"          \
    " AND n.us IS NOT NULL AND n.timing = b.timing))"

/* measured.c: a problem of a class with its columns m, n, k, batch, align. */
void gt_take_problem(gt_take *take, const gt_class *class, gt_problem *problem);

/* put.c: the row of a problem, if there is one; a new one, inside a write transaction. */
gt_status gt_problem_find(gt_store *store, const gt_problem *problem, bool *found, int64_t *id);
gt_status gt_problem_insert(gt_store *store, const gt_problem *problem, int64_t *id);

/* The condition that a row of gpu is the model of a device, and its four parameters. What the driver leaves free of
 * the memory differs by some megabytes between its versions, so memory is compared with room; models that share a
 * name and differ in memory differ by more. */
#define GT_SAME_GPU "g.name = ? AND g.cc = ? AND g.sm_count = ? AND abs(g.memory_bytes - ?) <= g.memory_bytes / 10"
void gt_bind_gpu(gt_bind *bind, const gt_device *device);

#endif
