// A vector times a matrix: one row of C, bound by memory. Every element of B is used once, so nothing is staged in
// shared memory: lanes hold UNROLL vectors of B in registers while they are on their way, and many warps hide the rest.
// Where B lies along K, a warp has COLS columns and its lanes lie over K; else lanes lie over the columns. WARPS_K warps
// of a block, and blocks that meet in the workspace, share K; partial sums are added in a fixed order.
#include "dependent_launch.cuh"
#include "gemm.cuh"
#include "split_k.cuh"

#ifndef BM // threadblock tile
#define BM 1
#endif
#ifndef BN
#define BN 512
#endif
#ifndef COLS // columns of a warp where B lies along K
#define COLS 1
#endif
#ifndef WARPS_N // warps over the columns
#define WARPS_N 4
#endif
#ifndef WARPS_K // warps over K
#define WARPS_K 2
#endif
#ifndef UNROLL // vectors on their way to a lane, of each column
#define UNROLL 4
#endif
#ifndef SPLIT_K // parts of K along the grid's y, of a block each; more than one: any number of them
#define SPLIT_K 1
#endif

constexpr bool ALONG_K = GT_B_ALONG_K;
constexpr int V = GT_WIDE_AB, THREADS_ = 32 * WARPS_N * WARPS_K;
constexpr int WIDTH = ALONG_K ? COLS : 32 * V;                  // columns of a warp
constexpr int STEP = (ALONG_K ? 32 * V : 1) * UNROLL;           // k-steps that a warp takes at once
constexpr int SUMS = ALONG_K ? COLS : V;                        // of a lane
constexpr int COUNT = (BN + THREADS_ - 1) / THREADS_;           // columns that a thread stores
typedef gt_vector<GT_AB, V> vector_ab;
typedef gt_vector<GT_ACC, 1> one;

static_assert(BM == 1 && BN == WARPS_N * WIDTH, "the tile is what a block's warps sum");
GT_ASSERT_FACT(THREADS, THREADS_);
GT_ASSERT_FACT(SMEM_BYTES, WARPS_K * BN * sizeof(GT_ACC));
GT_ASSERT_FACT(WS_TILE, SPLIT_K > 1 ? SPLIT_K * BN * sizeof(GT_ACC) : 0);

// V elements of the row of op(A) from k on, of which `left` are there.
__device__ __forceinline__ vector_ab load_row(const gt_args &g, gt_int row, gt_int k, int left)
{
    if (GT_A_ALONG_K)
        return gt_load_vector<V>(g.a + row * g.lda + k, left);
    vector_ab v = {};
#pragma unroll
    for (int e = 0; e < V; e++)
        if (e < left)
            v.e[e] = g.a[(k + e) * g.lda + row];
    return v;
}

// B lies along K: the products of STEP k-steps, of which those before `end` are there.
template <bool WHOLE>
__device__ __forceinline__ void multiply_along(const gt_args &g, gt_int row, const GT_AB *const (&line)[COLS], gt_int k,
                                               gt_int end, GT_ACC (&sum)[SUMS])
{
    vector_ab x[UNROLL], y[UNROLL][COLS];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        const gt_int at = k + (u * 32 + (int)threadIdx.x % 32) * V;
        const int left = WHOLE || at < end ? (WHOLE ? V : gt_clip(end - at, V)) : 0;
#pragma unroll
        for (int c = 0; c < COLS; c++)
            y[u][c] = gt_load_vector<V>(line[c] + at, left);
        x[u] = load_row(g, row, at, left);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
#pragma unroll
        for (int c = 0; c < COLS; c++)
#pragma unroll
            for (int e = 0; e < V; e++)
                sum[c] += GT_ACC(GT_A(x[u].e[e])) * GT_ACC(GT_B(y[u][c].e[e]));
}

