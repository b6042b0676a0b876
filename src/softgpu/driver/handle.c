#include "handle.h"

#include <stdlib.h>

/* A handle's bits from below: 4 of zero, as in a pointer; 4 of the kind; 24 of the place; 32 of the turn, from 1 on. */
#define KIND_AT  4
#define PLACE_AT 8
#define TURN_AT  32
#define MOST     (1u << (TURN_AT - PLACE_AT))

typedef struct slot {
    void *object; /* NULL: free */
    sg_kind kind;
    uint32_t turn, owner;
} slot;

static struct {
    slot *slots;
    size_t count, capacity;
    size_t first_free; /* no free slot lies before it */
} table;

static void *encode(size_t place)
{
    const slot *s = &table.slots[place];
    const uint64_t turn = s->turn, kind = s->kind;
    return (void *)(uintptr_t)(turn << TURN_AT | (uint64_t)place << PLACE_AT | kind << KIND_AT);
}

void *sg_handle_create(sg_kind kind, uint32_t owner, void *object)
{
    size_t place = table.first_free;
    while (place < table.count && table.slots[place].object)
        place++;
    if (place == table.capacity) {
        const size_t capacity = table.capacity ? 2 * table.capacity : 64;
        slot *slots = capacity <= MOST ? realloc(table.slots, capacity * sizeof *slots) : NULL;
        if (!slots)
            return NULL;
        table.slots = slots;
        table.capacity = capacity;
    }
    if (place == table.count)
        table.slots[table.count++] = (slot){0};
    table.first_free = place + 1;
    table.slots[place] = (slot){object, kind, table.slots[place].turn + 1, owner};
    return encode(place);
}

static slot *find(sg_kind kind, const void *handle)
{
    const size_t place = (uint64_t)(uintptr_t)handle >> PLACE_AT & (MOST - 1);
    slot *s = &table.slots[place];
    return place < table.count && s->object && s->kind == kind && encode(place) == handle ? s : NULL;
}

void *sg_handle_find(sg_kind kind, const void *handle)
{
    const slot *s = find(kind, handle);
    return s ? s->object : NULL;
}

uint32_t sg_handle_owner(sg_kind kind, const void *handle)
{
    const slot *s = find(kind, handle);
    return s ? s->owner : SG_NOBODY;
}

void *sg_handle_destroy(sg_kind kind, const void *handle)
{
    slot *s = find(kind, handle);
    if (!s)
        return NULL;
    void *object = s->object;
    s->object = NULL;
    if ((size_t)(s - table.slots) < table.first_free)
        table.first_free = (size_t)(s - table.slots);
    return object;
}

void *sg_handle_next(sg_kind kind, size_t *cursor)
{
    while (*cursor < table.count) {
        const size_t place = (*cursor)++;
        if (table.slots[place].object && table.slots[place].kind == kind)
            return encode(place);
    }
    return NULL;
}

void sg_handle_finish(void)
{
    free(table.slots);
    table.slots = NULL;
    table.count = table.capacity = table.first_free = 0;
}
