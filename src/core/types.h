/* Element types and the pairs of them that a product may use: one table row each. */
#ifndef GT_TYPES_H
#define GT_TYPES_H

#include "../gemmtune.h"

#define GT_TYPE_COUNT 3

typedef struct gt_type_info {
    const char *name; /* "f32" */
    const char *cuda; /* the template's spelling of it, "float" */
    int bytes;
} gt_type_info;

/* A pair of operand and result type and the arithmetic between them. */
typedef struct gt_types {
    const char *name; /* "f32", "f16_f32": the key in the database and on the command line */
    gt_type ab, c;
    const char *accumulator; /* the template's spelling, "float" */
    int scalar_bytes;        /* of alpha and beta */
    int exact;               /* integer arithmetic: results are compared for equality */
    double roundoff;         /* unit roundoff of one accumulation step; 0 if exact */
} gt_types;

/* The row of one type; NULL if there is no such type. */
const gt_type_info *gt_type_find(gt_type type);

/* The row of a pair; NULL if that pair is not offered. */
const gt_types *gt_types_find(gt_type ab, gt_type c);

/* The row with that name; NULL if there is none. */
const gt_types *gt_types_parse(const char *name);

/* All names, "f32 s32 f16_f32", for messages. */
const char *gt_types_names(void);

#endif
