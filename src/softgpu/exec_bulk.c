/*
 * Bulk and tensor copies between global and shared memory, and addresses in other blocks of a cluster. One thread
 * starts a copy; it lands when nothing else can go on (into shared memory) or when its thread waits (out of it).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "decode.h"
#include "rows.h"
#include "tensor_map.h"

/* op: a destination or, for stores, source in shared memory with imm and kind its offset and width; list as below. */
typedef struct plan {
    uint32_t store;      /* out of shared memory */
    uint32_t from_shared; /* into another block's shared memory from our own */
    uint32_t rank;       /* of a tensor; 0: plain bytes */
    uint32_t other, other_wide; /* global address, or tensor map; for from_shared the source */
    uint32_t bytes;      /* plain: row */
    uint32_t barrier, barrier_wide; /* row of the mbarrier's address */
    uint32_t mask;       /* multicast: row + 1; 0: none */
    uint32_t coordinates[SG_TENSOR_RANK];
    int32_t other_offset, barrier_offset;
} plan;

/* One copy under way. */
typedef struct sg_bulk {
    struct sg_bulk *next;
    sg_warp *warp;
    const sg_op *op;
    int lane;
    uint32_t group;
    uint32_t bytes;
    uint64_t shared, other, barrier;
    uint32_t blocks; /* of the cluster: where it lands; 0: the block that the address means */
    int32_t coordinates[SG_TENSOR_RANK];
    sg_tensor_map map; /* of a tensor copy */
} sg_bulk;

static const plan *plan_of(const sg_bulk *bulk)
{
    return (const plan *)bulk->op->list;
}

static uint64_t row_address(const sg_warp *w, uint32_t row, uint32_t wide, int32_t offset, int lane)
{
    return wide ? sg_row64(w, row)[lane] + (uint64_t)(int64_t)offset
                : (uint32_t)(sg_row32(w, row)[lane] + (uint32_t)offset);
}

/* A shared address of either kind as 32 bits with the block in it. */
static uint64_t plain_shared(uint64_t address)
{
    return SG_WINDOW(address) == SG_WINDOW_SHARED ? address & UINT32_MAX : address;
}

static uint32_t box_extent(const sg_tensor_map *map, int d)
{
    return ((uint32_t)map->box[d] + map->steps[d] - 1) / map->steps[d];
}

static uint32_t swizzled(uint32_t at, uint32_t mode)
{
    static const uint32_t bits[] = {0, 1, 3, 7};
    return at ^ (at >> 7 & bits[mode & 3]) << 4;
}

/* One line of a box between global memory and a buffer: what lies outside of the tensor is filled, or left alone. */
static bool move_line(const sg_bulk *bulk, const int64_t *first, uint8_t *line, bool store)
{
    const sg_tensor_map *map = &bulk->map;
    const uint32_t extent = box_extent(map, 0), width = map->element_bytes;
    uint64_t address = map->address;
    bool inside = true;
    for (int d = 1; d < SG_TENSOR_RANK; d++) {
        inside &= first[d] >= 0 && first[d] < (int64_t)map->sizes[d];
        address += (uint64_t)first[d] * map->strides[d - 1];
    }
    for (uint32_t i = 0; i < extent; i++) {
        const int64_t x = first[0] + (int64_t)i * map->steps[0];
        if (inside && x >= 0 && x < (int64_t)map->sizes[0]) {
            uint8_t *at =
                sg_bytes_at(bulk->warp, bulk->op, bulk->lane, address + (uint64_t)x * width, width, store, false);
            if (!at)
                return false;
            memcpy(store ? at : line + i * width, store ? line + i * width : at, width);
        } else if (!store) {
            const uint64_t nan = width == 8     ? 0x7ff8000000000000u
                                 : width == 4   ? 0x7fffffffu
                                 : map->is_bf16 ? 0x7fffu
                                                : 0x7fffu;
            const uint64_t fill = map->fill_nan ? nan : 0;
            memcpy(line + i * width, &fill, width);
        }
    }
    return true;
}

