// Tensor cores through mma.sync, one policy for each element type: how deep a k-step is and how its products are made.
//
// Fragments are made of blocks: 8 rows of op(A), or 8 columns of op(B), by a part of the k-step. Lane l has of each
// block one register: row (or column) l / 4, and the (l % 4)-th of four pieces along K. Of a block of 8 x 8 sums it has
// two, row l / 4 and columns l % 4 * 2 and the next. Instructions take two blocks of rows by one of columns; all
// shapes of an instruction agree with that, so that only the number of parts differs.
//
// A policy offers:
//   reg                        what a lane has of a block
//   STEP, PARTS                elements of K in a k-step, and parts that it has
//   multiply(s, t, a, b, c)    s += a * c and t += b * c for two blocks of rows a and b and one of columns c
#ifndef GT_MMA_POLICY_CUH
#define GT_MMA_POLICY_CUH

#include "gemm.cuh"

template <typename T> struct gt_mma;

// Two parts of 16 bytes along K, in one instruction.
#define GT_MMA(shape, kind)                                                                                            \
    asm("mma.sync.aligned." shape " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                   \
        : "+" kind(s[0]), "+" kind(s[1]), "+" kind(t[0]), "+" kind(t[1])                                               \
        : "r"(a[0]), "r"(b[0]), "r"(a[1]), "r"(b[1]), "r"(c[0]), "r"(c[1]))
#define GT_MMA_MULTIPLY                                                                                                \
    static __device__ __forceinline__ void multiply(GT_ACC *s, GT_ACC *t, const reg *a, const reg *b, const reg *c)

template <> struct gt_mma<gt_bf16> {
    typedef unsigned reg;
    static constexpr int STEP = 16, PARTS = 2;
    GT_MMA_MULTIPLY
    {
        GT_MMA("m16n8k16.row.col.f32.bf16.bf16.f32", "f");
    }
};

template <> struct gt_mma<gt_half> {
    typedef unsigned reg;
    static constexpr int STEP = 16, PARTS = 2;
    GT_MMA_MULTIPLY
    {
#if __CUDA_ARCH__ >= 800
        GT_MMA("m16n8k16.row.col.f32.f16.f16.f32", "f");
#else // Turing's instruction takes a part
#pragma unroll
        for (int p = 0; p < PARTS; p++)
            asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                : "+f"(s[0]), "+f"(s[1]), "+f"(t[0]), "+f"(t[1])
                : "r"(a[p]), "r"(b[p]), "r"(c[p]));
#endif
    }
};

#endif
