/* What is proved of a kernel's errors. */
#ifndef GT_BOUND_H
#define GT_BOUND_H

#include "facts.h"
#include "types.h"

/* What the error of an element of op(A) op(B), with K terms, is within whatever the operands hold, over the sum of
 * |a||b|; 0: it is exact. Not where a result is subnormal, nor of operands in parts where k times the largest elements
 * of a row and a column may pass 2^126: these are added in the order of strict f32. */
double gt_error_bound(const gt_types *types, const gt_facts *facts, int64_t k);

/* What tensor cores cut from a sum of k products at worst, over the same. */
double gt_cut_worst(const gt_cut *cut, double k);

#endif
