/* A rough estimate of a configuration's time, to decide what to try first. Never shown, never stored. */
#ifndef GT_MODEL_H
#define GT_MODEL_H

#include "space.h"

/* Microseconds; infinite where not even one block fits an SM. */
double gt_model_us(const gt_space *space, size_t row, const gt_device *device, const gt_problem *problem);

#endif
