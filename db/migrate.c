/* From one format of the database to the next. */
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* Step i takes a database from format i to i + 1. Facts whose row names that format come with it. */
static const char *const steps[] = {
    gt_embedded_schema_sql,
    gt_embedded_schema_2_sql,
    gt_embedded_schema_3_sql,
    gt_embedded_schema_4_sql,
    gt_embedded_schema_5_sql,
    gt_embedded_schema_6_sql,
    gt_embedded_schema_7_sql,
};

#define STEPS ((int64_t)(sizeof steps / sizeof steps[0]))

/* The first format whose table of kernels is made of the facts' rows. */
#define FACTS_FORMAT 4

/* The first format whose kernels have a class and a seal. */
#define SEAL_FORMAT 5

int64_t gt_migrate_format(void)
{
    int64_t format = STEPS;
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        format = gt_fact_rows[i].format > format ? gt_fact_rows[i].format : format;
    return format;
}

static bool brings_facts(int64_t format)
{
    bool found = false;
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        found = found || gt_fact_rows[i].format == format;
    return found;
}

/*
 * Launch facts and code in one row, so that no code is ever launched with the facts of another. Code comes last, so
 * that facts are read without touching it: a new fact means a new table. Its columns have no ranges: a space may say
 * what no GPU launches, its failure is a row like any other, and readers hold every fact to its range.
 */
static void write_table(sqlite3_str *text, int64_t format)
{
    sqlite3_str_appendall(text,
                          "CREATE TABLE kernel_made (\n"
                          /* An id is never used again: who holds one never finds another kernel behind it. */
                          "    id INTEGER PRIMARY KEY AUTOINCREMENT,\n"
                          "    family TEXT NOT NULL,\n"
                          "    source_hash TEXT NOT NULL CHECK (length(source_hash) = 64),\n"
                          "    nvrtc TEXT NOT NULL,\n"
                          "    arch TEXT NOT NULL,\n");
    for (size_t i = 0; i < GT_FACT_COUNT; i++) {
        const gt_fact_row *row = &gt_fact_rows[i];
        if (row->format > format)
            continue;
        sqlite3_str_appendf(text, "    %s INTEGER NOT NULL", row->name);
        if (row->absent != GT_FACT_NEEDED)
            sqlite3_str_appendf(text, " DEFAULT %lld", (long long)row->absent);
        sqlite3_str_appendall(text, ",\n");
    }
    sqlite3_str_appendall(text,
                          "    registers INTEGER NOT NULL CHECK (registers >= 0), -- per thread; 0: not known\n"
                          "    spills INTEGER NOT NULL CHECK (spills >= 0),       -- bytes of local memory\n"
                          "    cubin_hash TEXT CHECK (length(cubin_hash) = 64),   -- SHA-256\n"
                          "    ptx_hash TEXT CHECK (length(ptx_hash) = 64),\n");
    if (format >= SEAL_FORMAT)
        sqlite3_str_appendall(text,
                              "    class TEXT, -- that it was rendered for: 'f32 strict none nn 16'; NULL: not known\n"
                              "    seal TEXT,  -- SHA-256 over all that a launch depends on: gt_kernel_seal\n");
    sqlite3_str_appendall(text,
                          "    cubin BLOB,\n"
                          "    ptx BLOB,\n"
                          "    CHECK ((cubin IS NULL) = (cubin_hash IS NULL)),\n"
                          "    CHECK ((ptx IS NULL) = (ptx_hash IS NULL))\n"
                          ") STRICT;\n");
}

/* What tells kernels apart: the same source started with other threads or other shared memory is another kernel. */
static void write_indices(sqlite3_str *text, int64_t format)
{
    sqlite3_str_appendall(text, "CREATE UNIQUE INDEX kernel_key ON kernel (source_hash, nvrtc, arch");
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        if (gt_fact_rows[i].key && gt_fact_rows[i].format <= format)
            sqlite3_str_appendf(text, ", %s", gt_fact_rows[i].name);
    sqlite3_str_appendall(text, ");\nCREATE INDEX kernel_loadable ON kernel (arch) WHERE cubin IS NOT NULL;\n");
}

