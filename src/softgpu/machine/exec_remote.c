/*
 * Other blocks of the cluster: addresses in their shared memory, and stores and reductions there that a thread does
 * not wait for; they end by counting bytes down at an mbarrier of that block.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../ptx/decode.h"
#include "bulk.h"
#include "race.h"

SG_ROW_2(mapa_u32, u32, u32, u32, (a & ((1u << SG_RANK_SHIFT) - 1)) | (b + 1) << SG_RANK_SHIFT)
SG_ROW_2(mapa_u64, u64, u64, u32,
         (a & ~(uint64_t)0xff000000u) | ((uint64_t)(b + 1) << SG_RANK_SHIFT & 0xff000000u))

static void rank_of(sg_warp *w, const sg_op *op, uint32_t mask)
{
    uint32_t *d = sg_row32(w, op->d);
    SG_FOR_MASK(l, mask)
    {
        const uint64_t address = op->imm ? sg_row64(w, op->a)[l] : sg_row32(w, op->a)[l];
        const uint32_t rank = (uint32_t)(address >> SG_RANK_SHIFT & 255);
        d[l] = rank ? rank - 1 : w->block->rank;
    }
}

static void decode_mapa(sg_decoder *d)
{
    sg_part(d, "shared::cluster");
    const uint32_t bytes = sg_type_bytes(sg_part_type(d));
    sg_parts_done(d);
    sg_operands(d, 3, 3);
    if (bytes != 4 && bytes != 8)
        sg_decode_unsupported(d, "type not known");
    const uint32_t row = sg_destination(d, sg_operand_at(d, 0), bytes),
                   a = sg_source(d, sg_operand_at(d, 1), bytes, false);
    const uint32_t b = sg_source(d, sg_operand_at(d, 2), 4, false);
    sg_op *op = bytes == 8 ? sg_emit(d, mapa_u64_full, mapa_u64_masked, SG_PIPE_ALU)
                           : sg_emit(d, mapa_u32_full, mapa_u32_masked, SG_PIPE_ALU);
    op->d = row;
    op->a = a;
    op->b = b;
}

static void decode_getctarank(sg_decoder *d)
{
    sg_part(d, "shared::cluster");
    const uint32_t bytes = sg_type_bytes(sg_part_type(d));
    sg_parts_done(d);
    sg_operands(d, 2, 2);
    if (bytes != 4 && bytes != 8)
        sg_decode_unsupported(d, "type not known");
    const uint32_t row = sg_destination(d, sg_operand_at(d, 0), 4), a = sg_source(d, sg_operand_at(d, 1), bytes, false);
    sg_op *op = sg_emit(d, rank_of, rank_of, SG_PIPE_ALU);
    op->d = row;
    op->a = a;
    op->imm = bytes == 8;
}

/* st.async and red.async. op: a the address; list: */
typedef struct plan {
    uint32_t type, count; /* elements of a vector */
    uint32_t reduction;   /* 1 + what; 0: a store */
    uint32_t values[4];   /* rows */
    uint32_t barrier, barrier_wide;
    int32_t barrier_offset;
} plan;

static void land(const sg_bulk *bulk)
{
    const plan *p = (const plan *)bulk->op->list;
    sg_warp *w = bulk->warp;
    uint32_t offset;
    if (!p->reduction) /* it is in flight no more */
        memset(sg_shared_block(w->block, bulk->shared, &offset)->shadow + offset, SG_SHADOW_WRITTEN, bulk->bytes);
    uint8_t *at = sg_shared_at(w, bulk->op, bulk->lane, bulk->shared, bulk->bytes, !p->reduction);
    if (!at)
        return;
    if (p->reduction) {
        uint64_t there = 0;
        memcpy(&there, at, bulk->bytes);
        there = sg_atomic_apply(there, bulk->values[0], 0, p->reduction - 1, p->type);
        memcpy(at, &there, bulk->bytes);
    } else {
        memcpy(at, bulk->values, bulk->bytes);
    }
    sg_mbarrier_change(w, bulk->op, bulk->lane, bulk->barrier, 0, -(int64_t)bulk->bytes);
}

/* What it writes; waiting at the mbarrier puts it in order. */
static bool check_races(const sg_bulk *bulk, bool store)
{
    sg_warp *w = bulk->warp;
    if (!sg_race_touch(w, bulk->op, bulk->lane, bulk->shared, bulk->bytes, store ? SG_TOUCH_WRITE : SG_TOUCH_CHANGE,
                       SG_SPACE_SHARED) ||
        !sg_race_mbarrier_find(w, bulk->op, bulk->lane, bulk->barrier))
        return false;
    sg_race_mbarrier_copy(w, bulk->barrier);
    return true;
}

