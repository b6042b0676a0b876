// The tiles that a block takes, and the producers that fill the ring of stages with them: a thread that asks the copy
// engine for boxes, or, where rows begin at a multiple of 4 or 8 bytes only, which the copy engine cannot read, all
// threads of the producers by cp.async, to where the copy engine would put it, swizzled as it does it.
//
// Needs: the tunables of wgmma, tile_a, tile_b, STAGE, SHARING, PRODUCERS, CONSUMERS and THREADS_.
#ifndef GT_WGMMA_PRODUCER_CUH
#define GT_WGMMA_PRODUCER_CUH

#include "async_copy.cuh"
#include "mbarrier.cuh"
#include "repack.cuh"
#include "wgmma_operand.cuh"
#include "wgmma_split_k.cuh"

constexpr int PRODUCER_REGISTERS = LOAD == 1 ? 56 : TURNS > 1 ? 24 : 40; // whole tiles of a warp group ask for many
#include "roles.cuh"
#include "wgmma_ring.cuh"
static_assert(LOAD == 2 || (SHARING == 1 && GT_ACCESS >= 4), "a block's own copies, of four bytes or more");

// This block among those of its cluster that share operands.
__device__ __forceinline__ unsigned rank_m()
{
    return SHARING == 1 ? 0 : blockIdx.x % SHARING % CLUSTER_M;
}
__device__ __forceinline__ unsigned rank_n()
{
    return SHARING == 1 ? 0 : blockIdx.x % SHARING / CLUSTER_M;
}

// The tiles of a block, and its part of their steps of K. A cluster's blocks have neighbours, some of which may lie
// outside C.
struct schedule : k_steps {
    unsigned rows, columns, clusters; // of clusters of tiles

    // Sides are of 2^31 at most, as tensor maps have it; K may be longer where threads copy.
    __device__ __forceinline__ schedule(const gt_args &g)
        : k_steps(LOAD == 2 ? ((unsigned)g.k + BK - 1) / BK : (unsigned)((g.k + BK - 1) / BK))
    {
        constexpr int M = BM * CLUSTER_M, N = BN * CLUSTER_N;
        rows = ((unsigned)g.m + M - 1) / M;
        columns = ((unsigned)g.n + N - 1) / N;
        clusters = rows * columns;
    }
    // Where a tile begins: the tiles of gt_find_tile. A division takes as long as twenty other instructions, and copies
    // wait for it: one is enough but where the last rows of clusters are fewer than GROUP.
    __device__ __forceinline__ void find(unsigned number, int &row, int &column) const
    {
        const unsigned band = rows > GROUP ? GROUP * columns : rows, quotient = number / band;
        const unsigned first = quotient * GROUP, rest = number - quotient * band;
        if (rows <= GROUP)
            place_tile(rest, quotient, row, column);
        else if (rows - first >= GROUP)
            place_tile(first + rest % GROUP, rest / GROUP, row, column);
        else
            place_tile(first + rest % (rows - first), rest / (rows - first), row, column);
    }
    __device__ __forceinline__ static void place_tile(unsigned y, unsigned x, int &row, int &column)
    {
        row = (int)(y * CLUSTER_M + rank_m()) * BM;
        column = (int)(x * CLUSTER_N + rank_n()) * BN;
    }
    // The same for a block's first one, here and not where it is needed: another warp makes mbarriers meanwhile.
    __device__ __forceinline__ void find_first(int &row, int &column) const
    {
        find(blockIdx.x / SHARING, row, column);
        asm volatile("" ::"r"(row), "r"(column));
    }
};

// ---- copies by the copy engine ----

// How L2 treats what is read of A and B.
struct policies {
    unsigned long long a, b;
};
// Copies a step of a tile into its stage.
template <bool HAS_POLICY>
__device__ __forceinline__ void copy_step(const gt_tensor_map &map_a, const gt_tensor_map &map_b, const ring &r,
                                          const place &at, int row, int column, int step, policies of)
{
    tile_a::copy<HAS_POLICY>(r.a_of(at), map_a, row, step * BK, r.full_of(at), rank_n(), rank_m(), CLUSTER_M, of.a);
    tile_b::copy<HAS_POLICY>(r.b_of(at), map_b, column, step * BK, r.full_of(at), rank_m(), rank_n() * CLUSTER_M, 1,
                             of.b);
}
// Copies of all tiles of a block, the first of which begins at this row and column.
__device__ __forceinline__ void produce(const gt_tensor_map &map_a, const gt_tensor_map &map_b, const schedule &plan,
                                        const ring &r, int row, int column)
{
    policies of = {};
    if (HINT)
        of = {gt_evict_behind(plan.columns), gt_evict_behind(plan.rows)};
    place at = {0, 1};
    unsigned number = blockIdx.x / SHARING;
    while (number < plan.clusters) {
#pragma unroll 1
        for (int step = plan.first; step < plan.end; step++, at.advance()) {
            gt_mbarrier_wait_cluster<SHARING>(r.empty_of(at), at.phase);
            gt_mbarrier_expect(r.full_of(at), STAGE);
            if (step % 4 < HINT)
                copy_step<(HINT > 0)>(map_a, map_b, r, at, row, column, step, of);
            else
                copy_step<false>(map_a, map_b, r, at, row, column, step, of);
        }
        number += gridDim.x / SHARING;
        if (number < plan.clusters)
            plan.find(number, row, column);
    }
}

