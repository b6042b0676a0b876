// SIMT GEMM for Hopper, warp-specialised, with K split three ways: the kernel for products in plain arithmetic whose
// threadblock tiles alone would leave multiprocessors idle. Producer and consumer warps, threadblock, warp and thread
// tiles are those of warp_specialised.cuh. SLICES K-slice groups of consumer warps share the k-steps of every stage
// (sliced-K), CLUSTER_K blocks of a cluster take parts of K and add up in each other's shared memory, and the clusters
// of one tile meet in the workspace (split-K). Partial sums are added in a fixed order.
#define FINISHES_STORED true
#include "gemm.cuh"
#include "split_k.cuh"

#ifndef CLUSTER_K // blocks of a cluster, which share K
#define CLUSTER_K 2
#endif
#ifndef SPLIT_K // parts of K along the grid's y, of a block each: those of all clusters
#define SPLIT_K 2
#endif
#ifndef SLICES // K-slice groups of a block
#define SLICES 2
#endif
#define PRODUCER_REGISTERS (KMAJOR == 2 ? 56 : TM * TN == 128 ? (KMAJOR ? 40 : 72) : KMAJOR ? 48 : 80)
#define CROSSED            (TM * TN > 64 || (TM * TN == 64 && KMAJOR != 1))
#include "warp_specialised.cuh"

constexpr int CLUSTERS = SPLIT_K / CLUSTER_K; // of one tile; more than one: any number of them
constexpr int OWN = PIECES / CLUSTER_K;       // pieces of every thread's sums that a block of the cluster adds up
static_assert(SPLIT_K % CLUSTER_K == 0 && PIECES % CLUSTER_K == 0 && OWN > 0, "a cluster's blocks have equal shares");

constexpr int KEPT = PIECES / SLICES;                      // pieces of the block's sums that a thread has,
constexpr int SHARE = OWN * SLICE_THREADS;                 // pieces of the cluster's that a block has,
constexpr int TURNS = (SHARE + CONSUMERS - 1) / CONSUMERS; // and a thread of it
static_assert(PIECES % SLICES == 0, "K-slice groups have equal shares");

// The ring; in the same place the partial sums of K-slice groups, then those of the cluster.
constexpr int RING = STAGES * STAGE, PARTIAL = BM * BN * (SLICES + (SLICES > 1 && CLUSTER_K > 1)) * GT_ACC_BYTES;
GT_ASSERT_FACT(THREADS, THREADS_);
GT_ASSERT_FACT(SMEM_BYTES, RING > PARTIAL ? RING : PARTIAL);
GT_ASSERT_FACT(CLUSTER_Y, CLUSTER_K);
GT_ASSERT_FACT(WS_TILE, CLUSTERS > 1 ? CLUSTERS * BM * BN * GT_ACC_BYTES : 0);
constexpr int FOUR_BYTES = sizeof(four_acc); // of a piece

// Blocks of a cluster are neighbours in K.
__device__ __forceinline__ unsigned rank()
{
    return blockIdx.y % CLUSTER_K;
}

// A share of the steps of K.
__device__ __forceinline__ gt_int share(const gt_args &g, unsigned part)
{
    return gt_first_step<SPLIT_K, CLUSTER_K>((g.k + BK - 1) / BK, part);
}

__device__ __forceinline__ void produce(const gt_args &g, const ring &r)
{
    place at = {0, 1};
    produce_tile(g, r, gt_find_tile<BM, BN>(g, 8), share(g, blockIdx.y), share(g, blockIdx.y + 1), at);
}

// Four sums into shared memory: of this block,
__device__ __forceinline__ void store_shared(unsigned to, const four_acc &sum)
{
    const float *e = (const float *)sum.e;
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(e[0]), "f"(e[1]), "f"(e[2]), "f"(e[3])
                 : "memory");
}
// or the same place of a block of the cluster. (Asynchronous stores, which count on a barrier there, are no faster, and
// slower if they are many.)
__device__ __forceinline__ void store_remote(unsigned to, unsigned block, const four_acc &sum)
{
    const float *e = (const float *)sum.e;
    asm volatile("mapa.shared::cluster.u32 %0, %0, %1;\n"
                 "st.shared::cluster.v4.f32 [%0], {%2, %3, %4, %5};"
                 : "+r"(to)
                 : "r"(block), "f"(e[0]), "f"(e[1]), "f"(e[2]), "f"(e[3])
                 : "memory");
}

__device__ __forceinline__ void add(four_acc &sum, const four_acc &part)
{
#pragma unroll
    for (int e = 0; e < 4; e++)
        sum.e[e] += part.e[e];
}

// Adds up parts in their order.
template <int COUNT> __device__ __forceinline__ four_acc total(four_acc (&part)[COUNT])
{
#pragma unroll
    for (int l = 1; l < COUNT; l++)
        add(part[0], part[l]);
    return part[0];
}

// The sums of the block: every K-slice group leaves its partial sums in a staging buffer, where the stages were, and a
// thread adds up every SLICES-th piece, its group's number first.
__device__ __forceinline__ void add_slices(const ring &r, const sums &sum, four_acc *block)
{
    if (SLICES == 1) {
#pragma unroll
        for (int p = 0; p < PIECES; p++)
            block[p] = piece(sum, p);
        return;
    }
    const unsigned mine =
        r.stages + FOUR_BYTES * (threadIdx.x / SLICE_THREADS * PIECES * SLICE_THREADS + threadIdx.x % SLICE_THREADS);
    consumers_sync(); // nobody reads stages any more
#pragma unroll
    for (int p = 0; p < PIECES; p++)
        store_shared(mine + FOUR_BYTES * p * SLICE_THREADS, piece(sum, p));
    consumers_sync();
#pragma unroll
    for (int n = 0; n < KEPT; n++) {
        four_acc part[SLICES];
#pragma unroll
        for (int l = 0; l < SLICES; l++)
            read_four(part[l].e, r.stages + FOUR_BYTES * (l * PIECES * SLICE_THREADS + n * CONSUMERS + threadIdx.x));
        block[n] = total(part);
    }
}

