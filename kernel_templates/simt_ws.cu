// SIMT GEMM for Hopper, warp-specialised and persistent, with stream-K: the kernel for large products in plain
// arithmetic. Producer and consumer warps, the multistage pipeline of threadblock tiles (BM x BN x BK), warp tiles (WM
// x WN) and thread tiles (TM x TN) are those of warp_specialised.cuh. BLOCKS blocks stay on their multiprocessors and
// take tile after tile, of up to PRODUCTS matrices of a batch. Tiles that do not divide evenly among them are split
// along K by stream-K; the block that has the end of such a tile goes on from the partial sums of another, or adds those
// of the others in a fixed order, and makes C of them.
#define FINISHES_STORED true
#include "gemm.cuh"

#ifndef GROUP // tile rows that are walked together, for L2
#define GROUP 8
#endif
#ifndef STREAM_K // 1: it is given a workspace, and tiles that do not divide evenly are split along K
#define STREAM_K 1
#endif
#ifndef BLOCKS // that share all tiles among them
#define BLOCKS 132
#endif
#ifndef PRODUCTS // matrices of a batch whose tiles they share
#define PRODUCTS 1
#endif
#define PRODUCER_REGISTERS (KMAJOR ? 40 : TM < 12 ? 80 : GT_OPERAND_A_ALONG_K || GT_OPERAND_B_ALONG_K ? 56 : 72)
#define CROSSED            (TM * TN > 64 || KMAJOR)
#include "warp_specialised.cuh"

GT_ASSERT_FACT(THREADS, THREADS_);
GT_ASSERT_FACT(SMEM_BYTES, STAGES * STAGE);
GT_ASSERT_FACT(WS_TILE, STREAM_K ? BM * BN * GT_ACC_BYTES : 0);

// Tiles of one matrix.
__device__ __forceinline__ gt_int tiles_of_one(const gt_args &g)
{
    return ((g.m + BM - 1) / BM) * ((g.n + BN - 1) / BN);
}

// Does what there is to do for a tile: work(arguments of the matrix that has it, its place there). Divisions of 32 bits
// are quick.
template <typename WORK> __device__ __forceinline__ void at_tile(const gt_args &g, gt_int number, WORK work)
{
    if constexpr (PRODUCTS > 1) {
        const gt_int one = tiles_of_one(g), matrix = number >> 32 ? number / one : (unsigned)number / (unsigned)one;
        const gt_int away = (gt_int)blockIdx.z * (PRODUCTS - 1) + matrix; // from the one that blockIdx.z stands for
        gt_args its = g;
        its.a += away * g.stride_a;
        its.b += away * g.stride_b;
        its.c += away * g.stride_c;
        work(its, gt_find_tile<BM, BN>(g, GROUP, (unsigned)(number - matrix * one)));
    } else {
        work(g, gt_find_tile<BM, BN>(g, GROUP, (unsigned)number));
    }
}

// What a block does, tile by tile. First comes its share of the tiles that are split along K, from the last
// of them to the first: so the part that another block waits for is done early, and blocks wait for earlier
// ones only.
struct segment {
    gt_int tile;
    gt_int first, end; // steps of BK
};
struct schedule {
    gt_int tiles, steps; // of all matrices, of each tile
    gt_int split;        // tiles that are split

    __device__ __forceinline__ schedule(const gt_args &g)
    {
        tiles = tiles_of_one(g) * (PRODUCTS > 1 ? gt_clip(g.batch - (gt_int)blockIdx.z * PRODUCTS, PRODUCTS) : 1);
        steps = (g.k + BK - 1) / BK;
        // Decided at run time, not by STREAM_K, so that both share one binary.
        split = g.counters == nullptr || steps == 0 || tiles % BLOCKS == 0 ? 0
                : tiles < BLOCKS                                           ? tiles
                                                                           : tiles % BLOCKS + BLOCKS;
    }
    // Whether every block's share has as many steps as a tile or more: at most two of them have parts of one, and the
    // first is there long before the other begins.
    __device__ __forceinline__ bool in_pairs() const
    {
        return tiles >= BLOCKS;
    }
    // Where a block's share of the split tiles begins. Of more blocks than steps the last have none.
    __device__ __forceinline__ gt_int share(unsigned block) const
    {
        const gt_int all = split * steps, rest = all % BLOCKS;
        return all / BLOCKS * block + (block < rest ? block : rest);
    }
    // The split tile that has a step. A division of 64 bits would be a call that all sums have to wait for.
    __device__ __forceinline__ gt_int tile_of(gt_int step) const
    {
        gt_int tile = (int)__fdividef((float)step, (float)steps);
        while (tile * steps > step)
            tile--;
        while ((tile + 1) * steps <= step)
            tile++;
        return tile;
    }
    // What a block does in a turn; false when all is done.
    __device__ __forceinline__ bool find(unsigned block, unsigned turn, segment &s) const
    {
        const gt_int begin = share(block), end = share(block + 1);
        gt_int last = 0, parts = 0;
        if (begin < end) {
            last = tile_of(end - 1);
            parts = last - tile_of(begin) + 1;
        }
        if (turn < parts) {
            s.tile = last - turn;
            s.first = turn == parts - 1 ? begin - s.tile * steps : 0;
            s.end = turn == 0 ? end - s.tile * steps : steps;
            return true;
        }
        s = {split + block + (turn - parts) * BLOCKS, 0, steps};
        return s.tile < tiles;
    }
};

