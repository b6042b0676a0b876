/* What is proved of a kernel's errors. */
#ifndef GT_BOUND_H
#define GT_BOUND_H

#include "facts.h"
#include "types.h"

/* A bound of the error of an element of op(A) op(B), relative to its sum of |a||b| over K terms, whatever the operands
 * hold; 0: exact. It does not hold for subnormal results, nor for operands in parts where k times the largest elements
 * of a row and a column may pass 2^126: those are summed as strict f32 does. */
double gt_error_bound(const gt_types *types, const gt_facts *facts, int64_t k);

/* The most that tensor cores cut from a sum of k products, relative to the same. */
double gt_cut_worst(const gt_cut *cut, double k);

#endif
