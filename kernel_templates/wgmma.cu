// Tensor-core GEMM for Hopper. The copy engine fills a ring of stages in shared memory; one warp asks it for them and
// does nothing else. Warp groups multiply from there (wgmma): WARP_GROUPS of them share the threadblock tile (BM x BN x
// BK) along the instruction's M, or take tiles in turns, so that one multiplies while another stores (PINGPONG). Blocks
// of a cluster share operands: each asks for a part of what all of them need, and the copy engine gives it to all
// (multicast). Or they share K: each adds up a part of the tile of all of them. BLOCKS blocks stay on their
// multiprocessors and take tile after tile, or there is a block for each tile. Where a launch has more parts of K than
// a cluster, clusters meet in the workspace.
#include "gemm.cuh"

#ifndef BM // threadblock tile
#define BM 128
#endif
#ifndef BN
#define BN 256
#endif
#ifndef BK
#define BK 64
#endif
#ifndef SWAP // 1: the instruction's M goes along the columns of C and its N along the rows, for products of few rows
#define SWAP 0
#endif
#ifndef WARP_GROUPS // that multiply
#define WARP_GROUPS 2
#endif
#ifndef PINGPONG // 1: each has tiles of its own, 0: they share them all
#define PINGPONG 0
#endif
#ifndef STAGES // tiles of K in flight
#define STAGES 4
#endif
#ifndef CLUSTER_M // blocks of a cluster: along the rows of C, and along its columns
#define CLUSTER_M 1
#endif
#ifndef CLUSTER_N
#define CLUSTER_N 1
#endif
#ifndef CLUSTER_K // and along K
#define CLUSTER_K 1
#endif
#ifndef GROUP // rows of clusters that are walked together, for L2
#define GROUP 8
#endif
#ifndef SPLIT_K // parts of K along the grid's y, CLUSTER_K of them in a cluster
#define SPLIT_K 1
#endif
#ifndef HINT // steps of four in which L2 evicts first what few blocks read, and those at the same time
#define HINT 0
#endif
#ifndef LOAD // operands come by 1 cp.async, 2 the copy engine
#define LOAD 2
#endif
#ifndef OCC // blocks an SM should hold
#define OCC 1
#endif

#if SWAP
#define INSTRUCTION_N BM
#else
#define INSTRUCTION_N BN
#endif
constexpr int TURNS = PINGPONG ? WARP_GROUPS : 1, SHARERS = WARP_GROUPS / TURNS; // warp groups of a tile
constexpr int SIDE_M = SWAP ? BN : BM;           // of the tile, along the instruction's M
constexpr int STACKED = SIDE_M / (64 * SHARERS); // instructions along it that a warp group has

#include "async_copy.cuh"
#include "dependent_launch.cuh"
#include "mbarrier.cuh"
#include "repack.cuh"
#include "tensor_copy.cuh"
#include "wgmma_instruction.cuh"
#include "wgmma_operand.cuh"

// The operands as the instruction has them. Its A may come through registers.
typedef operand_tile<SWAP ? BN : BM, SWAP ? GT_OPERAND_B_ALONG_K : GT_OPERAND_A_ALONG_K, 1, LOAD == 2> along_m;
typedef operand_tile<SWAP ? BM : BN, SWAP ? GT_OPERAND_A_ALONG_K : GT_OPERAND_B_ALONG_K, 1, LOAD == 2> along_n;
constexpr bool FROM_REGISTERS = GT_AB_BYTES != 2 && !along_m::ALONG_K;
static_assert(GT_AB_BYTES == 2 || along_n::ALONG_K, "only elements of 16 bits may lie along the instruction's N");
static_assert(!FROM_REGISTERS || (BK == LINE && STACKED % 2 == 0), "two instructions share fragments of a line");
static_assert(GT_PROMOTED == 0 || BK <= GT_PROMOTED, "sums of a stage are promoted");

