/* Every configuration that a search may try for one problem, in the order in which they are expected to be fast. */
#ifndef GT_POINTS_H
#define GT_POINTS_H

#include "search.h"

/* One configuration: a row of its family's space. */
typedef struct gt_point {
    const gt_space *space;
    size_t row;
    double estimate; /* microseconds */
    uint64_t shuffle; /* orders points of the same estimate */
    bool handed_out; /* as a candidate */
} gt_point;

typedef struct gt_points {
    gt_space *spaces;
    size_t space_count;
    gt_point *list; /* by estimate, best first */
    size_t count;
} gt_points;

/* GT_ERROR_UNSUPPORTED if no family offers anything for the problem. families must outlive *points. Owned:
 * gt_points_finish. */
gt_status gt_points_init(const gt_families *families, const gt_device *device, const gt_problem *problem,
                         const gt_search_options *options, gt_points *points);
void gt_points_finish(gt_points *points);

/* The point with a seed's parameters, or, as other layouts and alignments do not have the same choices, the one most
 * like it with the same tile. NULL if there is none. */
gt_point *gt_points_find(const gt_points *points, const gt_seed *seed);

/* Leaves out what serves this problem's math and another one, where it was searched already, but for the winner of that
 * search. False, and nothing is left out, where there is no such point. */
bool gt_points_serve(gt_points *points, const gt_seed *winner);

/* Whether two configurations have the same shape of tile: what is left to choose then are details. */
bool gt_points_same_tile(const gt_space *space, size_t row, const gt_space *other_space, size_t other_row);

/* In how many tunables two configurations of one space differ. The sides of a cluster count as one. */
int gt_points_distance(const gt_space *space, size_t row, size_t other_row);

#endif
