/*
 * Races: two accesses to the same bytes, one of them a write, by warps that nothing put in order, and that are not both
 * strong (relaxed or more, or atomic) in a scope that holds both warps. What puts in order is PTX's memory model:
 * barriers of a block and a cluster, mbarriers, and releases and acquires, alone or made of a fence and a strong
 * access, through one place in memory and each of a scope that holds the other. Lanes of one warp count as ordered,
 * but for what they do in shared memory before they have met (race_lanes.c). All of global memory is watched, and shared
 * memory, whose blocks must also have begun before others of their cluster come.
 *
 * Two rules are milder than the model's. A relaxed arrival at a barrier of the cluster tells of what the warp has read,
 * and of others' writes that it knows of: values that were used have arrived, and shared memory has one place. An
 * mbarrier orders in the whole cluster, whatever scope is named.
 *
 * Bulk and tensor copies and wgmma are the async proxy's. Where it comes to memory behind ordinary accesses,
 * fence.proxy.async must stand on the way from those, in any thread: it has then seen all that its thread knows of. The
 * other way round none is needed, for who waits for a copy or a product sees what it did. A barrier of the block does
 * not stand for the fence even where a copy only overwrites what was read: an H200 then reads the next tile's numbers. An
 * mbarrier that a copy counts down must have been set up before such a fence too, or before fence.mbarrier_init.
 * Here too two rules are milder than the model's. Arriving at an mbarrier stands for the fence as far as reads are
 * concerned, for it comes to shared memory behind them, and pipelines rely on it. And what was read in global memory
 * may be written over by a copy without one, for mostly what is copied was computed from it.
 *
 * As in the model, a fence counts for what its own thread knows when it comes to it: where every thread of a block
 * fences, all meet, and one of them then makes a relaxed write, that one's fence came too early for the others' writes. Not
 * so where the fences on both sides are sequential, as __threadfence() is: of two such one is first, and were it the
 * reader's, which comes behind the look at what was written behind the other, that look could not have seen it. And an
 * atomic comes behind whatever it has changed: the same warp may then write there plainly.
 */
#ifndef SG_RACE_H
#define SG_RACE_H

#include "clock.h"
#include "warp.h"
#include "words.h"

typedef enum sg_touch {
    SG_TOUCH_READ,
    SG_TOUCH_WRITE,
    SG_TOUCH_CHANGE, /* reads and writes at once: an atomic */
} sg_touch;

/* Of a grid, and of a block; NULL if out of memory. */
struct sg_races *sg_races_create(const sg_machine *machine);
void sg_races_destroy(struct sg_races *races);
struct sg_race *sg_race_create(const sg_block *block);
void sg_race_destroy(struct sg_race *race, uint32_t warps);

/* A block begins in the storage of another. */
void sg_race_begin(sg_block *block);

/* An access of one lane, as the instruction says; false with a report if it races. Addresses that are none pass. */
bool sg_race_touch(sg_warp *w, const sg_op *op, int lane, uint64_t address, uint32_t size, sg_touch touch,
                   sg_space space);

/* The same of all lanes of mask, in global or shared memory. */
bool sg_race_touch_global(sg_warp *w, const sg_op *op, uint32_t mask, const uint64_t *at, uint32_t size,
                          sg_touch touch);
bool sg_race_touch_shared(sg_warp *w, const sg_op *op, uint32_t mask, const uint32_t *at, uint32_t size,
                          sg_touch touch);

/* The lanes of a warp have met. */
void sg_race_meet(sg_warp *w);

/* Barriers of a block, by number; the barrier of a cluster; mbarriers, by shared address, which `find` an object that
 * was set up before. False with a report. */
void sg_race_arrive(sg_warp *w, int8_t barrier);
void sg_race_leave(sg_warp *w, int8_t barrier);
void sg_race_forget(sg_block *block, int8_t barrier);
void sg_race_cluster_arrive(sg_warp *w, const sg_op *op);
void sg_race_cluster_over(sg_cluster *cluster);
void sg_race_cluster_leave(sg_warp *w);
bool sg_race_mbarrier_find(sg_warp *w, const sg_op *op, int lane, uint64_t address);
void sg_race_mbarrier_arrive(sg_warp *w, uint32_t lanes, uint64_t address, bool relaxed);
void sg_race_mbarrier_copy(sg_warp *w, uint64_t address); /* an asynchronous copy will count it down */
void sg_race_mbarrier_over(sg_warp *w, uint64_t address);
void sg_race_mbarrier_leave(sg_warp *w, uint64_t address);

/* Whether an instruction says so. */
bool sg_race_relaxed(const sg_warp *w, const sg_op *op);

void sg_race_fence(sg_warp *w, const sg_op *op);

/* It knows from now on that the grids before this one are done, and so does whoever learns of it. */
void sg_race_wait_for_grids(sg_warp *w);

#endif
