/*
 * Sets of accesses. Neighbouring bytes are mostly read by the same warps at the same time, so equal sets are one: a set
 * is a number, and adding to it gives the number of the larger set. A set lists its accesses, the newest first.
 */
#ifndef SG_RACE_SETS_H
#define SG_RACE_SETS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sg_member {
    uint32_t rest; /* the set without it; 0: empty */
    uint32_t warp, clock, how;
    bool writes; /* some access of the set */
} sg_member;

typedef struct sg_sets sg_sets;

sg_sets *sg_sets_create(void);
void sg_sets_destroy(sg_sets *sets);

/* The set with one more; 0 if out of memory or room, see sg_sets_full. */
uint32_t sg_sets_add(sg_sets *sets, uint32_t set, uint32_t warp, uint32_t clock, uint32_t how, bool writes);
const sg_member *sg_sets_at(const sg_sets *sets, uint32_t set);

/* Whether there is no room for more: then all are to be forgotten. */
bool sg_sets_full(const sg_sets *sets);
void sg_sets_forget(sg_sets *sets);

#endif
