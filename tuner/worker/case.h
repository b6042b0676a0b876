/* One small product that a kernel is checked on: its problem, its values, its place in memory. */
#ifndef GT_CASE_H
#define GT_CASE_H

#include <stddef.h>

#include "../../src/core/kernel.h"
#include "../../src/core/problem.h"

/* What elements are like. */
typedef enum gt_values {
    GT_VALUES_NORMAL, /* near normal; integers of the whole range */
    GT_VALUES_WIDE,   /* rows of A and columns of B scaled by powers of two: one down to subnormal numbers, one up */
    GT_VALUES_HARD,   /* NaN and infinities at some places of one operand */
    GT_VALUES_WHOLE,  /* whole numbers whose sums are exact in every order: results are right to the last bit */
    GT_VALUES_TIES,   /* exact sums next to the middle of two numbers of C's type: one that is cut at all rounds wrong */
    GT_VALUES_STEEP,  /* one large product, then small ones that a sum with it cannot hold: it is to be promoted */
    GT_VALUES_LARGE,  /* integers near the largest: sums grow as far as they can */
    GT_VALUES_UNEVEN, /* elements of a row of A or column of B far apart, for operands that may be split into parts */
} gt_values;

/* How elements are far apart: spread at random over 2^24, or 2^48; in some rows of A or columns of B, or in the last one
 * alone, one 2^40 times the others; or one of each 2^-38 of the others, or the first or the last of each. Or in both
 * operands one, whose product is the result, 2^-144 of one operand's others and 2^-88 of the other's. Or in all rows or
 * columns one 2^114 times the others, at any values, or at such that all products are the same, a number that long sums in
 * f32 round down each time. */
typedef enum gt_uneven {
    GT_UNEVEN_SPREAD,
    GT_UNEVEN_FAR,
    GT_UNEVEN_LARGE,
    GT_UNEVEN_LAST,
    GT_UNEVEN_SMALL,
    GT_UNEVEN_COUNT, /* of those that go with any scalars */
    GT_UNEVEN_FIRST_SMALL = GT_UNEVEN_COUNT,
    GT_UNEVEN_LAST_SMALL,
    GT_UNEVEN_DEEP,
    GT_UNEVEN_BEYOND,
    GT_UNEVEN_DRIFT,
} gt_uneven;

#define GT_SUMS_K 2048 /* of the product that tells by the mean of its errors whether sums are promoted */

/* Which hard values: one kind alone is not hidden by another. */
#define GT_HARD_KINDS 3 /* NaN, infinity, negative infinity: a bit each */

/* What nobody is to look at. */
typedef enum gt_fill { GT_FILL_POISON, GT_FILL_ZEROS, GT_FILL_ONES, GT_FILL_RANDOM, GT_FILL_COUNT } gt_fill;

typedef struct gt_case {
    gt_problem problem;
    double alpha, beta; /* exact in the accumulator's type */
    gt_values values;
    gt_operand odd; /* the operand that has the hard values, is scaled down, or is uneven */
    unsigned hard;  /* the kinds that it has */
    gt_uneven uneven;
    gt_fill fill;   /* what C holds before where beta is 0 */
    uint64_t seed;  /* of its elements */
    gt_epilogue epilogue;
    bool beside;    /* results go to a matrix of their own, and C is only read */
    bool itself;    /* B is A, the same memory */
    bool again;     /* follows a case of the same sizes and finds the workspace as that one left it */
    bool watched;   /* the software GPU looks for races in it */
    bool dealt;     /* few blocks make the copies of operands, so that each makes several */
    int64_t parts;  /* of K, where the kernel takes any; 0: those that it was made for */
    int repeats;    /* launches, one after the other; more than one only where beta is 0 */
    size_t begin;   /* of its part of the memory, which ends where the next case's begins; a multiple of 256 bytes */
    size_t place[GT_OPERANDS]; /* of A, B and C in the memory, bytes */
    size_t bias, result; /* the bias's place, where there is one, and that of results */
} gt_case;

typedef struct gt_cases {
    gt_case *list;
    size_t count;
    size_t bytes; /* of memory, from an address that is a multiple of 256 */
} gt_cases;

/* Where a case's part of the memory ends. */
size_t gt_cases_end(const gt_cases *cases, size_t index);

/* Elements of the bias; 0: there is none. */
int64_t gt_case_bias(const gt_case *c);

/* Whether a stored row of A or B has one k, and a column the elements along K. */
bool gt_case_has_k_down(const gt_case *c, gt_operand operand);

#endif
