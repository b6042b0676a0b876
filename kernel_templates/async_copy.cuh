// Copies from global to shared memory that run in the background (cp.async), in groups that a thread commits and waits
// for. Before sm_80, and where a copy is of less than four bytes, the thread makes it itself, at once.
#ifndef GT_ASYNC_COPY_CUH
#define GT_ASYNC_COPY_CUH

#include "gemm.cuh"

__device__ __forceinline__ unsigned gt_shared_address(const void *shared)
{
    return (unsigned)__cvta_generic_to_shared(shared);
}

// How L2 treats what a copy reads: as usual, evicted before other lines (gt_evict_first), or 256 bytes at a time.
enum gt_l2 { GT_L2_USUAL, GT_L2_EVICT_FIRST, GT_L2_256_BYTES };

__device__ __forceinline__ unsigned long long gt_evict_first()
{
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
__device__ __forceinline__ unsigned long long gt_evict_as_usual()
{
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
// For an operand of which each line is read for so many tiles. Those of one or two run at the same time, and then nobody
// reads it any more: what others wrote may stay in L2 instead, and need not go to memory now.
__device__ __forceinline__ unsigned long long gt_evict_behind(unsigned tiles)
{
    return tiles <= 2 ? gt_evict_first() : gt_evict_as_usual();
}

#define GT_CP_ASYNC(L1, L2, POLICY, ...)                                                                               \
    asm volatile("cp.async." L1 ".shared.global" L2 " [%0], [%1], %3, %2" POLICY ";" ::"r"(to), "l"(from), "r"(valid), \
                 "n"(BYTES)__VA_ARGS__                                                                                 \
                 : "memory")

// Copies WIDTH elements through registers, of which only `valid` are read; the rest become zeros.
template <int WIDTH> __device__ __forceinline__ void gt_copy_now(unsigned to, const GT_AB *from, int valid)
{
    *(gt_vector<GT_AB, WIDTH> *)__cvta_shared_to_generic(to) = gt_load_vector<WIDTH>(from, valid);
}

// Starts a copy of BYTES, of which only `valid` are read; the rest become zeros. IN_L1: through L1, as copies of less
// than 16 bytes always are. Where all SMs ask for the same few lines, piece after piece, L2 answers one after the other: tiles
// at edges come so. Lines that a block reads once would take up to a tenth longer.
template <int BYTES, bool IN_L1 = false, gt_l2 L2 = GT_L2_USUAL>
__device__ __forceinline__ void gt_copy_async(unsigned to, const GT_AB *from, int valid, unsigned long long policy = 0)
{
    constexpr int WIDTH = BYTES / sizeof(GT_AB);
    constexpr bool CACHED = IN_L1 || BYTES < 16;
#if __CUDA_ARCH__ >= 800
    if constexpr (BYTES < 4)
        gt_copy_now<WIDTH>(to, from, valid / GT_AB_BYTES);
    else if constexpr (L2 == GT_L2_EVICT_FIRST && CACHED)
        GT_CP_ASYNC("ca", ".L2::cache_hint", ", %4", , "l"(policy));
    else if constexpr (L2 == GT_L2_EVICT_FIRST)
        GT_CP_ASYNC("cg", ".L2::cache_hint", ", %4", , "l"(policy));
    else if constexpr (L2 == GT_L2_256_BYTES && CACHED)
        GT_CP_ASYNC("ca", ".L2::256B", "");
    else if constexpr (L2 == GT_L2_256_BYTES)
        GT_CP_ASYNC("cg", ".L2::256B", "");
    else if constexpr (CACHED)
        GT_CP_ASYNC("ca", "", "");
    else
        GT_CP_ASYNC("cg", "", "");
#else
    gt_copy_now<WIDTH>(to, from, valid / GT_AB_BYTES);
#endif
}

// The copies since the last commit become a group.
__device__ __forceinline__ void gt_commit_copies()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits for this thread's groups, all but the PENDING newest.
template <int PENDING> __device__ __forceinline__ void gt_wait_copies()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

#endif
