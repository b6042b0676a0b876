/* cvt: between all types, with all roundings. The frequent ones are rows of their own; the others go lane by lane. */
#include <fenv.h>
#include <math.h>

#include "../ptx/decode.h"
#include "rows.h"

SG_ROW_1(u64_u32, u64, u32, a)
SG_ROW_1(s64_s32, s64, s32, a)
SG_ROW_1(u32_u64, u32, u64, a)
SG_ROW_1(u32_u16, u32, u16, a)
SG_ROW_1(s32_s16, s32, s16, a)
SG_ROW_1(u64_u16, u64, u16, a)
SG_ROW_1(s64_s16, s64, s16, a)
SG_ROW_1(u16_u32, u16, u32, a)
SG_ROW_1(u16_u64, u16, u64, a)
SG_ROW_1(f64_f32, f64, f32, a)
SG_ROW_1(f32_f64, f32, f64, (float)a)
SG_ROW_1(f32_f16, f32, f16, a)
SG_ROW_1(f16_f32, f16, f32, a)
SG_ROW_1(f32_bf16, f32, bf16, a)
SG_ROW_1(bf16_f32, bf16, f32, a)
SG_ROW_1(f32_s32, f32, s32, (float)a)
SG_ROW_1(f32_u32, f32, u32, (float)a)
SG_ROW_1(f64_s32, f64, s32, a)
SG_ROW_1(f64_u32, f64, u32, a)
SG_ROW_2(f16x2_f32, u32, f32, f32, sg_to_f16(a) << 16 | sg_to_f16(b))
SG_ROW_2(bf16x2_f32, u32, f32, f32, sg_to_bf16(a) << 16 | sg_to_bf16(b))
static inline float positive(float x)
{
    return x > 0 || x != x ? x : 0;
}
SG_ROW_2(f16x2_relu, u32, f32, f32, sg_to_f16(positive(a)) << 16 | sg_to_f16(positive(b)))
SG_ROW_2(bf16x2_relu, u32, f32, f32, sg_to_bf16(positive(a)) << 16 | sg_to_bf16(positive(b)))
/* tf32 keeps 10 bits of the mantissa: ties away from zero, or to even. */
SG_ROW_1(tf32_rna, u32, u32, (a & 0x7f800000u) == 0x7f800000u ? a : (a + 0x1000u) & ~0x1fffu)
SG_ROW_1(tf32_rn, u32, u32, (a & 0x7f800000u) == 0x7f800000u ? a : (a + 0xfffu + (a >> 13 & 1)) & ~0x1fffu)

typedef enum rounding { NEAREST, ZERO, DOWN, UP, TO_INTEGER } rounding;

/* What one conversion is: in op->imm. */
typedef union spec {
    struct {
        uint8_t from, to, round, sat, ftz, relu, wide_a, wide_d;
    };
    int64_t bits;
} spec;

_Static_assert(sizeof(spec) == 8, "a conversion fits into an operation");

static bool is_float(sg_type type)
{
    return type == SG_F16 || type == SG_BF16 || type == SG_F32 || type == SG_F64;
}

static bool is_signed(sg_type type)
{
    return type == SG_S8 || type == SG_S16 || type == SG_S32 || type == SG_S64;
}

/* Whether the general conversion knows a type. */
static bool is_plain(sg_type type)
{
    const bool is_unsigned = type == SG_U8 || type == SG_U16 || type == SG_U32 || type == SG_U64;
    return is_unsigned || is_signed(type) || is_float(type);
}

static double round_to_integer(double x, int round)
{
    return round == ZERO ? trunc(x) : round == DOWN ? floor(x) : round == UP ? ceil(x) : nearbyint(x);
}

static uint64_t integer_of(double x, sg_type to)
{
    const int bits = (int)sg_type_bytes(to) * 8;
    const double low = is_signed(to) ? -ldexp(1, bits - 1) : 0, high = ldexp(1, is_signed(to) ? bits - 1 : bits);
    if (x != x)
        return 0;
    if (x <= low)
        return (uint64_t)(is_signed(to) ? INT64_MIN >> (64 - bits) : 0);
    if (x >= high)
        return is_signed(to) ? (uint64_t)INT64_MAX >> (64 - bits) : UINT64_MAX >> (64 - bits);
    return is_signed(to) ? (uint64_t)(int64_t)x : (uint64_t)x;
}

