// Coalesced, with UNROLL steps of K in one turn of the loop: fewer branches, and the loads of all steps in
// flight before the first product.
#include "gemm.cuh"

#ifndef BM
#define BM 16
#endif
#ifndef BN
#define BN 32
#endif
#ifndef UNROLL
#define UNROLL 4
#endif

extern "C" __global__ void __launch_bounds__(BM *BN) gemm(gt_args g)
{
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int i = tile.row * BM + threadIdx.x / BN;
    const gt_int j = tile.column * BN + threadIdx.x % BN;
    if (i >= g.m || j >= g.n)
        return;
    GT_ACC sum = 0;
    gt_int p = 0;
#pragma unroll 1
    for (; p + UNROLL <= g.k; p += UNROLL) {
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            sum += *gt_at_a(g, i, p + u) * *gt_at_b(g, p + u, j);
    }
#pragma unroll 1
    for (; p < g.k; p++)
        sum += *gt_at_a(g, i, p) * *gt_at_b(g, p, j);
    gt_store_c(g, i, j, sum);
}
