// Vectorised: 16 bytes a load and a store, in global and in shared memory. What is stored along K (A, as a
// rule) is transposed on its way into shared memory, so that the rows and columns of a thread lie side by
// side there.
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
#ifndef PAD // columns added to B's tile; if not a multiple of 4, B is read from shared memory one by one
#define PAD 0
#endif

#define THREADS (BM / TM * (BN / TN))
#define PITCH_A (BM + (GT_A_ALONG_K ? 4 : 0)) // transposing stores then meet half as often on a bank
#define PITCH_B (BN + PAD)
static_assert(sizeof(GT_AB) == 4 && sizeof(GT_C) == 4, "four elements make 16 bytes");
static_assert(BM % TM == 0 && BN % TN == 0 && TM % 4 == 0 && TN % 4 == 0, "a thread has whole vectors");

// 16 warps on a multiprocessor: the compiler would take a few registers too many for that.
extern "C" __global__ void __launch_bounds__(THREADS, 512 / THREADS) gemm(gt_args g)
{
    __shared__ __align__(16) GT_AB as[BK][PITCH_A], bs[BK][PITCH_B];
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int i0 = tile.row * BM, j0 = tile.column * BN;
    const int rows = gt_clip(g.m - i0, BM), columns = gt_clip(g.n - j0, BN);
    const int row = threadIdx.x / (BN / TN) * TM, column = threadIdx.x % (BN / TN) * TN;

    GT_ACC sums[TM][TN] = {};
    gt_carrier<BM, BK, GT_A_ALONG_K, THREADS, GT_WIDE_AB> a_tile(gt_at_a(g, i0, 0), g.lda);
    gt_carrier<BN, BK, GT_B_ALONG_K, THREADS, GT_WIDE_AB> b_tile(gt_at_b(g, 0, j0), g.ldb);
    for (gt_int left = g.k; left > 0; left -= BK) {
        a_tile.fetch(rows, gt_clip(left, BK));
        b_tile.fetch(columns, gt_clip(left, BK));
        a_tile.deposit<1, PITCH_A>(as[0]);
        b_tile.deposit<1, PITCH_B>(bs[0]);
        __syncthreads();
#pragma unroll
        for (int p = 0; p < BK; p++) {
            GT_AB a[TM], b[TN];
#pragma unroll
            for (int r = 0; r < TM; r++)
                a[r] = as[p][row + r];
#pragma unroll
            for (int c = 0; c < TN; c++)
                b[c] = bs[p][column + c];
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
        if (row + r >= rows)
            break;
#pragma unroll
        for (int c = 0; c < TN; c += 4)
            gt_store_c_vector<4>(g, i0 + row + r, j0 + column + c, &sums[r][c]);
    }
}
