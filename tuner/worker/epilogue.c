#include "epilogue.h"

#include <math.h>

double gt_epilogue_add(const gt_types *types, double value, double bias)
{
    return types->exact ? (int32_t)((uint32_t)(int32_t)value + (uint32_t)(int32_t)bias) : value + bias;
}

double gt_epilogue_activate(gt_epilogue epilogue, double x)
{
    if (epilogue & GT_EPILOGUE_RELU)
        return x < 0 ? 0 : x;
    return epilogue & GT_EPILOGUE_GELU ? x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) : x;
}

/*
 * The bias is added in the accumulator's type: the sum before it and the sum with it are each rounded once, by u of
 * themselves. relu keeps distances or makes them smaller; gelu's derivative is below 1.13.
 *
 * gelu is computed as x / (1 + 2^y), with y = -2 / ln 2 sqrt(2 / pi) (x + 0.044715 x^3). Three roundings of y err by
 * 3 2^-24 |y|, that is by 1.3e-7 |y| of 2^y; the instruction for 2^y by 2^-22.5 of it, the one for 1 / z by 2^-23, the
 * sum and the product by 2^-24 each. The first two count by the share of 2^y in 1 + 2^y; |y| min(1, 2^y) / (1 + 2^y) is
 * below 0.4: together less than 4.5e-7 |x|. What is below the smallest normal number becomes zero.
 */
#define GELU_SLOPE 1.13
#define GELU_ERROR 0x1p-20
#define GELU_LEAST 0x1p-126

double gt_epilogue_bound(const gt_types *types, gt_epilogue epilogue, double value, double bias, double bound)
{
    const double sum = fabs(value + bias);
    if (types->exact || epilogue == GT_EPILOGUE_NONE || !isfinite(sum))
        return isfinite(sum) ? bound : 0;
    if (epilogue & GT_EPILOGUE_BIAS)
        bound += types->roundoff * (fabs(value) + sum);
    return epilogue & GT_EPILOGUE_GELU ? GELU_SLOPE * bound + GELU_ERROR * sum + GELU_LEAST : bound;
}
