/*
 * What one thread starts and nobody waits for at once: bulk copies, boxes of tensors, stores into other blocks' shared
 * memory. Each lands as late as the rules allow: when nothing else can go on, or when its thread waits for it.
 */
#ifndef SG_BULK_H
#define SG_BULK_H

#include "atomic.h"
#include "rows.h"
#include "tensor_map.h"

typedef struct sg_bulk sg_bulk;

struct sg_bulk {
    sg_bulk *next; /* of the block's, oldest first */
    void (*land)(const sg_bulk *bulk);
    sg_warp *warp;
    const sg_op *op;
    int lane;
    bool grouped; /* its thread waits for it by groups */
    uint32_t group;
    uint32_t bytes;
    uint64_t shared, other, barrier; /* addresses */
    uint32_t blocks; /* of the cluster: where it lands; 0: the block that the address means */
    uint64_t values[2]; /* of a store */
    int32_t coordinates[SG_TENSOR_RANK];
    sg_tensor_map map; /* of a tensor copy */
};

/* cp.async.bulk, when cp.async has been seen. */
void sg_decode_bulk(sg_decoder *d);

/* A new one, not yet under way; NULL after a fault. sg_bulk_start takes it over. */
sg_bulk *sg_bulk_create(sg_warp *w, const sg_op *op, int lane, void (*land)(const sg_bulk *bulk));
void sg_bulk_start(sg_bulk *bulk);

/* Lands what lanes of mask have committed, but for their newest groups, so many. */
void sg_bulk_wait(sg_warp *w, uint32_t mask, int64_t groups);

/* A shared address of either kind as 32 bits with the block in it. */
static inline uint64_t sg_bulk_shared(uint64_t address)
{
    return SG_WINDOW(address) == SG_WINDOW_SHARED ? address & UINT32_MAX : address;
}

/* An address operand beside op->a. */
static inline uint64_t sg_bulk_address(const sg_warp *w, uint32_t row, uint32_t wide, int32_t offset, int lane)
{
    return wide ? sg_row64(w, row)[lane] + (uint64_t)(int64_t)offset
                : (uint32_t)(sg_row32(w, row)[lane] + (uint32_t)offset);
}

/* Which way a box goes; SG_BOX_REDUCE puts its elements together with those in global memory. */
typedef enum sg_box_way { SG_BOX_LOAD, SG_BOX_STORE, SG_BOX_REDUCE } sg_box_way;

/* Reads the map at bulk->other, and the bytes of its box; false after a fault. */
bool sg_box_read(sg_bulk *bulk, uint32_t rank);

/* Between global memory and the shared memory of one block; false after a fault. */
bool sg_box_move(const sg_bulk *bulk, sg_block *block, uint32_t offset, sg_box_way way, sg_atomic reduction);

/* Counts what a box moves in global memory: only what lies inside of the tensor. */
void sg_box_count(const sg_bulk *bulk);

/* What a box reads of global memory, for the checker of races; false with a report. */
bool sg_box_check(const sg_bulk *bulk);

/* Whether elements of the map's kind can be put together so. */
bool sg_box_reduces(const sg_tensor_map *map, sg_atomic reduction);

#endif
