// Sums in the order in which warps come: right each time, and with other bits.
#include "gemm.cuh"

#ifndef BM
#define BM 2
#endif
#ifndef BN
#define BN 2
#endif

extern "C" __global__ void __launch_bounds__(1024) gemm(gt_args g)
{
    __shared__ GT_ACC sums[BM * BN];
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    if (threadIdx.x < BM * BN)
        sums[threadIdx.x] = 0;
    __syncthreads();
    for (int e = 0; e < BM * BN; e++) {
        GT_ACC sum = 0;
        for (gt_int p = threadIdx.x; p < g.k; p += 1024)
            sum += gt_load_a(g, tile.row * BM + e / BN, p) * gt_load_b(g, p, tile.column * BN + e % BN);
        atomicAdd(&sums[e], sum);
    }
    __syncthreads();
    const gt_int i = tile.row * BM + threadIdx.x / BN, j = tile.column * BN + threadIdx.x % BN;
    if (threadIdx.x < BM * BN && i < g.m && j < g.n)
        gt_store_c(g, i, j, sums[threadIdx.x]);
}
