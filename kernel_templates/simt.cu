// SIMT GEMM for every architecture: the kernel for plain arithmetic where none of its kin is faster. Multistage: all
// threads copy threadblock tiles (BM x BN x BK) into a ring of stages in shared memory and multiply, by warp tiles
// (WM x WN) and thread tiles (TM x TN) with double-buffered fragments. Split-K: blocks of one tile meet in the
// workspace, and the last to arrive adds partial sums in a fixed order and stores C.
//
// Both operands lie in shared memory as [BK][BM] and [BK][BN], whatever their layout in global memory, so that a
// thread reads its rows and columns of one k-step in 16-byte pieces.
#define FINISHES_STORED (GT_C_BYTES == GT_ACC_BYTES)
#include "abreast.cuh"
#include "async_copy.cuh"
#include "dependent_launch.cuh"
#include "gemm.cuh"
#include "multiply_add.cuh"
#include "split_k.cuh"

#ifndef BM // threadblock tile
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 16
#endif
#ifndef WM // warp tile
#define WM 64
#endif
#ifndef WN
#define WN 32
#endif
#ifndef TM // thread tile
#define TM 8
#endif
#ifndef TN
#define TN 8
#endif
#ifndef STAGES // tiles of K in flight
#define STAGES 3
#endif
#ifndef SPLIT_K // parts of K along the grid's y, of a block each; more than one: any number of them
#define SPLIT_K 1
#endif
#ifndef GROUP // tile rows that are walked together, for L2
#define GROUP 8
#endif
#ifndef PTXAS // the assembler's level: the first keeps the order of the multiply-adds
#define PTXAS 1
#endif
#ifndef LOAD // 0 through registers, 1 cp.async, 2 cp.async but through registers where K is contiguous
#define LOAD 1
#endif
#ifndef OCC // blocks an SM should hold
#define OCC 1
#endif

constexpr int WARPS_N = BN / WN, WARPS = BM / WM * WARPS_N, THREADS_ = WARPS * 32;
constexpr int LANES_N = WN / TN, SPAN_M = WM / (TM / 4), SPAN_N = WN / (TN / 4);
constexpr bool CLOSE = TM * TN < 64 && WM / TM % 2 == 0; // lanes lie as small fragments need it: see lane_row
constexpr int LAST = TM * TN < 64 && BK % 8 == 0 ? 8 : 4; // k-steps of the last tile that are taken together
constexpr bool ABREAST = GT_WIDE_C < 4 && FINISHES_STORED; // lanes' fours do not leave as they are

static_assert(BM % WM == 0 && BN % WN == 0 && WM / TM * (WN / TN) == 32, "warps cover the tile, lanes the warp");
static_assert(TM % 4 == 0 && TN % 4 == 0 && BK % 4 == 0, "fragments are read in pieces of four");
static_assert(STAGES >= 2, "one stage is read while another is filled");

typedef gt_vector<GT_AB, 4> four_ab;
typedef gt_vector<GT_ACC, 4> four_acc;

// Groups of copies, where any are made in the background.
__device__ __forceinline__ void commit_copies()
{
    if (LOAD > 0)
        gt_commit_copies();
}
template <int PENDING> __device__ __forceinline__ void wait_copies()
{
    if (LOAD > 0)
        gt_wait_copies<PENDING>();
}

constexpr __device__ int least(int a, int b)
{
    return a < b ? a : b;
}
// The least power of two that is not below `count`.
constexpr __device__ int power_of_two(int count)
{
    return count <= 1 ? 1 : 2 * power_of_two((count + 1) / 2);
}

