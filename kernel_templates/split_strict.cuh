// Tiles of C that the parts of their lines do not suffice for (split_parts.cuh), by multiply-adds of f32. Sums of
// STRICT_INTERVAL products go to others, so that an error is within (STRICT_INTERVAL + ceil(K / STRICT_INTERVAL)) 2^-24
// of the sum of |a||b|, which is less than split.cu has of parts, unless they may pass the largest number. Blocks that
// share K have the whole of it here, and share subtiles of the tile instead.
//
// Needs: BM, BN, SPLIT_K, CLUSTER_K, CONSUMERS, BUFFERS_AT and consumers_sync.
#ifndef GT_SPLIT_STRICT_CUH
#define GT_SPLIT_STRICT_CUH

#include "split_k.cuh"
#include "split_parts.cuh"

// All consumers have a subtile, a thread eight rows and four columns of every 64 of it.
constexpr int STRICT_M = CONSUMERS / 2, STRICT_FOURS = BN > 64 ? 2 : 1, STRICT_N = 64 * STRICT_FOURS, STRICT_K = 16,
              STRICT_ROWS = 8, STRICT_INTERVAL = 64;

// A step of both operands. Lines are longer than needed, so that neighbours along K are stored into other banks.
struct __align__(16) strict_step
{
    float a[STRICT_K][STRICT_M + 4], b[STRICT_K][STRICT_N + 4];
};
static_assert(BM % STRICT_M == 0, "whole subtiles");
// In the place of two steps, of which one is read while the other is stored, lie results on their way to C: so the
// epilogue is code for four of them, which is compiled once, not for each.
typedef gt_vector<float, 4> strict_four;
constexpr int STRICT_RESULTS = STRICT_ROWS * STRICT_FOURS;
static_assert(2 * sizeof(strict_step) <= BUFFERS_AT && STRICT_RESULTS * CONSUMERS * sizeof(strict_four) <= BUFFERS_AT,
              "stages hold them");

// A thread's share of a step of an operand, on its way from global to shared memory.
template <int SIDE, bool ALONG_K> struct strict_operand {
    static constexpr int COUNT = SIDE * STRICT_K / CONSUMERS;
    static constexpr int APART =
        CONSUMERS / (ALONG_K ? STRICT_K : SIDE); // from one element to the next: lines, or of K
    int line, k, lines;                          // of the first; and how many lines there are
    gt_int ld;
    const float *from;
    float held[COUNT];

    __device__ __forceinline__ strict_operand(int thread, const float *matrix, gt_int ld, gt_int first, gt_int end)
        : line(ALONG_K ? thread / STRICT_K : thread % SIDE), k(ALONG_K ? thread % STRICT_K : thread / SIDE),
          lines(gt_clip(end - first, SIDE)), ld(ld),
          from(matrix + (ALONG_K ? (first + line) * ld + k : k * ld + first + line))
    {
    }
    // The next step, of which the matrix has so much of K; zeros stand for what it has not.
    __device__ __forceinline__ void load(gt_int left)
    {
        const int there = gt_clip(left, STRICT_K);
#pragma unroll
        for (int n = 0; n < COUNT; n++) {
            const bool inside = line + (ALONG_K ? n * APART : 0) < lines && k + (ALONG_K ? 0 : n * APART) < there;
            held[n] = inside ? from[n * APART * ld] : 0;
        }
        from += ALONG_K ? (gt_int)STRICT_K : STRICT_K * ld;
    }
    __device__ __forceinline__ void store(float (*to)[SIDE + 4]) const
    {
#pragma unroll
        for (int n = 0; n < COUNT; n++)
            to[k + (ALONG_K ? 0 : n * APART)][line + (ALONG_K ? n * APART : 0)] = held[n];
    }
};

__device__ __forceinline__ void multiply_strictly(const gt_args &g, way how, strict_step *steps, gt_int row,
                                                  gt_int column)
{
    int thread; // asked for here, so that what follows from it takes no registers elsewhere
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    const int thread_row = thread / 16 * STRICT_ROWS, thread_column = thread % 16 * 4;
    strict_operand<STRICT_M, GT_A_ALONG_K> next_a(thread, g.a, g.lda, row, g.m);
    strict_operand<STRICT_N, GT_B_ALONG_K> next_b(thread, g.b, g.ldb, column, g.n);
    float sum[STRICT_ROWS][STRICT_FOURS][4] = {}, some[STRICT_ROWS][STRICT_FOURS][4] = {};
    int step = 0;
    next_a.load(g.k);
    next_b.load(g.k);
    consumers_sync(); // the last subtile's results have been read
#pragma unroll 1
    for (gt_int left = g.k; left > 0; left -= STRICT_K) {
        strict_step &now = steps[step % 2];
        next_a.store(now.a);
        next_b.store(now.b);
        consumers_sync();
        next_a.load(left - STRICT_K);
        next_b.load(left - STRICT_K);
#pragma unroll 1
        for (int k = 0; k < STRICT_K; k++) {
            strict_four a[STRICT_ROWS / 4], b[STRICT_FOURS];
#pragma unroll
            for (int i = 0; i < STRICT_ROWS / 4; i++)
                a[i] = *(const strict_four *)&now.a[k][thread_row + i * 4];
#pragma unroll
            for (int i = 0; i < STRICT_FOURS; i++)
                b[i] = *(const strict_four *)&now.b[k][thread_column + i * 64];
#pragma unroll
            for (int i = 0; i < STRICT_ROWS; i++)
#pragma unroll
                for (int j = 0; j < STRICT_FOURS * 4; j++)
                    some[i][j / 4][j % 4] += a[i / 4].e[i % 4] * b[j / 4].e[j % 4];
        }
        if ((++step % (STRICT_INTERVAL / STRICT_K) == 0 && how != IN_ORDER) || left <= STRICT_K)
#pragma unroll
            for (int e = 0; e < STRICT_ROWS * STRICT_FOURS * 4; e++) {
                (&sum[0][0][0])[e] += (&some[0][0][0])[e];
                (&some[0][0][0])[e] = 0;
            }
    }
    consumers_sync(); // the last step has been read

    strict_four *fours = (strict_four *)steps + thread; // a thread's own, each a row of all threads' apart
#pragma unroll
    for (int i = 0; i < STRICT_RESULTS; i++)
        fours[i * CONSUMERS] = *(const strict_four *)sum[i / STRICT_FOURS][i % STRICT_FOURS];
#pragma unroll 1
    for (int i = 0; i < STRICT_RESULTS; i++) {
        const gt_int at = row + thread_row + i / STRICT_FOURS, beside = column + thread_column + i % STRICT_FOURS * 64;
        if (at < g.m)
            gt_store_c_vector<4>(g, at, beside, fours[i * CONSUMERS].e);
    }
}

// The tile that begins at this row and column. `stages` are the consumers', to work in.
__device__ __forceinline__ void compute_strictly(gt_args g, way how, char *stages, gt_int row, gt_int column)
{
    constexpr int ALONG_N = (BN + STRICT_N - 1) / STRICT_N;
    gt_select_batch(g);
    if (g.n > column + BN)
        g.n = column + BN; // the next tile's are not this one's
#pragma unroll 1
    for (int subtile = blockIdx.y; subtile < BM / STRICT_M * ALONG_N; subtile += gt_parts<SPLIT_K, CLUSTER_K>()) {
        const gt_int first_row = row + subtile / ALONG_N * STRICT_M,
                     first_column = column + subtile % ALONG_N * STRICT_N;
        if (first_row < g.m && first_column < g.n)
            multiply_strictly(g, how, (strict_step *)stages, first_row, first_column);
    }
}

#endif
