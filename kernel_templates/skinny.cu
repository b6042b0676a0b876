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
constexpr int V = GT_WIDE_AB;                                     // elements of the streamed operand in one copy
constexpr int T_FEW = SIDE ? TN : TM, T_MANY = SIDE ? TM : TN;
constexpr int WARPS = WARPS_FEW * WARPS_MANY * WARPS_K, THREADS_ = 32 * WARPS;
constexpr int LANES_MANY = 32 / LANES_K;                // lanes over the many
constexpr int FEW = T_FEW * WARPS_FEW;                  // the tile: of the few,
constexpr int COVER = WARPS_MANY * LANES_MANY * T_MANY; // and of the many,
constexpr int OWN = COVER / CLUSTER_K;                  // of which a block stores so many
constexpr int CLUSTERS = SPLIT_K / CLUSTER_K;           // that share a tile
constexpr int UNIT = 4 * LANES_K;                       // k-steps that a warp takes at once
constexpr int UNITS = BK / (WARPS_K * UNIT);            // units of a warp in a chunk

// Shared memory in elements: two chunks of the kept operand and the units of every warp; when these are done with,
// WARPS_K slices of sums in the same place; then the cluster's staging buffer. Lines begin on different banks and stay
// whole vectors.
constexpr int PITCH = BK + 4, SUM_PITCH = COVER + 4;
constexpr int CHUNK = FEW * PITCH, SLOT = 32 * 4 * T_MANY, SUMS = FEW * SUM_PITCH;
constexpr int FEED = 2 * CHUNK + WARPS * STAGES * SLOT, STAGING = FEED > WARPS_K * SUMS ? FEED : WARPS_K * SUMS;
constexpr int RESULTS = FEW * OWN; // sums that a block has of each block of its cluster, and stores

static_assert(sizeof(GT_AB) == 4 && sizeof(GT_ACC) == 4 && sizeof(GT_C) == 4, "elements of four bytes");
static_assert((SIDE ? BN : BM) == FEW && (SIDE ? BM : BN) == COVER, "the tile is what a block's threads sum");
static_assert(COVER % CLUSTER_K == 0 && SPLIT_K % CLUSTER_K == 0, "a cluster's blocks have equal shares");
static_assert(BK % (WARPS_K * UNIT) == 0 && UNITS >= STAGES,
              "a chunk is whole units, and comes before the ones behind it");
static_assert(T_MANY % 4 == 0 && 32 % LANES_K == 0, "lanes take whole vectors");
GT_ASSERT_FACT(THREADS, THREADS_);
GT_ASSERT_FACT(SMEM_BYTES, (STAGING + (CLUSTER_K > 1 ? CLUSTER_K * RESULTS : 0)) * 4);
GT_ASSERT_FACT(CLUSTER_Y, CLUSTER_K);
GT_ASSERT_FACT(WS_TILE, CLUSTERS > 1 ? CLUSTERS * FEW * COVER * 4 : 0);

// The product as the threads see it: few x K, kept, times K x many, streamed.
struct operands {
    const GT_AB *kept, *streamed;
    gt_int ld_kept, ld_streamed;
    gt_int few, many;
};

__device__ __forceinline__ operands view(const gt_args &g)
{
    return SIDE ? operands{g.b, g.a, g.ldb, g.lda, g.n, g.m} : operands{g.a, g.b, g.lda, g.ldb, g.m, g.n};
}

