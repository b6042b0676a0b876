// Few steps of K: next to nothing is read, and the time is that of storing C. A thread has V neighbours of TM rows; the
// block's threads are ALONG side by side and DOWN below each other. Nothing goes by shared memory.
//
// Rows of C that begin anywhere are stored in whole vectors and sectors, too: a thread's rows lie DOWN apart, and as that
// is a multiple of the sector's elements, they begin as far from one. Its columns are shifted by that, so that tiles of a
// row meet where sectors do; the last tile has what the shift leaves, and is a sector narrower than its threads reach.
#define FINISHES_STORED true
#include "dependent_launch.cuh"
#include "gemm.cuh"

#ifndef BM // threadblock tile
#define BM 64
#endif
#ifndef BN
#define BN (GT_ALIGN < 16 ? 120 : 128)
#endif
#ifndef BK // steps of K whose elements are on their way together
#define BK 2
#endif
#ifndef TM // rows of a thread
#define TM 8
#endif

constexpr int V = 16 / GT_C_BYTES, SECTOR = 32 / GT_C_BYTES;
constexpr bool SHIFTED = GT_ALIGN < 16;
constexpr int ALONG = (BN + (SHIFTED ? SECTOR : 0)) / V, DOWN = BM / TM, THREADS_ = ALONG * DOWN;

static_assert(BM % TM == 0 && BN % SECTOR == 0, "threads cover the tile, tiles begin where sectors do");
static_assert(DOWN % SECTOR == 0, "rows of a thread begin alike");
GT_ASSERT_FACT(THREADS, THREADS_);
GT_ASSERT_FACT(SMEM_BYTES, 0);

extern "C" __global__ void __launch_bounds__(THREADS_) gemm(const __grid_constant__ gt_args args)
{
    gt_args g = args;
    gt_select_batch(g);
    const unsigned columns = (unsigned)((g.n + BN - 1) / BN), tile_row = blockIdx.x / columns;
    const gt_int row = (gt_int)tile_row * BM + threadIdx.x / ALONG;
    const gt_int first = (gt_int)(blockIdx.x - tile_row * columns) * BN;
    const int shift = SHIFTED ? (int)((unsigned long long)(g.c + row * g.ldc) / GT_C_BYTES % SECTOR) : 0;
    const int at = threadIdx.x % ALONG * V;
    const gt_int column = first + at - shift;
    // Of its columns those from `low` on and before `high` are the thread's: what lies behind the tile is the next one's.
    const int low = column < 0 ? (int)-column : 0;
    const int high = at < BN || first + BN >= g.n ? gt_clip(g.n - column, V) : 0;
    const auto is_mine = [&](int e) { return e >= low && e < high; };
    GT_ACC sum[TM][V] = {};

    gt_begin_evenly();
#pragma unroll 1
    for (gt_int k = 0; k < g.k; k += BK) {
        GT_ACC x[BK][TM], y[BK][V];
#pragma unroll
        for (int p = 0; p < BK; p++) {
            const bool there = k + p < g.k;
#pragma unroll
            for (int e = 0; e < V; e++)
                y[p][e] = there && is_mine(e) ? GT_ACC(*gt_at_b(g, k + p, column + e)) : GT_ACC(0);
#pragma unroll
            for (int i = 0; i < TM; i++)
                x[p][i] = there && row + i * DOWN < g.m ? GT_ACC(*gt_at_a(g, row + i * DOWN, k + p)) : GT_ACC(0);
        }
#pragma unroll
        for (int p = 0; p < BK; p++)
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int e = 0; e < V; e++)
                    sum[i][e] += x[p][i] * y[p][e];
    }

    GT_ACC bias[V];
#pragma unroll
    for (int e = 0; e < V; e++) {
        bias[e] = GT_NO_BIAS;
        if (is_mine(e))
            gt_load_bias<1>(g, column + e, &bias[e]);
    }
    const bool whole = low == 0 && high == V && gt_is_plain(g);
#pragma unroll
    for (int i = 0; i < TM; i++) {
        const gt_int at_row = row + i * DOWN;
        if (at_row >= g.m)
            break;
        if (whole) {
            gt_vector<GT_C, V> stored;
#pragma unroll
            for (int e = 0; e < V; e++)
                stored.e[e] = GT_C(gt_scale(g, sum[i][e], &bias[e]));
            gt_store_vector(g.c + at_row * g.ldc + column, stored);
        } else {
#pragma unroll
            for (int e = 0; e < V; e++)
                if (is_mine(e))
                    gt_store_c(g, at_row, column + e, sum[i][e], 0, &bias[e]);
        }
    }
    if (gt_has_activation(g))
#pragma unroll 1
        for (int i = 0; i < TM * V; i++)
            if (is_mine(i % V))
                gt_finish_stored<1>(g, row + i / V * DOWN, column + i % V);
}
