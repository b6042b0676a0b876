/* cuBLAS as a baseline: opened at run time where it is there, run and timed like a candidate. */
#ifndef GT_CUBLAS_H
#define GT_CUBLAS_H

#include "../worker/runner.h"

typedef struct gt_cublas gt_cublas;

/* Who chooses the algorithm. */
typedef enum gt_cublas_choice {
    GT_CUBLAS_HEURISTIC, /* cuBLAS, by what it expects: a program that names none */
    GT_CUBLAS_AUTOTUNE,  /* cuBLAS, by trying them on the first call of each size; from version 13 on */
} gt_cublas_choice;

#define GT_CUBLAS_CHOICES 2

/* Finds cuBLAS on the loader's path, in $CUDA_HOME and in the usual toolkit folder, for the current context and this
 * stream. GT_ERROR_UNSUPPORTED if it is not there or does not start. *cublas: gt_cublas_close. */
gt_status gt_cublas_open(const gt_driver *driver, CUstream stream, gt_cublas **cublas);
void gt_cublas_close(gt_cublas *cublas);

/* Its version, "13.1.0". */
const char *gt_cublas_version(const gt_cublas *cublas);

/* One runner for each choice; they belong to the gt_cublas and race side by side. A problem that cuBLAS does not take
 * fails in prepare(). An autotuned runner's first launch for a size is not to be captured, checked or timed: it tries
 * algorithms, and what it leaves in C need not be the product. */
gt_runner *gt_cublas_runner(gt_cublas *cublas, gt_cublas_choice choice);

#endif
