// Few steps of K: next to nothing is read, and the time is that of storing C. A block's threads lie ALONG side by side and
// DOWN below each other; each has V neighbours of TM rows at a time, as often as the tile needs. Where BK steps are all of
// K, a thread reads its columns of B once. Nothing goes by shared memory.
//
// Rows of C that begin anywhere are stored in whole vectors and sectors, too: a thread's rows lie DOWN apart, and as that
// is a multiple of the sector's elements, they begin as far from one. Its columns are shifted by that, so that tiles of a
// row meet where sectors do; the last tile has what the shift leaves, and is a sector narrower than its threads reach.
#include "dependent_launch.cuh"
#include "gemm.cuh"

#ifndef BM // threadblock tile
#define BM 64
#endif
#ifndef BN
#define BN (128 - (GT_ALIGN < 16 ? 32 / GT_C_BYTES : 0))
#endif
#ifndef BK // steps of K whose elements are on their way together
#define BK 2
#endif
#ifndef TM // rows of a thread at a time
#define TM 4
#endif
#ifndef DOWN // threads below each other
#define DOWN 16
#endif

constexpr int V = 16 / GT_C_BYTES, SECTOR = 32 / GT_C_BYTES;
constexpr bool SHIFTED = GT_ALIGN < 16;
constexpr int ALONG = (BN + (SHIFTED ? SECTOR : 0)) / V, THREADS_ = ALONG * DOWN;

static_assert(BM % (TM * DOWN) == 0 && BN % SECTOR == 0, "threads cover the tile, tiles begin where sectors do");
static_assert(!SHIFTED || DOWN % SECTOR == 0, "rows of a thread begin alike");
GT_ASSERT_FACT(THREADS, THREADS_);
GT_ASSERT_FACT(SMEM_BYTES, 0);

// The elements of A in the first `steps` steps and `rows` rows from `a` on, zero beyond; all of them, if WHOLE.
template <bool WHOLE>
__device__ __forceinline__ void load_rows(GT_A (&x)[BK][TM], const GT_A *a, gt_int row_step, gt_int k_step, int rows,
                                          int steps)
{
#pragma unroll
    for (int p = 0; p < BK; p++)
#pragma unroll
        for (int i = 0; i < TM; i++)
            x[p][i] = WHOLE || (p < steps && i < rows) ? a[i * row_step + p * k_step] : GT_A();
}

// Stores the results of a thread's columns from `low` on and before `high`, with the old C and the epilogue. The old C need not
// lie as the new one does.
__device__ __forceinline__ void store_some(const gt_args &g, GT_C *c, gt_int column, const GT_ACC (&sum)[V], int low, int high)
{
    const auto is_mine = [&](int e) { return e >= low && e < high; };
    const bool whole = low == 0 && high == V;
    GT_ACC results[V];
    gt_vector<GT_C, V> stored = {};
#pragma unroll
    for (int e = 0; e < V; e++)
        results[e] = g.alpha.value * sum[e];
    if (g.beta.value != GT_ACC(0)) {
        const GT_C *old = gt_old(g, c);
        if (whole && (unsigned long long)old % sizeof stored == 0)
            stored = *(const gt_vector<GT_C, V> *)old;
        else
#pragma unroll
            for (int e = 0; e < V; e++)
                if (is_mine(e))
                    stored.e[e] = old[e];
#pragma unroll
        for (int e = 0; e < V; e++)
            results[e] += g.beta.value * GT_ACC(stored.e[e]);
    }
    if (gt_has_epilogue(g)) {
        GT_C bias[V];
#pragma unroll
        for (int e = 0; e < V; e++)
            bias[e] = is_mine(e) ? gt_bias(g, column + e) : GT_C();
#pragma unroll
        for (int e = 0; e < V; e++)
            results[e] += GT_ACC(bias[e]);
        gt_activate(g, results);
    }
#pragma unroll
    for (int e = 0; e < V; e++)
        stored.e[e] = GT_C(results[e]);
    if (whole)
        gt_store_vector(c, stored);
    else
#pragma unroll
        for (int e = 0; e < V; e++)
            if (is_mine(e))
                c[e] = stored.e[e];
}

extern "C" __global__ void __launch_bounds__(THREADS_) gemm(const __grid_constant__ gt_args args)
{
    gt_args g = args;
    gt_select_batch(g);
    const unsigned columns = (unsigned)((g.n + BN - 1) / BN), tile_row = blockIdx.x / columns;
    const gt_int first = (gt_int)(blockIdx.x - tile_row * columns) * BN;
    const gt_int row = (gt_int)tile_row * BM + threadIdx.x / ALONG;
    const int shift = SHIFTED ? (int)((unsigned long long)(g.c + row * g.ldc) / GT_C_BYTES % SECTOR) : 0;
    const int at = threadIdx.x % ALONG * V;
    const gt_int column = first + at - shift;
    // Of its columns those from `low` on and before `high` are the thread's: what lies behind the tile is the next one's.
    const int low = column < 0 ? (int)-column : 0;
    const int high = at < BN || first + BN >= g.n ? gt_clip(g.n - column, V) : 0;
    const auto is_mine = [&](int e) { return e >= low && e < high; };
    const int rows = gt_clip((g.m - row + DOWN - 1) / DOWN, BM / DOWN); // of the thread
    const gt_int row_step = GT_TRANS_A ? DOWN : DOWN * g.lda, k_step = GT_TRANS_A ? g.lda : 1;
    GT_B y[BK][V]; // elements become numbers where they are multiplied: all are on their way by then
    const auto load_columns = [&](gt_int k) {
#pragma unroll
        for (int p = 0; p < BK; p++)
#pragma unroll
            for (int e = 0; e < V; e++)
                y[p][e] = k + p < g.k && is_mine(e) ? *gt_at_b(g, k + p, column + e) : GT_B();
    };

    gt_begin_evenly();
    load_columns(0);
    const bool plain = low == 0 && high == V && gt_is_plain(g);
    const GT_A *a = gt_at_a(g, row, 0);
    GT_C *c = g.c + row * g.ldc + column;
#pragma unroll 1
    for (int done = 0; done < rows; done += TM, a += TM * row_step, c += TM * DOWN * g.ldc) {
        GT_ACC sum[TM][V] = {};
#pragma unroll 1
        for (gt_int k = 0; k < g.k; k += BK) {
            GT_A x[BK][TM];
            const int steps = gt_clip(g.k - k, BK);
            if (g.k > BK)
                load_columns(k);
            if (done + TM <= rows && steps == BK)
                load_rows<true>(x, a + k * k_step, row_step, k_step, TM, BK);
            else
                load_rows<false>(x, a + k * k_step, row_step, k_step, rows - done, steps);
#pragma unroll
            for (int p = 0; p < BK; p++)
#pragma unroll
                for (int i = 0; i < TM; i++)
#pragma unroll
                    for (int e = 0; e < V; e++)
                        sum[i][e] += GT_ACC(x[p][i]) * GT_ACC(y[p][e]);
        }
        if (plain && done + TM <= rows) {
#pragma unroll
            for (int i = 0; i < TM; i++) {
                gt_vector<GT_C, V> stored;
#pragma unroll
                for (int e = 0; e < V; e++)
                    stored.e[e] = GT_C(g.alpha.value * sum[i][e]);
                gt_store_vector(c + i * DOWN * g.ldc, stored);
            }
        } else {
#pragma unroll
            for (int i = 0; i < TM; i++)
                if (done + i < rows)
                    store_some(g, c + i * DOWN * g.ldc, column, sum[i], low, high);
        }
    }
}
