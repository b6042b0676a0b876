/* What the files of the race checker share. */
#ifndef SG_RACE_STATE_H
#define SG_RACE_STATE_H

#include "race.h"

/* The last write of a few bytes, and the accesses since that need no order among themselves: reads, atomics. */
typedef struct sg_cell {
    uint32_t writer; /* a warp's number; 0: nobody */
    uint32_t clock, how;
    uint32_t others; /* a set; 0: none */
} sg_cell;

/* An access: the operation's index, and what is said of it. */
#define SG_HOW_OP(how)    ((how)&0xffffff)
#define SG_HOW_STRONG     (1u << 24)
#define SG_HOW_SCOPE(how) ((sg_scope)((how) >> 25 & 3))
#define SG_HOW_WRITES     (1u << 27)
#define SG_HOW_ASYNC      (1u << 28)
#define SG_HOW_CHANGES    (1u << 29) /* an atomic */

/* Which accesses of others happened before: before ordinary accesses, and before those of the async proxy, which are a
 * subset. The vectors of a warp begin with its own block. Kernels without the async proxy have no vectors for it. */
typedef struct sg_known {
    sg_vector all, async[SG_ASYNCS];
    bool waited; /* that the grids before this one are done */
} sg_known;

/* A place in memory through which warps synchronise: what was released there, by the scope of the release. For an
 * mbarrier slots[0] is what arrived in this phase, slots[1] what arrived in all phases before. */
typedef struct sg_slot {
    sg_known known;
    uint32_t base; /* of the block that released last */
} sg_slot;

typedef struct sg_place {
    struct sg_place *next;
    uint32_t at, writer;
    sg_slot slots[SG_SCOPES];
    sg_known sequenced; /* what writers here knew to stand before sequential fences */
} sg_place;

#define SG_PLACES  64        /* lists in a region; a power of two */
#define SG_REGIONS (1 << 14) /* lists of regions of global memory; a power of two */

/* A piece of memory: a block's shared memory, or 4 KiB of global memory. */
typedef struct sg_region {
    struct sg_region *next; /* of the same hash */
    uint64_t base;          /* of global memory */
    uint32_t bytes, shift;  /* a cell has 1 << shift bytes: 4, or 1 where some access is not of whole words */
    sg_cell *cells;
    sg_place **places; /* NULL: never any */
} sg_region;

/* The last write of a word of shared memory by a lane, and the last reads since; race_lanes.c's. */
typedef struct sg_lane_mark {
    uint64_t write, read;
} sg_lane_mark;

/* What stands before a sequential fence of a warp or of one that it has met since, and what such a fence makes known:
 * what stood before those of others whose writes it, or one that it has met since, has seen. */
typedef struct sg_sequence {
    sg_known before, found;
} sg_sequence;

/* A warp. */
typedef struct sg_agent {
    sg_known known;
    sg_known fenced[SG_SCOPES]; /* what it knew at its last fence of a scope: a strong write after it releases that */
    sg_known heard[SG_SCOPES];  /* what strong reads found released: a fence of at least that scope acquires it */
    sg_sequence sequence;
    uint32_t number, clock;
    uint32_t told; /* the clock at its last fence that reached other blocks */
    uint32_t meeting, met; /* how often its lanes have met, and the clock when they did */
    uint32_t lanes, same;  /* those that have accessed memory since, by any instruction and by every one */
    bool touched;  /* it has accessed memory since it last released, or its lanes met */
} sg_agent;

struct sg_race {
    sg_region shared;
    sg_lane_mark *marks; /* of the words of shared memory */
    sg_known barriers[SG_BARRIERS];
    sg_sequence sequences[SG_BARRIERS]; /* of those that arrived there */
    sg_known arrived, passed; /* of the cluster's barrier: in this phase, in those before. The first block's are used */
    uint32_t base; /* number of its first warp; behind the last one's is the number of its beginning */
    sg_agent agents[];
};

struct sg_races {
    const sg_machine *machine;
    uint32_t warps, stride, cluster_blocks;
    uint32_t (*blocks)[3]; /* by the order in which they began: where in the grid they are */
    size_t block_count, block_room;
    struct sg_sets *sets;
    sg_region **regions; /* of global memory, by hash */
    size_t region_count;
    sg_region *last; /* that was found */
    sg_cell seen;    /* the last cell that was checked, for whom, and its new set */
    uint32_t seen_warp, seen_clock, seen_how, answer;
    bool lost; /* out of memory: nothing is checked any more */
};

static inline sg_agent *sg_agent_of(const sg_warp *w)
{
    return &w->block->race->agents[w->index];
}

/* Before an access. The first one since the warp last released begins a new moment, which no other warp knows of. */
static inline void sg_agent_touch(const sg_warp *w)
{
    sg_agent *me = sg_agent_of(w);
    if (me->touched)
        return;
    me->touched = true;
    me->clock++;
    me->known.all.own[w->index] = (sg_moment){me->clock, me->clock};
}

/* The smallest scope that holds two warps, by their numbers. */
sg_scope sg_race_between(const struct sg_races *races, uint32_t a, uint32_t b);

void sg_known_clear(sg_known *known);
void sg_sequence_clear(sg_sequence *sequence);

/* Strong accesses, and weak writes to places: who learns what. */
void sg_race_synchronise(sg_warp *w, sg_region *region, uint32_t at, uint32_t size, sg_touch touch, sg_words words);

void sg_region_forget_places(sg_region *region);

/* Accesses of lanes to their block's shared memory; false with a report if one of them comes to another lane's. */
bool sg_race_touch_lanes(sg_warp *w, const sg_op *op, uint32_t mask, const uint32_t *at, uint32_t size, bool writes,
                         bool strong);

#endif
