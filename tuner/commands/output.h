/* What the program prints: tables for people, JSON for programs, failures in one line. */
#ifndef GT_OUTPUT_H
#define GT_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

typedef enum gt_align_cell {
    GT_LEFT,
    GT_RIGHT,
} gt_align_cell;

typedef struct gt_column {
    const char *title; /* the table's heading, and the key in JSON */
    gt_align_cell align;
} gt_column;

typedef struct gt_table gt_table;

/* A table on a stream: aligned columns, or with json one array of objects, one a row. Rows are kept until the end so
 * that columns fit. NULL if out of memory; the calls below accept that and do nothing. */
gt_table *gt_table_create(FILE *stream, bool json, const gt_column *columns, size_t count);

/* Cells come in the columns' order; a row ends by itself after the last one. */
void gt_table_text(gt_table *table, const char *text);
void gt_table_integer(gt_table *table, long long value);
void gt_table_number(gt_table *table, const char *format, double value); /* format for people; JSON has full digits */
void gt_table_none(gt_table *table);                                     /* "-", null */
void gt_table_rule(gt_table *table);                                     /* a blank line between groups of rows */

/* Prints and frees. Without rows people see nothing, programs []. */
void gt_table_finish(gt_table *table);

/* One JSON value: text as a string in quotes (NULL as null; bytes that are not UTF-8 become U+FFFD), numbers with all
 * their digits (what is not finite as null). */
void gt_json_text(FILE *stream, const char *text);
void gt_json_number(FILE *stream, double value);

/* Text with blanks for control characters: a name out of a file or database could carry escape sequences, which are not for
 * the terminal. */
void gt_print_plain(FILE *stream, const char *text);

/* "gemmtune: " and gt_error_message() on standard error, one line; returns 1 for main to return. */
int gt_print_failure(void);

/* The same for a command line that makes no sense; returns 2. */
int gt_print_usage_failure(void);

/* "gemmtune: " and a line that is no failure, on standard error. */
void gt_print_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether a stream is a terminal that wants colours (NO_COLOR and TERM=dumb do not). */
bool gt_wants_colour(FILE *stream);

#endif