// One operand's way from global memory, where it is contiguous along K or along its outer side (m or n), into a
// stage of OUTER elements for each k-step. The block's vectors are dealt out to its threads in order, lines as if they
// were as long as the next power of two: all counts are, so a thread's vectors lie at fixed distances from its first one.
// Single elements that are transposed through registers are of TOGETHER neighbouring lines, and are stored at once.
template <int OUTER, bool ALONG_K> struct operand {
    static constexpr bool ASYNC = LOAD == 1 || (LOAD == 2 && !ALONG_K);
    // Elements moved at once. A copy in the background cannot transpose more than one.
    static constexpr int VEC = ALONG_K && ASYNC ? 1 : GT_WIDE_AB;
    static_assert(!ASYNC || VEC * sizeof(GT_AB) >= 4, "shorter copies cannot be made in the background");
    // Rows of a transposed stage are shifted by four banks against each other.
    static constexpr int PITCH = OUTER + (ALONG_K ? 16 / sizeof(GT_AB) : 0);
    static constexpr int ELEMENTS = BK * PITCH;
    static constexpr int VECTORS = (ALONG_K ? BK : OUTER) / VEC; // vectors along the contiguous side
    static constexpr int LINE = power_of_two(VECTORS);
    static constexpr int TOTAL = (ALONG_K ? OUTER : BK) * LINE;
    static constexpr int COUNT = (TOTAL + THREADS_ - 1) / THREADS_;
    static constexpr bool SINGLE = ALONG_K && !ASYNC && VEC == 1 && TOTAL % THREADS_ == 0;
    static constexpr int TOGETHER = SINGLE ? least(COUNT & -COUNT, 16 / GT_AB_BYTES) : 1;

    const GT_AB *from; // this thread's first vector in the next tile
    gt_int ld;
    int k, outer;    // where that vector stands in a tile
    int outer_count; // the tile's rows or columns inside the matrix
    gt_vector<GT_AB, VEC> held[ASYNC ? 1 : COUNT];

    __device__ __forceinline__ void init(const GT_AB *matrix, gt_int ld_, gt_int outer_first, gt_int outer_end,
                                         gt_int k_first)
    {
        const int line = threadIdx.x / LINE * TOGETHER, within = threadIdx.x % LINE * VEC;
        k = ALONG_K ? within : line;
        outer = ALONG_K ? line : within;
        ld = ld_;
        outer_count = gt_clip(outer_end - outer_first, OUTER);
        from = matrix + (ALONG_K ? (outer_first + outer) * ld + k_first + k : (k_first + k) * ld + outer_first + outer);
    }

    // From the first to the i-th vector: lines, and elements along the line.
    static constexpr __device__ int lines(int i)
    {
        return i / TOGETHER * THREADS_ / LINE * TOGETHER + i % TOGETHER;
    }
    static constexpr __device__ int along(int i) { return i / TOGETHER * THREADS_ % LINE * VEC; }

    __device__ __forceinline__ bool mine(int i) const
    {
        return (TOTAL % THREADS_ == 0 || threadIdx.x + i * THREADS_ < TOTAL) &&
               (VECTORS == LINE || (ALONG_K ? k : outer) + along(i) < VECTORS * VEC);
    }
    __device__ __forceinline__ const GT_AB *source(int i) const { return from + lines(i) * ld + along(i); }
    __device__ __forceinline__ GT_AB *target(GT_AB *stage, int i) const
    {
        return stage + k * PITCH + outer + (ALONG_K ? along(i) * PITCH + lines(i) : lines(i) * PITCH + along(i));
    }
    // How many elements of the i-th vector lie inside the matrix.
    __device__ __forceinline__ int inside(int i, int k_count) const
    {
        const int k_room = k_count - k - (ALONG_K ? along(i) : lines(i));
        const int outer_room = outer_count - outer - (ALONG_K ? lines(i) : along(i));
        const int room = ALONG_K ? k_room : outer_room;
        return k_room <= 0 || outer_room <= 0 ? 0 : VEC == 1 || room >= VEC ? VEC : room;
    }

    // Starts bringing a tile of k_count (up to BK) k-steps. Tiles wholly inside the matrix, nearly all, are spared
    // the questions. The others go through L1: f32's 24x7664x88 tn in 32x32 takes an H200 2.9 us so, else 3.7.
    template <bool WHOLE> __device__ __forceinline__ void bring(GT_AB *stage, int k_count)
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int valid = WHOLE ? VEC : inside(i, k_count);
            if (!mine(i))
                continue;
            if (ASYNC)
                gt_copy_async<VEC * GT_AB_BYTES, !WHOLE>(gt_shared_address(target(stage, i)), source(i),
                                                         valid * GT_AB_BYTES);
            else
                held[i] = gt_load_vector<VEC>(source(i), valid);
        }
    }
    __device__ __forceinline__ void fetch(GT_AB *stage, gt_int k_left)
    {
        if (k_left >= BK && outer_count == OUTER)
            bring<true>(stage, BK);
        else
            bring<false>(stage, gt_clip(k_left, BK));
        from += ALONG_K ? (gt_int)BK : BK * ld;
    }

    // Puts what fetch left in registers into its stage.
    __device__ __forceinline__ void settle(GT_AB *stage) const
    {
        if (ASYNC)
            return;
#pragma unroll
        for (int i = 0; i < COUNT; i += TOGETHER)
#pragma unroll
            for (int e = 0; e < VEC; e++) {
                gt_vector<GT_AB, TOGETHER> side; // by side in the stage
#pragma unroll
                for (int l = 0; l < TOGETHER; l++)
                    side.e[l] = held[i + l].e[e];
                if (mine(i))
                    *(gt_vector<GT_AB, TOGETHER> *)&target(stage, i)[ALONG_K ? e * PITCH : e] = side;
            }
    }
};

