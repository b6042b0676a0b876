// Operands that are copied first: a kernel that runs before the product copies op(A), op(B) or both into the workspace,
// aligned, and contiguous along m and n or as they are stored. A family that offers the parameter `repack` takes its
// operands and its workspace from here.
#ifndef GT_REPACK_CUH
#define GT_REPACK_CUH

#include "gemm.cuh"
#include "dependent_launch.cuh"

// 1: op(A) is first copied into the workspace; 2: op(B); 3: both; 0: neither. A copy has a line for each k-step; 4 more:
// its lines are those of the operand; 8 more: it has a line for each row of op(A), or column of op(B).
#ifndef REPACK
#define REPACK 0
#endif
#define GT_COPY_A                       ((REPACK & 1) != 0)
#define GT_COPY_B                       ((REPACK & 2) != 0)
#define GT_COPY_ALONG_K(stored_along_k) ((REPACK & 4) != 0 ? (stored_along_k) : (REPACK & 8) != 0)

// Whether the product's kernel reads op(A) and op(B) contiguous along K.
#define GT_OPERAND_A_ALONG_K (GT_COPY_A ? GT_COPY_ALONG_K(GT_A_ALONG_K) : GT_A_ALONG_K)
#define GT_OPERAND_B_ALONG_K (GT_COPY_B ? GT_COPY_ALONG_K(GT_B_ALONG_K) : GT_B_ALONG_K)

// An operand of this block's matrix of the batch: where it was given, or its copy.
struct gt_operand {
    const GT_AB *at;
    gt_int ld;
};

// The workspace begins with the copies of A of all matrices, then those of B, lines padded to 128 bytes.
// src/core/copies.c has the other side.
__device__ __forceinline__ gt_int gt_padded(gt_int columns)
{
    constexpr int UNIT = 128 / GT_AB_BYTES;
    return (columns + UNIT - 1) / UNIT * UNIT;
}
__device__ __forceinline__ gt_int gt_copy_ld(const gt_args &g, bool of_a)
{
    return gt_padded((of_a ? GT_OPERAND_A_ALONG_K : GT_OPERAND_B_ALONG_K) ? g.k : of_a ? g.m : g.n);
}
__device__ __forceinline__ gt_int gt_copy_size(const gt_args &g, bool of_a)
{
    if (!(of_a ? GT_COPY_A : GT_COPY_B))
        return 0;
    return gt_copy_ld(g, of_a) * ((of_a ? GT_OPERAND_A_ALONG_K : GT_OPERAND_B_ALONG_K) ? of_a ? g.m : g.n : g.k);
}
__device__ __forceinline__ gt_operand gt_operand_a(const gt_args &g)
{
    if (!GT_COPY_A)
        return {g.a + blockIdx.z * g.stride_a, g.lda};
    return {(const GT_AB *)g.workspace + blockIdx.z * gt_copy_size(g, true), gt_copy_ld(g, true)};
}
__device__ __forceinline__ gt_operand gt_operand_b(const gt_args &g)
{
    if (!GT_COPY_B)
        return {g.b + blockIdx.z * g.stride_b, g.ldb};
    const gt_int before = gridDim.z * gt_copy_size(g, true);
    return {(const GT_AB *)g.workspace + before + blockIdx.z * gt_copy_size(g, false), gt_copy_ld(g, false)};
}
__device__ __forceinline__ void *gt_workspace(const gt_args &g)
{
    return (GT_AB *)g.workspace + gridDim.z * (gt_copy_size(g, true) + gt_copy_size(g, false));
}

#if REPACK
constexpr int GT_COPY_WARPS = 8; // of a block that copies
constexpr int GT_PIECE = 16 / GT_AB_BYTES;

