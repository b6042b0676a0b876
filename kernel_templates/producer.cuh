// The producers of a warp-specialised block: they copy tiles of op(A) and op(B) from global memory into the ring.
// Included by warp_specialised.cuh, after the tunables.
//
// Needs: BM, BN, BK, KMAJOR, CONSUMERS, PRODUCERS, struct place and struct ring.
// Offers: operand_a and operand_b, how each operand lies in a stage (K_MAJOR, PAIRED, PITCH, ELEMENTS), with KEEPS_B,
// which of them stays in the main loop; STAGE, the bytes of a stage; produce_tile.
#ifndef GT_PRODUCER_CUH
#define GT_PRODUCER_CUH

// Which operand stays while the other one moves: op(A), unless op(B) is K-major in its stage and op(A) is not.
constexpr bool KEEPS_B = KMAJOR == 1 && GT_OPERAND_B_ALONG_K && !GT_OPERAND_A_ALONG_K;

// Where a tile lies: inside the matrix, at its last rows or columns, or at the end of K.
enum where { INSIDE, AT_EDGE, AT_END };

// One operand's way into a stage: copies in the background, of 16 bytes where the matrix is aligned. In a stage it lies
// as [BK][OUTER] whatever its layout in global memory: where that is K-major it is transposed, by copies of single
// elements. (Nothing transposes it for less: on the way through registers, or through a place in shared memory, it
// takes of the bandwidth of shared memory, which the consumers need.) Or it stays K-major, [OUTER][BK], and is read
// four k-steps at a time. Or it goes between the two, by copies of two elements to [BK / 2][OUTER][2].
template <int OUTER, bool ALONG_K, bool COPY, bool STAYS> struct operand {
    static constexpr bool K_MAJOR = KMAJOR == 1 && ALONG_K && STAYS, PAIRED = KMAJOR == 2 && ALONG_K && STAYS;
    static constexpr bool TRANSPOSED = ALONG_K && !K_MAJOR;
    // Elements that go together.
    static constexpr int MOST = COPY ? 16 / GT_AB_BYTES : GT_WIDE_AB;
    static constexpr int VEC = !TRANSPOSED ? MOST : PAIRED && MOST > 1 ? 2 : 1;
    // Lines of a transposed or K-major stage are shifted against each other, so that copies side by side go to all
    // banks.
    static constexpr int PITCH = K_MAJOR ? BK + 4 : PAIRED ? 2 * OUTER + 8 / VEC : OUTER + (TRANSPOSED ? 4 : 0);
    static constexpr int ELEMENTS = (K_MAJOR ? OUTER : PAIRED ? BK / 2 : BK) * PITCH;
    // A line is what is contiguous in global memory. Producers side by side: as many as divide it; where it is
    // transposed eight, or else they would meet in the same banks.
    static constexpr int LENGTH = ALONG_K ? BK : OUTER, LINES = ALONG_K ? OUTER : BK;
    static constexpr int FILL = LENGTH / VEC & -(LENGTH / VEC), ROOM = TRANSPOSED ? 8 : PRODUCERS; // powers of two
    static constexpr int ABREAST = FILL < ROOM ? FILL : ROOM;
    static constexpr int PASS = PRODUCERS / ABREAST; // lines that the producers take at once
    static constexpr int COUNT = LINES / PASS * (LENGTH / VEC / ABREAST);
    static_assert(LINES % PASS == 0, "whole passes");

    // Where an element of a line lies in a stage.
    static constexpr __device__ int place_of(int line, int along)
    {
        return PAIRED       ? along / 2 * PITCH + line * 2 + along % 2
               : TRANSPOSED ? along * PITCH + line
                            : line * PITCH + along;
    }

    const GT_AB *from; // this producer's first element of the next tile
    gt_int ld;
    int outer_left; // rows or columns inside the matrix, from this producer's first on

    static __device__ __forceinline__ int along()
    {
        return (threadIdx.x - CONSUMERS) % ABREAST * VEC;
    }
    static __device__ __forceinline__ int line()
    {
        return (threadIdx.x - CONSUMERS) / ABREAST;
    }

    __device__ __forceinline__ void aim(gt_operand matrix, gt_int outer_first, gt_int outer_end, gt_int k_first)
    {
        const int left = gt_clip(outer_end - outer_first, OUTER);
        ld = matrix.ld;
        from = matrix.at + along() +
               (ALONG_K ? (outer_first + (line() < left ? line() : left - 1)) * ld + k_first
                        : (k_first + line()) * ld + outer_first);
        outer_left = left - (ALONG_K ? line() : along());
    }

    // The n-th vector of a producer: on which line and where along it, from its first on.
    static constexpr __device__ int lines(int n)
    {
        return n / (LENGTH / VEC / ABREAST) * PASS;
    }
    static constexpr __device__ int steps(int n)
    {
        return n % (LENGTH / VEC / ABREAST) * ABREAST * VEC;
    }

    // How many of its elements are to be read; zeros stand for the others. Beyond the last row, or column, of what
    // is contiguous along K anything may stand: it goes into sums that nobody stores.
    template <where TILE> __device__ __forceinline__ int inside(int n, int k_left) const
    {
        const int outer = outer_left - (ALONG_K ? lines(n) : steps(n)),
                  k = k_left - (ALONG_K ? steps(n) : lines(n));
        const int room = ALONG_K ? k : outer;
        if (TILE == INSIDE || (TILE == AT_EDGE && ALONG_K))
            return VEC;
        return outer <= 0 || (TILE == AT_END && k <= 0) ? 0 : room < VEC ? room : VEC;
    }

    // Copies the next tile, of which k_count steps lie in the matrix, to its stage.
    template <where TILE> __device__ __forceinline__ void copy(unsigned stage, int k_count)
    {
        const unsigned to = stage + place_of(line(), along()) * GT_AB_BYTES;
        const int k_left = k_count - (ALONG_K ? along() : line());
        const GT_AB *row = from;
#pragma unroll(VEC > 1 || TILE != AT_END ? COUNT : 4) // single elements with their questions: registers are few
        for (int n = 0; n < COUNT; n++) {
            gt_copy_async<VEC * GT_AB_BYTES>(to + place_of(lines(n), steps(n)) * GT_AB_BYTES, row + steps(n),
                                             inside<TILE>(n, k_left) * GT_AB_BYTES);
            // At the edge a line beyond the last is the last again.
            if (lines(n + 1) != lines(n) && (TILE != AT_EDGE || !ALONG_K || lines(n + 1) < outer_left))
                row += PASS * ld;
        }
        from += ALONG_K ? (gt_int)BK : BK * ld;
    }
};

