// Tensor cores through mma.sync, warp-specialised and persistent: the kernel for large products of f64 on Hopper, whose
// own instructions (wgmma) do not take them. Four producer warps copy tiles of K (BM x BN x BK) into a ring of stages
// in shared memory. Consumer warps, of WM x WN of the tile each, read fragments and multiply. They wait for stages and
// never for each other: of the two on a scheduler one multiplies while the other reads, stores C or waits. BLOCKS
// blocks stay on their multiprocessors and take tile after tile, or there is a block for each tile. Split-K: blocks of
// one tile meet in the workspace, and the last to arrive adds partial sums in a fixed order and stores C.
#ifndef GT_AB
#define GT_AB  double
#define GT_C   double
#define GT_ACC double
#endif
#include "gemm.cuh"

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
#ifndef STAGES // tiles of K in flight
#define STAGES 5
#endif
#ifndef SPLIT_K // parts of K along the grid's y, of a block each; more than one: any number of them
#define SPLIT_K 1
#endif
#ifndef GROUP // tile rows that are walked together, for L2
#define GROUP 8
#endif
#ifndef HINT // 1: L2 evicts first what few blocks read, and those at the same time
#define HINT 0
#endif
#ifndef OCC // blocks an SM should hold
#define OCC 1
#endif
#define LOAD 1 // copies are in the background

constexpr int WARPS_N = BN / WN, CONSUMERS = BM / WM * WARPS_N * 32, PRODUCERS = 128;
constexpr int THREADS_ = CONSUMERS + PRODUCERS, COPIERS = PRODUCERS, PRODUCER_REGISTERS = 56;

#include "consumers_sync.cuh"
#include "dependent_launch.cuh"
#include "mbarrier.cuh"
#include "mma_copy.cuh"
#include "mma_epilogue.cuh"
#include "mma_split_k.cuh"
#include "roles.cuh"

constexpr int STEPS = BK / policy::STEP; // k-steps of a tile
static_assert(GT_PROMOTED == 0, "sums stay where they are");
static_assert(BK % policy::STEP == 0 && STEPS % 2 == 0, "k-steps go through both buffers of fragments");
static_assert(BM % WM == 0 && BN % WN == 0 && WM % 16 == 0 && WN % 16 == 0, "warps cover the tile in whole blocks");
static_assert(CONSUMERS % 128 == 0, "registers change hands between groups of four warps");
static_assert(STAGES >= 3, "two stages are read while another is filled");

constexpr gt_l2 L2 = HINT ? GT_L2_EVICT_FIRST : GT_L2_USUAL;
typedef operand<BM, GT_OPERAND_A_ALONG_K, GT_COPY_A, L2> operand_a;
typedef operand<BN, GT_OPERAND_B_ALONG_K, GT_COPY_B, L2> operand_b;
constexpr int STAGE = operand_a::stage::BYTES + operand_b::stage::BYTES;

GT_ASSERT_FACT(THREADS, THREADS_);
GT_ASSERT_FACT(SMEM_BYTES, STAGES *STAGE);
GT_ASSERT_FACT(WS_TILE, SPLIT_K > 1 ? SPLIT_K * BM * BN * GT_ACC_BYTES : 0);

// Where stages and their mbarriers begin: full[s] is complete when stage s has been filled, empty[s] when it has been
// read.
struct ring {
    char *stages;
    unsigned full, empty;

    __device__ __forceinline__ char *a_of(const place &p) const
    {
        return stages + p.stage * STAGE;
    }
    __device__ __forceinline__ char *b_of(const place &p) const
    {
        return a_of(p) + operand_a::stage::BYTES;
    }
    __device__ __forceinline__ unsigned full_of(const place &p) const
    {
        return full + p.stage * GT_MBARRIER_BYTES;
    }
    __device__ __forceinline__ unsigned empty_of(const place &p) const
    {
        return empty + p.stage * GT_MBARRIER_BYTES;
    }
};

// This block's part of K, in whole stages.
struct part_of_k {
    gt_int first;
    int stages;

    __device__ __forceinline__ part_of_k(const gt_args &g)
    {
        const gt_int all = (g.k + BK - 1) / BK, share = gt_share<SPLIT_K>(all);
        first = SPLIT_K > 1 ? blockIdx.y * share : 0;
        stages = (int)(first >= all ? 0 : all - first < share ? all - first : share);
    }
};

// Brings the old C of a tile into L2: consumers will read it when they have multiplied the stages that are on their way.
__device__ __forceinline__ void prefetch_old(const gt_args &g, const gt_tile &tile)
{
    constexpr int LINE = 128 / GT_C_BYTES, LINES = BN / LINE + 1; // of a row, that begin anywhere
    const gt_int row = tile.row * BM, column = tile.column * BN;
    const int rows = gt_clip(g.m - row, BM), columns = gt_clip(g.n - column, BN);
    const GT_C *old = gt_old(g, g.c + blockIdx.z * g.stride_c + row * g.ldc + column);
#pragma unroll 1
    for (int i = threadIdx.x - CONSUMERS; i < rows * LINES; i += PRODUCERS) {
        const int along = i % LINES * LINE;
        asm volatile("prefetch.global.L2 [%0];" ::"l"(old + i / LINES * g.ldc + (along < columns ? along : columns - 1)));
    }
}