// Where registers are left.
constexpr bool BIAS_AHEAD = STACKED * INSTRUCTION_N / 2 <= 128 && GT_PROMOTED == 0 && !FROM_REGISTERS;
#include "wgmma_epilogue.cuh"

constexpr int SHARING = CLUSTER_M * CLUSTER_N; // blocks of a cluster that share operands
constexpr int PEERS = CLUSTER_M + CLUSTER_N - 1; // of them, those that share A or B with a block, and itself
constexpr int CONSUMERS = WARP_GROUPS * 128, PRODUCERS = 128, THREADS_ = CONSUMERS + PRODUCERS;
static_assert(STACKED * 64 * SHARERS == SIDE_M, "instructions cover the tile");
static_assert(BK % LINE == 0, "whole lines");
static_assert(STAGES >= 2, "one stage is read while another is filled");
static_assert(CLUSTER_K == 1 || SHARING == 1, "blocks of a cluster share operands or K");
static_assert(TURNS == 1 || (TURNS == 2 && SPLIT_K == 1), "two take turns; consumers of a tile that shares K meet");
static_assert(HINT == 0 || SHARING == 1, "blocks that share operands give L2 no hints");

typedef operand_tile<BM, GT_OPERAND_A_ALONG_K, CLUSTER_N, LOAD == 2> tile_a;
typedef operand_tile<BN, GT_OPERAND_B_ALONG_K, CLUSTER_M, LOAD == 2> tile_b;
constexpr int STAGE = tile_a::BYTES + tile_b::BYTES;

// What lies in shared memory behind the stages and the buffers of C. full[s] is complete when stage s has been filled,
// empty[s] when it has been read by all blocks of the cluster that got a part of the same, `met` when this block has the
// sums of all blocks that share its K.
struct behind_buffers {
    gt_mbarrier full[STAGES], empty[STAGES], met;
    bool last; // of the clusters that share K
};
constexpr int BUFFERS_AT = STAGES * STAGE, BEHIND_AT = BUFFERS_AT + WARP_GROUPS * BUFFERS * SUBTILE_BYTES;
// Whether a launch may have any number of parts of K: where consumers of a tile may meet, and registers are left for sums that
// others made.
constexpr bool ANY_SPLIT = TURNS == 1 && STACKED * (INSTRUCTION_N / 2 + 32 * FROM_REGISTERS) <= 128;
static_assert(ANY_SPLIT || SPLIT_K == CLUSTER_K, "parts that meet in the workspace");
#include "wgmma_split_k.cuh"

GT_ASSERT_FACT(THREADS, THREADS_);
GT_ASSERT_FACT(SMEM_BYTES, BEHIND_AT + sizeof(behind_buffers));
GT_ASSERT_FACT(CLUSTER_X, SHARING);
GT_ASSERT_FACT(CLUSTER_Y, CLUSTER_K);
GT_ASSERT_FACT(WS_TILE, ANY_SPLIT ? CLUSTERS * BM * BN * GT_ACC_BYTES : 0);
GT_ASSERT_FACT(BOX_A_ROWS, LOAD == 2 ? tile_a::BOX_ROWS : 0);
GT_ASSERT_FACT(BOX_A_COLUMNS, LOAD == 2 ? tile_a::BOX_COLUMNS : 0);
GT_ASSERT_FACT(BOX_B_ROWS, LOAD == 2 ? tile_b::BOX_ROWS : 0);
GT_ASSERT_FACT(BOX_B_COLUMNS, LOAD == 2 ? tile_b::BOX_COLUMNS : 0);
GT_ASSERT_FACT(BOX_C_ROWS, MAP_C ? SUBTILE_ROWS : 0);
GT_ASSERT_FACT(BOX_C_COLUMNS, MAP_C ? C_BOX_COLUMNS : 0);
GT_ASSERT_FACT(SWIZZLE_C, MAP_C ? C_SWIZZLE : 0);

