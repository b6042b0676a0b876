// The epilogue of a warp-specialised block: a consumer's sums leave by fours and become C. Included by
// warp_specialised.cuh, after mainloop.cuh.
//
// Needs: `sums`, fragment_a and fragment_b, lane_row and lane_column.
// Offers: PIECES, how many fours a thread has; piece, one of them; store_pieces, which makes C of them; finish_piece.
#ifndef GT_EPILOGUE_CUH
#define GT_EPILOGUE_CUH

#include "abreast.cuh"

// The p-th four of them as they lie: the assembler takes registers for the sums by how they leave.
constexpr int PIECES = TM * TN / 4;
__device__ __forceinline__ const four_acc &piece(const sums &sum, int p)
{
    return *(const four_acc *)&sum[p * 4 / MOVING][p * 4 % MOVING];
}

// Where the p-th four begins, from the thread's first row and column on. They lie in a row, or in a column if B stays.
__device__ __forceinline__ int piece_row(int p)
{
    return fragment_a::outer(KEEPS_B ? p * 4 % MOVING : p * 4 / MOVING);
}
__device__ __forceinline__ int piece_column(int p)
{
    return fragment_b::outer(KEEPS_B ? p * 4 / MOVING : p * 4 % MOVING);
}

// Rows that are not aligned for fours: these go through a staging buffer, STAGED of every thread at once.
constexpr bool ONE_BY_ONE = GT_WIDE_C < 4 && !KEEPS_B;
constexpr int STAGED = 4;
typedef gt_abreast<LANES_N * 4, fragment_a::SIDE> results_abreast;

__device__ __forceinline__ four_acc *staging_of_warp()
{
    __shared__ four_acc staging[CONSUMERS * STAGED];
    return staging + threadIdx.x / 32 * (32 * STAGED);
}
__device__ __forceinline__ results_abreast find_abreast(const gt_args &g, gt_int row, gt_int column)
{
    return results_abreast(g, row - lane_row() * fragment_a::SIDE, column - lane_column() * 4, blockIdx.z * g.stride_c);
}

// Stores the p-th four, with the bias of its columns; row and column are the thread's first ones. Those of a column go
// one by one: lanes side by side have neighbours then.
__device__ __forceinline__ void store_piece(const gt_args &g, gt_int row, gt_int column, int p, const four_acc &sum,
                                            const GT_ACC *bias)
{
    const int s = p * 4 / MOVING, n = p * 4 % MOVING;
    const gt_int away = blockIdx.z * g.stride_c;
    const GT_ACC four[4] = {sum.e[1], sum.e[0], sum.e[3], sum.e[2]};
    if (KEEPS_B) {
#pragma unroll
        for (int e = 0; e < 4; e++)
            if (row + fragment_a::outer(n + e) < g.m && column + fragment_b::outer(s) < g.n)
                gt_store_c(g, row + fragment_a::outer(n + e), column + fragment_b::outer(s), four[e], away, bias);
    } else if (row + fragment_a::outer(s) < g.m) {
        gt_store_c_vector<4>(g, row + fragment_a::outer(s), column + fragment_b::outer(n), four, away, bias);
    }
}

// Where the p-th four of a thread goes whose first result goes to `to`.
__device__ __forceinline__ GT_C *piece_place(const gt_args &g, GT_C *to, int p)
{
    return to + piece_row(p) * g.ldc + piece_column(p);
}

// The same for a thread whose pieces all lie inside the matrix; `old` is what C has there, if that counts. Nearly all
// that is issued then is a multiplication or a store: with questions between them products with a K of 1024 took 4 to 7%
// longer on an H200.
__device__ __forceinline__ void store_plainly(const gt_args &g, GT_C *to, int p, const four_acc &sum,
                                              const GT_ACC *bias, const gt_vector<GT_C, 4> *old = nullptr)
{
    gt_vector<GT_C, 4> results;
#pragma unroll
    for (int e = 0; e < 4; e++) {
        const GT_ACC *added = &bias[KEEPS_B ? 0 : e];
        results.e[e] = old ? gt_add_old(g, sum.e[e ^ 1], old->e[e], added) : gt_scale(g, sum.e[e ^ 1], added);
    }
    gt_store_vector(piece_place(g, to, p), results);
}

