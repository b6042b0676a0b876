/*
 * Vector clocks: for every other warp, up to which moment its accesses happened before. Each warp of a grid has a number
 * of its own and a clock. Reads and writes have separate moments: a warp that arrives at a barrier without a release is
 * done with its reads, but its writes may still be on their way.
 *
 * Warps learn mostly of their own block: its clocks are an array. Of other blocks only those are kept of which something
 * is known, in a list that many vectors share.
 */
#ifndef SG_CLOCK_H
#define SG_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define SG_WARPS_MOST 32

typedef struct sg_moment {
    uint32_t reads, writes;
} sg_moment;

typedef struct sg_clocks sg_clocks; /* of warps of other blocks, by number; shared, never changed */

typedef struct sg_vector {
    uint32_t base;     /* number of the first warp whose clock is in own; 0: nothing is known at all */
    sg_clocks *others; /* NULL: none */
    sg_moment own[SG_WARPS_MOST + 1];
} sg_vector;

/* Takes for each warp the later moment of both. stride: numbers of warps that a block has. False if out of memory. */
bool sg_vector_join(sg_vector *to, const sg_vector *from, uint32_t stride);

/* The same of reads alone. */
bool sg_vector_join_reads(sg_vector *to, const sg_vector *from, uint32_t stride);

/* What is known of a warp. */
sg_moment sg_vector_find(const sg_vector *vector, uint32_t warp, uint32_t stride);

/* Forgets everything. */
void sg_vector_clear(sg_vector *vector);

#endif
