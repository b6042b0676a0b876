/* Opening a store: what is taken for a database of ours, and how one comes to be. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"

#define HEADER_BYTES 100 /* SQLite's file format, section 1.3 */
#define HEADER_PAGE_SIZE 16 /* big-endian; 1 means 65536 */
#define HEADER_APPLICATION_ID 68

#define EMPTY "%s: empty; run `gemmtune --db %s` to fill it"

/*
 * Looks at the file before SQLite does: what belongs to somebody else is not even locked, let alone recovered. The
 * file is read through SQLite's own handle, for closing a second one would drop all locks this process has on it.
 */
static gt_status check_header(const gt_store *store)
{
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    unsigned char header[HEADER_BYTES];
    struct stat st; /* SQLite takes a file of one byte for empty */
    int code = sqlite3_file_control(store->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code == SQLITE_OK)
        code = file->pMethods->xFileSize(file, &size);
    if (code == SQLITE_OK && size == 0 && stat(store->path, &st) == 0 && st.st_size == 0)
        return store->mode != GT_STORE_READ ? GT_OK : gt_fail(GT_ERROR_DATABASE, EMPTY, store->path, store->path);
    if (code == SQLITE_OK && size >= HEADER_BYTES)
        code = file->pMethods->xRead(file, header, sizeof header, 0);
    if (code != SQLITE_OK)
        return gt_sql_fail(store, code);
    if (size < HEADER_BYTES || memcmp(header, "SQLite format 3", 16) != 0)
        return gt_fail(GT_ERROR_DATABASE, "%s: not a gemmtune database; it was left as it is", store->path);
    const unsigned char *id = header + HEADER_APPLICATION_ID;
    if (((uint32_t)id[0] << 24 | (uint32_t)id[1] << 16 | (uint32_t)id[2] << 8 | id[3]) != GT_APPLICATION_ID)
        return gt_fail(GT_ERROR_DATABASE, "%s: a database of another program; it was left as it is", store->path);
    return GT_OK;
}

static gt_status find_number(gt_store *store, const char *sql, int64_t *number)
{
    bool found;
    gt_bind bind = gt_sql_start(store, sql);
    return gt_sql_find(store, &bind, &found, number);
}

/*
 * Whether the tables are there. Rows are not looked at: quick_check reads the whole file, seconds for one that is
 * large, at every start of every application. Instead SQLite compares the file's size with its header, checks each
 * page's cells as it comes to it, every row is checked when it is read and all code against its hash. Tables must be
 * STRICT tables: a view in their place could run for ever. A missing column shows when a statement is prepared.
 */
static gt_status check_tables(gt_store *store)
{
    int64_t count = 0;
    gt_status status = find_number(
        store,
        "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND"
        " (type = 'table' AND strict AND name IN ('gpu', 'problem', 'kernel', 'run', 'trial', 'baseline', 'peak',"
        " 'searched', 'bandwidth', 'kernel_param', 'coefficient', 'wanted')"
        " OR type = 'view' AND name = 'best_configs')",
        &count);
    if (status == GT_OK && count != 13)
        return gt_fail(GT_ERROR_DATABASE, "%s: damaged, tables are missing; move it away and tune again", store->path);
    return status;
}

/* The version of a database of ours, 0 for an empty file. */
static gt_status find_version(gt_store *store, int64_t *version)
{
    int64_t id = 0, number = 0, objects = 0;
    gt_status status = find_number(store, "PRAGMA application_id", &id);
    if (status == GT_OK)
        status = find_number(store, "PRAGMA user_version", &number);
    if (status == GT_OK)
        status = find_number(store, "SELECT count(*) FROM sqlite_schema", &objects);
    if (status != GT_OK)
        return status;
    const bool empty = id == 0 && number == 0 && objects == 0;
    if (!empty && id != GT_APPLICATION_ID)
        return gt_fail(GT_ERROR_DATABASE, "%s: a database of another program; it was left as it is", store->path);
    if (number > gt_migrate_format())
        return gt_fail(GT_ERROR_VERSION,
                       "%s: written by a newer gemmtune (format %lld, this one knows %lld); update gemmtune",
                       store->path, (long long)number, (long long)gt_migrate_format());
    if (number < 0 || (number == 0 && !empty))
        return gt_fail(GT_ERROR_DATABASE, "%s: damaged, its format is %lld; move it away and tune again", store->path,
                       (long long)number);
    *version = number;
    return GT_OK;
}

static sqlite3_int64 page_bytes(const unsigned char page[2])
{
    return page[0] == 0 && page[1] == 1 ? 65536 : page[0] << 8 | page[1];
}

