// f32 on tensor cores before Hopper, through mma.sync (--math split). Operands come in two parts of f16, x = hi + 2^-11
// lo (split_parts.cuh), and a b is summed up as hi hi + 2^-11 (hi lo + lo hi), of every STEP elements of K first the
// small products, scaled, and on top of them hi hi: tensor cores cut their sums, so that these go to others in f32.
// Multistage: all threads copy tiles of parts into a ring of stages in shared memory and multiply by warp tiles (WM x
// WN). Split-K: blocks of one tile meet in the workspace. A tile whose lines do not allow parts is computed by
// multiply-adds of f32 instead.
//
// The error of an element is that of split.cu, with P = STEP and tensor cores that take steps of eight products, each
// of which errs by 9 2^-24 + 2^-23 of the largest magnitude in it:
//
//     |error| <= S (3 2^-22 + 2^-19 + (1 + 2^-9) (P / 8) (9 2^-24 + 2^-23) + (ceil(K / P) + 1) 2^-24)
#include "gemm.cuh"

#ifndef BM // threadblock tile
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK // of K, a stage
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
#ifndef SPLIT_K // parts of K along the grid's y, of a block each; more than one: any number of them
#define SPLIT_K 1
#endif
#ifndef GROUP // tile rows that are walked together, for L2
#define GROUP 8
#endif
#ifndef OCC // blocks an SM should hold
#define OCC 1
#endif
#ifndef REPACK // both operands, along K, in two parts
#define REPACK 27
#endif

#include "split_pass.cuh"

constexpr int STEP = BK;
static_assert(STEP == PARTS_STEP && REPACK == 27, "a stage has a line of parts");
static_assert(GT_PROMOTED == 0 || STEP <= GT_PROMOTED, "sums are promoted");

// What tensor cores are given: a line of a stage has the his of STEP elements and then their los.
#undef BK
#define BK (2 * STEP)
#undef GT_AB
#define GT_AB     gt_half
#define LOAD      1
#define CLUSTER_K 1
constexpr int WARPS_N = BN / WN, WARPS = BM / WM * WARPS_N, THREADS_ = WARPS * 32, COPIERS = THREADS_;
constexpr int CONSUMERS = THREADS_;

// Operands are not those of repack.cuh.
#define GT_REPACK_CUH
#define GT_OPERAND_A_ALONG_K true
#define GT_OPERAND_B_ALONG_K true
struct gt_operand {
    const gt_half *at;
    gt_int ld;
};

#include "mma_copy.cuh"

typedef operand<BM, true, true> operand_a;
typedef operand<BN, true, true> operand_b;
#include "mma_stages.cuh"

constexpr int BUFFERS_AT = ALL_STAGES;
constexpr int STEPS = STEP / policy::STEP; // of hi, and of lo

__device__ __forceinline__ void consumers_sync()
{
    __syncthreads();
}
#include "split_strict.cuh"

// The pipeline: a ring of stages, filled STAGES - 1 tiles ahead.
struct mainloop : tile_stages {
    __device__ __forceinline__ void run(int tiles, int warp_row, int warp_column, sums &all)
    {
        sums some = {};
        const fragments_a reads_a(warp_row);
        const fragments_b reads_b(warp_column);
        int reading = 0, writing = STAGES - 1;
#pragma unroll
        for (int s = 0; s < STAGES - 1; s++) {
            if (s < tiles)
                fetch(s);
            gt_commit_copies();
        }
#pragma unroll 1
        for (int t = 0; t < tiles; t++) {
            gt_wait_copies<STAGES - 2>();
            __syncthreads(); // the tile is there for all threads, and the one before it has been read
            if (t + STAGES - 1 < tiles)
                fetch(writing);
            gt_commit_copies();
            // The k-th of each one's parts: steps of hi come first.
            const auto multiply_parts = [&](int of_a, int of_b) {
                fragments_a::fragment a_fragment;
                fragments_b::fragment b_fragment;
                reads_a.read(a_fragment, gt_shared_address(part_a(reading)), of_a);
                reads_b.read(b_fragment, gt_shared_address(part_b(reading)), of_b);
                multiply(some, a_fragment, b_fragment);
            };
#pragma unroll
            for (int k = 0; k < STEPS; k++) {
                multiply_parts(k, k + STEPS);
                multiply_parts(k + STEPS, k);
            }
#pragma unroll
            for (int i = 0; i < BLOCKS_M * BLOCKS_N * 2; i++)
                (&some[0][0][0])[i] *= 1 / LO_SCALE;
#pragma unroll
            for (int k = 0; k < STEPS; k++)
                multiply_parts(k, k);
            promote(all, some);
            writing = reading;
            reading = reading == STAGES - 1 ? 0 : reading + 1;
        }
        gt_wait_copies<0>();
    }
};

// Undoes the scales of lines, half of both powers at a time, as split.cu does.
__device__ __forceinline__ void undo_scales(const gt_args &g, gt_int row, gt_int column, sums &sum)
{
    const line_known *rows = parts_of<true>(g).known, *columns = parts_of<false>(g).known;
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < BLOCKS_M; i++) {
        const gt_int at = row + i * 8 + lane / 4;
        const float undo = at < g.m ? rows[at].undo : 0;
#pragma unroll
        for (int e = 0; e < BLOCKS_N * 2; e++) {
            const gt_int beside = column + e / 2 * 8 + lane % 4 * 2 + e % 2;
            const float both = undo * (beside < g.n ? columns[beside].undo : 0);
            sum[i][e / 2][e % 2] = sum[i][e / 2][e % 2] * both * both;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS_, OCC) gemm(const __grid_constant__ gt_args g)
{
    extern __shared__ __align__(128) char stages[];
    const gt_tile tile = gt_find_tile<BM, BN>(g, GROUP);
    const gt_int row = tile.row * BM, column = tile.column * BN, ld = parts_ld(g);
    const int warp = threadIdx.x / 32, warp_row = warp / WARPS_N * WM, warp_column = warp % WARPS_N * WN;
    gt_begin();
    const way how = find_way(g, row, BM, column, BN);
    if (how != BY_PARTS) {
        compute_strictly(g, how, stages, row, column);
        return;
    }
    // This block's part of K, in whole tiles.
    const gt_int all = ld / BK, first = gt_first_step<SPLIT_K>(all, blockIdx.y);
    const int tiles = (int)(gt_first_step<SPLIT_K>(all, blockIdx.y + 1) - first);
    const gt_operand a = {parts_of<true>(g).lines, ld}, b = {parts_of<false>(g).lines, ld};
    mainloop loop = {{{a, row, g.m, first * BK}, {b, column, g.n, first * BK}, ld - first * BK, stages}};
    sums sum = {};
    loop.run(tiles, warp_row, warp_column, sum);
    __syncthreads(); // all fragments have been read
    if (SPLIT_K > 1 && !add_parts<THREADS_>(g, sum, (bool *)stages, [] { __syncthreads(); }))
        return;
    undo_scales(g, row + warp_row, column + warp_column, sum);
    __syncthreads(); // what was told of parts has been read
    const epilogue e = {g, g.c + blockIdx.z * g.stride_c, row + warp_row, column + warp_column};
    e.store_staged<false>(sum, (GT_ACC *)stages);
}