/* A 16-bit format by its nearest value, moved to a neighbour where the rounding asks for it. */
static uint32_t round_half(double x, int round, uint32_t (*put)(float), float (*get)(uint32_t))
{
    const uint32_t near = put(sg_to_odd(x));
    const double got = get(near);
    if (round == NEAREST || got == x || x != x)
        return near;
    const bool too_high = got > x;
    const bool down = round == DOWN || (round == ZERO && x > 0);
    if (too_high != down)
        return near; /* nearest already lies on the right side */
    const bool shrink = too_high == (x > 0);
    if ((near & 0x7fff) == 0)
        return too_high ? 0x8001 : 0x0001;
    return shrink ? near - 1 : near + 1;
}

static uint32_t put_f16(float x)
{
    return sg_to_f16(x);
}
static float get_f16(uint32_t x)
{
    return sg_from_f16(x);
}
static uint32_t put_bf16(float x)
{
    return sg_to_bf16(x);
}
static float get_bf16(uint32_t x)
{
    return sg_from_bf16(x);
}

/* double, or a 64-bit integer, to f32 or f64 with the host's rounding. */
static uint64_t round_wide(double x, uint64_t integer, const spec *s)
{
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    const int before = fegetround();
    const bool from_float = is_float(s->from), negative = is_signed(s->from);
    volatile double wide = x;
    volatile int64_t integer_signed = (int64_t)integer;
    volatile uint64_t integer_unsigned = integer;
    uint64_t bits = 0;
    fesetround(modes[s->round & 3]);
    if (s->to == SG_F32) {
        volatile float value = from_float ? (float)wide : negative ? (float)integer_signed : (float)integer_unsigned;
        const float plain = value;
        bits = sg_bits_of(plain);
    } else {
        volatile double value = from_float ? wide : negative ? (double)integer_signed : (double)integer_unsigned;
        const double plain = value;
        memcpy(&bits, &plain, 8);
    }
    fesetround(before);
    return bits;
}

static uint64_t convert(uint64_t raw, const spec *s)
{
    const uint32_t bytes = sg_type_bytes(s->from), to_bytes = sg_type_bytes(s->to);
    uint64_t integer = bytes == 8 ? raw : raw & (((uint64_t)1 << 8 * bytes) - 1);
    double x = 0;
    if (is_signed(s->from))
        integer = (uint64_t)((int64_t)(integer << (64 - 8 * bytes)) >> (64 - 8 * bytes));
    if (s->from == SG_F16)
        x = sg_from_f16((uint32_t)integer);
    else if (s->from == SG_BF16)
        x = sg_from_bf16((uint32_t)integer);
    else if (s->from == SG_F32)
        x = sg_float_of((uint32_t)integer);
    else if (s->from == SG_F64)
        memcpy(&x, &integer, 8);
    if (s->ftz && s->from == SG_F32 && fabs(x) < 0x1p-126)
        x = copysign(0, x);
    if (!is_float(s->to)) {
        if (is_float(s->from))
            return integer_of(round_to_integer(x, s->round), s->to);
        if (s->sat) { /* between integers, into the range of the narrower */
            const bool below = is_signed(s->from) && (int64_t)integer < 0;
            const int bits = (int)to_bytes * 8;
            const uint64_t top = is_signed(s->to) ? (uint64_t)INT64_MAX >> (64 - bits) : UINT64_MAX >> (64 - bits);
            const int64_t bottom = is_signed(s->to) ? INT64_MIN >> (64 - bits) : 0;
            integer = below ? ((int64_t)integer < bottom ? (uint64_t)bottom : integer) : integer > top ? top : integer;
        }
        return integer;
    }
    if (is_float(s->from) && s->round >= TO_INTEGER)
        x = copysign(round_to_integer(x, s->round - TO_INTEGER), x);
    if (s->sat)
        x = x > 0 ? (x < 1 ? x : 1) : 0;
    if (s->relu)
        x = x > 0 || x != x ? x : 0;
    if (s->to == SG_F16 || s->to == SG_BF16) {
        if (!is_float(s->from))
            x = is_signed(s->from) ? (double)(int64_t)integer : (double)integer;
        return s->to == SG_F16 ? round_half(x, s->round & 3, put_f16, get_f16)
                               : round_half(x, s->round & 3, put_bf16, get_bf16);
    }
    spec plain = *s;
    if (s->round >= TO_INTEGER)
        plain.round = NEAREST; /* an integer by now */
    uint64_t bits = round_wide(x, integer, &plain);
    if (s->ftz && s->to == SG_F32 && !(bits & 0x7f800000u))
        bits &= 0x80000000u;
    return bits;
}

