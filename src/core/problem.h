/* A problem: a gt_gemm checked, with every default filled in. */
#ifndef GT_PROBLEM_H
#define GT_PROBLEM_H

#include "types.h"

/* A problem class: all that a kernel is rendered for and its results are judged by; everything but sizes. */
typedef struct gt_class {
    gt_type type_a, type_b, type_c;
    gt_math math;
    gt_epilogue epilogue; /* none: kernels are told at run time */
    gt_op op_a, op_b;
    int align; /* bytes: the largest of 1, 2, 4, 8, 16 that divides all pointers, row and batch strides of operands
                  that have elements; a pointer to larger elements is a multiple of those */
} gt_class;

/* Class and sizes distinguish one tuning from another; the rest says where the numbers lie. */
typedef struct gt_problem {
    gt_class class;
    int64_t m, n, k, batch;
    int64_t lda, ldb, ldc;
    int64_t stride_a, stride_b, stride_c;
} gt_problem;

/* Operands, as an index. */
typedef enum gt_operand { GT_A, GT_B, GT_C, GT_OPERANDS } gt_operand;

/* One operand as it is stored, row-major: rows `ld` elements apart, matrices of a batch `stride` elements apart. */
typedef struct gt_stored {
    gt_type type;
    int64_t rows, columns, ld, stride;
} gt_stored;

#define GT_LAYOUT_LENGTH 3
#define GT_PROBLEM_NAME_LENGTH 128
#define GT_PROBLEM_WORDS 192

/*
 * Checks a gemm and fills in its defaults. GT_ERROR_INVALID with the field's name on a negative size, a leading
 * dimension smaller than the row or a matrix of more than 2^63 bytes; GT_ERROR_UNSUPPORTED on types that are not
 * offered, on math that they do not have, and on an epilogue that they do not have.
 */
gt_status gt_problem_init(const gt_gemm *gemm, gt_problem *problem);

/*
 * The same product in the one form that products with vectors are tuned in, checked as above. A contiguous C of one
 * column becomes C of one row, that is B' A' instead of A B (*swapped); not where A and B have different types, or with
 * a bias, which belongs to columns. A contiguous A of one row, or B of one column, is stored along K. So rows are long,
 * and as aligned as they can be.
 */
gt_status gt_problem_fold(const gt_gemm *gemm, gt_problem *problem, bool *swapped);

/* The row of its types: never NULL for the class of a problem. */
const gt_types *gt_class_types(const gt_class *class);

/* Bytes of the smallest element of the operands. */
int gt_class_element(const gt_class *class);

/* What a pointer to elements of this type is a multiple of, in bytes. */
int gt_class_pointer(const gt_class *class, gt_type type);

/* "nn", "nt", "tn" or "tt" for op_a and op_b. */
const char *gt_class_layout(const gt_class *class);

/* A packed product of this class, to be changed and given to gt_problem_init. */
gt_gemm gt_class_gemm(const gt_class *class, int64_t m, int64_t n, int64_t k);

/* Whether two classes are the same; whether a kernel rendered for one serves problems of the other, which is the same
 * or more aligned. */
bool gt_class_same(const gt_class *a, const gt_class *b);
bool gt_class_serves(const gt_class *rendered, const gt_class *asked);

/* The name of an epilogue, as in the database; "unknown" for what is none. */
const char *gt_epilogue_name(gt_epilogue epilogue);

/* Reads "nn" and so on; GT_ERROR_INVALID on anything else. */
gt_status gt_layout_parse(const char *text, gt_op *op_a, gt_op *op_b);

/* "f32 nn 4096x4096x4096"; "f32 tf32 nn ..." where math is not strict, with " batch 8" and " align 4" where they are
 * not 1 and 16. */
void gt_problem_name(const gt_problem *problem, char name[GT_PROBLEM_NAME_LENGTH]);

/* The options by which `gemmtune` tunes it: "--type f32 --layout nn --shapes 4096x4096x4096". */
const char *gt_problem_words(const gt_problem *problem, char words[GT_PROBLEM_WORDS]);

gt_stored gt_problem_stored(const gt_problem *problem, gt_operand operand);

/* Bytes from the first to past the last element of one operand over all batches; 0 for an empty one. */
size_t gt_problem_bytes(const gt_problem *problem, gt_operand operand);

/* 2 m n k batch. */
double gt_problem_flops(const gt_problem *problem);

/* Whether two problems are the same in m, n, k and batch; in every field. */
bool gt_problem_same_size(const gt_problem *a, const gt_problem *b);
bool gt_problem_same(const gt_problem *a, const gt_problem *b);

/* A hash of class and sizes: the same for problems that gt_class_same and gt_problem_same_size cannot tell apart. */
uint64_t gt_problem_hash(const gt_problem *problem);

#endif
