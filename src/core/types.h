/*
 * Element types, and the combinations of them that a product may use. One table row each says everything: a new type is
 * a value of gt_type, its row here, and its spelling in the device headers.
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
    double least, most;          /* the smallest positive number and the largest finite one */
    int least_scale, most_scale; /* powers of two that checks scale rows by: some of them become subnormal */
    double (*load)(const void *data, int64_t index);               /* an element, exactly */
    void (*store)(void *data, int64_t index, double value);        /* rounded to nearest, ties to even */
    void (*draw)(void *data, int64_t index, uint64_t random_bits); /* for checks: signs are fair */
} gt_type_info;

/* What computes a product: the unit whose rate bounds it. */
typedef enum gt_unit {
    GT_UNIT_F32,         /* multiply-adds of f32 */
    GT_UNIT_S32,         /* of 32-bit integers */
    GT_UNIT_F64,         /* of f64; tensor cores, which round as these do, where they are faster */
    GT_UNIT_TENSOR_F16,  /* tensor cores, by the type of their operands */
    GT_UNIT_TENSOR_BF16,
    GT_UNIT_TENSOR_TF32,
    GT_UNIT_TENSOR_S8,
    GT_UNIT_TENSOR_F8,
    GT_UNIT_TENSOR_SPLIT, /* three products of f16 for each */
    GT_UNIT_FMA_F64,      /* multiply-adds of f64, tensor cores left out */
} gt_unit;

#define GT_UNIT_COUNT 10

/*
 * What tensor cores may do to a sum. One step aligns the products of a group and the sum so far to the largest of them,
 * cuts each to a unit relative to that one's power of two, adds exactly, and cuts the result.
 */
typedef struct gt_cut {
    int group;      /* products of one step, at least; 0: sums are rounded, never cut */
    double product; /* the unit that products are cut to */
    double sum;     /* the unit that the result is cut to */
} gt_cut;

/* What operands are rounded to before they are multiplied, to nearest. */
typedef struct gt_rounded {
    const char *name; /* PTX's, "tf32" */
    const char *cuda; /* the templates' spelling of an element that is so rounded, "gt_tf32" */
    int tensor_map;   /* CUtensorMapDataType: rounds on the way */
    double roundoff, least; /* unit roundoff; the smallest positive number */
} gt_rounded;

/* Types that may be multiplied, and the arithmetic between them: what a right kernel may do, at worst. */
typedef struct gt_types {
    const char *name; /* "f32", "f16_f32": the key in the database and on the command line */
    gt_math math;
    gt_type a, b, c;
    gt_type accumulator; /* of sums, alpha and beta */
    gt_unit unit;
    int cublas;             /* cublasComputeType_t; 0: it has none */
    bool exact;             /* integers: results are compared for equality */
    double roundoff;        /* unit roundoff of the accumulator's type; 0 if exact */
    double result_roundoff; /* of C's; 0 if exact */
    const gt_rounded *rounded; /* operands; NULL: they are multiplied as they are */
    double parts;              /* unit roundoff of operands as two parts; 0: they are multiplied whole */
    gt_cut cut;
    int promoted; /* products that tensor cores may sum before the sum goes to another in the accumulator's type; 0: any
                     number */
} gt_types;

#define GT_TYPES_TEXT 32

/* The row of one type; NULL if there is no such type. */
const gt_type_info *gt_type_find(gt_type type);

/* The row of these types under a math mode; NULL if that is not offered. */
const gt_types *gt_types_find(gt_type a, gt_type b, gt_type c, gt_math math);

bool gt_types_among(const gt_types *wanted, const gt_types *const *list, size_t count);

/* The rows in their order; NULL behind the last. */
const gt_types *gt_types_at(size_t index);

/* The row with that name under a math mode; NULL if there is none. */
const gt_types *gt_types_parse(const char *name, gt_math math);

/* Types and math for people: "f32", and "f32 tf32" where math is not strict. Returns text. */
const char *gt_types_text(const gt_types *types, char text[GT_TYPES_TEXT]);

/* The name of a math mode as in the database, "unknown" for what is none; which one has a name, false for none. */
const char *gt_math_name(gt_math math);
bool gt_math_parse(const char *name, gt_math *math);

/* The math whose kernels serve a mode beside its own: strict for split, which promises less; else the mode itself. */
gt_math gt_math_served_by(gt_math math);

/* The math modes that types of this name have, "strict tf32", for messages. Returns text. */
const char *gt_types_maths(const char *name, char text[GT_TYPES_TEXT]);

/* All names, "f32 s32 f16 f16_f32", for messages. */
const char *gt_types_names(void);

#endif
