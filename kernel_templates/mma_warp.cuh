// A warp's part of a tile: its fragments of both operands, its sums, and the products of a k-step.
//
// Needs: BM, BN, BK, WM, WN.
#ifndef GT_MMA_WARP_CUH
#define GT_MMA_WARP_CUH

#include "mma_fragment.cuh"
#include "repack.cuh"

typedef gt_fragments<BM, WM, GT_OPERAND_A_ALONG_K, true> fragments_a;
typedef gt_fragments<BN, WN, GT_OPERAND_B_ALONG_K, false> fragments_b;

// Sums by blocks of 8 x 8, a lane's two of each.
constexpr int BLOCKS_M = WM / 8, BLOCKS_N = WN / 8;
typedef GT_ACC sums[BLOCKS_M][BLOCKS_N][2];

// Columns in serpentine: of two products side by side, both take the same blocks of one operand.
__device__ __forceinline__ void multiply(sums &sum, const fragments_a::fragment &a, const fragments_b::fragment &b,
                                         int begin = 0, int end = BLOCKS_M)
{
#pragma unroll
    for (int i = begin; i < end; i += 2)
#pragma unroll
        for (int f = 0; f < BLOCKS_N; f++) {
            const int j = i % 4 ? BLOCKS_N - 1 - f : f;
            policy::multiply(sum[i][j], sum[i + 1][j], a[i], a[i + 1], b[j]);
        }
}

#endif
