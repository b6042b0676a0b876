// Sums on their way to C one by one, where its rows are not aligned for more: through a staging buffer of the warp's
// own in shared memory, so that lanes side by side store neighbours. As they lie in registers, every store would touch
// all sectors of a row, and L2 takes only so many (measured: 6% of a product with a K of 900). And a loop over shared
// memory can stay a loop: one over registers is unrolled, and costs more than the multiply-adds of a short K.
#ifndef GT_ABREAST_CUH
#define GT_ABREAST_CUH

#include "gemm.cuh"

// What a warp has of C, in blocks of 128: four of each lane, 128 / WIDTH rows, STEP apart, of WIDTH columns. In the
// staging buffer the n-th is where n is, or where n ^ EXCHANGED is.
template <int WIDTH, int STEP, int EXCHANGED = 0> struct gt_abreast {
    const gt_args &g;
    gt_int row, column, away; // of this lane's first one; `away` elements from where the arguments point
    int rows, columns;        // that lie in the matrix, from there on

    // From where the warp has its first one.
    __device__ __forceinline__ gt_abreast(const gt_args &g_, gt_int row_, gt_int column_, gt_int away_ = 0)
        : g(g_), row(row_ + threadIdx.x % 32 / WIDTH * STEP), column(column_ + threadIdx.x % 32 % WIDTH), away(away_)
    {
        rows = gt_clip(g.m - row, 1 << 20);
        columns = gt_clip(g.n - column, 1 << 20);
    }
    // How far from the first the n-th one of the lane lies, in blocks that are neighbours in C.
    static constexpr __device__ int below(int n)
    {
        return n % 4 * 32 / WIDTH * STEP;
    }
    static constexpr __device__ int beside(int n)
    {
        return n / 4 * WIDTH + n % 4 * 32 % WIDTH;
    }

    // Makes C of COUNT blocks of the staging buffer; the first one begins `down` rows and `along` columns from where
    // the warp does. All are read before any is stored: behind a question, the compiler would wait for each.
    template <int COUNT> __device__ __forceinline__ void store(const GT_ACC *staging, int down, int along) const
    {
        GT_C *to = g.c + away + (row + down) * g.ldc + column + along;
        asm volatile("" : "+l"(to)); // else the compiler adds this up anew for every element
        __builtin_assume(__isGlobal(to));
        GT_ACC result[COUNT * 4];
        const auto inside = [&](int n) { return down + below(n) < rows && along + beside(n) < columns; };
#pragma unroll
        for (int n = 0; n < COUNT * 4; n++) {
            const GT_ACC sum = ((const volatile GT_ACC *)staging)[n * 32 + (threadIdx.x % 32 ^ EXCHANGED)];
            result[n] = g.alpha.value * sum;
        }
        if (g.beta.value != GT_ACC(0)) {
            const GT_C *from = gt_old(g, to);
            asm volatile("" : "+l"(from)); // else it is added up where beta is 0, too
            __builtin_assume(__isGlobal(from));
            GT_C old[COUNT * 4] = {};
#pragma unroll
            for (int n = 0; n < COUNT * 4; n++)
                if (inside(n))
                    old[n] = from[below(n) * g.ldc + beside(n)];
#pragma unroll
            for (int n = 0; n < COUNT * 4; n++)
                result[n] += g.beta.value * GT_ACC(old[n]);
        }
        if (gt_has_epilogue(g))
#pragma unroll
            for (int n = 0; n < COUNT * 4; n++)
                result[n] += GT_ACC(gt_bias(g, column + along + beside(n)));
#pragma unroll
        for (int n = 0; n < COUNT * 4; n++)
            if (inside(n))
                to[below(n) * g.ldc + beside(n)] = GT_C(result[n]);
    }
    // relu or gelu of one such block, which this thread has stored.
    __device__ __forceinline__ void finish(int down, int along) const
    {
#pragma unroll
        for (int n = 0; n < 4; n++)
            gt_finish_stored<1>(g, row + down + below(n), column + along + beside(n), away);
    }
};

#endif
