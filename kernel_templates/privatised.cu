// Shared tiles with private sums: each thread keeps REG elements of one column of C in registers, so that an
// element of B read from shared memory serves REG products.
#include "gemm.cuh"

#ifndef BM
#define BM 32
#endif
#ifndef BN
#define BN 32
#endif
#ifndef REG
#define REG 4
#endif

#define STEP (BM / REG) // rows between two elements of one thread, and rows of threads in the block
static_assert(BM == BN && BM % REG == 0, "tiles are square and a thread has REG whole rows of them");

extern "C" __global__ void __launch_bounds__(STEP *BN) gemm(gt_args g)
{
    __shared__ __align__(16) GT_AB as[BM][BM], bs[BM][BM];
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int i0 = tile.row * BM, j0 = tile.column * BN;
    const int row = threadIdx.x / BN, column = threadIdx.x % BN;

    GT_ACC sums[REG] = {};
    for (gt_int p0 = 0; p0 < g.k; p0 += BM) {
#pragma unroll
        for (int r = row; r < BM; r += STEP) {
            as[r][column] = gt_load_a(g, i0 + r, p0 + column);
            bs[r][column] = gt_load_b(g, p0 + r, j0 + column);
        }
        __syncthreads();
#pragma unroll 16 // a whole tile of 64 would outgrow the instruction cache
        for (int e = 0; e < BM; e++) {
            const GT_AB b = bs[e][column];
#pragma unroll
            for (int r = 0; r < REG; r++)
                sums[r] += as[row + r * STEP][e] * b;
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < REG; r++) {
        const gt_int i = i0 + row + r * STEP, j = j0 + column;
        if (i < g.m && j < g.n)
            gt_store_c(g, i, j, sums[r]);
    }
}
