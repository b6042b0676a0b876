// The way of fragments from a stage in shared memory to registers: ldmatrix, or plain loads where that cannot
// transpose.
//
// An operand lies in a stage as it does in global memory, lines of K-major [OUTER][BK] or M/N-major [BK][OUTER], in
// chunks of 16 bytes. Chunks of a line change places, by the line (gt_stage::twist), so that the lanes that are served
// together, reading or copying, find them in different banks.
#ifndef GT_MMA_FRAGMENT_CUH
#define GT_MMA_FRAGMENT_CUH

#include "async_copy.cuh"
#include "gemm.cuh"
#include "matrices.cuh"
#include "mma_policy.cuh"

typedef gt_mma<GT_AB> policy;
typedef policy::reg reg;
constexpr int CHUNK = 16; // bytes

// One read by a warp, of SPAN rows of op(A) or columns of op(B) and DEPTH elements of K. line and byte are where a lane
// begins to read. Rows, or columns, alternate between UNIT blocks: see gt_outer.
template <int BYTES, bool ALONG_K, bool OF_A> struct gt_reader;

// Two blocks by two parts, in the order in which an instruction takes registers that follow each other: both blocks of
// a part of op(A), both parts of a block of op(B). Any other would cost copies between registers.
template <bool OF_A, bool TRANSPOSED>
__device__ __forceinline__ void gt_read_blocks(reg (*r)[policy::PARTS], int part, unsigned from)
{
    unsigned m[4];
    gt_read_matrices<TRANSPOSED>(m, from);
#pragma unroll
    for (int i = 0; i < 4; i++)
        r[OF_A ? i % 2 : i / 2][part + (OF_A ? i / 2 : i % 2)] = m[i];
}
// Which block and part of four matrices a lane's line belongs to.
template <bool OF_A> __device__ __forceinline__ int gt_block_of(int lane)
{
    return OF_A ? lane / 8 % 2 : lane / 16;
}
template <bool OF_A> __device__ __forceinline__ int gt_part_of(int lane)
{
    return OF_A ? lane / 16 : lane / 8 % 2;
}

// K-major elements of up to four bytes.
template <int BYTES, bool OF_A> struct gt_reader<BYTES, true, OF_A> {
    static constexpr int SPAN = 16, DEPTH = 2 * CHUNK / BYTES, PARTS = 2, UNIT = 1;
    static __device__ __forceinline__ int line(int lane)
    {
        return gt_block_of<OF_A>(lane) * 8 + lane % 8;
    }
    static __device__ __forceinline__ int byte(int lane)
    {
        return gt_part_of<OF_A>(lane) * CHUNK;
    }
    template <int LINE_BYTES>
    static __device__ __forceinline__ void read(reg (*r)[policy::PARTS], int part, unsigned from)
    {
        gt_read_blocks<OF_A, false>(r, part, from);
    }
};

// M/N-major of two bytes: the same, transposed.
template <bool OF_A> struct gt_reader<2, false, OF_A> {
    static constexpr int SPAN = 16, DEPTH = 16, PARTS = 2, UNIT = 1;
    static __device__ __forceinline__ int line(int lane)
    {
        return gt_part_of<OF_A>(lane) * 8 + lane % 8;
    }
    static __device__ __forceinline__ int byte(int lane)
    {
        return gt_block_of<OF_A>(lane) * CHUNK;
    }
    template <int LINE_BYTES>
    static __device__ __forceinline__ void read(reg (*r)[policy::PARTS], int part, unsigned from)
    {
        gt_read_blocks<OF_A, true>(r, part, from);
    }
};

// M/N-major of one byte: transposed by twos, then one by one. A part has the first two of every four lines in one
// matrix and the others in another, so that a lane has four k-steps of two neighbours, one for each block.
template <bool OF_A> struct gt_reader<1, false, OF_A> {
    static constexpr int SPAN = 16, DEPTH = 32, PARTS = 2, UNIT = 2;
    static __device__ __forceinline__ int line(int lane)
    {
        return lane / 16 * 16 + lane % 8 / 2 * 4 + lane / 8 % 2 * 2 + lane % 2;
    }
    static __device__ __forceinline__ int byte(int lane)
    {
        return 0;
    }
    template <int LINE_BYTES>
    static __device__ __forceinline__ void read(reg (*r)[policy::PARTS], int part, unsigned from)
    {
        unsigned m[4];
        gt_read_matrices<true>(m, from);
#pragma unroll
        for (int p = 0; p < 2; p++) {
            r[0][part + p] = __byte_perm(m[2 * p], m[2 * p + 1], 0x6420);
            r[1][part + p] = __byte_perm(m[2 * p], m[2 * p + 1], 0x7531);
        }
    }
};

// M/N-major of four bytes: a lane reads four neighbours, one for each block.
template <bool OF_A> struct gt_reader<4, false, OF_A> {
    static constexpr int SPAN = 32, DEPTH = 4, PARTS = 1, UNIT = 4;
    static __device__ __forceinline__ int line(int lane)
    {
        return lane % 4;
    }
    static __device__ __forceinline__ int byte(int lane)
    {
        return lane / 4 * CHUNK;
    }
    template <int LINE_BYTES>
    static __device__ __forceinline__ void read(reg (*r)[policy::PARTS], int part, unsigned from)
    {
        asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0][part]), "=r"(r[1][part]), "=r"(r[2][part]), "=r"(r[3][part])
                     : "r"(from)
                     : "memory");
    }
};

