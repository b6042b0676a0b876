/* The queue of what one thread started and has not landed yet. Each block has its own. */
#include "bulk.h"

#include <stdlib.h>

sg_bulk *sg_bulk_create(sg_warp *w, const sg_op *op, int lane, void (*land)(const sg_bulk *bulk))
{
    sg_bulk *bulk = calloc(1, sizeof *bulk);
    if (bulk)
        *bulk = (sg_bulk){.land = land, .warp = w, .op = op, .lane = lane};
    else
        sg_fault_at(w, op, 1u << lane, SG_FAULT_MEMORY, 0, "no memory for a copy in flight");
    return bulk;
}

void sg_bulk_start(sg_bulk *bulk)
{
    sg_bulk **end = &bulk->warp->block->bulks;
    while (*end)
        end = &(*end)->next;
    *end = bulk;
}

static void unlink_and_land(sg_bulk **link)
{
    sg_bulk *bulk = *link;
    *link = bulk->next;
    bulk->land(bulk);
    bulk->warp->machine->progress++;
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

void sg_bulk_leave(const sg_cluster *cluster)
{
    for (uint32_t b = 0; b < cluster->block_count; b++) {
        const sg_bulk *bulk = cluster->blocks[b].bulks;
        if (!bulk)
            continue;
        sg_fault_at(bulk->warp, bulk->op, 1u << bulk->lane, SG_FAULT_ADDRESS, bulk->shared,
                    "%s when its block ends: nobody waited for it",
                    bulk->grouped ? "store of shared memory that is still to be read"
                                  : "copy into shared memory that has not come");
        return;
    }
}

void sg_bulk_finish(sg_block *block)
{
    for (sg_bulk *bulk = block->bulks, *next; bulk; bulk = next) {
        next = bulk->next;
        free(bulk);
    }
    block->bulks = NULL;
}

void sg_bulk_wait(sg_warp *w, uint32_t mask, int64_t groups)
{
    for (sg_bulk **link = &w->block->bulks; *link;) {
        const sg_bulk *bulk = *link;
        const bool mine = bulk->warp == w && mask >> bulk->lane & 1 && bulk->grouped;
        if (mine && (int64_t)bulk->group + groups < (int64_t)w->bulk_groups[bulk->lane])
            unlink_and_land(link);
        else
            link = &(*link)->next;
    }
}
