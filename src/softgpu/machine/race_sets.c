#include "race_sets.h"

#include <stdlib.h>
#include <string.h>

#define MEMBERS_MOST (1u << 22) /* 20 bytes each */

struct sg_sets {
    sg_member *members; /* [0] is nobody */
    uint32_t count, room;
    uint32_t *table; /* members by hash; 0: free. Twice as long as members */
};

sg_sets *sg_sets_create(void)
{
    enum { FIRST = 1 << 12 };
    sg_sets *sets = calloc(1, sizeof *sets);
    if (!sets)
        return NULL;
    sets->room = FIRST;
    sets->count = 1;
    sets->members = calloc(FIRST, sizeof sets->members[0]);
    sets->table = calloc(2 * FIRST, sizeof sets->table[0]);
    if (sets->members && sets->table)
        return sets;
    sg_sets_destroy(sets);
    return NULL;
}

void sg_sets_destroy(sg_sets *sets)
{
    if (!sets)
        return;
    free(sets->members);
    free(sets->table);
    free(sets);
}

const sg_member *sg_sets_at(const sg_sets *sets, uint32_t set)
{
    return &sets->members[set];
}

bool sg_sets_full(const sg_sets *sets)
{
    return sets->count == MEMBERS_MOST;
}

void sg_sets_forget(sg_sets *sets)
{
    sets->count = 1;
    memset(sets->table, 0, 2 * (size_t)sets->room * sizeof sets->table[0]);
}

static uint32_t *find(const sg_sets *sets, const sg_member *m)
{
    const uint64_t mixed = ((uint64_t)m->rest << 32 | m->warp) * 0x9e3779b97f4a7c15u ^
                           ((uint64_t)m->clock << 32 | m->how) * 0xd6e8feb86659fd93u;
    for (uint32_t at = (uint32_t)(mixed >> 32);; at++) {
        uint32_t *slot = &sets->table[at & (2 * sets->room - 1)];
        const sg_member *there = &sets->members[*slot];
        if (!*slot ||
            (there->rest == m->rest && there->warp == m->warp && there->clock == m->clock && there->how == m->how))
            return slot;
    }
}

static bool grow(sg_sets *sets)
{
    const uint32_t room = 2 * sets->room;
    sg_member *members = realloc(sets->members, room * sizeof *members);
    if (members)
        sets->members = members;
    uint32_t *table = members ? calloc(2 * (size_t)room, sizeof *table) : NULL;
    if (!table)
        return false;
    free(sets->table);
    sets->table = table;
    sets->room = room;
    for (uint32_t i = 1; i < sets->count; i++)
        *find(sets, &sets->members[i]) = i;
    return true;
}

uint32_t sg_sets_add(sg_sets *sets, uint32_t set, uint32_t warp, uint32_t clock, uint32_t how, bool writes)
{
    const sg_member m = {set, warp, clock, how, writes || (set && sets->members[set].writes)};
    uint32_t *slot = find(sets, &m);
    if (*slot)
        return *slot;
    if (sg_sets_full(sets) || (sets->count == sets->room && !grow(sets)))
        return 0;
    slot = find(sets, &m);
    sets->members[sets->count] = m;
    return *slot = sets->count++;
}
