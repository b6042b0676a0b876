/* cuBLASLt as a baseline: opened at run time where it is there; each algorithm that its heuristics offer for a problem
 * can be run and timed like a candidate. */
#ifndef GT_CUBLASLT_H
#define GT_CUBLASLT_H

#include "../worker/runner.h"

typedef struct gt_cublaslt gt_cublaslt;

/* Finds cuBLASLt where cuBLAS is looked for, for the current context and this stream. GT_ERROR_UNSUPPORTED if it is not
 * there or does not start. *cublaslt: gt_cublaslt_close. */
gt_status gt_cublaslt_open(const gt_driver *driver, CUstream stream, gt_cublaslt **cublaslt);
void gt_cublaslt_close(gt_cublaslt *cublaslt);

/* Its version, "13.1.0". */
const char *gt_cublaslt_version(const gt_cublaslt *cublaslt);

/* The runner; it belongs to the gt_cublaslt. prepare() asks for all algorithms for a problem, the one that is expected
 * to be the fastest first, and chooses that one; asked again for the same problem it keeps what is chosen. A problem
 * that there is no algorithm for fails there. */
gt_runner *gt_cublaslt_runner(gt_cublaslt *cublaslt);

/* How many algorithms were offered for the prepared problem, and which of them runs from now on. */
int gt_cublaslt_offers(const gt_cublaslt *cublaslt);
void gt_cublaslt_choose(gt_cublaslt *cublaslt, int index);

#endif
