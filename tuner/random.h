/* Random bits that depend on a seed and an index only, so that host and device draw the same. */
#ifndef GT_RANDOM_H
#define GT_RANDOM_H

#include <stdint.h>

/* splitmix64 of stream `seed` at `index`: the same bits that worker/checks.cu draws. */
uint64_t gt_random_bits(uint64_t seed, uint64_t index);

/* Numbers of a stream, one after the other. */
typedef struct gt_draws {
    uint64_t seed, next;
} gt_draws;

uint64_t gt_draw_bits(gt_draws *draws);

/* From 0 to limit - 1; limit is at least 1. */
int64_t gt_draw_below(gt_draws *draws, int64_t limit);

/* From 1 to largest, evenly in logarithms. */
int64_t gt_draw_size(gt_draws *draws, double largest);

#endif
