/*
 * The small products that a kernel is checked on. They are drawn from a seed for one kernel, so that over its checks
 * every remainder of m and n by its tile and of k by its step is met, sizes next to the tile's and to powers of two, sizes
 * that are equal, every small size, numbers of steps of K up to beyond its stages and parts, with scalars, batches, strides and values of every kind,
 * pointers that are aligned as promised and no better, and sides of many tiles. All of them lie in one piece of memory,
 * poison between them.
 */
#ifndef GT_CASES_H
#define GT_CASES_H

#include "../../src/core/kernel.h"
#include "case.h"
#include "pool.h"

#define GT_CASE_GUARD 1024 /* bytes of poison between operands */

/* How many of the cases are wanted: all; some of every kind, and those that are watched for races; of these alone those
 * that use shared memory. */
typedef enum gt_extent { GT_EXTENT_ALL, GT_EXTENT_FEW, GT_EXTENT_WATCHED } gt_extent;

/*
 * Draws the cases of a kernel for a class. `work` bounds the multiply-adds that they take, whole tiles counted, so far
 * as there is at least something of everything; 0 is no bound. The same arguments give the same cases.
 * *cases: gt_cases_finish.
 */
gt_status gt_cases_draw(const gt_class *class, const gt_kernel *kernel, uint64_t seed, double work, gt_extent extent,
                        gt_cases *cases);
void gt_cases_finish(gt_cases *cases);

/* What the memory holds before: image has room for cases->bytes. pools: one for each operand, of its type. */
void gt_cases_fill(const gt_cases *cases, const gt_pool pools[GT_OPERANDS], void *image);

/* The step of K of a kernel: what its lanes and warps take at once where they lie over K, its `bk`, else a usual one. */
int64_t gt_cases_step(const gt_kernel *kernel);

/* What a block takes of K before it begins again: `bk`, or what its lanes and warps have on their way where they lie over K. */
int64_t gt_cases_turn(const gt_kernel *kernel);

/* What was met, for the trial's row: "213 products, 64 of 64 remainders of m, 64 of 64 of n, 16 of 16 of k". */
void gt_cases_describe(const gt_cases *cases, const gt_kernel *kernel, char *text, size_t bytes);

#endif
