/*
 * cp.async: copies from global to shared memory that land only when somebody has waited for them, or when nothing else
 * can go on. A kernel that reads too early then meets memory that is not there.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../ptx/decode.h"
#include "bulk.h"
#include "race.h"

/* op->list: op->a and op->imm are the destination, b the source, c how many bytes of it count, e a predicate. */
typedef struct plan {
    uint32_t bytes, source_wide, source_low, source_high;
} plan;

/* Lands the copies of some lanes. */
static void land(sg_warp *w, sg_flight *flight, uint32_t mask)
{
    mask &= flight->mask;
    flight->mask &= ~mask;
    w->ended = SG_NO_MBARRIER;
    w->arriving = SG_ALL; /* each has said so itself, and when copies land does not tell what others did */
    SG_FOR_MASK(l, mask)
    {
        if (!flight->bytes) {
            sg_mbarrier_change(w, flight->op, (int)l, flight->to[l], 1, 0);
            continue;
        }
        uint32_t at;
        const sg_block *block = sg_shared_block(w->block, flight->to[l], &at);
        if (flight->valid[l])
            memcpy(block->shared + at, (const void *)(uintptr_t)flight->from[l], flight->valid[l]);
        memset(block->shared + at + flight->valid[l], 0, flight->bytes - flight->valid[l]);
        memset(block->shadow + at, SG_SHADOW_WRITTEN, flight->bytes);
    }
}

static void forget_landed(sg_warp *w)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->flight_count; i++)
        if (w->flights[i].mask) {
            if (kept != i)
                w->flights[kept] = w->flights[i];
            kept++;
        }
    w->flight_count = kept;
}

static sg_flight *add_flight(sg_warp *w, const sg_op *op, uint32_t mask, uint32_t bytes)
{
    if (w->flight_count == w->flight_room) {
        const size_t room = w->flight_room ? 2 * w->flight_room : 64;
        sg_flight *flights = realloc(w->flights, room * sizeof *flights);
        if (!flights) {
            sg_fault_at(w, op, mask, SG_FAULT_MEMORY, 0, "no memory for copies in flight");
            return NULL;
        }
        w->flights = flights;
        w->flight_room = room;
    }
    sg_flight *flight = &w->flights[w->flight_count++];
    flight->op = op;
    flight->mask = mask;
    flight->bytes = bytes;
    memcpy(flight->group, w->groups, sizeof flight->group);
    return flight;
}

static void copy_async(sg_warp *w, const sg_op *op, uint32_t mask)
{
    const plan *p = (const plan *)op->list;
    const uint64_t offset = p->source_low | (uint64_t)p->source_high << 32;
    const uint32_t *valid = sg_row32(w, op->c), ignored = sg_mask_of(w, op->e);
    sg_flight *flight = add_flight(w, op, mask, p->bytes);
    uint64_t watched[SG_LANES];
    uint32_t reading = 0;
    if (!flight)
        return;
    SG_FOR_MASK(l, mask)
    {
        const uint64_t to = sg_lane_address(w, op, op->a, (int)l);
        const uint64_t from = (p->source_wide ? sg_row64(w, op->b)[l] : sg_row32(w, op->b)[l]) + offset;
        const uint32_t count = ignored >> l & 1 ? 0 : valid[l];
        if (count > p->bytes) {
            sg_fault_at(w, op, 1u << l, SG_FAULT_INSTRUCTION, from, "%u bytes of a copy of %u", count, p->bytes);
            return;
        }
        if (!sg_shared_at(w, op, (int)l, to, p->bytes, true))
            return;
        if (count && (from & (p->bytes - 1))) {
            sg_fault_at(w, op, 1u << l, SG_FAULT_MISALIGNED, from, "address 0x%" PRIx64 " is not aligned to %u bytes",
                        from, p->bytes);
            return;
        }
        if (count && !sg_bytes_at(w, op, (int)l, from, count, false, false))
            return;
        if (count && w->block->race && !sg_race_touch(w, op, (int)l, from, count, SG_TOUCH_READ, SG_SPACE_GENERIC))
            return;
        uint32_t at;
        sg_block *block = sg_shared_block(w->block, to, &at);
        memset(block->shadow + at, SG_SHADOW_FLYING, p->bytes);
        flight->to[l] = (uint32_t)to;
        flight->from[l] = watched[l] = from;
        flight->valid[l] = count;
        reading |= count ? 1u << l : 0;
    }
    if (w->watched) {
        w->copying = true;
        sg_watch_shared(w, op, mask, flight->to, p->bytes, true);
        if (reading)
            sg_watch_global(w, op, reading, watched, p->bytes, false);
        w->copying = false;
        if (w->machine->counts)
            w->machine->counts->async_bytes += (uint64_t)p->bytes * (uint32_t)__builtin_popcount(mask);
    }
}

static void commit(sg_warp *w, const sg_op *op, uint32_t mask)
{
    (void)op;
    SG_FOR_MASK(l, mask) w->groups[l]++;
}

