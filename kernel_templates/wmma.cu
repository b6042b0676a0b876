// Tensor cores through WMMA: f16 in, f32 sums, 16 x 16 x 16 a warp and instruction. Tiles keep their stored
// layout in shared memory, with zeros beyond the edges, so that every size is whole fragments; the next tile
// travels from global memory to registers under the products and lands in the other of two buffers.
#ifndef GT_AB
#define GT_AB gt_half
#endif
#include "gemm.cuh"
#include "tile_copy.cuh"

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 32
#endif
#ifndef WM // a warp's tile
#define WM 64
#endif
#ifndef WN
#define WN 32
#endif

#define THREADS (BM / WM * (BN / WN) * 32)
// Lines in shared memory as stored, of whole vectors that begin on different banks: a step along m or n, and
// one along K.
#define STEP_AM (GT_A_ALONG_K ? BK + 8 : 1)
#define STEP_AK (GT_A_ALONG_K ? 1 : BM + 8)
#define STEP_BN (GT_B_ALONG_K ? BK + 8 : 1)
#define STEP_BK (GT_B_ALONG_K ? 1 : BN + 8)
#define PATCH   20 // leading dimension of a fragment of C on its way out: 16, padded against bank conflicts
static_assert(BM % WM == 0 && BN % WN == 0 && WM % 16 == 0 && WN % 16 == 0 && BK % 16 == 0,
              "whole fragments");

#if GT_TRANS_A
#define LAYOUT_A "col"
#else
#define LAYOUT_A "row"
#endif
#if GT_TRANS_B
#define LAYOUT_B "col"
#else
#define LAYOUT_B "row"
#endif
#define EIGHT(kind, f)                                                                                       \
    kind(f[0]), kind(f[1]), kind(f[2]), kind(f[3]), kind(f[4]), kind(f[5]), kind(f[6]), kind(f[7])

__device__ __forceinline__ void load_a(unsigned (&a)[8], const gt_half *from, unsigned ld)
{
    asm volatile("wmma.load.a.sync.aligned.m16n16k16." LAYOUT_A
                 ".shared.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                 : EIGHT("=r", a)
                 : "r"((unsigned)__cvta_generic_to_shared(from)), "r"(ld)
                 : "memory");
}
__device__ __forceinline__ void load_b(unsigned (&b)[8], const gt_half *from, unsigned ld)
{
    asm volatile("wmma.load.b.sync.aligned.m16n16k16." LAYOUT_B
                 ".shared.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                 : EIGHT("=r", b)
                 : "r"((unsigned)__cvta_generic_to_shared(from)), "r"(ld)
                 : "memory");
}
__device__ __forceinline__ void multiply_add(float (&c)[8], const unsigned (&a)[8], const unsigned (&b)[8])
{
    asm volatile("wmma.mma.sync.aligned." LAYOUT_A "." LAYOUT_B
                 ".m16n16k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7},"
                 " {%8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19, %20, %21, %22, %23},"
                 " {%0, %1, %2, %3, %4, %5, %6, %7};"
                 : EIGHT("+f", c)
                 : EIGHT("r", a), EIGHT("r", b));
}
__device__ __forceinline__ void store_c(float *to, const float (&c)[8])
{
    asm volatile(
        "wmma.store.d.sync.aligned.m16n16k16.row.shared.f32 [%8], {%0, %1, %2, %3, %4, %5, %6, %7}, %9;"
        :
        : EIGHT("f", c), "r"((unsigned)__cvta_generic_to_shared(to)), "r"(PATCH)
        : "memory");
}

// Up to 64 sums leave room for 16 warps on a multiprocessor, more for 8.
extern "C" __global__ void __launch_bounds__(THREADS, (WM * WN > 2048 ? 256 : 512) / THREADS) gemm(gt_args g)
{
    constexpr int LD_A = STEP_AM * STEP_AK, LD_B = STEP_BN * STEP_BK; // one of the two steps is 1
    constexpr int SIZE_A = (GT_A_ALONG_K ? BM : BK) * LD_A, SIZE = SIZE_A + (GT_B_ALONG_K ? BN : BK) * LD_B;
    __shared__ __align__(128) gt_half memory[2 * SIZE];
    static_assert(sizeof memory >= THREADS / 32 * 16 * PATCH * sizeof(float),
                  "C leaves through the same memory");
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int i0 = tile.row * BM, j0 = tile.column * BN;
    const int rows = gt_clip(g.m - i0, BM), columns = gt_clip(g.n - j0, BN);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (BN / WN) * WM, column = warp % (BN / WN) * WN;

    gt_carrier<BM, BK, GT_A_ALONG_K, THREADS, GT_WIDE_AB> a_next(gt_at_a(g, i0, 0), g.lda);
    gt_carrier<BN, BK, GT_B_ALONG_K, THREADS, GT_WIDE_AB> b_next(gt_at_b(g, 0, j0), g.ldb);
    a_next.fetch(rows, gt_clip(g.k, BK));
    b_next.fetch(columns, gt_clip(g.k, BK));
    float sums[WM / 16][WN / 16][8] = {};
    gt_half *as = memory, *other = memory + SIZE;
    for (gt_int left = g.k; left > 0; left -= BK) {
        // The barrier of the turn before says that all have left this buffer.
        const gt_half *bs = as + SIZE_A;
        a_next.deposit<STEP_AM, STEP_AK>(as);
        b_next.deposit<STEP_BN, STEP_BK>(as + SIZE_A);
        __syncthreads();
        if (left > BK) {
            a_next.fetch(rows, gt_clip(left - BK, BK));
            b_next.fetch(columns, gt_clip(left - BK, BK));
        }
#pragma unroll
        for (int p = 0; p < BK; p += 16) {
            unsigned a[WM / 16][8], b[WN / 16][8];
#pragma unroll
            for (int r = 0; r < WM / 16; r++)
                load_a(a[r], as + (row + r * 16) * STEP_AM + p * STEP_AK, LD_A);
#pragma unroll
            for (int c = 0; c < WN / 16; c++)
                load_b(b[c], bs + (column + c * 16) * STEP_BN + p * STEP_BK, LD_B);
#pragma unroll
            for (int r = 0; r < WM / 16; r++)
#pragma unroll
                for (int c = 0; c < WN / 16; c++)
                    multiply_add(sums[r][c], a[r], b[c]);
        }
        gt_half *const full = as;
        as = other;
        other = full;
    }

    // Which lane holds which element of a fragment is the hardware's secret: C goes through shared memory.
    __syncthreads();
    float *patch = (float *)memory + warp * 16 * PATCH;
#pragma unroll
    for (int r = 0; r < WM / 16; r++)
#pragma unroll
        for (int c = 0; c < WN / 16; c++) {
            store_c(patch, sums[r][c]);
            __syncwarp();
            for (int e = lane * GT_WIDE_C; e < 256; e += 32 * GT_WIDE_C)
                if (row + r * 16 + e / 16 < rows)
                    gt_store_c_vector<GT_WIDE_C>(g, i0 + row + r * 16 + e / 16, j0 + column + c * 16 + e % 16,
                                                 patch + e / 16 * PATCH + e % 16);
            __syncwarp();
        }
}