typedef operand<BM, GT_A_ALONG_K> operand_a;
typedef operand<BN, GT_B_ALONG_K> operand_b;
constexpr int STAGE = operand_a::ELEMENTS + operand_b::ELEMENTS;
GT_ASSERT_FACT(THREADS, THREADS_);
// In the place of the stages C is staged: of every thread one row of its sums at least, as many as fit.
constexpr int STAGES_BYTES = STAGES * STAGE * GT_AB_BYTES, ROW_BYTES = ABREAST ? THREADS_ * TN * GT_ACC_BYTES : 0;
constexpr __device__ int rows_that_fit(int rows)
{
    return rows == 1 || rows * ROW_BYTES <= STAGES_BYTES ? rows : rows_that_fit(rows / 2);
}
constexpr int STAGED = rows_that_fit(TM), ROWS_AT_ONCE = TN < 16 ? 16 / TN : 1;
GT_ASSERT_FACT(SMEM_BYTES, STAGES_BYTES > ROW_BYTES ? STAGES_BYTES : ROW_BYTES);
GT_ASSERT_FACT(WS_TILE, SPLIT_K > 1 ? SPLIT_K * BM * BN * sizeof(GT_ACC) : 0);

// One k-step's rows or columns of a thread: pieces of four, SPAN apart.
template <int COUNT, int SPAN> __device__ __forceinline__ void read_fragment(GT_AB *fragment, const GT_AB *from)
{
#pragma unroll
    for (int i = 0; i < COUNT / 4; i++)
        *(four_ab *)&fragment[4 * i] = *(const four_ab *)(from + i * SPAN);
}

// Rows in serpentine, so that every multiply-add shares an operand with the one before it, which then reads only two
// registers. They must lie in different banks, even and odd: sums are exchanged in pairs against the columns of B.
__device__ __forceinline__ void multiply(GT_ACC (&sum)[TM][TN], const GT_AB *a, const GT_AB *b)
{
    GT_ACC column[TN];
#pragma unroll
    for (int j = 0; j < TN; j++)
        column[j] = GT_ACC(GT_B(b[j]));
#pragma unroll
    for (int i = 0; i < TM; i++) {
        const GT_ACC row = GT_ACC(GT_A(a[i]));
#pragma unroll
        for (int f = 0; f < TN; f++) {
            const int j = i % 2 ? TN - 1 - f : f;
            gt_multiply_add(sum[i][j ^ 1], row, column[j]);
        }
    }
}

// A lane's row and column among those of its warp, in fours. A read of 16 bytes takes two clocks instead of four where
// all lanes agree with lane ^ 1, or all with lane ^ 2: so neighbours share columns, and every second lane rows.
__device__ __forceinline__ int lane_row()
{
    const int lane = threadIdx.x % 32;
    return CLOSE ? lane % 2 + lane / (2 * LANES_N) * 2 : lane / LANES_N;
}
__device__ __forceinline__ int lane_column()
{
    const int lane = threadIdx.x % 32;
    return CLOSE ? lane / 2 % LANES_N : lane % LANES_N;
}

