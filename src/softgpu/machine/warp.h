/* The state of a grid while it runs: machine, clusters, blocks, warps. */
#ifndef SG_WARP_H
#define SG_WARP_H

#include "../ptx/program.h"
#include "exec.h"
#include "late.h"

/*
 * Generic addresses: a device address is a host address, whose highest byte is zero; the other spaces lie in windows.
 * Inside the shared window bits 24 to 31 are 0 for the block itself or 1 + the rank of a block of the cluster; an
 * address of the space shared::cluster has the same 32 bits.
 */
#define SG_WINDOW(address) ((address) >> 56)
#define SG_WINDOW_SHARED   ((uint64_t)1)
#define SG_WINDOW_LOCAL    ((uint64_t)2)
#define SG_WINDOW_PARAM    ((uint64_t)3)
#define SG_RANK_SHIFT      24

#define SG_BARRIERS     16
#define SG_CLUSTER_MOST 16

/* What the shadow of a byte of shared memory says. */
#define SG_SHADOW_UNWRITTEN 0x00
#define SG_SHADOW_FLYING    0x0f /* a copy will write it */
#define SG_SHADOW_WRITTEN   0xff

typedef struct sg_machine sg_machine;
typedef struct sg_cluster sg_cluster;
typedef struct sg_block sg_block;

/* Lanes of a warp that do not run now: they went another way, or wait. */
typedef struct sg_split {
    uint32_t pc, mask;
    int8_t barrier; /* that they wait at; -1: none, SG_BARRIER_CLUSTER */
    bool yielded;   /* they spin on something: others first */
} sg_split;

#define SG_BARRIER_CLUSTER SG_BARRIERS

typedef enum sg_warp_state {
    SG_WARP_READY,
    SG_WARP_YIELDED, /* spins: ready, but nothing has changed for it */
    SG_WARP_WAITING, /* at a barrier */
    SG_WARP_DONE,
} sg_warp_state;

/* Asynchronous copies of one warp instruction, until they land. */
typedef struct sg_flight {
    const sg_op *op;
    uint32_t mask;     /* lanes whose copy has not landed */
    uint32_t bytes;    /* written at the destination; 0: an arrival at the mbarrier there, when all before has landed */
    uint32_t to[SG_LANES], valid[SG_LANES], group[SG_LANES];
    uint64_t from[SG_LANES];
} sg_flight;

struct sg_warp {
    uint8_t *base[2]; /* registers, constants */
    uint32_t *predicates;
    uint32_t active;
    uint32_t carry; /* of add.cc and its kin: one bit a lane */
    uint32_t pc;    /* not next to active: one load of both would wait for the store of one */
    int64_t fuel; /* operations until it must stop; handlers stop the warp by setting it to 0 */
    const sg_op *ops;
    bool watched; /* somebody counts, or checks races */
    bool spins;   /* used up its last slice */
    uint64_t polled; /* stands for what its last sg_run_poll found, and where */
    uint8_t brings;   /* what it did since it read global memory last: count.c's, while counting */
    uint32_t brought; /* sectors of that */
    bool copying;     /* asynchronously: what it reads and writes now does not keep it waiting */
    sg_warp_state state;
    sg_block *block;
    sg_machine *machine;
    uint32_t index;     /* in the block */
    uint32_t registers; /* of each of its threads, by setmaxnreg; 0: nobody counts */
    uint32_t alive;     /* lanes that exist and have not left */
    uint32_t cluster_phase; /* of the cluster's barrier, in which it arrived last */
    uint32_t cluster_arrived; /* lanes that have, and have not waited since */
    uint64_t ended; /* the mbarrier whose phase ended with the last arrival of a lane, or SG_NO_MBARRIER */
    uint32_t arriving; /* lanes that arrive with that one */
    uint32_t lanes_of;  /* the mask that lanes spells out */
    _Alignas(SG_ROW_BYTES) uint32_t lanes[SG_LANES];
    sg_split splits[SG_LANES];
    int split_count;
    int64_t unspent;
    uint8_t *local;
    sg_flight *flights;
    size_t flight_count, flight_room;
    bool wgmma_fenced; /* at least once */
    struct sg_wgmma *products; /* of its warpgroup, under way; NULL: never any */
    uint32_t groups[SG_LANES], bulk_groups[SG_LANES]; /* of cp.async and cp.async.bulk, that a lane has committed */
};

typedef struct sg_barrier {
    uint32_t arrived; /* threads */
    uint32_t needed;  /* of a barrier with a count; 0: all that live */
    uint32_t votes, voters; /* bar.red: lanes with a true predicate, and all */
} sg_barrier;

struct sg_block {
    sg_machine *machine;
    sg_cluster *cluster;
    uint32_t id[3], rank; /* rank in the cluster */
    uint8_t *shared, *shadow;
    uint32_t shared_bytes;
    sg_warp *warps;
    uint32_t warp_count, threads, alive; /* alive: threads that have not left */
    uint64_t direct; /* sectors, while counting: see sg_counts */
    int64_t registers_left; /* that warps have given back and others not taken */
    sg_barrier barriers[SG_BARRIERS];
    struct sg_race *race; /* NULL: races are not checked */
    struct sg_bulk *bulks; /* bulk copies that have not landed, oldest first */
    sg_late remote;        /* what it stored in other blocks' shared memory and they do not see yet */
    uint16_t *reading;     /* by sixteen bytes of shared memory: products under way that read them; NULL: never any */
};