__device__ __forceinline__ void produce(const gt_args &g, const ring &r)
{
    const part_of_k part(g);
    const gt_operand all_a = gt_operand_a(g), all_b = gt_operand_b(g);
    const unsigned long long of_a = HINT ? gt_evict_behind((unsigned)((g.n + BN - 1) / BN)) : 0,
                             of_b = HINT ? gt_evict_behind((unsigned)((g.m + BM - 1) / BM)) : 0;
    place at = {0, 1};
    for (unsigned number = blockIdx.x; number < gt_count_tiles<BM, BN>(g); number += gridDim.x) {
        const gt_tile tile = gt_find_tile<BM, BN>(g, GROUP, number);
        operand_a a(all_a, tile.row * BM, g.m, part.first * BK, of_a);
        operand_b b(all_b, tile.column * BN, g.n, part.first * BK, of_b);
        gt_int k_left = g.k - part.first * BK;
#pragma unroll 1
        for (int left = part.stages; left > 0; left--, k_left -= BK, at.advance()) {
            gt_mbarrier_wait(r.empty_of(at), at.phase);
            a.fetch<0, operand_a::COUNT>(r.a_of(at), k_left);
            b.fetch<0, operand_b::COUNT>(r.b_of(at), k_left);
            gt_mbarrier_arrive_after_copies(r.full_of(at));
            a.advance();
            b.advance();
        }
        if (SPLIT_K == 1 && g.beta.bits << 1 != 0) // in integers: a comparison in f64 would wait for tensor cores
            prefetch_old(g, tile);
    }
}

// A warp has read a stage.
__device__ __forceinline__ void release(unsigned empty)
{
    __syncwarp();
    if (GT_CHECKED || threadIdx.x % 32 == 0)
        gt_mbarrier_arrive(empty);
}

// The sums of a warp's tile, of as many stages. Fragments are read a k-step ahead, into the other of two buffers.
__device__ __forceinline__ void multiply_stages(const ring &r, int stages, const fragments_a &reads_a,
                                                const fragments_b &reads_b, place &at, sums &sum)
{
    fragments_a::fragment a[2];
    fragments_b::fragment b[2];
    const auto read = [&](const place &from, int step) {
        reads_a.read(a[step % 2], gt_shared_address(r.a_of(from)), step);
        reads_b.read(b[step % 2], gt_shared_address(r.b_of(from)), step);
    };
    const auto multiply_step = [&](int step) {
        fragments_a::convert(a[step % 2]);
        fragments_b::convert(b[step % 2]);
        multiply(sum, a[step % 2], b[step % 2]);
    };
    if (stages > 0) {
        gt_mbarrier_wait(r.full_of(at), at.phase);
        read(at, 0);
    }
#pragma unroll 1
    for (int left = stages; left > 0; left--) {
#pragma unroll
        for (int k = 0; k < STEPS - 1; k++) {
            read(at, k + 1);
            multiply_step(k);
        }
        // Behind the last stage its first k-step is read again, for nothing: a question there would cost copies of all
        // fragments between registers.
        place next = at;
        next.advance();
        const place from = left > 1 ? next : at;
        gt_mbarrier_wait(r.full_of(from), from.phase);
        read(from, 0);
        multiply_step(STEPS - 1);
        release(r.empty_of(at));
        at = next;
    }
}

__device__ __forceinline__ void consume(const gt_args &g, const ring &r, bool *last)
{
    const int warp = threadIdx.x / 32, warp_row = warp / WARPS_N * WM, warp_column = warp % WARPS_N * WN;
    const fragments_a reads_a(warp_row);
    const fragments_b reads_b(warp_column);
    const int stages = part_of_k(g).stages;
    place at = {0, 0};
    for (unsigned number = blockIdx.x; number < gt_count_tiles<BM, BN>(g); number += gridDim.x) {
        sums sum = {};
        multiply_stages(r, stages, reads_a, reads_b, at, sum);
        if (SPLIT_K > 1 && !add_parts<CONSUMERS>(g, sum, last, consumers_sync))
            return;
        const gt_tile tile = gt_find_tile<BM, BN>(g, GROUP, number);
        const gt_int row = tile.row * BM, column = tile.column * BN;
        const epilogue e = {g, g.c + blockIdx.z * g.stride_c, row + warp_row, column + warp_column};
        const bool inside = epilogue::ONE_BY_ONE || (row + BM <= g.m && column + BN <= g.n);
        if (gt_is_plain(g) && inside)
            e.store_direct(sum);
        else
            e.store_any(sum);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS_, OCC) gemm(const __grid_constant__ gt_args g)
{
    extern __shared__ __align__(128) char stages[];
    __shared__ gt_mbarrier full[STAGES], empty[STAGES];
    __shared__ bool last; // of the blocks that share K
    if (threadIdx.x == 0) {
#pragma unroll
        for (int s = 0; s < STAGES; s++) {
            gt_mbarrier_init(gt_shared_address(&full[s]), PRODUCERS);
            gt_mbarrier_init(gt_shared_address(&empty[s]), CONSUMERS / 32 * GT_WARP_ARRIVALS);
        }
    }
    __syncthreads();
    const ring r = {stages, gt_shared_address(full), gt_shared_address(empty)};
    if (threadIdx.x >= CONSUMERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS));
        gt_begin();
        produce(g, r);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(CONSUMER_REGISTERS));
        gt_wait();
        consume(g, r, &last);
    }
}
