// One thread, one element of C, the wrong way round: neighbouring threads on neighbouring rows, so that each
// lane of a warp touches a line of its own of A and of C.
#include "gemm.cuh"

#ifndef BM
#define BM 32
#endif
#ifndef BN
#define BN 32
#endif

GT_ASSERT_FACT(THREADS, BM * BN);

extern "C" __global__ void __launch_bounds__(BM *BN) gemm(gt_args g)
{
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int i = tile.row * BM + threadIdx.x % BM;
    const gt_int j = tile.column * BN + threadIdx.x / BM;
    if (i >= g.m || j >= g.n)
        return;
    GT_ACC sum = 0;
#pragma unroll 1 // left alone, the compiler would climb to the rung "unrolled" by itself
    for (gt_int p = 0; p < g.k; p++)
        sum += *gt_at_a(g, i, p) * *gt_at_b(g, p, j);
    gt_store_c(g, i, j, sum);
}
