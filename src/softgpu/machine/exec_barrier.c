/* Barriers of a block and of a cluster, and fences. */
#include "../ptx/decode.h"
#include "race.h"
#include "rows.h"

/* Barriers of a block. op: a number, b threads (0: all), c predicate of a reduction, d its result; op->kind as below. */
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

/* Threads that left count as arrived at barriers of all threads. */
void sg_barriers_settle(sg_block *block)
{
    for (int8_t i = 0; i < SG_BARRIERS; i++) {
        const sg_barrier *barrier = &block->barriers[i];
        if (barrier->arrived && !barrier->needed && barrier->arrived >= block->alive)
            complete(block, i);
    }
    settle_cluster(block->cluster);
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

static void decode_bar(sg_decoder *d)
{
    decode_block_barrier(d, true);
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

const sg_entry sg_entries_barrier[] = {
    SG_DECODE("bar", decode_bar),
    SG_DECODE("barrier", decode_barrier),
    SG_DECODE("membar", decode_fence),
    SG_DECODE("fence", decode_fence),
    SG_END,
};
