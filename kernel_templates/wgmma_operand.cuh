// How a tile of an operand lies in a stage: lines of 128 bytes, swizzled by the copy engine, along K or along M or N as
// in global memory. Lines along K: a box of SIDE lines for every LINE elements of K. Lines along M or N: a box of BK
// lines for every LINE elements of the side.
#ifndef GT_WGMMA_OPERAND_CUH
#define GT_WGMMA_OPERAND_CUH

#include "tensor_copy.cuh"
#include "wgmma_instruction.cuh"

// PARTS blocks of a cluster need the same tile and ask for a part each.
template <int SIDE, bool ALONG_K_, int PARTS> struct operand_tile {
    static constexpr bool ALONG_K = ALONG_K_;
    static constexpr int BOXES = ALONG_K ? BK / LINE : (SIDE + LINE - 1) / LINE;
    static constexpr int BOX_ROWS = ALONG_K ? SIDE / PARTS : BK, BOX_COLUMNS = LINE;
    static constexpr int BOX_BYTES = (ALONG_K ? SIDE : BK) * 128, BYTES = BOXES * BOX_BYTES;
    static_assert(ALONG_K || GT_AB_BYTES == 2, "only elements of 16 bits may lie along M or N");
    static_assert(PARTS == 1 || (ALONG_K ? SIDE % (PARTS * 8) == 0 : BOXES % PARTS == 0), "equal parts");

    // Starts the copies of this block's part. The blocks that it is for: from `first` of the cluster on, every
    // `apart`-th.
    __device__ __forceinline__ static void copy(unsigned to, const gt_tensor_map &map, int outer, int k, unsigned full,
                                                unsigned part, unsigned first, unsigned apart)
    {
#pragma unroll
        for (int i = 0; i < (ALONG_K ? BOXES : BOXES / PARTS); i++) {
            const int box = ALONG_K ? i : i * PARTS + (int)part, line = ALONG_K ? (int)part * BOX_ROWS : 0;
            const unsigned place = to + box * BOX_BYTES + line * 128;
            const int column = ALONG_K ? k + box * LINE : outer + box * LINE, row = ALONG_K ? outer + line : k;
            if (PARTS == 1) {
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

    // What tells an instruction where the tile lies, and how much further its part does that begins at `outer` along the
    // side and at k.
    __device__ __forceinline__ static unsigned long long descriptor(unsigned tile)
    {
        return line_descriptor(tile, BOX_BYTES);
    }
    __device__ __forceinline__ static constexpr unsigned further(int outer, int k)
    {
        return ((ALONG_K ? k / LINE * BOX_BYTES + k % LINE * GT_AB_BYTES + outer * 128
                         : k * 128 + outer / LINE * BOX_BYTES)) /
               GT_DESCRIPTOR_UNIT;
    }
};

#endif
