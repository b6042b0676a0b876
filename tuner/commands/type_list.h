/* Types as people write them: f32,bf16 under strict,tf32; all. */
#ifndef GT_TYPE_LIST_H
#define GT_TYPE_LIST_H

#include "../../src/core/status.h"
#include "../../src/core/types.h"

#define GT_TYPES_MOST 64 /* of a list */

/*
 * Reads a list of types and one of maths, each with commas between, into the pairs that there are, each once. Maths
 * that are not given, NULL, are strict. `all` as a type means all of them, the usual ones first, under every math if
 * none is given; *all says that it was there. GT_ERROR_INVALID names what there is not, and a type that has none of the
 * maths.
 */
gt_status gt_type_list_parse(const char *types, const char *maths, const gt_types *list[GT_TYPES_MOST], size_t *count,
                             bool *all);

/* Whether these are among the types that most programs use. */
bool gt_types_are_usual(const gt_types *types);

#endif
