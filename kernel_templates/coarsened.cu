// Thread coarsening: one thread, COARSE neighbouring columns, one after the other. Nothing is shared between
// them, and a warp's reads of B spread over COARSE times as many lines: slower than one column a thread,
// which is the lesson.
#include "gemm.cuh"

#ifndef BM
#define BM 16
#endif
#ifndef BN
#define BN 64
#endif
#ifndef COARSE
#define COARSE 4
#endif

#define WIDTH (BN / COARSE) // threads along a row
static_assert(BN % COARSE == 0, "a thread has COARSE whole columns");

extern "C" __global__ void __launch_bounds__(BM *WIDTH) gemm(gt_args g)
{
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int i = tile.row * BM + threadIdx.x / WIDTH;
    const gt_int first = tile.column * BN + threadIdx.x % WIDTH * COARSE;
    if (i >= g.m)
        return;
#pragma unroll 1 // merged, the columns would share their reads of A
    for (gt_int j = first; j < first + COARSE && j < g.n; j++) {
        GT_ACC sum = 0;
#pragma unroll 1
        for (gt_int p = 0; p < g.k; p++)
            sum += *gt_at_a(g, i, p) * *gt_at_b(g, p, j);
        gt_store_c(g, i, j, sum);
    }
}
