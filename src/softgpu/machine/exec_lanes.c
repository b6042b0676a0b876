/* What the lanes of a warp tell each other: shuffles, votes, matches, reductions. */
#include "../ptx/decode.h"
#include "race.h"
#include "rows.h"

/* Whether all members that live have come; until then those that have wait. */
static bool gathered(sg_warp *w, const sg_op *op, uint32_t mask, uint32_t members)
{
    if (!(members & w->alive & ~mask & ~w->active)) {
        if (w->block->race)
            sg_race_meet(w);
        return true;
    }
    w->pc = (uint32_t)(op - w->ops);
    sg_split_yield(w);
    return false;
}

static uint32_t members_of(const sg_warp *w, uint32_t row, uint32_t mask)
{
    return sg_row32(w, row)[__builtin_ctz(mask)];
}

static void warp_sync(sg_warp *w, const sg_op *op, uint32_t mask)
{
    gathered(w, op, mask, members_of(w, op->a, mask));
}

static void decode_warp_sync(sg_decoder *d)
{
    sg_part(d, "warp");
    sg_part(d, "sync");
    sg_parts_done(d);
    sg_operands(d, 1, 1);
    const uint32_t members = sg_source(d, sg_operand_at(d, 0), 4, false);
    sg_emit(d, warp_sync, warp_sync, SG_PIPE_CONTROL)->a = members;
}

enum { UP = SG_KIND_OWN, DOWN, BUTTERFLY, INDEX };

/* op: d result, a value, b distance, c clamp and segments, e members; imm: predicate result, or -1 */
static void shuffle(sg_warp *w, const sg_op *op, uint32_t mask)
{
    const uint32_t *a = sg_row32(w, op->a), *b = sg_row32(w, op->b), *c = sg_row32(w, op->c);
    uint32_t *d = sg_row32(w, op->d), result[SG_LANES], in_range = 0;
    if (!gathered(w, op, mask, members_of(w, op->e, mask)))
        return;
    SG_FOR_MASK(l, mask)
    {
        const uint32_t step = b[l] & 31, clamp = c[l] & 31, segment = c[l] >> 8 & 31;
        const int32_t last = (int32_t)((l & segment) | (clamp & ~segment)), first = (int32_t)(l & segment);
        const int32_t from = op->kind == UP          ? (int32_t)l - (int32_t)step
                             : op->kind == DOWN      ? (int32_t)(l + step)
                             : op->kind == BUTTERFLY ? (int32_t)(l ^ step)
                                                     : first | (int32_t)(step & ~segment);
        const bool inside = op->kind == UP ? from >= last : from <= last;
        const uint32_t source = inside ? (uint32_t)from & 31 : l;
        in_range |= (uint32_t)inside << l;
        result[l] = a[source];
        if (inside && !(mask >> source & 1)) {
            sg_fault_at(w, op, 1u << l, SG_FAULT_INSTRUCTION, 0, "value of lane %u, which does not take part", source);
            return;
        }
    }
    SG_FOR_MASK(l, mask) d[l] = result[l];
    if (op->imm >= 0)
        sg_set_mask(w, (uint32_t)op->imm, mask, in_range);
}

static void decode_shfl(sg_decoder *d)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx", NULL};
    const int mode = sg_part_of(d, modes);
    const bool sync = sg_part(d, "sync");
    sg_part(d, "b32");
    sg_parts_done(d);
    sg_operands(d, 5, 5);
    if (!sync || mode < 0)
        sg_decode_unsupported(d, "only shfl.sync");
    const sg_operand *to = sg_operand_at(d, 0);
    const bool pair = to->kind == SG_OPERAND_PAIR;
    const uint32_t row = sg_destination(d, pair ? &to->items[0] : to, 4);
    const int64_t p = pair ? (int64_t)sg_predicate_destination(d, &to->items[1]) : -1;
    uint32_t rows[4];
    for (uint32_t i = 0; i < 4; i++)
        rows[i] = sg_source(d, sg_operand_at(d, 1 + i), 4, false);
    sg_op *op = sg_emit(d, shuffle, shuffle, SG_PIPE_MEMORY);
    op->d = row;
    op->a = rows[0];
    op->b = rows[1];
    op->c = rows[2];
    op->e = rows[3];
    op->imm = p;
    op->kind = (uint8_t)(UP + mode);
}

