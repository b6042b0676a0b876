/* Baselines: other libraries' products on the same problem, in the same race. */
#ifndef GT_BASELINE_H
#define GT_BASELINE_H

#include <stddef.h>

#include "../../db/trial.h"

typedef enum gt_baseline_id {
    GT_BASELINE_CUBLAS,   /* as a program calls it that names no algorithm */
    GT_BASELINE_CUBLASLT, /* the fastest of all algorithms that its heuristics offer */
    GT_BASELINE_AUTOTUNE, /* cuBLAS, with the algorithm that it finds fastest itself */
} gt_baseline_id;

#define GT_BASELINE_COUNT      3
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

/* The name in the database and on the screen, "cublas", "cublaslt", "cublas_autotune"; never NULL. */
const char *gt_baseline_name(size_t id);

/* The index of the fastest one, launches back to back; -1 if none has a time. */
int gt_baseline_best(const gt_baseline baselines[GT_BASELINE_COUNT]);

/* The least time in microseconds with L2 flushed before each launch; 0 if none has one. */
double gt_baseline_cold_us(const gt_baseline baselines[GT_BASELINE_COUNT]);

#endif
