/* SQLite as the store uses it: one guarded connection, statements prepared once, one meaning for each failure. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "internal.h"

#define WRITER_WAIT_MS 30000
#define READER_WAIT_MS 2000 /* an application starts: it would rather run untuned than wait */
#define ROW_LIMIT (256 << 20) /* bytes; cubins are below 10 MB */

/* Extended codes stand before the primary code that they refine. */
static const struct {
    int code;
    gt_status status;
    const char *advice;
} failures[] = {
    {SQLITE_READONLY_ROLLBACK, GT_ERROR_BUSY,
     "an interrupted transaction has to be rolled back first, and this process may not write here; run `gemmtune best` "
     "once as the owner of the file"},
    {SQLITE_IOERR_NOMEM, GT_ERROR_MEMORY, "out of memory"},
    {SQLITE_NOMEM, GT_ERROR_MEMORY, "out of memory"},
    {SQLITE_BUSY, GT_ERROR_BUSY, "another process keeps it locked; try again when that one is done"},
    {SQLITE_LOCKED, GT_ERROR_BUSY, "another connection keeps it locked; try again when that one is done"},
    {SQLITE_FULL, GT_ERROR_IO, "the disk is full; free some space and run again, what was stored is intact"},
    {SQLITE_IOERR, GT_ERROR_IO,
     "cannot be read or written; check the disk's space and limits and run again, what was stored is intact"},
    {SQLITE_READONLY, GT_ERROR_IO, "cannot be written; check owner and mode of the file and its folder"},
    {SQLITE_CANTOPEN, GT_ERROR_IO, /* the file, or its journal, for which there may be no room */
     "cannot be opened; check owner and mode of the file and its folder, and quota and free inodes of the disk"},
    {SQLITE_PERM, GT_ERROR_IO, "cannot be opened; check owner and mode of the file and its folder"},
    {SQLITE_CONSTRAINT, GT_ERROR_INVALID, "refuses a value"},
    {SQLITE_TOOBIG, GT_ERROR_INVALID, "refuses a value that is too large"},
    {SQLITE_RANGE, GT_ERROR_INVALID, "more parameters than the query has"},
};

gt_status gt_sql_fail(const gt_store *store, int code)
{
    const char *why = store->db && sqlite3_extended_errcode(store->db) == code ? sqlite3_errmsg(store->db)
                                                                               : sqlite3_errstr(code);
    const int system = store->db ? sqlite3_system_errno(store->db) : 0;
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        if (failures[i].code != code && failures[i].code != (code & 0xff))
            continue;
        const bool io = failures[i].status == GT_ERROR_IO && system != 0;
        return gt_fail(failures[i].status, "%s: %s (%s%s%s)", store->path, failures[i].advice, why, io ? ", " : "",
                       io ? strerror(system) : "");
    }
    return gt_fail(GT_ERROR_DATABASE, "%s: not a gemmtune database, or damaged (%s); move it away and tune again",
                   store->path, why);
}

/* For files that may come from anybody: SQLite's own list of what to switch off, and limits with room for our own
 * queries. Nothing here reads the file. */
static int guard(sqlite3 *db)
{
    static const struct {
        int option, value;
    } options[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0}, {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 1},    {SQLITE_DBCONFIG_DQS_DML, 0},        {SQLITE_DBCONFIG_DQS_DDL, 0},
    };
    static const struct {
        int limit, value;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, ROW_LIMIT},      {SQLITE_LIMIT_SQL_LENGTH, 100000}, {SQLITE_LIMIT_COLUMN, 200},
        {SQLITE_LIMIT_EXPR_DEPTH, 100},        {SQLITE_LIMIT_COMPOUND_SELECT, 8}, {SQLITE_LIMIT_VDBE_OP, 25000},
        {SQLITE_LIMIT_FUNCTION_ARG, 16},       {SQLITE_LIMIT_ATTACHED, 0},        {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200},
    };
    int code = sqlite3_extended_result_codes(db, 1);
    for (size_t i = 0; i < sizeof options / sizeof options[0] && code == SQLITE_OK; i++)
        code = sqlite3_db_config(db, options[i].option, options[i].value, NULL);
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        sqlite3_limit(db, limits[i].limit, limits[i].value);
    /* A mapped file that somebody shortens would be a SIGBUS in the application. */
    if (code == SQLITE_OK)
        code = sqlite3_exec(db, "PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0", NULL,
                            NULL, NULL);
    return code;
}

