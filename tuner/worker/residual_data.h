/* Between the two files of residual.h: the data that a candidate is checked on, and the checks. */
#ifndef GT_RESIDUAL_DATA_H
#define GT_RESIDUAL_DATA_H

#include "residual.h"

enum { GT_ROWS, GT_COLUMNS };

/* One side of C applied to a vector, or of its squares; 0: a vector of ones. */
CUresult gt_residual_apply_c(const gt_residual *residual, int64_t index, int side, bool squares, CUdeviceptr vector,
                             double *out);

/* The sampled elements of C. */
CUresult gt_residual_gather(const gt_residual *residual, int64_t index, double *out);

/* A number that stands for the bits of C's checked products; of A and B with all that lies between their rows. */
bool gt_residual_sum_c(gt_residual *residual, uint64_t *sum, gt_trial *trial);
bool gt_residual_sum_ab(gt_residual *residual, uint64_t *sum, gt_trial *trial);

#endif