/* Where it goes is there and, for a store, in flight from now on. What it counts down stands beside it. */
static bool claim(const sg_bulk *bulk, bool store)
{
    sg_warp *w = bulk->warp;
    uint32_t offset, barrier_offset;
    sg_block *block = sg_shared_block(w->block, bulk->shared, &offset);
    if (!sg_shared_at(w, bulk->op, bulk->lane, bulk->shared, bulk->bytes, store))
        return false;
    if (store)
        memset(block->shadow + offset, SG_SHADOW_FLYING, bulk->bytes);
    if (sg_shared_block(w->block, bulk->barrier, &barrier_offset) == block)
        return !w->block->race || check_races(bulk, store);
    sg_fault_at(w, bulk->op, 1u << bulk->lane, SG_FAULT_INSTRUCTION, bulk->barrier,
                "the mbarrier at 0x%" PRIx64 " is not in the block of address 0x%" PRIx64, bulk->barrier, bulk->shared);
    return false;
}

static void start(sg_warp *w, const sg_op *op, uint32_t mask)
{
    const plan *p = (const plan *)op->list;
    const uint32_t width = sg_type_bytes(p->type);
    SG_FOR_MASK(l, mask)
    {
        sg_bulk *bulk = sg_bulk_create(w, op, (int)l, land);
        if (!bulk)
            return;
        bulk->shared = sg_bulk_shared(sg_lane_address(w, op, op->a, (int)l));
        bulk->barrier = sg_bulk_shared(sg_bulk_address(w, p->barrier, p->barrier_wide, p->barrier_offset, (int)l));
        bulk->bytes = width * p->count;
        for (uint32_t i = 0; i < p->count; i++)
            memcpy((uint8_t *)bulk->values + i * width, (uint8_t *)sg_row(w, p->values[i]) + l * width, width);
        if (!claim(bulk, !p->reduction)) {
            free(bulk);
            return;
        }
        sg_bulk_start(bulk);
    }
}

static void decode_asynchronous(sg_decoder *d, bool reduces)
{
    static const char *const counts[] = {"v2", "v4", NULL};
    static const char *const ignored[] = {"async", "weak", "relaxed", "cluster", "shared::cluster", NULL};
    plan *p = (plan *)sg_list(d, sizeof *p / sizeof(uint32_t));
    for (int i = 0; ignored[i]; i++)
        sg_part(d, ignored[i]);
    const bool by_barrier = sg_part(d, "mbarrier::complete_tx::bytes");
    const int vector = reduces ? -1 : sg_part_of(d, counts), what = reduces ? sg_part_of(d, sg_atomic_names) : -1;
    p->count = vector < 0 ? 1 : 2u << vector;
    p->reduction = (uint32_t)what + 1;
    p->type = sg_part_type(d);
    sg_parts_done(d);
    const uint32_t bytes = sg_type_bytes(p->type);
    if (!by_barrier || (bytes != 4 && bytes != 8) || bytes * p->count > 16 ||
        (reduces && (what < 0 || what == SG_ATOMIC_EXCH || what == SG_ATOMIC_CAS ||
                     !sg_atomic_known((sg_atomic)what, p->type))))
        sg_decode_unsupported(d, "form not known");
    sg_operands(d, 3, 3);
    const sg_address address = sg_address_of(d, sg_operand_at(d, 0)), barrier = sg_address_of(d, sg_operand_at(d, 2));
    const sg_operand *value = sg_operand_at(d, 1);
    if (vector >= 0 && (value->kind != SG_OPERAND_VECTOR || value->count != p->count))
        sg_decode_bad(d, "vector of another length");
    for (uint32_t i = 0; i < p->count; i++)
        p->values[i] = sg_source(d, vector < 0 ? value : &value->items[i], bytes, false);
    p->barrier = barrier.row;
    p->barrier_wide = barrier.wide;
    p->barrier_offset = (int32_t)barrier.offset;
    sg_op *op = sg_emit(d, start, start, SG_PIPE_MEMORY);
    op->a = address.row;
    op->imm = address.offset;
    op->kind = sg_address_kind(&address);
    op->list = (uint32_t *)p;
}

static void decode_store(sg_decoder *d)
{
    decode_asynchronous(d, false);
}

static void decode_reduction(sg_decoder *d)
{
    decode_asynchronous(d, true);
}

const sg_entry sg_entries_remote[] = {
    SG_DECODE("mapa", decode_mapa),
    SG_DECODE("getctarank", decode_getctarank),
    SG_DECODE("st.async", decode_store),
    SG_DECODE("red.async", decode_reduction),
    SG_END,
};
