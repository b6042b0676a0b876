// Tiles of C whose lines are too wide for two parts of f16 (split_parts.cuh), by three parts of bf16, which has the
// exponents of f32: v = hi + mid + lo, each the rest of those before rounded to eight bits, so that 2^-27 |v| is lost.
// Elements are scaled as for two parts and by 2^WIDE more; those that are not zero are 2^-60 at least then, and their
// products, and sums of them, are numbers that f32 has. Six products are summed up, small ones first: hi lo, mid mid
// and lo hi, hi mid and mid hi, hi hi. What is left out is 2^-25 of a product at most, and sums of STEP products go to
// others in f32, so that errors are within split.cu's bound for P = STEP. Few terms make up a sum of such elements, and
// where it is rounded again and again that shows: the next products are added to what rounding took, where there are
// registers for that. Tiles are as small as that where other kernels would share K and round less.
//
// Consumers copy the operands themselves and write parts into the stages, which are theirs meanwhile: of each step of K
// his and mids into a line of one stage, of two steps by turns the first two; and los into half a line of the third.
// The elements of the next step are on their way into the fourth while tensor cores multiply.
//
// Needs: STEP, tile_a, tile_b, STAGE, STACKED, ring and consumers_sync.
#ifndef GT_SPLIT_WIDE_CUH
#define GT_SPLIT_WIDE_CUH

#include "async_copy.cuh"
#include "split_parts.cuh"
#include "wgmma_instruction.cuh"

static_assert(STAGES >= 4 && 2 * STEP == LINE, "a line has two parts of a step, and a stage those of all lines");
constexpr float WIDE_SCALE = (float)(1ll << WIDE);
constexpr bool KEPT = STACKED * INSTRUCTION_N <= 128; // what rounding takes

// Starts a product of parts of bf16.
#undef GT_PTX_A
#undef GT_PTX_B
#define GT_PTX_A "bf16"
#define GT_PTX_B "bf16"
__device__ __forceinline__ void multiply_wide(sums &d, unsigned long long a, unsigned long long b, int adds)
{
    GT_WGMMA_SHARED("k16.f32.", ", 1, 1, 0, 0", GT_AS_FLOAT);
}

// The parts of two neighbours, the first one's in the lower halves.
struct wide_parts {
    unsigned hi, mid, lo;

    __device__ __forceinline__ wide_parts(float v, float w)
    {
        hi = gt_pack(gt_bf16(), v, w);
        v -= __uint_as_float(hi << 16);
        w -= __uint_as_float(hi & 0xffff0000);
        mid = gt_pack(gt_bf16(), v, w);
        lo = gt_pack(gt_bf16(), v - __uint_as_float(mid << 16), w - __uint_as_float(mid & 0xffff0000));
    }
};

// An operand's lines of a tile, on their way from global memory into stages. A thread has pieces of a line's step: it
// copies their elements into the fourth stage, and makes parts of them when they have come.
template <int SIDE, bool ALONG_K> struct wide_operand {
    static constexpr int PIECE = 8, PIECES = STEP / PIECE; // elements of a piece, and pieces of a line's step
    static constexpr int COUNT = SIDE * PIECES, OWN_PIECES = (COUNT + CONSUMERS - 1) / CONSUMERS;
    static constexpr int UNIT = ALONG_K && GT_ALIGN >= 16 ? 4 : 1; // elements that are copied at once
    typedef gt_vector<unsigned, 4> piece;
    typedef gt_vector<float, UNIT> unit;
    const float *matrix; // from the tile's first line on
    gt_int ld, k;
    int lines;            // that there are
    char *tile;           // in the first stage
    float up[OWN_PIECES]; // the scales of a thread's pieces' lines: twice each, and WIDE_SCALE

    __device__ __forceinline__ wide_operand(int thread, const float *matrix, gt_int ld, gt_int k, gt_int first,
                                            gt_int end, const line_known *known, char *tile)
        : matrix(matrix + first * (ALONG_K ? ld : 1)), ld(ld), k(k), lines(gt_clip(end - first, SIDE)), tile(tile)
    {
#pragma unroll
        for (int n = 0; n < OWN_PIECES; n++) {
            const int line = line_of(thread + n * CONSUMERS);
            const unsigned undo = line < lines ? __float_as_uint(known[first + line].undo) : 127u << 23;
            up[n] = __uint_as_float((254u << 23) - (undo & 0x7f800000));
        }
    }
    __device__ __forceinline__ static int line_of(int index)
    {
        return ALONG_K ? index / PIECES : index % SIDE;
    }
    __device__ __forceinline__ static int place_in_line(int index)
    {
        return ALONG_K ? index % PIECES : index / SIDE;
    }
    // Where the element e of a piece, and those behind it, are copied to: neighbouring threads find theirs in all
    // banks.
    __device__ __forceinline__ unit &copied(int index, int e) const
    {
        return *((unit *)(tile + 3 * STAGE) + e / UNIT * COUNT + index);
    }
    // Starts the copies of a step; zeros stand for what the matrix has not.
    __device__ __forceinline__ void fetch(int thread, int step) const
    {
#pragma unroll 1
        for (int i = thread; i < COUNT; i += CONSUMERS) {
            const int line = line_of(i);
            const gt_int at = (gt_int)step * STEP + place_in_line(i) * PIECE;
            const int left = line < lines ? gt_clip(k - at, PIECE) : 0;
            const float *from = matrix + (ALONG_K ? line * ld + at : at * ld + line);
#pragma unroll
            for (int e = 0; e < PIECE; e += UNIT) {
                const int valid = left < e ? 0 : left < e + UNIT ? left - e : UNIT;
                gt_copy_async<UNIT * 4>(gt_shared_address(&copied(i, e)), from + e * (ALONG_K ? 1 : ld), valid * 4);
            }
        }
    }
    // Where a line's piece of a stage lies: swizzled as the copy engine does it.
    __device__ __forceinline__ piece &place(int stage, int line, int which) const
    {
        return *(piece *)(tile + stage * STAGE + line * 128 + (which ^ line % 8) * 16);
    }
    // What this thread has copied, into the stages of a step.
    __device__ __forceinline__ void convert(int thread, int step) const
    {
        const int turn = step & 1;
#pragma unroll
        for (int n = 0; n < OWN_PIECES; n++) {
            const int i = thread + n * CONSUMERS, line = line_of(i), which = place_in_line(i);
            if (COUNT % CONSUMERS != 0 && i >= COUNT)
                break;
            float held[PIECE];
            piece hi, mid, lo;
#pragma unroll
            for (int e = 0; e < PIECE; e += UNIT)
                *(unit *)&held[e] = copied(i, e);
#pragma unroll
            for (int e = 0; e < PIECE; e += 2) {
                const wide_parts both(held[e] * up[n] * up[n] * WIDE_SCALE, held[e + 1] * up[n] * up[n] * WIDE_SCALE);
                hi.e[e / 2] = both.hi;
                mid.e[e / 2] = both.mid;
                lo.e[e / 2] = both.lo;
            }
            place(turn, line, which) = hi;
            place(turn, line, PIECES + which) = mid;
            place(2, line, turn * PIECES + which) = lo;
        }
    }
};

