// The ring of stages that wgmma reads, in shared memory: a stage is a tile of A and one of B, full or empty.
//
// Needs: tile_a, STAGE and what roles.cuh needs.
#ifndef GT_WGMMA_RING_CUH
#define GT_WGMMA_RING_CUH

#include "mbarrier.cuh"
#include "roles.cuh"

// Where stages and their mbarriers begin in shared memory.
struct ring {
    unsigned stages, full, empty;

    __device__ __forceinline__ unsigned full_of(const place &p) const
    {
        return full + p.stage * GT_MBARRIER_BYTES;
    }
    __device__ __forceinline__ unsigned empty_of(const place &p) const
    {
        return empty + p.stage * GT_MBARRIER_BYTES;
    }
    __device__ __forceinline__ unsigned a_of(const place &p) const
    {
        return stages + p.stage * STAGE;
    }
    __device__ __forceinline__ unsigned b_of(const place &p) const
    {
        return a_of(p) + tile_a::BYTES;
    }
};

#endif
