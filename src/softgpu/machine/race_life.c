/* The checker's memory: how it begins and ends, of a grid and of its blocks. */
#include <stdlib.h>
#include <string.h>

#include "race_sets.h"
#include "race_state.h"

struct sg_races *sg_races_create(const sg_machine *machine)
{
    const sg_grid *grid = machine->grid;
    struct sg_races *races = calloc(1, sizeof *races);
    if (!races)
        return NULL;
    races->machine = machine;
    races->warps = (grid->block[0] * grid->block[1] * grid->block[2] + SG_LANES - 1) / SG_LANES;
    races->stride = races->warps + 1;
    races->cluster_blocks = grid->cluster[0] * grid->cluster[1] * grid->cluster[2];
    races->sets = sg_sets_create();
    races->regions = calloc(SG_REGIONS, sizeof races->regions[0]);
    if (races->sets && races->regions)
        return races;
    sg_races_destroy(races);
    return NULL;
}

static void finish_region(sg_region *region)
{
    sg_region_forget_places(region);
    free(region->cells);
}

void sg_races_destroy(struct sg_races *races)
{
    if (!races)
        return;
    for (size_t i = 0; races->regions && i < SG_REGIONS; i++)
        for (sg_region *region = races->regions[i], *next; region; region = next) {
            next = region->next;
            finish_region(region);
            free(region);
        }
    free(races->regions);
    free(races->blocks);
    sg_sets_destroy(races->sets);
    free(races);
}

/* Blocks. */

struct sg_race *sg_race_create(const sg_block *block)
{
    struct sg_race *race = calloc(1, sizeof *race + block->warp_count * sizeof race->agents[0]);
    if (!race)
        return NULL;
    race->shared.bytes = (block->shared_bytes + 3) & ~3u;
    race->shared.shift = 2;
    race->shared.cells = calloc(race->shared.bytes / 4 + 1, sizeof race->shared.cells[0]);
    race->marks = calloc(race->shared.bytes / 4 + 1, sizeof race->marks[0]);
    if (race->shared.cells && race->marks)
        return race;
    free(race->shared.cells);
    free(race->marks);
    free(race);
    return NULL;
}

static void finish_agent(sg_agent *agent)
{
    sg_known_clear(&agent->known);
    sg_sequence_clear(&agent->sequence);
    for (int i = 0; i < SG_SCOPES; i++) {
        sg_known_clear(&agent->fenced[i]);
        sg_known_clear(&agent->heard[i]);
    }
}

static void empty(struct sg_race *race, uint32_t warps)
{
    for (uint32_t i = 0; i < warps; i++)
        finish_agent(&race->agents[i]);
    for (int i = 0; i < SG_BARRIERS; i++) {
        sg_known_clear(&race->barriers[i]);
        sg_sequence_clear(&race->sequences[i]);
    }
    sg_known_clear(&race->arrived);
    sg_known_clear(&race->passed);
    sg_region_forget_places(&race->shared);
}

void sg_race_destroy(struct sg_race *race, uint32_t warps)
{
    if (!race)
        return;
    empty(race, warps);
    finish_region(&race->shared);
    free(race->marks);
    free(race);
}

static bool note_block(struct sg_races *races, const sg_block *block)
{
    if (races->block_count == races->block_room) {
        const size_t room = races->block_room ? 2 * races->block_room : 256;
        void *blocks = realloc(races->blocks, room * sizeof races->blocks[0]);
        if (!blocks)
            return false;
        races->blocks = blocks;
        races->block_room = room;
    }
    memcpy(races->blocks[races->block_count++], block->id, sizeof block->id);
    return true;
}

void sg_race_begin(sg_block *block)
{
    struct sg_race *race = block->race;
    struct sg_races *races = block->machine->races;
    empty(race, block->warp_count);
    memset(race->shared.cells, 0, (race->shared.bytes >> race->shared.shift) * sizeof race->shared.cells[0]);
    memset(race->marks, 0, race->shared.bytes / 4 * sizeof race->marks[0]);
    race->base = 1 + (uint32_t)races->block_count * races->stride;
    if (!note_block(races, block))
        races->lost = true;
    for (uint32_t i = 0; i < block->warp_count; i++) {
        sg_agent *agent = &race->agents[i];
        *agent = (sg_agent){.number = race->base + i, .clock = 1, .meeting = 1, .met = 1, .same = UINT32_MAX, .known.all.base = race->base};
        sg_moment *own = agent->known.all.own;
        own[i] = own[block->warp_count] = (sg_moment){1, 1}; /* that the block has begun */
        for (int a = 0; a < SG_ASYNCS && block->machine->kernel->async; a++)
            agent->known.async[a].base = race->base;
    }
}