__device__ __forceinline__ void produce(const gt_args &g, const ring &r)
{
    const schedule plan(g);
    segment s;
    place at = {0, 1};
    for (unsigned turn = 0; plan.find(blockIdx.x, turn, s); turn++)
        at_tile(g, s.tile, [&](const gt_args &its, gt_tile tile) { produce_tile(its, r, tile, s.first, s.end, at); });
}

// A block's place for the partial sums that the block which finishes the tile reads.
__device__ __forceinline__ four_acc *part_of(const gt_args &g, unsigned block)
{
    const gt_int slot = (gt_int)blockIdx.z * BLOCKS + block;
    return (four_acc *)gt_workspace(g) + slot * (PIECES * CONSUMERS) + threadIdx.x;
}
__device__ __forceinline__ unsigned *flag_of(const gt_args &g, unsigned block)
{
    return g.counters + (gt_int)blockIdx.z * BLOCKS + block;
}
// Stores this block's part, and lets the block that finishes the tile read it.
__device__ __forceinline__ void store_part(const gt_args &g, const sums &sum)
{
    four_acc *part = part_of(g, blockIdx.x);
#pragma unroll
    for (int p = 0; p < PIECES; p++)
        part[p * CONSUMERS] = piece(sum, p);
    consumers_sync();
    if (threadIdx.x == 0) // for all that met
        asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag_of(g, blockIdx.x)) : "memory");
}

__device__ __forceinline__ bool has_all(int)
{
    return true;
}

// The first of the blocks that have parts of a tile which ends in this block, when all before this one have stored
// theirs.
__device__ __forceinline__ unsigned wait_for_parts(const gt_args &g, const schedule &plan, gt_int tile)
{
    unsigned first = blockIdx.x;
    while (plan.share(first) > tile * plan.steps) {
        unsigned there;
        first--;
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                         : "=r"(there)
                         : "l"(flag_of(g, first))
                         : "memory");
        } while (!there);
    }
    return first;
}
// Tells that they have been read.
__device__ __forceinline__ void return_parts(const gt_args &g, unsigned first)
{
    consumers_sync();
    for (unsigned block = first + threadIdx.x; block < blockIdx.x; block += CONSUMERS)
        *flag_of(g, block) = 0; // as the next launch expects it
}

// The sums of a tile's end go on from the part of the block before this one: blocks come here at different times, and
// all come to the end at the same time.
__device__ __forceinline__ void load_part(const gt_args &g, const schedule &plan, gt_int tile, sums &sum)
{
    const unsigned first = wait_for_parts(g, plan, tile);
    const four_acc *part = part_of(g, first);
#pragma unroll
    for (int p = 0; p < PIECES; p++)
        *(four_acc *)&sum[p * 4 / MOVING][p * 4 % MOVING] = part[p * CONSUMERS];
    return_parts(g, first);
}

// Adds the parts of the blocks before this one, in a fixed order.
__device__ __forceinline__ void add_parts(const gt_args &g, const schedule &plan, gt_int tile, sums &sum)
{
    constexpr int BATCH = PIECES % 8 ? 6 : 8; // reads under way together
    static_assert(PIECES % BATCH == 0, "whole batches");
    const unsigned first = wait_for_parts(g, plan, tile);
#pragma unroll 1
    for (unsigned block = first; block < blockIdx.x; block++) {
        const four_acc *other = part_of(g, block);
#pragma unroll
        for (int p = 0; p < PIECES; p += BATCH) {
            four_acc part[BATCH];
#pragma unroll
            for (int i = 0; i < BATCH; i++)
                part[i] = other[(p + i) * CONSUMERS];
#pragma unroll
            for (int i = 0; i < BATCH * 4; i++)
                sum[(p * 4 + i) / MOVING][(p * 4 + i) % MOVING] += part[i / 4].e[i % 4];
        }
    }
    return_parts(g, first);
}

// Makes C of a tile's sums.
__device__ __forceinline__ void store_tile(const gt_args &g, gt_tile tile, const sums &sum)
{
    const gt_int row = tile.row * BM + first_row(), column = tile.column * BN + first_column();
    store_pieces<PIECES, MOVING / 4>(g, row, column, 0, 1, has_all,
                                     [&](int p) -> const four_acc & { return piece(sum, p); });
    if (gt_has_activation(g))
#pragma unroll 4
        for (int p = 0; p < PIECES; p++)
            finish_piece(g, row, column, p);
}

__device__ __forceinline__ void consume(const gt_args &g, const ring &r)
{
    mainloop m(r);
    segment s;
    unsigned block = blockIdx.x;
    for (unsigned turn = 0; schedule(g).find(block, turn, s); turn++) {
        sums sum;
        m.clear(sum);
        if (s.first != 0 && schedule(g).in_pairs())
            load_part(g, schedule(g), s.tile, sum);
        m.multiply((int)(s.end - s.first), m.idle(g, s.end - 1), sum);
        // Found again, as if the compiler could not know it: the loop needs the registers.
        asm volatile("" : "+r"(block), "+r"(turn));
        const schedule plan(g);
        plan.find(block, turn, s);
        if (s.end < plan.steps) {
            store_part(g, sum);
            continue;
        }
        if (s.first != 0 && !plan.in_pairs())
            add_parts(g, plan, s.tile, sum);
        at_tile(g, s.tile, [&](const gt_args &its, gt_tile tile) { store_tile(its, tile, sum); });
    }
}

extern "C" __global__ void __launch_bounds__(THREADS_, OCC) gemm(const __grid_constant__ gt_args args)
{
    run_roles(args);
}
