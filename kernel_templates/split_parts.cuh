// Operands of f32 in two parts of f16. A kernel that runs before the product scales each row of op(A) and column of
// op(B), a "line", by a power of four, so that its largest element v has 2^13 <= |v| < 2^15, and writes hi, v rounded to
// f16, and lo, the rest times 2^11 rounded to f16: v = hi + 2^-11 lo, and 22 bits of it are kept. Of every PARTS_STEP
// elements along K the his come first and then their los, 128 bytes in all, zeros behind the last.
//
// What the rest of v is, and is not:
//   |v| >= 2^-14: hi errs by 2^-11 |v| at most, lo by 2^-11 of that: 2^-22 |v|.
//   |v| < 2^-14: hi is subnormal and errs by 2^-25; lo, 2^-14 at most, errs by 2^-25: 2^-36. Such an element is "deep".
// Beside their products, of magnitude S = sum of |a||b|, n deep elements of a pair of lines add an error of 2^-36 2^15 n at
// most. An element is "low" where |v| < 1; of K products all but those of low elements are 1 at least. So where half of K
// or less are of low elements, of which deep ones are some, that error is at most 2^-21 K / 2 and S at least K / 2: it adds
// 2^-21 S. Lines of which this cannot be said, or that have NaN or infinities, or whose sums might pass the largest
// number, are not multiplied this way: their tiles are computed by multiply-adds of f32 (split.cu).
#ifndef GT_SPLIT_PARTS_CUH
#define GT_SPLIT_PARTS_CUH

#include "gemm.cuh"
#include "dependent_launch.cuh"

constexpr int PARTS_STEP = 32;
constexpr float LO_SCALE = 0x1p11f;

// What is known of a line. src/core/copies.c has its size and its place, behind the lines of its matrix.
struct line_known {
    float undo;    // its square undoes the line's scale
    unsigned what; // whether it has deep elements, the exponent of the largest one, the share of low ones
};
constexpr unsigned DEEP = 1u << 31, SHARE_WHOLE = 0xffff;
constexpr int EXPONENT_AT = 16, NOT_FINITE = 255;

struct operand_parts {
    gt_half *lines;
    line_known *known;
};
__device__ __forceinline__ gt_int parts_ld(const gt_args &g)
{
    return (g.k + PARTS_STEP - 1) / PARTS_STEP * (2 * PARTS_STEP);
}
__device__ __forceinline__ operand_parts parts_of(const gt_args &g, bool of_a)
{
    constexpr gt_int UNIT = 128;
    const gt_int line = parts_ld(g) * 2, a = g.m * line + (g.m * sizeof(line_known) + UNIT - 1) / UNIT * UNIT,
                 b = g.n * line + (g.n * sizeof(line_known) + UNIT - 1) / UNIT * UNIT;
    char *at = (char *)g.workspace + (of_a ? blockIdx.z * a : gridDim.z * a + blockIdx.z * b);
    return {(gt_half *)at, (line_known *)(at + (of_a ? g.m : g.n) * line)};
}

// ---- the kernel before the product ----

constexpr int PARTS_WARPS = 8;
constexpr unsigned MAGNITUDE = 0x7fffffff;

// A line's scale, from the bits of its largest magnitude: its square is multiplied with.
struct line_scale {
    int half; // of the power of two

    __device__ __forceinline__ explicit line_scale(unsigned largest)
    {
        const int power = largest >> 23 ? (int)(largest >> 23) - 127 : 31 - __clz(largest) - 149;
        half = largest == 0 ? 0 : (14 - power) >> 1;
    }
    __device__ __forceinline__ float up() const { return __int_as_float((127 + half) << 23); }
    __device__ __forceinline__ float undo() const { return __int_as_float((127 - half) << 23); }
};

// An element's parts, and what it counts for.
struct element_parts {
    unsigned hi, lo; // bits

    __device__ __forceinline__ element_parts(float element, float up, int &low, unsigned &deep)
    {
        const float v = element * up * up;
        const gt_half high(v), rest((v - float(high)) * LO_SCALE);
        hi = high.bits;
        lo = rest.bits;
        low += fabsf(v) < 1;
        deep |= fabsf(v) < 0x1p-14f && element != 0 ? DEEP : 0;
    }
};

