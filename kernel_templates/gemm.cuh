// What every template shares: the element types, the argument block, a block's tile and matrix of the batch, access to
// elements of A and B, and the step from sums to C. A renderer puts its #defines before this text; alone, the defaults
// below stand.
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
#ifndef FINISHES_STORED // whether bias, relu and gelu are left to gt_finish_stored
#define FINISHES_STORED false
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

// The upper half of a float's bits. Integers round it: the instruction for that begins with sm_80.
struct __align__(2) gt_bf16
{
    unsigned short bits;

    gt_bf16() = default;
    __device__ __forceinline__ explicit gt_bf16(float value)
    {
        const unsigned all = __float_as_uint(value);
        const bool nan = (all & 0x7fffffff) > 0x7f800000; // its payload may lie in what is cut off
        bits = (unsigned short)(nan ? 0x7fff : (all + 0x7fff + (all >> 16 & 1)) >> 16);
    }
    __device__ __forceinline__ operator float() const { return __uint_as_float((unsigned)bits << 16); }
};

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
    gt_int reserved_too;
    const GT_ACC *scalars; // alpha and beta in device memory; NULL: those above
    gt_int batch;          // matrices of this launch
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

// Stores a vector in one access. Left to itself the compiler stores some of 16 bytes in four: it loses sight of their
// alignment.
template <int WIDTH, typename T> __device__ __forceinline__ void gt_store_vector(T *to, const gt_vector<T, WIDTH> &v)
{
    if constexpr (sizeof v == 16) {
        const gt_vector<unsigned, 4> w = *(const gt_vector<unsigned, 4> *)&v;
        asm volatile("{\n\t.reg .u64 global;\n\tcvta.to.global.u64 global, %0;\n\t"
                     "st.global.v4.b32 [global], {%1, %2, %3, %4};\n\t}" ::"l"(to),
                     "r"(w.e[0]), "r"(w.e[1]), "r"(w.e[2]), "r"(w.e[3])
                     : "memory");
    } else {
        *(gt_vector<T, WIDTH> *)to = v;
    }
}

// What is done with a result, bits of gt_args.epilogue: the same as gt_epilogue's in gemmtune.h.
#define GT_BIAS 1u
#define GT_RELU 2u
#define GT_GELU 4u

// gelu with tanh, x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as x / (1 + 2^y). It errs by less than 2^-20 |x|.
// Only sums in f32 have it.
__device__ __forceinline__ float gt_gelu(float x)
{
    float y = x * (-2.302208198f - 0.1029432397f * x * x); // 2 / ln 2 times what tanh is of, negative
    asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(y));
    y += 1;
    asm("rcp.approx.ftz.f32 %0, %0;" : "+f"(y));
    return x * y;
}
template <typename T> __device__ __forceinline__ T gt_gelu(T x)
{
    return x;
}

// Whether results have any of these.
__device__ __forceinline__ bool gt_has_epilogue(const gt_args &g)
{
#if GT_EPILOGUE
    return g.epilogue != 0;
#else
    return false;
#endif
}

// Whether alpha times sums is all that is stored first, as mostly.
__device__ __forceinline__ bool gt_is_plain(const gt_args &g)
{
    return g.beta.value == GT_ACC(0) && (FINISHES_STORED || !gt_has_epilogue(g));
}

// Where C's old value of a result lies.
__device__ __forceinline__ const GT_C *gt_old(const gt_args &g, const GT_C *result)
{
#if GT_EPILOGUE
    return result + g.apart;
#else
    return result;
#endif
}

// Bias, relu and gelu of results, of which number u stands `along(u)` columns behind column j; what lies beyond the
// last column has no bias. relu keeps NaN. Code that mostly does not run is to be short: it is compiled and stored all
// the same.
template <int COUNT, typename ALONG>
__device__ __forceinline__ void gt_finish(const gt_args &g, gt_int j, GT_ACC (&results)[COUNT], ALONG along)
{
#if GT_EPILOGUE
    constexpr int STEP = COUNT % 2 ? 1 : 2;
    if (g.epilogue & GT_BIAS) {
        const GT_C *bias = g.bias + j;
        const int left = gt_clip(g.n - j, 1 << 30);
#pragma unroll
        for (int u = 0; u < COUNT; u++)
            if (along(u) < left)
                results[u] += GT_ACC(bias[along(u)]);
    }
    if (g.epilogue & (GT_RELU | GT_GELU))
#pragma unroll 1
        for (int u = 0; u < COUNT; u += STEP) {
            GT_ACC some[STEP];
#pragma unroll
            for (int v = 0; v < STEP; v++)
                some[v] = g.epilogue & GT_GELU     ? gt_gelu(results[v])
                          : results[v] < GT_ACC(0) ? GT_ACC(0)
                                                   : results[v];
#pragma unroll
            for (int v = 0; v < COUNT; v++)
                results[v] = v + STEP < COUNT ? results[v + STEP] : some[v + STEP - COUNT];
        }
#endif
}

