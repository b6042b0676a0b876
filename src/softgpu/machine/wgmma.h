/* Warpgroups' products under way. */
#ifndef SG_WGMMA_H
#define SG_WGMMA_H

#include "warp.h"

/* Before a block begins, and when its storage goes. */
void sg_wgmma_reset(sg_block *block);
void sg_wgmma_finish(sg_block *block);

#endif
