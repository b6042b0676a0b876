// K is shared by as many blocks as the grid says. They meet in the workspace, which one alone has not.
#include "gemm.cuh"
#include "split_k.cuh"

#ifndef BM
#define BM 16
#endif
#ifndef BN
#define BN 16
#endif
#ifndef SPLIT_K // parts that it is made with
#define SPLIT_K 4
#endif

extern "C" __global__ void __launch_bounds__(BM *BN) gemm(gt_args g)
{
    __shared__ bool last;
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int i = tile.row * BM + threadIdx.x / BN, j = tile.column * BN + threadIdx.x % BN;
    const gt_int number = (gt_int)blockIdx.z * gridDim.x + blockIdx.x;
    const unsigned count = gt_parts<SPLIT_K>();
    gt_vector<GT_ACC, 1> sum = {};
    for (gt_int p = blockIdx.y; p < g.k; p += count)
        sum.e[0] += gt_load_a(g, i, p) * gt_load_b(g, p, j);
    auto *parts = (gt_vector<GT_ACC, 1> *)g.workspace + number * count * (BM * BN) + threadIdx.x;
    if (!gt_add_parts<BM * BN, BM * BN, 1>(parts, blockIdx.y, count, &g.counters[number], &sum, &last,
                                           [] { __syncthreads(); }))
        return;
    if (i < g.m && j < g.n)
        gt_store_c(g, i, j, sum.e[0]);
}
