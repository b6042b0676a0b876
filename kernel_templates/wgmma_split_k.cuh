// Blocks that share K, in families that feed wgmma: of SPLIT_K parts of K, or as many as the launch has where it
// may have ANY_SPLIT, CLUSTER_K are added up in a cluster, and clusters meet in the workspace. Sums are added in the order
// of parts, so that results are the same every time.
//
// Needs: SPLIT_K, CLUSTER_K, ANY_SPLIT, SHARING, FROM_REGISTERS, CONSUMERS, THREADS_, STAGES, BUFFERS_AT, gt_workspace, and what
// wgmma_epilogue.cuh offers.
#ifndef GT_WGMMA_SPLIT_K_CUH
#define GT_WGMMA_SPLIT_K_CUH

#include "consumers_sync.cuh"
#include "mbarrier.cuh"
#include "split_k.cuh"
#include "tensor_copy.cuh"
#include "wgmma_epilogue.cuh"

constexpr int CLUSTERS = SPLIT_K / CLUSTER_K;
static_assert(CLUSTERS * CLUSTER_K == SPLIT_K, "a cluster's blocks have each a part of K");

// The steps of K that are this block's, of so many: where it does not come out even the first parts have one more than
// the others.
struct k_steps {
    int first, end;

    __device__ __forceinline__ explicit k_steps(unsigned all)
    {
        first = 0;
        end = (int)all;
        const unsigned parts = ANY_SPLIT ? gridDim.y : SPLIT_K;
        if (parts > 1) { // a division takes as long as twenty other instructions
            const unsigned part = blockIdx.y, share = all / parts, rest = all % parts;
            first = (int)(part * share + (part < rest ? part : rest));
            end = first + (int)(share + (part < rest));
        }
    }
};

// All threads of a cluster meet. Nothing is released: that would wait for every store to arrive.
__device__ __forceinline__ void cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait()
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

typedef gt_vector<GT_ACC, 4> four_acc;
constexpr int FOURS = OWN / 4, PART = FOURS * CONSUMERS; // four_acc of a thread's own sums, and of all threads'
constexpr int OWN_FOURS = OWN_N / 8;                     // and of one instruction's
static_assert(CLUSTER_K == 1 || (2 * CLUSTER_K - 1) * PART * (int)sizeof(four_acc) <= BUFFERS_AT,
              "sums that are exchanged fit into the stages");

// `met` is complete when this block has the sums of all blocks that share its K.
__device__ __forceinline__ void init_exchange(unsigned met)
{
    gt_mbarrier_init(met, 1);
    gt_mbarrier_expect(met, (CLUSTER_K - 1) * PART * (int)sizeof(four_acc));
}

// Of the sums of all blocks of the cluster, which share K, this block gets its own part and adds it up, in the order of
// blocks. The copy engine carries them: this block's, in CLUSTER_K parts, lie at the beginning of the stages, and
// behind them is room for what comes from the others.
__device__ __forceinline__ void exchange(char *stages, unsigned met, const sums (&d)[STACKED], GT_ACC *own)
{
    const unsigned rank = blockIdx.y % CLUSTER_K;
    four_acc *parts = (four_acc *)stages + threadIdx.x;
    if (FROM_REGISTERS)
        gt_fence_async(); // other blocks' copies come behind this thread's reads
    consumers_sync();
    cluster_arrive(); // this block has read its stages
#pragma unroll
    for (int part = 0; part < CLUSTER_K; part++)
#pragma unroll
        for (int i = 0; i < FOURS; i++)
            parts[part * PART + i * CONSUMERS] =
                *(const four_acc *)&d[i / OWN_FOURS][part * (OWN_N / 2) + i % OWN_FOURS * 4];
    gt_fence_async();
    consumers_sync();
    cluster_wait();
    // The t-th block after this one, in turn, finds this one's part behind its own, the (CLUSTER_K - t)-th of those
    // there.
    if (threadIdx.x > 0 && threadIdx.x < CLUSTER_K) {
        const unsigned to = (rank + threadIdx.x) % CLUSTER_K, from = gt_shared_address(stages);
        gt_copy_to_block(from + (2 * CLUSTER_K - 1 - threadIdx.x) * PART * sizeof(four_acc),
                         from + to * PART * sizeof(four_acc), PART * sizeof(four_acc), met, to);
    }
    gt_mbarrier_wait_cluster<CLUSTER_K>(met, 0);
    cluster_arrive(); // this block's parts may be written over
#pragma unroll
    for (unsigned block = 0; block < CLUSTER_K; block++) {
        const unsigned before = (block + CLUSTER_K - rank - 1) % CLUSTER_K;
        const four_acc *part = parts + (block == rank ? rank : CLUSTER_K + before) * PART;
#pragma unroll
        for (int i = 0; i < FOURS; i++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                own[i * 4 + e] = block == 0 ? part[i * CONSUMERS].e[e] : own[i * 4 + e] + part[i * CONSUMERS].e[e];
    }
}

// What threads that have no sums do meanwhile.
__device__ __forceinline__ void meet_exchange()
{
    cluster_arrive();
    cluster_wait();
    cluster_arrive();
}

// The sums of all clusters that share K, in the last of them; false in the others.
__device__ __forceinline__ bool add_parts(const gt_args &g, bool *last, GT_ACC *own)
{
    const gt_int tile = (gt_int)blockIdx.z * gridDim.x + blockIdx.x, slot = tile * CLUSTER_K + blockIdx.y % CLUSTER_K;
    const unsigned count = gridDim.y / CLUSTER_K;
    four_acc *parts = (four_acc *)gt_workspace(g) + slot * count * PART + threadIdx.x;
    return gt_add_parts<PART, CONSUMERS, FOURS>(parts, blockIdx.y / CLUSTER_K, count, g.counters + slot * count,
                                                (four_acc *)own, last, consumers_sync);
}

// Makes the mbarriers known to the copy engine, and to the other blocks.
__device__ __forceinline__ void publish_barriers()
{
    if (SHARING * CLUSTER_K > 1)
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    gt_fence_async();
}

// Blocks that share operands use each other's mbarriers at once: when they have been made all threads of the cluster meet.
// Blocks that share K meet before they do so, in exchange. Until then WAITING threads, which have a barrier of their own,
// wait for the warp that makes their block's mbarriers and for nobody else; that warp does not wait.
constexpr bool CLUSTER_MEETS = SHARING > 1;
enum meeting { OF_COPIES, OF_CONSUMERS };

template <meeting ID, int WAITING> __device__ __forceinline__ void await_barriers()
{
    if (CLUSTER_MEETS) {
        cluster_arrive();
        cluster_wait();
    } else {
        asm volatile("barrier.sync %0, %1;" ::"n"((int)ID), "n"(WAITING + 32) : "memory");
    }
}
template <meeting ID, int WAITING> __device__ __forceinline__ void tell_of_barriers()
{
    if (!CLUSTER_MEETS)
        asm volatile("barrier.arrive %0, %1;" ::"n"((int)ID), "n"(WAITING + 32) : "memory");
}

#endif
