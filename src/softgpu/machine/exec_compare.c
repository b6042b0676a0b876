/* Comparisons, selections and logic on predicates. */
#include <math.h>

#include "../ptx/decode.h"
#include "rows.h"

/* Comparisons gather one bit a lane: the loop makes words, the second loop packs them. */
static inline uint32_t pack(const uint32_t *words)
{
    uint32_t result = 0;
    for (int l = 0; l < SG_LANES; l++)
        result |= (words[l] & 1) << l;
    return result;
}

/* How a comparison is joined with a third operand: op->kind. */
enum { ALONE, AND = SG_KIND_OWN, OR, XOR };

/* Of setp: p gets the result joined, q the opposite joined. Of set: a row of ones or zeros. */
static inline void put_result(sg_warp *w, const sg_op *op, uint32_t mask, uint32_t result)
{
    uint32_t opposite = ~result;
    const uint32_t third = sg_mask_of(w, op->c);
    if (op->kind == AND)
        result &= third, opposite &= third;
    else if (op->kind == OR)
        result |= third, opposite |= third;
    else if (op->kind == XOR)
        result ^= third, opposite ^= third;
    sg_set_mask(w, op->d, mask, result);
    if (op->e)
        sg_set_mask(w, op->e, mask, opposite);
}

#define COMPARE(name, T, EXPRESSION)                                                                         \
    SG_VECTOR static void name##_##T(sg_warp *w, const sg_op *op, uint32_t mask)                             \
    {                                                                                                        \
        const SG_STORE_##T *a_ = sg_row(w, op->a), *b_ = sg_row(w, op->b);                                   \
        _Alignas(SG_ROW_BYTES) uint32_t words[SG_LANES];                                                     \
        SG_FOR_LANES                                                                                         \
        {                                                                                                    \
            const SG_VALUE_##T a = SG_GET_##T(a_[l]), b = SG_GET_##T(b_[l]);                                 \
            words[l] = EXPRESSION;                                                                           \
        }                                                                                                    \
        put_result(w, op, mask, pack(words));                                                                \
    }
#define COMPARE_INTEGER(T)                                                                                   \
    COMPARE(eq, T, a == b)                                                                                   \
    COMPARE(ne, T, a != b)                                                                                   \
    COMPARE(lt, T, a < b)                                                                                    \
    COMPARE(le, T, a <= b)                                                                                   \
    COMPARE(gt, T, a > b)                                                                                    \
    COMPARE(ge, T, a >= b)
#define COMPARE_FLOAT(T)                                                                                     \
    COMPARE(eq, T, a == b)                                                                                   \
    COMPARE(ne, T, (a < b) | (a > b))                                                                        \
    COMPARE(lt, T, a < b)                                                                                    \
    COMPARE(le, T, a <= b)                                                                                   \
    COMPARE(gt, T, a > b)                                                                                    \
    COMPARE(ge, T, a >= b)                                                                                   \
    COMPARE(equ, T, !((a < b) | (a > b)))                                                                    \
    COMPARE(neu, T, a != b)                                                                                  \
    COMPARE(ltu, T, !(a >= b))                                                                               \
    COMPARE(leu, T, !(a > b))                                                                                \
    COMPARE(gtu, T, !(a <= b))                                                                               \
    COMPARE(geu, T, !(a < b))                                                                                \
    COMPARE(num, T, (a == a) & (b == b))                                                                     \
    COMPARE(nan, T, (a != a) | (b != b))

COMPARE_INTEGER(u16)
COMPARE_INTEGER(s16)
COMPARE_INTEGER(u32)
COMPARE_INTEGER(s32)
COMPARE_INTEGER(u64)
COMPARE_INTEGER(s64)
COMPARE_FLOAT(f16)
COMPARE_FLOAT(bf16)
COMPARE_FLOAT(f32)
COMPARE_FLOAT(f64)

