// Sums on their way to C one by one, where its rows are not aligned for more.
#ifndef GT_ABREAST_CUH
#define GT_ABREAST_CUH

#include "gemm.cuh"

// The lanes of a warp have four sums of one line of C after the other; this one has those of `place`. They go through a
// staging buffer of 128 in shared memory, so that lanes side by side store neighbours: as they are, every store would
// touch all sectors of a row, and L2 takes only so many (measured: 6% of a product with a K of 900). store(e, sum) is
// called for four of all 128, which are e + lane. AT_ONCE: all four are read before any is stored; where a store is behind
// a question, the compiler would put its read there, too, and wait for each.
template <bool AT_ONCE = false, typename STORE>
__device__ __forceinline__ void gt_store_abreast(GT_ACC *staging, int place, const GT_ACC *four, STORE store)
{
    const int lane = threadIdx.x % 32;
    __syncwarp(); // what lay there has been read
    *(gt_vector<GT_ACC, 4> *)&staging[place * 4] = {four[0], four[1], four[2], four[3]};
    __syncwarp();
    GT_ACC mine[4];
#pragma unroll
    for (int e = 0; AT_ONCE && e < 128; e += 32)
        mine[e / 32] = ((const volatile GT_ACC *)staging)[e + lane];
#pragma unroll
    for (int e = 0; e < 128; e += 32)
        store(e, AT_ONCE ? mine[e / 32] : staging[e + lane]);
}

#endif
