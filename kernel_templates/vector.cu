// A vector times a matrix: one row of C, bound by memory. Every element of B is used once, so nothing is staged in
// shared memory: lanes hold UNROLL vectors of B in registers while they are on their way, and many warps hide the rest.
// Where B lies along K, a warp has COLS columns and its lanes lie over K; else lanes lie over the columns, and LANES_K
// groups of them over K. WARPS_K warps of a block, and blocks that meet in the workspace, share K; partial sums are added
// in a fixed order.
//
// Rows of B that begin anywhere are read in whole vectors, too: a lane has every PHASES-th row, and as that is a multiple
// of the vector's elements, all its rows begin as far from an aligned address. Its columns are shifted by that, and the
// tile is a vector narrower than what its lanes read. Where B lies along K, a warp's columns are V apart for the same
// reason, and its k-steps are shifted.
#include "async_copy.cuh"
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
#ifndef LANES_K // lanes over K; all where B lies along K
#define LANES_K (GT_TRANS_B ? 32 : 1)
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
#ifndef HINT // B in L2, a gt_l2: 0 as usual, 1 evicted first
#define HINT 0
#endif

constexpr bool ALONG_K = GT_B_ALONG_K, ANYWHERE = GT_ALIGN < 16, SHIFTED = !ALONG_K && ANYWHERE;
constexpr int V = 16 / GT_AB_BYTES, THREADS_ = 32 * WARPS_N * WARPS_K;
constexpr int LANES_N = 32 / LANES_K, PHASES = LANES_K * WARPS_K; // where B lies along the columns
constexpr int WIDTH = ALONG_K ? COLS : LANES_N * V;               // columns of a warp
constexpr int STEP = ALONG_K ? 32 * V * UNROLL : PHASES;          // k-steps of which blocks have whole numbers
constexpr int SUMS = ALONG_K ? COLS : V;                          // of a lane
constexpr int APART = ANYWHERE && COLS > 1 ? V : 1;               // columns of a warp, where B lies along K
constexpr int PARTS = SHIFTED ? PHASES : WARPS_K;                 // sums of a column in shared memory
constexpr int COUNT = (BN + THREADS_ - 1) / THREADS_;             // columns that a thread stores
// Groups of threads among which the last block of a tile deals the parts of K: as many as its threads and shared memory
// have room for, so that few columns' parts are not read by few threads.
constexpr int ROOM = BN < THREADS_ ? THREADS_ / BN : 1, GROUPS = ROOM < PARTS ? ROOM : PARTS;
constexpr int AHEAD = 16; // parts of K on their way to a thread
// Threads that share a column's sums in shared memory, where there are many: so none adds more than a few of them.
constexpr int SHARERS = PARTS >= 32 && ROOM >= 8 ? 8 : 1;
typedef gt_vector<GT_AB, V> vector_ab;

static_assert(BM == 1 && BN == WARPS_N * WIDTH - (SHIFTED ? V : 0), "the tile is what a block's warps sum");
static_assert(!ALONG_K || LANES_K == 32, "a column is a warp's");
static_assert(!ALONG_K || WARPS_N % APART == 0, "columns of a warp begin alike");
static_assert(!SHIFTED || PHASES % V == 0, "rows of a lane begin alike");
static_assert(PARTS % SHARERS == 0, "sharers have equal shares");
GT_ASSERT_FACT(THREADS, THREADS_);
GT_ASSERT_FACT(SMEM_BYTES, PARTS * BN * sizeof(GT_ACC));
GT_ASSERT_FACT(WS_TILE, SPLIT_K > 1 ? SPLIT_K * BN * sizeof(GT_ACC) : 0);

// A whole vector of B.
__device__ __forceinline__ vector_ab load_whole(const GT_AB *from, unsigned long long policy)
{
    vector_ab v;
#if __CUDA_ARCH__ >= 800
    unsigned *w = (unsigned *)&v;
    if constexpr (HINT == GT_L2_EVICT_FIRST)
        asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
                     : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                     : "l"(from), "l"(policy));
    else
#endif
        v = *(const vector_ab *)from;
    return v;
}

// Of a vector of B only the elements from `low` on and before `high` are there; zeros stand for the others.
__device__ __forceinline__ vector_ab load_some(const GT_AB *from, int low, int high)
{
    if (low == 0)
        return gt_load_vector<V>(from, high);
    vector_ab v = {};
#pragma unroll
    for (int e = 1; e < V; e++)
        if (e >= low && e < high)
            v.e[e] = from[e];
    return v;
}