enum { ALL = SG_KIND_OWN, ANY, UNIFORM, BALLOT };

/* op: d result, a predicate, e members */
static void vote(sg_warp *w, const sg_op *op, uint32_t mask)
{
    if (!gathered(w, op, mask, members_of(w, op->e, mask)))
        return;
    const uint32_t votes = sg_mask_of(w, op->a) & mask;
    if (op->kind == BALLOT) {
        uint32_t *d = sg_row32(w, op->d);
        SG_FOR_MASK(l, mask) d[l] = votes;
    } else {
        const bool result = op->kind == ALL   ? votes == mask
                            : op->kind == ANY ? votes != 0
                                              : votes == mask || votes == 0;
        sg_set_mask(w, op->d, mask, result ? SG_ALL : 0);
    }
}

static void decode_vote(sg_decoder *d)
{
    static const char *const modes[] = {"all", "any", "uni", "ballot", NULL};
    const int mode = sg_part_of(d, modes);
    const bool sync = sg_part(d, "sync");
    sg_part(d, "pred");
    sg_part(d, "b32");
    sg_parts_done(d);
    sg_operands(d, 3, 3);
    if (!sync || mode < 0)
        sg_decode_unsupported(d, "only vote.sync");
    const uint32_t result = mode == 3 ? sg_destination(d, sg_operand_at(d, 0), 4)
                                      : sg_predicate_destination(d, sg_operand_at(d, 0));
    const uint32_t p = sg_predicate(d, sg_operand_at(d, 1)), members = sg_source(d, sg_operand_at(d, 2), 4, false);
    sg_op *op = sg_emit(d, vote, vote, SG_PIPE_ALU);
    op->d = result;
    op->a = p;
    op->e = members;
    op->kind = (uint8_t)(ALL + mode);
}

/* match.any.sync: lanes with the same value. match.all.sync: all lanes, if they have. */
static void match(sg_warp *w, const sg_op *op, uint32_t mask)
{
    uint32_t *d = sg_row32(w, op->d), result[SG_LANES], same = SG_ALL;
    const bool wide = op->imm & 1, all = op->kind == ALL;
    if (!gathered(w, op, mask, members_of(w, op->e, mask)))
        return;
    SG_FOR_MASK(l, mask)
    {
        result[l] = 0;
        SG_FOR_MASK(k, mask)
        {
            const bool equal = wide ? sg_row64(w, op->a)[l] == sg_row64(w, op->a)[k]
                                    : sg_row32(w, op->a)[l] == sg_row32(w, op->a)[k];
            result[l] |= (uint32_t)equal << k;
        }
        same &= result[l] == mask ? SG_ALL : 0;
    }
    SG_FOR_MASK(l, mask) d[l] = all ? same & mask : result[l];
    if (op->imm >> 1)
        sg_set_mask(w, op->c, mask, same);
}

static void decode_match(sg_decoder *d)
{
    const bool all = sg_part(d, "all"), any = sg_part(d, "any"), sync = sg_part(d, "sync");
    const sg_type type = sg_part_type(d);
    const uint32_t bytes = sg_type_bytes(type);
    sg_parts_done(d);
    sg_operands(d, 3, 3);
    if (all == any || !sync || (bytes != 4 && bytes != 8))
        sg_decode_unsupported(d, "form not known");
    const sg_operand *to = sg_operand_at(d, 0);
    const bool pair = to->kind == SG_OPERAND_PAIR;
    const uint32_t row = sg_destination(d, pair ? &to->items[0] : to, 4);
    const uint32_t p = pair ? sg_predicate_destination(d, &to->items[1]) : 0;
    const uint32_t value = sg_source(d, sg_operand_at(d, 1), bytes, false);
    const uint32_t members = sg_source(d, sg_operand_at(d, 2), 4, false);
    sg_op *op = sg_emit(d, match, match, SG_PIPE_ALU);
    op->d = row;
    op->a = value;
    op->c = p;
    op->e = members;
    op->imm = (bytes == 8) | pair << 1;
    op->kind = all ? ALL : ANY;
}

