/* The parameters of a configuration: integers with names, in the order of the space's columns. Text is for people. */
#ifndef GT_PARAMS_H
#define GT_PARAMS_H

#include <stdbool.h>

#include "status.h"

#define GT_PARAM_COUNT 32
#define GT_PARAM_NAME  24
#define GT_PARAMS_TEXT (GT_PARAM_COUNT * (GT_PARAM_NAME + 22)) /* a name, '=', a 64-bit number, a blank */

typedef struct gt_param {
    char name[GT_PARAM_NAME]; /* zeros behind it */
    int64_t value;
} gt_param;

/* No pointers inside: it can be copied and sent to a worker as it is. */
typedef struct gt_params {
    int64_t count;
    gt_param list[GT_PARAM_COUNT];
} gt_params;

/* Whether a name is one: of a-z, 0-9 and _, begins with a letter and is shorter than GT_PARAM_NAME. */
bool gt_param_is_name(const char *name);

/* Adds one at the end. GT_ERROR_INVALID if there is no room, or the name is none. */
gt_status gt_params_add(gt_params *params, const char *name, int64_t value);

/* Whether there is one of that name; its value. */
bool gt_params_find(const gt_params *params, const char *name, int64_t *value);

bool gt_params_same(const gt_params *a, const gt_params *b);

/* "bm=128 bn=256", whole; returns text. */
const char *gt_params_text(const gt_params *params, char text[GT_PARAMS_TEXT]);

#endif
