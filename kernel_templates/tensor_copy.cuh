// Copies by the copy engine (TMA): boxes of a matrix that a tensor map describes. On the way into shared memory what
// lies outside the matrix becomes zeros, and an mbarrier counts the bytes that have come; on the way out it is left
// out, and the thread that started stores waits for them in groups.
#ifndef GT_TENSOR_COPY_CUH
#define GT_TENSOR_COPY_CUH

#include "gemm.cuh"

struct __align__(64) gt_tensor_map
{
    unsigned long long opaque[16];
};

// Brings a map to where the copy engine looks for it.
__device__ __forceinline__ void gt_prefetch_map(const gt_tensor_map &map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Arrives at an mbarrier, which then waits for as many bytes too.
__device__ __forceinline__ void gt_mbarrier_expect(unsigned b, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"(bytes) : "memory");
}

// Starts the copy of a box whose first element has this column and row in this block's matrix of the batch; `full` is
// told of its bytes.
__device__ __forceinline__ void gt_copy_box(unsigned to, const gt_tensor_map &map, int column, int row, unsigned full)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
                 "l"(&map), "r"(column), "r"(row), "r"((int)blockIdx.z), "r"(full)
                 : "memory");
}
// The same where a policy says how L2 treats what is read.
__device__ __forceinline__ void gt_copy_box(unsigned to, const gt_tensor_map &map, int column, int row, unsigned full,
                                            unsigned long long policy)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
                 " [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to),
                 "l"(&map), "r"(column), "r"(row), "r"((int)blockIdx.z), "r"(full), "l"(policy)
                 : "memory");
}
// As the first, into this place of every block of the cluster that the mask names, and each one's mbarrier is told.
__device__ __forceinline__ void gt_multicast_box(unsigned to, const gt_tensor_map &map, int column, int row,
                                                 unsigned full, unsigned short mask)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to),
                 "l"(&map), "r"(column), "r"(row), "r"((int)blockIdx.z), "r"(full), "h"(mask)
                 : "memory");
}

// Starts the copy of bytes from this block's shared memory to this place in another block of the cluster, whose
// mbarrier is told of them.
__device__ __forceinline__ void gt_copy_to_block(unsigned to, unsigned from, unsigned bytes, unsigned full,
                                                 unsigned block)
{
    asm volatile(
        "{\n.reg .u32 there, told;\nmapa.shared::cluster.u32 there, %0, %4;\n"
        "mapa.shared::cluster.u32 told, %3, %4;\n"
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [there], [%1], %2, [told];\n}" ::"r"(
            to),
        "r"(from), "r"(bytes), "r"(full), "r"(block)
        : "memory");
}

// What this thread wrote into shared memory is there for the copy engine.
__device__ __forceinline__ void gt_fence_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
// Starts the store of a box whose first element has this column and row in this block's matrix of the batch.
__device__ __forceinline__ void gt_store_box(const gt_tensor_map &map, int column, int row, unsigned from)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(&map),
                 "r"(column), "r"(row), "r"((int)blockIdx.z), "r"(from)
                 : "memory");
}
// The stores that this thread has started since the last one become a group.
__device__ __forceinline__ void gt_stores_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Waits until all groups but the PENDING newest have been read from shared memory.
template <int PENDING> __device__ __forceinline__ void gt_stores_wait_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

#endif
