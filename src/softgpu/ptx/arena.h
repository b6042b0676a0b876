/* Memory that is given back all at once: what a module's text turns into lives as long as the module. */
#ifndef SG_ARENA_H
#define SG_ARENA_H

#include <stddef.h>
#include <stdint.h>

typedef struct sg_arena {
    struct sg_arena_chunk *chunks;
} sg_arena;

/* Zeroed bytes, aligned to 128; NULL if out of memory. */
void *sg_arena_alloc(sg_arena *arena, size_t bytes);

/* A copy of an array with room for more: at least twice its old length. *room is the elements it has room for. */
void *sg_arena_grow(sg_arena *arena, const void *old, size_t count, size_t bytes_each, size_t *room);

void sg_arena_finish(sg_arena *arena);

#endif
