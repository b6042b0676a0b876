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

/* kernel_templates/split.cu and split_mma.cu prove it: parts, deep elements, sums of up to 64 products on Hopper's tensor
 * cores or 32 on others, which err by more, and the sums of these in f32. */
static double bound_of_parts(double k)
{
    return 3 * 0x1p-22 + 0x1p-19 + (1 + 0x1p-9) * (32 / 8) * (9 * 0x1p-24 + 0x1p-23) + (2 * ceil(k / 32) + 1) * 0x1p-24;
}

/*
 * Whatever the order of summation, an element is built by K - 1 additions and K products, fused or not. Each addition errs
 * by u times a partial sum, which is the sum of |a||b| at most; the products, where they are rounded on their own, by u of
 * it together. Tensor cores may do it instead, cut as they cut, a promoted sum in as many products as it is promoted
 * after. Operands that are rounded by o err by 2 o + o^2. The result is rounded where C's type is not that of sums.
 */
double gt_error_bound(const gt_types *types, const gt_facts *facts, int64_t k)
{
    const double length = (double)k;
    if (types->exact)
        return 0;
    if (facts->repack > 0 && (facts->repack & GT_COPY_SPLIT))
        return bound_of_parts(length);
    const double operand = types->rounded ? types->rounded->roundoff : 0;
    const bool tensor = types->parts == 0; /* operands in parts are not multiplied whole by tensor cores */
    const bool promotes = types->promoted > 0 && k > types->promoted;
    return types->roundoff * length + (tensor ? gt_cut_worst(&types->cut, promotes ? types->promoted : length) : 0) +
           (2 + operand) * operand + (types->c == types->accumulator ? 0 : types->result_roundoff);
}