// Sixteen bytes of a line, and those of two neighbours from byte `shift` of the first on.
typedef gt_vector<unsigned, 4> gt_sixteen;
__device__ __forceinline__ gt_sixteen gt_shift(gt_sixteen low, gt_sixteen high, unsigned shift)
{
    unsigned w[8] = {low.e[0], low.e[1], low.e[2], low.e[3], high.e[0], high.e[1], high.e[2], high.e[3]};
#pragma unroll
    for (int i = 0; i < 6; i++)
        w[i] = shift & 8 ? w[i + 2] : w[i];
#pragma unroll
    for (int i = 0; i < 5; i++)
        w[i] = shift & 4 ? w[i + 1] : w[i];
    gt_sixteen result;
#pragma unroll
    for (int i = 0; i < 4; i++)
        result.e[i] = __funnelshift_r(w[i], w[i + 1], shift % 4 * 8);
    return result;
}

// Lines of `length` elements that stay lines. A warp copies a part of AT_ONCE of them, all of which it reads before it
// writes: what it takes to find its place is shared, and so is the wait. A lane reads sixteen bytes as they are aligned in
// memory, and each lane but the last makes of its own and its neighbour's what is aligned in the copy.
struct gt_line_copy {
    static constexpr int PIECES = 31, AT_ONCE = 4; // of a warp: pieces of a line, lines
    gt_int lines, length;

    __device__ __forceinline__ unsigned spans() const
    {
        return (unsigned)((length + PIECES * GT_PIECE - 1) / (PIECES * GT_PIECE));
    }
    __device__ __forceinline__ gt_int blocks() const
    {
        return ((lines + AT_ONCE - 1) / AT_ONCE * spans() + GT_COPY_WARPS - 1) / GT_COPY_WARPS;
    }

    // Elements that may be read for a line. Where nothing lies between lines these are all of the matrix: pieces at a
    // line's ends are read as others are, and what is the next line's comes into the copy's padding.
    struct readable {
        const GT_AB *begin, *end;

        __device__ __forceinline__ bool holds(const GT_AB *piece) const
        {
            return piece >= begin && piece + GT_PIECE <= end;
        }
        // What may be read of a piece that reaches beyond; zeros stand for the rest.
        __device__ __forceinline__ gt_sixteen read_some(const GT_AB *piece) const
        {
            gt_vector<GT_AB, GT_PIECE> some = {};
#pragma unroll
            for (int e = 0; e < GT_PIECE; e++)
                if (piece + e >= begin && piece + e < end)
                    some.e[e] = piece[e];
            return *(const gt_sixteen *)&some;
        }
    };
    __device__ __forceinline__ readable around(const GT_AB *from, gt_int ld, gt_int at) const
    {
        const bool packed = ld == length;
        const GT_AB *line = from + at * ld, *end = packed ? from + lines * ld : line + length;
        return {packed ? from : line, at < lines ? end : from};
    }

    __device__ __forceinline__ void copy(gt_operand to, const GT_AB *from, gt_int ld, gt_int block) const
    {
        const int lane = threadIdx.x % 32;
        const gt_int number = block * GT_COPY_WARPS + threadIdx.x / 32, bundle = number / spans(), at = bundle * AT_ONCE;
        const gt_int first = (number - bundle * spans()) * (PIECES * GT_PIECE) + lane * GT_PIECE; // of the copy
        gt_sixteen own[AT_ONCE] = {}, next;
        const GT_AB *piece[AT_ONCE];
        unsigned shift[AT_ONCE];
        bool whole = true;
        if (first < length + GT_PIECE) {
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                const GT_AB *element = from + (at + i) * ld + first;
                shift[i] = (unsigned)(unsigned long long)element % 16;
                piece[i] = element - shift[i] / GT_AB_BYTES;
                if (around(from, ld, at + i).holds(piece[i]))
                    own[i] = *(const gt_sixteen *)piece[i];
                else
                    whole = false;
            }
            if (!whole)
#pragma unroll
                for (int i = 0; i < AT_ONCE; i++)
                    if (const readable r = around(from, ld, at + i); !r.holds(piece[i]))
                        own[i] = r.read_some(piece[i]);
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
#pragma unroll
            for (int w = 0; w < 4; w++)
                next.e[w] = __shfl_down_sync(~0u, own[i].e[w], 1);
            if (at + i < lines && lane < PIECES && first < length) // the last piece may reach into the padding
                gt_store_vector((unsigned *)(to.at + (at + i) * to.ld + first), gt_shift(own[i], next, shift[i]));
        }
    }
};

