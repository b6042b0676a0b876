// What families share whose threads all copy tiles of both operands into a ring of stages and multiply them by mma.sync:
// the stages and how they are filled, and sums that go to others.
//
// Needs: BM, BN, BK, STAGES, SPLIT_K, THREADS_; operand_a and operand_b, as mma_copy.cuh has them, and what
// mma_epilogue.cuh and mma_split_k.cuh need.
#ifndef GT_MMA_STAGES_CUH
#define GT_MMA_STAGES_CUH

#include "mma_copy.cuh"
#include "mma_epilogue.cuh"
#include "mma_split_k.cuh"

constexpr int STAGE = operand_a::stage::BYTES + operand_b::stage::BYTES, ALL_STAGES = STAGES * STAGE;
static_assert(BM % WM == 0 && BN % WN == 0 && WM % 16 == 0 && WN % 16 == 0, "warps cover the tile in whole blocks");
static_assert(STAGES >= 2, "one stage is read while another is filled");

#ifndef STORE // as mma.cu has it
#define STORE 1
#endif
constexpr int OF_WARPS = WARPS * 16 * PITCH * GT_ACC_BYTES, OF_TILE = STORE == 2 ? tile_rows::BYTES : 0;
constexpr int STAGING = OF_TILE > OF_WARPS ? OF_TILE : OF_WARPS;
GT_ASSERT_FACT(THREADS, THREADS_);
GT_ASSERT_FACT(SMEM_BYTES, ALL_STAGES > STAGING ? ALL_STAGES : STAGING);
GT_ASSERT_FACT(WS_TILE, SPLIT_K > 1 ? SPLIT_K * BM * BN * GT_ACC_BYTES : 0);

// Both operands on their way into stages.
struct tile_stages {
    operand_a a;
    operand_b b;
    gt_int k_left; // from the next tile to fetch on
    char *stages;

    __device__ __forceinline__ char *part_a(int stage) const
    {
        return stages + stage * STAGE;
    }
    __device__ __forceinline__ char *part_b(int stage) const
    {
        return stages + stage * STAGE + operand_a::stage::BYTES;
    }
    // The PART-th of PARTS of a tile on its way to a stage, then all of it.
    template <int PART = 0, int PARTS = 1> __device__ __forceinline__ void fetch(int stage)
    {
        constexpr int A = operand_a::COUNT, B = operand_b::COUNT;
        a.template fetch<A * PART / PARTS, A *(PART + 1) / PARTS>(part_a(stage), k_left);
        b.template fetch<B * PART / PARTS, B *(PART + 1) / PARTS>(part_b(stage), k_left);
        if (PART == PARTS - 1) {
            a.advance();
            b.advance();
            k_left -= BK;
        }
    }
};

// Adds what tensor cores have summed to the sums in GT_ACC, and clears it.
__device__ __forceinline__ void promote(sums &all, sums &some)
{
#pragma unroll
    for (int i = 0; i < BLOCKS_M * BLOCKS_N * 2; i++) {
        (&all[0][0][0])[i] += (&some[0][0][0])[i];
        (&some[0][0][0])[i] = 0;
    }
}

#endif
