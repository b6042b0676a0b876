// 1D tile: each thread has TM neighbouring rows of one column of the block's tile, and K goes by in slices of
// BK thin enough for the block to load.
#include "gemm.cuh"
#include "tile_copy.cuh"

#ifndef BM
#define BM 64
#endif
#ifndef BN
#define BN 64
#endif
#ifndef BK
#define BK 8
#endif
#ifndef TM
#define TM 8
#endif

#define THREADS (BM / TM * BN)
static_assert(BM % TM == 0, "a thread has TM whole rows");

// As many warps on a multiprocessor as the sums leave registers for: 64 a thread, or 128.
extern "C" __global__ void __launch_bounds__(THREADS, (TM > 8 ? 512 : 1024) / THREADS) gemm(gt_args g)
{
    __shared__ __align__(16) GT_AB as[BM][BK], bs[BK][BN];
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int i0 = tile.row * BM, j0 = tile.column * BN;
    const int rows = gt_clip(g.m - i0, BM), columns = gt_clip(g.n - j0, BN);
    const int row = threadIdx.x / BN * TM, column = threadIdx.x % BN;

    GT_ACC sums[TM] = {};
    for (gt_int p0 = 0; p0 < g.k; p0 += BK) {
        gt_carrier<BM, BK, GT_A_ALONG_K, THREADS, 1> a_tile(gt_at_a(g, i0, p0), g.lda);
        gt_carrier<BN, BK, GT_B_ALONG_K, THREADS, 1> b_tile(gt_at_b(g, p0, j0), g.ldb);
        a_tile.fetch(rows, gt_clip(g.k - p0, BK));
        b_tile.fetch(columns, gt_clip(g.k - p0, BK));
        a_tile.deposit<BK, 1>(as[0]);
        b_tile.deposit<1, BN>(bs[0]);
        __syncthreads();
#pragma unroll 4 // the compiler reads A along K in vectors: four steps are one, more only fill registers
        for (int p = 0; p < BK; p++) {
            const GT_AB b = bs[p][column];
#pragma unroll
            for (int r = 0; r < TM; r++)
                sums[r] += as[row + r][p] * b;
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < TM; r++)
        if (i0 + row + r < g.m && j0 + column < g.n)
            gt_store_c(g, i0 + row + r, j0 + column, sums[r]);
}
