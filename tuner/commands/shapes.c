#include "shapes.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../random.h"

/* What `default` stands for: squares; a round number that is no power of two; odd sizes, whose kernels can run any
 * size of their type and layout, however its rows lie; skinny and flat products; a long K; one layer of a language
 * model. */
#define DEFAULT_LIST                                                                                         \
    "128..8192 1000 4097x4095x4093 3000x700x1300 1x4096x4096 16x4096x4096 64x4096x4096 4096x128x4096 "       \
    "128x128x65536 512x4096x11008"

/* `short`: a small and a large cube, odd sizes, a skinny product. */
#define SHORT_LIST "1024 4096 999x1001x1003 64x4096x4096"

#define MOST_SHAPES     10000     /* far more than anybody can tune; a mistyped range ends here */
#define MOST_FILE_BYTES (1 << 20) /* /dev/zero is not a list of sizes */

/* Where an item stands, for messages. */
typedef struct place {
    const char *item; /* not terminated */
    size_t length;
    const char *file; /* NULL: the command line */
    int line;
} place;

/* first, then steps (by adding, or by doubling where step is 0) up to last. */
typedef struct range {
    int64_t first, last, step;
} range;

__attribute__((format(printf, 2, 3))) static gt_status fail(const place *at, const char *format, ...)
{
    char reason[256], where[256] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    if (at->file)
        snprintf(where, sizeof where, " (%.200s, line %d)", at->file, at->line);
    return gt_fail(GT_ERROR_INVALID, "shape '%.*s'%s: %s", (int)(at->length < 80 ? at->length : 80), at->item, where,
                   reason);
}

static gt_status add(const place *at, gt_shape shape, gt_shapes *shapes)
{
    for (size_t i = 0; i < shapes->count; i++)
        if (shapes->list[i].m == shape.m && shapes->list[i].n == shape.n && shapes->list[i].k == shape.k)
            return GT_OK;
    if (shapes->count == MOST_SHAPES)
        return fail(at, "the list has more than %d shapes", MOST_SHAPES);
    if ((shapes->count & (shapes->count - 1)) == 0) { /* full at every power of two */
        const size_t room = shapes->count > 0 ? 2 * shapes->count : 1;
        gt_shape *list = realloc(shapes->list, room * sizeof *list);
        if (!list)
            return gt_fail_memory();
        shapes->list = list;
    }
    shapes->list[shapes->count++] = shape;
    return GT_OK;
}

/* One whole number; *text moves behind it. */
static gt_status read_number(const place *at, const char **text, int64_t *number)
{
    const char *end = at->item + at->length, *start = *text;
    int64_t value = 0;
    if (*text < end && **text == '-')
        return fail(at, "a size cannot be negative");
    for (; *text < end && isdigit((unsigned char)**text); (*text)++)
        if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
            __builtin_add_overflow(value, (int64_t)(**text - '0'), &value))
            return fail(at, "a size beyond 64 bits");
    if (*text == start && start == end)
        return fail(at, "a size is missing at the end");
    if (*text == start)
        return fail(at, "'%c' where a size is expected", isprint((unsigned char)*start) ? *start : '?');
    if (value == 0)
        return fail(at, "a size must be at least 1");
    *number = value;
    return GT_OK;
}

/* N, A..B or A..B+S. */
static gt_status read_range(const place *at, const char **text, range *r)
{
    const char *end = at->item + at->length;
    gt_status status = read_number(at, text, &r->first);
    r->last = r->first;
    r->step = 0;
    if (status == GT_OK && end - *text >= 2 && strncmp(*text, "..", 2) == 0) {
        *text += 2;
        status = read_number(at, text, &r->last);
        if (status == GT_OK && *text < end && **text == '+') {
            (*text)++;
            status = read_number(at, text, &r->step);
        }
        if (status == GT_OK && r->last < r->first)
            status = fail(at, "the range is empty: it ends before it begins");
    }
    return status;
}

/* Moves *value on; false behind the range's end. */
static bool step(const range *r, int64_t *value)
{
    return !__builtin_add_overflow(*value, r->step > 0 ? r->step : *value, value) && *value <= r->last;
}

/* One size for a cube or three, each a range. */
static gt_status read_sizes(const place *at, gt_shapes *shapes)
{
    const char *text = at->item, *end = at->item + at->length;
    range sizes[3];
    int count = 0;
    gt_status status = read_range(at, &text, &sizes[count++]);
    while (status == GT_OK && text < end) {
        if (*text != 'x' && *text != 'X')
            return fail(at, "'%c' is no part of a size; write 4096, 1024x512x64 or 128..8192",
                        isprint((unsigned char)*text) ? *text : '?');
        if (count == 3)
            return fail(at, "more than three sizes");
        text++;
        status = read_range(at, &text, &sizes[count++]);
    }
    if (status == GT_OK && count == 2)
        return fail(at, "two sizes; it takes one for a cube, or three for m, n and k");
    if (status == GT_OK && count == 1) {
        int64_t s = sizes[0].first;
        do
            status = add(at, (gt_shape){s, s, s}, shapes);
        while (status == GT_OK && step(&sizes[0], &s));
        return status;
    }
    if (status != GT_OK)
        return status;
    gt_shape shape = {.m = sizes[0].first};
    do {
        shape.n = sizes[1].first;
        do {
            shape.k = sizes[2].first;
            do
                status = add(at, shape, shapes);
            while (status == GT_OK && step(&sizes[2], &shape.k));
        } while (status == GT_OK && step(&sizes[1], &shape.n));
    } while (status == GT_OK && step(&sizes[0], &shape.m));
    return status;
}