struct sg_cluster {
    sg_cluster *next;
    sg_machine *machine;
    sg_block *blocks;
    uint32_t block_count;
    bool had_turn;
    int quiet_passes; /* in which all of its warps waited, one after the other */
    sg_barrier barrier; /* of the whole cluster */
    uint32_t barrier_phase;
    sg_late late; /* what it stored in global memory and other clusters do not see yet */
    uint8_t *storage;
};

struct sg_machine {
    const sg_grid *grid;
    const sg_kernel *kernel;
    const sg_span **spans; /* by slot: the allocation last seen there */
    sg_fault fault;
    sg_report *report;
    sg_counts *counts;     /* NULL: nobody asks */
    uint64_t operations;   /* warp operations that ran */
    uint64_t progress;     /* grows when something happens that others may wait for */
    uint32_t shared_bytes; /* of one block */
    struct sg_races *races;     /* NULL: races are not checked */
    bool late_global, late_remote; /* stores are seen as late as can be */
    sg_late ended;                 /* those of clusters that have ended */
    sg_cluster *const *running; /* the first of those that have begun and not ended */
};

/* Records a fault at an operation for the lowest lane of mask, and stops the warp. */
void sg_fault_at(sg_warp *w, const sg_op *op, uint32_t mask, sg_fault fault, uint64_t address, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* Ends the warp's turn: it goes on when it is scheduled again. */
void sg_stop(sg_warp *w, sg_warp_state state);

/* Lanes of the running split wait; they will go on at w->pc. If none is left, another split goes on, or the warp stops.
 */
void sg_split_wait(sg_warp *w, uint32_t mask, int8_t barrier);

/* The running split spins: others of the warp first, then other warps. */
void sg_split_yield(sg_warp *w);

/* The running split goes on at pc; lanes of mask only, the others where they are. */
void sg_split_branch(sg_warp *w, uint32_t mask, uint32_t target);

/* Lanes leave. */
void sg_split_exit(sg_warp *w, uint32_t mask);

/* Takes up the splits that wait at a barrier. */
void sg_split_release(sg_warp *w, int8_t barrier);

/* After threads of a block left or arrived: completes barriers that have all they need. */
void sg_barriers_settle(sg_block *block);

/* The thread's coordinates. */
void sg_thread_of(const sg_warp *w, int lane, uint32_t thread[3]);

/* Access to memory from outside of ld and st; size is all bytes of one lane. They find the bytes of one lane, check
 * bounds, alignment and for reads that they were written, and return where they are; NULL after a fault. */
uint8_t *sg_global_at(sg_warp *w, const sg_op *op, int lane, uint64_t address, uint32_t size, bool write);
uint8_t *sg_shared_at(sg_warp *w, const sg_op *op, int lane, uint64_t address, uint32_t size, bool write);
uint8_t *sg_generic_at(sg_warp *w, const sg_op *op, int lane, uint64_t address, uint32_t size, bool write);

/* The same for the space that an instruction names. */
uint8_t *sg_space_at(sg_warp *w, const sg_op *op, int lane, uint64_t address, uint32_t size, bool write,
                     sg_space space);

/* The same for any number of bytes at any place, in shared or (generic) other memory. */
uint8_t *sg_bytes_at(sg_warp *w, const sg_op *op, int lane, uint64_t address, uint32_t size, bool write, bool shared);

/* Changes an mbarrier in shared memory: so many arrivals, so many expected (or, negative, completed) bytes. Ends the
 * phase if that was the last, and notes that in w->ended: lanes that arrive together arrive in one phase. False after a
 * fault. */
#define SG_NO_MBARRIER UINT64_MAX
bool sg_mbarrier_change(sg_warp *w, const sg_op *op, int lane, uint64_t address, uint32_t arrivals, int64_t bytes);

/* Whether bytes of a block's shared memory may be written: not what a copy in flight writes, nor what a wgmma reads that
 * nobody has waited for. False after a fault. */
bool sg_may_write(sg_warp *w, const sg_op *op, int lane, const sg_block *block, uint32_t at, uint32_t size);

/* The block of the cluster that a shared address means, and the offset in it; NULL if there is none. */
sg_block *sg_shared_block(sg_block *block, uint64_t address, uint32_t *offset);

/* What loads or stores a vector of elements of 1, 2, 4 or 8 bytes: op->a and op->imm the address, op->d the row, or
 * op->list the rows. NULL if there is none: vectors have at most 16 bytes, and not every space is written. */
sg_run *sg_memory_run(sg_space space, uint32_t bytes, uint32_t count, bool write);

/* Loads 32 bits of global memory by which threads may be waiting for each other. */
sg_run sg_run_poll;

/* A lane's address operand. */
uint64_t sg_lane_address(const sg_warp *w, const sg_op *op, uint32_t row, int lane);

/* Asynchronous copies: lands one that is pending anywhere in the cluster. False if there is none. */
bool sg_async_release(sg_cluster *cluster);
bool sg_bulk_release(sg_cluster *cluster);
void sg_bulk_finish(sg_block *block);

/* All threads of a cluster have left: a fault where a store still reads shared memory, which is others' by then. */
void sg_bulk_leave(const sg_cluster *cluster);

/* Called with counts or race checks: all addresses of one warp instruction in shared or global memory. */
void sg_watch_shared(sg_warp *w, const sg_op *op, uint32_t mask, const uint32_t *at, uint32_t size, bool write);
void sg_watch_global(sg_warp *w, const sg_op *op, uint32_t mask, const uint64_t *at, uint32_t size, bool write);
void sg_count_bytes(sg_machine *machine, uint64_t address, uint64_t bytes); /* of global memory, in one piece */
void sg_count_operation(sg_warp *w, const sg_op *op, uint32_t mask);

#endif
