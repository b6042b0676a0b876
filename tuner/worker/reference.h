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
 * Factors for the errors of all elements of one product, so that the bound of each costs a few operations. For a result
 * r, with square = the sum of (a b)^2, magnitude = the sum of |a b| and c the old element of C:
 *
 * An error is at most bound_last * |r| + sqrt(least + E^2). E^2 is the smaller of bound_square * square + bound_c * c^2,
 * what random signs allow, and of (worst * magnitude + worst_c * |c|)^2, the worst case. On tensor cores the worst case
 * is not known where exponents are far apart: there E^2 is the first of the two and
 * result * (alpha^2 * square + beta^2 * c^2), in the place of bound_last.
 *
 * The mean square of errors that the arithmetic itself gives is square_mean * square
 * + parts * ((alpha sum)^2 + (beta c)^2) + whole * r^2 + least / 12: multiply-adds one after the other, each rounded once,
 * or what tensor cores do, then alpha, beta and C. Other orders of summation err less. A kernel whose errors are twice
 * that on average does not compute with what it was given.
 *
 * All are 0 for integers. reference.c derives them.
 */
typedef struct gt_reference_terms {
    double bound_square, bound_c;
    double worst, worst_c;
    double bound_last;
    double result;
    double square_mean, parts, whole;
    double least; /* the square of the smallest number that C holds */
} gt_reference_terms;

gt_reference_terms gt_reference_terms_of(const gt_types *types, int64_t k, int64_t own, double alpha, double beta);

#endif
