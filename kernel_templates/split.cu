// f32 on Hopper's tensor cores (--math split). Operands come in two parts of f16, x = hi + 2^-11 lo (split_parts.cuh
// says what is kept of them), and a b is summed up as hi hi + 2^-11 (hi lo + lo hi). Tensor cores cut their sums, so
// that those of INTERVAL steps of K go to others in f32: of the small products first, which are scaled, and of hi hi on
// top of them. The copy engine fills a ring of stages, one warp asks it for them; WARP_GROUPS warp groups multiply
// (wgmma). BLOCKS blocks stay on their multiprocessors and take tile after tile, or there is a block for each tile, or
// SPLIT_K of them, which share K. A tile whose lines are too wide for two parts has three of bf16 instead
// (split_wide.cuh), and one whose lines do not allow parts is computed by multiply-adds of f32 (split_strict.cuh).
//
// The error of an element of op(A) op(B), over S = sum of |a||b|, with P = 32 INTERVAL: parts are kept to 2^-22 each,
// and lo lo, left out, is 2^-22 at most: 3 2^-22 S, and 2^-19 S of deep elements. A step of sixteen products errs by 17
// 2^-25 + 2^-23 of the largest magnitude in it, so P of them by (P / 16) (17 2^-25 + 2^-23) of theirs; the small
// products have twice as many steps and 2^-10 of the magnitude. f32 rounds one sum an interval, by 2^-24 S at most;
// blocks that share K have no more sums among them than one that has all of it. What cuts take off is given back on the
// average (CUT), 2^-22 S at most with its rounding. So
//
//     |error| <= S (4 2^-22 + 2^-19 + (1 + 2^-9) (P / 16) (17 2^-25 + 2^-23) + (ceil(K / P) + 1) 2^-24)
//
// which is 1.3e-5 S with P = 64 and K = 8192; a chain of fused multiply-adds has K 2^-24, 4.9e-4 S.
#include "gemm.cuh"

#ifndef BM // threadblock tile
#define BM 128
#endif
#ifndef BN
#define BN 192
#endif
#ifndef BK // of K, a stage
#define BK 32
#endif
#ifndef WARP_GROUPS // that multiply
#define WARP_GROUPS 2
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef INTERVAL // stages whose products tensor cores sum
#define INTERVAL 2
#endif
#ifndef ORDERED // 1: two warp groups take turns, so that one's products run while the other adds up
#define ORDERED 1
#endif
#ifndef GROUP // rows of tiles that are walked together, for L2
#define GROUP 8
#endif
#ifndef SPLIT_K // parts of K along the grid's y, CLUSTER_K of them in a cluster
#define SPLIT_K 1
#endif
#ifndef CLUSTER_K // blocks of a cluster, along K
#define CLUSTER_K 1
#endif
#ifndef OCC // blocks an SM should hold
#define OCC 1
#endif
#ifndef REPACK // both operands in two parts, lines as they are stored
#define REPACK 19
#endif

#include "split_pass.cuh"

constexpr int STEP = BK;
static_assert(STEP == PARTS_STEP && REPACK == 19, "a stage has a line of parts");
static_assert(GT_PROMOTED == 0 || STEP * INTERVAL <= GT_PROMOTED, "sums are promoted");

// What tensor cores are given: a line of a stage has the his of STEP elements and then their los.
#undef BK
#define BK (2 * STEP)
#undef GT_AB_BYTES
#define GT_AB_BYTES 2
#undef GT_PTX_A
#undef GT_PTX_B
#define GT_PTX_A      "f16"
#define GT_PTX_B      "f16"
#define SWAP          0
#define INSTRUCTION_N BN
constexpr int SHARERS = WARP_GROUPS, STACKED = BM / (64 * SHARERS), SHARING = 1;
constexpr bool FROM_REGISTERS = false, BIAS_AHEAD = false;

#include "async_copy.cuh"
#include "mbarrier.cuh"
#include "wgmma_instruction.cuh"
#include "wgmma_operand.cuh"
#include "wgmma_epilogue.cuh"

