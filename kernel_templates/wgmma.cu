// Tensor-core GEMM for Hopper. The copy engine fills a ring of stages in shared memory; one warp asks it for them and
// does nothing else. Warp groups multiply from there (wgmma): WARP_GROUPS of them share the threadblock tile (BM x BN x
// BK) along the instruction's M. Blocks of a cluster share operands: each asks for a part of what all of them need, and
// the copy engine gives it to all (multicast). BLOCKS blocks stay on their multiprocessors and take tile after tile, or
// there is a block for each tile. SPLIT_K parts of K meet in the workspace.
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
#ifndef STAGES // tiles of K in flight
#define STAGES 4
#endif
#ifndef CLUSTER_M // blocks of a cluster: along the rows of C, and along its columns
#define CLUSTER_M 1
#endif
#ifndef CLUSTER_N
#define CLUSTER_N 1
#endif
#ifndef GROUP // rows of clusters that are walked together, for L2
#define GROUP 8
#endif
#ifndef SPLIT_K // parts of K along the grid's y
#define SPLIT_K 1
#endif
#ifndef OCC // blocks an SM should hold
#define OCC 1
#endif

#if SWAP
#define INSTRUCTION_N BM
#else
#define INSTRUCTION_N BN
#endif
#include "async_copy.cuh"
#include "dependent_launch.cuh"
#include "mbarrier.cuh"
#include "repack.cuh"
#include "split_k.cuh"
#include "tensor_copy.cuh"
#include "wgmma_instruction.cuh"
#include "wgmma_operand.cuh"

constexpr int CLUSTER = CLUSTER_M * CLUSTER_N;
constexpr int CONSUMERS = WARP_GROUPS * 128, PRODUCERS = 128, THREADS_ = CONSUMERS + PRODUCERS;
constexpr int SIDE_M = SWAP ? BN : BM;                 // of the tile, along the instruction's M
constexpr int STACKED = SIDE_M / (64 * WARP_GROUPS);   // instructions along it that a warp group has
static_assert(STACKED * 64 * WARP_GROUPS == SIDE_M, "instructions cover the tile");
static_assert(BK % LINE == 0, "whole lines");
static_assert(STAGES >= 2, "one stage is read while another is filled");
static_assert(SPLIT_K == 1 || CLUSTER == 1, "a block that shares K has one tile");

typedef operand_tile<BM, GT_OPERAND_A_ALONG_K, CLUSTER_N> tile_a;
typedef operand_tile<BN, GT_OPERAND_B_ALONG_K, CLUSTER_M> tile_b;
constexpr int STAGE = tile_a::BYTES + tile_b::BYTES;

// A warp's staging buffer for 16 x 32 sums on their way to C, lines padded against bank conflicts.
constexpr int CHUNK = 32, PITCH = SWAP ? 20 : 40, STAGING = SWAP ? CHUNK * PITCH : 16 * PITCH;

// What lies in shared memory behind the stages. full[s] is complete when stage s has been filled, empty[s] when it has
// been read by all blocks of the cluster that got the same.
struct behind_stages {
    GT_ACC staging[CONSUMERS / 32][STAGING];
    gt_mbarrier full[STAGES], empty[STAGES];
    bool last; // of the parts of K
};

GT_ASSERT_FACT(THREADS, THREADS_);
GT_ASSERT_FACT(SMEM_BYTES, STAGES * STAGE + sizeof(behind_stages));
GT_ASSERT_FACT(CLUSTER_X, CLUSTER);
GT_ASSERT_FACT(WS_TILE, SPLIT_K > 1 ? SPLIT_K * BM * BN * GT_ACC_BYTES : 0);
GT_ASSERT_FACT(BOX_A_ROWS, tile_a::BOX_ROWS);
GT_ASSERT_FACT(BOX_A_COLUMNS, tile_a::BOX_COLUMNS);
GT_ASSERT_FACT(BOX_B_ROWS, tile_b::BOX_ROWS);
GT_ASSERT_FACT(BOX_B_COLUMNS, tile_b::BOX_COLUMNS);

// Registers of a thread: as launched, the same for all; then a consumer's, with what the producers gave back.
constexpr int PRODUCER_REGISTERS = 40;
constexpr int EVEN = 65536 / (THREADS_ * OCC) / 8 * 8, LAUNCHED = EVEN < 240 ? EVEN : 240;
constexpr int REST = (LAUNCHED * THREADS_ - PRODUCER_REGISTERS * PRODUCERS) / CONSUMERS / 8 * 8,
              CONSUMER_REGISTERS = REST < 240 ? REST : 240;