/* A box to or from the shared memory of one block. */
static bool move_box(const sg_bulk *bulk, sg_block *block, uint32_t offset, bool store)
{
    const sg_tensor_map *map = &bulk->map;
    const uint32_t bytes = box_extent(map, 0) * map->element_bytes;
    uint32_t extents[SG_TENSOR_RANK], lines = 1;
    uint8_t line[256 * 16];
    for (int d = 0; d < SG_TENSOR_RANK; d++) {
        extents[d] = box_extent(map, d);
        lines *= d ? extents[d] : 1;
    }
    for (uint32_t n = 0; n < lines; n++) {
        int64_t first[SG_TENSOR_RANK] = {bulk->coordinates[0]};
        uint32_t rest = n;
        for (int d = 1; d < SG_TENSOR_RANK; d++) {
            first[d] = bulk->coordinates[d] + (int64_t)(rest % extents[d]) * map->steps[d];
            rest /= extents[d];
        }
        if (!store && !move_line(bulk, first, line, false))
            return false;
        for (uint32_t i = 0; i < bytes; i += 16) {
            const uint32_t at = swizzled(offset + n * bytes + i, map->swizzle), count = bytes - i < 16 ? bytes - i : 16;
            if (store) {
                memcpy(line + i, block->shared + at, count);
            } else {
                memcpy(block->shared + at, line + i, count);
                memset(block->shadow + at, SG_SHADOW_WRITTEN, count);
            }
        }
        if (store && !move_line(bulk, first, line, true))
            return false;
    }
    return true;
}

static void land_in(const sg_bulk *bulk, sg_block *block, uint32_t offset, uint64_t barrier)
{
    const plan *p = plan_of(bulk);
    sg_warp *w = bulk->warp;
    if (p->rank) {
        if (!move_box(bulk, block, offset, false))
            return;
    } else {
        const uint8_t *from = p->from_shared
                                  ? sg_bytes_at(w, bulk->op, bulk->lane, bulk->other, bulk->bytes, false, true)
                                  : sg_bytes_at(w, bulk->op, bulk->lane, bulk->other, bulk->bytes, false, false);
        if (!from)
            return;
        memcpy(block->shared + offset, from, bulk->bytes);
        memset(block->shadow + offset, SG_SHADOW_WRITTEN, bulk->bytes);
    }
    sg_mbarrier_change(w, bulk->op, bulk->lane, barrier, 0, -(int64_t)bulk->bytes);
}

static void land(const sg_bulk *bulk)
{
    const plan *p = plan_of(bulk);
    sg_warp *w = bulk->warp;
    uint32_t offset, barrier_offset;
    sg_block *block = sg_shared_block(w->block, bulk->shared, &offset);
    if (p->store && p->rank) {
        move_box(bulk, block, offset, true);
    } else if (p->store) {
        const uint8_t *from = sg_bytes_at(w, bulk->op, bulk->lane, bulk->shared, bulk->bytes, false, true);
        uint8_t *to = from ? sg_bytes_at(w, bulk->op, bulk->lane, bulk->other, bulk->bytes, true, false) : NULL;
        if (to)
            memcpy(to, from, bulk->bytes);
    } else if (!bulk->blocks) {
        land_in(bulk, block, offset, bulk->barrier);
    } else {
        sg_shared_block(w->block, bulk->barrier, &barrier_offset);
        SG_FOR_MASK(b, bulk->blocks)
        land_in(bulk, &w->block->cluster->blocks[b], offset, (uint64_t)(b + 1) << SG_RANK_SHIFT | barrier_offset);
    }
    w->machine->progress++;
}

/* The block's copies form a queue. */
static void unlink_and_land(sg_bulk **link)
{
    sg_bulk *bulk = *link;
    *link = bulk->next;
    land(bulk);
    free(bulk);
}

