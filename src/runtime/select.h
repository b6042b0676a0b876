/* From a problem and what was ever measured to the kernel to run. No I/O: the store has read the measurements. */
#ifndef GT_SELECT_H
#define GT_SELECT_H

#include "../../db/store.h"

#define GT_REASON_LENGTH 256

/* What a caller asks of a kernel beyond the problem itself. */
typedef struct gt_demands {
    bool deterministic;
    double max_error; /* 0: any */
} gt_demands;

typedef struct gt_selection {
    size_t index; /* into the list: one of the chosen kernel's measurements */
    gt_choice choice;
    double expected_us;
    double baseline_us; /* what cuBLAS needs for the same: measured, or expected; 0: not known */
    bool modelled;
    char reason[GT_REASON_LENGTH]; /* one sentence */
} gt_selection;

/*
 * Chooses among the measurements of gt_store_find_measured. Clocks come before models, this GPU before others of its
 * architecture; then a measurement of this very problem (the race's winner, else the fastest), then the smallest
 * predicted time. The same list always gives the same choice. GT_ERROR_NOT_TUNED says what is missing and the
 * command that tunes it; GT_ERROR_MEMORY.
 */
gt_status gt_select(const gt_device *device, const gt_problem *problem, const gt_demands *demands,
                    const gt_measured *list, size_t count, gt_selection *selection);

/*
 * The time in microseconds that a kernel is expected to take on a problem, from its own measurements: list[rows[0]]
 * to list[rows[count - 1]], at least one. *nearest is the row that says most about this problem.
 */
double gt_select_predict(const gt_device *device, const gt_problem *problem, const gt_measured *list,
                         const size_t *rows, size_t count, size_t *nearest);

#endif