// V elements of the row of op(A) from k on, of which those from `low` on and before `high` are there.
__device__ __forceinline__ vector_ab load_row(const gt_args &g, gt_int row, gt_int k, int low, int high)
{
    if (GT_A_ALONG_K && !ANYWHERE)
        return gt_load_vector<V>(g.a + row * g.lda + k, high);
    vector_ab v = {};
#pragma unroll
    for (int e = 0; e < V; e++)
        if (e >= low && e < high)
            v.e[e] = *gt_at_a(g, row, k + e);
    return v;
}

// B lies along K: the products of STEP k-steps, of which those from 0 on and before `end` are there.
template <bool WHOLE>
__device__ __forceinline__ void multiply_along(const gt_args &g, gt_int row, const GT_AB *const (&line)[COLS], gt_int k,
                                               gt_int end, unsigned long long policy, GT_ACC (&sum)[SUMS])
{
    vector_ab x[UNROLL], y[UNROLL][COLS];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        const gt_int at = k + (u * 32 + (int)threadIdx.x % 32) * V;
        const int low = ANYWHERE && !WHOLE && at < 0 ? (int)-at : 0, high = WHOLE ? V : gt_clip(end - at, V);
#pragma unroll
        for (int c = 0; c < COLS; c++)
            y[u][c] = WHOLE ? load_whole(line[c] + at, policy) : load_some(line[c] + at, low, high);
        x[u] = load_row(g, row, at, low, high);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
#pragma unroll
        for (int c = 0; c < COLS; c++)
#pragma unroll
            for (int e = 0; e < V; e++)
                sum[c] += GT_ACC(GT_A(x[u].e[e])) * GT_ACC(GT_B(y[u][c].e[e]));
}