/* The result fills the register: by its sign, where its type has one. */
static uint64_t extend(uint64_t value, sg_type to)
{
    const int unused = 64 - 8 * (int)sg_type_bytes(to);
    return is_signed(to) ? (uint64_t)((int64_t)(value << unused) >> unused) : value << unused >> unused;
}

static void convert_lanes(sg_warp *w, const sg_op *op, uint32_t mask)
{
    const spec s = {.bits = op->imm};
    const void *a = sg_row(w, op->a);
    void *d = sg_row(w, op->d);
    SG_FOR_MASK(l, mask)
    {
        const uint64_t raw = s.wide_a ? ((const uint64_t *)a)[l] : ((const uint32_t *)a)[l];
        const uint64_t value = extend(convert(raw, &s), s.to);
        if (s.wide_d)
            ((uint64_t *)d)[l] = value;
        else
            ((uint32_t *)d)[l] = (uint32_t)value;
    }
}

/* Registers may be wider than the type, and predicates of 8 bits live in wider ones anyhow. */
static uint32_t operand_bytes(sg_decoder *d, const sg_operand *operand, sg_type type)
{
    const uint32_t bytes = sg_register_bytes(d, operand), least = sg_type_bytes(type);
    if (operand->kind == SG_OPERAND_SPECIAL || operand->kind == SG_OPERAND_VARIABLE)
        return least;
    if (!bytes)
        return least < 2 ? 2 : least;
    if (bytes < 2 || bytes > 8 || bytes < least ||
        (is_float(type) && bytes != least && type != SG_F16 && type != SG_BF16))
        sg_decode_bad(d, "register of the wrong kind");
    return bytes;
}

static void decode_cvt(sg_decoder *d)
{
    static const char *const roundings[] = {"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", NULL};
    const int round = sg_part_of(d, roundings);
    spec s = {.sat = sg_part(d, "sat"), .ftz = sg_part(d, "ftz"), .relu = sg_part(d, "relu")};
    s.to = (uint8_t)sg_part_type(d);
    s.from = (uint8_t)sg_part_type(d);
    sg_parts_done(d);
    sg_operands(d, 2, 2);
    if (!is_plain(s.from) || !is_plain(s.to))
        sg_decode_unsupported(d, "type not known");
    if (is_float(s.from) && !is_float(s.to))
        s.round = round < 4 ? (round < 0 ? ZERO : (uint8_t)round) : (uint8_t)(round - TO_INTEGER);
    else
        s.round = round < 0 ? NEAREST : (uint8_t)round;
    const uint32_t bytes_d = operand_bytes(d, sg_operand_at(d, 0), s.to);
    const uint32_t bytes_a = operand_bytes(d, sg_operand_at(d, 1), s.from);
    const uint32_t row = sg_destination(d, sg_operand_at(d, 0), bytes_d);
    const uint32_t source = sg_source(d, sg_operand_at(d, 1), bytes_a, is_float(s.from));
    s.wide_a = bytes_a == 8;
    s.wide_d = bytes_d == 8;
    sg_op *op = sg_emit(d, convert_lanes, convert_lanes, SG_PIPE_SFU);
    op->d = row;
    op->a = source;
    op->imm = s.bits;
}

