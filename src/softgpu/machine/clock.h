/*
 * Vector clocks: up to which moment of every other warp its doings come before. Each warp of a grid has a number for
 * good and a clock of its own. Of reads and of writes the moments may differ: who arrives at a barrier without a
 * release has done with its reads, but its writes may still be on their way.
 *
 * Warps of one block mostly learn of each other: of them all clocks lie side by side. Of other blocks only those are
 * kept of which something is known, in a list that many vectors share.
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

/* Of what `from` knows `to` will know all. stride: numbers that a block has. False if out of memory. */
bool sg_vector_join(sg_vector *to, const sg_vector *from, uint32_t stride);

/* The same of reads alone. */
bool sg_vector_join_reads(sg_vector *to, const sg_vector *from, uint32_t stride);

/* What is known of a warp. */
sg_moment sg_vector_find(const sg_vector *vector, uint32_t warp, uint32_t stride);

/* Forgets everything. */
void sg_vector_clear(sg_vector *vector);

#endif