// Of eight bytes a lane reads one. Two neighbours at once would be as fast, but an instruction takes them in registers
// that do not follow each other: that cost four copies between registers for each product.
template <bool ALONG_K> struct gt_reader_of_eight {
    static constexpr int SPAN = 8, DEPTH = 4, PARTS = 1, UNIT = 1;
    static __device__ __forceinline__ int line(int lane)
    {
        return ALONG_K ? lane / 4 : lane % 4;
    }
    static __device__ __forceinline__ int byte(int lane)
    {
        return (ALONG_K ? lane % 4 : lane / 4) * 8;
    }
    template <int LINE_BYTES>
    static __device__ __forceinline__ void read(double (*r)[policy::PARTS], int part, unsigned from)
    {
        asm volatile("ld.shared.f64 %0, [%1];" : "=d"(r[0][part]) : "r"(from) : "memory");
    }
};
template <bool OF_A> struct gt_reader<8, true, OF_A> : gt_reader_of_eight<true> {};
template <bool OF_A> struct gt_reader<8, false, OF_A> : gt_reader_of_eight<false> {};

// How an operand lies in a stage.
template <int OUTER, bool ALONG_K> struct gt_stage {
    static constexpr int LINE = ALONG_K ? BK : OUTER, LINES = ALONG_K ? OUTER : BK;
    static constexpr int LINE_BYTES = LINE * GT_AB_BYTES, BYTES = LINES * LINE_BYTES;
    static_assert(LINE_BYTES % CHUNK == 0, "whole chunks");

    // What the number of a chunk is changed by in a line: lanes that are served together read as many chunks of as many
    // lines as the readers above say, and all must come from different banks.
    static __device__ __forceinline__ int twist(int line)
    {
        if (GT_AB_BYTES == 8) // two chunks of four lines
            return LINE_BYTES % 128 == 0 ? line % 4 * 2 : line / 2 % 2 * 2;
        if (GT_AB_BYTES == 4 && !ALONG_K) // two chunks of four lines
            return line % 4 * 2;
        if (GT_AB_BYTES == 1 && !ALONG_K) // a chunk of two lines in four
            line = line / 4 * 2 + line % 2;
        // A chunk of eight lines, which begin, unchanged, in `APART` places of the eight that all banks make.
        constexpr int CHUNKS = LINE_BYTES / CHUNK, POWER = CHUNKS & -CHUNKS, CHANGED = POWER < 8 ? POWER : 8;
        constexpr int APART = 8 / CHANGED;
        return line / APART % CHANGED;
    }
    static __device__ __forceinline__ int at(int line, int byte)
    {
        return line * LINE_BYTES + ((byte / CHUNK ^ twist(line)) * CHUNK | byte % CHUNK);
    }
};

// The row of op(A), or the column of op(B), that is the `inner`-th of a block, from a warp's first one on.
template <int UNIT> __device__ __forceinline__ int gt_outer(int block, int inner)
{
    return block / UNIT * (8 * UNIT) + inner * UNIT + block % UNIT;
}

// A warp's W rows or columns of an operand.
template <int OUTER, int W, bool ALONG_K, bool OF_A> struct gt_fragments {
    typedef gt_stage<OUTER, ALONG_K> stage;
    typedef gt_reader<GT_AB_BYTES, ALONG_K, OF_A> reader;
    static constexpr int UNIT = reader::UNIT, OUTER_BLOCKS = W / 8;
    static constexpr int ACROSS = W / reader::SPAN, DEEP = policy::STEP / reader::DEPTH; // reads of a k-step
    static constexpr int PLACES = ALONG_K ? BK / reader::DEPTH : ACROSS;                 // along a line
    static_assert(W % reader::SPAN == 0 && policy::STEP % reader::DEPTH == 0, "whole reads");

    typedef reg fragment[OUTER_BLOCKS][policy::PARTS];
    int place[PLACES]; // of this lane's first line

    // Lines further on lie a fixed distance from these: twist repeats with every read along K or across.
    __device__ __forceinline__ gt_fragments(int first)
    {
        const int lane = threadIdx.x % 32, line = reader::line(lane);
#pragma unroll
        for (int p = 0; p < PLACES; p++)
            place[p] = ALONG_K ? first * stage::LINE_BYTES +
                                     stage::at(line, p * reader::DEPTH * GT_AB_BYTES + reader::byte(lane))
                               : stage::at(line, (first + p * reader::SPAN) * GT_AB_BYTES + reader::byte(lane));
    }
    // What reads of a k-step have brought becomes what is multiplied.
    static __device__ __forceinline__ void convert(fragment &r, int begin = 0, int end = ACROSS)
    {
#pragma unroll
        for (int b = begin * (reader::SPAN / 8); policy::CONVERTS && b < end * (reader::SPAN / 8); b++)
#pragma unroll
            for (int p = 0; p < policy::PARTS; p++)
                r[b][p] = policy::convert(r[b][p]);
    }
    // Reads of a k-step, from the begin-th across up to the end.
    __device__ __forceinline__ void read(fragment &r, unsigned from, int step, int begin = 0, int end = ACROSS) const
    {
#pragma unroll
        for (int across = begin; across < end; across++)
#pragma unroll
            for (int d = 0; d < DEEP; d++) {
                const int deep = step * DEEP + d;
                const int lines = ALONG_K ? across * reader::SPAN : deep * reader::DEPTH;
                reader::template read<stage::LINE_BYTES>(&r[across * (reader::SPAN / 8)], d * reader::PARTS,
                                                         from + place[ALONG_K ? deep : across] +
                                                             lines * stage::LINE_BYTES);
            }
    }
};

#endif
