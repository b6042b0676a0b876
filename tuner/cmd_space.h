/* What the commands space and render share. */
#ifndef GT_CMD_SPACE_H
#define GT_CMD_SPACE_H

#include "options.h"
#include "space.h"

/* A family by its name; the failure names the nearest one, or all. */
gt_status gt_space_find_family(const gt_families *families, const char *name, const gt_family **family);

/* The distinct values of a column, sorted, over the rows marked true (rows NULL: all). *values: free(). */
gt_status gt_space_domain(const gt_space *space, int column, const bool *rows, int64_t **values, size_t *count);

/* gt_options_device, with a note on standard error where it had to assume an architecture. */
gt_status gt_space_device(const gt_options_cli *options, gt_device *device);

#endif
