/*
 * Stores that others do not see yet. PTX lets a weak store be seen by others as late as a release that reaches them, or
 * the end of the grid; so late is it seen here, where races are not checked. A kernel that tells other blocks of its
 * stores by a relaxed atomic, or by a flag without a fence, then gives wrong numbers on every run.
 *
 * A list of stores holds for each place the bytes that are not in memory: while its writer runs, those before the store;
 * while others run, those that it stored. Before its writer's turn the list is shown, behind it hidden again. Where all
 * may see the stores the list, which is being shown, is emptied.
 *
 * What is stored in global memory is kept by cluster: blocks of one see each other's stores there at once. What a block
 * stores in the shared memory of others of its cluster is kept by block. A release tells of all stores in the list, also
 * of other threads' that no barrier put before it: those are left to the checker of races.
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
    uint64_t places[16]; /* a bit for every few bytes, by which most of those are known that are not in the list */
} sg_late;

/* Before a write that all see at once: so are those before it to the same bytes. */
void sg_late_touch(sg_late *late, uint64_t at, uint64_t size);

void sg_late_show(sg_late *late);
void sg_late_hide(sg_late *late);

/* All see what is in the list, and is being shown. */
void sg_late_tell(sg_late *late);

/* Moves all stores, hidden, behind those of another list. */
void sg_late_move(sg_late *from, sg_late *to);

void sg_late_finish(sg_late *late);

/* What an operation of a warp means for its lists. A lane's address in a space, checked, which it is about to write, and
 * the bytes there. */
void sg_late_write(sg_warp *w, const sg_op *op, uint64_t address, const uint8_t *bytes, uint32_t size, sg_space space);

/* A release, or a fence: stands before a store or an atomic that is one. */
sg_run sg_late_release;

/* An arrival at an mbarrier or at the barrier of the cluster. */
void sg_late_arrive(sg_warp *w, const sg_op *op);

#endif
