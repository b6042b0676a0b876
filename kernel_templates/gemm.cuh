// What every template shares: the element types, the argument block, a block's tile and matrix of the batch, access to
// elements of A and B, and, in results.cuh, the step from sums to C. A renderer puts its #defines before this text;
// alone, the defaults below stand.
//
// Types, by what gemmtune calls them:
//
//   type --math      GT_AB     GT_PTX_A, GT_PTX_B   GT_C             GT_ACC
//   f32              float     "f32"                float            float
//   f32 --math tf32  gt_tf32   "tf32"               float            float
//   s32              int       "s32"                int              int
//   f64              double    "f64"                double           double
//   s8               gt_s8     "s8"                 int              int
//   f16, f16_f32     gt_half   "f16"                gt_half, float   float
//   bf16, bf16_f32   gt_bf16   "bf16"               gt_bf16, float   float
//   e4m3, _f16, _f32 gt_e4m3   "e4m3"               gt_bf16, ...     float
//   e5m2, ...        gt_e5m2   "e5m2"               the same         float
//   e4m3_e5m2, ...   gt_byte   "e4m3", "e5m2"       the same         float
//
// An element of A or B becomes a number where GT_ACC(element) or arithmetic asks for one, as its math demands: a
// gt_tf32 is rounded then. GT_C(sum) rounds to the type of C. Where A and B are of two types, GT_A and GT_B, GT_AB is
// what both can be moved as: GT_A(element) and GT_B(element) tell what it is, here and where they are the same.
#ifndef GT_GEMM_CUH
#define GT_GEMM_CUH

#ifndef GT_AB // element type of A and B
#define GT_AB float
#endif
#ifndef GT_A // of each of them
#define GT_A GT_AB
#define GT_B GT_AB
#endif
#ifndef GT_PROMOTED // products that tensor cores may sum before the sum goes to another in GT_ACC; 0: any number
#define GT_PROMOTED 0
#endif
#ifndef GT_PTX_A // how PTX spells the type that tensor cores take A and B as: "mma ... .f32." GT_PTX_A "." GT_PTX_B
#define GT_PTX_A "f32"
#define GT_PTX_B "f32"
#endif
#ifndef GT_C // element type of C
#define GT_C float
#endif
#ifndef GT_ACC // type of sums, alpha and beta
#define GT_ACC float
#endif
#ifndef GT_TRANS_A // 0: A is stored m x k; 1: k x m
#define GT_TRANS_A 0
#endif
#ifndef GT_TRANS_B // 0: B is stored k x n; 1: n x k
#define GT_TRANS_B 0
#endif
#ifndef GT_ALIGN // bytes that divide every pointer, row and batch stride
#define GT_ALIGN 16
#endif
#ifndef GT_EPILOGUE // 1: results may have a bias and pass through relu or gelu, and C need not lie where they go
#define GT_EPILOGUE 0
#endif

typedef long long gt_int;
typedef signed char gt_s8;

// A launch fact (THREADS, SMEM_BYTES, ...) is what the kernel takes it for; passes where none is rendered.
#ifdef GT_THREADS
#define GT_ASSERT_FACT(fact, value) static_assert(GT_##fact == (gt_int)(value), "the space's " #fact " is the kernel's")
#else
#define GT_ASSERT_FACT(fact, value) static_assert(true, "")
#endif

// 16-bit floating point without the toolkit's headers: bits that become a float wherever arithmetic needs a number, so
// that products are those of floats, and that a float becomes when asked to, to nearest even. GT_AB() is zero.
struct __align__(2) gt_half
{
    unsigned short bits;

    gt_half() = default;
    __device__ __forceinline__ explicit gt_half(float value)
    {
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    }
    __device__ __forceinline__ operator float() const
    {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
        return value;
    }
};

// The upper half of a float's bits. Integers round it where there is no instruction for that, before sm_80.
struct __align__(2) gt_bf16
{
    unsigned short bits;

