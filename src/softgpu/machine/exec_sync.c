/* Barriers of a block and a cluster, and what the lanes of a warp tell each other. */
#include "../ptx/decode.h"
#include "race.h"
#include "rows.h"

/* Barriers. op: a number, b threads or 0, c predicate of a reduction, d its result; op->kind as below. */
enum { SYNC = SG_KIND_OWN, SYNC_ALIGNED, ARRIVE, RED_POPC, RED_AND, RED_OR };

static bool is_aligned(const sg_op *op)
{
    return op->kind == SYNC_ALIGNED || op->kind >= RED_POPC;
}

/* Results of bar.red for the lanes that waited. */
static void deliver(sg_warp *w, const sg_op *op, uint32_t mask, const sg_barrier *barrier)
{
    if (op->kind == RED_POPC) {
        uint32_t *row = sg_row32(w, op->d);
        SG_FOR_MASK(l, mask) row[l] = barrier->votes;
    } else if (op->kind == RED_AND || op->kind == RED_OR) {
        const bool result = op->kind == RED_AND ? barrier->votes == barrier->voters : barrier->votes > 0;
        sg_set_mask(w, op->d, mask, result ? SG_ALL : 0);
    }
}

static void complete(sg_block *block, int8_t number)
{
    sg_barrier *barrier = &block->barriers[number];
    block->machine->progress++;
    if (block->machine->counts)
        block->machine->counts->barriers++;
    for (uint32_t i = 0; i < block->warp_count; i++) {
        sg_warp *w = &block->warps[i];
        const sg_op *first = NULL;
        for (int s = 0; s < w->split_count; s++) {
            if (w->splits[s].barrier != number)
                continue;
            const sg_op *op = &w->ops[w->splits[s].pc - 1];
            if (first && first != op && is_aligned(op)) {
                sg_fault_at(w, op, w->splits[s].mask, SG_FAULT_BARRIER, 0,
                            "threads of one warp stand at different barriers, here and at line %u", first->line);
                return;
            }
            first = op;
            deliver(w, op, w->splits[s].mask, barrier);
        }
        if (first && block->race)
            sg_race_leave(w, number);
        sg_split_release(w, number);
    }
    if (block->race)
        sg_race_forget(block, number);
    *barrier = (sg_barrier){0};
}

/* Threads that left count as arrived at barriers of all threads. */
static void settle_cluster(sg_cluster *cluster);

void sg_barriers_settle(sg_block *block)
{
    for (int8_t i = 0; i < SG_BARRIERS; i++) {
        const sg_barrier *barrier = &block->barriers[i];
        if (barrier->arrived && !barrier->needed && barrier->arrived >= block->alive)
            complete(block, i);
    }
    settle_cluster(block->cluster);
}

static void barrier_block(sg_warp *w, const sg_op *op, uint32_t mask)
{
    const int first = __builtin_ctz(mask);
    const uint32_t number = sg_row32(w, op->a)[first], needed = sg_row32(w, op->b)[first];
    if (number >= SG_BARRIERS) {
        sg_fault_at(w, op, mask, SG_FAULT_BARRIER, 0, "barrier %u: there are 16", number);
        return;
    }
    sg_barrier *barrier = &w->block->barriers[number];
    if (needed % SG_LANES || (op->kind == ARRIVE && !needed)) {
        sg_fault_at(w, op, mask, SG_FAULT_BARRIER, 0, "barrier %u for %u threads: not whole warps", number, needed);
        return;
    }
    if (barrier->arrived && barrier->needed != needed) {
        sg_fault_at(w, op, mask, SG_FAULT_BARRIER, 0, "barrier %u for %u threads, where others came for %u", number,
                    needed, barrier->needed);
        return;
    }
    /* Lanes that do not exist count in a barrier of so many threads: whole warps arrive. */
    barrier->needed = needed;
    barrier->arrived += (uint32_t)__builtin_popcount(mask);
    if (needed && mask == w->alive)
        barrier->arrived += SG_LANES - (uint32_t)__builtin_popcount(mask);
    if (op->kind >= RED_POPC) {
        barrier->votes += (uint32_t)__builtin_popcount(sg_mask_of(w, op->c) & mask);
        barrier->voters += (uint32_t)__builtin_popcount(mask);
    }
    if (needed && barrier->arrived > needed) {
        sg_fault_at(w, op, mask, SG_FAULT_BARRIER, 0, "barrier %u: %u threads came, %u were to come", number,
                    barrier->arrived, needed);
        return;
    }
    if (w->block->race)
        sg_race_arrive(w, (int8_t)number);
    const bool full = barrier->arrived >= (needed ? needed : w->block->alive);
    if (op->kind != ARRIVE)
        sg_split_wait(w, mask, (int8_t)number);
    if (full)
        complete(w->block, (int8_t)number);
}

static uint32_t cluster_alive(const sg_cluster *cluster)
{
    uint32_t alive = 0;
    for (uint32_t b = 0; b < cluster->block_count; b++)
        alive += cluster->blocks[b].alive;
    return alive;
}

static void settle_cluster(sg_cluster *cluster)
{
    if (!cluster->barrier.arrived || cluster->barrier.arrived < cluster_alive(cluster))
        return;
    cluster->machine->progress++;
    cluster->barrier.arrived = 0;
    cluster->barrier_phase++;
    if (cluster->machine->races)
        sg_race_cluster_over(cluster);
    for (uint32_t b = 0; b < cluster->block_count; b++)
        for (uint32_t i = 0; i < cluster->blocks[b].warp_count; i++)
            sg_split_release(&cluster->blocks[b].warps[i], SG_BARRIER_CLUSTER);
}