static uint32_t reduce(int which, uint32_t a, uint32_t b)
{
    switch (which) {
    case 0: return a + b;
    case 1: return a & b;
    case 2: return a | b;
    case 3: return a ^ b;
    case 4: return a < b ? a : b;
    case 5: return a > b ? a : b;
    case 6: return (int32_t)a < (int32_t)b ? a : b;
    default: return (int32_t)a > (int32_t)b ? a : b;
    }
}

static void redux(sg_warp *w, const sg_op *op, uint32_t mask)
{
    const uint32_t *a = sg_row32(w, op->a);
    uint32_t *d = sg_row32(w, op->d), result = a[__builtin_ctz(mask)];
    if (!gathered(w, op, mask, members_of(w, op->e, mask)))
        return;
    SG_FOR_MASK(l, mask & (mask - 1)) result = reduce((int)op->imm, result, a[l]);
    SG_FOR_MASK(l, mask) d[l] = result;
}

static void decode_redux(sg_decoder *d)
{
    static const char *const names[] = {"add", "and", "or", "xor", "min", "max", NULL};
    const int which = sg_part_of(d, names);
    const bool sync = sg_part(d, "sync");
    const sg_type type = sg_part_type(d);
    sg_parts_done(d);
    sg_operands(d, 3, 3);
    if (!sync || which < 0 || (type != SG_U32 && type != SG_S32 && type != SG_B32))
        sg_decode_unsupported(d, "form not known");
    const uint32_t row = sg_destination(d, sg_operand_at(d, 0), 4), value = sg_source(d, sg_operand_at(d, 1), 4, false);
    const uint32_t members = sg_source(d, sg_operand_at(d, 2), 4, false);
    sg_op *op = sg_emit(d, redux, redux, SG_PIPE_ALU);
    op->d = row;
    op->a = value;
    op->e = members;
    op->imm = which >= 4 && type == SG_S32 ? which + 2 : which;
}

/* elect.sync d|p, members: one of them, the lowest. */
static void elect(sg_warp *w, const sg_op *op, uint32_t mask)
{
    uint32_t *d = sg_row32(w, op->d);
    if (!gathered(w, op, mask, members_of(w, op->e, mask)))
        return;
    SG_FOR_MASK(l, mask) d[l] = (uint32_t)__builtin_ctz(mask);
    sg_set_mask(w, op->c, mask, mask & (0u - mask));
}

static void decode_elect(sg_decoder *d)
{
    sg_part(d, "sync");
    sg_parts_done(d);
    sg_operands(d, 2, 2);
    const sg_operand *to = sg_operand_at(d, 0);
    if (to->kind != SG_OPERAND_PAIR)
        sg_decode_bad(d, "expected d|p");
    const uint32_t row = sg_destination(d, &to->items[0], 4), p = sg_predicate_destination(d, &to->items[1]);
    const uint32_t members = sg_source(d, sg_operand_at(d, 1), 4, false);
    sg_op *op = sg_emit(d, elect, elect, SG_PIPE_ALU);
    op->d = row;
    op->c = p;
    op->e = members;
}

static void active_mask(sg_warp *w, const sg_op *op, uint32_t mask)
{
    uint32_t *d = sg_row32(w, op->d);
    SG_FOR_MASK(l, mask) d[l] = mask;
}

const sg_entry sg_entries_lanes[] = {
    SG_DECODE("bar.warp", decode_warp_sync),
    SG_DECODE("shfl", decode_shfl),
    SG_DECODE("vote", decode_vote),
    SG_DECODE("match", decode_match),
    SG_DECODE("redux", decode_redux),
    SG_DECODE("elect", decode_elect),
    {"activemask.b32", active_mask, active_mask, "w", SG_PIPE_ALU, NULL},
    SG_END,
};
