/*
 * The reference: products on the host in f64, those of f64 with twice its precision, or in integers modulo 2^32, and
 * how far from them a right result may lie. Shares no code with the templates.
 */
#ifndef GT_REFERENCE_H
#define GT_REFERENCE_H

#include <stdbool.h>

#include "../../src/core/problem.h"

/* What is known of every element of op(A) op(B), packed: product after product, row after row. */
typedef struct gt_reference {
    double *sum;       /* of a_ip b_pj over p; exact modulo 2^32, in the range of int32, for s32 */
    double *square;    /* of (a_ip b_pj)^2 */
    double *magnitude; /* of |a_ip b_pj| */
} gt_reference;

/* Computes it from host operands laid out as the problem says. *reference: gt_reference_finish. */
gt_status gt_reference_init(const gt_problem *problem, const void *a, const void *b, gt_reference *reference);
void gt_reference_finish(gt_reference *reference);

/* Element `index` of an array of a type, exactly. */
double gt_reference_load(gt_type type, const void *data, int64_t index);

/* alpha * sum + beta * c in the arithmetic of the types; c is not looked at where beta is 0. */
double gt_reference_scale(const gt_types *types, double alpha, double sum, double beta, double c);

/*
 * The largest |result - reference| that rounding can explain: for an element of C, and for the sum of many elements
 * with random signs (a row of C times a random vector). 0 for integers.
 *   k         length of the sums
 *   own       additions in f64 behind the reference that a result is held to; 0 for gt_reference_init's
 *   square    sum of (a_ip b_pj)^2 over p, and over the elements that were added up
 *   c_square  sum of c_ij^2 over the elements that were added up
 * Where it comes from is told in reference.c.
 */
double gt_reference_bound(const gt_types *types, int64_t k, int64_t own, double alpha, double beta, double square,
                          double c_square);

/* Whether a result is as close as the bound asks. NaN and infinity never are. */
bool gt_reference_accepts(double result, double expected, double bound);

/*
 * For many elements of one product: what its elements' squares, magnitudes and scaled parts are multiplied with. An
 * element errs by no more than `bound_last` and the smaller of the root of the first two and of the next two, `least`
 * added; on tensor cores that is not known where exponents are far apart: there `result` counts instead. The sum of the others and a twelfth of `least` is the mean square of the error that the arithmetic itself
 * gives an element: multiply-adds one after the other, each rounded once, or what tensor cores do, then alpha, beta and
 * C. Sums in another order err less. A kernel whose errors are twice that on average does not compute with what it was
 * given. All are 0 for integers. Where they come from is told in reference.c.
 */
typedef struct gt_reference_terms {
    double bound_square, bound_c; /* of square, of c^2 */
    double worst, worst_c;        /* of magnitude, of |c| */
    double bound_last;            /* of the result's magnitude */
    double result;                /* more of alpha^2 square and beta^2 c^2, in the place of worst and bound_last */
    double square, parts, whole;  /* of square, of (alpha sum)^2 and (beta c)^2, of their sum's square */
    double least;                 /* the square of the smallest number that C holds */
} gt_reference_terms;

gt_reference_terms gt_reference_terms_of(const gt_types *types, int64_t k, int64_t own, double alpha, double beta);

#endif
