/* Pages that have no address of their own, and may have several: one file in the host's memory. */
#ifndef SG_PAGES_H
#define SG_PAGES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sg_pages {
    int file;     /* -1: not needed yet */
    uint64_t end; /* of what was ever taken; places in a file are not scarce, and none is taken twice */
} sg_pages;

/* bytes are whole pages everywhere. All zero; *at is their place in the file. False if the host refuses. */
bool sg_pages_take(sg_pages *pages, uint64_t bytes, uint64_t *at);

/* Their memory goes back to the host. */
void sg_pages_give(sg_pages *pages, uint64_t at, uint64_t bytes);

/* Puts pages at the host's addresses from place on, for reading and writing, instead of what is there. */
bool sg_pages_show(const sg_pages *pages, uint64_t at, void *place, uint64_t bytes);

/* Puts fresh memory of the host there instead, with rights as mmap's. */
void sg_pages_hide(void *place, uint64_t bytes, int rights);

void sg_pages_finish(sg_pages *pages);

#endif