// ---- copies by threads ----

#if LOAD == 1
// A thread copies a piece of a line, the same of every PASS-th line. Lanes beyond a side's last line of 128 bytes write zeros
// there, which nobody reads: a warp that parted would go the whole way twice.
template <typename TILE, int SIDE> struct copied_tile {
    static constexpr int PIECES = TILE::HELD_BYTES / GT_ACCESS, WIDTH = GT_ACCESS / GT_AB_BYTES;
    static constexpr int LINES = TILE::ALONG_K ? SIDE : BK, PASS = PRODUCERS / PIECES, ROUNDS = LINES / PASS;
    static constexpr bool FULL = TILE::ALONG_K || TILE::SIDE_BYTES % TILE::HELD_BYTES == 0;
    static_assert(LINES % PASS == 0 && (16 % PASS == 0 || PASS % 8 == 0), "swizzled alike in every round, or in every other");

    const GT_AB *from; // this thread's first piece of the next stage
    gt_int ld;
    int side_left; // lines or elements of a line that lie in the matrix

    static __device__ __forceinline__ int line()
    {
        return ((int)threadIdx.x - CONSUMERS) / PIECES;
    }
    static __device__ __forceinline__ int along()
    {
        return threadIdx.x % PIECES * WIDTH;
    }
    __device__ __forceinline__ copied_tile(gt_operand matrix, gt_int side_first, gt_int side_end, gt_int k)
    {
        ld = matrix.ld;
        side_left = gt_clip(side_end - side_first, SIDE);
        from = matrix.at + along() + (TILE::ALONG_K ? (side_first + line()) * ld + k : (k + line()) * ld + side_first);
    }

    // Starts the copies of a stage of which k_left steps of K lie in the matrix; zeros stand for what lies outside, from the
    // addresses where that would be: lanes that copy from one address may go one after the other.
    template <bool WHOLE> __device__ __forceinline__ void copy_as(unsigned to, int k_left) const
    {
        const unsigned within = line() * 128 + (along() * GT_AB_BYTES ^ line() % 8 * 16);
#pragma unroll
        for (int box = 0; box < TILE::BOXES; box++)
#pragma unroll
            for (int round = 0; round < ROUNDS; round++) {
                const int across = round * PASS + line(), inward = box * LINE + along();
                const int left = TILE::ALONG_K ? k_left - inward : side_left - inward;
                const bool sure = WHOLE && FULL;
                const bool inside = sure || (across < (TILE::ALONG_K ? side_left : k_left) && left > 0);
                const int valid = sure || left >= WIDTH ? inside * GT_ACCESS : inside * left * GT_AB_BYTES;
                gt_copy_async<GT_ACCESS>(to + box * TILE::BOX_BYTES + round * PASS * 128 +
                                             (within ^ round * PASS % 8 * 16),
                                         from + round * PASS * ld + box * LINE, valid);
            }
    }
    __device__ __forceinline__ void copy(unsigned to, gt_int k_left)
    {
        if (k_left >= BK && side_left == SIDE)
            copy_as<true>(to, BK);
        else
            copy_as<false>(to, gt_clip(k_left, BK));
        from += TILE::ALONG_K ? (gt_int)BK : BK * ld;
    }
};

__device__ __forceinline__ void produce_by_threads(const gt_args &g, const ring &r)
{
    const schedule plan(g);
    const gt_operand a = gt_operand_a(g), b = gt_operand_b(g);
    place at = {0, 1};
    for (unsigned number = blockIdx.x; number < plan.clusters; number += gridDim.x) {
        int row, column;
        plan.find(number, row, column);
        copied_tile<tile_a, BM> of_a(a, row, g.m, (gt_int)plan.first * BK);
        copied_tile<tile_b, BN> of_b(b, column, g.n, (gt_int)plan.first * BK);
#pragma unroll 1
        for (int step = plan.first; step < plan.end; step++, at.advance()) {
            gt_mbarrier_wait(r.empty_of(at), at.phase);
            of_a.copy(r.a_of(at), g.k - (gt_int)step * BK);
            of_b.copy(r.b_of(at), g.k - (gt_int)step * BK);
            gt_mbarrier_arrive_after_copies(r.full_of(at));
        }
    }
}
#endif

#endif
