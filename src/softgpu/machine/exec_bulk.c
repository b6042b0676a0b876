/*
 * Bulk and tensor copies between global and shared memory. One thread starts a copy; it lands when nothing else can go
 * on (into shared memory) or when its thread waits (out of it).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../ptx/decode.h"
#include "bulk.h"
#include "race.h"

/* op: a destination or, for stores, source in shared memory with imm and kind its offset and width; list as below. */
typedef struct plan {
    uint32_t store;       /* out of shared memory */
    uint32_t from_shared; /* into another block's shared memory from our own */
    uint32_t rank;        /* of a tensor; 0: plain bytes */
    uint32_t reduction;   /* 1 + what is done with the bytes there; 0: they are replaced */
    uint32_t type;        /* of a reduction of plain bytes */
    uint32_t other, other_wide; /* global address, or tensor map; for from_shared the source */
    uint32_t bytes;       /* plain: row */
    uint32_t barrier, barrier_wide; /* row of the mbarrier's address */
    uint32_t mask;        /* multicast: row + 1; 0: none */
    uint32_t coordinates[SG_TENSOR_RANK];
    int32_t other_offset, barrier_offset;
} plan;

static const plan *plan_of(const sg_bulk *bulk)
{
    return (const plan *)bulk->op->list;
}

/* Landing. */

/* Elements of plain bytes, each with what is there. */
static void reduce(const plan *p, uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    const uint32_t width = sg_type_bytes(p->type);
    for (uint32_t i = 0; i < bytes; i += width) {
        uint64_t there = 0, here = 0;
        memcpy(&there, to + i, width);
        memcpy(&here, from + i, width);
        there = sg_atomic_apply(there, here, 0, p->reduction - 1, p->type);
        memcpy(to + i, &there, width);
    }
}

static void land_in(const sg_bulk *bulk, sg_block *block, uint32_t offset, uint64_t barrier)
{
    const plan *p = plan_of(bulk);
    sg_warp *w = bulk->warp;
    if (p->rank) {
        if (!sg_box_move(bulk, block, offset, SG_BOX_LOAD, 0))
            return;
    } else {
        const uint8_t *from = sg_bytes_at(w, bulk->op, bulk->lane, bulk->other, bulk->bytes, false, p->from_shared);
        if (!from || (p->reduction && !sg_bytes_at(w, bulk->op, bulk->lane, bulk->shared, bulk->bytes, false, true)))
            return;
        if (p->reduction)
            reduce(p, block->shared + offset, from, bulk->bytes);
        else
            memcpy(block->shared + offset, from, bulk->bytes);
        memset(block->shadow + offset, SG_SHADOW_WRITTEN, bulk->bytes);
    }
    sg_mbarrier_change(w, bulk->op, bulk->lane, barrier, 0, -(int64_t)bulk->bytes);
}

static void land_out(const sg_bulk *bulk, sg_block *block, uint32_t offset)
{
    const plan *p = plan_of(bulk);
    sg_warp *w = bulk->warp;
    if (p->rank) {
        sg_box_move(bulk, block, offset, p->reduction ? SG_BOX_REDUCE : SG_BOX_STORE, p->reduction - 1);
        return;
    }
    const uint8_t *from = sg_bytes_at(w, bulk->op, bulk->lane, bulk->shared, bulk->bytes, false, true);
    uint8_t *to =
        from ? sg_bytes_at(w, bulk->op, bulk->lane, bulk->other, bulk->bytes, !p->reduction, false) : NULL;
    if (to && w->block->race &&
        !sg_race_touch(w, bulk->op, bulk->lane, bulk->other, bulk->bytes,
                       p->reduction ? SG_TOUCH_CHANGE : SG_TOUCH_WRITE, SG_SPACE_GENERIC))
        return;
    if (to)
        sg_late_touch(&w->block->cluster->late, bulk->other, bulk->bytes);
    if (to && p->reduction)
        reduce(p, to, from, bulk->bytes);
    else if (to)
        memcpy(to, from, bulk->bytes);
}

