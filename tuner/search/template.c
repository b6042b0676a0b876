#include "template.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/core/status.h"
#include "embedded.h"

#define INCLUDE      "#include \""
#define HEADERS_MOST 64 /* that one template includes */
#define HEADER_NAME  64

/* Larger than any template; a folder given by mistake must not be swallowed whole. */
#define FILE_LIMIT (1 << 20)

/* Does not wait for anybody: a pipe among templates is none. */
static gt_status open_file(const char *path, FILE **out)
{
    struct stat st;
    const int number = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *file = number >= 0 ? fdopen(number, "rb") : NULL;
    if (file && fstat(number, &st) == 0 && S_ISREG(st.st_mode)) {
        *out = file;
        return GT_OK;
    }
    const gt_status status = file ? gt_fail(GT_ERROR_INVALID, "%s is no file: no template", path)
                                  : gt_fail(GT_ERROR_IO, "cannot read %s: %s", path, strerror(errno));
    if (file)
        fclose(file);
    else if (number >= 0)
        close(number);
    return status;
}

gt_status gt_template_read(const char *path, char **text)
{
    char *buffer = NULL;
    size_t count = 0;
    FILE *file = NULL;
    gt_status status = open_file(path, &file);
    if (status != GT_OK)
        return status;
    if (!(buffer = malloc(FILE_LIMIT + 1)))
        status = gt_fail_memory();
    else if ((count = fread(buffer, 1, FILE_LIMIT + 1, file)) > FILE_LIMIT)
        status = gt_fail(GT_ERROR_INVALID, "%s is larger than 1 MiB: no template", path);
    else if (ferror(file))
        status = gt_fail(GT_ERROR_IO, "cannot read %s: %s", path, strerror(errno));
    else if (memchr(buffer, 0, count))
        status = gt_fail(GT_ERROR_INVALID, "%s holds a zero byte: no template", path);
    fclose(file);
    if (status != GT_OK) {
        free(buffer);
        return status;
    }
    buffer[count] = 0;
    *text = buffer;
    return GT_OK;
}

/* A template as it is written, and the headers that it has already. */
typedef struct completion {
    FILE *text;
    const char *folder;
    char seen[HEADERS_MOST][HEADER_NAME];
    size_t count;
} completion;

static bool has_header(const completion *c, const char *name)
{
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->seen[i], name) == 0)
            return true;
    return false;
}

/* The text of a header of that name; NULL if there is none. *owned: the caller frees it. */
static gt_status find_header(const completion *c, const char *name, const char **text, char **owned)
{
    char path[4096];
    *text = *owned = NULL;
    if (c->folder && !strchr(name, '/') && snprintf(path, sizeof path, "%s/%s", c->folder, name) < (int)sizeof path &&
        access(path, F_OK) == 0) {
        const gt_status status = gt_template_read(path, owned);
        *text = *owned;
        return status;
    }
    for (const struct gt_embedded_header *header = gt_embedded_headers; header->name; header++)
        if (strcmp(header->name, name) == 0)
            *text = header->text;
    return GT_OK;
}

/* The next line is one of a file. What is built in keeps its text, by which databases know their kernels. */
static void write_line(const completion *c, size_t line, const char *file)
{
    if (c->folder)
        fprintf(c->text, "#line %zu \"%s\"\n", line, file);
}

static size_t count_lines(const char *from, const char *to)
{
    size_t lines = 0;
    for (; from < to; from++)
        lines += *from == '\n';
    return lines;
}

static gt_status write_text(completion *c, const char *source, const char *file)
{
    const char *const whole = source;
    gt_status status = GT_OK;
    write_line(c, 1, file);
    for (const char *at; status == GT_OK && (at = strstr(source, INCLUDE));) {
        const char *begin = at + strlen(INCLUDE), *end = begin + strcspn(begin, "\"\n"), *text = NULL;
        char name[HEADER_NAME] = "", *owned = NULL;
        if (*end == '"' && end - begin < HEADER_NAME)
            snprintf(name, sizeof name, "%.*s", (int)(end - begin), begin);
        const bool again = has_header(c, name);
        if (!again && *name)
            status = find_header(c, name, &text, &owned);
        /* Of what is no header of ours the compiler will say what it thinks. */
        fwrite(source, 1, (size_t)((text || again ? at : end) - source), c->text);
        source = text || again ? end + 1 : end;
        if (status == GT_OK && text && c->count == HEADERS_MOST)
            status = gt_fail(GT_ERROR_INVALID, "a template includes more than %d headers", HEADERS_MOST);
        if (status == GT_OK && text) {
            memcpy(c->seen[c->count++], name, sizeof name);
            status = write_text(c, text, name);
            if (c->folder && *source == '\n')
                source++;
            if (c->folder)
                fputc('\n', c->text);
            write_line(c, count_lines(whole, source) + 1, file);
        }
        free(owned);
    }
    fputs(source, c->text);
    return status;
}

gt_status gt_template_complete(const char *source, const char *folder, const char *name, char **complete)
{
    char *text = NULL;
    size_t size = 0;
    completion c = {.text = open_memstream(&text, &size), .folder = folder};
    if (!c.text)
        return gt_fail_memory();
    gt_status status = write_text(&c, source, name);
    if (fclose(c.text) != 0 && status == GT_OK)
        status = gt_fail_memory();
    if (status != GT_OK) {
        free(text);
        return status;
    }
    *complete = text;
    return GT_OK;
}