// A place in the ring of stages, and the parity of how often it went round.
struct place {
    unsigned stage, phase;
    __device__ __forceinline__ void advance()
    {
        if (++stage == STAGES) {
            stage = 0;
            phase ^= 1;
        }
    }
};

// Where stages and their mbarriers begin in shared memory.
struct ring {
    unsigned stages, full, empty;

    __device__ __forceinline__ unsigned full_of(const place &p) const { return full + p.stage * GT_MBARRIER_BYTES; }
    __device__ __forceinline__ unsigned empty_of(const place &p) const { return empty + p.stage * GT_MBARRIER_BYTES; }
    __device__ __forceinline__ unsigned a_of(const place &p) const { return stages + p.stage * STAGE; }
    __device__ __forceinline__ unsigned b_of(const place &p) const { return a_of(p) + tile_a::BYTES; }
};

// This block among those of its cluster.
__device__ __forceinline__ unsigned rank_m()
{
    return CLUSTER == 1 ? 0 : blockIdx.x % CLUSTER % CLUSTER_M;
}
__device__ __forceinline__ unsigned rank_n()
{
    return CLUSTER == 1 ? 0 : blockIdx.x % CLUSTER / CLUSTER_M;
}

// The tiles of a block, and its part of their steps of K. A cluster's blocks have neighbours, some of which may lie
// outside C.
struct schedule {
    unsigned clusters; // of tiles
    gt_int first, end; // steps of BK

    __device__ __forceinline__ schedule(const gt_args &g)
    {
        constexpr int M = BM * CLUSTER_M, N = BN * CLUSTER_N;
        const gt_int steps = (g.k + BK - 1) / BK;
        clusters = (unsigned)((g.m + M - 1) / M) * (unsigned)((g.n + N - 1) / N);
        first = SPLIT_K == 1 ? 0 : steps * blockIdx.y / SPLIT_K;
        end = SPLIT_K == 1 ? steps : steps * (blockIdx.y + 1) / SPLIT_K;
    }
    __device__ __forceinline__ static gt_tile find(const gt_args &g, unsigned number)
    {
        const gt_tile t = gt_find_tile<BM * CLUSTER_M, BN * CLUSTER_N>(g, GROUP, number);
        return {t.row * CLUSTER_M + rank_m(), t.column * CLUSTER_N + rank_n()};
    }
};

// ---- copies ----

__device__ __forceinline__ void produce(const gt_tensor_map &map_a, const gt_tensor_map &map_b, const gt_args &g,
                                        const ring &r)
{
    const schedule plan(g);
    place at = {0, 1};
    for (unsigned number = blockIdx.x / CLUSTER; number < plan.clusters; number += gridDim.x / CLUSTER) {
        const gt_tile tile = schedule::find(g, number);
        const int row = (int)tile.row * BM, column = (int)tile.column * BN;
#pragma unroll 1
        for (gt_int step = plan.first; step < plan.end; step++, at.advance()) {
            gt_mbarrier_wait_cluster<CLUSTER>(r.empty_of(at), at.phase);
            gt_mbarrier_expect(r.full_of(at), STAGE);
            tile_a::copy(r.a_of(at), map_a, row, (int)step * BK, r.full_of(at), rank_n(), rank_m(), CLUSTER_M);
            tile_b::copy(r.b_of(at), map_b, column, (int)step * BK, r.full_of(at), rank_m(), rank_n() * CLUSTER_M, 1);
        }
    }
}

// ---- products ----

// A warp has read a stage: every block that fills it is told.
__device__ __forceinline__ void release(unsigned empty)
{
    if (CLUSTER == 1) {
        if (GT_CHECKED || threadIdx.x % 32 == 0)
            gt_mbarrier_arrive(empty);
    } else if (GT_CHECKED) {
        for (unsigned block = 0; block < CLUSTER; block++)
            gt_mbarrier_arrive_remote(empty, block);
    } else if (threadIdx.x % 32 < CLUSTER) {
        gt_mbarrier_arrive_remote(empty, threadIdx.x % 32);
    }
}