static void land(const sg_bulk *bulk)
{
    sg_warp *w = bulk->warp;
    uint32_t offset, barrier_offset;
    sg_block *block = sg_shared_block(w->block, bulk->shared, &offset);
    if (plan_of(bulk)->store) {
        land_out(bulk, block, offset);
    } else if (!bulk->blocks) {
        land_in(bulk, block, offset, bulk->barrier);
    } else {
        sg_shared_block(w->block, bulk->barrier, &barrier_offset);
        SG_FOR_MASK(b, bulk->blocks)
        land_in(bulk, &w->block->cluster->blocks[b], offset, (uint64_t)(b + 1) << SG_RANK_SHIFT | barrier_offset);
    }
}

/* Starting a copy. */

/* Bounds and alignment of the shared side in every block it touches; marks what will be written. */
static bool claim_shared(sg_warp *w, const sg_op *op, const sg_bulk *bulk, const plan *p)
{
    const uint64_t align = p->rank ? 128 : 16;
    uint32_t offset;
    sg_block *own = sg_shared_block(w->block, bulk->shared, &offset);
    if (offset & (align - 1)) {
        sg_fault_at(w, op, 1u << bulk->lane, SG_FAULT_MISALIGNED, bulk->shared,
                    "shared address 0x%" PRIx64 " is not aligned to %" PRIu64 " bytes", bulk->shared, align);
        return false;
    }
    for (uint32_t b = 0; b < w->block->cluster->block_count; b++) {
        sg_block *block = bulk->blocks ? &w->block->cluster->blocks[b] : own;
        if (bulk->blocks && !(bulk->blocks >> b & 1))
            continue;
        if (!block || bulk->bytes > block->shared_bytes || offset > block->shared_bytes - bulk->bytes) {
            sg_fault_at(w, op, 1u << bulk->lane, SG_FAULT_ADDRESS, bulk->shared,
                        "%u bytes at shared address 0x%" PRIx64 " of a block that has %u bytes", bulk->bytes,
                        bulk->shared, w->block->shared_bytes);
            return false;
        }
        if (!p->store && !sg_may_write(w, op, bulk->lane, block, offset, bulk->bytes))
            return false;
        if (!p->store && !p->reduction)
            memset(block->shadow + offset, SG_SHADOW_FLYING, bulk->bytes);
        const uint64_t address = (uint64_t)(block->rank + 1) << SG_RANK_SHIFT | offset;
        const sg_touch touch = p->store ? SG_TOUCH_READ : p->reduction ? SG_TOUCH_CHANGE : SG_TOUCH_WRITE;
        if (w->block->race && !sg_race_touch(w, op, bulk->lane, address, bulk->bytes, touch, SG_SPACE_SHARED))
            return false;
        if (!bulk->blocks)
            break;
    }
    return true;
}

/* What a copy of plain bytes, or of a box, is about; false after a fault. */
static bool take_size(sg_bulk *bulk, const plan *p)
{
    const sg_warp *w = bulk->warp;
    if (p->rank) {
        for (uint32_t d = 0; d < p->rank; d++)
            bulk->coordinates[d] = (int32_t)sg_row32(w, p->coordinates[d])[bulk->lane];
        if (!sg_box_read(bulk, p->rank))
            return false;
        /* Not in NVIDIA's documents; what an H200 does. */
        if (bulk->coordinates[0] * (int64_t)bulk->map.element_bytes % 16 != 0) {
            sg_fault_at(bulk->warp, bulk->op, 1u << bulk->lane, SG_FAULT_INSTRUCTION, bulk->other,
                        "a box that begins at element %lld of a row: not a multiple of 16 bytes",
                        (long long)bulk->coordinates[0]);
            return false;
        }
        if (p->reduction && !sg_box_reduces(&bulk->map, p->reduction - 1)) {
            sg_fault_at(bulk->warp, bulk->op, 1u << bulk->lane, SG_FAULT_INSTRUCTION, bulk->other,
                        "the tensor's elements cannot be put together so");
            return false;
        }
        return true;
    }
    bulk->bytes = sg_row32(w, p->bytes)[bulk->lane];
    if (bulk->bytes && bulk->bytes % 16 == 0 && (p->from_shared || bulk->other % 16 == 0))
        return true;
    sg_fault_at(bulk->warp, bulk->op, 1u << bulk->lane, SG_FAULT_MISALIGNED, bulk->other,
                "%u bytes at 0x%" PRIx64 ": not in sixteens", bulk->bytes, bulk->other);
    return false;
}