bool sg_bulk_release(sg_cluster *cluster)
{
    for (uint32_t b = 0; b < cluster->block_count; b++)
        if (cluster->blocks[b].bulks) {
            unlink_and_land(&cluster->blocks[b].bulks);
            return true;
        }
    return false;
}

void sg_bulk_finish(sg_block *block)
{
    for (sg_bulk *bulk = block->bulks, *next; bulk; bulk = next) {
        next = bulk->next;
        free(bulk);
    }
    block->bulks = NULL;
}

/* Starting a copy. */

static bool read_map(sg_warp *w, const sg_op *op, int lane, uint64_t address, const plan *p, sg_tensor_map *map)
{
    const uint8_t *at = sg_bytes_at(w, op, lane, address, sizeof *map, false, false);
    if (!at)
        return false;
    memcpy(map, at, sizeof *map);
    bool sane = map->magic == SG_TENSOR_MAP_MAGIC && map->rank == p->rank && map->element_bytes &&
                map->element_bytes <= 8 && (map->element_bytes & (map->element_bytes - 1)) == 0 && !(address & 63);
    uint64_t bytes = map->element_bytes;
    for (int d = 0; d < SG_TENSOR_RANK && sane; d++) {
        sane = map->box[d] >= 1 && map->box[d] <= 256 && map->steps[d] >= 1 && map->steps[d] <= 8;
        bytes *= sane ? box_extent(map, d) : 1;
    }
    if (!sane || bytes >= 1 << 20)
        sg_fault_at(w, op, 1u << lane, SG_FAULT_INSTRUCTION, address,
                    "no tensor map of %u dimensions, aligned to 64 bytes, at 0x%" PRIx64, p->rank, address);
    return sane && bytes < 1 << 20;
}

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
        if (!p->store)
            memset(block->shadow + offset, SG_SHADOW_FLYING, bulk->bytes);
        if (w->block->race && block == w->block &&
            !sg_race_access(w, op, bulk->lane, offset, bulk->bytes, !p->store))
            return false;
        if (!bulk->blocks)
            break;
    }
    return true;
}

static void start_lane(sg_warp *w, const sg_op *op, int lane)
{
    const plan *p = (const plan *)op->list;
    sg_bulk *bulk = calloc(1, sizeof *bulk);
    if (!bulk) {
        sg_fault_at(w, op, 1u << lane, SG_FAULT_MEMORY, 0, "no memory for a copy in flight");
        return;
    }
    *bulk = (sg_bulk){.warp = w, .op = op, .lane = lane, .group = w->bulk_groups[lane]};
    bulk->shared = plain_shared(sg_lane_address(w, op, op->a, lane));
    bulk->other = row_address(w, p->other, p->other_wide, p->other_offset, lane);
    if (p->from_shared)
        bulk->other = plain_shared(bulk->other);
    if (!p->store)
        bulk->barrier = plain_shared(row_address(w, p->barrier, p->barrier_wide, p->barrier_offset, lane));
    if (p->rank) {
        if (!read_map(w, op, lane, bulk->other, p, &bulk->map))
            goto fail;
        bulk->bytes = bulk->map.element_bytes;
        for (int d = 0; d < SG_TENSOR_RANK; d++) {
            bulk->bytes *= box_extent(&bulk->map, d);
            bulk->coordinates[d] = d < (int)p->rank ? (int32_t)sg_row32(w, p->coordinates[d])[lane] : 0;
        }
    } else {
        bulk->bytes = sg_row32(w, p->bytes)[lane];
        if (!bulk->bytes || bulk->bytes % 16 || (!p->from_shared && bulk->other % 16)) {
            sg_fault_at(w, op, 1u << lane, SG_FAULT_MISALIGNED, bulk->other,
                        "%u bytes at 0x%" PRIx64 ": not in sixteens", bulk->bytes, bulk->other);
            goto fail;
        }
    }
    if (p->mask) {
        bulk->blocks = sg_row32(w, p->mask - 1)[lane] & 0xffff;
        if (!bulk->blocks || bulk->blocks >> w->block->cluster->block_count) {
            sg_fault_at(w, op, 1u << lane, SG_FAULT_ADDRESS, bulk->shared,
                        "multicast to blocks 0x%x of a cluster of %u", bulk->blocks, w->block->cluster->block_count);
            goto fail;
        }
    }
    if (!claim_shared(w, op, bulk, p))
        goto fail;
    if (w->block->race && !p->store)
        sg_race_release(w, bulk->barrier);
    if (w->machine->counts)
        w->machine->counts->async_bytes += bulk->bytes;
    sg_bulk **end = &w->block->bulks;
    while (*end)
        end = &(*end)->next;
    *end = bulk;
    return;
fail:
    free(bulk);
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
    for (sg_bulk **link = &w->block->bulks; *link;) {
        const sg_bulk *bulk = *link;
        const bool mine = bulk->warp == w && mask >> bulk->lane & 1 && plan_of(bulk)->store;
        if (mine && (int64_t)bulk->group + op->imm < (int64_t)w->bulk_groups[bulk->lane])
            unlink_and_land(link);
        else
            link = &(*link)->next;
    }
}

