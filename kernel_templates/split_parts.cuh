// Operands of f32 in two parts of f16. A kernel that runs before the product (split_pass.cuh) scales each row of op(A)
// and column of op(B), a "line", by a power of four, so that its elements v have |v| < 2^15 and the largest one is 2^11
// at least, and writes hi, v rounded to f16, and lo, the rest times 2^11 rounded to f16: v = hi + 2^-11 lo, and 22 bits
// of it are kept. Of every PARTS_STEP elements along K the his come first and then their los, 128 bytes in all, zeros
// behind the last. Such steps of a line stand side by side; or, where REPACK does not ask for lines along K and the
// operand is stored across it, those of all lines at the same k do: 32 lines are read and written together then.
//
// What is kept of v:
//   |v| >= 2^-14: hi errs by 2^-11 |v| at most, lo by 2^-11 of that: 2^-22 |v|.
//   |v| < 2^-14: hi is subnormal and errs by 2^-25; lo, 2^-14 at most, errs by 2^-25: 2^-36. Such an element is "deep".
// So n deep elements of a row and a column add an error of 2^-36 2^15 n at most to their product of magnitude S = sum
// of |a||b|. An element is "low" where |v| < 2^-4: of K terms of S all but those of low elements are 2^-8 at least.
// Where s are low and n <= 2^-6 (K - s), the error is 2^-27 (K - s) at most and S is 2^-8 (K - s) at least: it is
// within 2^-19 S. Tiles of lines of which this cannot be said are multiplied in three parts (split_wide.cuh), unless
// there are elements below 2^-96 that are not zero, which are too deep for these, too. Those, and tiles of lines that
// have NaN or infinities, or whose sums might pass the largest number, are computed by multiply-adds of f32
// (split_strict.cuh).
#ifndef GT_SPLIT_PARTS_CUH
#define GT_SPLIT_PARTS_CUH

#include "gemm.cuh"
#include "dependent_launch.cuh"

constexpr int PARTS_STEP = 32;
constexpr float LO_SCALE = 0x1p11f;

// What is known of a line. src/core/copies.c has its size and its place, behind the lines of its matrix.
struct __align__(8) line_known
{
    float undo; // its square undoes the line's scale; negative: the line has elements that are too deep for three parts
    // The exponent of its largest element, 8 bits; whether any lo is not zero; the share of low elements, 11 bits, and
    // of deep ones, 12.
    unsigned what;
};
constexpr int EXPONENT_AT = 24, FINE_AT = 23, LOW_AT = 12, NOT_FINITE = 255;
constexpr unsigned ALL_LOW = 2047;   // the share of low elements, where all are
constexpr unsigned ALL_DEEP = 16384; // of deep ones
constexpr unsigned MOST_DEEP = 4095; // what is written of it at most
constexpr int WIDE = 36;             // for three parts lines are scaled by two to this power more
constexpr int WIDE_TERMS = 24;       // sums of so many terms, as a power of two, stay below 2^126 then
static_assert(2 * (15 + WIDE) + WIDE_TERMS <= 126, "elements are below 2^15 otherwise");

// With elements from a line to the next one, and from a step of it to the next.
struct operand_parts {
    gt_half *lines;
    line_known *known;
    gt_int line_pitch, step_pitch;

    __device__ __forceinline__ operand_parts from_line(gt_int first) const
    {
        return {lines + first * line_pitch, known + first, line_pitch, step_pitch};
    }
};
constexpr int STEP_PARTS = 2 * PARTS_STEP;
template <bool OF_A> constexpr bool PARTS_ALONG_K = REPACK & 8 || (OF_A ? GT_A_ALONG_K : GT_B_ALONG_K);
__device__ __forceinline__ gt_int parts_ld(const gt_args &g)
{
    return (g.k + PARTS_STEP - 1) / PARTS_STEP * STEP_PARTS;
}
// Bytes of a matrix with so many lines.
__device__ __forceinline__ gt_int parts_size(const gt_args &g, gt_int lines)
{
    constexpr gt_int UNIT = 128;
    return lines * parts_ld(g) * 2 + (lines * sizeof(line_known) + UNIT - 1) / UNIT * UNIT;
}
template <bool OF_A> __device__ __forceinline__ operand_parts parts_of(const gt_args &g)
{
    const gt_int a = parts_size(g, g.m), b = parts_size(g, g.n), lines = OF_A ? g.m : g.n, ld = parts_ld(g);
    char *at = (char *)g.workspace + (OF_A ? blockIdx.z * a : gridDim.z * a + blockIdx.z * b);
    return {(gt_half *)at, (line_known *)(at + lines * ld * 2), PARTS_ALONG_K<OF_A> ? ld : STEP_PARTS,
            PARTS_ALONG_K<OF_A> ? STEP_PARTS : lines * STEP_PARTS};
}
// The workspace behind them.
__device__ __forceinline__ void *gt_workspace(const gt_args &g)
{
    return (char *)g.workspace + gridDim.z * (parts_size(g, g.m) + parts_size(g, g.n));
}

// Of some lines of an operand: the exponent of the largest element, the largest shares of low and deep ones, and
// whether any is too deep for three parts. All lanes of a warp ask, and know.
struct lines_known {
    unsigned exponent = 0, low = 0, deep = 0;
    bool deepest = false;

    __device__ __forceinline__ lines_known(const line_known *known, gt_int first, int count, gt_int lines)
    {
        const int lane = threadIdx.x % 32, there = gt_clip(lines - first, count);
        known += first + lane;
#pragma unroll
        for (int i = 0; i < count; i += 32)
            if (i + lane < there) {
                const line_known line = known[i];
                deepest |= line.undo < 0;
                exponent = max(exponent, line.what >> EXPONENT_AT);
                low = max(low, line.what >> LOW_AT & ALL_LOW);
                deep = max(deep, line.what & MOST_DEEP);
            }
        exponent = __reduce_max_sync(~0u, exponent);
        low = __reduce_max_sync(~0u, low);
        deep = __reduce_max_sync(~0u, deep);
        deepest = __any_sync(~0u, deepest);
    }
};

// How a tile of these rows and columns is to be multiplied. By parts: as said above, n <= 2^-6 (K - s), or there is
// nothing deep. Elements with an exponent x are below 2^(x - 126); sums stay below 2^126, so that rounding does not
// carry them beyond the largest number either. Where they may go beyond it, products are added one after the other, so
// that they do so where sums of f32 do; else they are added in intervals.
enum way { BY_PARTS, BY_WIDE_PARTS, IN_INTERVALS, IN_ORDER };
__device__ __forceinline__ way find_way(const gt_args &g, gt_int row, int rows, gt_int column, int columns)
{
    const lines_known a(parts_of<true>(g).known, row, rows, g.m), b(parts_of<false>(g).known, column, columns, g.n);
    const int terms = 64 - __clzll(g.k), deep = (int)(a.deep + b.deep); // K is below two to `terms`
    static_assert(ALL_DEEP / 64 * 8 >= ALL_LOW, "8 times a deep share is 2^6 times its part of all");
    if (a.exponent == NOT_FINITE || b.exponent == NOT_FINITE || (int)(a.exponent + b.exponent) + terms > 3 * 126)
        return IN_ORDER;
    if (deep == 0 || deep * 8 <= (int)ALL_LOW - (int)(a.low + b.low))
        return BY_PARTS;
    return a.deepest || b.deepest || terms > WIDE_TERMS ? IN_INTERVALS : BY_WIDE_PARTS;
}

#endif
