/*
 * f16 and bf16 arithmetic, alone and in pairs. Sums, products and quotients of such numbers, rounded to f32 and then
 * again, are correctly rounded: f32 has more than twice their bits. A fused multiply-add goes through f64 and a
 * rounding to odd.
 */
#include <math.h>

#include "rows.h"

static inline float add(float a, float b)
{
    return a + b;
}
static inline float sub(float a, float b)
{
    return a - b;
}
static inline float mul(float a, float b)
{
    return a * b;
}
static inline float fused(float a, float b, float c)
{
    /* The product is exact; what the sum loses (Knuth's two-sum) only matters in being there. */
    const double product = (double)a * b, sum = product + c, part = sum - product;
    const double lost = (product - (sum - part)) + (c - part);
    uint64_t bits;
    memcpy(&bits, &sum, 8);
    if (lost != 0 && !(bits & 1) && sum - sum == 0) {
        bits += (lost > 0) == (sum > 0) ? 1 : -1;
        double odd;
        memcpy(&odd, &bits, 8);
        return sg_to_odd(odd);
    }
    return sg_to_odd(sum);
}
static inline float relu(float x)
{
    return x > 0 ? x : x != x ? x : 0;
}
static inline float saturated(float x)
{
    return x > 0 ? (x < 1 ? x : 1) : 0;
}
static inline float least(float a, float b)
{
    return a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b;
}
static inline float most(float a, float b)
{
    return a != a ? b : b != b ? a : a > b || (a == b && !signbit(a)) ? a : b;
}
static inline float least_nan(float a, float b)
{
    return a != a || b != b ? NAN : least(a, b);
}
static inline float most_nan(float a, float b)
{
    return a != a || b != b ? NAN : most(a, b);
}

#define LOW(T, x)     SG_GET_##T((x) & 0xffff)
#define HIGH(T, x)    SG_GET_##T((x) >> 16)
#define BOTH(T, l, h) (SG_PUT_##T(l) | SG_PUT_##T(h) << 16)

#define HALF_2(name, T, F)                                                                                   \
    SG_ROW_2(name##_##T, T, T, T, F(a, b))                                                                   \
    SG_ROW_2(name##_##T##x2, u32, u32, u32, BOTH(T, F(LOW(T, a), LOW(T, b)), F(HIGH(T, a), HIGH(T, b))))
#define HALF_3(name, T, F)                                                                                   \
    SG_ROW_3(name##_##T, T, T, T, T, F(a, b, c))                                                             \
    SG_ROW_3(name##_##T##x2, u32, u32, u32, u32,                                                             \
             BOTH(T, F(LOW(T, a), LOW(T, b), LOW(T, c)), F(HIGH(T, a), HIGH(T, b), HIGH(T, c))))
#define HALF_1(name, T, F)                                                                                   \
    SG_ROW_1(name##_##T, T, T, F(a))                                                                         \
    SG_ROW_1(name##_##T##x2, u32, u32, BOTH(T, F(LOW(T, a)), F(HIGH(T, a))))

#define FUSED_RELU(a, b, c) relu(fused(a, b, c))
#define FUSED_SAT(a, b, c)  saturated(fused(a, b, c))
#define ADD_SAT(a, b)       saturated((a) + (b))
#define SUB_SAT(a, b)       saturated((a) - (b))
#define MUL_SAT(a, b)       saturated((a) * (b))
#define HALF_ALL(T)                                                                                          \
    HALF_2(add, T, add)                                                                                      \
    HALF_2(sub, T, sub)                                                                                      \
    HALF_2(mul, T, mul)                                                                                      \
    HALF_2(add_sat, T, ADD_SAT)                                                                              \
    HALF_2(sub_sat, T, SUB_SAT)                                                                              \
    HALF_2(mul_sat, T, MUL_SAT)                                                                              \
    HALF_2(min, T, least)                                                                                    \
    HALF_2(max, T, most)                                                                                     \
    HALF_2(min_nan, T, least_nan)                                                                            \
    HALF_2(max_nan, T, most_nan)                                                                             \
    HALF_3(fma, T, fused)                                                                                    \
    HALF_3(fma_relu, T, FUSED_RELU)                                                                          \
    HALF_3(fma_sat, T, FUSED_SAT)                                                                            \
    HALF_1(ex2, T, exp2f)                                                                                    \
    HALF_1(tanh, T, tanhf)

HALF_ALL(f16)
HALF_ALL(bf16)
SG_ROW_1(neg_half, u32, u32, a ^ 0x8000u)
SG_ROW_1(abs_half, u32, u32, a & 0x7fffu)
SG_ROW_1(neg_halfx2, u32, u32, a ^ 0x80008000u)
SG_ROW_1(abs_halfx2, u32, u32, a & 0x7fff7fffu)

#define PAIR(op, name, T, s1, s2)                                                                            \
    SG_ENTRY(op "." #T, name##_##T, s1, HALF), SG_ENTRY(op "." #T "x2", name##_##T##x2, s2, HALF)
#define TYPES(op, name, s1, s2) PAIR(op, name, f16, s1, s2), PAIR(op, name, bf16, s1, s2)
#define ROUNDED(op, name)                                                                                    \
    TYPES(op, name, "HHH", "www"), TYPES(op ".rn", name, "HHH", "www"),                                      \
        TYPES(op ".sat", name##_sat, "HHH", "www"), TYPES(op ".rn.sat", name##_sat, "HHH", "www")

const sg_entry sg_entries_half[] = {
    ROUNDED("add", add),
    ROUNDED("sub", sub),
    ROUNDED("mul", mul),
    TYPES("fma.rn", fma, "HHHH", "wwww"),
    TYPES("fma.rn.relu", fma_relu, "HHHH", "wwww"),
    TYPES("fma.rn.sat", fma_sat, "HHHH", "wwww"),
    TYPES("min", min, "HHH", "www"),
    TYPES("max", max, "HHH", "www"),
    TYPES("min.NaN", min_nan, "HHH", "www"),
    TYPES("max.NaN", max_nan, "HHH", "www"),
    PAIR("ex2.approx", ex2, f16, "HH", "ww"),
    PAIR("ex2.approx.ftz", ex2, bf16, "HH", "ww"),
    TYPES("tanh.approx", tanh, "HH", "ww"),
    SG_ENTRY("neg.f16", neg_half, "HH", HALF),
    SG_ENTRY("neg.bf16", neg_half, "HH", HALF),
    SG_ENTRY("neg.f16x2", neg_halfx2, "ww", HALF),
    SG_ENTRY("neg.bf16x2", neg_halfx2, "ww", HALF),
    SG_ENTRY("abs.f16", abs_half, "HH", HALF),
    SG_ENTRY("abs.bf16", abs_half, "HH", HALF),
    SG_ENTRY("abs.f16x2", abs_halfx2, "ww", HALF),
    SG_ENTRY("abs.bf16x2", abs_halfx2, "ww", HALF),
    SG_END,
};
