// A and B by the copy engine: tensor maps come before the argument block. One tile of K at a time, no pipeline: the
// simplest kernel that takes maps, for the way that they take to it.
#include "gemm.cuh"

#ifndef BM
#define BM 16
#endif
#ifndef BN
#define BN 16
#endif
#ifndef BK
#define BK 32
#endif

struct __align__(64) tensor_map
{
    unsigned long long opaque[16];
};

static_assert(!GT_TRANS_A || GT_BOX_A_ROWS == BK && GT_BOX_A_COLUMNS == BM, "A's box is its tile as it is stored");
static_assert(GT_TRANS_A || GT_BOX_A_ROWS == BM && GT_BOX_A_COLUMNS == BK, "A's box is its tile as it is stored");
static_assert(GT_THREADS == BM * BN, "a thread for each element");

__device__ __forceinline__ unsigned shared_address(const void *at)
{
    return (unsigned)__cvta_generic_to_shared(at);
}

__device__ __forceinline__ void copy_box(void *to, const tensor_map &map, gt_int column, gt_int row, unsigned full)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(shared_address(to)),
                 "l"(&map), "r"((int)column), "r"((int)row), "r"((int)blockIdx.z), "r"(full)
                 : "memory");
}

extern "C" __global__ void __launch_bounds__(BM *BN)
    gemm(const __grid_constant__ tensor_map a, const __grid_constant__ tensor_map b, const __grid_constant__ gt_args args)
{
    __shared__ __align__(128) GT_AB as[BM * BK], bs[BK * BN];
    __shared__ unsigned long long barrier;
    gt_args g = args;
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int row = tile.row * BM, column = tile.column * BN;
    const int r = threadIdx.x / BN, c = threadIdx.x % BN;
    const unsigned full = shared_address(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full) : "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    GT_ACC sum = 0;
    unsigned phase = 0;
    for (gt_int p = 0; p < g.k; p += BK, phase ^= 1) {
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full),
                         "r"((int)(sizeof as + sizeof bs))
                         : "memory");
            copy_box(as, a, GT_TRANS_A ? row : p, GT_TRANS_A ? p : row, full);
            copy_box(bs, b, GT_TRANS_B ? p : column, GT_TRANS_B ? column : p, full);
        }
        unsigned done;
        do
            asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                         "selp.u32 %0, 1, 0, p;\n}"
                         : "=r"(done)
                         : "r"(full), "r"(phase)
                         : "memory");
        while (!done);
        for (int k = 0; k < BK; k++)
            sum += as[GT_TRANS_A ? k * BM + r : r * BK + k] * bs[GT_TRANS_B ? c * BK + k : k * BN + c];
        // The next copy must not overtake reads of this tile that are still under way: a barrier orders the threads, not
        // the copy engine. (On an H200, without the fence, slow reads get the next tile's numbers.)
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
    }
    if (row + r < g.m && column + c < g.n)
        gt_store_c(g, row + r, column + c, sum);
}
