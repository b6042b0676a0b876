#include "late.h"

#include <stdlib.h>
#include <string.h>

#include "warp.h"
#include "words.h"

/* Stores that one list keeps: some tiles of partial sums. Every turn goes through it; with more they are seen at once. And
 * those of all clusters that have ended. */
#define MOST       ((size_t)1 << 14)
#define ENDED_MOST (64 * MOST)

#define GRAIN 16 /* bytes that share a bit of places */

static bool find_place(const sg_late *late, uint64_t at)
{
    const uint64_t grain = at / GRAIN;
    return late->places[grain / 64 % 16] >> grain % 64 & 1;
}

static void add_place(sg_late *late, uint64_t at)
{
    const uint64_t grain = at / GRAIN;
    late->places[grain / 64 % 16] |= (uint64_t)1 << grain % 64;
}

static bool make_room(sg_late *late, size_t more)
{
    if (late->count + more <= late->room)
        return true;
    size_t room = late->room ? 2 * late->room : 256;
    while (room < late->count + more)
        room *= 2;
    sg_late_store *list = realloc(late->list, room * sizeof *list);
    if (!list)
        return false;
    late->list = list;
    late->room = room;
    return true;
}

/* Before a store of up to 16 bytes: it is to be seen late. */
static void keep(sg_late *late, uint64_t at, uint32_t size)
{
    if (late->count == MOST || !make_room(late, 1)) {
        sg_late_publish(late);
        return;
    }
    sg_late_store *store = &late->list[late->count++];
    store->at = at;
    store->size = size;
    memcpy(store->bytes, (const void *)(uintptr_t)at, size);
    add_place(late, at);
}

void sg_late_touch(sg_late *late, uint64_t at, uint64_t size)
{
    bool perhaps = false;
    if (late->count == 0)
        return;
    for (uint64_t grain = at / GRAIN; grain <= (at + size - 1) / GRAIN && !perhaps; grain++)
        perhaps = find_place(late, grain * GRAIN);
    for (size_t i = 0; perhaps && i < late->count; i++)
        if (late->list[i].at < at + size && at < late->list[i].at + late->list[i].size)
            sg_late_publish(late);
}

static void exchange(sg_late_store *store)
{
    uint8_t *memory = (uint8_t *)(uintptr_t)store->at, bytes[sizeof store->bytes];
    memcpy(bytes, store->bytes, sizeof bytes);
    memcpy(store->bytes, memory, store->size);
    memcpy(memory, bytes, store->size);
}

void sg_late_show(sg_late *late)
{
    for (size_t i = 0; i < late->count; i++)
        exchange(&late->list[i]);
}

void sg_late_hide(sg_late *late)
{
    for (size_t i = late->count; i > 0; i--)
        exchange(&late->list[i - 1]);
}

void sg_late_publish(sg_late *late)
{
    if (late->count > 0)
        memset(late->places, 0, sizeof late->places);
    late->count = 0;
}

void sg_late_move(sg_late *from, sg_late *to)
{
    if (to->count + from->count > ENDED_MOST || !make_room(to, from->count)) { /* all see them now */
        sg_late_show(to);
        sg_late_publish(to);
        sg_late_show(from);
    } else if (from->count > 0) {
        memcpy(to->list + to->count, from->list, from->count * sizeof from->list[0]);
        to->count += from->count;
    }
    sg_late_publish(from);
}

void sg_late_finish(sg_late *late)
{
    free(late->list);
    *late = (sg_late){0};
}

static const sg_words *words_of(const sg_warp *w, const sg_op *op)
{
    return &w->machine->kernel->words[op - w->ops];
}

/* The list that a lane's store belongs to, and the scope in which a strong one is seen at once; NULL: none. */
static sg_late *find_list(sg_warp *w, uint64_t address, sg_space space, sg_scope *scope)
{
    uint32_t offset;
    const bool generic = space == SG_SPACE_GENERIC;
    if (w->machine->late_global && (space == SG_SPACE_GLOBAL || (generic && !SG_WINDOW(address)))) {
        *scope = SG_SCOPE_GRID;
        return &w->block->cluster->late;
    }
    if (w->machine->late_remote && (space == SG_SPACE_SHARED || (generic && SG_WINDOW(address) == SG_WINDOW_SHARED)) &&
        sg_shared_block(w->block, address & UINT32_MAX, &offset) != w->block) {
        *scope = SG_SCOPE_CLUSTER;
        return &w->block->remote;
    }
    return NULL;
}

void sg_late_write(sg_warp *w, const sg_op *op, uint64_t address, const uint8_t *bytes, uint32_t size, sg_space space)
{
    const sg_words *words = words_of(w, op);
    sg_scope scope;
    sg_late *late = find_list(w, address, space, &scope);
    if (late && words->strong && words->scope >= scope)
        sg_late_touch(late, (uint64_t)(uintptr_t)bytes, size);
    else if (late)
        keep(late, (uint64_t)(uintptr_t)bytes, size);
}

void sg_late_release(sg_warp *w, const sg_op *op, uint32_t mask)
{
    (void)mask;
    const sg_words *words = words_of(w, op);
    if (!words->releases && !words->fences)
        return;
    if (words->scope >= SG_SCOPE_CLUSTER)
        sg_late_publish(&w->block->remote);
    if (words->scope >= SG_SCOPE_GRID)
        sg_late_publish(&w->block->cluster->late);
}

void sg_late_arrive(sg_warp *w, const sg_op *op)
{
    if (w->block->remote.count > 0 && !words_of(w, op)->relaxed)
        sg_late_publish(&w->block->remote);
}
