/* What measurements near a problem say of the time that kernels take on it. */
#ifndef GT_NEIGHBOURS_H
#define GT_NEIGHBOURS_H

#include "../../db/store.h"

/* A prediction is trusted less the farther it reaches: so much of it for each factor of e in the sizes. Of many
 * kernels with optimistic and pessimistic predictions, the smallest is likely an optimistic one. */
#define GT_DISTRUST 0.10

/* A measurement that may be used. */
typedef struct gt_neighbour {
    size_t row;         /* in the list */
    double estimate_us; /* of its kernel on the problem */
    int64_t parts;      /* of K, in which the kernel would be launched; 0: as it was made */
    double far;         /* squared distance to the problem */
    double ratio;       /* logarithm of the time over its own estimate; NaN: there is none */
} gt_neighbour;

/* What a family's measurements near the problem are over their estimates, found once for each. */
typedef struct gt_family_ratio {
    char family[GT_FAMILY_LENGTH];
    double ratio;
} gt_family_ratio;

typedef struct gt_neighbours {
    gt_neighbour *list; /* a kernel's own together */
    size_t count;
    gt_family_ratio families[32];
    size_t family_count;
} gt_neighbours;

/* The coefficients of a kernel's family. */
const gt_terms *gt_neighbours_coefficients(const gt_measurements *measured, const gt_kernel *kernel);

/* Fills in distances and ratios, once for all kernels and families. */
void gt_neighbours_compare(const gt_device *device, const gt_problem *problem, const gt_measurements *measured,
                           gt_neighbours *all);

/* One kernel on the problem. */
typedef struct gt_prospect {
    size_t nearest; /* of its measurements: a row */
    double us;
    double score; /* us, and more the less it is trusted */
    int64_t parts; /* of K; 0: as it was made */
} gt_prospect;

/* What a kernel's own measurements, own[0] to own[count - 1] of the list, make of its estimate, and those of its family
 * where they are far; false where there is nothing to go by. */
bool gt_neighbours_predict(const gt_measurements *measured, gt_neighbours *all, const gt_neighbour *own, size_t count,
                           gt_prospect *prospect);

#endif