__device__ __forceinline__ line_known know(unsigned largest, int low, unsigned deep, gt_int k)
{
    const unsigned share = k == 0 || largest == 0 ? 0 : (unsigned)(((gt_int)low * SHARE_WHOLE + k - 1) / k);
    return {line_scale(largest).undo(), deep | largest >> 23 << EXPONENT_AT | share};
}

// A line that is stored along K, by a warp; a lane has one of each PARTS_STEP elements.
__device__ __forceinline__ void split_line(const float *from, gt_int k, gt_half *to, line_known *known)
{
    constexpr int AHEAD = 8; // loads under way
    const int lane = threadIdx.x % 32;
    unsigned largest = 0, deep = 0;
    int low = 0;
    for (gt_int first = lane; first < k; first += AHEAD * 32)
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
            if (first + i * 32 < k)
                largest = max(largest, __float_as_uint(from[first + i * 32]) & MAGNITUDE);
    largest = __reduce_max_sync(~0u, largest);
    const float up = line_scale(largest).up();
    unsigned *const words = (unsigned *)to + lane % 2 * (PARTS_STEP / 2) + lane / 2;
    for (gt_int first = 0; first < k; first += AHEAD * 32) {
        float held[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
            held[i] = first + i * 32 + lane < k ? from[first + i * 32 + lane] : 0;
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            int is_low = 0;
            const element_parts e(held[i], up, is_low, deep);
            low += first + i * 32 + lane < k ? is_low : 0;
            // Even lanes store two his, odd ones two los.
            const unsigned other = __shfl_xor_sync(~0u, lane % 2 ? e.hi : e.lo, 1);
            if (first + i * 32 < k)
                words[first + i * 32] = lane % 2 ? other | e.lo << 16 : e.hi | other << 16;
        }
    }
    low = __reduce_add_sync(~0u, low);
    deep = __reduce_or_sync(~0u, deep);
    if (lane == 0)
        *known = know(largest, low, deep, k);
}

// 32 lines that are stored across K, by a block: a lane has a line, a warp PARTS_STEP elements of each at a time.
// `lines` of them are there.
__device__ __forceinline__ void split_strip(const float *from, gt_int ld, int lines, gt_int k, gt_half *to, gt_int to_ld,
                                            line_known *known)
{
    __shared__ unsigned largest_of[PARTS_WARPS][32], deep_of[PARTS_WARPS][32];
    __shared__ int low_of[PARTS_WARPS][32];
    __shared__ gt_vector<unsigned, 4> pieces[PARTS_WARPS][32][8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const bool there = lane < lines;
    unsigned largest = 0, deep = 0;
    int low = 0;
    from += there ? lane : 0;
    for (gt_int first = warp * PARTS_STEP; first < k; first += PARTS_WARPS * PARTS_STEP)
#pragma unroll
        for (int i = 0; i < PARTS_STEP; i++)
            if (first + i < k && there)
                largest = max(largest, __float_as_uint(from[(first + i) * ld]) & MAGNITUDE);
    largest_of[warp][lane] = largest;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < PARTS_WARPS; w++)
        largest = max(largest, largest_of[w][lane]);
    const float up = line_scale(largest).up();
    for (gt_int first = warp * PARTS_STEP; first < k; first += PARTS_WARPS * PARTS_STEP) {
        float held[PARTS_STEP];
#pragma unroll
        for (int i = 0; i < PARTS_STEP; i++)
            held[i] = first + i < k && there ? from[(first + i) * ld] : 0;
#pragma unroll
        for (int i = 0; i < PARTS_STEP; i += 8) {
            gt_vector<unsigned, 4> hi, lo;
#pragma unroll
            for (int e = 0; e < 4; e++) {
                int is_low[2] = {0, 0};
                const element_parts even(held[i + e * 2], up, is_low[0], deep), odd(held[i + e * 2 + 1], up, is_low[1], deep);
                hi.e[e] = even.hi | odd.hi << 16;
                lo.e[e] = even.lo | odd.lo << 16;
                low += (first + i + e * 2 < k ? is_low[0] : 0) + (first + i + e * 2 + 1 < k ? is_low[1] : 0);
            }
            pieces[warp][lane][i / 8 ^ lane % 8] = hi;
            pieces[warp][lane][(4 + i / 8) ^ lane % 8] = lo;
        }
        __syncwarp();
        // Eight lanes store a line's 128 bytes.
#pragma unroll
        for (int i = 0; i < 32; i += 4) {
            const int line = i + lane / 8;
            if (line < lines)
                *(gt_vector<unsigned, 4> *)(to + line * to_ld + first * 2 + lane % 8 * 8) =
                    pieces[warp][line][lane % 8 ^ line % 8];
        }
        __syncwarp();
    }
    low_of[warp][lane] = low;
    deep_of[warp][lane] = deep;
    __syncthreads();
    if (warp == 0) {
#pragma unroll
        for (int w = 1; w < PARTS_WARPS; w++) {
            low += low_of[w][lane];
            deep |= deep_of[w][lane];
        }
        if (there)
            known[lane] = know(largest, low, deep, k);
    }
    __syncthreads(); // the next strip's are written to the same place
}