// Squares that a block transposes in shared memory, so that they arrive in pieces of 16 bytes wherever they began.
struct gt_square_copy {
    static constexpr int SIDE = 64, PITCH = SIDE + 1, ABREAST = GT_COPY_WARPS * 32 / SIDE; // lines that are read at once
    gt_int lines, length; // of the operand as it is stored

    __device__ __forceinline__ unsigned wide() const { return (unsigned)((lines + SIDE - 1) / SIDE); }
    __device__ __forceinline__ gt_int blocks() const { return wide() * ((length + SIDE - 1) / SIDE); }
    __device__ __forceinline__ void copy(gt_operand to, const GT_AB *from, gt_int ld, gt_int block) const
    {
        __shared__ GT_AB square[SIDE * PITCH];
        const gt_int line_first = block % wide() * SIDE, along_first = block / wide() * SIDE;
        const int line_left = gt_clip(lines - line_first, SIDE), along_left = gt_clip(length - along_first, SIDE);
        GT_AB held[SIDE / ABREAST] = {};
        int along = threadIdx.x % SIDE, line = threadIdx.x / SIDE;
        from += line_first * ld + along_first;
#pragma unroll
        for (int i = 0; i < SIDE; i += ABREAST)
            if (line + i < line_left && along < along_left)
                held[i / ABREAST] = from[(line + i) * ld + along];
        __syncthreads(); // the square before this one has been read
#pragma unroll
        for (int i = 0; i < SIDE; i += ABREAST)
            square[(line + i) * PITCH + along] = held[i / ABREAST];
        __syncthreads();
        constexpr int OF_LINE = SIDE / GT_PIECE; // pieces
        line = threadIdx.x % OF_LINE * GT_PIECE, along = threadIdx.x / OF_LINE;
#pragma unroll
        for (int i = 0; i < SIDE; i += GT_COPY_WARPS * 32 / OF_LINE) {
            gt_vector<GT_AB, GT_PIECE> piece;
#pragma unroll
            for (int e = 0; e < GT_PIECE; e++)
                piece.e[e] = square[(line + e) * PITCH + along + i];
            const gt_int place = (along_first + along + i) * to.ld + line_first + line;
            if (along + i < along_left && line < line_left) // the last piece may reach into the padding
                gt_store_vector(const_cast<GT_AB *>(to.at + place), piece);
        }
    }
};

// How an operand is copied: by its lines where they stay lines.
template <bool SAME> struct gt_copy_of {
    typedef gt_line_copy type;
};
template <> struct gt_copy_of<false> {
    typedef gt_square_copy type;
};

// The kernel that makes the copies. Its blocks deal out among them what is to be copied of A, then of B.
extern "C" __global__ void __launch_bounds__(GT_COPY_WARPS * 32) repack(const __grid_constant__ gt_args g)
{
    const gt_copy_of<GT_OPERAND_A_ALONG_K == GT_A_ALONG_K>::type a = {GT_TRANS_A ? g.k : g.m, GT_TRANS_A ? g.m : g.k};
    const gt_copy_of<GT_OPERAND_B_ALONG_K == GT_B_ALONG_K>::type b = {GT_TRANS_B ? g.n : g.k, GT_TRANS_B ? g.k : g.n};
    const gt_int of_a = GT_COPY_A ? a.blocks() : 0, all = of_a + (GT_COPY_B ? b.blocks() : 0);
    asm volatile("" ::"l"(of_a), "l"(all)); // known before the wait
    gt_begin();
    for (gt_int number = blockIdx.x; number < all; number += gridDim.x)
        if (GT_COPY_A && number < of_a)
            a.copy(gt_operand_a(g), g.a + blockIdx.z * g.stride_a, g.lda, number);
        else
            b.copy(gt_operand_b(g), g.b + blockIdx.z * g.stride_b, g.ldb, number - of_a);
}
#endif

#endif
