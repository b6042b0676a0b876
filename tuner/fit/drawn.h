/* Sizes that stand for those that nobody tunes. */
#ifndef GT_DRAWN_H
#define GT_DRAWN_H

#include "../../src/core/problem.h"

#define GT_DRAWN_SIZES 240 /* of a layout */
#define GT_DRAWN_MOST  (4 * GT_DRAWN_SIZES)

/* Draws problems of a type, the same ones every time: sizes evenly in logarithms, in all layouts by turns; one third has rows
 * aligned to 16 bytes, one to an element, the rest what lies between; one in five is a batch. Those that take long are left
 * out. */
gt_status gt_draw_problems(const gt_types *types, gt_problem problems[GT_DRAWN_MOST], size_t *count);

#endif
