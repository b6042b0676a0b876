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

// Lines of `length` elements that stay lines. A warp copies SPAN elements of AT_ONCE of them, all of which it reads
// before it writes: what it takes to find its place is shared, and so is the wait.
template <int SPAN> struct gt_lines {
    static constexpr int AT_ONCE = 4;
    gt_int lines, length;

    __device__ __forceinline__ unsigned spans() const { return (unsigned)((length + SPAN - 1) / SPAN); }
    __device__ __forceinline__ unsigned blocks() const
    {
        return (unsigned)(((lines + AT_ONCE - 1) / AT_ONCE * spans() + GT_COPY_WARPS - 1) / GT_COPY_WARPS);
    }
    // The first line of a warp, and its first element in each.
    __device__ __forceinline__ void find(unsigned block, gt_int &line, gt_int &first) const
    {
        const unsigned number = block * GT_COPY_WARPS + threadIdx.x / 32, bundle = number / spans();
        line = (gt_int)bundle * AT_ONCE;
        first = (gt_int)(number - bundle * spans()) * SPAN;
    }
};

#if GT_ACCESS >= 4
// Lines that begin at words, or at more, are read and written as they are aligned. That takes a quarter of the
// instructions of pieces which have to be shifted: with those, bf16's 3000x700x1300 took 16.8 us on an H200, so 15.2.
// Twice as many lines at once took 16.1.
struct gt_line_copy : gt_lines<512 / GT_AB_BYTES> {
#if GT_ACCESS == 4
    typedef unsigned word;
#else
    typedef unsigned long long word; // of two words the compiler would make two accesses
#endif
    static constexpr int WIDTH = GT_WIDE_AB, EACH = 16 / GT_ACCESS; // elements of an access, accesses to a line

    __device__ __forceinline__ void copy(gt_operand to, const GT_AB *from, gt_int ld, unsigned block) const
    {
        const unsigned lane = threadIdx.x % 32;
        gt_int at, first;
        find(block, at, first);
        const int across = gt_clip(lines - at, AT_ONCE), along = gt_clip(length - first, EACH * 32 * WIDTH);
        const int whole = along / WIDTH * WIDTH; // elements of whole vectors
        typedef gt_vector<word, GT_ACCESS / (int)sizeof(word)> vector;
        vector held[AT_ONCE][EACH];
        from += at * ld + first;
        GT_AB *const into = const_cast<GT_AB *>(to.at) + at * to.ld + first;
        const GT_AB *read = from + lane * WIDTH;
        GT_AB *written = into + lane * WIDTH;
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++, read += ld)
#pragma unroll
            for (int j = 0; j < EACH; j++)
                if (i < across && (j * 32 + (int)lane) * WIDTH < whole)
                    held[i][j] = *(const vector *)(read + j * 32 * WIDTH);
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++, written += to.ld)
#pragma unroll
            for (int j = 0; j < EACH; j++)
                if (i < across && (j * 32 + (int)lane) * WIDTH < whole)
                    gt_store_vector((word *)(written + j * 32 * WIDTH), held[i][j]);
        constexpr int SHARE = 32 / AT_ONCE; // lanes that copy what is left of a line, less than a vector
        const int line = lane / SHARE;
        if (line < across)
#pragma unroll 1
            for (int element = whole + lane % SHARE; element < along; element += SHARE)
                into[line * to.ld + element] = from[line * ld + element];
    }
};
#else
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

// Others in pieces: a lane reads sixteen bytes as they are aligned in memory, and each lane but the last makes of its
// own and its neighbour's what is aligned in the copy.
struct gt_line_copy : gt_lines<31 * GT_PIECE> {
    // Where the piece that an element lies in begins, and how many bytes before it.
    static __device__ __forceinline__ unsigned shift_of(const GT_AB *element)
    {
        return (unsigned)(unsigned long long)element % 16;
    }
    static __device__ __forceinline__ const GT_AB *piece_of(const GT_AB *element)
    {
        return element - shift_of(element) / GT_AB_BYTES;
    }
    // What may be read of a piece that reaches beyond the elements from `begin` to `end`; zeros stand for the rest.
    static __device__ __forceinline__ gt_sixteen read_some(const GT_AB *piece, const GT_AB *begin, const GT_AB *end)
    {
        gt_vector<GT_AB, GT_PIECE> some = {};
#pragma unroll
        for (int e = 0; e < GT_PIECE; e++)
            if (piece + e >= begin && piece + e < end)
                some.e[e] = piece[e];
        return *(const gt_sixteen *)&some;
    }

