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
//   CONVERTS, convert(r)       whether what lies in memory is not yet what is multiplied, and how it becomes that
//   multiply(s, t, a, b, c)    s += a * c and t += b * c for two blocks of rows a and b and one of columns c
#ifndef GT_MMA_POLICY_CUH
#define GT_MMA_POLICY_CUH

#include "gemm.cuh"

template <typename T> struct gt_mma;

template <typename REG> struct gt_mma_as_stored {
    typedef REG reg;
    static constexpr bool CONVERTS = false;
    static __device__ __forceinline__ reg convert(reg r)
    {
        return r;
    }
};

// Two parts of 16 bytes along K, in one instruction.
#define GT_MMA(shape, kind)                                                                                            \
    asm("mma.sync.aligned." shape " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                   \
        : "+" kind(s[0]), "+" kind(s[1]), "+" kind(t[0]), "+" kind(t[1])                                               \
        : "r"(a[0]), "r"(b[0]), "r"(a[1]), "r"(b[1]), "r"(c[0]), "r"(c[1]))
#define GT_MMA_MULTIPLY(T)                                                                                             \
    static __device__ __forceinline__ void multiply(T *s, T *t, const reg *a, const reg *b, const reg *c)

template <> struct gt_mma<gt_bf16> : gt_mma_as_stored<unsigned> {
    static constexpr int STEP = 16, PARTS = 2;
    GT_MMA_MULTIPLY(float)
    {
        GT_MMA("m16n8k16.row.col.f32.bf16.bf16.f32", "f");
    }
};

template <> struct gt_mma<gt_half> : gt_mma_as_stored<unsigned> {
    static constexpr int STEP = 16, PARTS = 2;
    GT_MMA_MULTIPLY(float)
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

template <> struct gt_mma<gt_tf32> {
    typedef unsigned reg;
    static constexpr int STEP = 8, PARTS = 2;
    static constexpr bool CONVERTS = true;
    static __device__ __forceinline__ reg convert(reg r)
    {
        return __float_as_uint(gt_tf32{r});
    }
    GT_MMA_MULTIPLY(float)
    {
        GT_MMA("m16n8k8.row.col.f32.tf32.tf32.f32", "f");
    }
};

// Turing's instruction takes one block of rows by one part.
template <> struct gt_mma<signed char> : gt_mma_as_stored<unsigned> {
    static constexpr int STEP = 32, PARTS = 2;
    GT_MMA_MULTIPLY(int)
    {
#if __CUDA_ARCH__ >= 800
        GT_MMA("m16n8k32.row.col.s32.s8.s8.s32", "r");
#else
#pragma unroll
        for (int p = 0; p < PARTS; p++) {
            asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                : "+r"(s[0]), "+r"(s[1])
                : "r"(a[p]), "r"(c[p]));
            asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                : "+r"(t[0]), "+r"(t[1])
                : "r"(b[p]), "r"(c[p]));
        }
#endif
    }
};

// 8-bit floats, in any mix. From Ada on; Hopper converts them to f16 first.
struct gt_mma_f8 : gt_mma_as_stored<unsigned> {
    static constexpr int STEP = 32, PARTS = 2;
    GT_MMA_MULTIPLY(float)
    {
        GT_MMA("m16n8k32.row.col.f32." GT_PTX_A "." GT_PTX_B ".f32", "f");
    }
};
template <> struct gt_mma<gt_e4m3> : gt_mma_f8 {
};
template <> struct gt_mma<gt_e5m2> : gt_mma_f8 {
};
template <> struct gt_mma<gt_byte> : gt_mma_f8 {
};

// Four elements of K a part; Hopper has instructions for two blocks of rows by one part, two and four.
#ifndef INST_K
#define INST_K 4
#endif
#define GT_MMA_F64_PAIRS (INST_K == 4 && __CUDA_ARCH__ < 900) // of two instructions each, in steps of two parts
template <> struct gt_mma<double> : gt_mma_as_stored<double> {
    static constexpr int STEP = GT_MMA_F64_PAIRS ? 8 : INST_K, PARTS = STEP / 4;
    GT_MMA_MULTIPLY(double)
    {
#if INST_K == 16
        asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
            "{%12, %13, %14, %15}, {%0, %1, %2, %3};"
            : "+d"(s[0]), "+d"(s[1]), "+d"(t[0]), "+d"(t[1])
            : "d"(a[0]), "d"(b[0]), "d"(a[1]), "d"(b[1]), "d"(a[2]), "d"(b[2]), "d"(a[3]), "d"(b[3]), "d"(c[0]),
              "d"(c[1]), "d"(c[2]), "d"(c[3]));
#elif INST_K == 8
        asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+d"(s[0]), "+d"(s[1]), "+d"(t[0]), "+d"(t[1])
            : "d"(a[0]), "d"(b[0]), "d"(a[1]), "d"(b[1]), "d"(c[0]), "d"(c[1]));
#elif !GT_MMA_F64_PAIRS
        asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
            : "+d"(s[0]), "+d"(s[1]), "+d"(t[0]), "+d"(t[1])
            : "d"(a[0]), "d"(b[0]), "d"(c[0]));
#else
#pragma unroll
        for (int p = 0; p < PARTS; p++) {
            asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                : "+d"(s[0]), "+d"(s[1])
                : "d"(a[p]), "d"(c[p]));
            asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                : "+d"(t[0]), "+d"(t[1])
                : "d"(b[p]), "d"(c[p]));
        }
#endif
    }
};

#endif
