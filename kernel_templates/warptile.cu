// Warp tile: block, warp and thread each have their tile. A warp goes over its WM x WN in sub-tiles with
// TM x TN elements a thread, so that the 32 lanes read few, neighbouring vectors of shared memory. The next
// tile travels from global memory to registers under the products.
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
#define WIDE    (GT_ALIGN >= 16 ? 4 : 1) // elements in one access to global memory
static_assert(sizeof(GT_AB) == 4 && sizeof(GT_C) == 4 && TM % 4 == 0 && TN % 4 == 0,
              "four elements make a vector");
static_assert(BM % WM == 0 && BN % WN == 0 && (BUFFERS == 1 || BUFFERS == 2), "a block has whole warps");
static_assert(WMITER > 0 && WM % WMITER == 0 && WN % WNITER == 0 && (SUBM / TM) * (SUBN / TN) == 32,
              "the 32 lanes cover a sub-tile");

template <typename T> struct __align__(WIDE * 4) vector
{
    T e[WIDE];
};

// What a tile of `most` has of what is left of the matrix: small numbers, so that the loop compares 32 bits.
__device__ __forceinline__ int clip(gt_int left, int most)
{
    return left < most ? (int)left : most;
}

// A thread's part of a tile of R rows of op(A), or columns of op(B), on the way to shared memory, where
// element (r, p) stands at p * LD + r.
template <int R, bool ALONG_K> struct carrier {
    static constexpr int LINE = ALONG_K ? BK : R;      // elements side by side in global memory
    static constexpr int TURN = THREADS * WIDE / LINE; // lines that the block takes in one turn
    static constexpr int COUNT = R * BK / (THREADS * WIDE);
    static constexpr int LD = R + (ALONG_K ? 4 : 0); // spreads the transposing stores over the banks
    static_assert(THREADS * WIDE % LINE == 0 && R * BK % (THREADS * WIDE) == 0,
                  "whole lines a turn, whole turns");
    const GT_AB *from; // this thread's first element of the next tile
    gt_int ld;
    vector<GT_AB> held[COUNT];

    __device__ __forceinline__ carrier(const GT_AB *tile, gt_int ld_)
        : from(tile + threadIdx.x * WIDE / LINE * ld_ + threadIdx.x * WIDE % LINE), ld(ld_)
    {
    }

    // rows and depth are how much of the tile lies in the matrix; zeros stand beyond.
    __device__ __forceinline__ void fetch(int rows, int depth)
    {
        const int lines = (ALONG_K ? rows : depth) - threadIdx.x * WIDE / LINE;
        const int left = (ALONG_K ? depth : rows) - threadIdx.x * WIDE % LINE;
        const GT_AB *p = from;
#pragma unroll
        for (int n = 0; n < COUNT; n++, p += TURN * ld) {
            held[n] = {};
            if (n * TURN < lines && left >= WIDE)
                held[n] = *(const vector<GT_AB> *)p;
            else if (n * TURN < lines)
#pragma unroll
                for (int u = 0; u < WIDE - 1; u++)
                    if (u < left)
                        held[n].e[u] = p[u];
        }
        from += ALONG_K ? BK : BK * ld;
    }

    __device__ __forceinline__ void deposit(GT_AB *to) const
    {
        const int x = threadIdx.x * WIDE % LINE, first = threadIdx.x * WIDE / LINE;
#pragma unroll
        for (int n = 0; n < COUNT; n++)
#pragma unroll
            for (int u = 0; u < WIDE; u++)
                to[ALONG_K ? (x + u) * LD + first + n * TURN : (first + n * TURN) * LD + x + u] =
                    held[n].e[u];
    }
};

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

// Up to 64 sums leave room for 16 warps on a multiprocessor, more for 8.
extern "C" __global__ void __launch_bounds__(THREADS, (WM * WN > 2048 ? 256 : 512) / THREADS) gemm(gt_args g)
{
    typedef carrier<BM, !GT_TRANS_A> carrier_a;
    typedef carrier<BN, !!GT_TRANS_B> carrier_b;
    __shared__ __align__(16) GT_AB as[BUFFERS][BK][carrier_a::LD], bs[BUFFERS][BK][carrier_b::LD];
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int i0 = tile.row * BM, j0 = tile.column * BN;
    const int rows = clip(g.m - i0, BM), columns = clip(g.n - j0, BN);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (BN / WN) * WM + lane / (SUBN / TN) * TM;
    const int column = warp % (BN / WN) * WN + lane % (SUBN / TN) * TN;

    GT_ACC sums[WMITER * TM][WNITER * TN] = {};
    carrier_a a_next(gt_at_a(g, i0, 0), g.lda);
    carrier_b b_next(gt_at_b(g, 0, j0), g.ldb);
    a_next.fetch(rows, clip(g.k, BK));
    b_next.fetch(columns, clip(g.k, BK));
    bool odd = false; // which buffer
    for (gt_int left = g.k; left > 0; left -= BK) {
        // With two buffers, the barrier of the turn before already says that all have left this one.
        if (BUFFERS == 1)
            __syncthreads();
        a_next.deposit(as[odd][0]);
        b_next.deposit(bs[odd][0]);
        __syncthreads();
        if (left > BK) {
            a_next.fetch(rows, clip(left - BK, BK));
            b_next.fetch(columns, clip(left - BK, BK));
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
        for (int c = 0; c < WNITER * TN; c += WIDE) {
            const int j = column + c / TN * SUBN + c % TN;
            store_vector(g, i0 + i, j0 + j, columns - j, &sums[r][c]);
        }
    }
}