    __device__ __forceinline__ void copy(gt_operand to, const GT_AB *from, gt_int ld, unsigned block) const
    {
        const unsigned lane = threadIdx.x % 32;
        gt_int at, first;
        find(block, at, first);
        first += lane * GT_PIECE;
        const int across = gt_clip(lines - at, AT_ONCE);
        const GT_AB *const line = from + at * ld, *const element = line + first;
        // Where nothing lies between lines pieces at their ends are read as others are, within the matrix: what is the
        // next line's comes into the padding.
        const bool packed = ld == length;
        const bool begins = packed ? piece_of(element) >= from : first > 0;
        const bool ends = packed ? piece_of(element + (AT_ONCE - 1) * ld) + GT_PIECE <= from + lines * ld
                                 : first + GT_PIECE <= length;
        gt_sixteen own[AT_ONCE] = {}, next;
        if (first < length + GT_PIECE) {
            if (across == AT_ONCE && begins && ends) {
#pragma unroll
                for (int i = 0; i < AT_ONCE; i++)
                    own[i] = *(const gt_sixteen *)piece_of(element + i * ld);
            } else {
#pragma unroll
                for (int i = 0; i < AT_ONCE; i++)
                    own[i] = read_some(piece_of(element + i * ld), line + i * ld,
                                       line + i * ld + (i < across ? length : 0));
            }
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
#pragma unroll
            for (int w = 0; w < 4; w++)
                next.e[w] = __shfl_down_sync(~0u, own[i].e[w], 1);
            if (i < across && lane < 31 && first < length) // the last piece may reach into the padding
                gt_store_vector((unsigned *)(to.at + (at + i) * to.ld + first),
                                gt_shift(own[i], next, shift_of(element + i * ld)));
        }
    }
};
#endif

// Squares that a block transposes in shared memory, so that they arrive in pieces of 16 bytes wherever they began.
struct gt_square_copy {
    static constexpr int SIDE = 64, PITCH = SIDE + 1, ABREAST = GT_COPY_WARPS * 32 / SIDE; // lines that are read at once
    gt_int lines, length; // of the operand as it is stored

    __device__ __forceinline__ unsigned wide() const { return (unsigned)((lines + SIDE - 1) / SIDE); }
    __device__ __forceinline__ unsigned blocks() const { return wide() * (unsigned)((length + SIDE - 1) / SIDE); }
    __device__ __forceinline__ void copy(gt_operand to, const GT_AB *from, gt_int ld, unsigned block) const
    {
        __shared__ GT_AB square[SIDE * PITCH];
        const gt_int line_first = (gt_int)(block % wide()) * SIDE, along_first = (gt_int)(block / wide()) * SIDE;
        const int line_left = gt_clip(lines - line_first, SIDE), along_left = gt_clip(length - along_first, SIDE);
        GT_AB held[SIDE / ABREAST] = {};
        int along = threadIdx.x % SIDE, line = threadIdx.x / SIDE;
        from += (line_first + line) * ld + along_first + along;
#pragma unroll
        for (int i = 0; i < SIDE; i += ABREAST, from += ABREAST * ld)
            if (line + i < line_left && along < along_left)
                held[i / ABREAST] = *from;
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
    const unsigned of_a = GT_COPY_A ? a.blocks() : 0, all = of_a + (GT_COPY_B ? b.blocks() : 0);
    asm volatile("" ::"r"(of_a), "r"(all)); // known before the wait
    gt_begin();
    for (unsigned number = blockIdx.x; number < all; number += gridDim.x)
        if (GT_COPY_A && number < of_a)
            a.copy(gt_operand_a(g), g.a + blockIdx.z * g.stride_a, g.lda, number);
        else
            b.copy(gt_operand_b(g), g.b + blockIdx.z * g.stride_b, g.ldb, number - of_a);
}
#endif

#endif
