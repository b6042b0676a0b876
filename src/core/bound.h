/* What is proved of a kernel's errors. */
#ifndef GT_BOUND_H
#define GT_BOUND_H

#include "facts.h"
#include "types.h"

/* What the error of an element of op(A) op(B), with K terms, is within whatever the operands hold, over the sum of
 * |a||b|; 0: it is exact. For sums that stay below the largest number and results that are not subnormal. */
double gt_error_bound(const gt_types *types, const gt_facts *facts, int64_t k);

/* What tensor cores cut from a sum of k products at worst, over the same. */
double gt_cut_worst(const gt_cut *cut, double k);

#endif
