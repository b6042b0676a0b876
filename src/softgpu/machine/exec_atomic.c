/* atom and red: read, change, write. Nobody comes between: one warp runs at a time. */
#include "../ptx/decode.h"
#include "atomic.h"
#include "race.h"
#include "rows.h"

const char *const sg_atomic_names[] = {"add", "exch", "cas", "min", "max", "and", "or", "xor", "inc", "dec", NULL};

#define VECTOR_MOST 8

/* op->list: what one atomic is. */
typedef struct plan {
    uint32_t operation, type, space, has_result;
    uint32_t count; /* elements of a vector, one behind the other */
    uint32_t b[VECTOR_MOST], d[VECTOR_MOST]; /* rows: operands, old values */
} plan;

static double as_f64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

static uint64_t bits_f64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}

static float combine(float a, float b, sg_atomic what)
{
    return what == SG_ATOMIC_ADD ? a + b : what == SG_ATOMIC_MIN ? (a < b ? a : b) : a > b ? a : b;
}

static uint32_t low_high(uint32_t a, uint32_t b, sg_atomic what, bool bf16)
{
    const float x = bf16 ? sg_from_bf16(a) : sg_from_f16(a), y = bf16 ? sg_from_bf16(b) : sg_from_f16(b);
    return bf16 ? sg_to_bf16(combine(x, y, what)) : sg_to_f16(combine(x, y, what));
}

static uint64_t real(uint64_t a, uint64_t b, sg_atomic what, sg_type type)
{
    const bool bf16 = type == SG_BF16 || type == SG_BF16X2;
    switch (type) {
    case SG_F32:
        return sg_bits_of(combine(sg_float_of((uint32_t)a), sg_float_of((uint32_t)b), what));
    case SG_F64:
        return bits_f64(as_f64(a) + as_f64(b));
    case SG_F16X2:
    case SG_BF16X2:
        return low_high(a & 0xffff, b & 0xffff, what, bf16) |
               (uint64_t)low_high((uint32_t)a >> 16, (uint32_t)b >> 16, what, bf16) << 16;
    default:
        return low_high((uint32_t)a & 0xffff, (uint32_t)b & 0xffff, what, bf16);
    }
}

static bool is_real(sg_type type)
{
    return type >= SG_F16 && type <= SG_F64;
}

bool sg_atomic_known(sg_atomic what, sg_type type)
{
    const uint32_t bytes = sg_type_bytes(type);
    return type != SG_NONE && type != SG_PRED && bytes >= 2 && bytes <= 8 && type != SG_TF32 && type < SG_F32X2 &&
           !(type == SG_F64 && (what == SG_ATOMIC_MIN || what == SG_ATOMIC_MAX));
}

uint64_t sg_atomic_apply(uint64_t old, uint64_t b, uint64_t c, sg_atomic what, sg_type type)
{
    const bool is_signed = type == SG_S32 || type == SG_S64;
    const int64_t signed_old = type == SG_S32 ? (int32_t)old : (int64_t)old;
    const int64_t signed_b = type == SG_S32 ? (int32_t)b : (int64_t)b;
    if (is_real(type) && (what == SG_ATOMIC_ADD || what == SG_ATOMIC_MIN || what == SG_ATOMIC_MAX))
        return real(old, b, what, type);
    switch (what) {
    case SG_ATOMIC_ADD: return old + b;
    case SG_ATOMIC_EXCH: return b;
    case SG_ATOMIC_CAS: return old == b ? c : old;
    case SG_ATOMIC_MIN: return (is_signed ? signed_old < signed_b : old < b) ? old : b;
    case SG_ATOMIC_MAX: return (is_signed ? signed_old > signed_b : old > b) ? old : b;
    case SG_ATOMIC_AND: return old & b;
    case SG_ATOMIC_OR: return old | b;
    case SG_ATOMIC_XOR: return old ^ b;
    case SG_ATOMIC_INC: return old >= b ? 0 : old + 1;
    default: return old == 0 || old > b ? b : old - 1;
    }
}

static uint64_t row_value(const sg_warp *w, uint32_t row, uint32_t l, uint32_t bytes)
{
    return bytes == 8   ? sg_row64(w, row)[l]
           : bytes == 4 ? sg_row32(w, row)[l]
                        : sg_row32(w, row)[l] & 0xffff;
}

