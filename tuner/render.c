#include "render.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/core/status.h"
#include "embedded.h"

#define INCLUDE "#include \""

/* Whether a text holds a name as a whole word. */
static bool mentions(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += length) {
        const bool starts = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (starts && !(isalnum((unsigned char)at[length]) || at[length] == '_'))
            return true;
    }
    return false;
}

/* "bm=128" as "#define BM 128". Only names and whole numbers get through: what reaches the compiler is ours. */
static gt_status define_params(FILE *text, const gt_family *family, const char *body, const char *params)
{
    char copy[GT_PARAMS_LENGTH], name[GT_COLUMN_LENGTH], *rest = copy;
    snprintf(copy, sizeof copy, "%s", params);
    for (char *word; (word = strsep(&rest, " "));) {
        char *end, *equals = strchr(word, '=');
        if (!*word)
            continue;
        if (!equals || equals == word || (size_t)(equals - word) >= sizeof name)
            return gt_fail(GT_ERROR_INVALID, "'%s' is no parameter: write name=number", word);
        const long long value = strtoll(equals + 1, &end, 10);
        if (end == equals + 1 || *end)
            return gt_fail(GT_ERROR_INVALID, "'%s' is no parameter: write name=number", word);
        size_t i = 0;
        for (; word + i < equals; i++) {
            if (!isalnum((unsigned char)word[i]) && word[i] != '_')
                return gt_fail(GT_ERROR_INVALID, "'%s' is no parameter name", word);
            name[i] = (char)toupper((unsigned char)word[i]);
        }
        name[i] = 0;
        if (!mentions(body, name))
            return gt_fail(GT_ERROR_INVALID, "%s.cu does not know the parameter %s that its space offers", family->name,
                           name);
        fprintf(text, "#define %s %lld\n", name, value);
    }
    return GT_OK;
}

/* The header that an #include names, of the length given; NULL if there is none of that name. */
static const struct gt_embedded_header *find_header(const char *name, size_t length)
{
    const struct gt_embedded_header *header = gt_embedded_headers;
    while (header->name && (strncmp(header->name, name, length) != 0 || header->name[length]))
        header++;
    return header->name ? header : NULL;
}

/* Writes a text with the headers that it includes in their places, and theirs in them, each where it is first asked
 * for. `seen` has a place for every header. */
static void expand(FILE *text, const char *source, bool *seen)
{
    for (const char *at; (at = strstr(source, INCLUDE));) {
        const char *name = at + strlen(INCLUDE), *end = name + strcspn(name, "\"\n");
        const struct gt_embedded_header *header = find_header(name, (size_t)(end - name));
        /* Of what is no header of ours the compiler will say what it thinks. */
        fwrite(source, 1, (size_t)((header ? at : end) - source), text);
        if (header && !seen[header - gt_embedded_headers]) {
            seen[header - gt_embedded_headers] = true;
            expand(text, header->text, seen);
        }
        source = header && *end == '"' ? end + 1 : end;
    }
    fputs(source, text);
}

static char *expanded(const char *source)
{
    char *body = NULL;
    size_t size = 0, headers = 0;
    while (gt_embedded_headers[headers].name)
        headers++;
    bool *seen = calloc(headers + 1, sizeof *seen);
    FILE *text = seen ? open_memstream(&body, &size) : NULL;
    if (text)
        expand(text, source, seen);
    free(seen);
    if (text && fclose(text) != 0) {
        free(body);
        return NULL;
    }
    return body;
}

gt_status gt_render(const gt_family *family, const gt_problem *problem, const char *params,
                    char **source, char hash[GT_HASH_LENGTH])
{
    const gt_types *types = gt_types_find(problem->type_ab, problem->type_c);
    char *buffer = NULL, *body = expanded(family->source);
    size_t size = 0;
    FILE *text = body ? open_memstream(&buffer, &size) : NULL;
    if (!text) {
        free(body);
        return gt_fail_memory();
    }
    fprintf(text, "// gemmtune %s: %s %s, aligned to %d bytes\n", family->name, types->name, gt_problem_layout(problem),
            problem->align);
    fprintf(text, "#define GT_AB %s\n#define GT_C %s\n#define GT_ACC %s\n", gt_type_find(types->ab)->cuda,
            gt_type_find(types->c)->cuda, types->accumulator);
    fprintf(text, "#define GT_TRANS_A %d\n#define GT_TRANS_B %d\n#define GT_ALIGN %d\n", problem->op_a == GT_T,
            problem->op_b == GT_T, problem->align);
    gt_status status = define_params(text, family, body, params);
    fprintf(text, "\n%s", body);
    free(body);
    if (fclose(text) != 0 && status == GT_OK)
        status = gt_fail_memory();
    if (status != GT_OK) {
        free(buffer);
        return status;
    }
    gt_hash(buffer, size, hash);
    *source = buffer;
    return GT_OK;
}
