/*
 * What the copy engine moves for a tile of C. It fills shared memory by boxes of whole lines: what lies beyond the
 * matrix becomes zeros, which takes longer than reading as much from L2.
 */
#ifndef GT_BOXES_H
#define GT_BOXES_H

#include "../core/launch.h"

/* Of one operand, for a tile and a part of K. */
typedef struct gt_boxes {
    double bytes; /* that come from L2; more where lines are not those of L2 */
    double zeros; /* pieces of 16 bytes beyond the matrix, where all SMs fill in such */
} gt_boxes;

/* A part of K has so many elements in stages, of which `inside` are not beyond K. busy: share of the SMs that have a
 * block. edge: each block has one tile, so that a launch ends with the last one. */
gt_boxes gt_boxes_moved(const gt_kernel *kernel, const gt_launch *launch, gt_operand operand, double staged,
                        double inside, double busy, bool edge);

#endif