/* op: a address, c second operand of cas */
static void atomic(sg_warp *w, const sg_op *op, uint32_t mask)
{
    const plan *p = (const plan *)op->list;
    const uint32_t bytes = sg_type_bytes(p->type);
    SG_FOR_MASK(l, mask)
    {
        const uint64_t address = sg_lane_address(w, op, op->a, (int)l);
        uint8_t *(*const find)(sg_warp *, const sg_op *, int, uint64_t, uint32_t, bool) =
            p->space == SG_SPACE_SHARED ? sg_shared_at : p->space == SG_SPACE_GLOBAL ? sg_global_at : sg_generic_at;
        uint8_t *at = find(w, op, (int)l, address, bytes * p->count, false);
        if (!at || !find(w, op, (int)l, address, bytes * p->count, true))
            return;
        if (w->block->race &&
            !sg_race_touch(w, op, (int)l, address, bytes * p->count, SG_TOUCH_CHANGE, p->space))
            return;
        sg_late_write(w, op, address, at, bytes * p->count, p->space);
        for (uint32_t i = 0; i < p->count; i++, at += bytes) {
            uint64_t old = 0;
            memcpy(&old, at, bytes);
            const uint64_t b = row_value(w, p->b[i], l, bytes), c = row_value(w, op->c, l, bytes);
            const uint64_t new = sg_atomic_apply(old, b, c, p->operation, p->type);
            memcpy(at, &new, bytes);
            if (p->has_result && bytes == 8)
                sg_row64(w, p->d[i])[l] = old;
            else if (p->has_result)
                sg_row32(w, p->d[i])[l] = (uint32_t)old;
        }
    }
}

static void ignore_order(sg_decoder *d)
{
    static const char *const words[] = {"relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys",
                                        "noftz",   "ftz",     NULL};
    for (int i = 0; words[i]; i++)
        sg_part(d, words[i]);
}

/* Elements of a vector: floats that add up to 16 bytes. */
static uint32_t take_count(sg_decoder *d)
{
    static const char *const names[] = {"v2", "v4", "v8", NULL};
    const int which = sg_part_of(d, names);
    return which < 0 ? 1 : 2u << which;
}

static const sg_operand *item(sg_decoder *d, const sg_operand *operand, uint32_t i, uint32_t count)
{
    if (count == 1)
        return operand;
    if (operand->kind != SG_OPERAND_VECTOR || operand->count != count)
        sg_decode_bad(d, "vector of another length");
    return &operand->items[i];
}

static void decode_atomic(sg_decoder *d, bool has_result)
{
    static const char *const names[] = {"global", "shared", "shared::cta", "shared::cluster", NULL};
    const int space = sg_part_of(d, names), what = sg_part_of(d, sg_atomic_names);
    plan *p = (plan *)sg_list(d, sizeof *p / sizeof(uint32_t));
    ignore_order(d);
    p->count = take_count(d);
    p->type = sg_part_type(d);
    p->operation = (uint32_t)what;
    p->has_result = has_result;
    const bool hint = sg_part(d, "L2::cache_hint"), cas = what == SG_ATOMIC_CAS;
    const uint32_t bytes = sg_type_bytes(p->type), first = has_result ? 1 : 0, count = first + (cas ? 3 : 2);
    sg_parts_done(d);
    if (what < 0 || !sg_atomic_known((sg_atomic)what, p->type) ||
        (p->count > 1 && (!is_real(p->type) || bytes == 8 || bytes * p->count > 16 || space > 0)))
        sg_decode_unsupported(d, "operation or type not known");
    sg_operands(d, count, count + hint);
    for (uint32_t i = 0; i < p->count; i++) {
        if (has_result)
            p->d[i] = sg_destination(d, item(d, sg_operand_at(d, 0), i, p->count), bytes);
        p->b[i] = sg_source(d, item(d, sg_operand_at(d, first + 1), i, p->count), bytes, is_real(p->type));
    }
    const sg_address address = sg_address_of(d, sg_operand_at(d, first));
    const uint32_t c = cas ? sg_source(d, sg_operand_at(d, first + 2), bytes, false) : p->b[0];
    sg_emit(d, sg_late_release, sg_late_release, SG_PIPE_NONE);
    p->space = space < 0 ? address.space : space == 0 ? SG_SPACE_GLOBAL : SG_SPACE_SHARED;
    sg_op *op = sg_emit(d, atomic, atomic, has_result && p->space != SG_SPACE_SHARED ? SG_PIPE_TRIP : SG_PIPE_MEMORY);
    op->a = address.row;
    op->c = c;
    op->imm = address.offset;
    op->kind = sg_address_kind(&address);
    op->slot = sg_slot(d);
    op->list = (uint32_t *)p;
}

static void decode_atom(sg_decoder *d)
{
    decode_atomic(d, true);
}

static void decode_red(sg_decoder *d)
{
    decode_atomic(d, false);
}

const sg_entry sg_entries_atomic[] = {
    SG_DECODE("atom", decode_atom),
    SG_DECODE("red", decode_red),
    SG_END,
};
