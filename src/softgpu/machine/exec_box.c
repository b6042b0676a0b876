/* Boxes of tensors: what a tensor map says of them, element by element. */
#include <inttypes.h>

#include "bulk.h"
#include "race.h"

static uint32_t box_extent(const sg_tensor_map *map, int d)
{
    return ((uint32_t)map->box[d] + map->steps[d] - 1) / map->steps[d];
}

/* Swizzle: the index of 16 bytes in their span is XORed with the number of the 128-byte line. */
static uint32_t swizzled(uint32_t at, uint32_t mode)
{
    static const uint32_t bits[] = {0, 1, 3, 7};
    return at ^ (at >> 7 & bits[mode & 3]) << 4;
}

bool sg_box_read(sg_bulk *bulk, uint32_t rank)
{
    sg_tensor_map *map = &bulk->map;
    const uint64_t address = bulk->other;
    const uint8_t *at = sg_bytes_at(bulk->warp, bulk->op, bulk->lane, address, sizeof *map, false, false);
    if (!at)
        return false;
    memcpy(map, at, sizeof *map);
    bool sane = map->magic == SG_TENSOR_MAP_MAGIC && map->rank == rank && map->element_bytes &&
                map->element_bytes <= 8 && (map->element_bytes & (map->element_bytes - 1)) == 0 &&
                map->kind < SG_TENSOR_KINDS && !(address & 63);
    uint64_t bytes = map->element_bytes;
    for (int d = 0; d < SG_TENSOR_RANK && sane; d++) {
        sane = map->box[d] >= 1 && map->box[d] <= 256 && map->steps[d] >= 1 && map->steps[d] <= 8;
        bytes *= sane ? box_extent(map, d) : 1;
    }
    sane = sane && bytes < 1 << 20 && map->steps[0] == 1 && map->box[0] * map->element_bytes % 16 == 0;
    if (!sane)
        sg_fault_at(bulk->warp, bulk->op, 1u << bulk->lane, SG_FAULT_INSTRUCTION, address,
                    "no tensor map of %u dimensions, aligned to 64 bytes, at 0x%" PRIx64, rank, address);
    bulk->bytes = (uint32_t)bytes;
    return sane;
}

/* What an element becomes on its way into shared memory. tf32 is rounded to the nearest, ties to even. */
static uint64_t converted(uint64_t bits, sg_tensor_kind kind)
{
    const bool flushes = kind == SG_TENSOR_F32_FTZ || kind == SG_TENSOR_TF32_FTZ;
    const bool rounds = kind == SG_TENSOR_TF32 || kind == SG_TENSOR_TF32_FTZ;
    const uint32_t body = (uint32_t)bits & 0x7fffffffu;
    if (flushes && body < 0x00800000u)
        bits &= 0x80000000u;
    if (rounds && body < 0x7f800000u)
        bits = ((uint32_t)bits + 0xfffu + (bits >> 13 & 1)) & ~0x1fffu;
    return bits;
}

/* Outside of the tensor. */
static uint64_t filling(const sg_tensor_map *map)
{
    if (!map->fill_nan)
        return 0;
    return map->element_bytes == 8 ? 0x7ff8000000000000u : map->element_bytes == 4 ? 0x7fffffffu : 0x7fffu;
}

static const sg_type types[SG_TENSOR_KINDS] = {
    [SG_TENSOR_U32] = SG_U32, [SG_TENSOR_S32] = SG_S32,   [SG_TENSOR_U64] = SG_U64,     [SG_TENSOR_S64] = SG_S64,
    [SG_TENSOR_F16] = SG_F16, [SG_TENSOR_BF16] = SG_BF16, [SG_TENSOR_F32] = SG_F32,     [SG_TENSOR_F64] = SG_F64,
    [SG_TENSOR_F32_FTZ] = SG_F32,
};

bool sg_box_reduces(const sg_tensor_map *map, sg_atomic reduction)
{
    const sg_type type = types[map->kind];
    return type != SG_NONE && sg_atomic_known(reduction, type);
}

/* One line of a box: where it begins in global memory, and which of its bytes lie inside of the tensor. */
typedef struct run {
    uint64_t address; /* of byte from */
    uint32_t from, to;
} run;

static run find_run(const sg_bulk *bulk, uint32_t line)
{
    const sg_tensor_map *map = &bulk->map;
    const int64_t x = bulk->coordinates[0], size = (int64_t)map->sizes[0];
    int64_t from = x < 0 ? -x : 0, to = map->box[0] < size - x ? map->box[0] : size - x;
    uint64_t address = map->address;
    for (int d = 1; d < SG_TENSOR_RANK; d++) {
        const uint32_t extent = box_extent(map, d);
        const int64_t at = bulk->coordinates[d] + (int64_t)(line % extent) * map->steps[d];
        line /= extent;
        address += (uint64_t)at * map->strides[d - 1];
        if (at < 0 || at >= (int64_t)map->sizes[d])
            to = from;
    }
    to = to < from ? from : to;
    if (from == to)
        from = to = 0;
    return (run){address + (uint64_t)(x + from) * map->element_bytes, (uint32_t)from * map->element_bytes,
                 (uint32_t)to * map->element_bytes};
}

