/* Baselines: other libraries' products on the same problem, in the same race. */
#ifndef GT_BASELINE_H
#define GT_BASELINE_H

#include <stddef.h>

#include "../../db/trial.h"

typedef enum gt_baseline_id {
    GT_BASELINE_CUBLAS,   /* as a program calls it that names no algorithm */
    GT_BASELINE_CUBLASLT, /* the fastest of all algorithms that its heuristics offer */
} gt_baseline_id;

#define GT_BASELINE_COUNT      2
#define GT_BASELINE_BIT(id)    (1u << (id))
#define GT_BASELINES_ALL       ((1u << GT_BASELINE_COUNT) - 1)
#define GT_BASELINE_VERSION    16

/* How one fared. No pointers inside: a worker sends it as it is. */
typedef struct gt_baseline {
    gt_trial trial;                 /* outcome other than GT_TRIAL_OK: it did not race */
    char version[GT_BASELINE_VERSION]; /* "13.1.0"; "" if it is not there */
    int algorithms;                 /* of how many the fastest ran */
    int reserved;
} gt_baseline;

/* The name in the database and on the screen, "cublas", "cublaslt"; never NULL. */
const char *gt_baseline_name(size_t id);

/* The index of the faster one; -1 if none has a time. */
int gt_baseline_best(const gt_baseline baselines[GT_BASELINE_COUNT]);

#endif
