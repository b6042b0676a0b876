/*
 * Stores that other blocks do not see yet. PTX guarantees that a weak store is visible to others only after a release
 * that reaches them, or at the end of the grid. Where races are not checked, stores are made visible no earlier than
 * that: a kernel that announces its stores by a relaxed atomic, or by a flag without a fence, then gives wrong numbers
 * on every run.
 *
 * A list of stores has, for each of them, the bytes that are not in memory at the moment: while its writer runs, what was
 * there before the store; while others run, what was stored. sg_late_show exchanges both before the writer's turn,
 * sg_late_hide after it. sg_late_publish forgets the list of the writer whose turn it is: memory stays as it is.
 *
 * Stores to global memory are kept by cluster, whose blocks see each other's at once; stores to the shared memory of
 * another block of the cluster are kept by block. A release publishes all stores of the list, also those of threads that
 * no barrier put before it: finding those is the race checker's task.
 */
#ifndef SG_LATE_H
#define SG_LATE_H

#include "../ptx/program.h"

typedef struct sg_late_store {
    uint64_t at; /* the host's address */
    uint32_t size;
    uint8_t bytes[16];
} sg_late_store;

typedef struct sg_late {
    sg_late_store *list; /* oldest first */
    size_t count, room;
    uint64_t places[16]; /* a small Bloom filter: whether the list may have a store to some bytes */
} sg_late;

/* Before a write that all see at once: publishes the list if it has a store to the same bytes. */
void sg_late_touch(sg_late *late, uint64_t at, uint64_t size);

void sg_late_show(sg_late *late);
void sg_late_hide(sg_late *late);

/* From now on all see the stores of the list, which is being shown. */
void sg_late_publish(sg_late *late);

/* Moves all stores of a hidden list to the end of another hidden one. */
void sg_late_move(sg_late *from, sg_late *to);

void sg_late_finish(sg_late *late);

/* Before a lane writes: bytes is where its checked address lies on the host. Keeps what is there, or publishes. */
void sg_late_write(sg_warp *w, const sg_op *op, uint64_t address, const uint8_t *bytes, uint32_t size, sg_space space);

/* The handler of a release or fence; it runs before a store or atomic that is one. */
sg_run sg_late_release;

/* An arrival at an mbarrier or at the barrier of the cluster. */
void sg_late_arrive(sg_warp *w, const sg_op *op);

#endif