// The sums of some stages. Products of one stage run while the next one's are started.
__device__ __forceinline__ void multiply_stages(const ring &r, int steps, place &at, sums (&d)[STACKED])
{
    typedef operand_tile<SWAP ? BN : BM, SWAP ? GT_OPERAND_B_ALONG_K : GT_OPERAND_A_ALONG_K, 1> along_m;
    typedef operand_tile<SWAP ? BM : BN, SWAP ? GT_OPERAND_A_ALONG_K : GT_OPERAND_B_ALONG_K, 1> along_n;
    // The same in all threads of a warp, which the compiler cannot know.
    const int outer = __shfl_sync(~0u, threadIdx.x / 128, 0) * (STACKED * 64);
    unsigned read = 0;
#pragma unroll 1
    for (int step = 0; step < steps; step++, at.advance()) {
        gt_mbarrier_wait(r.full_of(at), at.phase);
        const unsigned long long m = along_m::descriptor(SWAP ? r.b_of(at) : r.a_of(at)) + along_m::further(outer, 0),
                                 n = along_n::descriptor(SWAP ? r.a_of(at) : r.b_of(at));
        multiply_begin();
#pragma unroll
        for (int k = 0; k < BK; k += INSTRUCTION_K)
#pragma unroll
            for (int i = 0; i < STACKED; i++)
                multiply<along_m::ALONG_K, along_n::ALONG_K>(d[i], m + along_m::further(i * 64, k),
                                                             n + along_n::further(0, k), step + k > 0);
        multiply_commit();
        if (step > 0) {
            multiply_wait<1>();
            release(read);
        }
        read = r.empty_of(at);
    }
    multiply_wait<0>();
    if (steps > 0)
        release(read);
}

// ---- C ----

__device__ __forceinline__ void consumers_sync()
{
    asm volatile("barrier.sync 1, %0;" ::"n"(CONSUMERS) : "memory");
}

// C of WIDTH neighbours of a row. PLAIN: they lie in the matrix and C's old values do not count, as mostly; asked once
// for a tile.
template <bool PLAIN, int WIDTH>
__device__ __forceinline__ void store_few(const gt_args &g, gt_int row, gt_int column, const GT_ACC *from)
{
    const gt_int away = blockIdx.z * g.stride_c;
    if (PLAIN) {
        gt_vector<GT_C, WIDTH> result;
#pragma unroll
        for (int u = 0; u < WIDTH; u++)
            result.e[u] = GT_C(g.alpha.value * from[u]);
        *(gt_vector<GT_C, WIDTH> *)(g.c + away + row * g.ldc + column) = result;
    } else if (row < g.m && column < g.n) {
        gt_store_c_vector<WIDTH>(g, row, column, from, away);
    }
}

// C of a warp's 16 x 8 EIGHTS sums from (i, j) of the instruction on. They go through a staging buffer, so that lanes
// side by side store neighbours of a row.
template <bool PLAIN, int EIGHTS>
__device__ __forceinline__ void store_chunk(const gt_args &g, GT_ACC *staging, gt_int i, gt_int j, const GT_ACC *d)
{
    constexpr int ROWS = SWAP ? EIGHTS * 8 : 16, COLUMNS = SWAP ? 16 : EIGHTS * 8, WIDTH = GT_WIDE_C < 4 ? 1 : GT_WIDE_C;
    const int lane = threadIdx.x % 32;
    __syncwarp(); // what lay there has been read
#pragma unroll
    for (int e = 0; e < EIGHTS * 4; e += 2) {
        const int along_m = lane / 4 + e / 2 % 2 * 8, along_n = e / 4 * 8 + lane % 4 * 2;
        if (SWAP) {
            staging[along_n * PITCH + along_m] = d[e];
            staging[(along_n + 1) * PITCH + along_m] = d[e + 1];
        } else {
            *(gt_vector<GT_ACC, 2> *)&staging[along_m * PITCH + along_n] = {d[e], d[e + 1]};
        }
    }
    __syncwarp();
#pragma unroll
    for (int e = 0; e < ROWS * COLUMNS; e += 32 * WIDTH) {
        const int at = e + lane * WIDTH, y = at / COLUMNS, x = at % COLUMNS;
        store_few<PLAIN, WIDTH>(g, (SWAP ? j : i) + y, (SWAP ? i : j) + x, &staging[y * PITCH + x]);
    }
}

