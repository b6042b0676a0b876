#include "arena.h"

#include <stdlib.h>
#include <string.h>

#define ALIGN 128 /* a row of registers */
#define CHUNK ((size_t)64 << 10)

typedef struct sg_arena_chunk {
    struct sg_arena_chunk *next;
    size_t used, bytes;
} chunk;

_Static_assert(sizeof(chunk) <= ALIGN, "a chunk's head leaves its body aligned");

void *sg_arena_alloc(sg_arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 4)
        return NULL;
    bytes = (bytes + 15) & ~(size_t)15;
    chunk *top = arena->chunks;
    /* Small things need only 16 bytes of alignment; rows are asked for whole. */
    const size_t align = bytes >= ALIGN ? ALIGN : 16;
    size_t at = top ? (top->used + align - 1) & ~(align - 1) : 0;
    if (!top || at > top->bytes || top->bytes - at < bytes) {
        const size_t body = bytes > CHUNK ? bytes : CHUNK;
        top = aligned_alloc(ALIGN, (ALIGN + body + ALIGN - 1) & ~(size_t)(ALIGN - 1));
        if (!top)
            return NULL;
        *top = (chunk){.next = arena->chunks, .used = ALIGN, .bytes = ALIGN + body};
        arena->chunks = top;
        at = ALIGN;
    }
    top->used = at + bytes;
    return memset((char *)top + at, 0, bytes);
}

void *sg_arena_grow(sg_arena *arena, const void *old, size_t count, size_t bytes_each, size_t *room)
{
    const size_t more = count ? 2 * count : 16;
    if (more > SIZE_MAX / bytes_each)
        return NULL;
    void *array = sg_arena_alloc(arena, more * bytes_each);
    if (!array)
        return NULL;
    if (count)
        memcpy(array, old, count * bytes_each);
    *room = more;
    return array;
}

void sg_arena_finish(sg_arena *arena)
{
    for (chunk *top = arena->chunks, *next; top; top = next) {
        next = top->next;
        free(top);
    }
    arena->chunks = NULL;
}
