/* Code that no program will ever load is not kept. */
#ifndef GT_TRIM_H
#define GT_TRIM_H

#include "../../db/store.h"

/*
 * Drops the code of a type's kernels that won no race and without which sizes that nobody tuned, drawn in every layout and
 * alignment, would take no longer; and then of those that such sizes miss least, until what is left of the type has a limit of
 * bytes. What was measured of them stays. Kernels that were tried on other GPUs are left alone. *dropped says how many there
 * were.
 */
gt_status gt_trim(gt_store *store, const gt_device *device, int64_t gpu, const gt_types *types, size_t *dropped);

#endif
