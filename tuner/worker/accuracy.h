/*
 * How accurate results are at a problem's size: their errors over the sum of |a||b|, against sums in f64, in all
 * elements of some rows, on data that programs have and on data that is hard to sum.
 */
#ifndef GT_ACCURACY_H
#define GT_ACCURACY_H

#include "buffers.h"

typedef enum gt_data_kind {
    GT_DATA_NORMAL,
    GT_DATA_UNIFORM,    /* in [0,1): errors that have a sign add up */
    GT_DATA_WIDE,       /* normal, times 2^-10 to 2^10 */
    GT_DATA_WIDEST,     /* normal, times 2^-40 to 2^40 */
    GT_DATA_CANCELLING, /* normal; the second half of a sum takes back the first one, but for 1e-5 of each product */
} gt_data_kind;

#define GT_DATA_KINDS 5

/* What tables call it; never NULL. */
const char *gt_data_name(gt_data_kind kind);

/* Whether errors are measured of these types: not of integers, nor of floats that have no such numbers. */
bool gt_accuracy_offered(const gt_types *types);

/* How one fared. No pointers inside: a worker sends it as it is. */
typedef struct gt_accuracy {
    gt_trial trial;      /* outcome other than GT_TRIAL_OK: it did not run */
    double largest, rms; /* infinite where a result is not finite */
} gt_accuracy;

/* A problem with its data on the device, and what should come out of some of its rows. */
typedef struct gt_accuracy_case {
    gt_buffers *buffers;
    int64_t rows;              /* that are looked at */
    double *exact, *magnitude; /* of their elements, row after row */
} gt_accuracy_case;

/* Draws the data from a seed. false: *trial says why not. *made: gt_accuracy_finish, also then. */
bool gt_accuracy_prepare(gt_buffers *buffers, const gt_problem *problem, gt_data_kind kind, uint64_t seed,
                         gt_accuracy_case *made, gt_trial *trial);

/* Runs it and compares. */
void gt_accuracy_measure(const gt_accuracy_case *made, gt_runner *runner, gt_accuracy *accuracy);

void gt_accuracy_finish(gt_accuracy_case *made);

#endif
