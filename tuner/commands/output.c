#include "output.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/core/environment.h"
#include "../../src/core/status.h"

#define BOLD  "\033[1m"
#define RED   "\033[1;31m"
#define PLAIN "\033[0m"

/* What a cell is in JSON; people see its text. */
typedef enum cell_kind {
    CELL_TEXT,
    CELL_INTEGER,
    CELL_NUMBER,
    CELL_NONE,
} cell_kind;

typedef struct cell {
    cell_kind kind;
    bool rule_before;
    char *text;
    double number;
} cell;

struct gt_table {
    FILE *stream;
    bool json, failed, rule_next;
    const gt_column *columns;
    size_t column_count;
    cell *cells;
    size_t count, room;
};

gt_table *gt_table_create(FILE *stream, bool json, const gt_column *columns, size_t count)
{
    gt_table *table = calloc(1, sizeof *table);
    if (table)
        *table = (gt_table){.stream = stream, .json = json, .columns = columns, .column_count = count};
    return table;
}

/* Out of memory shows when the table is finished: half a table would be a lie. */
static void add_cell(gt_table *table, cell_kind kind, const char *text, double number)
{
    if (!table)
        return;
    if (table->count == table->room) {
        const size_t room = table->room > 0 ? 2 * table->room : 64;
        cell *cells = realloc(table->cells, room * sizeof *cells);
        if (!cells) {
            table->failed = true;
            return;
        }
        table->cells = cells;
        table->room = room;
    }
    char *copy = strdup(text);
    if (!copy) {
        table->failed = true;
        return;
    }
    table->cells[table->count++] =
        (cell){.kind = kind, .rule_before = table->rule_next, .text = copy, .number = number};
    table->rule_next = false;
}

void gt_table_text(gt_table *table, const char *text)
{
    if (text)
        add_cell(table, CELL_TEXT, text, 0);
    else
        gt_table_none(table);
}

void gt_table_integer(gt_table *table, long long value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", value);
    add_cell(table, CELL_INTEGER, text, 0);
}

void gt_table_number(gt_table *table, const char *format, double value)
{
    char text[400]; /* %f of the largest double has 309 digits before the point */
    if (!isfinite(value)) {
        gt_table_none(table);
        return;
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, format, value);
#pragma GCC diagnostic pop
    add_cell(table, CELL_NUMBER, text, value);
}

void gt_table_none(gt_table *table)
{
    add_cell(table, CELL_NONE, "-", 0);
}

void gt_table_rule(gt_table *table)
{
    if (table)
        table->rule_next = table->count > 0;
}