// B lies along the columns: `left` of a lane's V are there.
template <bool WHOLE>
__device__ __forceinline__ void multiply_across(const gt_args &g, gt_int row, const GT_AB *column, int left, gt_int k,
                                                gt_int end, GT_ACC (&sum)[SUMS])
{
    vector_ab y[UNROLL];
    GT_ACC x[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        const bool there = WHOLE || k + u < end;
        y[u] = gt_load_vector<V>(column + (there ? (k + u) * g.ldb : 0), WHOLE ? V : there ? left : 0);
        x[u] = there ? GT_ACC(*gt_at_a(g, row, k + u)) : GT_ACC(0);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
#pragma unroll
        for (int e = 0; e < V; e++)
            sum[e] += x[u] * GT_ACC(GT_B(y[u].e[e]));
}

extern "C" __global__ void __launch_bounds__(THREADS_) gemm(const __grid_constant__ gt_args args)
{
    extern __shared__ __align__(16) GT_ACC partial[]; // [WARPS_K][BN]
    gt_args g = args;
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int row = tile.row, first = tile.column * BN;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warp_n = warp % WARPS_N, warp_k = warp / WARPS_N;

    // This block's part of K, in whole steps.
    const gt_int steps = (g.k + STEP - 1) / STEP, share = gt_share<SPLIT_K>(steps) * STEP;
    const gt_int begin = blockIdx.y * share, end = g.k - begin < share ? g.k : begin + share;
    const gt_int column = first + warp_n * WIDTH;
    GT_ACC sum[SUMS] = {};

    gt_begin_evenly();
    if (ALONG_K) {
        const GT_AB *line[COLS]; // columns beyond the last are the last once more
#pragma unroll
        for (int c = 0; c < COLS; c++)
            line[c] = g.b + (column + c < g.n ? column + c : g.n - 1) * g.ldb;
        // a warp all of whose columns lie beyond has nothing to read
        for (gt_int k = column < g.n ? begin + warp_k * STEP : end; k < end; k += WARPS_K * STEP)
            if (k + STEP <= end)
                multiply_along<true>(g, row, line, k, end, sum);
            else
                multiply_along<false>(g, row, line, k, end, sum);
#pragma unroll
        for (int c = 0; c < COLS; c++)
#pragma unroll
            for (int bit = 16; bit > 0; bit /= 2)
                sum[c] += __shfl_xor_sync(~0u, sum[c], bit);
    } else {
        // Lanes beyond the last column go along with the others on the first ones, where there are as many as they take.
        const bool there = column + lane * V < g.n;
        const gt_int own = there ? column + lane * V : 0;
        const int left = there || g.n >= V ? gt_clip(g.n - own, V) : 0;
        const GT_AB *from = g.b + own;
        for (gt_int k = begin + warp_k * STEP; k < end; k += WARPS_K * STEP)
            if (k + STEP <= end && left == V)
                multiply_across<true>(g, row, from, left, k, end, sum);
            else
                multiply_across<false>(g, row, from, left, k, end, sum);
    }
#pragma unroll
    for (int s = 0; s < SUMS; s++)
        if (!ALONG_K || lane == 0)
            partial[warp_k * BN + warp_n * WIDTH + (ALONG_K ? s : lane * V + s)] = sum[s];
    __syncthreads();

    one total[COUNT] = {};
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        if (i * THREADS_ + threadIdx.x < BN)
#pragma unroll
            for (int w = 0; w < WARPS_K; w++)
                total[i].e[0] += partial[w * BN + i * THREADS_ + threadIdx.x];
    if (SPLIT_K > 1) {
        const gt_int number = (gt_int)blockIdx.z * gridDim.x + blockIdx.x;
        one *parts = (one *)g.workspace + number * (gt_parts<SPLIT_K>() * BN) + threadIdx.x;
        if (!gt_add_parts<BN, THREADS_, COUNT>(parts, blockIdx.y, gt_parts<SPLIT_K>(), &g.counters[number], total,
                                               (bool *)partial, [] { __syncthreads(); }))
            return;
    }
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        const int at = i * THREADS_ + threadIdx.x;
        if (at < BN && first + at < g.n)
            gt_store_c(g, row, first + at, total[i].e[0]);
    }
}