/* Arrivals and waits of a thread take turns: anything else is undefined. */
static void cluster_arrive(sg_warp *w, const sg_op *op, uint32_t mask)
{
    if (w->cluster_arrived & mask) {
        sg_fault_at(w, op, w->cluster_arrived & mask, SG_FAULT_BARRIER, 0,
                    "a second arrival at the cluster's barrier without a wait");
        return;
    }
    w->cluster_arrived |= mask;
    if (w->block->race)
        sg_race_cluster_arrive(w, op);
    sg_late_arrive(w, op);
    w->cluster_phase = w->block->cluster->barrier_phase;
    w->block->cluster->barrier.arrived += (uint32_t)__builtin_popcount(mask);
    settle_cluster(w->block->cluster);
}

static void cluster_wait(sg_warp *w, const sg_op *op, uint32_t mask)
{
    if (mask & ~w->cluster_arrived) {
        sg_fault_at(w, op, mask & ~w->cluster_arrived, SG_FAULT_BARRIER, 0,
                    "a wait at the cluster's barrier without an arrival");
        return;
    }
    /* Looked at again when the phase is over: only then is known what came before. */
    if (w->block->cluster->barrier_phase == w->cluster_phase) {
        w->pc = (uint32_t)(op - w->ops);
        sg_split_wait(w, mask, SG_BARRIER_CLUSTER);
        return;
    }
    w->cluster_arrived &= ~mask;
    if (w->block->race)
        sg_race_cluster_leave(w);
}

/* bar.sync a{, b}; bar.arrive a, b; bar.red.op d, a{, b}, p; barrier{.cta} the same, not aligned unless it says so. */
static void decode_block_barrier(sg_decoder *d, bool aligned)
{
    static const char *const reductions[] = {"popc", "and", "or", NULL};
    const bool arrive = sg_part(d, "arrive"), red = sg_part(d, "red");
    const int which = red ? sg_part_of(d, reductions) : 0;
    aligned |= sg_part(d, "aligned");
    sg_part(d, "cta");
    sg_part(d, "sync");
    sg_part(d, "pred");
    sg_part(d, "u32");
    sg_parts_done(d);
    if (which < 0)
        sg_decode_unsupported(d, "reduction not known");
    const uint32_t before = red ? 1 : 0, after = red ? 1 : 0;
    sg_operands(d, before + 1 + after, before + 2 + after);
    const bool counted = d->in->count == before + 2 + after;
    const uint32_t number = sg_source(d, sg_operand_at(d, before), 4, false);
    const uint32_t threads = counted ? sg_source(d, sg_operand_at(d, before + 1), 4, false) : sg_constant(d, 0, 4);
    const uint32_t p = red ? sg_predicate(d, sg_operand_at(d, d->in->count - 1)) : 0;
    const uint32_t result = !red         ? 0
                            : which == 0 ? sg_destination(d, sg_operand_at(d, 0), 4)
                                         : sg_predicate_destination(d, sg_operand_at(d, 0));
    sg_op *op = sg_emit(d, barrier_block, barrier_block, SG_PIPE_CONTROL);
    op->a = number;
    op->b = threads;
    op->c = p;
    op->d = result;
    op->kind = (uint8_t)(arrive ? ARRIVE : red ? RED_POPC + which : aligned ? SYNC_ALIGNED : SYNC);
}

/* Lanes of a warp. members: those that take part; all that live must come before anything happens. */
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

static void decode_bar(sg_decoder *d)
{
    if (!sg_part(d, "warp")) {
        decode_block_barrier(d, true);
        return;
    }
    sg_part(d, "sync");
    sg_parts_done(d);
    sg_operands(d, 1, 1);
    const uint32_t members = sg_source(d, sg_operand_at(d, 0), 4, false);
    sg_emit(d, warp_sync, warp_sync, SG_PIPE_CONTROL)->a = members;
}

static void decode_barrier(sg_decoder *d)
{
    if (!sg_part(d, "cluster")) {
        decode_block_barrier(d, false);
        return;
    }
    const bool arrive = sg_part(d, "arrive"), wait = sg_part(d, "wait");
    sg_part(d, "aligned");
    sg_part(d, "release");
    sg_part(d, "acquire");
    sg_part(d, "relaxed");
    sg_parts_done(d);
    sg_operands(d, 0, 0);
    if (arrive == wait)
        sg_decode_unsupported(d, "form not known");
    sg_run *run = wait ? cluster_wait : cluster_arrive;
    sg_emit(d, run, run, SG_PIPE_CONTROL);
}

static void fence(sg_warp *w, const sg_op *op, uint32_t mask)
{
    sg_late_release(w, op, mask);
    if (w->block->race)
        sg_race_fence(w, op);
}

static void decode_fence(sg_decoder *d)
{
    static const char *const wide[] = {".gl", ".gpu", ".sys"};
    bool trip = false;
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
        trip |= strstr(d->in->mnemonic, wide[i]) != NULL;
    sg_emit(d, fence, fence, trip ? SG_PIPE_TRIP : SG_PIPE_CONTROL);
}

const sg_entry sg_entries_sync[] = {
    SG_DECODE("bar", decode_bar),
    SG_DECODE("barrier", decode_barrier),
    SG_DECODE("shfl", decode_shfl),
    SG_DECODE("vote", decode_vote),
    SG_DECODE("match", decode_match),
    SG_DECODE("redux", decode_redux),
    SG_DECODE("elect", decode_elect),
    {"activemask.b32", active_mask, active_mask, "w", SG_PIPE_ALU, NULL},
    SG_DECODE("membar", decode_fence),
    SG_DECODE("fence", decode_fence),
    SG_END,
};
