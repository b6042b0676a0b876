/* Tuning on one GPU: the list of problems, how they end, and what is fitted and kept afterwards. */
#ifndef GT_TUNE_DEVICE_H
#define GT_TUNE_DEVICE_H

#include "options.h"

/* tune on the options' one GPU. since is NULL, or when tuners of parts of the list began, "2026-11-16 12:00:00": what
 * they tried counts as tried. */
int gt_tune_device(const gt_options_cli *options, const char *since);

#endif