/* imm: groups that may still be under way; -1: not even copies outside of a group */
static void wait_group(sg_warp *w, const sg_op *op, uint32_t mask)
{
    for (size_t i = 0; i < w->flight_count; i++) {
        sg_flight *flight = &w->flights[i];
        uint32_t lanes = 0;
        if (!flight->bytes)
            continue;
        SG_FOR_MASK(l, mask & flight->mask)
        lanes |= op->imm < 0 || (int64_t)flight->group[l] + op->imm < (int64_t)w->groups[l] ? 1u << l : 0;
        land(w, flight, lanes);
    }
    forget_landed(w);
}

static void arrive_on_copies(sg_warp *w, const sg_op *op, uint32_t mask)
{
    sg_flight *flight = add_flight(w, op, mask, 0);
    if (!flight)
        return;
    SG_FOR_MASK(l, mask)
    {
        flight->to[l] = (uint32_t)sg_lane_address(w, op, op->a, (int)l);
        /* Without .noinc the phase expects one arrival more. */
        if (op->slot && !sg_mbarrier_change(w, op, (int)l, flight->to[l], UINT32_MAX, 0))
            return;
    }
}

bool sg_async_release(sg_cluster *cluster)
{
    for (uint32_t b = 0; b < cluster->block_count; b++)
        for (uint32_t i = 0; i < cluster->blocks[b].warp_count; i++) {
            sg_warp *w = &cluster->blocks[b].warps[i];
            if (!w->flight_count)
                continue;
            land(w, &w->flights[0], SG_ALL);
            forget_landed(w);
            cluster->machine->progress++;
            return true;
        }
    return false;
}

static void decode_copy(sg_decoder *d)
{
    static const char *const ignored[] = {"ca",      "cg",       "shared",   "shared::cta", "global",
                                          "L2::64B", "L2::128B", "L2::256B", NULL};
    for (int i = 0; ignored[i]; i++)
        sg_part(d, ignored[i]);
    const bool hint = sg_part(d, "L2::cache_hint");
    sg_parts_done(d);
    sg_operands(d, 3, hint ? 5 : 4);
    const sg_address to = sg_address_of(d, sg_operand_at(d, 0)), from = sg_address_of(d, sg_operand_at(d, 1));
    const int64_t bytes = sg_immediate(d, sg_operand_at(d, 2));
    if (bytes != 4 && bytes != 8 && bytes != 16)
        sg_decode_bad(d, "copies have 4, 8 or 16 bytes");
    /* Then the bytes that count, or a predicate to read nothing, and a cache policy. */
    uint32_t valid = sg_constant(d, (uint64_t)bytes, 4), ignore = 1; /* never */
    if (d->in->count > 3 && !(hint && d->in->count == 4)) {
        const sg_operand *operand = sg_operand_at(d, 3);
        if (sg_register_bytes(d, operand) == 1)
            ignore = sg_predicate(d, operand);
        else
            valid = sg_source(d, operand, 4, false);
    }
    plan *p = (plan *)sg_list(d, sizeof *p / sizeof(uint32_t));
    *p = (plan){(uint32_t)bytes, from.wide, (uint32_t)from.offset, (uint32_t)((uint64_t)from.offset >> 32)};
    sg_op *op = sg_emit(d, copy_async, copy_async, SG_PIPE_MEMORY);
    op->a = to.row;
    op->imm = to.offset;
    op->kind = sg_address_kind(&to);
    op->b = from.row;
    op->c = valid;
    op->e = ignore;
    op->slot = sg_slot(d);
    op->list = (uint32_t *)p;
}

static void decode_cp(sg_decoder *d)
{
    if (!sg_part(d, "async"))
        sg_decode_unsupported(d, "form not known");
    if (sg_part(d, "bulk")) {
        sg_decode_bulk(d);
    } else if (sg_part(d, "commit_group")) {
        sg_parts_done(d);
        sg_operands(d, 0, 0);
        sg_emit(d, commit, commit, SG_PIPE_CONTROL);
    } else if (sg_part(d, "wait_all") || sg_part(d, "wait_group")) {
        const bool all = sg_part(d, "wait_all");
        sg_parts_done(d);
        sg_operands(d, all ? 0 : 1, all ? 0 : 1);
        const int64_t groups = all ? -1 : sg_immediate(d, sg_operand_at(d, 0));
        if (groups < -1 || groups > INT32_MAX)
            sg_decode_bad(d, "number of groups");
        sg_emit(d, wait_group, wait_group, SG_PIPE_CONTROL)->imm = groups;
    } else if (sg_part(d, "mbarrier")) {
        const bool increments = !sg_part(d, "noinc");
        sg_part(d, "arrive");
        sg_part(d, "shared");
        sg_part(d, "shared::cta");
        sg_part(d, "b64");
        sg_parts_done(d);
        sg_operands(d, 1, 1);
        const sg_address address = sg_address_of(d, sg_operand_at(d, 0));
        sg_op *op = sg_emit(d, arrive_on_copies, arrive_on_copies, SG_PIPE_CONTROL);
        op->a = address.row;
        op->imm = address.offset;
        op->kind = sg_address_kind(&address);
        op->slot = increments;
    } else {
        decode_copy(d);
    }
}

const sg_entry sg_entries_async[] = {
    SG_DECODE("cp", decode_cp),
    SG_END,
};
