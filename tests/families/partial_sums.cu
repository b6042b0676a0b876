// K is shared by blocks that meet in the workspace: a kernel that has one, whatever the product's size.
#include "gemm.cuh"
#include "split_k.cuh"

#ifndef BM
#define BM 16
#endif
#ifndef BN
#define BN 16
#endif
#ifndef SPLIT_K
#define SPLIT_K 4
#endif

extern "C" __global__ void __launch_bounds__(BM *BN) gemm(gt_args g)
{
    __shared__ bool last;
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int i = tile.row * BM + threadIdx.x / BN, j = tile.column * BN + threadIdx.x % BN;
    const gt_int number = (gt_int)blockIdx.z * gridDim.x + blockIdx.x;
    GT_ACC *parts = (GT_ACC *)g.workspace + number * SPLIT_K * (BM * BN) + threadIdx.x, sum = 0;
    for (gt_int p = blockIdx.y; p < g.k; p += SPLIT_K)
        sum += gt_load_a(g, i, p) * gt_load_b(g, p, j);
    parts[blockIdx.y * (BM * BN)] = sum;
    if (!gt_arrive_last(SPLIT_K, &g.counters[number], &last, [] { __syncthreads(); }))
        return;
    if (threadIdx.x == 0)
        g.counters[number] = 0;
    sum = 0;
    for (int s = 0; s < SPLIT_K; s++)
        sum += parts[s * (BM * BN)];
    if (i < g.m && j < g.n)
        gt_store_c(g, i, j, sum);
}
