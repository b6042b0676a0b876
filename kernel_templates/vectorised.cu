// Vectorised: 16 bytes a load and a store, in global and in shared memory. What is stored along K (A, as a
// rule) is transposed on its way into shared memory, so that the rows and columns of a thread lie side by
// side there.
#include "gemm.cuh"

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
#define WIDE    (GT_ALIGN >= 16 ? 4 : 1) // elements in one access to global memory
static_assert(sizeof(GT_AB) == 4 && sizeof(GT_C) == 4, "four elements make 16 bytes");
static_assert(BM % TM == 0 && BN % TN == 0 && TM % 4 == 0 && TN % 4 == 0, "a thread has whole vectors");
static_assert(BK % 4 == 0 && THREADS * WIDE % (GT_TRANS_A ? BM : BK) == 0 &&
                  THREADS * WIDE % (GT_TRANS_B ? BK : BN) == 0,
              "whole lines a turn");
static_assert(BM * BK % (THREADS * WIDE) == 0 && BK * BN % (THREADS * WIDE) == 0,
              "every thread loads as much");

template <typename T> struct __align__(WIDE * 4) vector
{
    T e[WIDE];
};

// What a tile of `most` has of what is left of the matrix: small numbers, so that the loop compares 32 bits.
__device__ __forceinline__ int clip(gt_int left, int most)
{
    return left < most ? (int)left : most;
}

// Loads a tile of R rows of op(A), or columns of op(B), along the lines it is stored in. Element (r, p) goes
// to to[p * LD + r]; `from` is the tile's first element, rows and depth are how much of it lies in the
// matrix, and zeros stand beyond.
template <int R, bool ALONG_K, int LD>
__device__ __forceinline__ void load_tile(GT_AB *to, const GT_AB *from, gt_int ld, int rows, int depth)
{
    constexpr int LINE = ALONG_K ? BK : R,
                  TURN = THREADS * WIDE / LINE; // length of a line, lines in one turn
    const int x = threadIdx.x * WIDE % LINE, first = threadIdx.x * WIDE / LINE;
    const int lines = ALONG_K ? rows : depth, left = (ALONG_K ? depth : rows) - x;
    from += first * ld + x;
#pragma unroll
    for (int line = 0; line < R * BK / LINE; line += TURN, from += TURN * ld) {
        vector<GT_AB> v = {};
        if (first + line < lines && left >= WIDE)
            v = *(const vector<GT_AB> *)from;
        else if (first + line < lines)
#pragma unroll
            for (int u = 0; u < WIDE - 1; u++)
                if (u < left)
                    v.e[u] = from[u];
#pragma unroll
        for (int u = 0; u < WIDE; u++)
            to[ALONG_K ? (x + u) * LD + first + line : (first + line) * LD + x + u] = v.e[u];
    }
}

// WIDE neighbours of a row of C, `left` of them before its end.
__device__ __forceinline__ void store_vector(const gt_args &g, gt_int i, gt_int j, int left,
                                             const GT_ACC *sums)
{
    if (left >= WIDE) {
        vector<GT_C> *at = (vector<GT_C> *)(g.c + i * g.ldc + j), c = {};
        if (g.beta.value != GT_ACC(0))
            c = *at;
#pragma unroll
        for (int u = 0; u < WIDE; u++)
            c.e[u] = g.alpha.value * sums[u] + g.beta.value * c.e[u];
        *at = c;
    } else {
#pragma unroll
        for (int u = 0; u < WIDE - 1; u++)
            if (u < left)
                gt_store_c(g, i, j + u, sums[u]);
    }
}

// 16 warps on a multiprocessor: the compiler would take a few registers too many for that.
extern "C" __global__ void __launch_bounds__(THREADS, 512 / THREADS) gemm(gt_args g)
{
    __shared__ __align__(16) GT_AB as[BK][BM], bs[BK][BN + PAD];
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int i0 = tile.row * BM, j0 = tile.column * BN;
    const int rows = clip(g.m - i0, BM), columns = clip(g.n - j0, BN);
    const int row = threadIdx.x / (BN / TN) * TM, column = threadIdx.x % (BN / TN) * TN;

    GT_ACC sums[TM][TN] = {};
    for (gt_int p0 = 0; p0 < g.k; p0 += BK) {
        load_tile<BM, !GT_TRANS_A, BM>(as[0], gt_at_a(g, i0, p0), g.lda, rows, clip(g.k - p0, BK));
        load_tile<BN, GT_TRANS_B, BN + PAD>(bs[0], gt_at_b(g, p0, j0), g.ldb, columns, clip(g.k - p0, BK));
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
        for (int c = 0; c < TN; c += WIDE)
            store_vector(g, i0 + row + r, j0 + column + c, columns - column - c, &sums[r][c]);
    }
}
