/* Tuning on all GPUs of a machine: this program once more for each of them, all into one database. */
#ifndef GT_SIDE_BY_SIDE_H
#define GT_SIDE_BY_SIDE_H

#include "options.h"

/*
 * tune --device all. GPUs of one model share the problems, each has its shard; every model has all of them. What a
 * tuner that fails leaves undone is tuned at the end by another GPU of its model, which tries every winner on every
 * problem and prints the table. Returns a command's status.
 */
int gt_tune_side_by_side(const gt_options_cli *options);

#endif
