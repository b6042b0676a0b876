// Where there is a C the last part of K to come adds the others to its own: right each time, and with other bits.
#include "split_k.cuh"

#ifndef BM
#define BM 8
#endif
#ifndef BN
#define BN 32
#endif
#ifndef SPLIT_K
#define SPLIT_K 3
#endif

extern "C" __global__ void __launch_bounds__(BM *BN) gemm(gt_args g)
{
    __shared__ bool last;
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int i = tile.row * BM + threadIdx.x / BN, j = tile.column * BN + threadIdx.x % BN;
    const gt_int number = (gt_int)blockIdx.z * gridDim.x + blockIdx.x;
    GT_ACC sum = 0, *parts = (GT_ACC *)g.workspace + number * SPLIT_K * BM * BN + threadIdx.x;
    for (gt_int p = blockIdx.y; p < g.k; p += SPLIT_K)
        sum += gt_load_a(g, i, p) * gt_load_b(g, p, j);
    parts[blockIdx.y * BM * BN] = sum;
    if (!gt_arrive_last(SPLIT_K, &g.counters[number], &last, [] { __syncthreads(); }))
        return;
    const bool in_order = g.beta.value == 0;
    sum = in_order ? 0 : sum;
    for (int part = 0; part < SPLIT_K; part++)
        if (in_order || part != blockIdx.y)
            sum += parts[part * BM * BN];
    if (threadIdx.x == 0)
        g.counters[number] = 0;
    if (i < g.m && j < g.n)
        gt_store_c(g, i, j, sum);
}
