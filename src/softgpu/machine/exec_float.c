/*
 * f32 and f64 arithmetic. What PTX rounds to nearest is bit-exact; the approximate instructions are better than the
 * hardware's, but for quotients, which are a unit in the last place short, as they may be: who takes a whole number for
 * exact is told so. Must be compiled without contraction of a * b + c (-std=c17, not gnu17).
 */
#include <fenv.h>
#include <math.h>

#include "rows.h"

/* .ftz: subnormals become zeros of their sign. .sat: into [0, 1], NaN to 0. */
static inline float flush(float x)
{
    const uint32_t bits = sg_bits_of(x);
    return sg_float_of(bits & 0x7f800000u ? bits : bits & 0x80000000u);
}
static inline float clamp(float x)
{
    return x > 0 ? (x < 1 ? x : 1) : 0;
}
/* The next number towards zero, of those that are neither that nor infinite. */
static inline float shortened(float x)
{
    const uint32_t bits = sg_bits_of(x), magnitude = bits & 0x7fffffffu;
    return sg_float_of(bits - (magnitude > 0 && magnitude < 0x7f800000u));
}
#define AS_IT_IS(x) (x)
#define FLUSHED(x)  flush(x)

/* The smaller and the larger number; NaN only if both are. -0 is smaller than +0. */
static inline float least(float a, float b)
{
    const float equal = sg_float_of(sg_bits_of(a) | sg_bits_of(b));
    const float numbers = a < b ? a : b < a ? b : equal;
    return a != a ? b : b != b ? a : numbers;
}
static inline float most(float a, float b)
{
    const float equal = sg_float_of(sg_bits_of(a) & sg_bits_of(b));
    const float numbers = a > b ? a : b > a ? b : equal;
    return a != a ? b : b != b ? a : numbers;
}
static inline double least_f64(double a, double b)
{
    return a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b;
}
static inline double most_f64(double a, double b)
{
    return a != a ? b : b != b ? a : a > b || (a == b && !signbit(a)) ? a : b;
}
#define OR_NAN(x) (a != a || b != b ? (float)NAN : (x))

