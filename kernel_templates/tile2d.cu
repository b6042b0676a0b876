// 2D register tile: each thread has TM x TN elements of C and reads TM + TN values from shared memory for TM
// * TN products. STRIDED spreads a thread's rows and columns over the block's tile; otherwise they are
// neighbours.
#include "gemm.cuh"
#include "tile_copy.cuh"

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 8
#endif
#ifndef TM
#define TM 8
#endif
#ifndef TN
#define TN 8
#endif
#ifndef STRIDED
#define STRIDED 0
#endif

#define THREADS (BM / TM * (BN / TN))
static_assert(BM % TM == 0 && BN % TN == 0, "a thread has whole rows and columns");

// At least 16 warps on a multiprocessor: the compiler would take a few registers too many for that.
extern "C" __global__ void __launch_bounds__(THREADS, THREADS < 512 ? 512 / THREADS : 1) gemm(gt_args g)
{
    __shared__ __align__(16) GT_AB as[BM][BK], bs[BK][BN];
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int i0 = tile.row * BM, j0 = tile.column * BN;
    const int rows = gt_clip(g.m - i0, BM), columns = gt_clip(g.n - j0, BN);
    constexpr int down = STRIDED ? BM / TM : 1, right = STRIDED ? BN / TN : 1; // to a thread's next element
    const int row = threadIdx.x / (BN / TN) * (STRIDED ? 1 : TM);
    const int column = threadIdx.x % (BN / TN) * (STRIDED ? 1 : TN);

    GT_ACC sums[TM][TN] = {};
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
            GT_AB a[TM], b[TN];
#pragma unroll
            for (int r = 0; r < TM; r++)
                a[r] = as[row + r * down][p];
#pragma unroll
            for (int c = 0; c < TN; c++)
                b[c] = bs[p][column + c * right];
#pragma unroll
            for (int r = 0; r < TM; r++)
#pragma unroll
                for (int c = 0; c < TN; c++)
                    sums[r][c] += a[r] * b[c];
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < TM; r++) {
        if (row + r * down >= rows)
            break;
#pragma unroll
        for (int c = 0; c < TN; c++)
            if (column + c * right < columns)
                gt_store_c(g, i0 + row + r * down, j0 + column + c * right, sums[r][c]);
    }
}
