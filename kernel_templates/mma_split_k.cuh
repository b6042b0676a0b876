// Blocks that share K, of families that multiply by mma.sync.
//
// Needs: SPLIT_K; gt_workspace; sums, as mma_warp.cuh has them.
#ifndef GT_MMA_SPLIT_K_CUH
#define GT_MMA_SPLIT_K_CUH

#include "mma_warp.cuh"
#include "split_k.cuh"

// The sums of all blocks of the tile, in the last of them; false in the others. The first THREADS threads have them; sync and
// last are as in gt_arrive_last.
template <int THREADS, typename SYNC>
__device__ __forceinline__ bool add_parts(const gt_args &g, sums &sum, bool *last, SYNC sync)
{
    typedef gt_vector<GT_ACC, 16 / GT_ACC_BYTES> vector;
    constexpr int COUNT = sizeof(sums) / sizeof(vector), TOTAL = COUNT * THREADS;
    const gt_int tile = (gt_int)blockIdx.z * gridDim.x + blockIdx.x;
    vector *parts = (vector *)gt_workspace(g) + tile * gt_parts<SPLIT_K>() * TOTAL + threadIdx.x;
    return gt_add_many_parts<TOTAL, THREADS, COUNT>(parts, blockIdx.y, gt_parts<SPLIT_K>(),
                                                    &g.counters[tile * gt_parts<SPLIT_K>()],
                                                    (vector *)&sum[0][0][0], last, sync);
}

#endif