static bool take_blocks(sg_bulk *bulk, const plan *p)
{
    const uint32_t count = bulk->warp->block->cluster->block_count;
    if (!p->mask)
        return true;
    bulk->blocks = sg_row32(bulk->warp, p->mask - 1)[bulk->lane] & 0xffff;
    if (bulk->blocks && !(bulk->blocks >> count))
        return true;
    sg_fault_at(bulk->warp, bulk->op, 1u << bulk->lane, SG_FAULT_ADDRESS, bulk->shared,
                "multicast to blocks 0x%x of a cluster of %u", bulk->blocks, count);
    return false;
}

/* What it reads besides, and the mbarriers that it counts down: waiting there puts in order what it moved. False with a
 * report. What it writes to global memory is looked at when it lands: only then, or when its thread has waited. */
static bool check_races(const sg_bulk *bulk, const plan *p)
{
    sg_warp *w = bulk->warp;
    uint32_t offset;
    if (p->store)
        return true;
    if (p->rank ? !sg_box_check(bulk)
                : !sg_race_touch(w, bulk->op, bulk->lane, bulk->other, bulk->bytes, SG_TOUCH_READ,
                                 p->from_shared ? SG_SPACE_SHARED : SG_SPACE_GENERIC))
        return false;
    const sg_block *own = sg_shared_block(w->block, bulk->barrier, &offset);
    const uint32_t blocks = bulk->blocks ? bulk->blocks : own ? 1u << own->rank : 0;
    SG_FOR_MASK(b, blocks)
    {
        const uint64_t barrier = (uint64_t)(b + 1) << SG_RANK_SHIFT | offset;
        if (!sg_race_mbarrier_find(w, bulk->op, bulk->lane, barrier))
            return false;
        sg_race_mbarrier_copy(w, barrier);
    }
    return true;
}

/* A multicast is fetched once. */
static void count(const sg_bulk *bulk, const plan *p)
{
    bulk->warp->machine->counts->async_bytes += bulk->bytes;
    if (p->rank)
        sg_box_count(bulk);
    else if (!p->from_shared)
        sg_count_bytes(bulk->warp->machine, bulk->other, bulk->bytes);
}

static void start_lane(sg_warp *w, const sg_op *op, int lane)
{
    const plan *p = (const plan *)op->list;
    sg_bulk *bulk = sg_bulk_create(w, op, lane, land);
    if (!bulk)
        return;
    bulk->grouped = p->store;
    bulk->group = w->bulk_groups[lane];
    bulk->shared = sg_bulk_shared(sg_lane_address(w, op, op->a, lane));
    bulk->other = sg_bulk_address(w, p->other, p->other_wide, p->other_offset, lane);
    if (p->from_shared)
        bulk->other = sg_bulk_shared(bulk->other);
    if (!p->store)
        bulk->barrier = sg_bulk_shared(sg_bulk_address(w, p->barrier, p->barrier_wide, p->barrier_offset, lane));
    if (!take_size(bulk, p) || !take_blocks(bulk, p) || !claim_shared(w, op, bulk, p) ||
        (w->block->race && !check_races(bulk, p))) {
        free(bulk);
        return;
    }
    if (w->machine->counts)
        count(bulk, p);
    sg_bulk_start(bulk);
}

static void start(sg_warp *w, const sg_op *op, uint32_t mask)
{
    SG_FOR_MASK(l, mask) if (!w->machine->fault) start_lane(w, op, (int)l);
}

static void commit(sg_warp *w, const sg_op *op, uint32_t mask)
{
    (void)op;
    SG_FOR_MASK(l, mask) w->bulk_groups[l]++;
}

static void wait_group(sg_warp *w, const sg_op *op, uint32_t mask)
{
    sg_bulk_wait(w, mask, op->imm);
}

static void nothing(sg_warp *w, const sg_op *op, uint32_t mask)
{
    (void)w, (void)op, (void)mask;
}

/* Decoding. */

static void take_other(sg_decoder *d, const sg_operand *operand, plan *p)
{
    const sg_address address = sg_address_of(d, operand);
    p->other = address.row;
    p->other_wide = address.wide;
    p->other_offset = (int32_t)address.offset;
    if (!p->rank)
        return;
    if (operand->count != 2 || operand->items[1].kind != SG_OPERAND_VECTOR || operand->items[1].count != p->rank)
        sg_decode_bad(d, "expected [map, {coordinates}]");
    for (uint32_t i = 0; i < p->rank; i++)
        p->coordinates[i] = sg_source(d, &operand->items[1].items[i], 4, false);
}