/* A file that was cut inside its last page: SQLite would fill that up with zeros. Asked under a lock, for a writer may
 * just be making the file longer. */
static gt_status check_whole(const gt_store *store)
{
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    unsigned char page[2];
    int code = sqlite3_file_control(store->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code == SQLITE_OK)
        code = file->pMethods->xFileSize(file, &size);
    if (code == SQLITE_OK && size > 0)
        code = file->pMethods->xRead(file, page, sizeof page, HEADER_PAGE_SIZE);
    if (code != SQLITE_OK)
        return gt_sql_fail(store, code);
    if (size > 0 && (page_bytes(page) == 0 || size % page_bytes(page) != 0))
        return gt_fail(GT_ERROR_DATABASE, "%s: damaged, its end is missing; move it away and tune again", store->path);
    return GT_OK;
}

static gt_status check_readable(gt_store *store)
{
    int64_t version = 0;
    gt_status status = find_version(store, &version);
    if (status == GT_OK && version == 0) /* an interrupted creation, rolled back just now */
        return gt_fail(GT_ERROR_DATABASE, EMPTY, store->path, store->path);
    if (status == GT_OK && version < gt_migrate_format())
        return gt_fail(GT_ERROR_DATABASE, "%s: of an older gemmtune (format %lld); run `gemmtune --db %s`, which updates it",
                       store->path, (long long)version, store->path);
    if (status == GT_OK)
        status = gt_sql_execute(store, "BEGIN");
    if (status != GT_OK)
        return status;
    if ((status = check_tables(store)) == GT_OK) /* which takes the lock */
        status = check_whole(store);
    return gt_sql_end(store, status);
}

/* Creates or migrates under the write lock: of two processes that come at once the second finds it done. */
static gt_status make_current(gt_store *store)
{
    int64_t version = 0;
    gt_status status = gt_sql_begin(store);
    if (status != GT_OK)
        return status;
    status = find_version(store, &version);
    if (status == GT_OK)
        status = check_whole(store);
    if (status == GT_OK && version < gt_migrate_format())
        status = gt_migrate(store, version);
    if (status == GT_OK)
        status = check_tables(store);
    return gt_sql_end(store, status);
}

static gt_status check_writable(gt_store *store)
{
    if (sqlite3_db_readonly(store->db, "main") == 1)
        return gt_sql_fail(store, SQLITE_READONLY);
    /* FULL syncs all but the folder, and a journal that comes back after a power cut would undo the last commit:
     * EXTRA syncs the folder, too. */
    gt_status status = gt_sql_execute(store, "PRAGMA synchronous = EXTRA");
    /* A table that others reference is made anew with foreign keys off, which cannot be changed in a transaction. */
    if (status == GT_OK)
        status = gt_sql_execute(store, "PRAGMA foreign_keys = OFF");
    if (status == GT_OK)
        status = make_current(store);
    if (status == GT_OK)
        status = gt_sql_execute(store, "PRAGMA foreign_keys = ON");
    /* Readers without write access cannot open a write-ahead log; somebody may have switched it on by hand. */
    return status == GT_OK ? gt_sql_execute(store, "PRAGMA journal_mode = DELETE") : status;
}

gt_status gt_store_open(const char *path, gt_store_mode mode, gt_store **store)
{
    char place[PATH_MAX];
    gt_status status = path ? GT_OK : gt_store_default_path(place, sizeof place);
    if (status != GT_OK)
        return status;
    gt_store *s = calloc(1, sizeof *s);
    if (!s)
        return gt_fail_memory();
    s->mode = mode;
    status = gt_place_resolve(path ? path : place, mode, s->path);
    if (status == GT_OK) /* a writer too, before its work: nobody could load what it finds */
        status = gt_trust_check(s->path);
    if (status == GT_OK)
        status = gt_sql_connect(s);
    if (status == GT_OK)
        status = check_header(s);
    if (status == GT_OK)
        status = mode == GT_STORE_READ ? check_readable(s) : check_writable(s);
    if (status != GT_OK) {
        gt_store_close(s);
        return status;
    }
    *store = s;
    return GT_OK;
}

gt_status gt_store_find(const char *path)
{
    gt_store *store = NULL;
    const gt_status status = gt_store_open(path, GT_STORE_READ, &store);
    gt_store_close(store);
    return status;
}

const char *gt_store_path(const gt_store *store)
{
    return store->path;
}

void gt_store_close(gt_store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < GT_STORE_STATEMENTS; i++)
        sqlite3_finalize(store->statements[i].statement);
    sqlite3_close(store->db);
    free(store);
}