static uint32_t count_lines(const sg_tensor_map *map)
{
    uint32_t lines = 1;
    for (int d = 1; d < SG_TENSOR_RANK; d++)
        lines *= box_extent(map, d);
    return lines;
}

void sg_box_count(const sg_bulk *bulk)
{
    for (uint32_t n = 0, lines = count_lines(&bulk->map); n < lines; n++) {
        const run r = find_run(bulk, n);
        sg_count_bytes(bulk->warp->machine, r.address, r.to - r.from);
    }
}

bool sg_box_check(const sg_bulk *bulk)
{
    for (uint32_t n = 0, lines = count_lines(&bulk->map); n < lines; n++) {
        const run r = find_run(bulk, n);
        if (!sg_race_touch(bulk->warp, bulk->op, bulk->lane, r.address, r.to - r.from, SG_TOUCH_READ, SG_SPACE_GENERIC))
            return false;
    }
    return true;
}

static bool load_line(const sg_bulk *bulk, const run *r, uint8_t *line, uint32_t bytes)
{
    const sg_tensor_map *map = &bulk->map;
    const uint32_t width = map->element_bytes;
    const uint64_t fill = filling(map);
    for (uint32_t i = 0; i < bytes; i += width)
        if (i < r->from || i >= r->to)
            memcpy(line + i, &fill, width);
    if (r->from == r->to)
        return true;
    const uint8_t *at = sg_bytes_at(bulk->warp, bulk->op, bulk->lane, r->address, r->to - r->from, false, false);
    if (!at)
        return false;
    memcpy(line + r->from, at, r->to - r->from);
    for (uint32_t i = r->from; i < r->to && map->kind >= SG_TENSOR_F32_FTZ; i += width) {
        uint64_t bits = 0;
        memcpy(&bits, line + i, width);
        bits = converted(bits, map->kind);
        memcpy(line + i, &bits, width);
    }
    return true;
}

static bool store_line(const sg_bulk *bulk, const run *r, const uint8_t *line, bool reduces, sg_atomic reduction)
{
    const uint32_t width = bulk->map.element_bytes;
    if (r->from == r->to)
        return true;
    uint8_t *at = sg_bytes_at(bulk->warp, bulk->op, bulk->lane, r->address, r->to - r->from, !reduces, false);
    if (!at || (bulk->warp->block->race &&
                !sg_race_touch(bulk->warp, bulk->op, bulk->lane, r->address, r->to - r->from,
                               reduces ? SG_TOUCH_CHANGE : SG_TOUCH_WRITE, SG_SPACE_GENERIC)))
        return false;
    sg_late_touch(&bulk->warp->block->cluster->late, r->address, r->to - r->from);
    if (!reduces)
        memcpy(at, line + r->from, r->to - r->from);
    for (uint32_t i = r->from; i < r->to && reduces; i += width, at += width) {
        uint64_t there = 0, here = 0;
        memcpy(&there, at, width);
        memcpy(&here, line + i, width);
        here = sg_atomic_apply(there, here, 0, reduction, types[bulk->map.kind]);
        memcpy(at, &here, width);
    }
    return true;
}

bool sg_box_move(const sg_bulk *bulk, sg_block *block, uint32_t offset, sg_box_way way, sg_atomic reduction)
{
    const sg_tensor_map *map = &bulk->map;
    const uint32_t bytes = map->box[0] * map->element_bytes, lines = count_lines(map);
    uint8_t line[256 * 8];
    for (uint32_t n = 0; n < lines; n++) {
        run r = find_run(bulk, n);
        if (way == SG_BOX_STORE)
            r.to = (r.to + 15) / 16 * 16; /* it writes sixteen bytes at once, also where the tensor ends among them */
        if (way == SG_BOX_LOAD && !load_line(bulk, &r, line, bytes))
            return false;
        for (uint32_t i = 0; i < bytes; i += 16) {
            const uint32_t at = swizzled(offset + n * bytes + i, map->swizzle);
            if (way == SG_BOX_LOAD) {
                memcpy(block->shared + at, line + i, 16);
                memset(block->shadow + at, SG_SHADOW_WRITTEN, 16);
            } else {
                const bool counts = i + 16 > r.from && i < r.to;
                if (counts && !sg_shared_at(bulk->warp, bulk->op, bulk->lane, at, 16, false))
                    return false;
                memcpy(line + i, block->shared + at, 16);
            }
        }
        if (way != SG_BOX_LOAD && !store_line(bulk, &r, line, way == SG_BOX_REDUCE, reduction))
            return false;
    }
    return true;
}
