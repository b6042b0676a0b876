/* Ceilings: how many multiply-adds a GPU does a second, and how much it copies, with nothing else to do. What kernels
 * reach is told as a share of them. */
#ifndef GT_CEILING_H
#define GT_CEILING_H

#include "meter.h"

typedef struct gt_ceilings {
    double tflops;   /* 10^12 operations a second, two in a multiply-add; 0: not known */
    double copy_tbs; /* 10^12 bytes a second, read and written together; 0: not known */
} gt_ceilings;

/* Whether products of these types run on the multiply-add units that ceiling.cu has a stream for. */
bool gt_ceilings_have_stream(const gt_types *types);

/* Measures, in about 0.1 s, with ceiling.cu compiled for the types. What cannot be measured stays 0: there is no
 * stream, too little memory is free, the GPU is throttled. Fails only where the driver does. */
gt_status gt_ceilings_measure(const gt_meter *meter, const gt_device *device, const gt_types *types,
                              const gt_code *code, gt_ceilings *ceilings);

/* What a product that takes us microseconds is of them, in percent; 0 where the ceiling is not known. For memory A, B
 * and C count once each: operands that stay in L2 can pass 100. */
double gt_ceilings_peak_percent(const gt_ceilings *ceilings, const gt_problem *problem, double us);
double gt_ceilings_copy_percent(const gt_ceilings *ceilings, const gt_problem *problem, double us);

#endif