    gt_bf16() = default;
    __device__ __forceinline__ explicit gt_bf16(float value)
    {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 800
        const unsigned all = __float_as_uint(value);
        const bool nan = (all & 0x7fffffff) > 0x7f800000; // its payload may lie in what is cut off
        bits = (unsigned short)(nan ? 0x7fff : (all + 0x7fff + (all >> 16 & 1)) >> 16);
#else
        unsigned both;
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(0.0f), "f"(value));
        bits = (unsigned short)both;
#endif
    }
    __device__ __forceinline__ operator float() const { return __uint_as_float((unsigned)bits << 16); }
};

// Two neighbours of 16 bits in a register, from sm_80 on.
__device__ __forceinline__ unsigned gt_pack(gt_half, float low, float high)
{
    unsigned both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}
__device__ __forceinline__ unsigned gt_pack(gt_bf16, float low, float high)
{
    unsigned both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

// An element of 8 bits that is moved and not looked at.
struct gt_byte
{
    unsigned char bits;
};

// 8-bit floating point, which only becomes a float. e4m3 has NaN where the body is all ones, and no infinities.
struct gt_e4m3
{
    unsigned char bits;

    gt_e4m3() = default;
    __device__ __forceinline__ explicit gt_e4m3(gt_byte byte) : bits(byte.bits) {}
    __device__ __forceinline__ operator float() const
    {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 890
        // As a float's exponent and fraction it is 2^120 too small, subnormal numbers included.
        const unsigned body = bits & 0x7f, sign = (unsigned)(bits & 0x80) << 24;
        const unsigned magnitude = __float_as_uint(__uint_as_float(body << 20) * 0x1p120f);
        return __uint_as_float((body == 0x7f ? 0x7fffffff : magnitude) | sign);
#else
        unsigned halves;
        float value;
        asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"((unsigned short)bits));
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)halves));
        return value;
#endif
    }
};

// The upper half of f16's bits.
struct gt_e5m2
{
    unsigned char bits;

    gt_e5m2() = default;
    __device__ __forceinline__ explicit gt_e5m2(gt_byte byte) : bits(byte.bits) {}
    __device__ __forceinline__ operator float() const
    {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)(bits << 8)));
        return value;
    }
};

// A float that is rounded to tf32 wherever arithmetic needs a number: to nearest, ties away from zero.
struct __align__(4) gt_tf32
{
    unsigned bits;

    __device__ __forceinline__ operator float() const
    {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 800
        const bool finite = (bits & 0x7f800000) != 0x7f800000;
        return __uint_as_float(finite ? (bits + 0x1000) & 0xffffe000 : bits);
#else
        unsigned rounded;
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(bits)));
        return __uint_as_float(rounded);
#endif
    }
};

// Bytes of an element; an int, so that addresses in shared memory are computed in 32 bits.
#define GT_AB_BYTES  ((int)sizeof(GT_AB))
#define GT_ACC_BYTES ((int)sizeof(GT_ACC))
#define GT_C_BYTES   ((int)sizeof(GT_C))

// alpha and beta sit in slots of eight bytes whatever their type. src/core/launch.h has the block's other side.
template <typename T> union gt_slot {
    T value;
    unsigned long long bits;
};

struct gt_args {
    const GT_AB *a;
    const GT_AB *b;
    GT_C *c;            // where results go
    void *workspace;    // ws_tile bytes for each tile (or block, where their number is fixed) and matrix of the batch
    unsigned *counters; // one for each block, zero before and after a launch
    gt_int m, n, k;
    gt_int lda, ldb, ldc;
    gt_int stride_a, stride_b, stride_c;
    gt_slot<GT_ACC> alpha, beta;
#if GT_EPILOGUE // The host passes it all. A parameter that is longer costs registers, also where nobody reads its end
                // (measured: 64 became 70 in the rung of privatised registers).
    gt_int reserved[3];
    const GT_C *bias;                 // one for each column, if the epilogue has it
    gt_int apart;                     // elements from where results go to the C that beta scales, which lies as they do
    unsigned epilogue, reserved_half; // GT_BIAS and so on; 0: none
    gt_int reserved_too[2];
    gt_int batch; // matrices of this launch
#endif
};

static_assert(sizeof(gt_args) == (GT_EPILOGUE ? 25 : 16) * 8, "the host passes this block");