// Adds the second to the first, and leaves in the second what rounding took.
__device__ __forceinline__ void add_rounded(float &sum, float &more)
{
    const float both = sum + more, of_more = both - sum;
    more = KEPT ? (sum - (both - of_more)) + (more - of_more) : 0;
    sum = both;
}

// Starts the products of a step.
__device__ __forceinline__ void multiply_step(const ring &r, int thread, int step, sums (&some)[STACKED])
{
    const int outer = __shfl_sync(~0u, thread / 128, 0) * (STACKED * 64), turn = step & 1;
    const place high = {(unsigned)turn, 0}, low = {2, 0};
    const unsigned long long a = tile_a::descriptor(r.a_of(high)) + tile_a::further(outer, 0),
                             b = tile_b::descriptor(r.b_of(high)),
                             a_lo = tile_a::descriptor(r.a_of(low)) + tile_a::further(outer, turn * STEP),
                             b_lo = tile_b::descriptor(r.b_of(low)) + tile_b::further(0, turn * STEP);
    constexpr int MID = tile_a::further(0, STEP);
    multiply_begin();
#pragma unroll
    for (int i = 0; i < STACKED; i++) {
        const int below = tile_a::further(i * 64, 0);
        const auto multiply_all = [&](unsigned long long of_a, unsigned long long of_b, int first_adds) {
#pragma unroll
            for (int k = 0; k < STEP; k += INSTRUCTION_K)
                multiply_wide(some[i], of_a + below + tile_a::further(0, k), of_b + tile_b::further(0, k),
                              k > 0 ? 1 : first_adds);
        };
        multiply_all(a, b_lo, KEPT);
        multiply_all(a_lo, b, 1);
        multiply_all(a + MID, b + MID, 1);
        multiply_all(a, b + MID, 1);
        multiply_all(a + MID, b, 1);
        multiply_all(a, b, 1);
    }
    multiply_commit();
}

// The sums of a tile that begins at this row and column, over these steps of K.
__device__ __forceinline__ void multiply_wide_tile(const gt_args &g, const ring &r, char *stages, gt_int row,
                                                   gt_int column, int first, int end, sums (&d)[STACKED])
{
    constexpr int COUNT = STACKED * INSTRUCTION_N / 2;
    int thread; // asked for here, so that what follows from it takes no registers elsewhere
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    const wide_operand<BM, GT_A_ALONG_K> a(thread, g.a + blockIdx.z * g.stride_a, g.lda, g.k, row, g.m,
                                           parts_of<true>(g).known, stages);
    const wide_operand<BN, GT_B_ALONG_K> b(thread, g.b + blockIdx.z * g.stride_b, g.ldb, g.k, column, g.n,
                                           parts_of<false>(g).known, stages + tile_a::BYTES);
    sums some[STACKED];
#pragma unroll
    for (int e = 0; e < COUNT; e++)
        (&d[0][0])[e] = (&some[0][0])[e] = 0;
    const auto fetch = [&](int step) {
        if (step < end) {
            a.fetch(thread, step);
            b.fetch(thread, step);
        }
        gt_commit_copies();
    };
    fetch(first);
#pragma unroll 1
    for (int step = first; step < end; step++) {
        gt_wait_copies<0>(); // this thread's
        a.convert(thread, step);
        b.convert(thread, step);
        fetch(step + 1);
        gt_fence_async(); // for tensor cores
        consumers_sync(); // this step is there, and the one before it has been multiplied
        multiply_step(r, thread, step, some);
        multiply_wait<0>();
#pragma unroll
        for (int e = 0; e < COUNT; e++)
            add_rounded((&d[0][0])[e], (&some[0][0])[e]);
    }
#pragma unroll
    for (int e = 0; e < COUNT; e++)
        (&d[0][0])[e] += (&some[0][0])[e];
}

#endif
