/*
 * How the work of a launch is shared among SMs: what the busiest one has to do, and what it has at the same time.
 */
#ifndef GT_SHARES_H
#define GT_SHARES_H

#include "../core/launch.h"

typedef struct gt_shares {
    double per_sm;        /* tiles, or parts of them, of the busiest SM */
    double sets;          /* times that an SM's blocks are replaced by others */
    double part, steps;   /* of K, that a block works on; stages of it */
    double rows, columns; /* of a tile that are inside the matrix, where it is larger than that */
    double begins;        /* of first loads that nothing hides: one for each set */
    double warps;         /* that multiply, on the SM at once */
    double sharers;       /* persistent blocks that a tile is split among */
    double uneven;        /* blocks of the fullest SM, as a multiple of the average */
    double turns;         /* in which a block's threads take the rows of a tile */
    double held;          /* blocks that an SM holds at a time */
    double resident;      /* blocks at the same time, on all SMs */
    bool beside;          /* a stream, and the next launch finds room beside it */
} gt_shares;

/* Blocks are dealt evenly over the SMs, and each SM works on as many as it holds at a time. Persistent blocks share all
 * tiles: with a workspace tiles are split along K and the work is even, else each takes whole ones. An SM holds a block
 * of the kernel at least. */
gt_shares gt_shares_find(const gt_device *device, const gt_kernel *kernel, const gt_launch *launch);

/* How many times longer the SM's warps take than if they covered all latency. */
double gt_shares_uncovered(const gt_kernel *kernel, const gt_shares *s);

#endif