// The sums of all blocks of the tile, in the last of them; false in the others. Not gt_add_parts: its reads
// would change which registers the main loop has its sums in, and how often these meet in a bank.
__device__ __forceinline__ bool add_parts(const gt_args &g, GT_ACC (&sum)[TM][TN], void *shared)
{
    constexpr int PIECES = TM * TN / 4;
    const gt_int tile = (gt_int)blockIdx.z * gridDim.x + blockIdx.x;
    const unsigned count = gt_parts<SPLIT_K>();
    if (count == 1) // nothing to add
        return true;
    four_acc *parts = (four_acc *)g.workspace + tile * count * (PIECES * THREADS_) + threadIdx.x;
    four_acc *mine = parts + (gt_int)blockIdx.y * (PIECES * THREADS_);
#pragma unroll
    for (int p = 0; p < PIECES; p++)
        mine[p * THREADS_] = *(four_acc *)&sum[p * 4 / TN][p * 4 % TN];
    if (!gt_arrive_last(count, &g.counters[tile], (bool *)shared, [] { __syncthreads(); }))
        return false;
    if (threadIdx.x == 0)
        g.counters[tile] = 0;
#pragma unroll
    for (int p = 0; p < PIECES; p++)
        *(four_acc *)&sum[p * 4 / TN][p * 4 % TN] = parts[p * THREADS_];
    for (unsigned s = 1; s < count; s++)
#pragma unroll
        for (int p = 0; p < PIECES; p++) {
            const four_acc part = parts[((gt_int)s * PIECES + p) * THREADS_];
#pragma unroll
            for (int e = 0; e < 4; e++)
                sum[p * 4 / TN][p * 4 % TN + e] += part.e[e];
        }
    return true;
}

// Sums go to the staging buffer as they lie, exchanged in pairs: were they put in order there, the assembler would have
// them in that order from the beginning, in the banks of their columns.
typedef gt_abreast<SPAN_N, 4, 1> results_abreast;

// Stores alpha times sums, four of each lane at once.
__device__ __forceinline__ void store_straight(const results_abreast &to, const GT_ACC (&sum)[TM][TN],
                                               GT_ACC *staging)
{
    const gt_args &g = to.g;
    const int lane = threadIdx.x % 32;
    gt_int begin = to.row * g.ldc + to.column;
    asm volatile("" : "+l"(begin)); // else the compiler adds this up anew for every element
#pragma unroll
    for (int p = 0; p < TM * TN; p += 4) {
        __syncwarp(); // what lay there has been read
        *(four_acc *)&staging[(lane_row() * LANES_N + lane_column()) * 4] = *(const four_acc *)&sum[p / TN][p % TN];
        __syncwarp();
        GT_ACC one[4]; // all are read before any is stored
#pragma unroll
        for (int n = 0; n < 4; n++)
            one[n] = ((const volatile GT_ACC *)staging)[n * 32 + (lane ^ 1)];
#pragma unroll
        for (int n = 0; n < 4; n++) {
            const int down = p / TN / 4 * SPAN_M + p / TN % 4 + to.below(n);
            const int along = p % TN / 4 * SPAN_N + to.beside(n);
            if (down < to.rows && along < to.columns)
                g.c[begin + down * g.ldc + along] = GT_C(g.alpha.value * one[n]);
        }
    }
}

// Makes C of sums where lanes' fours do not leave as they are; row and column are the warp's first ones.
__device__ __forceinline__ void store_abreast(const gt_args &g, const GT_ACC (&sum)[TM][TN], gt_int row, gt_int column,
                                              GT_ACC *stages)
{
    const results_abreast results(g, row, column);
    GT_ACC *staging = stages + threadIdx.x / 32 * (STAGED * TN * 32);
    const auto down = [](int i) { return i / 4 * SPAN_M + i % 4; };
    // Few sums without a C go by fours, without a loop: kernels with such an end were 2 to 10% faster where K is below
    // 64. More sums would be more code, which changes the registers that the main loop has them in.
    const bool straight = TM * TN <= 32 && gt_is_plain(g) && !gt_has_epilogue(g);
    if (straight)
        store_straight(results, sum, staging);
#pragma unroll
    for (int first = 0; first < TM && !straight; first += STAGED) {
        __syncwarp(); // what lay there has been read
#pragma unroll
        for (int p = 0; p < STAGED * TN; p += 4)
            *(four_acc *)&staging[(p * 8 + lane_row() * LANES_N + lane_column()) * 4] =
                *(const four_acc *)&sum[first + p / TN][p % TN];
        __syncwarp();
#pragma unroll ROWS_AT_ONCE
        for (int i = 0; i < STAGED; i++)
            results.store<TN / 4>(staging + i * (TN * 32), down(first + i), 0);
    }
    if (gt_has_activation(g))
#pragma unroll 1
        for (int p = 0; p < TM * TN; p += 4)
            results.finish(down(p / TN), p % TN / 4 * SPAN_N);
}

