#include "guard.h"

#include <stdlib.h>
#include <string.h>

typedef struct range {
    uint64_t first, end;
} range;

/* Forbidden ranges by address, apart from each other, and what is allowed: parts[i] lies before ranges[i], one more
 * behind the last. A part begins where a byte of the span's marks begins, so that it can have marks of its own; up to
 * seven bytes before it are allowed, too. */
struct sg_guards {
    size_t count;
    range *ranges;
    sg_span *parts;
};

void sg_guards_destroy(sg_guards *guards)
{
    if (!guards)
        return;
    free(guards->ranges);
    free(guards->parts);
    free(guards);
}

static sg_guards *create(size_t room)
{
    sg_guards *guards = calloc(1, sizeof *guards);
    if (guards) {
        guards->ranges = calloc(room, sizeof guards->ranges[0]);
        guards->parts = calloc(room + 1, sizeof guards->parts[0]);
    }
    if (guards && guards->ranges && guards->parts)
        return guards;
    sg_guards_destroy(guards);
    return NULL;
}

static void add(sg_guards *guards, uint64_t first, uint64_t end)
{
    range *last = guards->count ? &guards->ranges[guards->count - 1] : NULL;
    if (first >= end)
        return;
    if (last && first <= last->end)
        last->end = end > last->end ? end : last->end;
    else
        guards->ranges[guards->count++] = (range){first, end};
}

/* The old ranges with the new one among them, or without it. */
static void merge(sg_guards *new, const sg_guards *old, range changed, bool allowed)
{
    bool added = allowed;
    for (size_t i = 0; old && i < old->count; i++) {
        const range r = old->ranges[i];
        if (!added && changed.first <= r.first) {
            add(new, changed.first, changed.end);
            added = true;
        }
        if (allowed) {
            add(new, r.first, r.end < changed.first ? r.end : changed.first);
            add(new, r.first > changed.end ? r.first : changed.end, r.end);
        } else {
            add(new, r.first, r.end);
        }
    }
    if (!added)
        add(new, changed.first, changed.end);
}

static void find_parts(sg_guards *guards, const sg_span *span)
{
    uint64_t first = span->base;
    for (size_t i = 0; i <= guards->count; i++) {
        const uint64_t end = i < guards->count ? guards->ranges[i].first : span->base + span->bytes;
        const uint64_t skipped = (first - span->base + 7) / 8 * 8, base = span->base + skipped;
        guards->parts[i] = (sg_span){.base = base,
                                     .bytes = base < end ? end - base : 0,
                                     .owner = span->owner,
                                     .written = span->written ? span->written + skipped / 8 : NULL};
        first = i < guards->count ? guards->ranges[i].end : end;
    }
}

bool sg_guards_change(sg_guards **guards, const sg_span *span, uint64_t address, uint64_t bytes, bool allowed)
{
    sg_guards *new = create((*guards ? (*guards)->count : 0) + 1);
    if (!new)
        return false;
    merge(new, *guards, (range){address, address + bytes}, allowed);
    find_parts(new, span);
    sg_guards_destroy(*guards);
    *guards = new->count ? new : NULL;
    if (!new->count)
        sg_guards_destroy(new);
    return true;
}

bool sg_guards_allow(const sg_span *span, uint64_t address, uint64_t size, const sg_span **part)
{
    const sg_guards *guards = span->guards;
    size_t low = 0, high = guards->count; /* the first range that ends behind address */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (guards->ranges[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    *part = guards->parts[low].bytes ? &guards->parts[low] : NULL;
    return low == guards->count || address + size <= guards->ranges[low].first;
}
