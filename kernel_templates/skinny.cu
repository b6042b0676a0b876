// SIMT GEMM for skinny products, in which the rows or the columns of C are few: bound by memory. One operand streams
// from memory and is read once, the other, small one is kept in shared memory, a chunk of K at a time.
//
// There is no warp tile: a thread has a tile of T_FEW x T_MANY sums (few by many), and lanes and warps lie over the
// many and over K. A lane takes the streamed operand in units of four k-steps by T_MANY and has STAGES of them in
// flight, to a corner of shared memory that only it reads: no register waits for memory, and no barrier stands between.
//
// K is split four ways: over LANES_K lanes of a warp, WARPS_K warps of a block (sliced-K), CLUSTER_K blocks of a
// cluster that add up in each other's shared memory, and the clusters of one tile, which meet in the workspace
// (split-K). Partial sums are added in a fixed order.
//
// Here are the tunables, the division of the work and the kernel; skinny_producer.cuh has the copies,
// skinny_mainloop.cuh the multiplication, skinny_epilogue.cuh the way of sums to C.
#include "async_copy.cuh"
#include "dependent_launch.cuh"
#include "gemm.cuh"
#include "split_k.cuh"

#ifndef SIDE // 0: the rows of C are few and op(B) streams; 1: the columns are few and op(A) streams
#define SIDE 0
#endif
#ifndef BM // threadblock tile: what every block of a cluster sums over its part of K, and they store together
#define BM 16
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK // k-steps of the kept operand in one chunk
#define BK 128
#endif
#ifndef TM // thread tile
#define TM 16
#endif
#ifndef TN
#define TN 4
#endif
#ifndef WARPS_FEW // warps over the few
#define WARPS_FEW 1
#endif
#ifndef WARPS_MANY // warps over the many
#define WARPS_MANY 1
#endif
#ifndef WARPS_K // warps over K
#define WARPS_K 8
#endif
#ifndef LANES_K // lanes over K; the others lie over the many
#define LANES_K 1
#endif
#ifndef STAGES // units of the streamed operand on their way to a lane
#define STAGES 4
#endif
#ifndef CLUSTER_K // blocks of a cluster, which share K
#define CLUSTER_K 8
#endif
#ifndef SPLIT_K // parts of K along the grid's y, of a block each: those of all clusters
#define SPLIT_K 8
#endif
#ifndef HINT // the streamed operand in L2, a gt_l2: 0 as usual, 1 evicted first, 2 read 256 bytes at a time
#define HINT 0
#endif
#ifndef OCC // blocks an SM should hold
#define OCC 1
#endif

constexpr bool ALONG_K = SIDE ? GT_A_ALONG_K : GT_B_ALONG_K;      // the streamed operand is contiguous along K
constexpr bool KEPT_ALONG_K = SIDE ? GT_B_ALONG_K : GT_A_ALONG_K; // the kept one is
constexpr int V = GT_WIDE_AB < 4 ? GT_WIDE_AB : 4;                // elements in one copy: k-steps of a unit at most
constexpr int T_FEW = SIDE ? TN : TM, T_MANY = SIDE ? TM : TN;
constexpr int WARPS = WARPS_FEW * WARPS_MANY * WARPS_K, THREADS_ = 32 * WARPS;
constexpr int LANES_MANY = 32 / LANES_K;                // lanes over the many
constexpr int FEW = T_FEW * WARPS_FEW;                  // the tile: of the few,
constexpr int COVER = WARPS_MANY * LANES_MANY * T_MANY; // and of the many,
constexpr int OWN = COVER / CLUSTER_K;                  // of which a block stores so many
constexpr int CLUSTERS = SPLIT_K / CLUSTER_K;           // that share a tile; more than one: any number
constexpr int UNIT = 4 * LANES_K;                       // k-steps that a warp takes at once
constexpr int UNITS = BK / (WARPS_K * UNIT);            // units of a warp in a chunk

// Shared memory: two chunks of the kept operand and the units of every warp, in elements; when these are done with,
// WARPS_K slices of sums in the same place; from byte STAGING on the cluster's staging buffer. Lines begin on different
// banks and stay whole vectors.
constexpr int PITCH = BK + 4, SUM_PITCH = COVER + 4;
constexpr int CHUNK = FEW * PITCH, SLOT = 32 * 4 * T_MANY, SUMS = FEW * SUM_PITCH;
constexpr int FEED_BYTES = (2 * CHUNK + WARPS * STAGES * SLOT) * sizeof(GT_AB);
constexpr int SLICE_BYTES = WARPS_K * SUMS * sizeof(GT_ACC);
constexpr int STAGING = FEED_BYTES > SLICE_BYTES ? FEED_BYTES : SLICE_BYTES;
constexpr int RESULTS = FEW * OWN; // sums that a block has of each block of its cluster, and stores