// Makes C of COUNT pieces, of which the first is `first` and each is `next` behind the one before; LINE of them after
// each other lie side by side. has(n) tells whether this warp has the n-th, which sum(n) is; row and column are the
// thread's first ones.
template <int COUNT, int LINE, typename HAS, typename SUM>
__device__ __forceinline__ void store_pieces(const gt_args &g, gt_int row, gt_int column, int first, int next, HAS has,
                                             SUM sum)
{
    if (!ONE_BY_ONE) {
        // Loaded once: so many pieces behind each other lie in the same columns as the next.
        constexpr int PERIOD = KEEPS_B || COUNT < MOVING / 4 ? COUNT : MOVING / 4, WIDE = KEEPS_B ? 1 : 4;
        GT_ACC bias[PERIOD][WIDE];
#pragma unroll
        for (int n = 0; n < PERIOD; n++)
            gt_load_bias<WIDE>(g, column + piece_column(first + n * next), bias[n]);
        int last_row = 0, last_column = 0;
#pragma unroll
        for (int n = 0; n < COUNT; n++) {
            last_row = max(last_row, piece_row(first + n * next));
            last_column = max(last_column, piece_column(first + n * next) + 3);
        }
        if (!KEEPS_B && row + last_row < g.m && column + last_column < g.n) {
            GT_C *to = g.c + blockIdx.z * g.stride_c + row * g.ldc + column;
            asm volatile("" : "+l"(to)); // else the compiler adds this up anew for every piece
            __builtin_assume(__isGlobal(to));
            const bool plain = gt_is_plain(g);
#pragma unroll
            for (int n = 0; n < COUNT && plain; n++)
                if (has(n))
                    store_plainly(g, to, first + n * next, sum(n), bias[n % PERIOD]);
            // The old C of two pieces is on its way together: one after another, each would be waited for.
            constexpr int TOGETHER = COUNT < 2 ? COUNT : 2;
#pragma unroll
            for (int begin = 0; begin < COUNT && !plain; begin += TOGETHER) {
                gt_vector<GT_C, 4> old[TOGETHER];
#pragma unroll
                for (int n = begin; n < begin + TOGETHER && n < COUNT; n++)
                    if (has(n))
                        old[n - begin] = *(const gt_vector<GT_C, 4> *)gt_old(g, piece_place(g, to, first + n * next));
#pragma unroll
                for (int n = begin; n < begin + TOGETHER && n < COUNT; n++)
                    if (has(n))
                        store_plainly(g, to, first + n * next, sum(n), bias[n % PERIOD], &old[n - begin]);
            }
            return;
        }
#pragma unroll
        for (int n = 0; n < COUNT; n++)
            if (has(n))
                store_piece(g, row, column, first + n * next, sum(n), bias[n % PERIOD]);
        return;
    }
    constexpr int BATCH = STAGED / LINE * LINE;
    four_acc *staging = staging_of_warp();
    const results_abreast results = find_abreast(g, row, column);
#pragma unroll
    for (int batch = 0; batch < COUNT; batch += BATCH) {
        __syncwarp(); // what lay there has been read
#pragma unroll
        for (int n = batch; n < batch + BATCH && n < COUNT; n++) {
            const four_acc &p = sum(n);
            if (has(n))
                staging[(n - batch) * 32 + lane_row() * LANES_N + lane_column()] = {p.e[1], p.e[0], p.e[3], p.e[2]};
        }
        __syncwarp();
#pragma unroll
        for (int n = batch; n < batch + BATCH && n < COUNT; n += LINE)
            if (has(n))
                results.template store<LINE>(staging[(n - batch) * 32].e, piece_row(first + n * next),
                                             piece_column(first + n * next));
    }
}

// relu or gelu of what this thread has stored of the p-th fours.
__device__ __forceinline__ void finish_piece(const gt_args &g, gt_int row, gt_int column, int p)
{
    const gt_int away = blockIdx.z * g.stride_c;
    if (ONE_BY_ONE)
        find_abreast(g, row, column).finish(piece_row(p), piece_column(p));
    else if (KEEPS_B)
#pragma unroll
        for (int e = 0; e < 4; e++)
            gt_finish_stored<1>(g, row + piece_row(p) + e, column + piece_column(p), away);
    else
        gt_finish_stored<4>(g, row + piece_row(p), column + piece_column(p), away);
}

#endif
