#include "cluster.h"

#include <stdlib.h>
#include <string.h>

#include "race.h"
#include "wgmma.h"

static size_t rounded(size_t bytes)
{
    return (bytes + SG_ROW_BYTES - 1) & ~(size_t)(SG_ROW_BYTES - 1);
}

/* Bytes of what a block has, each rounded up to whole rows. */
typedef struct sizes {
    uint32_t blocks, threads, warps;
    size_t shared, registers, predicates, local, warp_array, block;
} sizes;

static sizes measure(const sg_machine *machine)
{
    const sg_grid *grid = machine->grid;
    sizes s = {.blocks = grid->cluster[0] * grid->cluster[1] * grid->cluster[2],
               .threads = grid->block[0] * grid->block[1] * grid->block[2]};
    s.warps = (s.threads + SG_LANES - 1) / SG_LANES;
    s.shared = rounded(machine->shared_bytes + SG_ROW_BYTES);
    s.registers = rounded(machine->kernel->register_bytes + 2 * SG_ROW_BYTES);
    s.predicates = rounded(machine->kernel->predicate_count * sizeof(uint32_t));
    s.local = rounded((size_t)machine->kernel->facts.local_bytes * SG_LANES);
    s.warp_array = rounded(s.warps * sizeof(sg_warp));
    s.block = 2 * s.shared + s.warp_array + s.warps * (s.registers + s.predicates + s.local);
    return s;
}

void sg_cluster_destroy(sg_cluster *cluster)
{
    if (!cluster)
        return;
    for (uint32_t b = 0; cluster->blocks && b < cluster->block_count; b++) {
        sg_block *block = &cluster->blocks[b];
        for (uint32_t i = 0; block->warps && i < block->warp_count; i++)
            free(block->warps[i].flights);
        sg_race_destroy(block->race, block->warp_count);
        sg_bulk_finish(block);
        sg_wgmma_finish(block);
        sg_late_finish(&block->remote);
    }
    sg_late_finish(&cluster->late);
    free(cluster->blocks);
    free(cluster->storage);
    free(cluster);
}

/* What special registers hold while the grid runs. */
static void put_specials(sg_warp *w)
{
    const sg_kernel *kernel = w->machine->kernel;
    for (size_t i = 0; i < kernel->special_count; i++) {
        const sg_special *special = kernel->specials[i].special;
        uint8_t *row = w->base[0] + kernel->specials[i].row;
        for (int lane = 0; !special->of_block && lane < SG_LANES; lane++) {
            const uint64_t value = special->value(w, lane);
            memcpy(row + (size_t)lane * special->bytes, &value, special->bytes);
        }
    }
}

/* And those that each block has another of. */
static void put_specials_of_block(sg_warp *w)
{
    const sg_kernel *kernel = w->machine->kernel;
    for (size_t i = 0; i < kernel->special_count; i++)
        if (kernel->specials[i].special->of_block) {
            const uint32_t value = kernel->specials[i].special->value(w, 0);
            uint32_t *row = (uint32_t *)(w->base[0] + kernel->specials[i].row);
            for (int lane = 0; lane < SG_LANES; lane++)
                row[lane] = value;
        }
}

sg_cluster *sg_cluster_create(sg_machine *machine)
{
    const sizes s = measure(machine);
    sg_cluster *cluster = calloc(1, sizeof *cluster);
    if (!cluster)
        return NULL;
    cluster->machine = machine;
    cluster->block_count = s.blocks;
    cluster->blocks = calloc(s.blocks, sizeof cluster->blocks[0]);
    cluster->storage = aligned_alloc(SG_ROW_BYTES, s.blocks * s.block);
    if (!cluster->blocks || !cluster->storage)
        goto fail;
    uint8_t *at = cluster->storage;
    for (uint32_t b = 0; b < s.blocks; b++) {
        sg_block *block = &cluster->blocks[b];
        *block = (sg_block){.machine = machine, .cluster = cluster, .rank = b, .warp_count = s.warps,
                            .threads = s.threads, .shared_bytes = machine->shared_bytes};
        block->shared = at;
        block->shadow = (at += s.shared);
        block->warps = memset(at += s.shared, 0, s.warp_array);
        at += s.warp_array;
        for (uint32_t i = 0; i < s.warps; i++) {
            sg_warp *w = &block->warps[i];
            w->block = block;
            w->machine = machine;
            w->index = i;
            w->ops = machine->kernel->ops;
            w->base[0] = memset(at, 0xff, s.registers); /* NaN: nothing is known of what nobody has written */
            w->base[1] = machine->kernel->constants;
            w->predicates = (uint32_t *)(at += s.registers);
            w->local = memset(at += s.predicates, 0, s.local);
            w->watched = machine->counts || machine->grid->check_races;
            at += s.local;
            put_specials(w);
        }
        if (machine->grid->check_races && !(block->race = sg_race_create(block)))
            goto fail;
    }
    return cluster;
fail:
    sg_cluster_destroy(cluster);
    return NULL;
}

static void start_warp(sg_warp *w)
{
    const uint32_t first = w->index * SG_LANES, left = w->block->threads - first;
    const sg_kernel *kernel = w->machine->kernel;
    w->alive = w->active = left >= SG_LANES ? SG_ALL : (1u << left) - 1;
    w->pc = 0;
    w->carry = 0;
    w->spins = false;
    w->polled = 0;
    w->brings = 0;
    w->brought = 0;
    w->state = SG_WARP_READY;
    w->split_count = 0;
    w->flight_count = 0;
    w->wgmma_fenced = false;
    w->cluster_arrived = 0;
    w->registers = w->machine->grid->registers;
    memset(w->groups, 0, sizeof w->groups);
    memset(w->bulk_groups, 0, sizeof w->bulk_groups);
    memset(w->predicates, 0, kernel->predicate_count * sizeof(uint32_t));
    w->predicates[0] = SG_ALL;
    put_specials_of_block(w);
}

void sg_cluster_start(sg_cluster *cluster, uint64_t number)
{
    const sg_grid *grid = cluster->machine->grid;
    uint32_t first[3];
    for (int axis = 0; axis < 3; axis++) {
        const uint32_t count = grid->grid[axis] / grid->cluster[axis];
        first[axis] = (uint32_t)(number % count) * grid->cluster[axis];
        number /= count;
    }
    cluster->had_turn = false;
    cluster->quiet_passes = 0;
    cluster->barrier = (sg_barrier){0};
    cluster->barrier_phase = 0;
    for (uint32_t b = 0; b < cluster->block_count; b++) {
        sg_block *block = &cluster->blocks[b];
        block->id[0] = first[0] + b % grid->cluster[0];
        block->id[1] = first[1] + b / grid->cluster[0] % grid->cluster[1];
        block->id[2] = first[2] + b / grid->cluster[0] / grid->cluster[1];
        block->alive = block->threads;
        block->direct = 0;
        block->registers_left = 0;
        memset(block->barriers, 0, sizeof block->barriers);
        memset(block->shadow, SG_SHADOW_UNWRITTEN, block->shared_bytes);
        if (block->race)
            sg_race_begin(block);
        sg_bulk_finish(block);
        sg_wgmma_reset(block);
        sg_late_publish(&block->remote);
        for (uint32_t i = 0; i < block->warp_count; i++)
            start_warp(&block->warps[i]);
    }
}
