#include "bound.h"

#include <math.h>

#include "copies.h"

double gt_cut_worst(const gt_cut *cut, double k)
{
    if (cut->group == 0)
        return 0;
    const double steps = ceil(k / cut->group);
    return cut->product * (k + steps) + cut->sum * steps;
}

/* The proof stands in kernel_templates/split.cu and split_mma.cu. The terms: parts of f16 and what is given back of
 * cuts, elements far below the largest of their line, sums on tensor cores (of 64 products on Hopper; of 32 elsewhere,
 * which err by more and are bounded here), and the addition of these sums in f32. */
static double bound_of_parts(double k)
{
    return 4 * 0x1p-22 + 0x1p-19 + (1 + 0x1p-9) * (32 / 8) * (9 * 0x1p-24 + 0x1p-23) + (ceil(k / 32) + 1) * 0x1p-24;
}

/*
 * Whatever the order of summation, an element is built of K products by K - 1 additions, fused or not; u is the unit
 * roundoff of the accumulator. Each addition errs by at most u times a partial sum, which never exceeds the sum of
 * |a||b|; products that are rounded on their own err by u of that sum together. Tensor cores cut instead of rounding:
 * gt_cut_worst bounds that for as many products as they sum before promotion. Operands rounded by o err by 2 o + o^2.
 * The result is rounded once more where C's type is not that of the sums.
 */
double gt_error_bound(const gt_types *types, const gt_facts *facts, int64_t k)
{
    const double length = (double)k;
    if (types->exact)
        return 0;
    if (facts->repack > 0 && (facts->repack & GT_COPY_SPLIT))
        return bound_of_parts(length);
    const double operand = types->rounded ? types->rounded->roundoff : 0;
    const bool tensor = types->parts == 0; /* with parts, whole operands are not for tensor cores */
    const bool promotes = types->promoted > 0 && k > types->promoted;
    return types->roundoff * length + (tensor ? gt_cut_worst(&types->cut, promotes ? types->promoted : length) : 0) +
           (2 + operand) * operand + (types->c == types->accumulator ? 0 : types->result_roundoff);
}
