/* Code that no program will ever load is not kept. */
#ifndef GT_TRIM_H
#define GT_TRIM_H

#include "../../db/store.h"

/*
 * Drops the code of a type's kernels that the library would take for none of many sizes, drawn in every layout and
 * alignment, and that won no race; what was measured of them stays. Kernels that were tried on other GPUs are left
 * alone. *dropped says how many there were.
 */
gt_status gt_trim(gt_store *store, const gt_device *device, int64_t gpu, const gt_types *types, size_t *dropped);

#endif
