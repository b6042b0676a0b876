// C of low rank: K is short, and the time is that of storing C. A block brings its rows of A and columns of B into shared
// memory, once and as numbers. A thread has BK steps of V columns of B in registers and goes down its rows: for each a few
// reads of A that all lanes of a row share, V * BK multiply-adds, one store.
//
// Rows of C that begin anywhere are stored in whole vectors and sectors, too. Columns are shifted by what their row begins
// behind a sector, so that tiles of a row meet where sectors do; what that leaves behind the last tile goes last. Rows as many
// apart as a sector has elements begin alike: a thread takes such rows, one in STEP, and then others with other columns.
#include "dependent_launch.cuh"
#include "gemm.cuh"
#include "part_of_row.cuh"

#ifndef BM // threadblock tile
#define BM 64
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK // steps of K that are in shared memory and registers together
#define BK 8
#endif
#ifndef TM // rows of a thread at a time
#define TM 2
#endif
#ifndef DOWN // threads below each other
#define DOWN 8
#endif
#ifndef WIDE // bytes of C that a thread stores at once
#define WIDE 16
#endif
#ifndef OCC // blocks an SM should hold
#define OCC 2
#endif

constexpr bool SHIFTED = GT_ALIGN < 16;
constexpr int V = WIDE / GT_C_BYTES, SECTOR = 32 / GT_C_BYTES, ALONG = BN / V, THREADS_ = ALONG * DOWN;
constexpr int STEP = SHIFTED && DOWN < SECTOR ? SECTOR : DOWN; // rows from one of a thread to the next
constexpr int REST = SECTOR / V;                               // vectors that a shift may leave behind a row's last tile
// Of B also the columns that a shift may take from the tile before, and as many behind the tile, which are zeros.
constexpr int BEFORE = SHIFTED ? SECTOR : 0, COLUMNS = BN + 2 * BEFORE;

static_assert(V > 0 && BN % SECTOR == 0 && BM % (TM * STEP) == 0, "threads cover the tile, tiles begin where sectors do");
static_assert(!SHIFTED || STEP % SECTOR == 0, "rows of a thread begin alike");

// In shared memory rows of A follow each other, of DEPTH steps and read in vectors, of which each has an odd number; then steps of
// B, where an element is left out behind every V. Lanes side by side write and read different banks that way.
constexpr int QUAD = 16 / GT_ACC_BYTES, QUADS = (BK + QUAD - 1) / QUAD, DEPTH = QUADS * QUAD, PITCH_A = (QUADS | 1) * QUAD;
constexpr __device__ unsigned place_b(unsigned column)
{
    return column + column / V;
}
constexpr int PITCH_B = (int)place_b(COLUMNS);
GT_ASSERT_FACT(THREADS, THREADS_);
GT_ASSERT_FACT(SMEM_BYTES, (BM * PITCH_A + BK * PITCH_B) * GT_ACC_BYTES);

// Elements of an operand on their way: STEPS steps of OUTER rows of A, or columns of B. Threads side by side take neighbours.
template <typename T, int OUTER, int STEPS, bool ALONG_K> struct elements {
    static constexpr int ALL = OUTER * STEPS, COUNT = (ALL + THREADS_ - 1) / THREADS_;
    T held[COUNT];

    static __device__ __forceinline__ int number(int n)
    {
        return n * THREADS_ + threadIdx.x;
    }
    static __device__ __forceinline__ int outer(int n)
    {
        return ALONG_K ? number(n) / STEPS : number(n) % OUTER;
    }
    static __device__ __forceinline__ int step(int n)
    {
        return ALONG_K ? number(n) % STEPS : number(n) / OUTER;
    }
    // Those of rows or columns from `begin` on and before `end`, of the first `steps` steps; zeros stand for the others.
    __device__ __forceinline__ void load(const T *from, gt_int ld, int begin, int end, int steps)
    {
#pragma unroll
        for (int n = 0; n < COUNT; n++) {
            const int i = outer(n), p = step(n);
            held[n] = i >= begin && i < end && p < steps ? from[ALONG_K ? i * ld + p : p * ld + i] : T();
        }
    }
    // Leaves each where `place` says.
    template <typename PLACE> __device__ __forceinline__ void settle(PLACE place) const
    {
#pragma unroll
        for (int n = 0; n < COUNT; n++)
            if (number(n) < ALL)
                *place(outer(n), step(n)) = GT_ACC(held[n]);
    }
};

// What a thread keeps while it goes down its rows: a vector of C in each, and BK steps of its columns of B.
struct vector {
    int down, rows; // its first row, of the tile's, and how many it has, STEP apart
    gt_int column;  // the first of V, which may lie before the matrix
    int low, high;  // from the low-th on and before the high-th they lie in the matrix
    GT_ACC y[BK][V];

