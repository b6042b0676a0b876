/* From one format of the database to the next. */
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

/* Step i takes a database from format i to i + 1. Facts whose row names that format come with it. */
static const char *const steps[] = {
    gt_embedded_schema_sql,
    gt_embedded_schema_2_sql,
    gt_embedded_schema_3_sql,
    gt_embedded_schema_4_sql,
};

#define STEPS ((int64_t)(sizeof steps / sizeof steps[0]))

/* The first format whose table of kernels is made of the facts' rows. */
#define FACTS_FORMAT 4

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

/* Of the table as it is, those columns that the new one has too. */
static gt_status list_common(gt_store *store, FILE *text)
{
    sqlite3_stmt *query = NULL;
    int code = sqlite3_prepare_v2(store->db, "SELECT name FROM pragma_table_info('kernel') WHERE name IN"
                                             " (SELECT name FROM pragma_table_info('kernel_made'))",
                                  -1, &query, NULL);
    bool first = true;
    while (code == SQLITE_OK && (code = sqlite3_step(query)) == SQLITE_ROW) {
        fprintf(text, "%s\"%s\"", first ? "" : ", ", (const char *)sqlite3_column_text(query, 0));
        first = false;
        code = SQLITE_OK;
    }
    const gt_status status = code == SQLITE_DONE ? GT_OK : gt_sql_fail(store, code);
    sqlite3_finalize(query);
    return status;
}

/*
 * Launch facts and code in one row, so that no code is ever launched with the facts of another. Code comes last, so
 * that facts are read without touching it: a new fact means a new table. Its columns have no ranges: a space may say
 * what no GPU launches, its failure is a row like any other, and readers hold every fact to its range.
 */
static void write_table(FILE *text, int64_t format)
{
    fputs("CREATE TABLE kernel_made (\n"
          "    id INTEGER PRIMARY KEY,\n"
          "    family TEXT NOT NULL,\n"
          "    source_hash TEXT NOT NULL CHECK (length(source_hash) = 64),\n"
          "    nvrtc TEXT NOT NULL,\n"
          "    arch TEXT NOT NULL,\n",
          text);
    for (size_t i = 0; i < GT_FACT_COUNT; i++) {
        const gt_fact_row *row = &gt_fact_rows[i];
        if (row->format > format)
            continue;
        fprintf(text, "    %s INTEGER NOT NULL", row->name);
        if (row->absent != GT_FACT_NEEDED)
            fprintf(text, " DEFAULT %lld", (long long)row->absent);
        fputs(",\n", text);
    }
    fputs("    registers INTEGER NOT NULL CHECK (registers >= 0), -- per thread; 0: not known\n"
          "    spills INTEGER NOT NULL CHECK (spills >= 0),       -- bytes of local memory\n"
          "    cubin_hash TEXT CHECK (length(cubin_hash) = 64),   -- SHA-256\n"
          "    ptx_hash TEXT CHECK (length(ptx_hash) = 64),\n"
          "    cubin BLOB,\n"
          "    ptx BLOB,\n"
          "    CHECK ((cubin IS NULL) = (cubin_hash IS NULL)),\n"
          "    CHECK ((ptx IS NULL) = (ptx_hash IS NULL))\n"
          ") STRICT;\n",
          text);
}

/* What tells kernels apart: the same source started with other threads or other shared memory is another kernel. */
static void write_indices(FILE *text, int64_t format)
{
    fputs("CREATE UNIQUE INDEX kernel_key ON kernel (source_hash, nvrtc, arch", text);
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        if (gt_fact_rows[i].key && gt_fact_rows[i].format <= format)
            fprintf(text, ", %s", gt_fact_rows[i].name);
    fputs(");\nCREATE INDEX kernel_loadable ON kernel (arch) WHERE cubin IS NOT NULL;\n", text);
}

/* Runs what a function writes. */
static gt_status execute_text(gt_store *store, char *text)
{
    const gt_status status = text ? gt_sql_execute(store, text) : gt_fail_memory();
    free(text);
    return status;
}

/* Makes the table of kernels anew with the facts of a format. The order is the one that SQLite's documentation of ALTER
 * TABLE asks for, so that what references the table goes on doing so. */
static gt_status make_kernels(gt_store *store, int64_t format)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return gt_fail_memory();
    fputs("DROP VIEW IF EXISTS best_configs; DROP VIEW IF EXISTS config;\n", stream);
    write_table(stream, format);
    gt_status status = fclose(stream) == 0 ? execute_text(store, text) : (free(text), gt_fail_memory());
    if (status != GT_OK)
        return status;
    if (!(stream = open_memstream(&text, &size)))
        return gt_fail_memory();
    fputs("INSERT INTO kernel_made (", stream);
    status = list_common(store, stream);
    fputs(") SELECT ", stream);
    if (status == GT_OK)
        status = list_common(store, stream);
    fputs(" FROM kernel;\nDROP TABLE kernel;\nALTER TABLE kernel_made RENAME TO kernel;\n", stream);
    write_indices(stream, format);
    if (fclose(stream) != 0 || status != GT_OK) {
        free(text);
        return status != GT_OK ? status : gt_fail_memory();
    }
    return execute_text(store, text);
}

gt_status gt_migrate(gt_store *store, int64_t from)
{
    const int64_t last = gt_migrate_format();
    gt_status status = GT_OK;
    char version[64];
    for (int64_t format = from + 1; status == GT_OK && format <= last; format++) {
        if (format <= STEPS)
            status = gt_sql_execute(store, steps[format - 1]);
        if (status == GT_OK && format >= FACTS_FORMAT && brings_facts(format))
            status = make_kernels(store, format);
    }
    snprintf(version, sizeof version, "PRAGMA user_version = %lld", (long long)last);
    if (status == GT_OK)
        status = gt_sql_execute(store, version);
    return status == GT_OK ? gt_sql_execute(store, gt_embedded_views_sql) : status;
}
