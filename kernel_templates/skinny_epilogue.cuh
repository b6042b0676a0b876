// The epilogue of skinny.cu: partial sums are added up, those of lanes in registers, of warps in shared memory, of a
// cluster's blocks in staging buffers and of a tile's clusters in the workspace, and become C. Included by skinny.cu.
//
// Needs: FEW, COVER, OWN, CLUSTERS, SUMS, SUM_PITCH, RESULTS; struct operands; lane_k, column_of, warp_few, warp_many,
// warp_k and rank; split_k.cuh.
// Offers, in the order of their calls: cluster_arrive_first, before the main loop; leave_sums; exchange, if the cluster
// has more than one block; read_results; add_clusters, if the tile has more than one cluster; store_results.
#ifndef GT_SKINNY_EPILOGUE_CUH
#define GT_SKINNY_EPILOGUE_CUH

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

// Leaves the block's sums in shared memory: WARPS_K slices of FEW x COVER.
__device__ __forceinline__ void leave_sums(GT_ACC (&sum)[T_FEW * T_MANY], GT_ACC *slices)
{
    int from = 0;
    bool spare = false;
    fold_lanes<T_FEW * T_MANY, 1>(sum, from, spare);
    GT_ACC *slice =
        slices + warp_k() * SUMS + warp_few() * T_FEW * SUM_PITCH + warp_many() * (LANES_MANY * T_MANY);
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

// Barriers of the cluster, whose blocks write into each other's shared memory. The first arrival only says that the
// block runs: it releases nothing.
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
    if constexpr (sizeof value == 8)
        asm volatile("st.shared::cluster.b64 [%0], %1;" ::"r"(at), "l"(*(const gt_int *)&value) : "memory");
    else
        asm volatile("st.shared::cluster.b32 [%0], %1;" ::"r"(at), "r"(*(const unsigned *)&value) : "memory");
#endif
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

// This thread's results: sums of the cluster's blocks, or of the only block's warps.
__device__ __forceinline__ void read_results(const GT_ACC *slices, const GT_ACC *staging, GT_ACC (&result)[EACH])
{
#pragma unroll
    for (int r = 0; r < EACH; r++) {
        const int i = threadIdx.x + r * THREADS_, s = result_few(i), l = result_many(i);
        result[r] = 0;
        if (i < RESULTS)
#pragma unroll
            for (int w = 0; w < (CLUSTER_K > 1 ? CLUSTER_K : WARPS_K); w++)
                result[r] += CLUSTER_K > 1 ? staging[w * RESULTS + s * OWN + l] : slices[w * SUMS + s * SUM_PITCH + l];
    }
}

// The sums of all clusters of the tile, in the last of them; false in the others.
__device__ __forceinline__ bool add_clusters(const gt_args &g, GT_ACC (&result)[EACH], void *shared)
{
    typedef gt_vector<GT_ACC, 1> one;
    const gt_int place = ((gt_int)blockIdx.z * gridDim.x + blockIdx.x) * CLUSTER_K + rank();
    const unsigned count = gridDim.y / CLUSTER_K;
    one *parts = (one *)g.workspace + place * count * RESULTS + threadIdx.x;
    return gt_add_parts<RESULTS, THREADS_, EACH>(parts, blockIdx.y / CLUSTER_K, count, &g.counters[place],
                                                 (one *)result, (bool *)shared, [] { __syncthreads(); });
}

// C of this thread's results.
__device__ __forceinline__ void store_results(const gt_args &g, const operands &o, gt_int first_few, gt_int first_many,
                                              const GT_ACC (&result)[EACH])
{
#pragma unroll
    for (int r = 0; r < EACH; r++) {
        const int i = threadIdx.x + r * THREADS_;
        const gt_int s = first_few + result_few(i), l = first_many + rank() * OWN + result_many(i);
        if (i < RESULTS && s < o.few && l < o.many)
            gt_store_c(g, SIDE ? l : s, SIDE ? s : l, result[r]);
    }
}

#endif
