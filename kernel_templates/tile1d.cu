// 1D tile: each thread has TM neighbouring rows of one column of the block's tile, and K goes by in slices of
// BK thin enough for the block to load.
#include "gemm.cuh"

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
static_assert(THREADS % (GT_TRANS_A ? BM : BK) == 0 && THREADS % (GT_TRANS_B ? BK : BN) == 0,
              "whole lines a turn");
static_assert(BM * BK % THREADS == 0 && BK * BN % THREADS == 0, "every thread loads as much as every other");

// What a tile of `most` has of what is left of the matrix: small numbers, so that the loop compares 32 bits.
__device__ __forceinline__ int clip(gt_int left, int most)
{
    return left < most ? (int)left : most;
}

// Loads a tile of R rows of op(A), or columns of op(B), along the lines it is stored in, so that reads
// coalesce in every layout. Element (r, p) goes to to[r * STEP_R + p * STEP_P]; `from` is the tile's first
// element, rows and depth are how much of it lies in the matrix, and zeros stand beyond.
template <int R, bool ALONG_K, int STEP_R, int STEP_P>
__device__ __forceinline__ void load_tile(GT_AB *to, const GT_AB *from, gt_int ld, int rows, int depth)
{
    constexpr int LINE = ALONG_K ? BK : R, TURN = THREADS / LINE; // length of a line, lines in one turn
    const int x = threadIdx.x % LINE, first = threadIdx.x / LINE;
    const int lines = x < (ALONG_K ? depth : rows) ? (ALONG_K ? rows : depth) : 0;
    from += first * ld + x;
#pragma unroll
    for (int line = 0; line < R * BK / LINE; line += TURN, from += TURN * ld)
        to[ALONG_K ? (first + line) * STEP_R + x * STEP_P : x * STEP_R + (first + line) * STEP_P] =
            first + line < lines ? *from : GT_AB();
}

// As many warps on a multiprocessor as the sums leave registers for: 64 a thread, or 128.
extern "C" __global__ void __launch_bounds__(THREADS, (TM > 8 ? 512 : 1024) / THREADS) gemm(gt_args g)
{
    __shared__ __align__(16) GT_AB as[BM][BK], bs[BK][BN];
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int i0 = tile.row * BM, j0 = tile.column * BN;
    const int rows = clip(g.m - i0, BM), columns = clip(g.n - j0, BN);
    const int row = threadIdx.x / BN * TM, column = threadIdx.x % BN;

    GT_ACC sums[TM] = {};
    for (gt_int p0 = 0; p0 < g.k; p0 += BK) {
        load_tile<BM, !GT_TRANS_A, BK, 1>(as[0], gt_at_a(g, i0, p0), g.lda, rows, clip(g.k - p0, BK));
        load_tile<BN, GT_TRANS_B, 1, BN>(bs[0], gt_at_b(g, p0, j0), g.ldb, columns, clip(g.k - p0, BK));
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
