// Warp tile: block, warp and thread each have their tile. A warp goes over its WM x WN in sub-tiles with
// TM x TN elements a thread, so that the 32 lanes read few, neighbouring vectors of shared memory. The next
// tile travels from global memory to registers under the products.
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
#ifndef WM
#define WM 64
#endif
#ifndef WN
#define WN 32
#endif
#ifndef WNITER // sub-tiles along WN
#define WNITER 2
#endif
#ifndef TM
#define TM 4
#endif
#ifndef TN
#define TN 4
#endif
#ifndef BUFFERS // tiles in shared memory: 1 or 2
#define BUFFERS 2
#endif

#define THREADS (BM / WM * (BN / WN) * 32)
#define WMITER  (WM * WN / (32 * TM * TN * WNITER)) // sub-tiles along WM
#define SUBM    (WM / WMITER)
#define SUBN    (WN / WNITER)
#define PITCH_A (BM + (GT_A_ALONG_K ? 4 : 0)) // transposing stores then meet half as often on a bank
#define PITCH_B (BN + (GT_B_ALONG_K ? 4 : 0))
static_assert(sizeof(GT_AB) == 4 && sizeof(GT_C) == 4 && TM % 4 == 0 && TN % 4 == 0,
              "four elements make a vector");
static_assert(BM % WM == 0 && BN % WN == 0 && (BUFFERS == 1 || BUFFERS == 2), "a block has whole warps");
static_assert(WMITER > 0 && WM % WMITER == 0 && WN % WNITER == 0 && (SUBM / TM) * (SUBN / TN) == 32,
              "the 32 lanes cover a sub-tile");

// Up to 64 sums leave room for 16 warps on a multiprocessor, more for 8.
extern "C" __global__ void __launch_bounds__(THREADS, (WM * WN > 2048 ? 256 : 512) / THREADS) gemm(gt_args g)
{
    __shared__ __align__(16) GT_AB as[BUFFERS][BK][PITCH_A], bs[BUFFERS][BK][PITCH_B];
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int i0 = tile.row * BM, j0 = tile.column * BN;
    const int rows = gt_clip(g.m - i0, BM), columns = gt_clip(g.n - j0, BN);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (BN / WN) * WM + lane / (SUBN / TN) * TM;
    const int column = warp % (BN / WN) * WN + lane % (SUBN / TN) * TN;

    GT_ACC sums[WMITER * TM][WNITER * TN] = {};
    gt_carrier<BM, BK, GT_A_ALONG_K, THREADS, GT_WIDE_AB> a_next(gt_at_a(g, i0, 0), g.lda);
    gt_carrier<BN, BK, GT_B_ALONG_K, THREADS, GT_WIDE_AB> b_next(gt_at_b(g, 0, j0), g.ldb);
    a_next.fetch(rows, gt_clip(g.k, BK));
    b_next.fetch(columns, gt_clip(g.k, BK));
    bool odd = false; // which buffer
    for (gt_int left = g.k; left > 0; left -= BK) {
        // With two buffers, the barrier of the turn before already says that all have left this one.
        if (BUFFERS == 1)
            __syncthreads();
        a_next.deposit<1, PITCH_A>(as[odd][0]);
        b_next.deposit<1, PITCH_B>(bs[odd][0]);
        __syncthreads();
        if (left > BK) {
            a_next.fetch(rows, gt_clip(left - BK, BK));
            b_next.fetch(columns, gt_clip(left - BK, BK));
        }
#pragma unroll
        for (int p = 0; p < BK; p++) {
            GT_AB a[WMITER * TM], b[WNITER * TN];
#pragma unroll
            for (int r = 0; r < WMITER * TM; r++)
                a[r] = as[odd][p][row + r / TM * SUBM + r % TM];
#pragma unroll
            for (int c = 0; c < WNITER * TN; c++)
                b[c] = bs[odd][p][column + c / TN * SUBN + c % TN];
#pragma unroll
            for (int r = 0; r < WMITER * TM; r++)
#pragma unroll
                for (int c = 0; c < WNITER * TN; c++)
                    sums[r][c] += a[r] * b[c];
        }
        odd = BUFFERS == 2 && !odd;
    }
#pragma unroll
    for (int r = 0; r < WMITER * TM; r++) {
        const int i = row + r / TM * SUBM + r % TM;
        if (i >= rows)
            break;
#pragma unroll
        for (int c = 0; c < WNITER * TN; c += 4) {
            const int j = column + c / TN * SUBN + c % TN;
            gt_store_c_vector<4>(g, i0 + i, j0 + j, &sums[r][c]);
        }
    }
}
