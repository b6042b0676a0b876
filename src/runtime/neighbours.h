/* What measurements near a problem say of the time that kernels take on it. */
#ifndef GT_NEIGHBOURS_H
#define GT_NEIGHBOURS_H

#include "../../db/store.h"

/* Predictions are made worse by so much for each factor of e between the sizes, and by so much of the spread of their
 * family's ratios. Among many kernels the smallest prediction is likely too optimistic, the more so the farther it
 * reaches and the less estimates and times of its family agree. */
#define GT_DISTRUST        0.03
#define GT_DISTRUST_SPREAD 0.3

/* A measurement that may be used. */
typedef struct gt_neighbour {
    size_t row;         /* in the list */
    double estimate_us; /* of its kernel on the problem */
    int64_t parts;      /* of K, in which the kernel would be launched; 0: as it was made */
    bool as_made;       /* it can be launched as it was made, too */
    double far;         /* squared distance to the problem */
    double ratio;       /* logarithm of the time over its own estimate; NaN: there is none */
    double cold;        /* logarithm of the time that decides a race over that: 0 where no cold one is known */
} gt_neighbour;

/* How a family's measurements near the problem compare with their estimates, found once for each family. */
typedef struct gt_family_ratio {
    char family[GT_FAMILY_LENGTH];
    double ratio, cold; /* the means of logarithms */
    double spread;      /* of ratios: the standard deviation */
} gt_family_ratio;

typedef struct gt_neighbours {
    gt_neighbour *list; /* a kernel's own together */
    size_t count;
    gt_family_ratio families[32];
    size_t family_count;
} gt_neighbours;

/* The squared distance of two sizes in log-space: a product of sizes tells nothing, 256x4096 and 1024x1024 are far
 * apart. */
double gt_neighbours_distance2(const gt_problem *a, const gt_problem *b);

/* The coefficients of a kernel's family for problems of a class. */
const gt_terms *gt_neighbours_coefficients(const gt_measurements *measured, const gt_kernel *kernel,
                                           const gt_class *class);

/* Fills in distances and ratios, once for all kernels and families. */
void gt_neighbours_compare(const gt_device *device, const gt_problem *problem, const gt_measurements *measured,
                           gt_neighbours *all);

/* One kernel on the problem. */
typedef struct gt_prospect {
    size_t nearest; /* of its measurements: a row */
    double us;
    double score; /* what decides a race, cold times as much as us, made worse by distrust: the smallest is chosen */
    int64_t parts; /* of K; 0: as it was made */
} gt_prospect;

/* Corrects a kernel's estimate by the ratios of its own measurements, own[0] to own[count - 1] of the list, and where
 * these are far by those of its family. The score goes by cold times, too: programs run other kernels between. Left out, 353
 * problems of bf16 on an H200 take 1.038 of the best known time by both instead of 1.041. false: no measurement has a ratio. */
bool gt_neighbours_predict(const gt_measurements *measured, gt_neighbours *all, const gt_neighbour *own, size_t count,
                           gt_prospect *prospect);

#endif