gt_status gt_sql_connect(gt_store *store)
{
    const int flags = store->mode == GT_STORE_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    int code = sqlite3_open_v2(store->path, &store->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (code == SQLITE_OK)
        code = guard(store->db);
    if (code == SQLITE_OK)
        code = sqlite3_busy_timeout(store->db, store->mode == GT_STORE_WRITE ? WRITER_WAIT_MS : READER_WAIT_MS);
    return code == SQLITE_OK ? GT_OK : gt_sql_fail(store, code);
}

/* A writer was killed in a commit, and a read-only connection may not roll it back: a second connection that may write
 * does it, where the owner and mode of the file allow that. */
static bool recover(const gt_store *store)
{
    sqlite3 *db = NULL;
    int code = sqlite3_open_v2(store->path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK)
        code = guard(db);
    if (code == SQLITE_OK)
        code = sqlite3_busy_timeout(db, READER_WAIT_MS);
    if (code == SQLITE_OK)
        code = sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
    sqlite3_close(db);
    return code == SQLITE_OK;
}

static bool recovered(const gt_store *store, int code)
{
    return code == SQLITE_READONLY_ROLLBACK && store->mode == GT_STORE_READ && recover(store);
}

gt_status gt_sql_execute(gt_store *store, const char *sql)
{
    const int code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? GT_OK : gt_sql_fail(store, code);
}

gt_status gt_sql_begin(gt_store *store)
{
    if (store->mode == GT_STORE_READ)
        return gt_fail(GT_ERROR_IO, "%s: opened for reading only", store->path);
    return gt_sql_execute(store, "BEGIN IMMEDIATE");
}

gt_status gt_sql_end(gt_store *store, gt_status status)
{
    if (status == GT_OK)
        status = gt_sql_execute(store, "COMMIT");
    if (status != GT_OK && !sqlite3_get_autocommit(store->db)) /* a full disk may have rolled back already */
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

int gt_sql_prepare(gt_store *store, const char *sql, sqlite3_stmt **statement)
{
    int code = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
    if (recovered(store, code)) /* preparing reads the tables' definitions */
        code = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
    return code;
}

gt_bind gt_sql_start(gt_store *store, const char *sql)
{
    gt_bind bind = {.code = SQLITE_MISUSE}; /* more statements than room for them */
    for (size_t i = 0; i < GT_STORE_STATEMENTS; i++) {
        if (store->statements[i].sql == sql)
            return (gt_bind){.statement = store->statements[i].statement};
        if (store->statements[i].sql)
            continue;
        bind.code = gt_sql_prepare(store, sql, &bind.statement);
        if (bind.code == SQLITE_OK) {
            store->statements[i].sql = sql;
            store->statements[i].statement = bind.statement;
        }
        break;
    }
    return bind;
}

/* Whether to go on binding: not after a failure. */
static bool ready(gt_bind *bind)
{
    bind->at++;
    return bind->code == SQLITE_OK;
}

void gt_bind_int(gt_bind *bind, int64_t value)
{
    if (ready(bind))
        bind->code = sqlite3_bind_int64(bind->statement, bind->at, value);
}

void gt_bind_real(gt_bind *bind, double value)
{
    if (ready(bind))
        bind->code = sqlite3_bind_double(bind->statement, bind->at, value);
}

void gt_bind_positive(gt_bind *bind, double value)
{
    gt_bind_real(bind, isfinite(value) && value > 0 ? value : NAN);
}

void gt_bind_text(gt_bind *bind, const char *value, size_t limit)
{
    if (ready(bind))
        bind->code = sqlite3_bind_text64(bind->statement, bind->at, value, value ? strnlen(value, limit) : 0,
                                         SQLITE_STATIC, SQLITE_UTF8);
}

void gt_bind_blob(gt_bind *bind, const void *value, size_t bytes)
{
    if (ready(bind))
        bind->code = sqlite3_bind_blob64(bind->statement, bind->at, value, bytes, SQLITE_STATIC);
}

int gt_sql_step(gt_store *store, gt_bind *bind)
{
    if (bind->code != SQLITE_OK)
        return bind->code;
    const int code = sqlite3_step(bind->statement);
    if (!recovered(store, code))
        return code;
    sqlite3_reset(bind->statement);
    return sqlite3_step(bind->statement);
}

gt_status gt_sql_done(gt_store *store, gt_bind *bind, int code)
{
    /* A column that could not be had for want of memory looks like one that makes no sense; here the two are told
     * apart. */
    if (code == SQLITE_ROW && (sqlite3_errcode(store->db) & 0xff) == SQLITE_NOMEM)
        code = SQLITE_NOMEM;
    const gt_status status = code == SQLITE_ROW || code == SQLITE_DONE ? GT_OK : gt_sql_fail(store, code);
    sqlite3_reset(bind->statement); /* lets go of the lock; both take NULL */
    if (bind->statement)
        sqlite3_clear_bindings(bind->statement);
    return status;
}

gt_status gt_sql_run(gt_store *store, gt_bind *bind)
{
    return gt_sql_done(store, bind, gt_sql_step(store, bind));
}

gt_status gt_sql_find(gt_store *store, gt_bind *bind, bool *found, int64_t *value)
{
    const int code = gt_sql_step(store, bind);
    const int64_t first = code == SQLITE_ROW ? sqlite3_column_int64(bind->statement, 0) : 0;
    const gt_status status = gt_sql_done(store, bind, code);
    if (status != GT_OK)
        return status;
    *found = code == SQLITE_ROW;
    if (*found)
        *value = first;
    return GT_OK;
}

int64_t gt_take_int(gt_take *take, int64_t low, int64_t high)
{
    const int column = take->at++;
    const int64_t value = sqlite3_column_int64(take->row, column);
    if (sqlite3_column_type(take->row, column) == SQLITE_INTEGER && value >= low && value <= high)
        return value;
    take->bad = true;
    return low;
}

double gt_take_real(gt_take *take, double low, double high, double absent)
{
    const int column = take->at++, type = sqlite3_column_type(take->row, column);
    const double value = sqlite3_column_double(take->row, column);
    if (type == SQLITE_NULL)
        return absent;
    if ((type == SQLITE_FLOAT || type == SQLITE_INTEGER) && value >= low && value <= high)
        return value;
    take->bad = true;
    return absent;
}

void gt_take_text(gt_take *take, char *text, size_t size)
{
    const int column = take->at++;
    const bool is_text = sqlite3_column_type(take->row, column) == SQLITE_TEXT;
    const char *value = is_text ? (const char *)sqlite3_column_text(take->row, column) : NULL;
    const size_t length = value ? (size_t)sqlite3_column_bytes(take->row, column) : 0;
    text[0] = '\0';
    if (value && length < size && strlen(value) == length)
        memcpy(text, value, length + 1);
    else
        take->bad = true;
}

gt_status gt_list_grow(void **list, size_t count, size_t *room, size_t element)
{
    if (count < *room)
        return GT_OK;
    const size_t more = *room ? 2 * *room : 64;
    void *larger = more <= SIZE_MAX / element ? realloc(*list, more * element) : NULL;
    if (!larger)
        return gt_fail_memory();
    *list = larger;
    *room = more;
    return GT_OK;
}