    // The number-th of a tile at (top, first), of which `height` rows and `vectors` vectors lie in the matrix.
    __device__ __forceinline__ vector(const gt_args &g, gt_int top, gt_int first, int height, int number, int vectors,
                                      const GT_ACC *steps_b)
    {
        const int end = number - STEP * ALONG; // those at the rows' ends follow all others
        const int at = (end < 0 ? number % ALONG : ALONG + end % REST) * V;
        down = end < 0 ? number / ALONG : end / REST;
        const unsigned long long address = (unsigned long long)(g.c + (top + down) * g.ldc);
        const int from = at - (SHIFTED ? (int)(address / GT_C_BYTES % SECTOR) : 0);
        column = first + from;
        low = column < 0 ? (int)-column : 0;
        high = gt_clip(g.n - column, V);
        rows = number < vectors && down < height && low < high ? (height - down + STEP - 1) / STEP : 0;
#pragma unroll
        for (int e = 0; e < V; e++)
#pragma unroll
            for (int p = 0; p < BK; p++)
                y[p][e] = steps_b[p * PITCH_B + place_b(BEFORE + from + e)];
    }
    __device__ __forceinline__ void multiply(GT_ACC (&sum)[V], const GT_ACC *row_a) const
    {
        gt_vector<GT_ACC, QUAD> x[QUADS];
#pragma unroll
        for (int q = 0; q < QUADS; q++)
            x[q] = ((const gt_vector<GT_ACC, QUAD> *)row_a)[q];
#pragma unroll
        for (int p = 0; p < BK; p++)
#pragma unroll
            for (int e = 0; e < V; e++)
                sum[e] += x[p / QUAD].e[p % QUAD] * y[p][e];
    }
    // Adds the steps behind BK, of a K that the kernel was not made for, to sums of rows from `row` on.
    __device__ __forceinline__ void multiply_rest(const gt_args &g, GT_ACC (&sum)[TM][V], gt_int row) const
    {
#pragma unroll 1
        for (gt_int k = BK; k < g.k; k++)
#pragma unroll
            for (int e = 0; e < V; e++) {
                const GT_ACC of_column = e >= low ? GT_ACC(gt_load_b(g, k, column + e)) : GT_ACC(0);
#pragma unroll
                for (int i = 0; i < TM; i++)
                    sum[i][e] += GT_ACC(gt_load_a(g, row + i * STEP, k)) * of_column;
            }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS_, OCC) gemm(const __grid_constant__ gt_args args)
{
    extern __shared__ __align__(16) GT_ACC shared[];
    GT_ACC *const rows_a = shared, *const steps_b = shared + BM * PITCH_A;
    gt_args g = args;
    gt_select_batch(g);
    const unsigned columns = (unsigned)((g.n + BN - 1) / BN), tile_row = blockIdx.x / columns;
    const gt_int first = (gt_int)(blockIdx.x - tile_row * columns) * BN, top = (gt_int)tile_row * BM;
    const int height = gt_clip(g.m - top, BM), width = gt_clip(g.n - first, BN), steps = gt_clip(g.k, BK);
    elements<GT_A, BM, DEPTH, GT_A_ALONG_K> a;
    elements<GT_B, COLUMNS, BK, GT_B_ALONG_K> b;

    gt_begin_evenly();
    a.load(gt_at_a(g, top, 0), g.lda, 0, height, steps);
    b.load(gt_at_b(g, 0, first - BEFORE), g.ldb, first == 0 ? BEFORE : 0, BEFORE + width, steps);
    a.settle([&](int i, int p) { return &rows_a[i * PITCH_A + p]; });
    b.settle([&](int j, int p) { return &steps_b[p * PITCH_B + place_b(j)]; });
    __syncthreads();
    const int vectors = STEP * (ALONG + (SHIFTED && first + BN >= g.n ? REST : 0));
#pragma unroll 1
    for (int begin = 0; begin < vectors; begin += THREADS_) {
        const vector v(g, top, first, height, begin + threadIdx.x, vectors, steps_b);
        const bool plain = v.low == 0 && v.high == V && gt_is_plain(g) && g.k <= BK;
        const GT_ACC *from = &rows_a[v.down * PITCH_A];
        GT_C *c = g.c + (top + v.down) * g.ldc + v.column;
        int done = 0;
        const auto turn = [&] {
            done += TM;
            from += TM * STEP * PITCH_A;
            c += TM * STEP * g.ldc;
        };
#pragma unroll 1
        for (; plain && done + TM <= v.rows; turn()) {
            GT_ACC sum[TM][V] = {};
#pragma unroll
            for (int i = 0; i < TM; i++)
                v.multiply(sum[i], from + i * STEP * PITCH_A);
#pragma unroll
            for (int i = 0; i < TM; i++)
                gt_store_plainly<V>(g, c + i * STEP * g.ldc, sum[i]);
        }
#pragma unroll 1
        for (; done < v.rows; turn()) {
            GT_ACC sum[TM][V] = {};
            gt_vector<GT_C, V> old[TM]; // on its way while products are made
#pragma unroll
            for (int i = 0; i < TM; i++)
                old[i] = gt_load_part<V>(g, c + i * STEP * g.ldc, v.low, done + i < v.rows ? v.high : 0);
#pragma unroll
            for (int i = 0; i < TM; i++)
                v.multiply(sum[i], from + i * STEP * PITCH_A);
            v.multiply_rest(g, sum, top + v.down + done * STEP);
#pragma unroll
            for (int i = 0; i < TM; i++)
                if (done + i < v.rows)
                    gt_store_part<V>(g, c + i * STEP * g.ldc, v.column, sum[i], old[i], v.low, v.high);
        }
    }
}