// Makes C of sums where a four lies inside the matrix whole or not at all; row and column are the thread's first ones.
// Nearly all that is issued then is a multiplication or a store. Where the old C counts (OLD), that of four rows is on
// its way together: one after another, each would be waited for.
template <bool OLD>
__device__ __forceinline__ void store_fours(const gt_args &g, const GT_ACC (&sum)[TM][TN], const GT_ACC *bias,
                                            gt_int row, gt_int column)
{
    const int rows = gt_clip(g.m - row, BM), columns = gt_clip(g.n - column, BN);
    GT_C *to = g.c + row * g.ldc + column;
    typedef gt_vector<GT_C, 4> four;
#pragma unroll
    for (int down = 0; down < TM / 4 * SPAN_M; down += SPAN_M) {
        GT_C *line[4];
        four old[4][TN / 4];
        const auto inside = [&](int i, int j) { return down + i < rows && j * SPAN_N < columns; };
#pragma unroll
        for (int i = 0; i < 4; i++) {
            line[i] = to + (down + i) * g.ldc;
            asm volatile("" : "+l"(line[i])); // else the compiler adds this up anew for every four
            __builtin_assume(__isGlobal(line[i]));
#pragma unroll
            for (int j = 0; j < TN / 4 && OLD; j++)
                if (inside(i, j))
                    old[i][j] = *(const four *)gt_old(g, line[i] + j * SPAN_N);
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < TN / 4; j++) {
                four results;
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const GT_ACC its = sum[down / SPAN_M * 4 + i][j * 4 + (e ^ 1)];
                    const GT_ACC *added = FINISHES_STORED ? &bias[j * 4 + e] : nullptr;
                    results.e[e] = GT_C(OLD ? gt_add_old(g, its, old[i][j].e[e], added) : gt_scale(g, its, added));
                }
                if (inside(i, j))
                    gt_store_vector(line[i] + j * SPAN_N, results);
            }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS_, OCC) gemm(const __grid_constant__ gt_args args)
{
    extern __shared__ __align__(16) GT_AB stages[];
    gt_args g = args;
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, GROUP);
    const gt_int row = tile.row * BM, column = tile.column * BN;

    // This block's part of K, in whole tiles.
    const gt_int all = (g.k + BK - 1) / BK, share = gt_share<SPLIT_K>(all);
    const gt_int first = blockIdx.y * share;
    const int tiles = (int)(first >= all ? 0 : all - first < share ? all - first : share);
    gt_int k_left = g.k - first * BK; // from the next tile to fetch on

    operand_a a;
    operand_b b;
    a.init(g.a, g.lda, row, g.m, first * BK);
    b.init(g.b, g.ldb, column, g.n, first * BK);

    const int warp = threadIdx.x / 32;
    const int warp_row = warp / WARPS_N * WM + lane_row() * 4;
    const int warp_column = warp % WARPS_N * WN + lane_column() * 4;

    gt_begin_evenly();
    const auto fetch = [&](int stage) {
        a.fetch(stages + stage * STAGE, k_left);
        b.fetch(stages + stage * STAGE + operand_a::ELEMENTS, k_left);
        k_left -= BK;
    };
    const auto settle = [&](int stage) {
        a.settle(stages + stage * STAGE);
        b.settle(stages + stage * STAGE + operand_a::ELEMENTS);
    };

    GT_ACC sum[TM][TN];