/* A whole file as text; owned by the caller: free(). */
static gt_status read_text(const char *path, char **text)
{
    gt_status status = GT_OK;
    char *buffer = malloc(MOST_FILE_BYTES + 1);
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (!buffer)
        status = gt_fail_memory();
    else if (!file)
        status = gt_fail(GT_ERROR_INVALID, "cannot read the list of shapes '%s': %s", path, strerror(errno));
    if (status == GT_OK) {
        const size_t length = fread(buffer, 1, MOST_FILE_BYTES, file);
        buffer[length] = '\0';
        if (ferror(file))
            status = gt_fail(GT_ERROR_INVALID, "cannot read the list of shapes '%s': %s", path, strerror(errno));
        else if (length == MOST_FILE_BYTES || strlen(buffer) != length)
            status = gt_fail(GT_ERROR_INVALID, "'%s' is not a list of shapes: %s", path,
                             length == MOST_FILE_BYTES ? "larger than 1 MiB" : "not text");
    }
    if (file && file != stdin)
        fclose(file);
    if (status == GT_OK)
        *text = buffer;
    else
        free(buffer);
    return status;
}

static gt_status read_list(const char *text, const char *file, gt_shapes *shapes);

static gt_status read_item(const place *at, gt_shapes *shapes)
{
    static const struct {
        const char *word, *list;
    } lists[] = {{"default", DEFAULT_LIST}, {"short", SHORT_LIST}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (at->length == strlen(lists[i].word) && strncmp(at->item, lists[i].word, at->length) == 0)
            return read_list(lists[i].list, NULL, shapes);
    if (at->length == strlen("cover") && strncmp(at->item, "cover", at->length) == 0) {
        shapes->cover = true;
        return GT_OK;
    }
    if (*at->item != '@')
        return read_sizes(at, shapes);
    if (at->file)
        return fail(at, "a list in a file cannot name another file");
    if (at->length == 1)
        return fail(at, "a file's name is missing after '@'");
    char *path = strndup(at->item + 1, at->length - 1), *text = NULL;
    gt_status status = path ? read_text(path, &text) : gt_fail_memory();
    if (status == GT_OK)
        status = read_list(text, strcmp(path, "-") == 0 ? "standard input" : path, shapes);
    free(text);
    free(path);
    return status;
}

static gt_status read_list(const char *text, const char *file, gt_shapes *shapes)
{
    gt_status status = GT_OK;
    place at = {.file = file, .line = 1};
    while (status == GT_OK && *text) {
        if (file && *text == '#') {
            text += strcspn(text, "\n");
        } else if (*text == ',' || isspace((unsigned char)*text)) {
            at.line += *text++ == '\n';
        } else {
            at.item = text;
            at.length = strcspn(text, file ? ", \t\r\n\f\v#" : ", \t\r\n\f\v");
            text += at.length;
            status = read_item(&at, shapes);
        }
    }
    return status;
}

gt_status gt_shapes_parse(const char *text, gt_shapes *out)
{
    gt_shapes shapes = {0};
    gt_status status = read_list(text, NULL, &shapes);
    if (status == GT_OK && shapes.count == 0 && !shapes.cover)
        status = gt_fail(GT_ERROR_INVALID, "the list of shapes '%.80s' is empty; write for example 4096 or 1024x512x64",
                         text);
    if (status == GT_OK)
        *out = shapes;
    else
        gt_shapes_finish(&shapes);
    return status;
}

/* One size of the stream that a seed stands for, rounded up to a multiple of `unit`. */
static int64_t draw(uint64_t seed, uint64_t index, int64_t unit)
{
    const double share = (double)(gt_random_bits(seed, index) >> 11) * 0x1p-53;
    const int64_t size = (int64_t)pow(GT_RANDOM_SIZE + 1.0, share);
    return (size + unit - 1) / unit * unit;
}

gt_status gt_shapes_draw(int count, uint64_t seed, gt_shapes *shapes)
{
    static const char item[] = "--random";
    const place at = {.item = item, .length = sizeof item - 1};
    const size_t before = shapes->count;
    gt_status status = GT_OK;
    for (uint64_t i = 0; status == GT_OK && shapes->count < before + (size_t)count; i += 3) {
        static const int64_t units[] = {1, 8, 64};
        const int64_t unit = units[i / 3 % 3];
        const gt_shape shape = {draw(seed, i, unit), draw(seed, i + 1, unit), draw(seed, i + 2, unit)};
        if (shape.m * shape.n * shape.k <= GT_RANDOM_WORK)
            status = add(&at, shape, shapes);
    }
    if (status != GT_OK)
        shapes->count = before;
    return status;
}

void gt_shapes_finish(gt_shapes *shapes)
{
    free(shapes->list);
    *shapes = (gt_shapes){0};
}

void gt_shape_name(int64_t m, int64_t n, int64_t k, char name[GT_SHAPE_LENGTH])
{
    snprintf(name, GT_SHAPE_LENGTH, "%lldx%lldx%lld", (long long)m, (long long)n, (long long)k);
}