// The lines of an operand that the number-th block of those of its matrix has.
template <bool ALONG_K> __device__ __forceinline__ gt_int lines_of_block()
{
    return ALONG_K ? PARTS_WARPS : 32;
}
template <bool ALONG_K>
__device__ __forceinline__ void split_lines(const gt_args &g, bool of_a, const float *from, gt_int ld, gt_int lines,
                                            gt_int number)
{
    const operand_parts to = parts_of(g, of_a);
    const gt_int to_ld = parts_ld(g), first = number * lines_of_block<ALONG_K>();
    if (ALONG_K) {
        const gt_int line = first + threadIdx.x / 32;
        if (line < lines)
            split_line(from + line * ld, g.k, to.lines + line * to_ld, to.known + line);
    } else {
        split_strip(from + first, ld, gt_clip(lines - first, 32), g.k, to.lines + first * to_ld, to_ld, to.known + first);
    }
}

// Blocks deal out among them the lines of op(A), then those of op(B).
extern "C" __global__ void __launch_bounds__(PARTS_WARPS * 32) repack(const __grid_constant__ gt_args g)
{
    constexpr bool A = GT_A_ALONG_K, B = GT_B_ALONG_K;
    gt_begin();
    const gt_int of_a = (g.m + lines_of_block<A>() - 1) / lines_of_block<A>(),
                 all = of_a + (g.n + lines_of_block<B>() - 1) / lines_of_block<B>();
    for (gt_int number = blockIdx.x; number < all; number += gridDim.x)
        if (number < of_a)
            split_lines<A>(g, true, g.a + blockIdx.z * g.stride_a, g.lda, g.m, number);
        else
            split_lines<B>(g, false, g.b + blockIdx.z * g.stride_b, g.ldb, g.n, number - of_a);
}

// ---- what the product asks ----

// Of some lines of an operand: whether there are deep elements, the exponent of the largest one, the largest share of low
// ones. All lanes of a warp ask, and know.
struct lines_known {
    unsigned deep, exponent, share;

    __device__ __forceinline__ lines_known(const line_known *known, gt_int first, int count, gt_int lines)
    {
        deep = exponent = share = 0;
        for (int i = threadIdx.x % 32; i < count; i += 32)
            if (first + i < lines) {
                const unsigned what = known[first + i].what;
                deep |= what & DEEP;
                exponent = max(exponent, (what & ~DEEP) >> EXPONENT_AT);
                share = max(share, what & SHARE_WHOLE);
            }
        deep = __reduce_or_sync(~0u, deep);
        exponent = __reduce_max_sync(~0u, exponent);
        share = __reduce_max_sync(~0u, share);
    }
};

// Whether the parts of lines may be multiplied: as said above. Elements with an exponent x are below 2^(x - 126); sums
// stay below 2^126, so that rounding does not carry them beyond the largest number either.
__device__ __forceinline__ bool parts_suffice(const gt_args &g, gt_int row, int rows, gt_int column, int columns)
{
    const lines_known a(parts_of(g, true).known, row, rows, g.m), b(parts_of(g, false).known, column, columns, g.n);
    const int terms = 64 - __clzll(g.k); // K is below two to that
    return a.exponent != NOT_FINITE && b.exponent != NOT_FINITE && (int)(a.exponent + b.exponent) + terms <= 2 * 126 + 126 &&
           (!(a.deep | b.deep) || a.share + b.share <= SHARE_WHOLE / 2);
}

#endif
