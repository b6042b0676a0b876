// Many small products: a block computes the tiles of PRODUCTS matrices of a batch, each by a group of threads of its own
// (BM / TM x BN / TN). A group brings BK steps of K at a time through registers into shared memory, the next ones while
// it multiplies; where a group is part of a warp, no other warp is waited for. Tiles may be of any size: one that is
// just as large as the matrices leaves no thread without work.
#ifndef GT_EPILOGUE
#define GT_EPILOGUE 1 // the number of matrices is behind the arguments that every kernel takes
#endif
#include "dependent_launch.cuh"
#include "gemm.cuh"

#ifndef BM // tile of one matrix
#define BM 16
#endif
#ifndef BN
#define BN 16
#endif
#ifndef BK
#define BK 16
#endif
#ifndef TM // thread tile
#define TM 2
#endif
#ifndef TN
#define TN 4
#endif
#ifndef PRODUCTS // matrices of the batch that a block computes
#define PRODUCTS 4
#endif

constexpr int LANES_N = BN / TN, GROUP = BM / TM * LANES_N, THREADS_ = PRODUCTS * GROUP;
static_assert(BM % TM == 0 && BN % TN == 0, "a group covers the tile");

// A tile of one operand: on its way in registers, then in shared memory as [BK][OUTER]. Rows that are transposed on
// their way are shifted against each other.
template <int OUTER, bool ALONG_K> struct operand {
    static constexpr int LINE = ALONG_K ? BK : OUTER; // elements that lie together
    static constexpr int VEC = LINE < GT_WIDE_AB ? LINE : GT_WIDE_AB;
    static_assert(LINE % VEC == 0, "whole vectors");
    static constexpr int TOTAL = BK * OUTER / VEC, COUNT = (TOTAL + GROUP - 1) / GROUP;
    static constexpr int PITCH = OUTER + (ALONG_K ? 4 : 0);
    static constexpr int ELEMENTS = BK * PITCH;

    gt_vector<GT_AB, VEC> held[COUNT];

    // Of the tile that begins at `from` only k_count steps and outer_count rows or columns lie in the matrix.
    __device__ __forceinline__ void fetch(const GT_AB *from, gt_int ld, int k_count, int outer_count, int thread)
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int at = (thread + i * GROUP) * VEC, line = at / LINE, along = at % LINE;
            const int lines = ALONG_K ? outer_count : k_count, left = (ALONG_K ? k_count : outer_count) - along;
            held[i] = gt_load_vector<VEC>(from + line * ld + along, at < BK * OUTER && line < lines ? left : 0);
        }
    }
    __device__ __forceinline__ void settle(GT_AB *tile, int thread) const
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int at = (thread + i * GROUP) * VEC, line = at / LINE, along = at % LINE;
            if (TOTAL % GROUP != 0 && at >= BK * OUTER)
                continue;
#pragma unroll
            for (int e = 0; e < VEC; e++)
                tile[ALONG_K ? (along + e) * PITCH + line : line * PITCH + along + e] = held[i].e[e];
        }
    }
};

typedef operand<BM, GT_A_ALONG_K> operand_a;
typedef operand<BN, GT_B_ALONG_K> operand_b;
constexpr int TILE_BYTES = (operand_a::ELEMENTS + operand_b::ELEMENTS) * GT_AB_BYTES;
constexpr bool STAGED = TN > GT_WIDE_C; // a thread's sums of a row do not leave at once
constexpr int STAGING_BYTES = STAGED ? BM * BN * GT_ACC_BYTES : 0;
constexpr int ROOM = ((TILE_BYTES > STAGING_BYTES ? TILE_BYTES : STAGING_BYTES) + 15) / 16 * 16; // of a group
GT_ASSERT_FACT(THREADS, THREADS_);
GT_ASSERT_FACT(SMEM_BYTES, PRODUCTS * ROOM);

// All threads of a group have come here.
__device__ __forceinline__ void meet()
{
    if (32 % GROUP == 0)
        __syncwarp();
    else
        __syncthreads();
}

// Calls store(e, row, sum) for each element of rows x columns, the e-th one of them in order. Threads side by side have
// neighbours, also where a row ends.
template <typename STORE>
__device__ __forceinline__ void each_staged(const GT_ACC *staging, int rows, int columns, int thread, STORE store)
{
    const unsigned inverse = (1u << 31) / (columns > 0 ? columns : 1) + 1; // exact while e < 2^31 / columns
#pragma unroll 4
    for (int e = thread; e < rows * columns; e += GROUP) {
        const unsigned i = __umulhi(2 * e, inverse);
        store(e, i, staging[e + i * (BN - columns)]);
    }
}

