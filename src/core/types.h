/*
 * Element types, and the pairs of operand and result type that a product may use. One table row each says everything:
 * a new type is a value of gt_type, its row here, and its spelling in the device headers.
 */
#ifndef GT_TYPES_H
#define GT_TYPES_H

#include <stdbool.h>

#include "../gemmtune.h"

#define GT_TYPE_LIMIT 16 /* no less than there are types */

typedef struct gt_type_info {
    const char *name; /* "f32" */
    const char *cuda; /* the templates' spelling, "float" */
    int bytes;
    int cublas;     /* cudaDataType_t */
    int tensor_map; /* CUtensorMapDataType */
    int least_scale, most_scale; /* powers of two that checks scale rows by: some of them become subnormal */
    double (*load)(const void *data, int64_t index);               /* an element, exactly */
    void (*store)(void *data, int64_t index, double value);        /* rounded to nearest, ties to even */
    void (*draw)(void *data, int64_t index, uint64_t random_bits); /* for checks: signs are fair */
} gt_type_info;

/* What computes a product: the unit whose rate bounds it. */
typedef enum gt_unit {
    GT_UNIT_F32,       /* multiply-adds of f32 */
    GT_UNIT_S32,       /* of 32-bit integers */
    GT_UNIT_TENSOR_16, /* tensor cores on 16-bit operands */
} gt_unit;

#define GT_UNIT_COUNT 3

/* A pair and the arithmetic between its types. */
typedef struct gt_types {
    const char *name; /* "f32", "f16_f32": the key in the database and on the command line */
    gt_type ab, c;
    gt_type accumulator; /* of sums, alpha and beta */
    gt_unit unit;
    bool exact;             /* integers: results are compared for equality */
    double roundoff;        /* largest relative error of one step of a sum; 0 if exact */
    bool cut;               /* steps cut toward zero, so that their errors add up; else they are rounded */
    double result_roundoff; /* of C, rounded to its type from the accumulator's; 0 if exact */
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
