// Padded tiles, the next one prefetched: while the block multiplies one pair of tiles, each thread already
// has its element of the next pair on the way into registers. The loop over a tile is unrolled by UNROLL.
#include "gemm.cuh"

#ifndef BM
#define BM 32
#endif
#ifndef BN
#define BN 32
#endif
#ifndef PAD
#define PAD 1
#endif
#ifndef UNROLL
#define UNROLL 4
#endif

static_assert(BM == BN && BM % UNROLL == 0, "tiles are square and whole turns long");

extern "C" __global__ void __launch_bounds__(BM *BN) gemm(gt_args g)
{
    __shared__ __align__(16) GT_AB as[BM][BM + PAD], bs[BM][BM + PAD];
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const int row = threadIdx.x / BN, column = threadIdx.x % BN;
    const gt_int i0 = tile.row * BM, j0 = tile.column * BN;

    // Where this thread's elements lie within the tiles: along stored rows, so that reads coalesce.
    const int a_row = GT_TRANS_A ? column : row, a_depth = GT_TRANS_A ? row : column;
    const int b_depth = GT_TRANS_B ? column : row, b_column = GT_TRANS_B ? row : column;
    const bool a_inside = i0 + a_row < g.m, b_inside = j0 + b_column < g.n;
    const gt_int a_step = GT_TRANS_A ? g.lda * BM : BM, b_step = GT_TRANS_B ? BM : g.ldb * BM;
    const GT_AB *__restrict__ a = gt_at_a(g, i0 + a_row, a_depth);
    const GT_AB *__restrict__ b = gt_at_b(g, b_depth, j0 + b_column);

    GT_AB next_a = a_inside && a_depth < g.k ? *a : GT_AB();
    GT_AB next_b = b_inside && b_depth < g.k ? *b : GT_AB();
    GT_ACC sum = 0;
    for (gt_int left = g.k; left > 0;) {
        as[a_row][a_depth] = next_a;
        bs[b_depth][b_column] = next_b;
        __syncthreads();
        left -= BM;
        a += a_step;
        b += b_step;
        next_a = a_inside && a_depth < left ? *a : GT_AB();
        next_b = b_inside && b_depth < left ? *b : GT_AB();
#pragma unroll 1
        for (int e = 0; e < BM; e += UNROLL) {
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
                sum += as[row][e + u] * bs[e + u][column];
        }
        __syncthreads();
    }
    const gt_int i = i0 + row, j = j0 + column;
    if (i < g.m && j < g.n)
        gt_store_c(g, i, j, sum);
}