#pragma unroll
    for (int p = 0; p < TM * TN; p += 2)
        gt_clear_pair(&sum[p / TN][p % TN]);
    if (tiles > 0) {
        __align__(16) GT_AB a_fragment[2][TM];
        __align__(16) GT_AB b_fragment[2][TN];
#pragma unroll
        for (int s = 0; s < STAGES - 1; s++) {
            if (s < tiles) {
                fetch(s);
                settle(s);
            }
            commit_copies();
        }
        wait_copies<STAGES - 2>();
        __syncthreads();
        int reading = 0, writing = STAGES - 1;
        int a_first, b_first; // of the thread, in the stage that is read
        const auto enter = [&](int stage) {
            a_first = stage * STAGE + warp_row;
            b_first = stage * STAGE + operand_a::ELEMENTS + warp_column;
            asm("" : "+r"(a_first), "+r"(b_first)); // else the compiler adds this up anew for every fragment
        };
        // One k-step's fragments, for the one after the k-th.
        const auto read = [&](int k, int from) {
            read_fragment<TM, SPAN_M>(a_fragment[(k + 1) % 2], stages + a_first + from * operand_a::PITCH);
            read_fragment<TN, SPAN_N>(b_fragment[(k + 1) % 2], stages + b_first + from * operand_b::PITCH);
        };
        enter(0);
        read(-1, 0);

        for (int t = 1; t < tiles; t++) {
            const bool more = t + STAGES - 2 < tiles;
#pragma unroll
            for (int k = 0; k < BK; k++) {
                // The next tile must be complete before its first fragment is read, one k-step early.
                if (k == BK - 1) {
                    if (more)
                        settle(writing);
                    wait_copies<STAGES - 2>();
                    __syncthreads();
                    writing = reading;
                    reading = reading == STAGES - 1 ? 0 : reading + 1;
                    enter(reading);
                }
                read(k, (k + 1) % BK);
                if (k == 0) {
                    if (more)
                        fetch(writing);
                    commit_copies();
                }
                multiply(sum, a_fragment[k % 2], b_fragment[k % 2]);
            }
        }
        // The last tile, as far as K goes: of a K of 66 and tiles of 32 a third of all steps would be zeros.
        const int steps = gt_clip(g.k - (first + tiles - 1) * BK, BK);
#pragma unroll 1
        for (int done = 0; done < steps; done += LAST)
#pragma unroll
            for (int k = 0; k < LAST; k++) {
                if (k < LAST - 1 || done + LAST < steps)
                    read(k, done + k + 1);
                multiply(sum, a_fragment[k % 2], b_fragment[k % 2]);
            }
    }

    if (SPLIT_K > 1 && !add_parts(g, sum, stages))
        return;
    if (ABREAST) {
        wait_copies<0>();
        __syncthreads(); // stages have been read, and nobody fills one
        store_abreast(g, sum, row + warp / WARPS_N * WM, column + warp % WARPS_N * WN, (GT_ACC *)stages);
        return;
    }
    GT_ACC bias[TN];
#pragma unroll
    for (int j = 0; j < TN; j += 4)
        if (FINISHES_STORED)
            gt_load_bias<4>(g, column + warp_column + j / 4 * SPAN_N, &bias[j]);
    const bool fours = GT_WIDE_C >= 4 && g.n % 4 == 0 && (FINISHES_STORED || !gt_has_epilogue(g));
    if (fours && g.beta.value == GT_ACC(0))
        store_fours<false>(g, sum, bias, row + warp_row, column + warp_column);
    else if (fours)
        store_fours<true>(g, sum, bias, row + warp_row, column + warp_column);
#pragma unroll
    for (int i = 0; i < TM && !fours; i++) {
        const gt_int r = row + warp_row + i / 4 * SPAN_M + i % 4;
        if (r < g.m)
#pragma unroll
            for (int j = 0; j < TN; j += 4) {
                const GT_ACC four[4] = {sum[i][j + 1], sum[i][j], sum[i][j + 3], sum[i][j + 2]};
                gt_store_c_vector<4>(g, r, column + warp_column + j / 4 * SPAN_N, four, 0,
                                     FINISHES_STORED ? &bias[j] : nullptr);
            }
    }
    if (FINISHES_STORED && gt_has_activation(g))
#pragma unroll 4
        for (int p = 0; p < TM * TN; p += 4) {
            const int i = p / TN, j = p % TN;
            gt_finish_stored<4>(g, row + warp_row + i / 4 * SPAN_M + i % 4, column + warp_column + j / 4 * SPAN_N);
        }
}