// Starts a copy of V elements of the streamed operand. It passes through L1 only where warps share it.
__device__ __forceinline__ void copy_streamed(GT_AB *to, const GT_AB *from, int valid, unsigned long long policy)
{
    constexpr bool IN_L1 = WARPS_FEW > 1 || V * sizeof(GT_AB) < 16;
    gt_copy_async<V * 4, IN_L1, (gt_l2)HINT>(gt_shared_address(to), from, valid, policy);
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

// The units of the streamed operand that a warp takes, one after the other. Columns beyond the matrix read its last
// ones instead: nobody stores their sums.
struct stream {
    static constexpr int LINES = ALONG_K ? T_MANY : 4;        // lines of the matrix that a lane reads in a unit
    static constexpr int PIECES = (ALONG_K ? 4 : T_MANY) / V; // vectors on each

    const GT_AB *line[ALONG_K ? T_MANY : 1]; // where the next unit begins
    int piece[PIECES];                   // across K: from there to each vector,
    int room[PIECES];                    // and how much of it lies in the matrix
    gt_int ld;
    unsigned long long policy;

    __device__ __forceinline__ stream(const operands &o, gt_int first, gt_int k) : ld(o.ld_streamed)
    {
        const gt_int last = ALONG_K ? o.many - 1 : (o.many - 1) / V * V;
        gt_int column[T_MANY];
#pragma unroll
        for (int j = 0; j < T_MANY; j++) {
            column[j] = first + column_of(j);
            column[j] = column[j] < last ? column[j] : last;
        }
        policy = HINT == GT_L2_EVICT_FIRST ? gt_evict_first() : 0;
        if (ALONG_K) {
#pragma unroll
            for (int j = 0; j < T_MANY; j++)
                line[j] = o.streamed + column[j] * ld + k + step_of(0);
        } else {
            line[0] = o.streamed + (k + step_of(0)) * ld + column[0];
#pragma unroll
            for (int p = 0; p < PIECES; p++) {
                piece[p] = (int)(column[p * V] - column[0]);
                room[p] = gt_clip(o.many - column[p * V], V);
            }
        }
    }

    // Starts bringing the next unit into the lane's corner of a slot: element (e, j), k-step by column, becomes b[j][e]
    // or, where columns are contiguous, b[e][j]. WHOLE: all of it lies in the matrix; else only k_left k-steps may.
    template <bool WHOLE> __device__ __forceinline__ void fetch(GT_AB *corner, int k_left, const GT_AB *somewhere)
    {
#pragma unroll
        for (int l = 0; l < LINES; l++)
#pragma unroll
            for (int p = 0; p < PIECES; p++) {
                const GT_AB *from = ALONG_K ? line[l] + p * LANES_K * V : line[0] + l * ld + piece[p];
                const int left = k_left - step_of(ALONG_K ? p * V : l);
                const int most = left <= 0 ? 0 : ALONG_K ? (left < V ? left : V) : room[p], valid = WHOLE ? V : most;
                const int i = (l * PIECES + p) * V;
                copy_streamed(corner + i / 4 * 128 + i % 4, valid ? from : somewhere, valid * 4, policy);
            }
#pragma unroll
        for (int l = 0; l < (ALONG_K ? T_MANY : 1); l++)
            line[l] += ALONG_K ? (gt_int)(WARPS_K * UNIT) : WARPS_K * UNIT * ld;
    }
};

__device__ __forceinline__ void multiply_add(float &sum, float x, float y)
{
    sum = __fmaf_rn(x, y, sum);
}
__device__ __forceinline__ void multiply_add(int &sum, int x, int y)
{
    sum += x * y;
}

// Adds a unit's products. x is the lane's first k-step of the unit in its warp's first line of the kept operand.
__device__ __forceinline__ void multiply(GT_ACC (&sum)[T_FEW * T_MANY], const GT_AB (&b)[4 * T_MANY], const GT_AB *x)
{
    constexpr int WIDE = ALONG_K ? V : 4;
#pragma unroll
    for (int s = 0; s < T_FEW; s++) {
        gt_vector<GT_AB, WIDE> held[4 / WIDE];
#pragma unroll
        for (int q = 0; q < 4 / WIDE; q++)
            held[q] = *(const gt_vector<GT_AB, WIDE> *)(x + s * PITCH + q * LANES_K * WIDE);
#pragma unroll
        for (int e = 0; e < 4; e++)
#pragma unroll
            for (int j = 0; j < T_MANY; j++)
                multiply_add(sum[s * T_MANY + j], b[ALONG_K ? j * 4 + e : e * T_MANY + j], held[e / WIDE].e[e % WIDE]);
    }
}

// The kept operand's way into shared memory, as [few][K] whatever its layout.
// Threads side by side on a line of the kept operand: no more than it has vectors, and in whole turns along K.
constexpr int KEPT_WIDE = KEPT_ALONG_K ? V : 1, KEPT_LINE = KEPT_ALONG_K ? BK / V : FEW;
constexpr __device__ int side_by_side()
{
    int count = 1;
    while (count < 32 && (KEPT_ALONG_K ? KEPT_LINE % (2 * count) == 0 : count < KEPT_LINE))
        count *= 2;
    return count;
}

// Brings BK k-steps from k on, of which k_left lie in the block's part: up to the end of the last unit, with zeros for
// what is not there. WHOLE: all k-steps and all lines are.
template <bool WHOLE>
__device__ __forceinline__ void bring(GT_AB *chunk, const operands &o, gt_int first, gt_int k, gt_int k_left)
{
    constexpr int NEXT = side_by_side();
    const int rows = gt_clip(o.few - first, FEW), steps = gt_clip(k_left, BK);
    const int needed = WHOLE ? BK : (steps + UNIT - 1) / UNIT * UNIT, lines = KEPT_ALONG_K ? FEW : needed;
    const int line = threadIdx.x / NEXT, along = threadIdx.x % NEXT;
    const GT_AB *from = o.kept + (KEPT_ALONG_K ? (first + line) * o.ld_kept + k : (k + line) * o.ld_kept + first);
#pragma unroll(WHOLE ? 2 : 1) // rare ones take few registers
    for (int l = line; l < lines; l += THREADS_ / NEXT, from += THREADS_ / NEXT * o.ld_kept)
#pragma unroll(WHOLE ? KEPT_LINE : 1)
        for (int i = 0; i < KEPT_LINE; i += NEXT) {
            const int at = (along + i) * KEPT_WIDE, s = KEPT_ALONG_K ? l : at, p = KEPT_ALONG_K ? at : l;
            const int left = s < rows ? steps - p : 0, valid = left >= KEPT_WIDE ? KEPT_WIDE : left > 0 ? left : 0;
            if (WHOLE && KEPT_LINE % NEXT == 0 || at < (KEPT_ALONG_K ? needed : FEW))
                gt_copy_async<KEPT_WIDE * 4>(gt_shared_address(chunk + s * PITCH + p),
                                             WHOLE || valid ? from + at : o.kept, WHOLE ? KEPT_WIDE * 4 : valid * 4);
        }
}
__device__ __forceinline__ void stage(GT_AB *chunk, const operands &o, gt_int first, gt_int k, gt_int k_left)
{
    if (k_left >= BK && o.few - first >= FEW)
        bring<true>(chunk, o, first, k, k_left);
    else
        bring<false>(chunk, o, first, k, k_left);
}

// Adds a lane's sums to those of the LANES_K - 1 lanes that stand on other k-steps. While there is more than one sum
// left, a lane keeps half of them and gives the others away: `from` becomes the number of its first one. A lane whose
// sums another one has too is spare.
template <int COUNT, int BIT>
__device__ __forceinline__ void fold_lanes(GT_ACC (&sum)[T_FEW * T_MANY], int &from, bool &spare)
{
    constexpr int MASK = ALONG_K ? BIT : BIT * LANES_MANY;
    const bool upper = lane_k() & BIT;
    if constexpr (BIT < LANES_K && COUNT % 2 == 0) {
        constexpr int HALF = COUNT / 2;
#pragma unroll
        for (int i = 0; i < HALF; i++) {
            const GT_ACC give = upper ? sum[i] : sum[i + HALF], keep = upper ? sum[i + HALF] : sum[i];
            sum[i] = keep + __shfl_xor_sync(~0u, give, MASK);
        }
        from += upper ? HALF : 0;
        fold_lanes<HALF, 2 * BIT>(sum, from, spare);
    } else if constexpr (BIT < LANES_K) {
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            sum[i] += __shfl_xor_sync(~0u, sum[i], MASK);
        spare |= upper;
        fold_lanes<COUNT, 2 * BIT>(sum, from, spare);
    }
}
// How many sums are left to a lane then.
constexpr __device__ int folded()
{
    int count = T_FEW * T_MANY;
    for (int bit = 1; bit < LANES_K && count % 2 == 0; bit *= 2)
        count /= 2;
    return count;
}

// Leaves the block's sums over its part of K, k_count k-steps from k on, in shared memory: WARPS_K slices of FEW x
// COVER.
__device__ __forceinline__ void sum_part(const operands &o, gt_int first_few, gt_int first_many, gt_int k,
                                         gt_int k_count, GT_AB *shared)
{
    GT_ACC sum[T_FEW * T_MANY] = {};
    if (k_count > 0) {
        const int group = warp_k();
        // Where vectors lie half outside the matrix, no unit is whole.
        const bool ragged = !ALONG_K && o.many % V != 0 && first_many + COVER > o.many;
        const int all = (int)(((k_count + UNIT - 1) / UNIT + WARPS_K - 1 - group) / WARPS_K);
        const int whole = ragged ? 0 : (int)((k_count / UNIT + WARPS_K - 1 - group) / WARPS_K);
        // k-steps of the last unit
        const int tail = (int)(k_count - group * UNIT - (gt_int)(all - 1) * (WARPS_K * UNIT));
        stream from(o, first_many + warp_many() * (LANES_MANY * T_MANY), k + group * UNIT);
        GT_AB *const corner = shared + 2 * CHUNK + threadIdx.x / 32 * (STAGES * SLOT) + threadIdx.x % 32 * 4;
        const auto fetch = [&](int unit, int slot) {
            if (unit < whole)
                from.fetch<true>(corner + slot, UNIT, o.streamed);
            else if (unit < all)
                from.fetch<false>(corner + slot, unit + 1 < all ? UNIT : tail, o.streamed);
        };
        // A unit is a group of copies. The first one takes the first chunk along, and any later chunk travels with one
        // that is awaited before the chunk's turn.
#pragma unroll
        for (int s = 0; s < STAGES; s++) {
            fetch(s, s * SLOT);
            if (s == 0)
                stage(shared, o, first_few, k, k_count);
            gt_commit_copies();
        }
        const GT_AB *x = shared + warp_few() * T_FEW * PITCH + group * UNIT + step_of(0);
        int other = CHUNK; // from the chunk that is read to the other one
        for (int unit = 0, slot = 0; k_count > 0; k += BK, k_count -= BK) {
            gt_wait_copies<STAGES - 1>();
            __syncthreads();
            if (k_count > BK)
                stage(shared + (other > 0 ? CHUNK : 0), o, first_few, k + BK, k_count - BK);
#pragma unroll 1
            for (int u = 0; u < UNITS && unit < all; u++, unit++) {
                GT_AB b[4 * T_MANY];
                gt_wait_copies<STAGES - 1>();
#pragma unroll
                for (int i = 0; i < T_MANY; i++)
                    *(gt_vector<GT_AB, 4> *)&b[4 * i] = *(gt_vector<GT_AB, 4> *)(corner + slot + i * 128);
                fetch(unit + STAGES, slot);
                gt_commit_copies();
                slot = slot == (STAGES - 1) * SLOT ? 0 : slot + SLOT;
                multiply(sum, b, x + u * (WARPS_K * UNIT));
            }
            x += other;
            other = -other;
        }
        gt_wait_copies<0>();
        __syncthreads();
    }

    int from = 0;
    bool spare = false;
    fold_lanes<T_FEW * T_MANY, 1>(sum, from, spare);
    GT_ACC *slice = (GT_ACC *)shared + warp_k() * SUMS + warp_few() * T_FEW * SUM_PITCH +
                    warp_many() * (LANES_MANY * T_MANY);
    if (!ALONG_K && LANES_K == 1 && V > 1) {
#pragma unroll
        for (int i = 0; i < T_FEW * T_MANY; i += V)
            *(gt_vector<GT_ACC, V> *)(slice + i / T_MANY * SUM_PITCH + column_of(i % T_MANY)) =
                *(gt_vector<GT_ACC, V> *)&sum[i];
    } else if (!spare) {
#pragma unroll
        for (int i = 0; i < folded(); i++)
            slice[(from + i) / T_MANY * SUM_PITCH + column_of((from + i) % T_MANY)] = sum[i];
    }
    __syncthreads();
}

// The cluster's blocks exchange sums by writing into each other's shared memory. Who arrives first has nothing to show.
__device__ __forceinline__ void cluster_arrive_first()
{
#if CLUSTER_K > 1
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
#endif
}
__device__ __forceinline__ void cluster_arrive()
{
#if CLUSTER_K > 1
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
#endif
}
__device__ __forceinline__ void cluster_wait()
{
#if CLUSTER_K > 1
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
#endif
}
__device__ __forceinline__ void store_remote(GT_ACC *own_address, unsigned rank, GT_ACC value)
{
#if CLUSTER_K > 1
    unsigned at = gt_shared_address(own_address);
    asm volatile("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(at) : "r"(rank));
    asm volatile("st.shared::cluster.b32 [%0], %1;" ::"r"(at), "r"(*(const unsigned *)&value) : "memory");
#endif
}

// The block's results are dealt out to its threads in the order in which C stores them.
constexpr int EACH = (RESULTS + THREADS_ - 1) / THREADS_;
__device__ __forceinline__ int result_few(int i)
{
    return SIDE ? i % FEW : i / OWN;
}
__device__ __forceinline__ int result_many(int i)
{
    return SIDE ? i / FEW : i % OWN;
}

// Blocks of a cluster are neighbours in K.
__device__ __forceinline__ unsigned rank()
{
    return blockIdx.y % CLUSTER_K;
}

// The cluster's sums of what this block stores: every block adds up its warps' slices and writes each of the others'
// shares into that one's staging buffer, RESULTS sums of each block.
__device__ __forceinline__ void exchange(const GT_ACC *slices, GT_ACC *staging)
{
    cluster_wait(); // all blocks run
    for (unsigned i = threadIdx.x; i < FEW * COVER; i += THREADS_) {
        const unsigned s = i / COVER, l = i % COVER;
        GT_ACC sum = 0;
#pragma unroll
        for (int w = 0; w < WARPS_K; w++)
            sum += slices[w * SUMS + s * SUM_PITCH + l];
        store_remote(staging + rank() * RESULTS + s * OWN + l % OWN, l / OWN, sum);
    }
    cluster_arrive();
    cluster_wait();
}

// The sums of all clusters of the tile, in the last of them; false in the others.
__device__ __forceinline__ bool add_clusters(const gt_args &g, GT_ACC (&result)[EACH], void *shared)
{
    typedef gt_vector<GT_ACC, 1> one;
    const gt_int place = ((gt_int)blockIdx.z * gridDim.x + blockIdx.x) * CLUSTER_K + rank();
    one *parts = (one *)g.workspace + place * CLUSTERS * RESULTS + threadIdx.x;
    return gt_add_parts<CLUSTERS, RESULTS, THREADS_, EACH>(parts, blockIdx.y / CLUSTER_K, &g.counters[place],
                                                           (one *)result, (bool *)shared, [] { __syncthreads(); });
}

extern "C" __global__ void __launch_bounds__(THREADS_, OCC) gemm(const __grid_constant__ gt_args args)
{
    extern __shared__ __align__(16) GT_AB shared[];
    const GT_ACC *slices = (GT_ACC *)shared;
    GT_ACC *staging = (GT_ACC *)shared + STAGING;
    gt_args g = args;
    gt_select_batch(g);
    const operands o = view(g);

    // Tiles go along the many.
    const unsigned across = (unsigned)((o.many + COVER - 1) / COVER);
    const gt_int first_few = (gt_int)(blockIdx.x / across) * FEW, first_many = (gt_int)(blockIdx.x % across) * COVER;

    // This block's part of K, in whole units.
    const gt_int units = (g.k + UNIT - 1) / UNIT, share = (units + SPLIT_K - 1) / SPLIT_K * UNIT;
    const gt_int k = blockIdx.y * share, k_count = g.k - k < share ? g.k - k : share;

    gt_begin();
    cluster_arrive_first();
    sum_part(o, first_few, first_many, k, k_count, shared);
    if (CLUSTER_K > 1)
        exchange(slices, staging);

    GT_ACC result[EACH];
#pragma unroll
    for (int r = 0; r < EACH; r++) {
        const int i = threadIdx.x + r * THREADS_, s = result_few(i), l = result_many(i);
        result[r] = 0;
        if (i < RESULTS)
#pragma unroll
            for (int w = 0; w < (CLUSTER_K > 1 ? CLUSTER_K : WARPS_K); w++)
                result[r] += CLUSTER_K > 1 ? staging[w * RESULTS + s * OWN + l] : slices[w * SUMS + s * SUM_PITCH + l];
    }
    if (CLUSTERS > 1 && !add_clusters(g, result, shared))
        return;
#pragma unroll
    for (int r = 0; r < EACH; r++) {
        const int i = threadIdx.x + r * THREADS_;
        const gt_int s = first_few + result_few(i), l = first_many + rank() * OWN + result_many(i);
        if (i < RESULTS && s < o.few && l < o.many)
            gt_store_c(g, SIDE ? l : s, SIDE ? s : l, result[r]);
    }
}