static_assert((SIDE ? BN : BM) == FEW && (SIDE ? BM : BN) == COVER, "the tile is what a block's threads sum");
static_assert(COVER % CLUSTER_K == 0 && SPLIT_K % CLUSTER_K == 0, "a cluster's blocks have equal shares");
static_assert(BK % (WARPS_K * UNIT) == 0 && UNITS >= STAGES,
              "a chunk is whole units, and comes before the ones behind it");
static_assert(T_MANY % 4 == 0 && 32 % LANES_K == 0, "lanes take whole vectors");
GT_ASSERT_FACT(THREADS, THREADS_);
GT_ASSERT_FACT(SMEM_BYTES, STAGING + (CLUSTER_K > 1 ? CLUSTER_K * RESULTS * sizeof(GT_ACC) : 0));
GT_ASSERT_FACT(CLUSTER_Y, CLUSTER_K);
GT_ASSERT_FACT(WS_TILE, CLUSTERS > 1 ? CLUSTERS * FEW * COVER * sizeof(GT_ACC) : 0);

// The product as the threads see it: few x K, kept, times K x many, streamed.
#if SIDE
typedef GT_B kept_type;
typedef GT_A streamed_type;
#else
typedef GT_A kept_type;
typedef GT_B streamed_type;
#endif
struct operands {
    const GT_AB *kept, *streamed;
    gt_int ld_kept, ld_streamed;
    gt_int few, many;
};

__device__ __forceinline__ operands view(const gt_args &g)
{
    return SIDE ? operands{g.b, g.a, g.ldb, g.lda, g.n, g.m} : operands{g.a, g.b, g.lda, g.ldb, g.m, g.n};
}

// Where a lane stands among its warp's lanes: neighbours follow the storage of the streamed operand.
__device__ __forceinline__ int lane_k()
{
    return ALONG_K ? threadIdx.x % LANES_K : threadIdx.x % 32 / LANES_MANY;
}
__device__ __forceinline__ int lane_many()
{
    return ALONG_K ? threadIdx.x % 32 / LANES_K : threadIdx.x % LANES_MANY;
}

// Warps that read the same part of the streamed operand stand side by side.
__device__ __forceinline__ int warp_few()
{
    return threadIdx.x / 32 % WARPS_FEW;
}
__device__ __forceinline__ int warp_many()
{
    return threadIdx.x / (32 * WARPS_FEW) % WARPS_MANY;
}
__device__ __forceinline__ int warp_k()
{
    return threadIdx.x / (32 * WARPS_FEW * WARPS_MANY);
}

// A lane's j-th column of its warp's, and its e-th k-step of a unit.
__device__ __forceinline__ int column_of(int j)
{
    return ALONG_K ? lane_many() + j * LANES_MANY : (j / V * LANES_MANY + lane_many()) * V + j % V;
}
__device__ __forceinline__ int step_of(int e)
{
    return ALONG_K ? (e / V * LANES_K + lane_k()) * V + e % V : lane_k() * 4 + e;
}

// Blocks of a cluster are neighbours in K.
__device__ __forceinline__ unsigned rank()
{
    return blockIdx.y % CLUSTER_K;
}

#include "skinny_producer.cuh"
#include "skinny_mainloop.cuh"
#include "skinny_epilogue.cuh"

extern "C" __global__ void __launch_bounds__(THREADS_, OCC) gemm(const __grid_constant__ gt_args args)
{
    extern __shared__ __align__(16) GT_AB shared[];
    GT_ACC *slices = (GT_ACC *)shared, *staging = (GT_ACC *)((char *)shared + STAGING);
    gt_args g = args;
    gt_select_batch(g);
    const operands o = view(g);

    // Tiles go along the many.
    const unsigned across = (unsigned)((o.many + COVER - 1) / COVER);
    const gt_int first_few = (gt_int)(blockIdx.x / across) * FEW, first_many = (gt_int)(blockIdx.x % across) * COVER;

    // This block's part of K, in whole units.
    const gt_int units = (g.k + UNIT - 1) / UNIT, share = gt_share<SPLIT_K, CLUSTER_K>(units) * UNIT;
    const gt_int k = blockIdx.y * share, k_count = g.k - k < share ? g.k - k : share;

    gt_begin_evenly();
    cluster_arrive_first();
    GT_ACC sum[T_FEW * T_MANY] = {};
    if (k_count > 0)
        main_loop(o, first_few, first_many, k, k_count, shared, sum);
    leave_sums(sum, slices);
    if (CLUSTER_K > 1)
        exchange(slices, staging);

    GT_ACC result[EACH];
    read_results(slices, staging, result);
    if (CLUSTERS > 1 && !add_clusters(g, result, shared))
        return;
    store_results(g, o, first_few, first_many, result);
}
