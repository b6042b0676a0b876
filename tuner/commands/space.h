/* What the commands space and render share. */
#ifndef GT_CMD_SPACE_H
#define GT_CMD_SPACE_H

#include "options.h"
#include "../search/space.h"

/* The distinct values of a column, sorted, over the rows marked true (rows NULL: all). *values: free(). */
gt_status gt_space_domain(const gt_space *space, int column, const bool *rows, int64_t **values, size_t *count);

/* gt_options_device, with a note on standard error where it had to assume an architecture. */
gt_status gt_space_device(const gt_options_cli *options, gt_device *device);

#endif
