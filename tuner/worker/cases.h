/*
 * The small products that a kernel is checked on. They are drawn from a seed for one kernel, so that over its checks
 * every remainder of m and n by its tile and of k by its step is met, with scalars, batches, strides and values of
 * every kind, pointers that are aligned as promised and no better, and sides of many tiles. All of them lie in one
 * piece of memory, poison between them.
 */
#ifndef GT_CASES_H
#define GT_CASES_H

#include <stddef.h>

#include "../../src/core/kernel.h"
#include "../../src/core/problem.h"

#define GT_CASE_GUARD 1024 /* bytes of poison between operands */

/* What elements are like. */
typedef enum gt_values {
    GT_VALUES_NORMAL, /* near normal; integers of the whole range */
    GT_VALUES_WIDE,   /* rows of A and columns of B scaled by powers of two: one down to subnormal numbers, one up */
    GT_VALUES_HARD,   /* NaN and infinities at some places of one operand */
} gt_values;

/* What nobody is to look at. */
typedef enum gt_fill { GT_FILL_POISON, GT_FILL_ZEROS, GT_FILL_ONES, GT_FILL_RANDOM, GT_FILL_COUNT } gt_fill;

typedef struct gt_case {
    gt_problem problem;
    double alpha, beta; /* exact in the accumulator's type */
    gt_values values;
    gt_operand odd; /* the operand that has the hard values, or is scaled down */
    gt_fill fill;   /* what C holds before where beta is 0 */
    bool again;     /* follows a case of the same sizes and finds the workspace as that one left it */
    bool general;   /* several tiles and long K: the software GPU looks for races in it */
    int repeats;    /* launches, one after the other; more than one only where beta is 0 */
    size_t place[GT_OPERANDS]; /* of A, B and C in the memory, bytes */
} gt_case;

typedef struct gt_cases {
    gt_case *list;
    size_t count;
    size_t bytes;    /* of memory, from an address that is a multiple of 256 */
    void *image;     /* what it holds before */
    int residues[3]; /* of m by the tile, n by the tile, k by the step: how many were met */
} gt_cases;

/*
 * Draws the cases of a kernel for a class. `work` bounds the multiply-adds that they take, whole tiles counted, so far
 * as there is at least something of everything; 0 is no bound. The same arguments give the same cases.
 * *cases: gt_cases_finish.
 */
gt_status gt_cases_draw(const gt_class *class, const gt_kernel *kernel, uint64_t seed, double work, gt_cases *cases);
void gt_cases_finish(gt_cases *cases);

/* What was met, for the trial's row: "213 products, 64 of 64 remainders of m, 64 of 64 of n, 16 of k". */
void gt_cases_describe(const gt_cases *cases, const gt_kernel *kernel, char *text, size_t bytes);

#endif
