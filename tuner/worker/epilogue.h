/* Epilogues on the host: what is right, and how far from it a result may lie. Shares no code with the templates. */
#ifndef GT_WORKER_EPILOGUE_H
#define GT_WORKER_EPILOGUE_H

#include "../../src/core/problem.h"

/* alpha * sum + beta * c, once the bias has been added, in the arithmetic of the types. */
double gt_epilogue_add(const gt_types *types, double value, double bias);

/* relu or gelu of a number. */
double gt_epilogue_activate(gt_epilogue epilogue, double value);

/*
 * How far a result may lie from the epilogue of `value`, which a kernel has within `bound` before it adds the bias;
 * rounding the result to C's type is not counted. 0 where the value is not finite: then there is one right result.
 */
double gt_epilogue_bound(const gt_types *types, gt_epilogue epilogue, double value, double bias, double bound);

#endif