// The consumers of a cluster meet; who has come need not wait at once. What was written needs a release, which waits
// for memory; what was read has been multiplied.
enum news { READ_ALL, WROTE };
template <news NEWS> __device__ __forceinline__ void cluster_arrive()
{
    if (NEWS == WROTE)
        asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    else
        asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait()
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Where a block has the cluster's sums: beyond the K-slice groups' buffer, which may still be read.
__device__ __forceinline__ unsigned staging_of(const ring &r)
{
    return r.stages + (SLICES > 1 ? FOUR_BYTES * SLICES * PIECES * SLICE_THREADS : 0);
}

// For racecheck, which knows of copies in the background only in the block that made them: between those and what
// others store, this block stores there itself.
__device__ __forceinline__ void overwrite_stages(const ring &r)
{
    consumers_sync();
    for (int p = threadIdx.x; p < CLUSTER_K * SHARE; p += CONSUMERS)
        store_shared(staging_of(r) + FOUR_BYTES * p, {});
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
}

// The sums of the cluster: every block stores the others' shares of its pieces in their staging buffers. Its own stay
// with the threads that have them, if these are whole turns.
__device__ __forceinline__ void add_cluster(const ring &r, const four_acc *block, four_acc *result)
{
    constexpr bool STAY = OWN % SLICES == 0;
    const unsigned staging = staging_of(r);
    cluster_wait(); // nobody reads stages any more
#pragma unroll
    for (int n = 0; n < KEPT; n++) {
        const unsigned p = n * SLICES + threadIdx.x / SLICE_THREADS;
        const unsigned place = rank() * SHARE + p % OWN * SLICE_THREADS + threadIdx.x % SLICE_THREADS;
        const unsigned owner = STAY ? n / TURNS : p / OWN;
        if (!STAY || rank() != owner)
            store_remote(staging + FOUR_BYTES * place, owner, block[n]);
    }
    cluster_arrive<WROTE>();
    cluster_wait();
#pragma unroll
    for (int n = 0; n < TURNS; n++)
        if (n * CONSUMERS + threadIdx.x < SHARE) {
            four_acc part[CLUSTER_K];
#pragma unroll
            for (int l = 0; l < CLUSTER_K; l++)
                if (STAY && rank() == l)
                    part[l] = block[STAY ? l * TURNS + n : 0];
                else
                    read_four(part[l].e, staging + FOUR_BYTES * (l * SHARE + n * CONSUMERS + threadIdx.x));
            result[n] = total(part);
        }
}

// The sums of all clusters of the tile, in the last of them; false in the others.
__device__ __forceinline__ bool add_clusters(const gt_args &g, four_acc *result)
{
    __shared__ bool last;
    const gt_int tile = (gt_int)blockIdx.z * gridDim.x + blockIdx.x;
    const unsigned count = gridDim.y / CLUSTER_K;
    unsigned *counter = g.counters + tile * gridDim.y + rank();
    four_acc *parts = (four_acc *)gt_workspace(g) + (tile * CLUSTER_K + rank()) * count * SHARE + threadIdx.x;
    return gt_add_parts<SHARE, CONSUMERS, TURNS>(parts, blockIdx.y / CLUSTER_K, count, counter, result, &last,
                                                 consumers_sync);
}

__device__ __forceinline__ void consume(const gt_args &g, const ring &r)
{
    __shared__ gt_tile tile;
    if (threadIdx.x == 0)
        tile = gt_find_tile<BM, BN>(g, 8); // while the first stage is on its way
    sums sum;
    mainloop m(r);
    const gt_int first = share(g, blockIdx.y), end = share(g, blockIdx.y + 1);
    m.clear(sum);
    m.multiply((int)(end - first), m.idle(g, end - 1), sum);

    if (CLUSTER_K > 1 && GT_CHECKED)
        overwrite_stages(r);
    if (CLUSTER_K > 1)
        cluster_arrive<READ_ALL>();
    four_acc result[KEPT];
    add_slices(r, sum, result);
    if (CLUSTER_K > 1)
        add_cluster(r, result, result);
    if (CLUSTERS > 1 && !add_clusters(g, result))
        return;
    constexpr int NEXT = CONSUMERS / SLICE_THREADS; // from a thread's piece to its next one
    // Where its pieces of every row are the same ones, they lie as those of a thread with the first piece, further on.
    constexpr bool SAME = MOVING / 4 % NEXT == 0 && OWN % (MOVING / 4) == 0;
    const int its_first = rank() * OWN + threadIdx.x / SLICE_THREADS, piece = SAME ? 0 : its_first;
    const gt_int row = tile.row * BM + first_row() + piece_row(its_first - piece),
                 column = tile.column * BN + first_column() + piece_column(its_first - piece);
    const auto has = [](int n) { return SHARE % CONSUMERS == 0 || n * CONSUMERS + threadIdx.x < SHARE; };
    store_pieces<TURNS, 1>(g, row, column, piece, NEXT, has, [&](int n) -> const four_acc & { return result[n]; });
    if (gt_has_activation(g))
#pragma unroll 1
        for (int n = 0; n < TURNS; n++)
            if (has(n))
                finish_piece(g, row, column, piece + n * NEXT);
}

extern "C" __global__ void __launch_bounds__(THREADS_, OCC) gemm(const __grid_constant__ gt_args args)
{
    run_roles(args);
}