// C = alpha * sum + beta * C, and the epilogue, for one element inside the matrix, `away` elements from where the
// arguments point; beta = 0 never reads C.
__device__ __forceinline__ void gt_store_c(const gt_args &g, gt_int i, gt_int j, GT_ACC sum, gt_int away = 0)
{
    GT_C *c = g.c + away + i * g.ldc + j;
    GT_ACC result[1] = {g.alpha.value * sum};
    if (!gt_is_plain(g)) {
        if (g.beta.value != GT_ACC(0))
            result[0] += g.beta.value * GT_ACC(*gt_old(g, c));
        if (!FINISHES_STORED)
            gt_finish(g, j, result, [](int) { return 0; });
    }
    *c = GT_C(result[0]);
}

// The same for WIDTH neighbours of a row inside the matrix from column j on, a multiple of WIDTH; those
// beyond the last column are left out.
template <int WIDTH>
__device__ __forceinline__ void gt_store_c_vector(const gt_args &g, gt_int i, gt_int j, const GT_ACC *sums,
                                                  gt_int away = 0)
{
    if (WIDTH <= GT_WIDE_C && j + WIDTH <= g.n) {
        typedef gt_vector<GT_C, WIDTH> vector;
        GT_C *c = g.c + away + i * g.ldc + j;
        vector stored;
#pragma unroll
        for (int u = 0; u < WIDTH; u++)
            stored.e[u] = GT_C(g.alpha.value * sums[u]);
        if (!gt_is_plain(g)) {
            GT_ACC results[WIDTH];
#pragma unroll
            for (int u = 0; u < WIDTH; u++)
                results[u] = g.alpha.value * sums[u];
            if (g.beta.value != GT_ACC(0)) {
                const vector old = *(const vector *)gt_old(g, c);
#pragma unroll
                for (int u = 0; u < WIDTH; u++)
                    results[u] += g.beta.value * GT_ACC(old.e[u]);
            }
            if (!FINISHES_STORED)
                gt_finish(g, j, results, [](int u) { return u; });
#pragma unroll
            for (int u = 0; u < WIDTH; u++)
                stored.e[u] = GT_C(results[u]);
        }
        gt_store_vector(c, stored);
    } else if (WIDTH > GT_WIDE_C) {
#pragma unroll
        for (int u = 0; u < WIDTH; u++)
            if (j + u < g.n)
                gt_store_c(g, i, j + u, sums[u], away);
    } else { // the last columns, with little code
#pragma unroll 1
        for (int u = 0; j + u < g.n; u++) {
            GT_ACC sum = sums[0];
#pragma unroll
            for (int v = 1; v < WIDTH; v++)
                sum = u == v ? sums[v] : sum;
            gt_store_c(g, i, j + u, sum, away);
        }
    }
}

// The epilogue of WIDTH neighbours that this thread has stored without it, which is exact where C is of the type of
// sums; what lies outside the matrix is left out. A loop over memory is short, one over registers must be unrolled: for
// 128 sums a thread it would be a third of the kernel.
template <int WIDTH>
__device__ __forceinline__ void gt_finish_stored(const gt_args &g, gt_int i, gt_int j, gt_int away = 0)
{
    static_assert(!FINISHES_STORED || GT_C_BYTES == GT_ACC_BYTES, "nothing has been rounded");
    GT_C *c = g.c + away + i * g.ldc + j;
    const int left = i < g.m ? gt_clip(g.n - j, WIDTH) : 0;
    gt_vector<GT_C, WIDTH> stored = gt_load_vector<WIDTH>(c, left);
    GT_ACC results[WIDTH];
#pragma unroll
    for (int u = 0; u < WIDTH; u++)
        results[u] = GT_ACC(stored.e[u]);
    gt_finish(g, j, results, [](int u) { return u; });
#pragma unroll
    for (int u = 0; u < WIDTH; u++)
        stored.e[u] = GT_C(results[u]);
    if (left == WIDTH) {
        gt_store_vector(c, stored);
    } else {
#pragma unroll
        for (int u = 0; u < WIDTH - 1; u++)
            if (u < left)
                c[u] = stored.e[u];
    }
}

// A tile of C by its number. Tiles go down columns of `group` rows, so that blocks which run at the same time share
// rows of A and columns of B in L2; group 1 goes along rows.
struct gt_tile {
    gt_int row, column; // in tiles
};
template <int BM_, int BN_>
__device__ __forceinline__ gt_tile gt_find_tile(const gt_args &g, unsigned group, unsigned number = blockIdx.x)
{
    const unsigned rows = (unsigned)((g.m + BM_ - 1) / BM_), columns = (unsigned)((g.n + BN_ - 1) / BN_);
    const unsigned band = number / (group * columns), first = band * group;
    const unsigned height = rows - first < group ? rows - first : group;
    const unsigned within = number - band * group * columns;
    return {(gt_int)(first + within % height), (gt_int)(within / height)};
}

#endif