// Neighbours that move in one access.
template <typename T, int WIDTH> struct __align__(WIDTH * sizeof(T)) gt_vector
{
    T e[WIDTH];
};

// Whether op(A) and op(B) are stored contiguous along K, or else along m and n.
#define GT_A_ALONG_K (!GT_TRANS_A)
#define GT_B_ALONG_K (GT_TRANS_B != 0)

// The most elements of A or B, and of C, that one access to global memory may take.
#define GT_WIDE_AB (GT_ACCESS / GT_AB_BYTES)
#define GT_WIDE_C  (GT_ACCESS < GT_C_BYTES ? 1 : GT_ACCESS / GT_C_BYTES)
#define GT_ACCESS  (GT_ALIGN < 16 ? GT_ALIGN : 16) // bytes

// What a tile of `most` has of what is left of the matrix: small numbers, so that loops compare 32 bits.
__device__ __forceinline__ int gt_clip(gt_int left, int most)
{
    return left < most ? (int)left : most;
}

// The operands of this block's matrix of the batch (blockIdx.z).
__device__ __forceinline__ void gt_select_batch(gt_args &g)
{
    g.a += blockIdx.z * g.stride_a;
    g.b += blockIdx.z * g.stride_b;
    g.c += blockIdx.z * g.stride_c;
}

// Element (i, p) of op(A) and (p, j) of op(B), wherever they are stored.
__device__ __forceinline__ const GT_A *gt_at_a(const gt_args &g, gt_int i, gt_int p)
{
    return (const GT_A *)g.a + (GT_TRANS_A ? p * g.lda + i : i * g.lda + p);
}
__device__ __forceinline__ const GT_B *gt_at_b(const gt_args &g, gt_int p, gt_int j)
{
    return (const GT_B *)g.b + (GT_TRANS_B ? j * g.ldb + p : p * g.ldb + j);
}

// The same with zero outside the matrices.
__device__ __forceinline__ GT_A gt_load_a(const gt_args &g, gt_int i, gt_int p)
{
    return i < g.m && p < g.k ? *gt_at_a(g, i, p) : GT_A();
}
__device__ __forceinline__ GT_B gt_load_b(const gt_args &g, gt_int p, gt_int j)
{
    return p < g.k && j < g.n ? *gt_at_b(g, p, j) : GT_B();
}

// WIDTH neighbours of a line, of which only the first `left` lie in the matrix (all if it is more than WIDTH,
// none if it is negative); zeros stand for the others.
template <int WIDTH, typename T>
__device__ __forceinline__ gt_vector<T, WIDTH> gt_load_vector(const T *from, int left)
{
    gt_vector<T, WIDTH> v = {};
    if (left >= WIDTH) {
        v = *(const gt_vector<T, WIDTH> *)from;
    } else {
#pragma unroll
        for (int u = 0; u < WIDTH - 1; u++)
            if (u < left)
                v.e[u] = from[u];
    }
    return v;
}

#include "results.cuh"

// A tile of C by its number. Tiles go down columns of `group` rows, so that blocks which run at the same time share
// rows of A and columns of B in L2; group 1 goes along rows.
struct gt_tile {
    gt_int row, column; // in tiles
};
template <int BM_, int BN_> __device__ __forceinline__ unsigned gt_count_tiles(const gt_args &g)
{
    return (unsigned)((g.m + BM_ - 1) / BM_) * (unsigned)((g.n + BN_ - 1) / BN_);
}
template <int BM_, int BN_>
__device__ __forceinline__ gt_tile gt_find_tile(const gt_args &g, unsigned group, unsigned number = blockIdx.x)
{
    const unsigned rows = (unsigned)((g.m + BM_ - 1) / BM_), columns = (unsigned)((g.n + BN_ - 1) / BN_);
    const unsigned band = number / (group * columns), first = band * group;
    if (group == 1) // a division less on the way to the first copy
        return {(gt_int)band, (gt_int)(number - band * columns)};
    const unsigned height = rows - first < group ? rows - first : group;
    const unsigned within = number - band * group * columns;
    return {(gt_int)(first + within % height), (gt_int)(within / height)};
}

#endif
