// How a tile of an operand lies in a stage: lines, swizzled by the copy engine, along K or along M or N as in global memory.
// Lines along K: a box of SIDE lines for every LINE elements of K. Lines along M or N: a box of BK lines for every LINE
// elements of the side. A line has 128 bytes, or along M or N, where lines of 128 would reach beyond the side, 64 or 32.
#ifndef GT_WGMMA_OPERAND_CUH
#define GT_WGMMA_OPERAND_CUH

#include "tensor_copy.cuh"
#include "wgmma_instruction.cuh"

// Equal parts, at most so many, of whole groups of eight lines: swizzled as all of them are.
__device__ constexpr int line_parts(int lines, int most)
{
    return lines % (8 * most) == 0 ? most : line_parts(lines, most - 1);
}

// PARTS blocks of a cluster need the same tile and ask for a part each: for some of its boxes or, of each, some lines. Where
// lines make fewer parts the last blocks ask for nothing. SHORT: lines of any side may be shorter than 128 bytes.
template <int SIDE, bool ALONG_K_, int PARTS, bool SHORT> struct operand_tile {
    static constexpr bool ALONG_K = ALONG_K_;
    static constexpr int SIDE_BYTES = SIDE * GT_AB_BYTES;
    static constexpr int HELD_BYTES = // at most, of a line
        !ALONG_K && (SIDE_BYTES == 32 || SIDE_BYTES == 64 || (SHORT && SIDE_BYTES % 128 == 64)) ? SIDE_BYTES % 128 : 128;
    static constexpr int LINE_BYTES = SHORT ? HELD_BYTES : 128;
    static constexpr int LINE = LINE_BYTES / GT_AB_BYTES;
    static constexpr int BOXES = ALONG_K ? BK / LINE : (SIDE + LINE - 1) / LINE, LINES = ALONG_K ? SIDE : BK;
    static constexpr bool WHOLE = !ALONG_K && BOXES % PARTS == 0; // boxes
    static constexpr int ASKING = WHOLE ? PARTS : line_parts(LINES, PARTS); // blocks
    static constexpr int BOX_ROWS = WHOLE ? LINES : LINES / ASKING, BOX_COLUMNS = LINE;
    static constexpr int BOX_BYTES = LINES * LINE_BYTES, BYTES = BOXES * BOX_BYTES;

    // Starts the copies of this block's part. The blocks that it is for: from `first` of the cluster on, every
    // `apart`-th. A block's own copies may have a policy of L2.
    template <bool HAS_POLICY = false>
    __device__ __forceinline__ static void copy(unsigned to, const gt_tensor_map &map, int outer, int k, unsigned full,
                                                unsigned part, unsigned first, unsigned apart,
                                                unsigned long long policy = 0)
    {
        static_assert(!HAS_POLICY || PARTS == 1, "a block's own copies");
        if (ASKING < PARTS && part >= ASKING)
            return;
#pragma unroll
        for (int i = 0; i < (WHOLE ? BOXES / PARTS : BOXES); i++) {
            const int box = WHOLE ? i * PARTS + (int)part : i, line = WHOLE ? 0 : (int)part * BOX_ROWS;
            const unsigned place = to + box * BOX_BYTES + line * LINE_BYTES;
            const int column = (ALONG_K ? k : outer) + box * LINE, row = (ALONG_K ? outer : k) + line;
            if (HAS_POLICY) {
                gt_copy_box(place, map, column, row, full, policy);
            } else if (PARTS == 1) {
                gt_copy_box(place, map, column, row, full);
            } else {
                unsigned mask = 0;
#pragma unroll
                for (int other = 0; other < PARTS; other++)
                    mask |= 1u << (first + other * apart);
                gt_multicast_box(place, map, column, row, full, (unsigned short)mask);
            }
        }
    }

    // What tells an instruction where the tile lies, and how much further its part does that begins at `outer` along
    // the side and at k.
    __device__ __forceinline__ static unsigned long long descriptor(unsigned tile)
    {
        return line_descriptor<LINE_BYTES>(tile, BOX_BYTES);
    }
    __device__ __forceinline__ static constexpr unsigned further(int outer, int k)
    {
        return ((ALONG_K ? k / LINE * BOX_BYTES + k % LINE * GT_AB_BYTES + outer * 128
                         : k * LINE_BYTES + outer / LINE * BOX_BYTES)) /
               GT_DESCRIPTOR_UNIT;
    }
};

// Elements that lie along M or N and are not of 16 bits go through registers, as the instruction's A. Two instructions
// share 128 of them: a thread reads four neighbours of a line, and two are each one's. So rows are in another order
// than elements in the tile.
//
// Where among the 128 a thread's row of the warp's sixteen lies: of instruction 0 or 1, its first row or the one eight
// below. Lanes that read together take chunks of 16 bytes that are four apart, or in other lines.
__device__ __forceinline__ int fragment_chunk()
{
    return threadIdx.x % 128 / 32 * 8 + threadIdx.x / 4 % 2 * 4 + threadIdx.x / 8 % 4;
}
__device__ __forceinline__ int fragment_row(int instruction, int below)
{
    return fragment_chunk() * 4 + instruction * 2 + below;
}

// The fragments of two instructions, for elements k and on of a tile's K; `tile` is where the first of the 128 lie.
__device__ __forceinline__ void load_fragments(unsigned (&a)[2][4], const char *tile, int box_bytes, int k)
{
    const int lane = threadIdx.x % 32, chunk = fragment_chunk();
    if constexpr (GT_AB_BYTES == 4) { // a chunk is four elements of a line of 32
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int line = k + half * 4 + lane % 4;
            const gt_vector<unsigned, 4> four =
                *(const gt_vector<unsigned, 4> *)(tile + chunk / 8 * box_bytes + line * 128 +
                                                  (chunk % 8 ^ line % 8) * 16);
#pragma unroll
            for (int e = 0; e < 4; e++)
                a[e / 2][half * 2 + e % 2] = four.e[e];
        }
    } else { // a word is four elements of a line of 128; four lines, the four neighbours along K, are transposed
#pragma unroll
        for (int half = 0; half < 2; half++) {
            unsigned word[4];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const int line = k + half * 16 + lane % 4 * 4 + j;
                word[j] = *(const unsigned *)(tile + line * 128 + (chunk / 4 ^ line % 8) * 16 + chunk % 4 * 4);
            }
            const unsigned low01 = __byte_perm(word[0], word[1], 0x5140), low23 = __byte_perm(word[2], word[3], 0x5140),
                           high01 = __byte_perm(word[0], word[1], 0x7362),
                           high23 = __byte_perm(word[2], word[3], 0x7362);
            a[0][half * 2] = __byte_perm(low01, low23, 0x5410);
            a[0][half * 2 + 1] = __byte_perm(low01, low23, 0x7632);
            a[1][half * 2] = __byte_perm(high01, high23, 0x5410);
            a[1][half * 2 + 1] = __byte_perm(high01, high23, 0x7632);
        }
    }
}

#endif