#define NAMES "eq", "ne", "lt", "le", "gt", "ge"
static const char *const comparisons[] = {NAMES, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan", NULL};
static const char *const unsigned_names[] = {NAMES, "lo", "ls", "hi", "hs", NULL}; /* lt, le, gt, ge */
#define COMPARISONS 14

#define LIST6(T)  eq_##T, ne_##T, lt_##T, le_##T, gt_##T, ge_##T
#define LIST10(T) LIST6(T), lt_##T, le_##T, gt_##T, ge_##T
#define LIST14(T) LIST6(T), equ_##T, neu_##T, ltu_##T, leu_##T, gtu_##T, geu_##T, num_##T, nan_##T

static sg_run *const handlers[SG_TYPE_COUNT][COMPARISONS] = {
    [SG_B16] = {LIST6(u16)},  [SG_U16] = {LIST10(u16)}, [SG_S16] = {LIST6(s16)},   [SG_B32] = {LIST6(u32)},
    [SG_U32] = {LIST10(u32)}, [SG_S32] = {LIST6(s32)},  [SG_B64] = {LIST6(u64)},   [SG_U64] = {LIST10(u64)},
    [SG_S64] = {LIST6(s64)},  [SG_F16] = {LIST14(f16)}, [SG_BF16] = {LIST14(bf16)}, [SG_F32] = {LIST14(f32)},
    [SG_F64] = {LIST14(f64)},
};

static bool is_real(sg_type type)
{
    return type == SG_F16 || type == SG_BF16 || type == SG_F32 || type == SG_F64;
}

static sg_run *find_comparison(sg_decoder *d, sg_type type)
{
    const int which = sg_part_of(d, is_real(type) ? comparisons : unsigned_names);
    if (which < 0 || !handlers[type][which])
        sg_decode_unsupported(d, "comparison or type not known");
    return handlers[type][which];
}

/* .and, .or, .xor with a predicate as the last operand. */
static uint8_t take_join(sg_decoder *d)
{
    static const char *const joins[] = {"and", "or", "xor", NULL};
    const int which = sg_part_of(d, joins);
    return (uint8_t)(which < 0 ? ALONE : AND + which);
}

static sg_pipe pipe_of(sg_type type)
{
    return type == SG_F64 ? SG_PIPE_F64 : SG_PIPE_ALU;
}

/* For .ftz: copies of the operands, flushed. */
SG_ROW_1(flush, u32, u32, a & 0x7f800000u ? a : a & 0x80000000u)

static uint32_t flushed(sg_decoder *d, uint32_t row)
{
    const uint32_t copy = sg_temporary(d, 4);
    sg_op *op = sg_emit(d, flush_full, flush_masked, SG_PIPE_NONE);
    op->a = row;
    op->d = copy;
    return copy;
}

/* f16x2 compares two halves for two predicates: the high ones are shifted down first. */
SG_ROW_1(high_half, u32, u32, a >> 16)

static void decode_pairs(sg_decoder *d, sg_type type)
{
    const sg_type half = type == SG_F16X2 ? SG_F16 : SG_BF16;
    const sg_operand *results = sg_operand_at(d, 0);
    uint32_t rows[2], high[2];
    sg_run *run = find_comparison(d, half);
    sg_parts_done(d);
    sg_operands(d, 3, 3);
    if (results->kind != SG_OPERAND_PAIR)
        sg_decode_bad(d, "expected p|q");
    for (int i = 0; i < 2; i++) {
        rows[i] = sg_source(d, sg_operand_at(d, 1 + (uint32_t)i), 4, false);
        high[i] = sg_temporary(d, 4);
        sg_op *op = sg_emit(d, high_half_full, high_half_masked, SG_PIPE_NONE);
        op->a = rows[i];
        op->d = high[i];
    }
    for (int i = 0; i < 2; i++) {
        const uint32_t result = sg_predicate_destination(d, &results->items[i]);
        sg_op *op = sg_emit(d, run, run, i ? SG_PIPE_NONE : SG_PIPE_HALF);
        op->d = result;
        op->a = i ? high[0] : rows[0];
        op->b = i ? high[1] : rows[1];
    }
}

static void decode_setp(sg_decoder *d)
{
    const uint8_t join = take_join(d);
    const sg_type type = sg_part_type(d);
    if (type == SG_F16X2 || type == SG_BF16X2) {
        decode_pairs(d, type);
        return;
    }
    sg_run *run = find_comparison(d, type);
    const bool ftz = sg_part(d, "ftz");
    sg_parts_done(d);
    sg_operands(d, join ? 4 : 3, join ? 4 : 3);
    const sg_operand *result = sg_operand_at(d, 0);
    const uint32_t bytes = sg_type_bytes(type);
    uint32_t first, second = 0, rows[2];
    if (result->kind == SG_OPERAND_PAIR) {
        first = sg_predicate_destination(d, &result->items[0]);
        second = sg_predicate_destination(d, &result->items[1]);
    } else {
        first = sg_predicate_destination(d, result);
    }
    for (uint32_t i = 0; i < 2; i++) {
        rows[i] = sg_source(d, sg_operand_at(d, 1 + i), bytes, is_real(type));
        if (ftz && type == SG_F32)
            rows[i] = flushed(d, rows[i]);
    }
    const uint32_t third = join ? sg_predicate(d, sg_operand_at(d, 3)) : 0;
    sg_op *op = sg_emit(d, run, run, pipe_of(type));
    *op = (sg_op){.full = run, .masked = run, .d = first, .a = rows[0], .b = rows[1], .c = third, .e = second,
                  .guard = op->guard, .line = op->line, .pipe = op->pipe, .kind = join};
}

/* Spreads a predicate, or one for each half, over a row: op->imm where it is true, else zero. */
static void spread(sg_warp *w, const sg_op *op, uint32_t mask)
{
    const uint32_t p = sg_mask_of(w, op->a), q = sg_mask_of(w, op->b), one = (uint32_t)op->imm;
    uint32_t *row = sg_row32(w, op->d);
    SG_FOR_MASK(l, mask) row[l] = (p >> l & 1 ? one : 0) | (q >> l & 1 ? one << 16 : 0);
}

/* What "true" is in a result of set. */
static int64_t truth(sg_type type)
{
    switch (type) {
    case SG_F32: return 0x3f800000;
    case SG_F16:
    case SG_F16X2: return 0x3c00;
    case SG_BF16:
    case SG_BF16X2: return 0x3f80;
    case SG_U32:
    case SG_S32: return -1;
    default: return 0;
    }
}

static void compare_into(sg_decoder *d, sg_run *run, sg_type type, uint32_t to, uint32_t a, uint32_t b, uint32_t third,
                         uint8_t join)
{
    sg_op *op = sg_emit(d, run, run, pipe_of(type));
    op->d = to;
    op->a = a;
    op->b = b;
    op->c = third;
    op->kind = join;
}

/* set.lt.u32.f32 d, a, b: setp into hidden predicates, then a row of them. */
static void decode_set(sg_decoder *d)
{
    const uint8_t join = take_join(d);
    const sg_type to = sg_part_type(d), from = sg_part_type(d);
    const bool pairs = from == SG_F16X2 || from == SG_BF16X2, ftz = sg_part(d, "ftz");
    const sg_type compared = from == SG_F16X2 ? SG_F16 : from == SG_BF16X2 ? SG_BF16 : from;
    sg_run *run = find_comparison(d, compared);
    sg_parts_done(d);
    sg_operands(d, join ? 4 : 3, join ? 4 : 3);
    if (!truth(to) || (ftz && from == SG_F32) || (pairs && to != from && to != SG_U32 && to != SG_S32))
        sg_decode_unsupported(d, "type of the result not known");
    const uint32_t row = sg_destination(d, sg_operand_at(d, 0), sg_type_bytes(to));
    const uint32_t bytes = sg_type_bytes(from), low = 2 * d->kernel->predicate_count++;
    const uint32_t a = sg_source(d, sg_operand_at(d, 1), bytes, is_real(from));
    const uint32_t b = sg_source(d, sg_operand_at(d, 2), bytes, is_real(from));
    const uint32_t third = join ? sg_predicate(d, sg_operand_at(d, 3)) : 0;
    uint32_t high = 1; /* never true */
    compare_into(d, run, compared, low, a, b, third, join);
    if (pairs) {
        uint32_t tops[2];
        for (int i = 0; i < 2; i++) {
            tops[i] = sg_temporary(d, 4);
            sg_op *op = sg_emit(d, high_half_full, high_half_masked, SG_PIPE_NONE);
            op->d = tops[i];
            op->a = i ? b : a;
        }
        high = 2 * d->kernel->predicate_count++;
        compare_into(d, run, compared, high, tops[0], tops[1], third, join);
    }
    sg_op *op = sg_emit(d, spread, spread, SG_PIPE_NONE);
    op->d = row;
    op->a = low;
    op->b = high;
    op->imm = pairs && to != from ? 0xffff : truth(to);
}

/* selp d, a, b, p */
#define SELECT(name, T)                                                                                      \
    SG_VECTOR static void name##_full(sg_warp *w, const sg_op *op, uint32_t mask)                            \
    {                                                                                                        \
        const SG_STORE_##T *a_ = sg_row(w, op->a), *b_ = sg_row(w, op->b);                                   \
        SG_STORE_##T *d_ = sg_row(w, op->d);                                                                 \
        const uint32_t p = sg_mask_of(w, op->c);                                                             \
        (void)mask;                                                                                          \
        SG_FOR_LANES d_[l] = p >> l & 1 ? a_[l] : b_[l];                                                     \
    }                                                                                                        \
    SG_VECTOR static void name##_masked(sg_warp *w, const sg_op *op, uint32_t mask)                          \
    {                                                                                                        \
        const SG_STORE_##T *a_ = sg_row(w, op->a), *b_ = sg_row(w, op->b);                                   \
        SG_STORE_##T *d_ = sg_row(w, op->d);                                                                 \
        const uint32_t p = sg_mask_of(w, op->c);                                                             \
        SG_FOR_MASK(l, mask) d_[l] = p >> l & 1 ? a_[l] : b_[l];                                             \
    }
SELECT(selp_32, u32)
SELECT(selp_64, u64)

/* slct d, a, b, c: a if c >= 0 */
SG_ROW_3(slct_32_s32, u32, u32, u32, s32, c >= 0 ? a : b)
SG_ROW_3(slct_64_s32, u64, u64, u64, s32, c >= 0 ? a : b)
SG_ROW_3(slct_32_f32, u32, u32, u32, f32, c >= 0 ? a : b)
SG_ROW_3(slct_64_f32, u64, u64, u64, f32, c >= 0 ? a : b)

#define LOGIC(name, EXPRESSION)                                                                              \
    static void name(sg_warp *w, const sg_op *op, uint32_t mask)                                             \
    {                                                                                                        \
        const uint32_t a = sg_mask_of(w, op->a), b = sg_mask_of(w, op->b);                                   \
        (void)b;                                                                                             \
        sg_set_mask(w, op->d, mask, EXPRESSION);                                                             \
    }
LOGIC(and_pred, a &b)
LOGIC(or_pred, a | b)
LOGIC(xor_pred, a ^ b)
LOGIC(not_pred, ~a)
LOGIC(mov_pred, a)

/* testp.property: of op->imm */
#define TEST(name, T, EXPRESSION)                                                                            \
    static void name(sg_warp *w, const sg_op *op, uint32_t mask)                                             \
    {                                                                                                        \
        const SG_STORE_##T *a_ = sg_row(w, op->a);                                                           \
        uint32_t result = 0;                                                                                 \
        for (int l = 0; l < SG_LANES; l++) {                                                                 \
            const SG_STORE_##T a = a_[l];                                                                    \
            result |= (uint32_t)(EXPRESSION) << l;                                                           \
        }                                                                                                    \
        sg_set_mask(w, op->d, mask, result);                                                                 \
    }
#define TESTS(T)                                                                                             \
    TEST(finite_##T, T, !!isfinite(a))                                                                       \
    TEST(infinite_##T, T, !!isinf(a))                                                                        \
    TEST(number_##T, T, !isnan(a))                                                                           \
    TEST(notanumber_##T, T, !!isnan(a))                                                                      \
    TEST(normal_##T, T, !!isnormal(a))                                                                       \
    TEST(subnormal_##T, T, fpclassify(a) == FP_SUBNORMAL)
TESTS(f32)
TESTS(f64)

#define SAME(mnemonic, handler, shape) {mnemonic, handler, handler, shape, SG_PIPE_ALU, NULL}
#define SELP(t, name, shape)           SG_ENTRY("selp." t, name, shape, ALU)
#define TESTP(name) SAME("testp." #name ".f32", name##_f32, "pf"), SAME("testp." #name ".f64", name##_f64, "pg")
#define SLCT(t, bits, shape)                                                                                           \
    SG_ENTRY("slct." t ".s32", slct_##bits##_s32, shape "w", ALU),                                                     \
        SG_ENTRY("slct." t ".f32", slct_##bits##_f32, shape "f", ALU)

const sg_entry sg_entries_compare[] = {
    SG_DECODE("setp", decode_setp),
    SG_DECODE("set", decode_set),
    SELP("b16", selp_32, "hhhp"),
    SELP("u16", selp_32, "hhhp"),
    SELP("s16", selp_32, "hhhp"),
    SELP("b32", selp_32, "wwwp"),
    SELP("u32", selp_32, "wwwp"),
    SELP("s32", selp_32, "wwwp"),
    SELP("f32", selp_32, "fffp"),
    SELP("b64", selp_64, "dddp"),
    SELP("u64", selp_64, "dddp"),
    SELP("s64", selp_64, "dddp"),
    SELP("f64", selp_64, "gggp"),
    SLCT("b32", 32, "www"),
    SLCT("u32", 32, "www"),
    SLCT("s32", 32, "www"),
    SLCT("f32", 32, "fff"),
    SLCT("b64", 64, "ddd"),
    SLCT("u64", 64, "ddd"),
    SLCT("s64", 64, "ddd"),
    SLCT("f64", 64, "ggg"),
    SAME("and.pred", and_pred, "ppp"),
    SAME("or.pred", or_pred, "ppp"),
    SAME("xor.pred", xor_pred, "ppp"),
    SAME("not.pred", not_pred, "pp"),
    SAME("mov.pred", mov_pred, "pp"),
    TESTP(finite),
    TESTP(infinite),
    TESTP(number),
    TESTP(notanumber),
    TESTP(normal),
    TESTP(subnormal),
    SG_END,
};
