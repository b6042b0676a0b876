/* cuBLAS as a baseline: opened at run time where it is there, run and timed like a candidate. */
#ifndef GT_CUBLAS_H
#define GT_CUBLAS_H

#include "../worker/runner.h"

typedef struct gt_cublas gt_cublas;

/* Finds cuBLAS on the loader's path, in $CUDA_HOME and in the usual toolkit folder, for the current context and this
 * stream. GT_ERROR_UNSUPPORTED if it is not there or does not start. *cublas: gt_cublas_close. */
gt_status gt_cublas_open(const gt_driver *driver, CUstream stream, gt_cublas **cublas);
void gt_cublas_close(gt_cublas *cublas);

/* Its version, "13.1.0". */
const char *gt_cublas_version(const gt_cublas *cublas);

/* The runner; it belongs to the gt_cublas. A problem it does not take fails in prepare(). */
gt_runner *gt_cublas_runner(gt_cublas *cublas);

#endif
