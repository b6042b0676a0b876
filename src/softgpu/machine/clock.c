#include "clock.h"

#include <stdlib.h>
#include <string.h>

typedef struct entry {
    uint32_t warp;
    sg_moment moment;
} entry;

struct sg_clocks {
    uint32_t references, count;
    entry entries[];
};

static void let_go(sg_clocks *clocks)
{
    if (clocks && --clocks->references == 0)
        free(clocks);
}

void sg_vector_clear(sg_vector *vector)
{
    let_go(vector->others);
    vector->others = NULL;
    vector->base = 0;
}

static void raise(sg_moment *to, sg_moment from)
{
    to->reads = to->reads > from.reads ? to->reads : from.reads;
    to->writes = to->writes > from.writes ? to->writes : from.writes;
}

static bool covers(sg_moment a, sg_moment b)
{
    return a.reads >= b.reads && a.writes >= b.writes;
}

/* Whether clocks say all that the entries say. */
static bool has_all(const sg_clocks *clocks, const entry *entries, uint32_t count)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        while (clocks && at < clocks->count && clocks->entries[at].warp < entries[i].warp)
            at++;
        if (!clocks || at == clocks->count || clocks->entries[at].warp != entries[i].warp ||
            !covers(clocks->entries[at].moment, entries[i].moment))
            return false;
    }
    return true;
}

/* Joins entries, by number, of which none is of the vector's own block. */
static bool add_foreign(sg_vector *to, const entry *entries, uint32_t count)
{
    const sg_clocks *old = to->others;
    const uint32_t had = old ? old->count : 0;
    if (has_all(old, entries, count))
        return true;
    sg_clocks *new = malloc(sizeof *new + (size_t)(had + count) * sizeof new->entries[0]);
    if (!new)
        return false;
    new->references = 1;
    new->count = 0;
    for (uint32_t i = 0, k = 0; i < had || k < count;) {
        const bool take_old = k == count || (i < had && old->entries[i].warp <= entries[k].warp);
        const bool take_new = i == had || (k < count && entries[k].warp <= old->entries[i].warp);
        entry e = take_old ? old->entries[i] : entries[k];
        if (take_old && take_new)
            raise(&e.moment, entries[k].moment);
        i += take_old;
        k += take_new;
        new->entries[new->count++] = e;
    }
    let_go(to->others);
    to->others = new;
    return true;
}

/* Joins entries, by number, of any block: those of the vector's own go beside its clocks. */
static bool add(sg_vector *to, const entry *entries, uint32_t count, uint32_t stride)
{
    uint32_t first = 0, end;
    while (first < count && entries[first].warp < to->base)
        first++;
    for (end = first; end < count && entries[end].warp - to->base < stride; end++)
        raise(&to->own[entries[end].warp - to->base], entries[end].moment);
    return (first == 0 || add_foreign(to, entries, first)) &&
           (end == count || add_foreign(to, entries + end, count - end));
}

bool sg_vector_join(sg_vector *to, const sg_vector *from, uint32_t stride)
{
    if (!from->base)
        return true;
    if (!to->base) {
        *to = *from;
        if (to->others)
            to->others->references++;
        return true;
    }
    if (to->base == from->base) {
        for (uint32_t i = 0; i < stride; i++)
            raise(&to->own[i], from->own[i]);
    } else {
        entry entries[SG_WARPS_MOST + 1];
        for (uint32_t i = 0; i < stride; i++)
            entries[i] = (entry){from->base + i, from->own[i]};
        if (!add(to, entries, stride, stride))
            return false;
    }
    if (!from->others || from->others == to->others)
        return true;
    if (!to->others && to->base == from->base) {
        to->others = from->others;
        to->others->references++;
        return true;
    }
    return add(to, from->others->entries, from->others->count, stride);
}

bool sg_vector_join_reads(sg_vector *to, const sg_vector *from, uint32_t stride)
{
    sg_vector reads = {.base = from->base};
    for (uint32_t i = 0; i < stride; i++)
        reads.own[i].reads = from->own[i].reads;
    if (from->others) {
        const uint32_t count = from->others->count;
        reads.others = malloc(sizeof *reads.others + count * sizeof reads.others->entries[0]);
        if (!reads.others)
            return false;
        *reads.others = (sg_clocks){.references = 1, .count = count};
        for (uint32_t i = 0; i < count; i++)
            reads.others->entries[i] =
                (entry){from->others->entries[i].warp, {.reads = from->others->entries[i].moment.reads}};
    }
    const bool joined = sg_vector_join(to, &reads, stride);
    sg_vector_clear(&reads);
    return joined;
}

sg_moment sg_vector_find(const sg_vector *vector, uint32_t warp, uint32_t stride)
{
    if (warp - vector->base < stride)
        return vector->own[warp - vector->base];
    const sg_clocks *others = vector->others;
    uint32_t low = 0, high = others ? others->count : 0;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (others->entries[middle].warp < warp)
            low = middle + 1;
        else
            high = middle;
    }
    return others && low < others->count && others->entries[low].warp == warp ? others->entries[low].moment
                                                                              : (sg_moment){0, 0};
}
