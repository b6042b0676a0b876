#include "family.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/core/status.h"
#include "../values.h"
#include "embedded.h"
#include "template.h"

static void release(gt_family *family)
{
    free((char *)family->source);
    if (!family->built_in)
        free((char *)family->space);
}

/* Puts a family into the list, over one of the same name, with its source completed by the headers that it includes. */
static gt_status add(gt_families *families, gt_family family, const char *folder)
{
    char *source, file[sizeof family.name + 3];
    size_t place = 0;
    snprintf(file, sizeof file, "%s.cu", family.name);
    const gt_status status = gt_template_complete(family.source, folder, file, &source);
    if (status != GT_OK)
        return status;
    family.source = source;
    while (place < families->count && strcmp(families->list[place].name, family.name) != 0)
        place++;
    if (place < families->count) {
        release(&families->list[place]);
    } else {
        gt_family *list = realloc(families->list, (place + 1) * sizeof *list);
        if (!list) {
            free(source);
            return gt_fail_memory();
        }
        families->list = list;
        families->count++;
    }
    families->list[place] = family;
    return GT_OK;
}

static gt_status add_lone(gt_families *families, const char *file_name, int stem)
{
    gt_lone_template *lone = realloc(families->lone, (families->lone_count + 1) * sizeof *lone);
    if (!lone)
        return gt_fail_memory();
    families->lone = lone;
    snprintf(lone[families->lone_count++].name, sizeof lone->name, "%.*s", stem, file_name);
    return GT_OK;
}

static gt_status add_pair(gt_families *families, const char *folder, const char *file_name)
{
    char path[4096];
    char *source = NULL, *space = NULL;
    gt_family family = {0};
    const int stem = (int)strlen(file_name) - 3; /* without ".cu" */
    snprintf(path, sizeof path, "%s/%.*s.sql", folder, stem, file_name);
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return add_lone(families, file_name, stem);
    if (stem >= (int)sizeof family.name)
        return gt_fail(GT_ERROR_INVALID, "the family name in '%s' is longer than %zu characters", file_name,
                       sizeof family.name - 1);
    snprintf(family.name, sizeof family.name, "%.*s", stem, file_name);
    snprintf(path, sizeof path, "%s/%s", folder, file_name);
    gt_status status = gt_template_read(path, &source);
    snprintf(path, sizeof path, "%s/%s.sql", folder, family.name);
    if (status == GT_OK)
        status = gt_template_read(path, &space);
    family.source = source;
    family.space = space;
    if (status == GT_OK)
        status = add(families, family, folder);
    free(source);
    if (status != GT_OK)
        free(space);
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
        status = add(&families, family, NULL);
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
        release(&families->list[i]);
    free(families->list);
    free(families->lone);
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
    for (size_t i = 0; i < families->lone_count; i++)
        if (strcmp(families->lone[i].name, name) == 0)
            return gt_fail(GT_ERROR_INVALID, "%s.cu is no family without %s.sql, its search space, beside it", name, name);
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