typedef operand_tile<BM, true, 1, false> tile_a;
typedef operand_tile<BN, true, 1, false> tile_b;
constexpr int STAGE = tile_a::BYTES + tile_b::BYTES;
constexpr int CONSUMERS = WARP_GROUPS * 128, PRODUCERS = 128, THREADS_ = CONSUMERS + PRODUCERS;
constexpr bool TURNS = ORDERED && WARP_GROUPS == 2;
static_assert(STACKED * 64 * WARP_GROUPS == BM, "instructions cover the tile");
static_assert(STAGES > INTERVAL, "an interval is read while the next one is filled");

// What lies in shared memory behind the stages and the buffers of C. full[s] is complete when stage s has been filled,
// empty[s] when it has been read, `met` when this block has the sums of all blocks that share its K.
struct behind_buffers {
    gt_mbarrier full[STAGES], empty[STAGES], met;
    bool last; // of the clusters that share K
};
constexpr int BUFFERS_AT = STAGES * STAGE, BEHIND_AT = BUFFERS_AT + WARP_GROUPS * BUFFERS * SUBTILE_BYTES;
constexpr bool ANY_SPLIT = SPLIT_K > CLUSTER_K;
#include "wgmma_split_k.cuh"
#include "split_strict.cuh"

GT_ASSERT_FACT(THREADS, THREADS_);
GT_ASSERT_FACT(SMEM_BYTES, BEHIND_AT + sizeof(behind_buffers));
GT_ASSERT_FACT(CLUSTER_Y, CLUSTER_K);
GT_ASSERT_FACT(WS_TILE, CLUSTERS > 1 ? CLUSTERS * BM * BN * GT_ACC_BYTES : 0);
GT_ASSERT_FACT(BOX_A_ROWS, tile_a::BOX_ROWS);
GT_ASSERT_FACT(BOX_A_COLUMNS, tile_a::BOX_COLUMNS);
GT_ASSERT_FACT(BOX_B_ROWS, tile_b::BOX_ROWS);
GT_ASSERT_FACT(BOX_B_COLUMNS, tile_b::BOX_COLUMNS);
GT_ASSERT_FACT(BOX_C_ROWS, MAP_C ? SUBTILE_ROWS : 0);
GT_ASSERT_FACT(BOX_C_COLUMNS, MAP_C ? C_BOX_COLUMNS : 0);
GT_ASSERT_FACT(SWIZZLE_C, MAP_C ? C_SWIZZLE : 0);

constexpr int PRODUCER_REGISTERS = 24;
#include "roles.cuh"
#include "wgmma_ring.cuh"
#include "split_wide.cuh"

// Intervals of a tile: the last one may have steps beyond K, which are zeros.
__device__ __forceinline__ gt_int count_intervals(const gt_args &g)
{
    return (g.k + STEP * INTERVAL - 1) / (STEP * INTERVAL);
}

// A tile that is not multiplied by two parts is given all stages, empty, to work in: its consumers take them and give
// them back.
__device__ __forceinline__ void lend_stages(const ring &r, place &at)
{
#pragma unroll 1
    for (int stage = 0; stage < STAGES; stage++, at.advance()) {
        gt_mbarrier_wait(r.empty_of(at), at.phase);
        if (threadIdx.x == CONSUMERS)
            gt_mbarrier_arrive(r.full_of(at));
    }
}
__device__ __forceinline__ void take_stages(const ring &r, place at)
{
#pragma unroll 1
    for (int stage = 0; stage < STAGES; stage++, at.advance())
        gt_mbarrier_wait(r.full_of(at), at.phase);
}
__device__ __forceinline__ void give_back(const ring &r, place &at, int stages)
{
#pragma unroll
    for (int stage = 0; stage < stages; stage++, at.advance())
        if (GT_CHECKED || threadIdx.x % 32 == 0)
            gt_mbarrier_arrive(r.empty_of(at));
}
// All of them, after a thread's own accesses: copies come behind these.
__device__ __forceinline__ void return_stages(const ring &r, place &at)
{
    gt_fence_async();
    __syncwarp();
    give_back(r, at, STAGES);
}