/* name, name_ftz, name_sat, name_ftz_sat */
#define VARIANTS_1(name, EXPRESSION)                                                                         \
    SG_ROW_1(name, f32, f32, EXPRESSION(AS_IT_IS(a)))                                                        \
    SG_ROW_1(name##_ftz, f32, f32, flush(EXPRESSION(FLUSHED(a))))
#define VARIANTS_2(name, EXPRESSION)                                                                         \
    SG_ROW_2(name, f32, f32, f32, EXPRESSION(AS_IT_IS(a), AS_IT_IS(b)))                                      \
    SG_ROW_2(name##_ftz, f32, f32, f32, flush(EXPRESSION(FLUSHED(a), FLUSHED(b))))
#define VARIANTS_SAT(name, EXPRESSION)                                                                       \
    VARIANTS_2(name, EXPRESSION)                                                                             \
    SG_ROW_2(name##_sat, f32, f32, f32, clamp(EXPRESSION(AS_IT_IS(a), AS_IT_IS(b))))                         \
    SG_ROW_2(name##_ftz_sat, f32, f32, f32, clamp(flush(EXPRESSION(FLUSHED(a), FLUSHED(b)))))

#define ADD(x, y)  ((x) + (y))
#define SUB(x, y)  ((x) - (y))
#define MUL(x, y)  ((x) * (y))
#define DIV(x, y)  ((x) / (y))
#define QUOTIENT(x, y) shortened((x) / (y))
#define RCP(x)     (1 / (x))
#define RSQRT(x)   (float)(1 / sqrt((double)(x)))
#define NEG(x)     sg_float_of(sg_bits_of(x) ^ 0x80000000u)
#define ABS(x)     sg_float_of(sg_bits_of(x) & 0x7fffffffu)

VARIANTS_SAT(add_f32, ADD)
VARIANTS_SAT(sub_f32, SUB)
VARIANTS_SAT(mul_f32, MUL)
VARIANTS_2(div_f32, DIV)
VARIANTS_2(quotient_f32, QUOTIENT)
VARIANTS_1(rcp_f32, RCP)
VARIANTS_1(sqrt_f32, sqrtf)
VARIANTS_1(rsqrt_f32, RSQRT)
VARIANTS_1(ex2_f32, exp2f)
VARIANTS_1(lg2_f32, log2f)
VARIANTS_1(sin_f32, sinf)
VARIANTS_1(cos_f32, cosf)
VARIANTS_1(tanh_f32, tanhf)
VARIANTS_1(neg_f32, NEG)
VARIANTS_1(abs_f32, ABS)
SG_ROW_3(fma_f32, f32, f32, f32, f32, fmaf(a, b, c))
SG_ROW_3(fma_f32_ftz, f32, f32, f32, f32, flush(fmaf(flush(a), flush(b), flush(c))))
SG_ROW_3(fma_f32_sat, f32, f32, f32, f32, clamp(fmaf(a, b, c)))
SG_ROW_3(fma_f32_ftz_sat, f32, f32, f32, f32, clamp(flush(fmaf(flush(a), flush(b), flush(c)))))
SG_ROW_2(min_f32, f32, f32, f32, least(a, b))
SG_ROW_2(max_f32, f32, f32, f32, most(a, b))
SG_ROW_2(min_f32_ftz, f32, f32, f32, least(flush(a), flush(b)))
SG_ROW_2(max_f32_ftz, f32, f32, f32, most(flush(a), flush(b)))
SG_ROW_2(min_f32_nan, f32, f32, f32, OR_NAN(least(a, b)))
SG_ROW_2(max_f32_nan, f32, f32, f32, OR_NAN(most(a, b)))
SG_ROW_2(copysign_f32, f32, f32, f32, copysignf(b, a))

SG_ROW_2(add_f64, f64, f64, f64, a + b)
SG_ROW_2(sub_f64, f64, f64, f64, a - b)
SG_ROW_2(mul_f64, f64, f64, f64, a *b)
SG_ROW_2(div_f64, f64, f64, f64, a / b)
SG_ROW_3(fma_f64, f64, f64, f64, f64, fma(a, b, c))
SG_ROW_1(rcp_f64, f64, f64, 1 / a)
SG_ROW_1(sqrt_f64, f64, f64, sqrt(a))
SG_ROW_1(rsqrt_f64, f64, f64, 1 / sqrt(a))
SG_ROW_1(neg_f64, f64, f64, -a)
SG_ROW_1(abs_f64, f64, f64, fabs(a))
SG_ROW_2(min_f64, f64, f64, f64, least_f64(a, b))
SG_ROW_2(max_f64, f64, f64, f64, most_f64(a, b))
SG_ROW_2(copysign_f64, f64, f64, f64, copysign(b, a))

/* Other roundings, by the host's: lane by lane, they are rare. */
#define ROUNDED(name, T, ROUNDING, EXPRESSION)                                                               \
    static void name(sg_warp *w, const sg_op *op, uint32_t mask)                                             \
    {                                                                                                        \
        const SG_STORE_##T *a_ = sg_row(w, op->a), *b_ = sg_row(w, op->b), *c_ = sg_row(w, op->c);           \
        SG_STORE_##T *d_ = sg_row(w, op->d);                                                                 \
        const int before = fegetround();                                                                     \
        fesetround(ROUNDING);                                                                                \
        SG_FOR_MASK(l, mask)                                                                                 \
        {                                                                                                    \
            const volatile SG_STORE_##T a = a_[l], b = b_[l], c = c_[l];                                     \
            const volatile SG_STORE_##T result = EXPRESSION;                                                 \
            d_[l] = result;                                                                                  \
            (void)b, (void)c;                                                                                \
        }                                                                                                    \
        fesetround(before);                                                                                  \
    }
#define ALL_ROUNDED(name, T, EXPRESSION)                                                                     \
    ROUNDED(name##_rz, T, FE_TOWARDZERO, EXPRESSION)                                                         \
    ROUNDED(name##_rm, T, FE_DOWNWARD, EXPRESSION)                                                           \
    ROUNDED(name##_rp, T, FE_UPWARD, EXPRESSION)
ALL_ROUNDED(add_f32, f32, a + b)
ALL_ROUNDED(sub_f32, f32, a - b)
ALL_ROUNDED(mul_f32, f32, a *b)
ALL_ROUNDED(div_f32, f32, a / b)
ALL_ROUNDED(fma_f32, f32, fmaf(a, b, c))
ALL_ROUNDED(rcp_f32, f32, 1 / a)
ALL_ROUNDED(sqrt_f32, f32, sqrtf(a))
ALL_ROUNDED(add_f64, f64, a + b)
ALL_ROUNDED(sub_f64, f64, a - b)
ALL_ROUNDED(mul_f64, f64, a *b)
ALL_ROUNDED(div_f64, f64, a / b)
ALL_ROUNDED(fma_f64, f64, fma(a, b, c))
ALL_ROUNDED(rcp_f64, f64, 1 / a)
ALL_ROUNDED(sqrt_f64, f64, sqrt(a))

#define F32(op, name, shape, pipe)                                                                           \
    SG_ENTRY(op ".f32", name##_f32, shape, pipe), SG_ENTRY(op ".ftz.f32", name##_f32_ftz, shape, pipe)
#define F32_SAT(op, name, shape)                                                                             \
    F32(op, name, shape, FMA), SG_ENTRY(op ".sat.f32", name##_f32_sat, shape, FMA),                          \
        SG_ENTRY(op ".ftz.sat.f32", name##_f32_ftz_sat, shape, FMA)
#define SAME(mnemonic, handler, shape, pipe) {mnemonic, handler, handler, shape, SG_PIPE_##pipe, NULL}
#define MODES(op, name, type, shape, pipe)                                                                   \
    SAME(op ".rz." #type, name##_##type##_rz, shape, pipe), SAME(op ".rm." #type, name##_##type##_rm, shape, pipe), \
        SAME(op ".rp." #type, name##_##type##_rp, shape, pipe)

const sg_entry sg_entries_float[] = {
    F32_SAT("add", add, "fff"),
    F32_SAT("add.rn", add, "fff"),
    F32_SAT("sub", sub, "fff"),
    F32_SAT("sub.rn", sub, "fff"),
    F32_SAT("mul", mul, "fff"),
    F32_SAT("mul.rn", mul, "fff"),
    F32_SAT("fma.rn", fma, "ffff"),
    F32_SAT("mad.rn", fma, "ffff"),
    F32("div.rn", div, "fff", FMA),
    F32("div.approx", quotient, "fff", SFU),
    F32("div.full", quotient, "fff", SFU),
    F32("rcp.rn", rcp, "ff", SFU),
    F32("rcp.approx", rcp, "ff", SFU),
    F32("sqrt.rn", sqrt, "ff", SFU),
    F32("sqrt.approx", sqrt, "ff", SFU),
    F32("rsqrt.approx", rsqrt, "ff", SFU),
    F32("ex2.approx", ex2, "ff", SFU),
    F32("lg2.approx", lg2, "ff", SFU),
    F32("sin.approx", sin, "ff", SFU),
    F32("cos.approx", cos, "ff", SFU),
    F32("tanh.approx", tanh, "ff", SFU),
    F32("neg", neg, "ff", FMA),
    F32("abs", abs, "ff", FMA),
    F32("min", min, "fff", ALU),
    F32("max", max, "fff", ALU),
    SG_ENTRY("min.NaN.f32", min_f32_nan, "fff", ALU),
    SG_ENTRY("max.NaN.f32", max_f32_nan, "fff", ALU),
    SG_ENTRY("copysign.f32", copysign_f32, "fff", ALU),
    MODES("add", add, f32, "fff", FMA),
    MODES("sub", sub, f32, "fff", FMA),
    MODES("mul", mul, f32, "fff", FMA),
    MODES("fma", fma, f32, "ffff", FMA),
    MODES("div", div, f32, "fff", FMA),
    MODES("rcp", rcp, f32, "ff", SFU),
    MODES("sqrt", sqrt, f32, "ff", SFU),
    SG_ENTRY("add.f64", add_f64, "ggg", F64),
    SG_ENTRY("add.rn.f64", add_f64, "ggg", F64),
    SG_ENTRY("sub.f64", sub_f64, "ggg", F64),
    SG_ENTRY("sub.rn.f64", sub_f64, "ggg", F64),
    SG_ENTRY("mul.f64", mul_f64, "ggg", F64),
    SG_ENTRY("mul.rn.f64", mul_f64, "ggg", F64),
    SG_ENTRY("fma.rn.f64", fma_f64, "gggg", F64),
    SG_ENTRY("mad.rn.f64", fma_f64, "gggg", F64),
    SG_ENTRY("div.rn.f64", div_f64, "ggg", F64),
    SG_ENTRY("rcp.rn.f64", rcp_f64, "gg", F64),
    SG_ENTRY("rcp.approx.ftz.f64", rcp_f64, "gg", F64),
    SG_ENTRY("sqrt.rn.f64", sqrt_f64, "gg", F64),
    SG_ENTRY("rsqrt.approx.f64", rsqrt_f64, "gg", F64),
    SG_ENTRY("rsqrt.approx.ftz.f64", rsqrt_f64, "gg", F64),
    SG_ENTRY("neg.f64", neg_f64, "gg", F64),
    SG_ENTRY("abs.f64", abs_f64, "gg", F64),
    SG_ENTRY("min.f64", min_f64, "ggg", F64),
    SG_ENTRY("max.f64", max_f64, "ggg", F64),
    SG_ENTRY("copysign.f64", copysign_f64, "ggg", F64),
    MODES("add", add, f64, "ggg", F64),
    MODES("sub", sub, f64, "ggg", F64),
    MODES("mul", mul, f64, "ggg", F64),
    MODES("fma", fma, f64, "gggg", F64),
    MODES("div", div, f64, "ggg", F64),
    MODES("rcp", rcp, f64, "gg", F64),
    MODES("sqrt", sqrt, f64, "gg", F64),
    SG_END,
};
