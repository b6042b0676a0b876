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

// A k-step with one buffer of fragments: rows are read as they are due.
__device__ __forceinline__ void read_and_multiply(sums &sum, const fragments_a &reads_a, const fragments_b &reads_b,
                                                  unsigned tile_a, unsigned tile_b, int step, fragments_a::fragment &a,
                                                  fragments_b::fragment &b)
{
    constexpr int TOGETHER = BLOCKS_M / fragments_a::ACROSS, ROWS = TOGETHER == 1 ? 2 : 1; // of one read, and reads
    reads_b.read(b, tile_b, step);
    fragments_b::convert(b);
#pragma unroll
    for (int i = 0; i < fragments_a::ACROSS; i += ROWS) {
        reads_a.read(a, tile_a, step, i, i + ROWS);
        fragments_a::convert(a, i, i + ROWS);
        multiply(sum, a, b, i * TOGETHER, (i + ROWS) * TOGETHER);
    }
}

#endif
