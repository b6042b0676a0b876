// Tensor cores through mma.sync: the kernel for GPUs before Hopper, and for what Hopper's own instructions do not take.
// Multistage: all threads copy threadblock tiles (BM x BN x BK) into a ring of stages in shared memory and multiply by
// warp tiles (WM x WN), mostly with double-buffered fragments. Operands lie in shared memory as they are stored, in
// swizzled lines (mma_fragment.cuh); what is multiplied, and how, depends on the element type (mma_policy.cuh).
// Split-K: blocks of one tile meet in the workspace, and the last to arrive adds partial sums in a fixed order and
// stores C.
#ifndef GT_AB
#define GT_AB gt_half
#endif
#include "gemm.cuh"

#ifndef BM // threadblock tile
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 32
#endif
#ifndef WM // warp tile
#define WM 64
#endif
#ifndef WN
#define WN 32
#endif
#ifndef STAGES // tiles of K in flight
#define STAGES 3
#endif
#ifndef FRAGMENTS // buffers of fragments: with two they are read a k-step ahead
#define FRAGMENTS 2
#endif
#ifndef SPLIT_K // parts of K along the grid's y, of a block each; more than one: any number of them
#define SPLIT_K 1
#endif
#ifndef GROUP // tile rows that are walked together, for L2
#define GROUP 8
#endif
#ifndef LOAD // 0 through registers, 1 cp.async, 2 element by element
#define LOAD 1
#endif
#ifndef STORE // C leaves 0 as lanes have it, where it can, 1 through shared memory, 2 in rows of the tile, where it can
#define STORE 1
#endif
#ifndef OCC // blocks an SM should hold
#define OCC 1
#endif

constexpr int WARPS_N = BN / WN, WARPS = BM / WM * WARPS_N, THREADS_ = WARPS * 32, COPIERS = THREADS_;

#include "dependent_launch.cuh"
#include "mma_copy.cuh"

typedef operand<BM, GT_OPERAND_A_ALONG_K, GT_COPY_A> operand_a;
typedef operand<BN, GT_OPERAND_B_ALONG_K, GT_COPY_B> operand_b;
#include "mma_stages.cuh"

constexpr int STEPS = BK / policy::STEP, AHEAD = FRAGMENTS - 1; // k-steps of a tile, and read before they are due
static_assert(BK % policy::STEP == 0, "whole k-steps");
static_assert(GT_PROMOTED == 0 || GT_PROMOTED % BK == 0 || BK % GT_PROMOTED == 0, "promoted tiles, or parts of them");
static_assert(STEPS % FRAGMENTS == 0, "k-steps go through all buffers of fragments");
static_assert(LOAD > 0 || STAGES == 2, "registers hold one tile");

// Whether sums are to be promoted behind a k-step of the t-th tile: GT_PROMOTED or fewer products have gone into them.
__device__ __forceinline__ bool is_promoted(int t, int step)
{
    constexpr int PROMOTED = GT_PROMOTED ? GT_PROMOTED : 1, EVERY = PROMOTED < BK ? PROMOTED / policy::STEP : STEPS;
    return GT_PROMOTED && (step + 1) % EVERY == 0 && (PROMOTED <= BK || (t + 1) % (PROMOTED / BK) == 0);
}

// The pipeline: a ring of stages, filled STAGES - 1 tiles ahead.
struct mainloop : tile_stages {
    __device__ __forceinline__ void settle(int stage) const
    {
        a.settle(part_a(stage));
        b.settle(part_b(stage));
    }
    // The next tile is there, for all threads, and the one before it has been read.
    __device__ __forceinline__ void await() const
    {
        if (LOAD == 1)
            gt_wait_copies<STAGES - 2>();
        __syncthreads();
    }

    // A tile's k-steps from the K-th on: fragments are read, copies begun where there are `more` tiles, products made.
    // Copies are spread over the k-steps before the next tile is waited for; loads into registers begin at once. Steps
    // are constants, and so are copies' numbers: in an unrolled loop they would become that when loops inside it have
    // been unrolled.
    template <int K = 0, typename READ, typename MULTIPLY>
    __device__ __forceinline__ void walk(const int &writing, bool more, const READ &read_step,
                                         const MULTIPLY &multiply_step)
    {
        constexpr int SPREAD = LOAD > 0 ? STEPS - AHEAD : 1;
        read_step(K);
        if constexpr (K < SPREAD)
            if (more)
                fetch<K, SPREAD>(writing);
        if (K == SPREAD - 1)
            gt_commit_copies();
        multiply_step(K);
        if constexpr (K + 1 < STEPS)
            walk<K + 1>(writing, more, read_step, multiply_step);
    }