// ---- copies, by a warp ----

// Starts the copy of a tile's parts of a step: the map of those that do not lie along K has a row for each line and
// step.
template <bool OF_A>
__device__ __forceinline__ void copy_parts(unsigned to, const gt_tensor_map &map, const gt_args &g, int line, int step,
                                           unsigned full)
{
    constexpr bool ALONG_K = PARTS_ALONG_K<OF_A>;
    const int row = ALONG_K ? line : step * (int)(OF_A ? g.m : g.n) + line, column = ALONG_K ? step * BK : 0;
    operand_tile<OF_A ? BM : BN, true, 1, false>::copy(to, map, row, column, full, 0, 0, 1);
}

__device__ __forceinline__ void produce(const gt_tensor_map &map_a, const gt_tensor_map &map_b, const gt_args &g,
                                        const ring &r)
{
    const k_steps intervals(count_intervals(g));
    place at = {0, 1};
    for (unsigned number = blockIdx.x; number < gt_count_tiles<BM, BN>(g); number += gridDim.x) {
        const gt_tile tile = gt_find_tile<BM, BN>(g, GROUP, number);
        const int row = (int)tile.row * BM, column = (int)tile.column * BN;
        if (find_way(g, row, BM, column, BN) != BY_PARTS) {
            lend_stages(r, at);
            continue;
        }
#pragma unroll 1
        for (int step = intervals.first * INTERVAL; step < intervals.end * INTERVAL; step++, at.advance()) {
            gt_mbarrier_wait(r.empty_of(at), at.phase);
            if (elect_one()) {
                gt_mbarrier_expect(r.full_of(at), STAGE);
                copy_parts<true>(r.a_of(at), map_a, g, row, step, r.full_of(at));
                copy_parts<false>(r.b_of(at), map_b, g, column, step, r.full_of(at));
            }
            __syncwarp();
        }
    }
}

// ---- products ----

// Warp groups start products in turns: barrier 4 says that it is the first one's, barrier 5 the second one's.
__device__ __forceinline__ void take_turn()
{
    if (TURNS)
        asm volatile("barrier.sync %0, 256;" ::"r"(4 + (int)threadIdx.x / 128) : "memory");
}
__device__ __forceinline__ void pass_turn()
{
    if (TURNS)
        asm volatile("barrier.arrive %0, 256;" ::"r"(5 - (int)threadIdx.x / 128) : "memory");
}

// Starts the products of an interval's stages: the small ones, of which the first replace the sums, or hi hi.
template <bool SMALL> __device__ __forceinline__ void multiply_parts(const ring &r, place at, sums (&some)[STACKED])
{
    // The same in all threads of a warp, which the compiler cannot know.
    const int outer = __shfl_sync(~0u, threadIdx.x / 128, 0) * (STACKED * 64);
#pragma unroll
    for (int stage = 0; stage < INTERVAL; stage++, at.advance()) {
        const unsigned long long a = tile_a::descriptor(r.a_of(at)) + tile_a::further(outer, 0),
                                 b = tile_b::descriptor(r.b_of(at));
        if (SMALL)
            gt_mbarrier_wait(r.full_of(at), at.phase);
        if (SMALL || stage == 0)
            multiply_begin();
#pragma unroll
        for (int k = 0; k < STEP; k += INSTRUCTION_K)
#pragma unroll
            for (int i = 0; i < STACKED; i++) {
                const unsigned long long rows = a + tile_a::further(i * 64, k), columns = b + tile_b::further(0, k);
                constexpr int LO = tile_a::further(0, STEP);
                if (SMALL) {
                    multiply<true, true>(some[i], rows, columns + LO, stage > 0 || k > 0);
                    multiply<true, true>(some[i], rows + LO, columns, 1);
                } else {
                    multiply<true, true>(some[i], rows, columns, 1);
                }
            }
    }
    multiply_commit();
}