// C of a group's tile, of which rows x columns lie in the matrix, one by one. Rows without a gap between them are one.
__device__ __forceinline__ void store_staged(const gt_args &g, gt_int row, gt_int column, int rows, int columns,
                                             const GT_ACC *staging, int thread, gt_int away)
{
    gt_int first = away + row * g.ldc + column;
    asm volatile("" : "+l"(first)); // else the compiler adds this up anew for every element
    GT_C *c = g.c + first;
    if (!gt_is_plain(g))
        each_staged(staging, rows, columns, thread, [&](int e, unsigned i, GT_ACC sum) {
            gt_store_c(g, row + i, column + e - i * columns, sum, away);
        });
    else if (g.ldc == columns)
        each_staged(staging, rows, columns, thread,
                    [&](int e, unsigned i, GT_ACC sum) { c[e] = GT_C(g.alpha.value * sum); });
    else
        each_staged(staging, rows, columns, thread, [&](int e, unsigned i, GT_ACC sum) {
            c[i * g.ldc + (e - i * columns)] = GT_C(g.alpha.value * sum);
        });
}

extern "C" __global__ void __launch_bounds__(THREADS_) gemm(const __grid_constant__ gt_args args)
{
    extern __shared__ __align__(16) char rooms[];
    const int thread = threadIdx.x % GROUP, group = threadIdx.x / GROUP;
    const gt_int product = (gt_int)blockIdx.z * PRODUCTS + group;
    const bool there = product < args.batch; // the last block may have fewer
    const gt_tile tile = gridDim.x == 1 ? gt_tile{0, 0} : gt_find_tile<BM, BN>(args, 1); // divisions are long
    const gt_int row = tile.row * BM, column = tile.column * BN;
    const int rows = there ? gt_clip(args.m - row, BM) : 0, columns = there ? gt_clip(args.n - column, BN) : 0;
    const GT_AB *a = args.a + product * args.stride_a + (GT_TRANS_A ? row : row * args.lda);
    const GT_AB *b = args.b + product * args.stride_b + (GT_TRANS_B ? column * args.ldb : column);
    GT_AB *tile_a = (GT_AB *)(rooms + group * ROOM), *tile_b = tile_a + operand_a::ELEMENTS;
    const int first_row = thread / LANES_N * TM, first_column = thread % LANES_N * TN;
    operand_a next_a;
    operand_b next_b;
    GT_ACC sum[TM][TN] = {};

    gt_begin_evenly();
    const auto fetch = [&](gt_int k) {
        const int k_count = gt_clip(args.k - k, BK);
        next_a.fetch(a + (GT_TRANS_A ? k * args.lda : k), args.lda, k_count, rows, thread);
        next_b.fetch(b + (GT_TRANS_B ? k : k * args.ldb), args.ldb, k_count, columns, thread);
    };
    const auto settle = [&] {
        next_a.settle(tile_a, thread);
        next_b.settle(tile_b, thread);
        meet();
    };
    const auto multiply = [&] {
#pragma unroll
        for (int p = 0; p < BK; p++) {
            GT_ACC x[TM], y[TN];
#pragma unroll
            for (int i = 0; i < TM; i++)
                x[i] = GT_ACC(GT_A(tile_a[p * operand_a::PITCH + first_row + i]));
#pragma unroll
            for (int j = 0; j < TN; j++)
                y[j] = GT_ACC(GT_B(tile_b[p * operand_b::PITCH + first_column + j]));
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++)
                    sum[i][j] += x[i] * y[j];
        }
    };
    // The last step stands alone: where K has one, nothing is prepared for others.
    if (args.k > 0) {
        fetch(0);
        settle();
        for (gt_int k = BK; k < args.k; k += BK) {
            fetch(k);
            multiply();
            meet();
            settle();
        }
        multiply();
    }
    const gt_int away = product * args.stride_c;
    if (!STAGED) {
#pragma unroll
        for (int i = 0; i < TM; i++)
            if (first_row + i < rows)
                gt_store_c_vector<TN>(args, row + first_row + i, column + first_column, sum[i], away);
        return;
    }
    // Through shared memory, so that threads side by side store neighbours, with code that is short.
    GT_ACC *staging = (GT_ACC *)tile_a;
    meet(); // tiles have been read
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++)
            staging[(first_row + i) * BN + first_column + j] = sum[i][j];
    meet();
    store_staged(args, row, column, rows, columns, staging, thread, away);
}
