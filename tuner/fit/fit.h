/* Fits the coefficients of the estimate (src/estimate/estimate.h) to measurements, and says how good it is then. */
#ifndef GT_FIT_H
#define GT_FIT_H

#include "../../db/store.h"

/* How well estimates of one family agree with its measurements: medians of |log(estimate / time)|. */
typedef struct gt_fit_family {
    gt_fitted fitted;
    size_t trials;
    double shipped; /* by the shipped coefficients */
    double error;   /* by those fitted to all */
    double held_out; /* of one half of the problems by coefficients fitted to the other, both ways; 0: too few */
} gt_fit_family;

/* How good choices are for sizes that were not measured: each problem in turn is left out, and a kernel chosen for it
 * among those that were measured there. */
typedef struct gt_fit_choices {
    size_t problems;
    double mean, worst; /* the chosen kernel's time over the best one's: geometric mean, and largest */
    gt_problem worst_problem;
    double among_first; /* share of problems whose best kernel is among the 8 that are expected to be fastest */
} gt_fit_choices;

/* How well estimates order what was measured on one problem: Spearman's rank correlation, the mean of all problems that
 * have enough trials; 1 is the same order. */
typedef struct gt_fit_order {
    size_t problems;
    double before, after; /* by the shipped coefficients, and by the fitted ones */
} gt_fit_order;

typedef struct gt_fit {
    gt_fit_family *families; /* by name */
    size_t count;
    gt_fit_choices before, after; /* by the shipped coefficients; by the fitted ones; none where they are not judged */
    gt_fit_order order;           /* the same */
} gt_fit;

/* Fits to the measurements of some lists, each of one class, on one device. Their own coefficients and estimates do not
 * count. fit: gt_fit_finish, also after a failure. */
gt_status gt_fit_init(const gt_device *device, const gt_measurements *lists, size_t count, bool judge, gt_fit *fit);
void gt_fit_finish(gt_fit *fit);

/* Judges estimates by the shipped coefficients and by fitted ones, fit->count of them. */
gt_status gt_fit_judge(const gt_device *device, const gt_measurements *lists, size_t count, const gt_fitted *fitted,
                       gt_fit *fit);

#define GT_FIT_LISTS 4 /* a layout each */

/* What a store has of some types, for a fit: each list is the caller's, gt_measurements_finish. */
gt_status gt_fit_read(gt_store *store, const gt_device *device, const gt_types *types, gt_measurements lists[GT_FIT_LISTS]);

/* Puts the coefficients of the families that had enough trials. */
gt_status gt_fit_store(gt_store *store, int64_t gpu, const gt_types *types, const gt_fit *fit);

/* All of that for what a store has of some types. */
gt_status gt_fit_stored(gt_store *store, const gt_device *device, int64_t gpu, const gt_types *types);

#endif
