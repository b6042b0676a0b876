/*
 * Problems that a first run tunes beside its list of sizes, so that none is without a kernel of its kind: small, flat,
 * deep and skinny ones, vectors and batches, in every layout, with rows that are aligned and rows that are not.
 */
#ifndef GT_COVER_H
#define GT_COVER_H

#include "../../src/core/problem.h"

#define GT_COVER_MOST 1200 /* problems of one type, at most */

/* Whether some types have the list's kinds whole, or nearly: those that are named, and of all types f32, f16 and bf16. */
bool gt_cover_is_whole(const gt_types *types, bool named);

/* Appends the problems of some types to *count others: of all kinds, or of all types of the first ten for the other usual ones
 * and of one for the rest. There is room for GT_COVER_MOST more. */
gt_status gt_cover_problems(const gt_types *types, bool named, gt_problem *problems, size_t *count);

/* The row of the table that a problem is of, whatever its types, layout and alignment; -1 for any other. What was best
 * for one problem of a row is likely good for the others. */
int gt_cover_row(const gt_problem *problem);

/* Whether what runs this problem of the list runs any size of its layout: it has ordinary sizes, and rows that begin anywhere.
 * There is one in each layout; in nn of the least usual types the default list has it. */
bool gt_cover_serves_all(const gt_problem *problem);

#endif
