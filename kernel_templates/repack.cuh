// Operands that are copied first: a kernel that runs before the product copies op(A), op(B) or both into the workspace,
// aligned, and contiguous along m and n or as they are stored. A family that offers the parameter `repack` takes its
// operands and its workspace from here.
#ifndef GT_REPACK_CUH
#define GT_REPACK_CUH

#include "gemm.cuh"
#include "dependent_launch.cuh"

// 1: op(A) is first copied into the workspace, a line for each k-step; 2: op(B); 3: both; 0: neither; 4 more: the lines
// of copies are those of the operand.
#ifndef REPACK
#define REPACK 0
#endif
#define GT_COPY_A         ((REPACK & 1) != 0)
#define GT_COPY_B         ((REPACK & 2) != 0)
#define GT_COPY_AS_STORED ((REPACK & 4) != 0)

// Whether the product's kernel reads op(A) and op(B) contiguous along K.
#define GT_OPERAND_A_ALONG_K (GT_A_ALONG_K && (!GT_COPY_A || GT_COPY_AS_STORED))
#define GT_OPERAND_B_ALONG_K (GT_B_ALONG_K && (!GT_COPY_B || GT_COPY_AS_STORED))

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
#if GT_COPY_AS_STORED
// Sixteen bytes of a line, and those of two neighbours from byte `shift` of the first on.
struct __align__(16) gt_sixteen
{
    unsigned word[4];
};
__device__ __forceinline__ gt_sixteen gt_shift(gt_sixteen low, gt_sixteen high, unsigned shift)
{
    unsigned w[8] = {low.word[0],  low.word[1],  low.word[2],  low.word[3],
                     high.word[0], high.word[1], high.word[2], high.word[3]};
#pragma unroll
    for (int i = 0; i < 6; i++)
        w[i] = shift & 8 ? w[i + 2] : w[i];
#pragma unroll
    for (int i = 0; i < 5; i++)
        w[i] = shift & 4 ? w[i + 1] : w[i];
    gt_sixteen result;
#pragma unroll
    for (int i = 0; i < 4; i++)
        result.word[i] = __funnelshift_r(w[i], w[i + 1], shift % 4 * 8);
    return result;
}