// B lies along the columns: the products of UNROLL rows from k on, PHASES apart, of which those before `end` are there,
// and of a lane's V columns those from `low` on and before `high`.
template <bool WHOLE>
__device__ __forceinline__ void multiply_across(const gt_args &g, gt_int row, const GT_AB *from, int low, int high,
                                                gt_int k, gt_int end, unsigned long long policy, GT_ACC (&sum)[SUMS])
{
    vector_ab y[UNROLL];
    GT_ACC x[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++, k += PHASES, from += PHASES * g.ldb) {
        const bool there = WHOLE || k < end;
        y[u] = WHOLE ? load_whole(from, policy) : load_some(from, low, there ? high : 0);
        x[u] = there ? GT_ACC(*gt_at_a(g, row, k)) : GT_ACC(0);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
#pragma unroll
        for (int e = 0; e < V; e++)
            sum[e] += x[u] * GT_ACC(GT_B(y[u].e[e]));
}

// The sums of a thread's columns over N rows of shared memory.
template <int N>
__device__ __forceinline__ void add_rows(const GT_ACC *partial, GT_ACC (&total)[COUNT])
{
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        if (i * THREADS_ + threadIdx.x < BN) {
            GT_ACC chain[4] = {}; // so that no sum waits for all before it
#pragma unroll
            for (int p = 0; p < N; p++)
                chain[p % 4] += partial[p * BN + i * THREADS_ + threadIdx.x];
            total[i] = (chain[0] + chain[1]) + (chain[2] + chain[3]);
        }
}

// Leaves SHARERS sums of each column instead of PARTS.
__device__ __forceinline__ void share_rows(GT_ACC *partial)
{
    const int column = threadIdx.x % BN, sharer = threadIdx.x / BN;
    if (sharer < SHARERS) {
        GT_ACC chain[2] = {};
#pragma unroll
        for (int p = 0; p < PARTS / SHARERS; p++)
            chain[p % 2] += partial[(p * SHARERS + sharer) * BN + column];
        partial[sharer * BN + column] = chain[0] + chain[1]; // nobody else reads what lay there
    }
    __syncthreads();
}

// A column's sum over every GROUPS-th part of K.
__device__ __forceinline__ GT_ACC add_parts(const GT_ACC *column, unsigned group, unsigned count)
{
    GT_ACC sum = 0;
#pragma unroll 1
    for (unsigned first = group; first < count; first += AHEAD * GROUPS) {
        GT_ACC read[AHEAD];
#pragma unroll
        for (int p = 0; p < AHEAD; p++)
            read[p] = first + p * GROUPS < count ? column[(first + p * GROUPS) * BN] : GT_ACC(0);
#pragma unroll
        for (int p = 0; p < AHEAD; p++)
            sum += read[p];
    }
    return sum;
}

extern "C" __global__ void __launch_bounds__(THREADS_) gemm(const __grid_constant__ gt_args args)
{
    extern __shared__ __align__(16) GT_ACC partial[]; // [PARTS][BN]
    gt_args g = args;
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int row = tile.row, first = tile.column * BN;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warp_n = warp % WARPS_N, warp_k = warp / WARPS_N;

    // This block's part of K, in whole steps.
    const gt_int steps = (g.k + STEP - 1) / STEP, share = gt_share<SPLIT_K>(steps) * STEP;
    const gt_int begin = blockIdx.y * share, end = g.k - begin < share ? g.k : begin + share;
    const unsigned long long policy = HINT == GT_L2_EVICT_FIRST ? gt_evict_first() : 0;
    int part = warp_k, at = ALONG_K ? warp_n / APART * (APART * COLS) + warp_n % APART
                                    : warp_n * WIDTH; // of PARTS; in the tile, the lane's first column
    GT_ACC sum[SUMS] = {};

    gt_begin_evenly();
    if (ALONG_K) {
        const gt_int column = first + at;
        const GT_AB *line[COLS]; // columns beyond the last are the last once more
#pragma unroll
        for (int c = 0; c < COLS; c++)
            line[c] = g.b + (column + c * APART < g.n ? column + c * APART : column) * g.ldb;
        const int shift = ANYWHERE ? (int)((unsigned long long)line[0] / GT_AB_BYTES % V) : 0;
        const gt_int last = end < g.k ? end - shift : end;
        // a warp all of whose columns lie beyond has nothing to read
        for (gt_int k = column < g.n && (!ANYWHERE || begin < end) ? begin + warp_k * STEP - shift : last; k < last;
             k += WARPS_K * STEP)
            if ((!ANYWHERE || k >= 0) && k + STEP <= last)
                multiply_along<true>(g, row, line, k, last, policy, sum);
            else
                multiply_along<false>(g, row, line, k, last, policy, sum);
    } else {
        const int phase = warp_k * LANES_K + lane / LANES_N;
        const GT_AB *from = g.b + (begin + phase) * g.ldb + first;
        const int shift = SHIFTED ? (int)((unsigned long long)from / GT_AB_BYTES % V) : 0;
        at += lane % LANES_N * V - shift;
        const gt_int column = first + at;
        const int low = column < 0 ? (int)-column : 0, high = gt_clip(g.n - column, V);
        from += at;
        // a lane all of whose columns lie beyond the matrix or the tile has nothing to read
        for (gt_int k = column < g.n && at < BN ? begin + phase : end; k < end; k += UNROLL * PHASES) {
            if (low == 0 && high == V && k + (UNROLL - 1) * PHASES < end)
                multiply_across<true>(g, row, from, low, high, k, end, policy, sum);
            else
                multiply_across<false>(g, row, from, low, high, k, end, policy, sum);
            from += UNROLL * PHASES * g.ldb;
        }
        part = SHIFTED ? phase : warp_k;
    }
    if (!SHIFTED)
#pragma unroll
        for (int s = 0; s < SUMS; s++)
#pragma unroll
            for (int bit = 32 / LANES_K; bit < 32; bit *= 2)
                sum[s] += __shfl_xor_sync(~0u, sum[s], bit);
#pragma unroll
    for (int s = 0; s < SUMS; s++)
        if (SHIFTED ? at + s >= 0 && at + s < BN : lane < 32 / LANES_K)
            partial[part * BN + at + s * (ALONG_K ? APART : 1)] = sum[s];
    __syncthreads();

    GT_ACC total[COUNT];
    if (SHARERS > 1)
        share_rows(partial);
    add_rows<(SHARERS > 1 ? SHARERS : PARTS)>(partial, total);
    const unsigned count = gt_parts<SPLIT_K>();
    if (SPLIT_K > 1 && count > 1) {
        const gt_int number = (gt_int)blockIdx.z * gridDim.x + blockIdx.x;
        GT_ACC *parts = (GT_ACC *)g.workspace + number * (count * BN);
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            if (i * THREADS_ + threadIdx.x < BN)
                parts[blockIdx.y * BN + i * THREADS_ + threadIdx.x] = total[i];
        if (!gt_arrive_last(count, &g.counters[number], (bool *)partial, [] { __syncthreads(); }))
            return;
        __syncthreads(); // all have read the answer
        if (threadIdx.x == 0)
            g.counters[number] = 0; // as the next launch expects it
        for (int i = threadIdx.x; i < GROUPS * BN; i += THREADS_)
            partial[i] = add_parts(parts + i % BN, i / BN, count);
        __syncthreads();
        add_rows<GROUPS>(partial, total);
    }
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        const int at = i * THREADS_ + threadIdx.x;
        if (at < BN && first + at < g.n)
            gt_store_c(g, row, first + at, total[i]);
    }
}