#include "wgmma_producer.cuh"

// ---- products ----

// Whether a block of the cluster shares A or B with this one, or is it.
__device__ __forceinline__ bool is_peer(unsigned block)
{
    return block % CLUSTER_M == rank_m() || block / CLUSTER_M == rank_n();
}
// A warp has read a stage: every block that fills it is told.
__device__ __forceinline__ void release(unsigned empty)
{
    if (SHARING == 1) {
        if (GT_CHECKED || threadIdx.x % 32 == 0)
            gt_mbarrier_arrive(empty);
    } else if (GT_CHECKED) {
        for (unsigned block = 0; block < SHARING; block++)
            if (is_peer(block))
                gt_mbarrier_arrive_remote(empty, block);
    } else if (threadIdx.x % 32 < SHARING && is_peer(threadIdx.x % 32)) {
        gt_mbarrier_arrive_remote(empty, threadIdx.x % 32);
    }
}

// The products of a stage. `target` are sums, of which the first are replaced unless they are to be added to.
struct fragments {
    unsigned a[FROM_REGISTERS ? BK / INSTRUCTION_K : 1][STACKED][4];
};
__device__ __forceinline__ void multiply_stage(const ring &r, const char *stages, const place &at, fragments &f,
                                               sums (&target)[STACKED], int adds)
{
    // The same in all threads of a warp, which the compiler cannot know.
    const int outer = SHARERS == 1 ? 0 : __shfl_sync(~0u, threadIdx.x / 128, 0) * (STACKED * 64);
    const unsigned tile_m = SWAP ? r.b_of(at) : r.a_of(at);
    const unsigned long long m = along_m::descriptor(tile_m) + along_m::further(outer, 0),
                             n = along_n::descriptor(SWAP ? r.a_of(at) : r.b_of(at));
    gt_mbarrier_wait(r.full_of(at), at.phase);
    if (LOAD == 1)
        gt_fence_async(); // instructions read what threads have copied
    if constexpr (FROM_REGISTERS) {
        const char *tile = stages + (tile_m - r.stages);
#pragma unroll
        for (int k = 0; k < BK; k += INSTRUCTION_K)
#pragma unroll
            for (int i = 0; i < STACKED; i += 2)
                load_fragments((unsigned(&)[2][4])f.a[k / INSTRUCTION_K][i],
                               tile + along_m::further(outer + i * 64, 0) * GT_DESCRIPTOR_UNIT, along_m::BOX_BYTES, k);
    }
    multiply_begin();
#pragma unroll
    for (int k = 0; k < BK; k += INSTRUCTION_K)
#pragma unroll
        for (int i = 0; i < STACKED; i++)
            if constexpr (FROM_REGISTERS)
                multiply(target[i], f.a[k / INSTRUCTION_K][i], n + along_n::further(0, k), k > 0 ? 1 : adds);
            else
                multiply<along_m::ALONG_K, along_n::ALONG_K>(target[i], m + along_m::further(i * 64, k),
                                                             n + along_n::further(0, k), k > 0 ? 1 : adds);
    multiply_commit();
}

// Warp groups that take tiles in turns wait for stages in the order in which they are filled: the parity of an mbarrier
// tells one filling of a stage from the next, and not from the one after that. So a warp group waits until the one
// before it has waited for its last stage, and tells the one behind it, if that has a tile.
__device__ __forceinline__ unsigned turn_of_group()
{
    return TURNS == 1 ? 0 : __shfl_sync(~0u, threadIdx.x / 128, 0);
}
__device__ __forceinline__ void await_turn()
{
    asm volatile("barrier.sync %0, 256;" ::"r"(2 + WARP_GROUPS + turn_of_group()) : "memory");
}
__device__ __forceinline__ void pass_turn(bool on)
{
    if (TURNS > 1 && on)
        asm volatile("barrier.arrive %0, 256;" ::"r"(2 + WARP_GROUPS + (turn_of_group() + 1) % TURNS) : "memory");
}

