/*
 * What the parts of a launch's work take, in clocks of an SM of nominal rates: the estimate's terms are made of them.
 */
#ifndef GT_CLOCKS_H
#define GT_CLOCKS_H

#include <math.h>

#include "shares.h"

#define GT_L2_RATE     40.0  /* bytes that L2 gives one SM in a clock */
#define GT_SHARED_RATE 128.0 /* bytes that shared memory takes or gives in a clock */
#define GT_REQUEST     128   /* bytes of a request of eight lanes */
#define GT_ROUND       8     /* parts of K that a block adds up where warps of mma.sync multiply: more are added up in rounds */

/* Near the larger of two, and above it where they are alike. */
static inline double gt_clocks_together(double a, double b)
{
    return sqrt(hypot(a * a, b * b));
}

/* In which all SMs move so many bytes, in L2 where what they are of stays there. */
double gt_clocks_memory(const gt_device *device, double moved, double bytes);

/* Of A and B, in operands.c. */

/* In which the first stage of K comes to the blocks that an SM begins with: nothing is multiplied before. */
double gt_clocks_first(const gt_kernel *kernel, const gt_problem *p, const gt_shares *s);

/* In which the busiest SM reads them from L2, and what it takes longer for in pieces below 16 bytes. */
void gt_clocks_read(const gt_device *device, const gt_kernel *kernel, const gt_launch *launch, const gt_shares *s,
                    double *l2, double *narrow);

/* In which memory, or L2, moves them. */
double gt_clocks_moved(const gt_device *device, const gt_kernel *kernel, const gt_launch *launch, const gt_shares *s);

/* Until they are copied, but those that boxes can be read from as they are stored. */
double gt_clocks_copied(const gt_device *device, const gt_kernel *kernel, const gt_launch *launch);

/* Of C, in results.c. */

/* In which it is stored. */
double gt_clocks_stored(const gt_device *device, const gt_kernel *kernel, const gt_problem *p, const gt_shares *s);

/* Until partial sums are added up, among persistent blocks, in the workspace and in clusters. */
double gt_clocks_summed(const gt_kernel *kernel, const gt_shares *s);

#endif
