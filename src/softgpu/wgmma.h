/* Warpgroups' products under way: what they read may not be written before somebody has waited for them. */
#ifndef SG_WGMMA_H
#define SG_WGMMA_H

#include "warp.h"

/* Before a block begins, and when its storage goes. */
void sg_wgmma_reset(sg_block *block);
void sg_wgmma_finish(sg_block *block);

/* Whether bytes of a block's shared memory may be written; false after a fault. Only where block->reading is there. */
bool sg_wgmma_lets_write(sg_warp *w, const sg_op *op, int lane, const sg_block *block, uint32_t at, uint32_t size);

#endif
