// The epilogue of a warp-specialised block: a consumer's sums leave by fours and become C. Included by
// warp_specialised.cuh, after mainloop.cuh.
//
// Needs: `sums`, fragment_a and fragment_b, lane_row and lane_column.
// Offers: PIECES, how many fours a thread has; piece, one of them; store_piece, which makes C of it; is_plain.
#ifndef GT_EPILOGUE_CUH
#define GT_EPILOGUE_CUH

#include "abreast.cuh"

// The p-th four of them as they lie: the assembler takes registers for the sums by how they leave.
constexpr int PIECES = TM * TN / 4;
__device__ __forceinline__ const four_acc &piece(const sums &sum, int p)
{
    return *(const four_acc *)&sum[p * 4 / MOVING][p * 4 % MOVING];
}

// C of one sum, or its epilogue once it is stored. PLAIN: it lies in the matrix, and alpha times the sum is all, as
// mostly; asked once for a tile where sums go one by one.
enum step { PLAIN, GENERAL, FINISH };
template <step STEP>
__device__ __forceinline__ void store_one(const gt_args &g, gt_int row, gt_int column, GT_ACC sum, gt_int away)
{
    if (STEP == PLAIN)
        g.c[away + row * g.ldc + column] = GT_C(g.alpha.value * sum);
    else if (STEP == FINISH)
        gt_finish_stored<1>(g, row, column, away);
    else if (row < g.m && column < g.n)
        gt_store_c(g, row, column, sum, away);
}
__device__ __forceinline__ bool is_plain(const gt_args &g, gt_tile tile)
{
    return GT_WIDE_C < 4 && gt_is_plain(g) && (tile.row + 1) * BM <= g.m && (tile.column + 1) * BN <= g.n;
}

// Four sums of every lane of a warp one by one.
__device__ __forceinline__ GT_ACC *staging_of_warp()
{
    __shared__ four_acc staging[CONSUMERS];
    return staging[threadIdx.x / 32 * 32].e;
}
template <step STEP>
__device__ __forceinline__ void store_abreast(const gt_args &g, gt_int row, gt_int column, const GT_ACC *four,
                                              gt_int away)
{
    constexpr int WIDTH = LANES_N * 4; // of what the warp has of a row
    const int lane = threadIdx.x % 32;
    row += (lane / WIDTH - lane_row()) * fragment_a::SIDE;
    column += lane % WIDTH - lane_column() * 4;
    const auto store = [&](int e, GT_ACC sum) {
        store_one<STEP>(g, row + e / WIDTH * fragment_a::SIDE, column + e % WIDTH, sum, away);
    };
    if (STEP != FINISH)
        gt_store_abreast(staging_of_warp(), lane_row() * LANES_N + lane_column(), four, store);
    else
#pragma unroll
        for (int e = 0; e < 128; e += 32)
            store(e, 0);
}

// Stores the p-th four sums; row and column are the thread's first ones. Four in a column go one by one: lanes side by
// side have neighbours then.
template <step STEP>
__device__ __forceinline__ void store_piece(const gt_args &g, gt_int row, gt_int column, int p, const four_acc &sum)
{
    const int s = p * 4 / MOVING, n = p * 4 % MOVING;
    const gt_int away = blockIdx.z * g.stride_c;
    const GT_ACC four[4] = {sum.e[1], sum.e[0], sum.e[3], sum.e[2]};
    if (KEEPS_B) {
#pragma unroll
        for (int e = 0; e < 4; e++)
            store_one<STEP>(g, row + fragment_a::outer(n + e), column + fragment_b::outer(s), four[e], away);
    } else if (GT_WIDE_C < 4) {
        store_abreast<STEP>(g, row + fragment_a::outer(s), column + fragment_b::outer(n), four, away);
    } else if (STEP == FINISH) {
        gt_finish_stored<4>(g, row + fragment_a::outer(s), column + fragment_b::outer(n), away);
    } else if (row + fragment_a::outer(s) < g.m) {
        gt_store_c_vector<4>(g, row + fragment_a::outer(s), column + fragment_b::outer(n), four, away);
    }
}

#endif