/* Columns a text takes on a terminal: its characters. All that is printed here is one column wide. */
static size_t text_width(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

void gt_print_plain(FILE *stream, const char *text)
{
    for (; *text; text++)
        putc((unsigned char)*text < 0x20 || *text == 0x7F ? ' ' : *text, stream);
}

static void print_cell(FILE *stream, const char *text, gt_align_cell align, size_t width, bool last)
{
    const size_t used = text_width(text), pad = width > used ? width - used : 0;
    if (align == GT_RIGHT)
        fprintf(stream, "%*s", (int)pad, "");
    gt_print_plain(stream, text);
    if (!last)
        fprintf(stream, "%*s", (int)(align == GT_LEFT ? pad + 2 : 2), "");
}

static void print_people(const gt_table *table)
{
    const size_t columns = table->column_count;
    const bool colour = gt_wants_colour(table->stream);
    size_t *widths = calloc(columns, sizeof *widths);
    for (size_t i = 0; widths && i < columns; i++)
        widths[i] = text_width(table->columns[i].title);
    for (size_t i = 0; widths && i < table->count; i++) {
        const size_t width = text_width(table->cells[i].text);
        if (width > widths[i % columns])
            widths[i % columns] = width;
    }
    fputs(colour ? BOLD : "", table->stream);
    for (size_t i = 0; i < columns; i++)
        print_cell(table->stream, table->columns[i].title, table->columns[i].align, widths ? widths[i] : 0,
                   i + 1 == columns);
    fputs(colour ? PLAIN "\n" : "\n", table->stream);
    for (size_t i = 0; i < table->count; i++) {
        const size_t column = i % columns;
        if (table->cells[i].rule_before && column == 0)
            putc('\n', table->stream);
        print_cell(table->stream, table->cells[i].text, table->columns[column].align, widths ? widths[column] : 0,
                   column + 1 == columns);
        if (column + 1 == columns)
            putc('\n', table->stream);
    }
    free(widths);
}

static void print_json(const gt_table *table)
{
    FILE *stream = table->stream;
    putc('[', stream);
    for (size_t i = 0; i < table->count; i++) {
        const cell *c = &table->cells[i];
        const size_t column = i % table->column_count;
        fputs(column > 0 ? ", " : i > 0 ? ",\n {" : "\n {", stream);
        gt_json_text(stream, table->columns[column].title);
        fputs(": ", stream);
        if (c->kind == CELL_TEXT)
            gt_json_text(stream, c->text);
        else if (c->kind == CELL_NUMBER)
            gt_json_number(stream, c->number);
        else
            fputs(c->kind == CELL_INTEGER ? c->text : "null", stream);
        if (column + 1 == table->column_count)
            putc('}', stream);
    }
    fputs(table->count > 0 ? "\n]\n" : "]\n", stream);
}

void gt_table_finish(gt_table *table)
{
    if (!table)
        return;
    while (table->column_count > 0 && table->count % table->column_count != 0 && !table->failed)
        gt_table_none(table);
    if (table->failed) {
        gt_fail_memory();
        gt_print_failure();
    } else if (table->json) {
        print_json(table);
    } else if (table->count > 0) {
        print_people(table);
    }
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i].text);
    free(table->cells);
    free(table);
}

/* Bytes of the UTF-8 character at text; 0 if it is none (overlong, surrogate, beyond U+10FFFF, cut off). */
static int utf8_length(const unsigned char *text)
{
    const int length = text[0] < 0x80                        ? 1
                       : text[0] >= 0xC2 && text[0] <= 0xDF ? 2
                       : (text[0] & 0xF0) == 0xE0           ? 3
                       : text[0] >= 0xF0 && text[0] <= 0xF4 ? 4
                                                            : 0;
    for (int i = 1; i < length; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    if ((text[0] == 0xE0 && text[1] < 0xA0) || (text[0] == 0xED && text[1] > 0x9F) ||
        (text[0] == 0xF0 && text[1] < 0x90) || (text[0] == 0xF4 && text[1] > 0x8F))
        return 0;
    return length;
}

void gt_json_text(FILE *stream, const char *text)
{
    if (!text) {
        fputs("null", stream);
        return;
    }
    putc('"', stream);
    while (*text) {
        const int length = utf8_length((const unsigned char *)text);
        if (length == 0)
            fputs("\\ufffd", stream);
        else if ((unsigned char)*text < 0x20 || *text == 0x7F)
            fprintf(stream, "\\u%04x", (unsigned)(unsigned char)*text);
        else if (*text == '"' || *text == '\\')
            fprintf(stream, "\\%c", *text);
        else
            fwrite(text, 1, (size_t)length, stream);
        text += length > 0 ? length : 1;
    }
    putc('"', stream);
}

void gt_json_number(FILE *stream, double value)
{
    char text[32];
    if (!isfinite(value)) {
        fputs("null", stream);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) { /* the fewest that read back as the same number */
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fputs(text, stream);
}

int gt_print_failure(void)
{
    const bool colour = gt_wants_colour(stderr);
    fprintf(stderr, "%sgemmtune:%s ", colour ? RED : "", colour ? PLAIN : "");
    gt_print_plain(stderr, gt_error_message());
    putc('\n', stderr);
    return 1;
}

int gt_print_usage_failure(void)
{
    gt_print_failure();
    return 2;
}

void gt_print_note(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fputs("gemmtune: ", stderr);
    gt_print_plain(stderr, line);
    putc('\n', stderr);
}

bool gt_wants_colour(FILE *stream)
{
    const char *term = gt_environment(GT_ENV_TERM);
    return isatty(fileno(stream)) && !gt_environment(GT_ENV_NO_COLOR) && term && strcmp(term, "dumb") != 0;
}