__device__ __forceinline__ void multiply_tile(const ring &r, int intervals, place &at, sums (&d)[STACKED])
{
    constexpr int COUNT = STACKED * INSTRUCTION_N / 2;
    sums some[STACKED];
#pragma unroll
    for (int e = 0; e < COUNT; e++)
        (&d[0][0])[e] = 0;
#pragma unroll 1
    for (int interval = 0; interval < intervals; interval++) {
        take_turn();
        multiply_parts<true>(r, at, some);
        pass_turn();
        multiply_wait<0>();
#pragma unroll
        for (int e = 0; e < COUNT; e++)
            (&some[0][0])[e] *= 1 / LO_SCALE;
        take_turn();
        multiply_parts<false>(r, at, some);
        pass_turn();
        multiply_wait<0>();
        give_back(r, at, INTERVAL);
#pragma unroll
        for (int e = 0; e < COUNT; e++)
            (&d[0][0])[e] += (&some[0][0])[e];
    }
}

// What tensor cores cut off a sum whose terms have one sign, on the average: without it the errors of such sums would
// be twice those of multiply-adds, where these are shared by many blocks. A sum of n steps loses (2 n + 1) / 3 times
// what that of one does, as it grows; what a whole interval loses is CUT. Lines without los, of small integers as often
// as not, are multiplied exactly, and nothing is given back to their products.
constexpr float CUT = INTERVAL > 1 ? 1.8e-7f : 0.8e-7f;
constexpr int CUT_STEPS = STEP * INTERVAL / INSTRUCTION_K;
__device__ __forceinline__ float find_cut(const gt_args &g)
{
    const int steps = gt_clip((g.k + INSTRUCTION_K - 1) / INSTRUCTION_K, CUT_STEPS);
    return (float)(2 * steps + 1) * (CUT / (2 * CUT_STEPS + 1));
}

// Undoes the scales of lines, and the square of one `more`, in the sums that this block stores, from this row and
// column on, and gives back to them `cut` of themselves. Half of both powers at a time: a product that is not zero is
// 2^-48 at least and does not become subnormal before the result does, so that it is rounded once.
__device__ __forceinline__ void undo_scales(const gt_args &g, gt_int row, gt_int column, float more, float cut,
                                            GT_ACC *own)
{
    const int lane = threadIdx.x % 32, within = lane % 4 * 2;
    row += threadIdx.x / 128 * (STACKED * 64) + threadIdx.x % 128 / 32 * 16 + lane / 4;
    const line_known *rows = parts_of<true>(g).known + row, *columns = parts_of<false>(g).known + column + within;
    const int height = gt_clip(g.m - row, STACKED * 64), width = gt_clip(g.n - column, OWN_N);
    const line_known nothing = {0, 0};
    float undo[STACKED][2], give[STACKED][2];
#pragma unroll
    for (int i = 0; i < STACKED * 2; i++) {
        const int at = i / 2 * 64 + i % 2 * 8;
        const line_known line = at < height ? rows[at] : nothing;
        undo[i / 2][i % 2] = line.undo * more;
        give[i / 2][i % 2] = line.what >> FINE_AT & 1 ? cut : 0;
    }
#pragma unroll
    for (int n = 0; n < OWN_N / 4; n++) {
        const int at = n / 2 * 8 + n % 2;
        const line_known other = at + within < width ? columns[at] : nothing;
#pragma unroll
        for (int i = 0; i < STACKED * 2; i++) {
            const float both = undo[i / 2][i % 2] * other.undo;
            float &sum = own[i / 2 * (OWN_N / 2) + n / 2 * 4 + i % 2 * 2 + n % 2];
            if (other.what >> FINE_AT & 1)
                sum = fmaf(sum, give[i / 2][i % 2], sum);
            sum = sum * both * both;
        }
    }
}

// ---- the product's kernel ----

