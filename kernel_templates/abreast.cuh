// Sums on their way to C one by one, where its rows are not aligned for more.
#ifndef GT_ABREAST_CUH
#define GT_ABREAST_CUH

#include "gemm.cuh"

// THREADS_ threads have EACH sums of one line of C after the other; this one has those of `place`. They go through a
// staging buffer in shared memory, so that threads side by side store neighbours: as they are, every store would touch
// all sectors of a row, and L2 takes only so many (measured: 6% of a product with a K of 900). meet() is called by all
// threads, and store(e, sum) for EACH elements, which are e + thread of all THREADS_ * EACH.
template <int THREADS_, int EACH, typename MEET, typename STORE>
__device__ __forceinline__ void gt_store_abreast(GT_ACC *staging, int place, int thread, const GT_ACC *sums, MEET meet,
                                                 STORE store)
{
    gt_vector<GT_ACC, EACH> mine;
#pragma unroll
    for (int u = 0; u < EACH; u++)
        mine.e[u] = sums[u];
    meet(); // what lay there has been read
    *(gt_vector<GT_ACC, EACH> *)&staging[place * EACH] = mine;
    meet();
#pragma unroll
    for (int e = 0; e < THREADS_ * EACH; e += THREADS_)
        store(e, staging[e + thread]);
}

#endif
