/* Values and words as people type them. */
#ifndef GT_VALUES_H
#define GT_VALUES_H

#include "../src/core/device.h"

/* The name nearest to a mistyped word; NULL if none is near. names end with NULL. */
const char *gt_nearest(const char *word, const char *const *names);

/* A whole number within limits; what names it in the failure. */
gt_status gt_integer_parse(const char *what, const char *text, int64_t least, int64_t most, int64_t *value);

/* 10m, 90, 1.5h, 1m30s in seconds; GT_ERROR_INVALID on anything else, on zero and on more than a year. */
gt_status gt_duration_parse(const char *text, double *seconds);

/* 80, 9.0, sm_80 or sm_90a: the model of that architecture, as gt_device_model gives it. */
gt_status gt_arch_parse(const char *text, gt_device *device);

#endif