// The sums of some stages. Products of one stage run while the next one's are started: fragments of both are held.
// on: another warp group has the next turn.
__device__ __forceinline__ void multiply_stages(const ring &r, const char *stages, int steps, place &at,
                                                sums (&d)[STACKED], bool on)
{
    constexpr int HELD = FROM_REGISTERS ? 2 : 1;
    fragments f[HELD];
    unsigned read = 0;
#pragma unroll 1
    for (int first = 0; first < steps; first += HELD) {
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            const int step = first + i;
            if (HELD > 1 && step == steps)
                break;
            multiply_stage(r, stages, at, f[i], d, step);
            if (step > 0) {
                multiply_wait<1>();
                release(read);
            }
            read = r.empty_of(at);
            at.advance();
        }
    }
    pass_turn(on);
    multiply_wait<0>();
    if (steps > 0)
        release(read);
}

// The same where tensor cores keep few bits of a sum: those of a stage are added to others, which keep all. Where there
// are registers for it the next stage's products run meanwhile; else another warp group's do.
__device__ __forceinline__ void multiply_promoted(const ring &r, const char *stages, int steps, place &at,
                                                  sums (&d)[STACKED])
{
    constexpr int COUNT = STACKED * INSTRUCTION_N / 2;
    constexpr bool AHEAD = COUNT <= 64 && !FROM_REGISTERS;
    sums some[AHEAD ? 2 : 1][STACKED];
    fragments f;
    unsigned read = 0, reading = 0;
    const auto start = [&](int i) {
        multiply_stage(r, stages, at, f, some[i], 0);
        read = reading;
        reading = r.empty_of(at);
        at.advance();
    };
    const auto add = [&](int i, unsigned empty) {
        release(empty);
#pragma unroll
        for (int e = 0; e < COUNT; e++)
            (&d[0][0])[e] += (&some[i][0][0])[e];
    };
#pragma unroll
    for (int e = 0; e < COUNT; e++)
        (&d[0][0])[e] = 0;
    if (!AHEAD) {
#pragma unroll 1
        for (int step = 0; step < steps; step++) {
            start(0);
            multiply_wait<0>();
            add(0, reading);
        }
    } else if (steps > 0) {
        start(0);
        int step = 1;
#pragma unroll 1
        for (; step + 1 < steps; step += 2) {
            start(1);
            multiply_wait<1>();
            add(0, read);
            start(0);
            multiply_wait<1>();
            add(1, read);
        }
        if (step < steps) {
            start(1);
            multiply_wait<1>();
            add(0, read);
            multiply_wait<0>();
            add(1, reading);
        } else {
            multiply_wait<0>();
            add(0, reading);
        }
    }
}

// ---- C ----

__device__ __forceinline__ void consume(const gt_tensor_map *map_c, const gt_args &g, const ring &r, char *stages,
                                        behind_buffers &shared)
{
    const schedule plan(g);
    int steps = plan.end - plan.first;
    asm volatile("" : "+r"(steps)); // kept: the assembler would compute it anew in each of them
    output out = {stages + BUFFERS_AT + threadIdx.x / 128 * (BUFFERS * SUBTILE_BYTES)};
    place at = {0, 0};
    const unsigned turn = turn_of_group(), stride = gridDim.x / SHARING;
    if (TURNS > 1)
        at.skip(turn * steps);
    for (unsigned number = blockIdx.x / SHARING + turn * stride; number < plan.clusters; number += TURNS * stride) {
        const bool first = number < stride, on = number + stride < plan.clusters;
        int row, column; // known before the products are
        plan.find(number, row, column);
        const unsigned part = blockIdx.y % CLUSTER_K;
        bias_of_columns bias;
        if (BIAS_AHEAD)
            bias.load(g, column, part);
        sums d[STACKED];
        if (steps == 0) {
#pragma unroll
            for (int i = 0; i < STACKED * INSTRUCTION_N / 2; i++)
                d[i / (INSTRUCTION_N / 2)][i % (INSTRUCTION_N / 2)] = 0;
        }
        if (TURNS > 1 && !first)
            await_turn();
        if (GT_PROMOTED > 0) {
            multiply_promoted(r, stages, steps, at, d);
            pass_turn(on);
        } else {
            multiply_stages(r, stages, steps, at, d, on);
        }
        GT_ACC exchanged[OWN], *own = CLUSTER_K > 1 ? exchanged : d[0];
        if (CLUSTER_K > 1)
            exchange(stages, gt_shared_address(&shared.met), d, exchanged);
        if (ANY_SPLIT && !add_parts(g, &shared.last, own))
            continue;
        out.store(g, map_c, row, column, part, bias, own);
        if (TURNS > 1)
            at.skip((TURNS - 1) * steps);
    }
    output::finish();
}