    __device__ __forceinline__ void run(int tiles, int warp_row, int warp_column, sums &all)
    {
        sums some = {}; // since the last promotion
        sums &sum = GT_PROMOTED ? some : all;
        const fragments_a reads_a(warp_row);
        const fragments_b reads_b(warp_column);
        fragments_a::fragment a_fragment[FRAGMENTS];
        fragments_b::fragment b_fragment[FRAGMENTS];
        const auto read = [&](int stage, int step) {
            reads_a.read(a_fragment[step % FRAGMENTS], gt_shared_address(part_a(stage)), step);
            reads_b.read(b_fragment[step % FRAGMENTS], gt_shared_address(part_b(stage)), step);
        };
        // Without a second buffer rows are read as they are due.
        const auto read_and_multiply = [&](int stage, int step) {
            constexpr int BLOCKS = BLOCKS_M / fragments_a::ACROSS, ROWS = BLOCKS == 1 ? 2 : 1; // of one read, and reads
            reads_b.read(b_fragment[0], gt_shared_address(part_b(stage)), step);
            fragments_b::convert(b_fragment[0]);
#pragma unroll
            for (int i = 0; i < fragments_a::ACROSS; i += ROWS) {
                reads_a.read(a_fragment[0], gt_shared_address(part_a(stage)), step, i, i + ROWS);
                fragments_a::convert(a_fragment[0], i, i + ROWS);
                multiply(sum, a_fragment[0], b_fragment[0], i * BLOCKS, (i + ROWS) * BLOCKS);
            }
        };
#pragma unroll
        for (int s = 0; s < STAGES - 1; s++) {
            if (s < tiles) {
                fetch(s);
                settle(s);
            }
            gt_commit_copies();
        }
        await();
        int reading = 0, writing = STAGES - 1;
        if (AHEAD)
            read(reading, 0);
#pragma unroll 1
        for (int t = 0; t < tiles; t++) {
            const bool more = t + STAGES - 1 < tiles;
            // Behind the last tile its first k-step is read again, for nothing: a question there would cost copies of
            // all fragments between registers.
            const auto next_tile = [&] {
                if (more)
                    settle(writing);
                await();
                writing = reading;
                reading = t + 1 == tiles ? reading : reading == STAGES - 1 ? 0 : reading + 1;
            };
            walk(
                writing, more,
                [&](int k) {
                    if (AHEAD && k == STEPS - 1)
                        next_tile();
                    if (AHEAD)
                        read(reading, (k + 1) % STEPS);
                },
                [&](int k) {
                    if (AHEAD) {
                        fragments_a::convert(a_fragment[k % 2]);
                        fragments_b::convert(b_fragment[k % 2]);
                        multiply(sum, a_fragment[k % 2], b_fragment[k % 2]);
                    } else {
                        read_and_multiply(reading, k);
                    }
                    if (is_promoted(t, k))
                        promote(all, some);
                });
            if (!AHEAD)
                next_tile();
        }
        if (GT_PROMOTED)
            promote(all, some);
    }
};

extern "C" __global__ void __launch_bounds__(THREADS_, OCC) gemm(const __grid_constant__ gt_args g)
{
    extern __shared__ __align__(128) char stages[];
    const gt_tile tile = gt_find_tile<BM, BN>(g, GROUP);
    const gt_int row = tile.row * BM, column = tile.column * BN;
    const int warp = threadIdx.x / 32, warp_row = warp / WARPS_N * WM, warp_column = warp % WARPS_N * WN;

    // This block's part of K, in whole tiles.
    const gt_int all = (g.k + BK - 1) / BK, share = gt_share<SPLIT_K>(all), first = blockIdx.y * share;
    const int tiles = (int)(first >= all ? 0 : all - first < share ? all - first : share);

    const gt_operand a = gt_operand_a(g), b = gt_operand_b(g);
    mainloop loop = {{{a, row, g.m, first * BK}, {b, column, g.n, first * BK}, g.k - first * BK, stages}};
    gt_begin_evenly();
    sums sum = {};
    if (tiles > 0)
        loop.run(tiles, warp_row, warp_column, sum);
    if (SPLIT_K > 1 && !add_parts<THREADS_>(g, sum, (bool *)stages, [] { __syncthreads(); }))
        return;
    const epilogue e = {g, g.c + blockIdx.z * g.stride_c, row + warp_row, column + warp_column};
    const bool inside = row + BM <= g.m && column + BN <= g.n;
    const bool plain = gt_is_plain(g) && (e.is_whole() || inside);
    if (!STORE && plain) {
        e.store_direct(sum);
        return;
    }
    if (STORE == 2 && gt_is_plain(g)) {
        e.store_rows<THREADS_>(sum, (GT_C *)stages, row, column);
        return;
    }
    __syncthreads(); // all fragments have been read
    if (plain)
        e.store_staged<true>(sum, (GT_ACC *)stages);
    else
        e.store_staged<false>(sum, (GT_ACC *)stages);
}