template <bool PLAIN>
__device__ __forceinline__ void store_tile(const gt_args &g, GT_ACC *staging, gt_tile tile, const sums (&d)[STACKED])
{
    const gt_int row = tile.row * BM, column = tile.column * BN;
    const gt_int i = (SWAP ? column : row) + threadIdx.x / 128 * (STACKED * 64) + threadIdx.x % 128 / 32 * 16,
                 j = SWAP ? row : column;
    constexpr int REST = INSTRUCTION_N % CHUNK / 8, WHOLE = INSTRUCTION_N - REST * 8;
#pragma unroll
    for (int s = 0; s < STACKED; s++) {
#pragma unroll
        for (int n = 0; n < WHOLE; n += CHUNK)
            store_chunk<PLAIN, CHUNK / 8>(g, staging, i + s * 64, j + n, &d[s][n / 2]);
        if constexpr (REST > 0)
            store_chunk<PLAIN, REST>(g, staging, i + s * 64, j + WHOLE, &d[s][WHOLE / 2]);
    }
}
__device__ __forceinline__ bool is_plain(const gt_args &g, gt_tile tile)
{
    return g.beta.value == GT_ACC(0) && (tile.row + 1) * BM <= g.m && (tile.column + 1) * BN <= g.n;
}

// The sums of all parts of K, in the last of their blocks; false in the others.
__device__ __forceinline__ bool add_parts(const gt_args &g, bool *last, sums (&d)[STACKED])
{
    typedef gt_vector<GT_ACC, 4> four_acc;
    constexpr int COUNT = sizeof d / sizeof(four_acc), TOTAL = COUNT * CONSUMERS;
    const gt_int tile = (gt_int)blockIdx.z * gridDim.x + blockIdx.x;
    four_acc *parts = (four_acc *)gt_workspace(g) + tile * SPLIT_K * TOTAL + threadIdx.x;
    return gt_add_parts<SPLIT_K, TOTAL, CONSUMERS, COUNT>(parts, blockIdx.y, g.counters + tile * SPLIT_K,
                                                          (four_acc *)&d[0][0], last, consumers_sync);
}

__device__ __forceinline__ void consume(const gt_args &g, const ring &r, behind_stages &shared)
{
    const schedule plan(g);
    const int steps = (int)(plan.end - plan.first);
    place at = {0, 0};
    for (unsigned number = blockIdx.x / CLUSTER; number < plan.clusters; number += gridDim.x / CLUSTER) {
        sums d[STACKED];
        if (steps == 0) {
#pragma unroll
            for (int i = 0; i < STACKED * INSTRUCTION_N / 2; i++)
                d[i / (INSTRUCTION_N / 2)][i % (INSTRUCTION_N / 2)] = 0;
        }
        multiply_stages(r, steps, at, d);
        if (SPLIT_K > 1 && !add_parts(g, &shared.last, d))
            continue;
        const gt_tile tile = schedule::find(g, number);
        if (is_plain(g, tile))
            store_tile<true>(g, shared.staging[threadIdx.x / 32], tile, d);
        else
            store_tile<false>(g, shared.staging[threadIdx.x / 32], tile, d);
    }
}

// All threads of a cluster meet. Nothing is released: that would wait for every store to arrive.
__device__ __forceinline__ void cluster_sync()
{
    if (CLUSTER == 1)
        __syncthreads();
    else
        asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Makes the mbarriers known to the copy engine, and to the other blocks.
__device__ __forceinline__ void publish_barriers()
{
    if (CLUSTER > 1)
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

extern "C" __global__ void __launch_bounds__(THREADS_, OCC)
    gemm(const __grid_constant__ gt_tensor_map map_a, const __grid_constant__ gt_tensor_map map_b,
         const __grid_constant__ gt_args g)
{
    extern __shared__ __align__(1024) char stages[];
    behind_stages &shared = *(behind_stages *)(stages + STAGES * STAGE);
    const ring r = {gt_shared_address(stages), gt_shared_address(shared.full), gt_shared_address(shared.empty)};
    if (threadIdx.x == CONSUMERS) {
        gt_prefetch_map(map_a);
        gt_prefetch_map(map_b);
    }
    if (threadIdx.x == 0) {
#pragma unroll
        for (int s = 0; s < STAGES; s++) {
            gt_mbarrier_init(r.full + s * GT_MBARRIER_BYTES, 1);
            gt_mbarrier_init(r.empty + s * GT_MBARRIER_BYTES, CLUSTER * CONSUMERS / 32 * GT_WARP_ARRIVALS);
        }
        publish_barriers();
    }
    cluster_sync();
    if (threadIdx.x >= CONSUMERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS));
        if (threadIdx.x == CONSUMERS) {
            gt_begin();
            produce(map_a, map_b, g, r);
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(CONSUMER_REGISTERS));
        gt_wait();
        consume(g, r, shared);
    }
    if (CLUSTER > 1) {
        __syncwarp();
        cluster_sync(); // others write into this block's stages and arrive at its mbarriers
    }
}