// ---- the warps of a block ----

// By one warp, for all.
__device__ __forceinline__ void make_barriers(const ring &r, behind_buffers &shared)
{
    if (elect_one()) {
#pragma unroll
        for (int s = 0; s < STAGES; s++) {
            gt_mbarrier_init(r.full + s * GT_MBARRIER_BYTES, LOAD == 2 ? 1 : PRODUCERS);
            gt_mbarrier_init(r.empty + s * GT_MBARRIER_BYTES, PEERS * SHARERS * 4 * GT_WARP_ARRIVALS);
        }
        if (CLUSTER_K > 1)
            init_exchange(gt_shared_address(&shared.met));
        publish_barriers();
    }
    if (LOAD == 2)
        tell_of_barriers<OF_COPIES, 32>();
    tell_of_barriers<OF_CONSUMERS, CONSUMERS>();
}

extern "C" __global__ void __launch_bounds__(THREADS_, OCC) gemm(
#if LOAD == 2
    const __grid_constant__ gt_tensor_map map_a, const __grid_constant__ gt_tensor_map map_b,
#endif
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
    // What stands last is assembled first: then the way to the first copy is short, also in memory. On that way nobody
    // waits for warps whose instructions may have to come from memory, but for the one that makes the mbarriers.
    if (threadIdx.x < CONSUMERS) {
        await_barriers<OF_CONSUMERS, CONSUMERS>();
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(CONSUMER_REGISTERS));
        gt_wait();
        consume(of_c, g, r, stages, shared);
    } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS));
        const unsigned warp = threadIdx.x / 32 - CONSUMERS / 32;
#if LOAD == 2
        if (warp > 0) {
            if (warp == 1) {
                make_barriers(r, shared);
            } else if (warp == 2 && elect_one()) {
                gt_prefetch_map(map_a);
                gt_prefetch_map(map_b);
                if (MAP_C)
                    gt_prefetch_map(*of_c);
            }
            __syncwarp();
            if (CLUSTER_MEETS)
                await_barriers<OF_COPIES, 32>();
        } else {
            const schedule plan(g);
            int row, column;
            plan.find_first(row, column);
            await_barriers<OF_COPIES, 32>();
            if (elect_one()) {
                gt_begin();
                produce(map_a, map_b, plan, r, row, column);
            }
        }
#else
        if (warp == 1)
            make_barriers(r, shared);
        await_barriers<OF_COPIES, PRODUCERS - 32>();
        gt_begin();
        produce_by_threads(g, r);
#endif
        __syncwarp();
        if (CLUSTER_K > 1)
            meet_exchange();
    }
    // Other blocks read this one's shared memory, write into its stages and arrive at its mbarriers.
    if (SHARING > 1) {
        __syncwarp();
        cluster_arrive();
    }
    if (SHARING * CLUSTER_K > 1)
        cluster_wait();
}
