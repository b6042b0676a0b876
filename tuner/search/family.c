#include "family.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"
#include "../values.h"
#include "embedded.h"

/* Larger than any template; a folder given by mistake must not be swallowed whole. */
#define FILE_LIMIT (1 << 20)

static gt_status read_file(const char *path, char **text)
{
    gt_status status = GT_OK;
    char *buffer = NULL;
    size_t count = 0;
    FILE *file = fopen(path, "rb");
    if (!file)
        return gt_fail(GT_ERROR_IO, "cannot read %s: %s", path, strerror(errno));
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

/* Puts a family into the list, over one of the same name. */
static gt_status add(gt_families *families, const gt_family *family)
{
    for (size_t i = 0; i < families->count; i++)
        if (strcmp(families->list[i].name, family->name) == 0) {
            families->list[i] = *family;
            return GT_OK;
        }
    gt_family *list = realloc(families->list, (families->count + 1) * sizeof *list);
    if (!list)
        return gt_fail_memory();
    families->list = list;
    list[families->count++] = *family;
    return GT_OK;
}

static gt_status add_pair(gt_families *families, const char *folder, const char *file_name)
{
    char path[4096];
    char *source = NULL, *space = NULL;
    gt_family family = {0};
    const int stem = (int)strlen(file_name) - 3; /* without ".cu" */
    if (stem >= (int)sizeof family.name)
        return gt_fail(GT_ERROR_INVALID, "the family name in '%s' is longer than %zu characters", file_name,
                       sizeof family.name - 1);
    snprintf(family.name, sizeof family.name, "%.*s", stem, file_name);
    snprintf(path, sizeof path, "%s/%s", folder, file_name);
    gt_status status = read_file(path, &source);
    if (status != GT_OK)
        return status;
    snprintf(path, sizeof path, "%s/%s.sql", folder, family.name);
    if ((status = read_file(path, &space)) == GT_OK) {
        family.source = source;
        family.space = space;
        status = add(families, &family);
    }
    if (status != GT_OK) {
        free(source);
        free(space);
    }
    return status;
}

static gt_status add_folder(gt_families *families, const char *folder)
{
    gt_status status = GT_OK;
    struct dirent **entries;
    const int count = scandir(folder, &entries, NULL, alphasort);
    if (count < 0)
        return gt_fail(GT_ERROR_IO, "cannot read the template folder %s: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        const size_t length = strlen(name);
        if (status == GT_OK && length > 3 && strcmp(name + length - 3, ".cu") == 0)
            status = add_pair(families, folder, name);
        free(entries[i]);
    }
    free(entries);
    return status;
}

gt_status gt_families_init(const char *folder, gt_families *out)
{
    gt_families families = {0};
    gt_status status = GT_OK;
    for (const struct gt_embedded_family *e = gt_embedded_families; status == GT_OK && e->name; e++) {
        gt_family family = {.source = e->source, .space = e->space, .built_in = true};
        snprintf(family.name, sizeof family.name, "%s", e->name);
        status = add(&families, &family);
    }
    if (status == GT_OK && folder)
        status = add_folder(&families, folder);
    if (status != GT_OK) {
        gt_families_finish(&families);
        return status;
    }
    *out = families;
    return GT_OK;
}

void gt_families_finish(gt_families *families)
{
    for (size_t i = 0; i < families->count; i++)
        if (!families->list[i].built_in) {
            free((char *)families->list[i].source);
            free((char *)families->list[i].space);
        }
    free(families->list);
    *families = (gt_families){0};
}

const gt_family *gt_families_find(const gt_families *families, const char *name)
{
    for (size_t i = 0; i < families->count; i++)
        if (strcmp(families->list[i].name, name) == 0)
            return &families->list[i];
    return NULL;
}

gt_status gt_families_get(const gt_families *families, const char *name, const gt_family **family)
{
    char list[512] = "";
    const char *near = NULL;
    const gt_family *found = gt_families_find(families, name);
    if (found) {
        *family = found;
        return GT_OK;
    }
    const char **names = calloc(families->count + 1, sizeof *names);
    if (!names)
        return gt_fail_memory();
    for (size_t i = 0, length = 0; i < families->count; i++) {
        names[i] = families->list[i].name;
        if (length < sizeof list)
            length += (size_t)snprintf(list + length, sizeof list - length, " %s", names[i]);
    }
    near = gt_nearest(name, names);
    free(names);
    if (near)
        return gt_fail(GT_ERROR_INVALID, "unknown family '%.40s'; did you mean '%s'?", name, near);
    return gt_fail(GT_ERROR_INVALID, "unknown family '%.40s'; there are:%s", name, list);
}