typedef operand<BM, GT_OPERAND_A_ALONG_K, GT_COPY_A, !KEEPS_B> operand_a;
typedef operand<BN, GT_OPERAND_B_ALONG_K, GT_COPY_B, KEEPS_B> operand_b;
constexpr int STAGE = (operand_a::ELEMENTS + operand_b::ELEMENTS) * GT_AB_BYTES; // bytes

template <where TILE>
__device__ __forceinline__ void fill_stage(operand_a &a, operand_b &b, unsigned stage, int k_count)
{
    a.template copy<TILE>(stage, k_count);
    b.template copy<TILE>(stage + operand_a::ELEMENTS * GT_AB_BYTES, k_count);
}

// Fills stages with the steps of BK from first to end of a tile, as they become empty.
__device__ __forceinline__ void produce_tile(const gt_args &g, const ring &r, gt_tile tile, gt_int first, gt_int end,
                                             place &at)
{
    const gt_int row = tile.row * BM, column = tile.column * BN;
    const bool edge = g.m - row < BM || g.n - column < BN;
    operand_a a;
    operand_b b;
    a.aim(gt_operand_a(g), row, g.m, first * BK);
    b.aim(gt_operand_b(g), column, g.n, first * BK);
    gt_begin();
    gt_int k_left = g.k - first * BK;
    for (int left = (int)(end - first); left > 0; left--, k_left -= BK) {
        const unsigned stage = r.stages + at.stage * STAGE;
        gt_mbarrier_wait(r.empty + at.stage * GT_MBARRIER_BYTES, at.phase);
        if (k_left < BK)
            fill_stage<AT_END>(a, b, stage, (int)k_left);
        else if (edge)
            fill_stage<AT_EDGE>(a, b, stage, BK);
        else
            fill_stage<INSIDE>(a, b, stage, BK);
        gt_mbarrier_arrive_after_copies(r.full + at.stage * GT_MBARRIER_BYTES);
        at.advance();
    }
}

#endif
