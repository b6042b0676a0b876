/* Integer arithmetic, logic, shifts and bit fields. */
#include "rows.h"

/* Signed arithmetic wraps: it is done on the unsigned type. */
#define ROWS_PLAIN(T)                                                                                        \
    SG_ROW_2(add_##T, T, T, T, a + b)                                                                        \
    SG_ROW_2(sub_##T, T, T, T, a - b)                                                                        \
    SG_ROW_2(mul_##T, T, T, T, (uint64_t)a * b)                                                              \
    SG_ROW_3(mad_##T, T, T, T, T, (uint64_t)a * b + c)                                                       \
    SG_ROW_2(and_##T, T, T, T, a & b)                                                                        \
    SG_ROW_2(or_##T, T, T, T, a | b)                                                                         \
    SG_ROW_2(xor_##T, T, T, T, a ^ b)                                                                        \
    SG_ROW_1(not_##T, T, T, ~a)                                                                              \
    SG_ROW_1(cnot_##T, T, T, a == 0)                                                                         \
    SG_ROW_1(neg_##T, T, T, 0u - a)

ROWS_PLAIN(u16)
ROWS_PLAIN(u64)
SG_ROW_2(add_u32, u32, u32, u32, a + b)
SG_ROW_2(sub_u32, u32, u32, u32, a - b)
SG_ROW_2(mul_u32, u32, u32, u32, a *b)
SG_ROW_3(mad_u32, u32, u32, u32, u32, a *b + c)
SG_ROW_2(and_u32, u32, u32, u32, a &b)
SG_ROW_2(or_u32, u32, u32, u32, a | b)
SG_ROW_2(xor_u32, u32, u32, u32, a ^ b)
SG_ROW_1(not_u32, u32, u32, ~a)
SG_ROW_1(cnot_u32, u32, u32, a == 0)
SG_ROW_1(neg_u32, u32, u32, 0u - a)

/* Division by zero gives all ones, as the hardware does; the most negative number over -1 wraps. */
#define ROWS_ORDERED(T)                                                                                      \
    SG_ROW_2(min_##T, T, T, T, a < b ? a : b)                                                                \
    SG_ROW_2(max_##T, T, T, T, a > b ? a : b)

ROWS_ORDERED(u16)
ROWS_ORDERED(s16)
ROWS_ORDERED(u32)
ROWS_ORDERED(s32)
ROWS_ORDERED(u64)
ROWS_ORDERED(s64)

#define ROWS_UNSIGNED_DIVISION(T)                                                                            \
    SG_ROW_2(div_##T, T, T, T, b ? a / b : (SG_VALUE_##T) ~(SG_VALUE_##T)0)                                  \
    SG_ROW_2(rem_##T, T, T, T, b ? a % b : a)

ROWS_UNSIGNED_DIVISION(u16)
ROWS_UNSIGNED_DIVISION(u32)
ROWS_UNSIGNED_DIVISION(u64)

#define ROWS_SIGNED_DIVISION(T, U)                                                                           \
    SG_ROW_2(div_##T, T, T, T, b == -1 ? (SG_VALUE_##T)(0u - (SG_VALUE_##U)a) : b ? a / b : (SG_VALUE_##T)-1) \
    SG_ROW_2(rem_##T, T, T, T, b == -1 ? 0 : b ? a % b : a)                                                  \
    SG_ROW_1(abs_##T, T, T, a < 0 ? (SG_VALUE_##T)(0u - (SG_VALUE_##U)a) : a)

ROWS_SIGNED_DIVISION(s16, u16)
ROWS_SIGNED_DIVISION(s32, u32)
ROWS_SIGNED_DIVISION(s64, u64)

static inline int32_t saturate(int64_t x)
{
    return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x;
}
SG_ROW_2(add_sat_s32, s32, s32, s32, saturate((int64_t)a + b))
SG_ROW_2(sub_sat_s32, s32, s32, s32, saturate((int64_t)a - b))

static inline uint64_t high_u64(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b >> 64);
}
static inline int64_t high_s64(int64_t a, int64_t b)
{
    return (int64_t)((__int128)a * b >> 64);
}
SG_ROW_2(mul_hi_u16, u16, u16, u16, (uint32_t)a *b >> 16)
SG_ROW_2(mul_hi_s16, s16, s16, s16, (int32_t)a *b >> 16)
SG_ROW_2(mul_hi_u32, u32, u32, u32, (uint64_t)a *b >> 32)
SG_ROW_2(mul_hi_s32, s32, s32, s32, (int64_t)a *b >> 32)
SG_ROW_2(mul_hi_u64, u64, u64, u64, high_u64(a, b))
SG_ROW_2(mul_hi_s64, s64, s64, s64, high_s64(a, b))
SG_ROW_3(mad_hi_u32, u32, u32, u32, u32, ((uint64_t)a * b >> 32) + c)
SG_ROW_3(mad_hi_s32, u32, s32, s32, u32, (uint32_t)((int64_t)a * b >> 32) + c)
SG_ROW_3(mad_hi_u64, u64, u64, u64, u64, high_u64(a, b) + c)
SG_ROW_3(mad_hi_s64, u64, s64, s64, u64, (uint64_t)high_s64(a, b) + c)
SG_ROW_2(mul_wide_u16, u32, u16, u16, (uint32_t)a *b)
SG_ROW_2(mul_wide_s16, s32, s16, s16, (int32_t)a *b)
SG_ROW_2(mul_wide_u32, u64, u32, u32, (uint64_t)a *b)
SG_ROW_2(mul_wide_s32, s64, s32, s32, (int64_t)a *b)
SG_ROW_3(mad_wide_u16, u32, u16, u16, u32, (uint32_t)a *b + c)
SG_ROW_3(mad_wide_s16, u32, s16, s16, u32, (uint32_t)((int32_t)a * b) + c)
SG_ROW_3(mad_wide_u32, u64, u32, u32, u64, (uint64_t)a *b + c)
SG_ROW_3(mad_wide_s32, u64, s32, s32, u64, (uint64_t)((int64_t)a * b) + c)

static inline int32_t low24(uint32_t x)
{
    return (int32_t)(x << 8) >> 8;
}
SG_ROW_2(mul24_u32, u32, u32, u32, (a & 0xffffff) * (b & 0xffffff))
SG_ROW_2(mul24_s32, u32, u32, u32, (uint32_t)((int64_t)low24(a) * low24(b)))
SG_ROW_3(mad24_u32, u32, u32, u32, u32, (a & 0xffffff) * (b & 0xffffff) + c)
SG_ROW_3(mad24_s32, u32, u32, u32, u32, (uint32_t)((int64_t)low24(a) * low24(b)) + c)
SG_ROW_3(sad_u32, u32, u32, u32, u32, (a > b ? a - b : b - a) + c)
SG_ROW_3(sad_s32, u32, s32, s32, u32, (uint32_t)(a > b ? (int64_t)a - b : (int64_t)b - a) + c)

/* Shifts by the width or more give zero, or the sign. */
SG_ROW_2(shl_b16, u16, u16, u32, b > 15 ? 0 : (uint32_t)a << (b & 15))
SG_ROW_2(shl_b32, u32, u32, u32, b > 31 ? 0 : a << (b & 31))
SG_ROW_2(shl_b64, u64, u64, u32, b > 63 ? 0 : a << (b & 63))
SG_ROW_2(shr_u16, u16, u16, u32, b > 15 ? 0 : a >> (b & 15))
SG_ROW_2(shr_u32, u32, u32, u32, b > 31 ? 0 : a >> (b & 31))
SG_ROW_2(shr_u64, u64, u64, u32, b > 63 ? 0 : a >> (b & 63))
SG_ROW_2(shr_s16, s16, s16, u32, a >> (b > 15 ? 15 : b))
SG_ROW_2(shr_s32, s32, s32, u32, a >> (b > 31 ? 31 : b))
SG_ROW_2(shr_s64, s64, s64, u32, a >> (b > 63 ? 63 : b))

/* Funnel shifts: of b:a, the upper word to the left, the lower to the right. */
#define PAIR (((uint64_t)b << 32) | a)
SG_ROW_3(shf_l_wrap, u32, u32, u32, u32, PAIR << (c & 31) >> 32)
SG_ROW_3(shf_l_clamp, u32, u32, u32, u32, PAIR << (c > 32 ? 32 : c) >> 32)
SG_ROW_3(shf_r_wrap, u32, u32, u32, u32, PAIR >> (c & 31))
SG_ROW_3(shf_r_clamp, u32, u32, u32, u32, PAIR >> (c > 32 ? 32 : c))
#undef PAIR

static inline uint32_t reverse32(uint32_t x)
{
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(x);
}
static inline uint64_t reverse64(uint64_t x)
{
    return (uint64_t)reverse32((uint32_t)x) << 32 | reverse32((uint32_t)(x >> 32));
}
SG_ROW_1(popc_b32, u32, u32, __builtin_popcount(a))
SG_ROW_1(popc_b64, u32, u64, __builtin_popcountll(a))
SG_ROW_1(clz_b32, u32, u32, a ? __builtin_clz(a) : 32)
SG_ROW_1(clz_b64, u32, u64, a ? __builtin_clzll(a) : 64)
SG_ROW_1(brev_b32, u32, u32, reverse32(a))
SG_ROW_1(brev_b64, u64, u64, reverse64(a))
SG_ROW_1(bfind_u32, u32, u32, a ? 31 - __builtin_clz(a) : -1)
SG_ROW_1(bfind_s32, u32, u32, (a ^ (0u - (a >> 31))) ? 31 - __builtin_clz(a ^ (0u - (a >> 31))) : -1)
SG_ROW_1(bfind_u64, u32, u64, a ? 63 - __builtin_clzll(a) : -1)
SG_ROW_1(bfind_shift_u32, u32, u32, a ? __builtin_clz(a) : -1)
SG_ROW_2(bmsk_clamp, u32, u32, u32, a > 31 ? 0 : (uint32_t)((((uint64_t)1 << (b > 32 ? 32 : b)) - 1) << a))
SG_ROW_2(bmsk_wrap, u32, u32, u32, (uint32_t)((((uint64_t)1 << (b & 31)) - 1) << (a & 31)))

/* Fields: position and length are bytes. Beyond the end, zeros or the sign. */
static inline uint64_t field(uint64_t x, uint32_t from, uint32_t length, uint32_t width, bool is_signed)
{
    from &= 255;
    length &= 255;
    const uint32_t last = from + length - 1 < width - 1 ? from + length - 1 : width - 1;
    const bool sign = is_signed && length && (x >> last & 1);
    uint64_t result = from < width ? x >> from : 0;
    const uint32_t kept = from >= width ? 0 : length < width - from ? length : width - from;
    const uint64_t mask = kept >= 64 ? UINT64_MAX : ((uint64_t)1 << kept) - 1;
    return (result & mask) | (sign ? ~mask : 0);
}
static inline uint64_t insert(uint64_t x, uint64_t into, uint32_t at, uint32_t length, uint32_t width)
{
    at &= 255;
    length &= 255;
    if (at >= width || !length)
        return into;
    const uint32_t kept = length < width - at ? length : width - at;
    const uint64_t mask = (kept >= 64 ? UINT64_MAX : ((uint64_t)1 << kept) - 1) << at;
    return (into & ~mask) | (x << at & mask);
}
SG_ROW_3(bfe_u32, u32, u32, u32, u32, field(a, b, c, 32, false))
SG_ROW_3(bfe_s32, u32, u32, u32, u32, field(a, b, c, 32, true))
SG_ROW_3(bfe_u64, u64, u64, u32, u32, field(a, b, c, 64, false))
SG_ROW_3(bfe_s64, u64, u64, u32, u32, field(a, b, c, 64, true))
SG_ROW_PAIR(bfi_b32, u32, const uint32_t *a_ = sg_row(w, op->a); const uint32_t *b_ = sg_row(w, op->b);
            const uint32_t *c_ = sg_row(w, op->c); const uint32_t *e_ = sg_row(w, op->e), (void)0,
            insert(a_[l], b_[l], c_[l], e_[l], 32))
SG_ROW_PAIR(bfi_b64, u64, const uint64_t *a_ = sg_row(w, op->a); const uint64_t *b_ = sg_row(w, op->b);
            const uint32_t *c_ = sg_row(w, op->c); const uint32_t *e_ = sg_row(w, op->e), (void)0,
            insert(a_[l], b_[l], c_[l], e_[l], 64))

static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t selector)
{
    const uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t result = 0;
    for (int i = 0; i < 4; i++) {
        const uint32_t s = selector >> 4 * i & 15;
        uint32_t byte = (uint32_t)(bytes >> 8 * (s & 7)) & 255;
        if (s & 8) /* the sign, eight times */
            byte = byte & 128 ? 255 : 0;
        result |= byte << 8 * i;
    }
    return result;
}
/* The other modes are selectors by the two lowest bits of c. */
#define PERMUTE_MODE(name, s0, s1, s2, s3)                                                                   \
    static inline uint32_t permute_##name(uint32_t a, uint32_t b, uint32_t c)                                \
    {                                                                                                        \
        static const uint32_t selectors[4] = {s0, s1, s2, s3};                                               \
        return permute(a, b, selectors[c & 3]);                                                              \
    }                                                                                                        \
    SG_ROW_3(prmt_##name, u32, u32, u32, u32, permute_##name(a, b, c))
SG_ROW_3(prmt, u32, u32, u32, u32, permute(a, b, c))
PERMUTE_MODE(f4e, 0x3210, 0x4321, 0x5432, 0x6543)
PERMUTE_MODE(b4e, 0x5670, 0x6701, 0x7012, 0x0123)
PERMUTE_MODE(rc8, 0x0000, 0x1111, 0x2222, 0x3333)
PERMUTE_MODE(ecl, 0x3210, 0x3211, 0x3222, 0x3333)
PERMUTE_MODE(ecr, 0x0000, 0x1110, 0x2210, 0x3210)
PERMUTE_MODE(rc16, 0x1010, 0x3232, 0x1010, 0x3232)

/* Any function of three bits: bit 4a + 2b + c of the table. */
static inline uint32_t logic(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
    uint32_t result = 0;
    for (uint32_t i = 0; i < 8; i++)
        result |= (0u - (table >> i & 1)) & (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return result;
}
SG_ROW_3(lop3, u32, u32, u32, u32, logic(a, b, c, (uint32_t)op->imm))

static inline uint32_t dot4(uint32_t a, uint32_t b, uint32_t c, bool a_signed, bool b_signed)
{
    for (int i = 0; i < 32; i += 8) {
        const int32_t x = a_signed ? (int8_t)(a >> i) : (int32_t)(a >> i & 255);
        const int32_t y = b_signed ? (int8_t)(b >> i) : (int32_t)(b >> i & 255);
        c += (uint32_t)(x * y);
    }
    return c;
}
SG_ROW_3(dp4a_uu, u32, u32, u32, u32, dot4(a, b, c, false, false))
SG_ROW_3(dp4a_us, u32, u32, u32, u32, dot4(a, b, c, false, true))
SG_ROW_3(dp4a_su, u32, u32, u32, u32, dot4(a, b, c, true, false))
SG_ROW_3(dp4a_ss, u32, u32, u32, u32, dot4(a, b, c, true, true))

/* Arithmetic with carry: one bit a lane, kept as a predicate that no name reaches. For subtraction it is the borrow. */
#define CARRY_PAIR(name, T, WIDE, SUM, IN, OUT)                                                              \
    static void name(sg_warp *w, const sg_op *op, uint32_t mask)                                             \
    {                                                                                                        \
        const SG_STORE_##T *a_ = sg_row(w, op->a), *b_ = sg_row(w, op->b);                                   \
        SG_STORE_##T *d_ = sg_row(w, op->d);                                                                 \
        SG_FOR_MASK(l, mask)                                                                                 \
        {                                                                                                    \
            const WIDE a = a_[l], b = b_[l], in = IN ? w->carry >> l & 1 : 0, sum = SUM;                     \
            d_[l] = (SG_STORE_##T)sum;                                                                       \
            if (OUT)                                                                                         \
                w->carry = (w->carry & ~(1u << l)) | (uint32_t)(sum >> 8 * sizeof(SG_STORE_##T) & 1) << l;   \
        }                                                                                                    \
    }
#define CARRY_ROWS(T, WIDE)                                                                                  \
    CARRY_PAIR(add_cc_##T, T, WIDE, a + b + in, 0, 1)                                                        \
    CARRY_PAIR(addc_##T, T, WIDE, a + b + in, 1, 0)                                                          \
    CARRY_PAIR(addc_cc_##T, T, WIDE, a + b + in, 1, 1)                                                       \
    CARRY_PAIR(sub_cc_##T, T, WIDE, a - b - in, 0, 1)                                                        \
    CARRY_PAIR(subc_##T, T, WIDE, a - b - in, 1, 0)                                                          \
    CARRY_PAIR(subc_cc_##T, T, WIDE, a - b - in, 1, 1)
CARRY_ROWS(u32, uint64_t)
CARRY_ROWS(u64, unsigned __int128)

#define MAD_CARRY(name, T, PART, IN, OUT)                                                                    \
    static void name(sg_warp *w, const sg_op *op, uint32_t mask)                                             \
    {                                                                                                        \
        const SG_STORE_##T *a_ = sg_row(w, op->a), *b_ = sg_row(w, op->b), *c_ = sg_row(w, op->c);           \
        SG_STORE_##T *d_ = sg_row(w, op->d);                                                                 \
        SG_FOR_MASK(l, mask)                                                                                 \
        {                                                                                                    \
            const unsigned __int128 product = (unsigned __int128)a_[l] * b_[l];                              \
            const unsigned __int128 sum = (unsigned __int128)(SG_STORE_##T)(PART) + c_[l] + (IN ? w->carry >> l & 1 : 0); \
            d_[l] = (SG_STORE_##T)sum;                                                                       \
            if (OUT)                                                                                         \
                w->carry = (w->carry & ~(1u << l)) | (uint32_t)(sum >> 8 * sizeof(SG_STORE_##T) & 1) << l;   \
        }                                                                                                    \
    }
#define MAD_CARRY_ROWS(T, BITS)                                                                              \
    MAD_CARRY(mad_lo_cc_##T, T, product, 0, 1)                                                               \
    MAD_CARRY(mad_hi_cc_##T, T, product >> BITS, 0, 1)                                                       \
    MAD_CARRY(madc_lo_##T, T, product, 1, 0)                                                                 \
    MAD_CARRY(madc_hi_##T, T, product >> BITS, 1, 0)                                                         \
    MAD_CARRY(madc_lo_cc_##T, T, product, 1, 1)                                                              \
    MAD_CARRY(madc_hi_cc_##T, T, product >> BITS, 1, 1)
MAD_CARRY_ROWS(u32, 32)
MAD_CARRY_ROWS(u64, 64)

/* One handler for the signed, the unsigned and where there is one the untyped mnemonic. */
#define BOTH(op, tail, name, bits, shape, pipe)                                                              \
    SG_ENTRY(op tail ".u" #bits, name##_u##bits, shape, pipe), SG_ENTRY(op tail ".s" #bits, name##_u##bits, shape, pipe)
#define APART(op, name, bits, shape, pipe)                                                                   \
    SG_ENTRY(op ".u" #bits, name##_u##bits, shape, pipe), SG_ENTRY(op ".s" #bits, name##_s##bits, shape, pipe)
#define WIDTHS(LIST, op, name, c1, c2, c3, pipe)                                                             \
    LIST(op, name, 16, c1, pipe), LIST(op, name, 32, c2, pipe), LIST(op, name, 64, c3, pipe)
#define ALIKE(op, name, bits, shape, pipe) BOTH(op, "", name, bits, shape, pipe)
#define BITS(op, name, bits, shape, pipe)  SG_ENTRY(op ".b" #bits, name##_u##bits, shape, pipe)
#define SAME(mnemonic, handler, shape)     {mnemonic, handler, handler, shape, SG_PIPE_ALU, NULL}
#define CARRY(op, name, bits)                                                                                \
    SAME(op ".u" #bits, name##_u##bits, bits == 32 ? "www" : "ddd"),                                         \
        SAME(op ".s" #bits, name##_u##bits, bits == 32 ? "www" : "ddd")
#define CARRY4(op, name, bits)                                                                               \
    SAME(op ".u" #bits, name##_u##bits, bits == 32 ? "wwww" : "dddd"),                                       \
        SAME(op ".s" #bits, name##_u##bits, bits == 32 ? "wwww" : "dddd")

const sg_entry sg_entries_integer[] = {
    WIDTHS(ALIKE, "add", add, "hhh", "www", "ddd", ALU),
    WIDTHS(ALIKE, "sub", sub, "hhh", "www", "ddd", ALU),
    WIDTHS(ALIKE, "mul.lo", mul, "hhh", "www", "ddd", IMAD),
    WIDTHS(ALIKE, "mad.lo", mad, "hhhh", "wwww", "dddd", IMAD),
    WIDTHS(BITS, "and", and, "hhh", "www", "ddd", ALU),
    WIDTHS(BITS, "or", or, "hhh", "www", "ddd", ALU),
    WIDTHS(BITS, "xor", xor, "hhh", "www", "ddd", ALU),
    WIDTHS(BITS, "not", not, "hh", "ww", "dd", ALU),
    WIDTHS(BITS, "cnot", cnot, "hh", "ww", "dd", ALU),
    SG_ENTRY("neg.s16", neg_u16, "hh", ALU),
    SG_ENTRY("neg.s32", neg_u32, "ww", ALU),
    SG_ENTRY("neg.s64", neg_u64, "dd", ALU),
    SG_ENTRY("abs.s16", abs_s16, "hh", ALU),
    SG_ENTRY("abs.s32", abs_s32, "ww", ALU),
    SG_ENTRY("abs.s64", abs_s64, "dd", ALU),
    WIDTHS(APART, "min", min, "hhh", "www", "ddd", ALU),
    WIDTHS(APART, "max", max, "hhh", "www", "ddd", ALU),
    WIDTHS(APART, "div", div, "hhh", "www", "ddd", ALU),
    WIDTHS(APART, "rem", rem, "hhh", "www", "ddd", ALU),
    SG_ENTRY("add.sat.s32", add_sat_s32, "www", ALU),
    SG_ENTRY("sub.sat.s32", sub_sat_s32, "www", ALU),
    WIDTHS(APART, "mul.hi", mul_hi, "hhh", "www", "ddd", IMAD),
    APART("mad.hi", mad_hi, 32, "wwww", IMAD),
    APART("mad.hi", mad_hi, 64, "dddd", IMAD),
    APART("mul.wide", mul_wide, 16, "whh", IMAD),
    APART("mul.wide", mul_wide, 32, "dww", IMAD),
    APART("mad.wide", mad_wide, 16, "whhw", IMAD),
    APART("mad.wide", mad_wide, 32, "dwwd", IMAD),
    APART("mul24.lo", mul24, 32, "www", ALU),
    APART("mad24.lo", mad24, 32, "wwww", ALU),
    APART("sad", sad, 32, "wwww", ALU),
    SG_ENTRY("shl.b16", shl_b16, "hhw", ALU),
    SG_ENTRY("shl.b32", shl_b32, "www", ALU),
    SG_ENTRY("shl.b64", shl_b64, "ddw", ALU),
    SG_ENTRY("shr.b16", shr_u16, "hhw", ALU),
    SG_ENTRY("shr.b32", shr_u32, "www", ALU),
    SG_ENTRY("shr.b64", shr_u64, "ddw", ALU),
    WIDTHS(APART, "shr", shr, "hhw", "www", "ddw", ALU),
    SG_ENTRY("shf.l.wrap.b32", shf_l_wrap, "wwww", ALU),
    SG_ENTRY("shf.l.clamp.b32", shf_l_clamp, "wwww", ALU),
    SG_ENTRY("shf.r.wrap.b32", shf_r_wrap, "wwww", ALU),
    SG_ENTRY("shf.r.clamp.b32", shf_r_clamp, "wwww", ALU),
    SG_ENTRY("popc.b32", popc_b32, "ww", ALU),
    SG_ENTRY("popc.b64", popc_b64, "wd", ALU),
    SG_ENTRY("clz.b32", clz_b32, "ww", ALU),
    SG_ENTRY("clz.b64", clz_b64, "wd", ALU),
    SG_ENTRY("brev.b32", brev_b32, "ww", ALU),
    SG_ENTRY("brev.b64", brev_b64, "dd", ALU),
    SG_ENTRY("bfind.u32", bfind_u32, "ww", ALU),
    SG_ENTRY("bfind.s32", bfind_s32, "ww", ALU),
    SG_ENTRY("bfind.u64", bfind_u64, "wd", ALU),
    SG_ENTRY("bfind.shiftamt.u32", bfind_shift_u32, "ww", ALU),
    SG_ENTRY("bmsk.clamp.b32", bmsk_clamp, "www", ALU),
    SG_ENTRY("bmsk.wrap.b32", bmsk_wrap, "www", ALU),
    APART("bfe", bfe, 32, "wwww", ALU),
    APART("bfe", bfe, 64, "ddww", ALU),
    SG_ENTRY("bfi.b32", bfi_b32, "wwwww", ALU),
    SG_ENTRY("bfi.b64", bfi_b64, "dddww", ALU),
    SG_ENTRY("prmt.b32", prmt, "wwww", ALU),
    SG_ENTRY("prmt.b32.f4e", prmt_f4e, "wwww", ALU),
    SG_ENTRY("prmt.b32.b4e", prmt_b4e, "wwww", ALU),
    SG_ENTRY("prmt.b32.rc8", prmt_rc8, "wwww", ALU),
    SG_ENTRY("prmt.b32.ecl", prmt_ecl, "wwww", ALU),
    SG_ENTRY("prmt.b32.ecr", prmt_ecr, "wwww", ALU),
    SG_ENTRY("prmt.b32.rc16", prmt_rc16, "wwww", ALU),
    SG_ENTRY("lop3.b32", lop3, "wwwwi", ALU),
    SG_ENTRY("dp4a.u32.u32", dp4a_uu, "wwww", ALU),
    SG_ENTRY("dp4a.u32.s32", dp4a_us, "wwww", ALU),
    SG_ENTRY("dp4a.s32.u32", dp4a_su, "wwww", ALU),
    SG_ENTRY("dp4a.s32.s32", dp4a_ss, "wwww", ALU),
    CARRY("add.cc", add_cc, 32),
    CARRY("add.cc", add_cc, 64),
    CARRY("addc", addc, 32),
    CARRY("addc", addc, 64),
    CARRY("addc.cc", addc_cc, 32),
    CARRY("addc.cc", addc_cc, 64),
    CARRY("sub.cc", sub_cc, 32),
    CARRY("sub.cc", sub_cc, 64),
    CARRY("subc", subc, 32),
    CARRY("subc", subc, 64),
    CARRY("subc.cc", subc_cc, 32),
    CARRY("subc.cc", subc_cc, 64),
    CARRY4("mad.lo.cc", mad_lo_cc, 32),
    CARRY4("mad.lo.cc", mad_lo_cc, 64),
    SAME("mad.hi.cc.u32", mad_hi_cc_u32, "wwww"),
    SAME("mad.hi.cc.u64", mad_hi_cc_u64, "dddd"),
    CARRY4("madc.lo", madc_lo, 32),
    CARRY4("madc.lo", madc_lo, 64),
    SAME("madc.hi.u32", madc_hi_u32, "wwww"),
    SAME("madc.hi.u64", madc_hi_u64, "dddd"),
    CARRY4("madc.lo.cc", madc_lo_cc, 32),
    CARRY4("madc.lo.cc", madc_lo_cc, 64),
    SAME("madc.hi.cc.u32", madc_hi_cc_u32, "wwww"),
    SAME("madc.hi.cc.u64", madc_hi_cc_u64, "dddd"),
    SG_END,
};
