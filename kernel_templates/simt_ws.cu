// The production kernel for plain arithmetic on Hopper: warps with trades (ws.cuh). Blocks stay on their
// multiprocessor and take tile after tile; what does not divide evenly among them is split along K (stream K)
// and added up in a fixed order.
#include "gemm.cuh"

#ifndef GROUP // tile rows that are walked together, for L2
#define GROUP 8
#endif
#ifndef STREAM // 1: it is given a workspace, and tiles that do not divide evenly are split along K
#define STREAM 1
#endif
#ifndef BLOCKS // that share all tiles among them
#define BLOCKS 132
#endif
#include "ws.cuh"

// What a block does, tile by tile. First comes its share of the tiles that are split along K, from the last
// of them to the first: so the part that another block waits for is done early, and blocks wait for earlier
// ones only.
struct segment {
    gt_int tile;
    gt_int first, end; // steps of BK
};
struct schedule {
    gt_int tiles, steps; // of the matrix, of each tile
    gt_int begin, end;   // this block's share of the split tiles, in steps
    gt_int whole;        // its next tile that is not split
    bool may_split;      // not a constant: one machine code for both, and it is a good one

    __device__ __forceinline__ gt_int split_tiles() const
    {
        if (!may_split || tiles % BLOCKS == 0)
            return 0;
        return tiles < BLOCKS ? tiles : tiles % BLOCKS + BLOCKS;
    }
    // Where a block's share of the split tiles begins. Of more blocks than steps the last have none.
    __device__ __forceinline__ gt_int share(unsigned block) const
    {
        const gt_int all = split_tiles() * steps, blocks = all < BLOCKS ? all : BLOCKS;
        return block < blocks ? all * block / blocks : all;
    }
    __device__ __forceinline__ schedule(const gt_args &g)
    {
        may_split = g.counters != nullptr;
        tiles = ((g.m + BM - 1) / BM) * ((g.n + BN - 1) / BN);
        steps = (g.k + BK - 1) / BK;
        begin = share(blockIdx.x);
        end = share(blockIdx.x + 1);
        whole = (steps > 0 ? split_tiles() : 0) + blockIdx.x;
    }
    __device__ __forceinline__ bool next(segment &s)
    {
        if (begin < end) {
            s.tile = (end - 1) / steps;
            s.end = end - s.tile * steps;
            end = begin > s.tile * steps ? begin : s.tile * steps;
            s.first = end - s.tile * steps;
            return true;
        }
        s = {whole, 0, steps};
        whole += BLOCKS;
        return s.tile < tiles;
    }
};

__device__ __forceinline__ void produce(const gt_args &g, const ring &r)
{
    schedule plan(g);
    segment s;
    place at = {0, 1};
    while (plan.next(s))
        bring_tile(g, r, gt_find_tile<BM, BN>(g, GROUP, (unsigned)s.tile), s.first, s.end, at);
}

// A block's two places for the sums of a part: one that the block which finishes the tile reads, one of its
// own.
__device__ __forceinline__ four_acc *part_of(const gt_args &g, unsigned block, bool own)
{
    const gt_int slot = ((gt_int)blockIdx.z * BLOCKS + block) * 2 + own;
    return (four_acc *)gt_workspace(g) + slot * (PIECES * CONSUMERS) + threadIdx.x;
}
__device__ __forceinline__ unsigned *flag_of(const gt_args &g, unsigned block)
{
    return g.counters + (gt_int)blockIdx.z * BLOCKS + block;
}
__device__ __forceinline__ void lay_down(const gt_args &g, const sums &sum, bool own)
{
    four_acc *part = part_of(g, blockIdx.x, own);
#pragma unroll
    for (int p = 0; p < PIECES; p++)
        part[p * CONSUMERS] = *(const four_acc *)&sum[p * 4 / TN][p * 4 % TN];
}
// Lets the block that finishes the tile have this block's part.
__device__ __forceinline__ void hand_over(const gt_args &g)
{
    __threadfence();
    consumers_meet();
    if (threadIdx.x == 0)
        asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag_of(g, blockIdx.x)) : "memory");
}

// Finishes a tile that begins at step `start` of the split tiles: adds the parts in a fixed order. All come
// from memory, this block's too, so that the main loop's choice of registers is not disturbed.
__device__ __forceinline__ void finish(const gt_args &g, const schedule &plan, gt_int start, gt_int row,
                                       gt_int column)
{
    constexpr int BATCH = PIECES < 8 ? PIECES : 8; // reads under way together
    unsigned first = blockIdx.x;
    while (plan.share(first) > start) {
        unsigned there;
        first--;
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                         : "=r"(there)
                         : "l"(flag_of(g, first))
                         : "memory");
        } while (!there);
    }
#pragma unroll 1
    for (int p = 0; p < PIECES; p += BATCH) {
        const four_acc *own = part_of(g, blockIdx.x, true) + p * CONSUMERS;
        four_acc sum[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            sum[i] = own[i * CONSUMERS];
#pragma unroll 1
        for (unsigned block = first; block < blockIdx.x; block++) {
            const four_acc *other = part_of(g, block, false) + p * CONSUMERS;
            four_acc part[BATCH];
#pragma unroll
            for (int i = 0; i < BATCH; i++)
                part[i] = other[i * CONSUMERS];
#pragma unroll
            for (int i = 0; i < BATCH * 4; i++)
                sum[i / 4].e[i % 4] += part[i / 4].e[i % 4];
        }
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            store_piece(g, row, column, p + i, sum[i].e);
    }
    consumers_meet();
    for (unsigned block = first + threadIdx.x; block < blockIdx.x; block += CONSUMERS)
        *flag_of(g, block) = 0; // as the next launch expects it
}

__device__ __forceinline__ void consume(const gt_args &g, const ring &r)
{
    multiplier m(r);
    schedule plan(g);
    segment s;
    while (plan.next(s)) {
        sums sum;
        m.multiply((int)(s.end - s.first), sum);
        const bool first_part = s.first == 0, last_part = s.end == plan.steps;
        if (!(first_part && last_part))
            lay_down(g, sum, last_part);
        if (!last_part) {
            hand_over(g);
            continue;
        }
        const gt_tile tile = gt_find_tile<BM, BN>(g, GROUP, (unsigned)s.tile);
        const gt_int row = tile.row * BM + first_row(), column = tile.column * BN + first_column();
        if (!first_part) {
            finish(g, plan, s.tile * plan.steps, row, column);
            continue;
        }
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int j = 0; j < TN; j += 4)
                store_piece(g, row, column, (i * TN + j) / 4, sum[i] + j);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS_, OCC) gemm(const __grid_constant__ gt_args args)
{
    work(args);
}
