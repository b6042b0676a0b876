/* Special registers: what a warp finds in them. */
#include <string.h>
#include <time.h>

#include "warp.h"

#define VALUE(name, EXPRESSION)                                                                              \
    static uint32_t name(const sg_warp *w, int lane)                                                         \
    {                                                                                                        \
        (void)w, (void)lane;                                                                                 \
        return (uint32_t)(EXPRESSION);                                                                       \
    }
#define AXES(name, EXPRESSION)                                                                               \
    VALUE(name##_x, EXPRESSION(0))                                                                           \
    VALUE(name##_y, EXPRESSION(1))                                                                           \
    VALUE(name##_z, EXPRESSION(2))

static uint32_t thread_axis(const sg_warp *w, int lane, int axis)
{
    uint32_t thread[3];
    sg_thread_of(w, lane, thread);
    return thread[axis];
}

#define GRID             (w->machine->grid)
#define TID(axis)        thread_axis(w, lane, axis)
#define NTID(axis)       GRID->block[axis]
#define CTAID(axis)      w->block->id[axis]
#define NCTAID(axis)     GRID->grid[axis]
#define CLUSTER_AT(axis) (w->block->id[axis] % GRID->cluster[axis])
#define CLUSTERID(axis)  (w->block->id[axis] / GRID->cluster[axis])
#define NCLUSTER(axis)   (GRID->grid[axis] / GRID->cluster[axis])
#define CLUSTER(axis)    GRID->cluster[axis]
#define LINEAR                                                                                               \
    (((uint64_t)w->block->id[2] * GRID->grid[1] + w->block->id[1]) * GRID->grid[0] + w->block->id[0])

AXES(tid, TID)
AXES(ntid, NTID)
AXES(ctaid, CTAID)
AXES(nctaid, NCTAID)
AXES(cluster_ctaid, CLUSTER_AT)
AXES(cluster_nctaid, CLUSTER)
AXES(clusterid, CLUSTERID)
AXES(nclusterid, NCLUSTER)
VALUE(laneid, lane)
VALUE(warpid, w->index)
VALUE(nwarpid, w->block->warp_count)
VALUE(lanemask_eq, 1u << lane)
VALUE(lanemask_lt, (1u << lane) - 1)
VALUE(lanemask_le, (2u << lane) - 1)
VALUE(lanemask_gt, ~((2u << lane) - 1))
VALUE(lanemask_ge, ~((1u << lane) - 1))
VALUE(smid, GRID->sm_count > 0 ? LINEAR % (uint64_t)GRID->sm_count : 0)
VALUE(nsmid, GRID->sm_count > 0 ? GRID->sm_count : 1)
VALUE(zero, 0)
VALUE(cluster_ctarank, w->block->rank)
VALUE(cluster_nctarank, w->block->cluster->block_count)
VALUE(dynamic_smem_size, GRID->dynamic_shared)
VALUE(total_smem_size, w->machine->shared_bytes)
VALUE(thirty_two, SG_LANES)

/* A clock that runs with the work done: the same on every run. */
static uint64_t clock64(const sg_warp *w)
{
    return w->machine->operations * 4 + (uint64_t)-w->fuel;
}
static uint64_t clock_hi(const sg_warp *w)
{
    return clock64(w) >> 32;
}
static uint64_t globaltimer(const sg_warp *w)
{
    (void)w;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
static uint64_t globaltimer_hi(const sg_warp *w)
{
    return globaltimer(w) >> 32;
}

#define AXIS(name, axis, of_block) {"%" #name "." #axis, 4, name##_##axis, NULL, of_block}
#define THREE(name, of_block)      AXIS(name, x, of_block), AXIS(name, y, of_block), AXIS(name, z, of_block)
#define ONE(name, of_block)        {"%" #name, 4, name, NULL, of_block}

static const sg_special specials[] = {
    THREE(ctaid, true), THREE(cluster_ctaid, true), THREE(clusterid, true), ONE(smid, true),
    THREE(tid, false), THREE(ntid, false), THREE(nctaid, false), THREE(cluster_nctaid, false),
    THREE(nclusterid, false), ONE(laneid, false), ONE(warpid, false), ONE(nwarpid, false), ONE(lanemask_eq, false),
    ONE(lanemask_lt, false), ONE(lanemask_le, false), ONE(lanemask_gt, false), ONE(lanemask_ge, false),
    ONE(nsmid, false), ONE(cluster_ctarank, false), ONE(cluster_nctarank, false), ONE(dynamic_smem_size, false),
    ONE(total_smem_size, false), {"%aggr_smem_size", 4, total_smem_size, NULL, false},
    {"WARP_SZ", 4, thirty_two, NULL, false}, {"%gridid", 8, zero, NULL, false},
    {"%reserved_smem_offset_begin", 4, zero, NULL, false}, {"%clock", 4, NULL, clock64, false},
    {"%clock_hi", 4, NULL, clock_hi, false}, {"%clock64", 8, NULL, clock64, false},
    {"%globaltimer", 8, NULL, globaltimer, false}, {"%globaltimer_lo", 4, NULL, globaltimer, false},
    {"%globaltimer_hi", 4, NULL, globaltimer_hi, false},
};

const sg_special *sg_special_find(const char *name)
{
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++)
        if (strcmp(specials[i].name, name) == 0)
            return &specials[i];
    return NULL;
}
