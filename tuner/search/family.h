/* Kernel families: a template and its search space, built in or from a user's folder. */
#ifndef GT_FAMILY_H
#define GT_FAMILY_H

#include "../../src/core/kernel.h"

typedef struct gt_family {
    char name[GT_FAMILY_LENGTH];
    const char *source; /* NAME.cu, the headers that it includes in their places */
    const char *space;  /* NAME.sql */
    bool built_in;
} gt_family;

/* The name of a template that no space lies beside. */
typedef struct gt_lone_template {
    char name[GT_FAMILY_LENGTH];
} gt_lone_template;

typedef struct gt_families {
    gt_family *list;
    size_t count;
    gt_lone_template *lone; /* no families: a source that was rendered into the folder, or a kernel that is being written */
    size_t lone_count;
} gt_families;

/* The built-in families and, where folder is not NULL, every pair NAME.cu and NAME.sql in it; a name there
 * replaces the built-in one. A NAME.cu without a space is passed over. Families of a folder include its headers,
 * NAME.cuh, before built-in ones of the same name. GT_ERROR_IO, GT_ERROR_INVALID name the file. Owned:
 * gt_families_finish. */
gt_status gt_families_init(const char *folder, gt_families *families);
void gt_families_finish(gt_families *families);

/* NULL if there is none of that name. */
const gt_family *gt_families_find(const gt_families *families, const char *name);

/* The same for a name that a person typed: GT_ERROR_INVALID names the space that is missing, the nearest name, or all. */
gt_status gt_families_get(const gt_families *families, const char *name, const gt_family **family);

#endif
