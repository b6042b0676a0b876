// Shared-memory tiles: a block copies square sub-matrices of A and B, and each element is then read BM times
// from there. Sub-matrices are views with the stride of the whole. PAD columns spread transposing stores over
// the banks.
#include "gemm.cuh"

#ifndef BM
#define BM 32
#endif
#ifndef BN
#define BN 32
#endif
#ifndef PAD
#define PAD 0
#endif

static_assert(BM == BN, "tiles are square");

// A matrix as it is stored, from some element on: height and width are what is left there.
struct view {
    const GT_AB *elements;
    gt_int stride, height, width;
};

// The view that begins `row` tiles down and `column` tiles to the right. Nothing is copied.
__device__ __forceinline__ view sub_matrix(const view &v, gt_int row, gt_int column)
{
    return {v.elements + row * BM * v.stride + column * BM, v.stride, v.height - row * BM,
            v.width - column * BM};
}

__device__ __forceinline__ GT_AB get_element(const view &v, int row, int column)
{
    return row < v.height && column < v.width ? v.elements[row * v.stride + column] : GT_AB();
}

extern "C" __global__ void __launch_bounds__(BM *BN) gemm(gt_args g)
{
    __shared__ __align__(16) GT_AB as[BM][BM + PAD], bs[BM][BM + PAD];
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const int row = threadIdx.x / BM, column = threadIdx.x % BM;
    const view a = {g.a, g.lda, GT_TRANS_A ? g.k : g.m, GT_TRANS_A ? g.m : g.k};
    const view b = {g.b, g.ldb, GT_TRANS_B ? g.n : g.k, GT_TRANS_B ? g.k : g.n};

    GT_ACC sum = 0;
    for (gt_int t = 0; t * BM < g.k; t++) {
        // Always read along stored rows, so that reads coalesce; a transposed operand is transposed back on its way in.
        const view a_sub = GT_TRANS_A ? sub_matrix(a, t, tile.row) : sub_matrix(a, tile.row, t);
        const view b_sub = GT_TRANS_B ? sub_matrix(b, tile.column, t) : sub_matrix(b, t, tile.column);
        (GT_TRANS_A ? as[column][row] : as[row][column]) = get_element(a_sub, row, column);
        (GT_TRANS_B ? bs[column][row] : bs[row][column]) = get_element(b_sub, row, column);
        __syncthreads();
#pragma unroll
        for (int e = 0; e < BM; e++)
            sum += as[row][e] * bs[e][column];
        __syncthreads();
    }
    const gt_int i = tile.row * BM + row, j = tile.column * BN + column;
    if (i < g.m && j < g.n)
        gt_store_c(g, i, j, sum);
}
