/* How ours compares with the baselines: two figures a race, and what they come to over many. */
#ifndef GT_RATINGS_H
#define GT_RATINGS_H

#include "../baselines/baseline.h"

typedef enum gt_figure {
    GT_FIGURE_WARM,    /* launches back to back, operands in L2 where they fit */
    GT_FIGURE_COLD,    /* another kernel before each launch, which empties L2 */
    GT_FIGURE_SMALLER, /* the smaller ratio of the two */
} gt_figure;

#define GT_FIGURE_COUNT 3

#define GT_TIE 0.02 /* closer than this the two are as good as each other */

/* The figure's name on the screen, "back to back". */
const char *gt_figure_name(gt_figure figure);

/* The baselines' best time over ours, each figure against the baseline that is best at it; 0 where one has none. */
double gt_race_ratio(const gt_trial *ours, const gt_baseline baselines[GT_BASELINE_COUNT], gt_figure figure);

/* Ratios taken together; zero at the start. */
typedef struct gt_rating {
    int count, ahead, tied, behind;
    double logs;    /* the sum of their logarithms */
    double least;
    size_t weakest; /* the race with the least one */
} gt_rating;

/* Adds a race's ratio; one that is 0 counts for nothing. */
void gt_rating_add(gt_rating *rating, double ratio, size_t race);

/* The geometric mean; 0 of none. */
double gt_rating_mean(const gt_rating *rating);

#endif