__device__ __forceinline__ void consume(const gt_tensor_map *map_c, const gt_args &g, const ring &r, char *stages,
                                        behind_buffers &shared)
{
    const k_steps intervals(count_intervals(g));
    const unsigned rank = blockIdx.y % CLUSTER_K;
    output out = {stages + BUFFERS_AT + threadIdx.x / 128 * (BUFFERS * SUBTILE_BYTES)};
    place at = {0, 0};
    if (threadIdx.x >= 128)
        pass_turn(); // the first warp group begins
    for (unsigned number = blockIdx.x; number < gt_count_tiles<BM, BN>(g); number += gridDim.x) {
        const gt_tile tile = gt_find_tile<BM, BN>(g, GROUP, number);
        const int row = (int)tile.row * BM, column = (int)tile.column * BN;
        const way how = find_way(g, row, BM, column, BN);
        if (how == IN_INTERVALS || how == IN_ORDER) {
            take_stages(r, at);
            compute_strictly(g, how, stages, row, column);
            return_stages(r, at);
            if (CLUSTER_K > 1)
                meet_exchange();
            continue;
        }
        sums d[STACKED];
        if (how == BY_WIDE_PARTS) {
            take_stages(r, at);
            multiply_wide_tile(g, r, stages, row, column, intervals.first * INTERVAL, intervals.end * INTERVAL, d);
            return_stages(r, at);
        } else {
            multiply_tile(r, intervals.end - intervals.first, at, d);
        }
        GT_ACC exchanged[OWN], *own = CLUSTER_K > 1 ? exchanged : d[0];
        if (CLUSTER_K > 1)
            exchange(stages, gt_shared_address(&shared.met), d, exchanged);
        if (CLUSTERS > 1 && !add_parts(g, &shared.last, own))
            continue;
        const bool wide = how == BY_WIDE_PARTS;
        undo_scales(g, row, column + rank * OWN_N, wide ? 1 / WIDE_SCALE : 1, wide ? 0 : find_cut(g), own);
        bias_of_columns bias;
        out.store(g, map_c, row, column, rank, bias, own);
    }
    if (threadIdx.x < 128)
        take_turn();
    output::finish();
}

__device__ __forceinline__ void make_barriers(const ring &r, behind_buffers &shared)
{
#pragma unroll
    for (int s = 0; s < STAGES; s++) {
        gt_mbarrier_init(r.full + s * GT_MBARRIER_BYTES, 1);
        gt_mbarrier_init(r.empty + s * GT_MBARRIER_BYTES, CONSUMERS / 32 * GT_WARP_ARRIVALS);
    }
    if (CLUSTER_K > 1)
        init_exchange(gt_shared_address(&shared.met));
    publish_barriers();
}

extern "C" __global__ void __launch_bounds__(THREADS_, OCC)
    gemm(const __grid_constant__ gt_tensor_map map_a, const __grid_constant__ gt_tensor_map map_b,
#if MAP_C
         const __grid_constant__ gt_tensor_map map_c,
#endif
         const __grid_constant__ gt_args g)
{
    extern __shared__ __align__(1024) char stages[];
    behind_buffers &shared = *(behind_buffers *)(stages + BEHIND_AT);
    const ring r = {gt_shared_address(stages), gt_shared_address(shared.full), gt_shared_address(shared.empty)};
#if MAP_C
    const gt_tensor_map *of_c = &map_c;
#else
    const gt_tensor_map *of_c = nullptr;
#endif
    if (threadIdx.x >= CONSUMERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS));
        if (threadIdx.x < CONSUMERS + 32) {
            if (elect_one())
                make_barriers(r, shared);
            __syncwarp();
            tell_of_barriers<OF_CONSUMERS, CONSUMERS>();
            gt_begin();
            produce(map_a, map_b, g, r);
        } else if (threadIdx.x == CONSUMERS + 32) {
            gt_prefetch_map(map_a);
            gt_prefetch_map(map_b);
            if (MAP_C)
                gt_prefetch_map(*of_c);
        }
        __syncwarp();
        if (CLUSTER_K > 1)
            meet_exchange();
    } else {
        await_barriers<OF_CONSUMERS, CONSUMERS>();
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(CONSUMER_REGISTERS));
        gt_wait();
        consume(of_c, g, r, stages, shared);
    }
    if (CLUSTER_K > 1)
        cluster_wait(); // other blocks write into this one's stages
}
