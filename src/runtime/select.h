/* From a problem and what was ever measured to the kernel to run. No I/O: the store has read the measurements. */
#ifndef GT_SELECT_H
#define GT_SELECT_H

#include "neighbours.h"

#define GT_REASON_LENGTH 320

/* What a caller asks of a kernel beyond the problem itself. */
typedef struct gt_demands {
    bool deterministic;
    bool epilogue;    /* it applies one, and reads C beside D */
    double max_error; /* that a kernel's bound may be, gt_error_bound; 0: any */
    bool as_made;     /* kernels are launched as they were measured */
    size_t refused;   /* so many bytes of workspace could not be had: fewer than that; 0: as many as the device has */
    const char *db_option; /* no demand: of the command that a message names, " --db PATH"; NULL: "" */
} gt_demands;

typedef struct gt_selection {
    size_t index; /* into the list: one of the chosen kernel's measurements */
    gt_choice choice;
    int64_t parts; /* of K, in which it is to be launched; 0: as it was made */
    double expected_us;
    double baseline_us; /* what cuBLAS needs for the same: measured, or expected; 0: not known */
    bool modelled;
    char reason[GT_REASON_LENGTH]; /* one sentence; where it was estimated, from what, and the two next best */
} gt_selection;

/*
 * Chooses among the measurements of gt_store_find_measured. Clocks come before models, this GPU before others of its
 * architecture; then a measurement of this very problem (the race's winner, else what would win one), then the smallest
 * estimated time. The same list always gives the same choice. GT_ERROR_NOT_TUNED says what is missing and the
 * command that tunes it; GT_ERROR_MEMORY.
 */
gt_status gt_select(const gt_device *device, const gt_problem *problem, const gt_demands *demands,
                    const gt_measurements *measured, gt_selection *selection);

/* Whether the choice of a math that serves `math` is to be taken where that one's own was estimated: by expected times, unless
 * one was measured on another GPU model. */
bool gt_selection_serves(const gt_selection *serving, const gt_selection *own, gt_math math);

/* The kernels of a list that would be chosen for a problem that none was measured on, at most limit, best first. */
gt_status gt_select_prospects(const gt_device *device, const gt_problem *problem, const gt_demands *demands,
                              const gt_measurements *measured, gt_prospect *best, size_t limit, size_t *count);

/* The chosen kernel of a list, as it is to be launched. */
gt_kernel gt_selection_kernel(const gt_measurements *measured, const gt_selection *selection);

/* The smallest bound of all measured kernels that can run a problem; INFINITY where there are none. */
double gt_select_least_bound(const gt_problem *problem, const gt_measurements *measured);

/* The least time in microseconds that the estimate alone, without what was measured near, gives any of the kernels on a problem;
 * INFINITY where none can run it. */
gt_status gt_select_least_estimate(const gt_device *device, const gt_problem *problem, const gt_measurements *measured,
                                   double *us);

#endif