/* A frequent conversion, if the registers are as wide as the types; else the general one. */
#define FAST(name, shape_)                                                                                   \
    static void decode_##name(sg_decoder *d)                                                                 \
    {                                                                                                        \
        static const char shape[] = shape_;                                                                  \
        uint32_t rows[2] = {0, 0};                                                                           \
        for (uint32_t i = 0; i < 2; i++) {                                                                   \
            const uint32_t bytes = shape[i] == 'd' ? 8 : shape[i] == 'h' ? 2 : 4;                            \
            const sg_operand *operand = sg_operand_at(d, i);                                                 \
            const uint32_t has = sg_register_bytes(d, operand);                                              \
            if (has && has != bytes) {                                                                       \
                decode_cvt(d);                                                                               \
                return;                                                                                      \
            }                                                                                                \
            rows[i] = i ? sg_source(d, operand, bytes, shape[2] == 'f') : sg_destination(d, operand, bytes); \
        }                                                                                                    \
        sg_operands(d, 2, 2);                                                                                \
        sg_op *op = sg_emit(d, name##_full, name##_masked, shape[3] == 's' ? SG_PIPE_SFU : SG_PIPE_ALU);     \
        op->d = rows[0];                                                                                     \
        op->a = rows[1];                                                                                     \
    }
/* destination, source; f: floating-point immediates; s: the slow pipe */
FAST(u64_u32, "dwi.")
FAST(s64_s32, "dwi.")
FAST(u32_u64, "wdi.")
FAST(u32_u16, "whi.")
FAST(s32_s16, "whi.")
FAST(u64_u16, "dhi.")
FAST(s64_s16, "dhi.")
FAST(u16_u32, "hwi.")
FAST(u16_u64, "hdi.")
FAST(f64_f32, "dwfs")
FAST(f32_f64, "wdfs")
FAST(f32_f16, "whfs")
FAST(f16_f32, "hwfs")
FAST(f32_bf16, "whfs")
FAST(bf16_f32, "hwfs")
FAST(f32_s32, "wwis")
FAST(f32_u32, "wwis")
FAST(f64_s32, "dwis")
FAST(f64_u32, "dwis")

const sg_entry sg_entries_convert[] = {
    SG_DECODE("cvt", decode_cvt),
    SG_DECODE("cvt.u64.u32", decode_u64_u32),
    SG_DECODE("cvt.s64.u32", decode_u64_u32),
    SG_DECODE("cvt.s64.s32", decode_s64_s32),
    SG_DECODE("cvt.u64.s32", decode_s64_s32),
    SG_DECODE("cvt.u32.u64", decode_u32_u64),
    SG_DECODE("cvt.s32.s64", decode_u32_u64),
    SG_DECODE("cvt.u32.s64", decode_u32_u64),
    SG_DECODE("cvt.s32.u64", decode_u32_u64),
    SG_DECODE("cvt.u32.u16", decode_u32_u16),
    SG_DECODE("cvt.s32.u16", decode_u32_u16),
    SG_DECODE("cvt.s32.s16", decode_s32_s16),
    SG_DECODE("cvt.u32.s16", decode_s32_s16),
    SG_DECODE("cvt.u64.u16", decode_u64_u16),
    SG_DECODE("cvt.s64.s16", decode_s64_s16),
    SG_DECODE("cvt.u16.u32", decode_u16_u32),
    SG_DECODE("cvt.u16.u64", decode_u16_u64),
    SG_DECODE("cvt.f64.f32", decode_f64_f32),
    SG_DECODE("cvt.rn.f32.f64", decode_f32_f64),
    SG_DECODE("cvt.f32.f16", decode_f32_f16),
    SG_DECODE("cvt.rn.f16.f32", decode_f16_f32),
    SG_DECODE("cvt.f32.bf16", decode_f32_bf16),
    SG_DECODE("cvt.rn.bf16.f32", decode_bf16_f32),
    SG_DECODE("cvt.rn.f32.s32", decode_f32_s32),
    SG_DECODE("cvt.rn.f32.u32", decode_f32_u32),
    SG_DECODE("cvt.rn.f64.s32", decode_f64_s32),
    SG_DECODE("cvt.rn.f64.u32", decode_f64_u32),
    SG_ENTRY("cvt.rn.f16x2.f32", f16x2_f32, "wff", SFU),
    SG_ENTRY("cvt.rn.bf16x2.f32", bf16x2_f32, "wff", SFU),
    SG_ENTRY("cvt.rn.relu.f16x2.f32", f16x2_relu, "wff", SFU),
    SG_ENTRY("cvt.rn.relu.bf16x2.f32", bf16x2_relu, "wff", SFU),
    SG_ENTRY("cvt.rna.tf32.f32", tf32_rna, "wf", ALU),
    SG_ENTRY("cvt.rn.tf32.f32", tf32_rn, "wf", ALU),
    SG_END,
};
