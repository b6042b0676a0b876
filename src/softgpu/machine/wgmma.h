/* Products of a warpgroup: decode_wgmma.c makes their operations of PTX, exec_wgmma.c runs them. */
#ifndef SG_WGMMA_H
#define SG_WGMMA_H

#include "warp.h"

#define SG_WGMMA_COLUMNS 256 /* of a product, at most */

/* What one product is: op->list. */
typedef struct sg_wgmma_plan {
    uint32_t n, k;
    uint32_t type_a, type_b, type_d;
    uint32_t in_registers; /* A: its rows of registers; else a[0] is a descriptor's */
    uint32_t a[4], b;
    uint32_t scale_d;    /* predicate: whether D counts as it is, or as zeros */
    uint32_t negative;   /* the product is taken away */
    uint32_t trans_a, trans_b; /* M or N lies contiguous, not K */
    uint32_t saturates;
    uint32_t count_d, d[SG_WGMMA_COLUMNS / 2];
    uint32_t count_held, held[SG_WGMMA_COLUMNS / 2 + 4]; /* numbers of D's registers and A's; 0: of none */
} sg_wgmma_plan;

/* The handlers. Of a wait op->imm is how many groups may still be under way. */
sg_run sg_wgmma_multiply, sg_wgmma_fence, sg_wgmma_commit, sg_wgmma_wait;

/* Before a block begins, and when its storage goes. */
void sg_wgmma_reset(sg_block *block);
void sg_wgmma_finish(sg_block *block);

#endif