// The kernel that makes the copies. A warp reads sixteen bytes a lane as they are aligned in memory, and each lane but
// the last makes of its own and its neighbour's what is aligned in the line.
__device__ __forceinline__ void gt_copy_lines(gt_operand to, const GT_AB *from, gt_int ld, gt_int lines, gt_int length)
{
    constexpr int PIECE = 16 / GT_AB_BYTES, PIECES = 31; // elements of a piece, pieces of a warp
    const int lane = threadIdx.x % 32;
    const unsigned spans = (unsigned)((length + PIECES * PIECE - 1) / (PIECES * PIECE));
    const gt_int all = lines * spans;
    for (gt_int number = blockIdx.x * 8 + threadIdx.x / 32; number < all; number += gridDim.x * 8) {
        const GT_AB *line = from + number / spans * ld;
        const unsigned shift = (unsigned long long)line % 16;
        const gt_int first = (gt_int)(number % spans) * (PIECES * PIECE) + lane * PIECE, // of the copy
            read = first - (int)(shift / GT_AB_BYTES);
        gt_sixteen own = {};
        if (read >= 0 && read + PIECE <= length) {
            own = *(const gt_sixteen *)(line + read);
        } else {
            gt_vector<GT_AB, PIECE> few = {};
#pragma unroll
            for (int e = 0; e < PIECE; e++)
                if (read + e >= 0 && read + e < length)
                    few.e[e] = line[read + e];
            own = *(const gt_sixteen *)&few;
        }
        gt_sixteen next;
#pragma unroll
        for (int i = 0; i < 4; i++)
            next.word[i] = __shfl_down_sync(~0u, own.word[i], 1);
        if (lane < PIECES && first < length) // the last piece may reach into the padding
            *(gt_sixteen *)const_cast<GT_AB *>(to.at + number / spans * to.ld + first) = gt_shift(own, next, shift);
    }
}
extern "C" __global__ void __launch_bounds__(256) repack(const __grid_constant__ gt_args g)
{
    gt_begin();
    if (GT_COPY_A)
        gt_copy_lines(gt_operand_a(g), g.a + blockIdx.z * g.stride_a, g.lda, GT_TRANS_A ? g.k : g.m,
                      GT_TRANS_A ? g.m : g.k);
    if (GT_COPY_B)
        gt_copy_lines(gt_operand_b(g), g.b + blockIdx.z * g.stride_b, g.ldb, GT_TRANS_B ? g.n : g.k,
                      GT_TRANS_B ? g.k : g.n);
}
#else
// The kernel that makes the copies: squares are dealt out to blocks, those of op(A) first. They go through shared
// memory, where what is contiguous along K is transposed, so that they arrive in pieces of 16 bytes wherever they
// began.
constexpr int GT_SQUARE = 64, GT_PIECE = 16 / GT_AB_BYTES;
constexpr int GT_ABREAST = 256 / GT_SQUARE; // lines that the 256 threads of a block read at once
template <bool ALONG_K>
__device__ __forceinline__ void gt_copy_square(gt_operand to, const GT_AB *from, gt_int ld, gt_int outer, gt_int k,
                                               unsigned number, GT_AB *square)
{
    constexpr int PITCH = GT_SQUARE + (ALONG_K ? 1 : GT_PIECE);
    const unsigned wide = (unsigned)((outer + GT_SQUARE - 1) / GT_SQUARE);
    const gt_int outer_first = (gt_int)(number % wide) * GT_SQUARE, k_first = (gt_int)(number / wide) * GT_SQUARE;
    const int outer_left = gt_clip(outer - outer_first, GT_SQUARE), k_left = gt_clip(k - k_first, GT_SQUARE);
    from += ALONG_K ? outer_first * ld + k_first : k_first * ld + outer_first;
    GT_AB held[GT_SQUARE / GT_ABREAST] = {};
    int along = threadIdx.x % GT_SQUARE, line = threadIdx.x / GT_SQUARE;
#pragma unroll
    for (int i = 0; i < GT_SQUARE; i += GT_ABREAST)
        if (line + i < (ALONG_K ? outer_left : k_left) && along < (ALONG_K ? k_left : outer_left))
            held[i / GT_ABREAST] = from[(line + i) * ld + along];
    __syncthreads(); // the square before this one has been read
#pragma unroll
    for (int i = 0; i < GT_SQUARE; i += GT_ABREAST)
        square[(line + i) * PITCH + along] = held[i / GT_ABREAST];
    __syncthreads();
    constexpr int OF_LINE = GT_SQUARE / GT_PIECE; // pieces
    along = threadIdx.x % OF_LINE * GT_PIECE, line = threadIdx.x / OF_LINE;
#pragma unroll
    for (int i = 0; i < GT_SQUARE; i += 256 / OF_LINE) {
        gt_vector<GT_AB, GT_PIECE> piece;
        if (ALONG_K) {
#pragma unroll
            for (int e = 0; e < GT_PIECE; e++)
                piece.e[e] = square[(along + e) * PITCH + line + i];
        } else {
            piece = *(const gt_vector<GT_AB, GT_PIECE> *)&square[(line + i) * PITCH + along];
        }
        const gt_int place = (k_first + line + i) * to.ld + outer_first + along;
        if (line + i < k_left && along < outer_left) // the last piece may reach into the padding
            *(gt_vector<GT_AB, GT_PIECE> *)const_cast<GT_AB *>(to.at + place) = piece;
    }
}
extern "C" __global__ void __launch_bounds__(256) repack(const __grid_constant__ gt_args g)
{
    __shared__ __align__(16) GT_AB square[GT_SQUARE * (GT_SQUARE + GT_PIECE)];
    gt_begin();
    const unsigned along_k = (unsigned)((g.k + GT_SQUARE - 1) / GT_SQUARE);
    const unsigned of_a = GT_COPY_A ? along_k * (unsigned)((g.m + GT_SQUARE - 1) / GT_SQUARE) : 0;
    const unsigned of_b = GT_COPY_B ? along_k * (unsigned)((g.n + GT_SQUARE - 1) / GT_SQUARE) : 0;
    for (unsigned number = blockIdx.x; number < of_a + of_b; number += gridDim.x)
        if (number < of_a)
            gt_copy_square<!GT_TRANS_A>(gt_operand_a(g), g.a + blockIdx.z * g.stride_a, g.lda, g.m, g.k, number,
                                        square);
        else
            gt_copy_square<GT_TRANS_B>(gt_operand_b(g), g.b + blockIdx.z * g.stride_b, g.ldb, g.n, g.k, number - of_a,
                                       square);
}
#endif
#endif

#endif