static void decode_groups(sg_decoder *d)
{
    const bool wait = sg_part(d, "wait_group");
    sg_part(d, "commit_group");
    sg_part(d, "read");
    sg_parts_done(d);
    sg_operands(d, wait, wait);
    const int64_t groups = wait ? sg_immediate(d, sg_operand_at(d, 0)) : 0;
    if (groups < 0 || groups > INT32_MAX)
        sg_decode_bad(d, "number of groups");
    sg_run *run = wait ? wait_group : commit;
    sg_emit(d, run, run, SG_PIPE_CONTROL)->imm = groups;
}

/* The kind of copy: where from, where to, how it ends. False if there is no such kind. */
static bool take_way(sg_decoder *d, plan *p)
{
    /* Of the spaces the first is the destination. */
    const char *names = d->in->mnemonic, *global = strstr(names, ".global"), *shared = strstr(names, ".shared");
    p->store = global && shared && global < shared;
    p->from_shared = !global;
    sg_part(d, "global");
    sg_part(d, "shared::cluster");
    sg_part(d, "shared::cta");
    const bool by_barrier = sg_part(d, "mbarrier::complete_tx::bytes"), by_group = sg_part(d, "bulk_group");
    return by_barrier != by_group && p->store == by_group && shared && !(p->from_shared && p->rank);
}

/* cp.reduce: into global memory any type that atomics have, into shared memory integers. A tensor's map knows its. */
static bool take_reduction(sg_decoder *d, plan *p)
{
    const int what = sg_part_of(d, sg_atomic_names);
    sg_part(d, "noftz");
    p->type = p->rank ? SG_NONE : sg_part_type(d);
    p->reduction = (uint32_t)what + 1;
    if (what < 0 || what == SG_ATOMIC_EXCH || what == SG_ATOMIC_CAS)
        return false;
    return p->rank ? p->store : (p->store || p->from_shared) && sg_atomic_known((sg_atomic)what, p->type);
}

static void decode_copy(sg_decoder *d, bool reduces)
{
    static const char *const ranks[] = {"1d", "2d", "3d", "4d", "5d", NULL};
    plan *p = (plan *)sg_list(d, sizeof *p / sizeof(uint32_t));
    const bool tensor = sg_part(d, "tensor");
    p->rank = tensor ? (uint32_t)sg_part_of(d, ranks) + 1 : 0;
    sg_part(d, "tile");
    bool known = take_way(d, p) && !(tensor && !p->rank);
    known = (!reduces || take_reduction(d, p)) && known;
    const bool multicast = sg_part(d, "multicast::cluster"), hint = sg_part(d, "L2::cache_hint");
    sg_parts_done(d);
    if (!known || (reduces && multicast))
        sg_decode_unsupported(d, "form not known");
    const uint32_t plain = tensor ? 0 : 1, barrier = p->store ? 0 : 1;
    const uint32_t count = 2 + plain + barrier + (multicast ? 1 : 0) + (hint ? 1 : 0);
    sg_operands(d, count, count);
    const sg_address shared_side = sg_address_of(d, sg_operand_at(d, p->store ? 1 : 0));
    take_other(d, sg_operand_at(d, p->store ? 0 : 1), p);
    if (plain)
        p->bytes = sg_source(d, sg_operand_at(d, 2), 4, false);
    if (barrier) {
        const sg_address address = sg_address_of(d, sg_operand_at(d, 2 + plain));
        p->barrier = address.row;
        p->barrier_wide = address.wide;
        p->barrier_offset = (int32_t)address.offset;
    }
    if (multicast)
        p->mask = 1 + sg_source(d, sg_operand_at(d, 2 + plain + barrier), 2, false);
    sg_op *op = sg_emit(d, start, start, SG_PIPE_MEMORY);
    op->a = shared_side.row;
    op->imm = shared_side.offset;
    op->kind = sg_address_kind(&shared_side);
    op->slot = sg_slot(d);
    op->list = (uint32_t *)p;
}

void sg_decode_bulk(sg_decoder *d)
{
    const bool reduces = sg_part(d, "reduce");
    if (sg_part(d, "commit_group") || sg_part(d, "wait_group"))
        decode_groups(d);
    else if (sg_part(d, "prefetch"))
        sg_emit(d, nothing, nothing, SG_PIPE_MEMORY);
    else
        decode_copy(d, reduces);
}