/* Runs SQL that was written, and frees it. */
static gt_status execute_text(gt_store *store, sqlite3_str *text)
{
    char *sql = sqlite3_str_finish(text);
    const gt_status status = sql ? gt_sql_execute(store, sql) : gt_fail_memory();
    sqlite3_free(sql);
    return status;
}

/* Of the table of kernels as it is, those columns that the new one has too: "id, family, ...". */
static gt_status list_common(gt_store *store, char **list)
{
    sqlite3_stmt *query = NULL;
    int code = sqlite3_prepare_v2(store->db,
                                  "SELECT group_concat('\"' || name || '\"', ', ') FROM pragma_table_info('kernel')"
                                  " WHERE name IN (SELECT name FROM pragma_table_info('kernel_made'))",
                                  -1, &query, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(query);
    if (code == SQLITE_ROW)
        *list = sqlite3_mprintf("%s", (const char *)sqlite3_column_text(query, 0));
    const gt_status status = code != SQLITE_ROW ? gt_sql_fail(store, code) : *list ? GT_OK : gt_fail_memory();
    sqlite3_finalize(query);
    return status;
}

/* Makes the table of kernels anew with the facts of a format. The order is the one that SQLite's documentation of ALTER
 * TABLE asks for, so that what references the table goes on doing so. */
static gt_status make_kernels(gt_store *store, int64_t format)
{
    char *common = NULL;
    sqlite3_str *text = sqlite3_str_new(store->db);
    write_table(text, format);
    gt_status status = execute_text(store, text);
    if (status == GT_OK)
        status = list_common(store, &common);
    if (status != GT_OK)
        return status;
    text = sqlite3_str_new(store->db);
    sqlite3_str_appendf(text,
                        "INSERT INTO kernel_made (%s) SELECT %s FROM kernel;\n"
                        "DROP TABLE kernel;\n"
                        "ALTER TABLE kernel_made RENAME TO kernel;\n",
                        common, common);
    sqlite3_free(common);
    write_indices(text, format);
    return execute_text(store, text);
}

gt_status gt_migrate_views(gt_store *store, const char *kind)
{
    static const char create[] = "CREATE VIEW ";
    const char *at = gt_embedded_views_sql, *next;
    sqlite3_str *text = sqlite3_str_new(store->db);
    sqlite3_str_appendf(text, "CREATE %s convicted AS %s;\n", kind, GT_CONVICTED);
    for (; (next = strstr(at, create)); at = next + sizeof create - 1)
        sqlite3_str_appendf(text, "%.*sCREATE %s ", (int)(next - at), at, kind);
    sqlite3_str_appendall(text, at);
    return execute_text(store, text);
}

gt_status gt_migrate(gt_store *store, int64_t from)
{
    const int64_t last = gt_migrate_format();
    /* Views hold nothing. Those of before would stand in the way of changes to their tables. */
    gt_status status = gt_sql_execute(store, "DROP VIEW IF EXISTS best_configs; DROP VIEW IF EXISTS config;"
                                             " DROP VIEW IF EXISTS convicted; DROP VIEW IF EXISTS contested");
    char version[64];
    for (int64_t format = from + 1; status == GT_OK && format <= last; format++) {
        if (format <= STEPS)
            status = gt_sql_execute(store, steps[format - 1]);
        if (status == GT_OK && format >= FACTS_FORMAT && (brings_facts(format) || format == SEAL_FORMAT))
            status = make_kernels(store, format);
    }
    if (status == GT_OK && from < SEAL_FORMAT) /* behind the last step: with all facts that there are */
        status = gt_seal_all(store);
    snprintf(version, sizeof version, "PRAGMA user_version = %lld", (long long)last);
    if (status == GT_OK)
        status = gt_sql_execute(store, version);
    return status == GT_OK ? gt_migrate_views(store, "VIEW") : status;
}
