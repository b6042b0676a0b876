// Tensor cores through WMMA: f16 in, f32 sums, 16 x 16 x 16 a warp and instruction. Tiles keep their stored
// layout in shared memory, with zeros beyond the edges, so that every size is whole fragments; the next tile
// travels from global memory to registers under the products and lands in the other of two buffers.
#ifndef GT_AB
#define GT_AB gt_half
#endif
#include "gemm.cuh"

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
#define WIDE    (GT_ALIGN >= 16 ? 8 : GT_ALIGN / 2) // elements of A or B in one global access
#define WIDE_C  (GT_ALIGN >= 16 ? 4 : GT_ALIGN >= 4 ? GT_ALIGN / 4 : 1) // elements of C
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

template <typename T, int N> struct __align__(N * sizeof(T)) vector
{
    T e[N];
};

// What a tile of `most` has of what is left of the matrix: small numbers, so that the loop compares 32 bits.
__device__ __forceinline__ int clip(gt_int left, int most)
{
    return left < most ? (int)left : most;
}

// A thread's part of a tile of R rows of op(A), or columns of op(B), on the way to shared memory.
template <int R, bool ALONG_K> struct carrier {
    static constexpr int LINE = ALONG_K ? BK : R, LINES = ALONG_K ? R : BK; // as stored
    static constexpr int LD = LINE + 8;                // lines of whole vectors that begin on different banks
    static constexpr int TURN = THREADS * WIDE / LINE; // lines that the block takes in one turn
    static constexpr int COUNT = LINES / TURN;
    static_assert(THREADS * WIDE % LINE == 0 && LINES % TURN == 0, "whole lines a turn, whole turns");
    const gt_half *from; // this thread's first element of the next tile
    gt_int ld;
    vector<gt_half, WIDE> held[COUNT];

    __device__ __forceinline__ carrier(const gt_half *tile, gt_int ld_)
        : from(tile + threadIdx.x * WIDE / LINE * ld_ + threadIdx.x * WIDE % LINE), ld(ld_)
    {
    }

    // rows and depth are how much of the tile lies in the matrix; zeros stand beyond.
    __device__ __forceinline__ void fetch(int rows, int depth)
    {
        const int lines = (ALONG_K ? rows : depth) - threadIdx.x * WIDE / LINE;
        const int left = (ALONG_K ? depth : rows) - threadIdx.x * WIDE % LINE;
        const gt_half *p = from;
#pragma unroll
        for (int n = 0; n < COUNT; n++, p += TURN * ld) {
            held[n] = {};
            if (n * TURN < lines && left >= WIDE)
                held[n] = *(const vector<gt_half, WIDE> *)p;
            else if (n * TURN < lines)
#pragma unroll
                for (int u = 0; u < WIDE - 1; u++)
                    if (u < left)
                        held[n].e[u] = p[u];
        }
        from += ALONG_K ? BK : BK * ld;
    }

    __device__ __forceinline__ void deposit(gt_half *to) const
    {
        to += threadIdx.x * WIDE / LINE * LD + threadIdx.x * WIDE % LINE;
#pragma unroll
        for (int n = 0; n < COUNT; n++)
            *(vector<gt_half, WIDE> *)(to + n * TURN * LD) = held[n];
    }

    // Where element (r, p) stands in shared memory.
    static __device__ __forceinline__ int at(int r, int p)
    {
        return ALONG_K ? r * LD + p : p * LD + r;
    }
};

// WIDE_C neighbours of a row of C.
__device__ __forceinline__ void store_vector(const gt_args &g, gt_int i, gt_int j, const float *sums)
{
    if (i < g.m && j + WIDE_C <= g.n) {
        vector<float, WIDE_C> *at = (vector<float, WIDE_C> *)(g.c + i * g.ldc + j), c = {};
        if (g.beta.value != 0)
            c = *at;
#pragma unroll
        for (int u = 0; u < WIDE_C; u++)
            c.e[u] = g.alpha.value * sums[u] + g.beta.value * c.e[u];
        *at = c;
    } else if (i < g.m) {
#pragma unroll
        for (int u = 0; u < WIDE_C; u++)
            if (j + u < g.n)
                gt_store_c(g, i, j + u, sums[u]);
    }
}

// Up to 64 sums leave room for 16 warps on a multiprocessor, more for 8.
extern "C" __global__ void __launch_bounds__(THREADS, (WM * WN > 2048 ? 256 : 512) / THREADS) gemm(gt_args g)
{
    typedef carrier<BM, !GT_TRANS_A> carrier_a;
    typedef carrier<BN, !!GT_TRANS_B> carrier_b;
    constexpr int SIZE_A = carrier_a::LINES * carrier_a::LD, SIZE = SIZE_A + carrier_b::LINES * carrier_b::LD;
    __shared__ __align__(128) gt_half memory[2 * SIZE];
    static_assert(sizeof memory >= THREADS / 32 * 16 * PATCH * sizeof(float),
                  "C leaves through the same memory");
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int i0 = tile.row * BM, j0 = tile.column * BN;
    const int rows = clip(g.m - i0, BM), columns = clip(g.n - j0, BN);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (BN / WN) * WM, column = warp % (BN / WN) * WN;

    carrier_a a_next(gt_at_a(g, i0, 0), g.lda);
    carrier_b b_next(gt_at_b(g, 0, j0), g.ldb);
    a_next.fetch(rows, clip(g.k, BK));
    b_next.fetch(columns, clip(g.k, BK));
    float sums[WM / 16][WN / 16][8] = {};
    gt_half *as = memory, *other = memory + SIZE;
    for (gt_int left = g.k; left > 0; left -= BK) {
        // The barrier of the turn before says that all have left this buffer.
        const gt_half *bs = as + SIZE_A;
        a_next.deposit(as);
        b_next.deposit(as + SIZE_A);
        __syncthreads();
        if (left > BK) {
            a_next.fetch(rows, clip(left - BK, BK));
            b_next.fetch(columns, clip(left - BK, BK));
        }
#pragma unroll
        for (int p = 0; p < BK; p += 16) {
            unsigned a[WM / 16][8], b[WN / 16][8];
#pragma unroll
            for (int r = 0; r < WM / 16; r++)
                load_a(a[r], as + carrier_a::at(row + r * 16, p), carrier_a::LD);
#pragma unroll
            for (int c = 0; c < WN / 16; c++)
                load_b(b[c], bs + carrier_b::at(column + c * 16, p), carrier_b::LD);
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
            for (int e = lane * WIDE_C; e < 256; e += 32 * WIDE_C)
                store_vector(g, i0 + row + r * 16 + e / 16, j0 + column + c * 16 + e % 16,
                             patch + e / 16 * PATCH + e % 16);
            __syncwarp();
        }
}
