/* What device memory held before a kernel wrote to it, so that it can be put back. */
#ifndef SG_UNDO_H
#define SG_UNDO_H

#include "memory.h"

typedef struct sg_undo {
    const sg_memory *memory;
    struct sg_undo_line *lines; /* oldest first */
    size_t count, room;
    bool lost; /* out of memory: not all of it is known */
} sg_undo;

/* To be called before bytes from address on are written. What lies in no allocation is passed over. */
void sg_undo_keep(sg_undo *undo, uint64_t address, uint64_t bytes);

/* Puts everything back and forgets it. False if not all of it is known. */
bool sg_undo_back(sg_undo *undo);

/* Forgets and frees. */
void sg_undo_finish(sg_undo *undo);

#endif
