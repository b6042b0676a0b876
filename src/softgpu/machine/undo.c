#include "undo.h"

#include <stdlib.h>
#include <string.h>

/* Lines of LINE bytes: a line's marks are then whole bytes, and allocations take whole pages, so that all of a line can
 * be copied if any of it is theirs. */
#define LINE   64
#define RECENT 8 /* lines that are looked at before one is kept again: a warp writes side by side */

struct sg_undo_line {
    const sg_span *span;
    uint64_t address;
    uint8_t bytes[LINE], marks[LINE / 8];
};

static void keep_line(sg_undo *undo, const sg_span *span, uint64_t address)
{
    for (size_t i = undo->count; i > 0 && i + RECENT > undo->count; i--)
        if (undo->lines[i - 1].address == address)
            return;
    if (undo->count == undo->room) {
        const size_t room = undo->room ? 2 * undo->room : 1024;
        struct sg_undo_line *lines = realloc(undo->lines, room * sizeof *lines);
        if (!lines) {
            undo->lost = true;
            return;
        }
        undo->lines = lines;
        undo->room = room;
    }
    struct sg_undo_line *line = &undo->lines[undo->count++];
    line->span = span;
    line->address = address;
    memcpy(line->bytes, (const void *)(uintptr_t)address, LINE);
    if (span->written)
        memcpy(line->marks, span->written + (address - span->base) / 8, sizeof line->marks);
}

void sg_undo_keep(sg_undo *undo, uint64_t address, uint64_t bytes)
{
    const sg_span *span = sg_memory_find_range(undo->memory, address, bytes);
    if (!span || bytes == 0)
        return; /* a fault: nothing will be written */
    for (uint64_t at = address - address % LINE; at < address + bytes; at += LINE)
        keep_line(undo, span, at);
}

bool sg_undo_back(sg_undo *undo)
{
    const bool whole = !undo->lost;
    while (undo->count > 0) { /* the newest first: of a line that was kept twice the oldest counts */
        const struct sg_undo_line *line = &undo->lines[--undo->count];
        memcpy((void *)(uintptr_t)line->address, line->bytes, LINE);
        if (line->span->written)
            memcpy(line->span->written + (line->address - line->span->base) / 8, line->marks, sizeof line->marks);
    }
    undo->lost = false;
    return whole;
}

void sg_undo_finish(sg_undo *undo)
{
    free(undo->lines);
    *undo = (sg_undo){.memory = undo->memory};
}