static void nothing(sg_warp *w, const sg_op *op, uint32_t mask)
{
    (void)w, (void)op, (void)mask;
}

/* Decoding. */

static void take_shared(sg_decoder *d, const sg_address *address, sg_op *op)
{
    (void)d;
    op->a = address->row;
    op->imm = address->offset;
    op->kind = sg_address_kind(address);
}

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

void sg_decode_bulk(sg_decoder *d)
{
    static const char *const ranks[] = {"1d", "2d", "3d", "4d", "5d", NULL};
    if (sg_part(d, "commit_group") || sg_part(d, "wait_group")) {
        decode_groups(d);
        return;
    }
    if (sg_part(d, "prefetch")) {
        sg_emit(d, nothing, nothing, SG_PIPE_MEMORY);
        return;
    }
    plan plan_, *p = &plan_;
    *p = (plan){0};
    const bool tensor = sg_part(d, "tensor");
    p->rank = tensor ? (uint32_t)sg_part_of(d, ranks) + 1 : 0;
    /* Of the spaces the first is the destination. */
    const char *names = d->in->mnemonic, *global = strstr(names, ".global"), *shared = strstr(names, ".shared");
    p->store = global && shared && global < shared;
    p->from_shared = !global;
    sg_part(d, "global");
    sg_part(d, "shared::cluster");
    sg_part(d, "shared::cta");
    sg_part(d, "tile");
    const bool by_barrier = sg_part(d, "mbarrier::complete_tx::bytes"), by_group = sg_part(d, "bulk_group");
    const bool multicast = sg_part(d, "multicast::cluster"), hint = sg_part(d, "L2::cache_hint");
    sg_parts_done(d);
    if ((tensor && !p->rank) || by_barrier == by_group || p->store != by_group || !shared || (p->from_shared && tensor))
        sg_decode_unsupported(d, "form not known");
    const uint32_t plain = tensor ? 0 : 1, barrier = by_barrier ? 1 : 0;
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
    plan *copy = (plan *)sg_list(d, sizeof *p / sizeof(uint32_t));
    *copy = *p;
    sg_op *op = sg_emit(d, start, start, SG_PIPE_MEMORY);
    take_shared(d, &shared_side, op);
    op->slot = sg_slot(d);
    op->list = (uint32_t *)copy;
}

/* Addresses in other blocks of the cluster. */
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

const sg_entry sg_entries_bulk[] = {
    SG_DECODE("mapa", decode_mapa),
    SG_DECODE("getctarank", decode_getctarank),
    SG_END,
};
