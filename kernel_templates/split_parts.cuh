// Operands of f32 in two parts of f16. A kernel that runs before the product scales each row of op(A) and column of
// op(B), a "line", by a power of four, so that its largest element v has 2^13 <= |v| < 2^15, and writes hi, v rounded
// to f16, and lo, the rest times 2^11 rounded to f16: v = hi + 2^-11 lo, and 22 bits of it are kept. Of every
// PARTS_STEP elements along K the his come first and then their los, 128 bytes in all, zeros behind the last.
//
// What is kept of v:
//   |v| >= 2^-14: hi errs by 2^-11 |v| at most, lo by 2^-11 of that: 2^-22 |v|.
//   |v| < 2^-14: hi is subnormal and errs by 2^-25; lo, 2^-14 at most, errs by 2^-25: 2^-36. Such an element is "deep".
// So n deep elements of a row and a column add an error of 2^-36 2^15 n at most to their product of magnitude S = sum
// of |a||b|. An element is "low" where |v| < 2^-4: of K terms of S all but those of low elements are 2^-8 at least.
// Where s are low and n <= 2^-6 (K - s), the error is 2^-27 (K - s) at most and S is 2^-8 (K - s) at least: it is
// within 2^-19 S. Lines of which this cannot be said, or that have NaN or infinities, or whose sums might pass the
// largest number, are not multiplied this way: their tiles are computed by multiply-adds of f32 (split.cu).
#ifndef GT_SPLIT_PARTS_CUH
#define GT_SPLIT_PARTS_CUH

#include "gemm.cuh"
#include "dependent_launch.cuh"

constexpr int PARTS_STEP = 32;
constexpr float LO_SCALE = 0x1p11f;

// What is known of a line. src/core/copies.c has its size and its place, behind the lines of its matrix.
struct line_known {
    float undo; // its square undoes the line's scale
    unsigned
        what; // the exponent of its largest element, 8 bits; the share of low elements, and of deep ones, 12 bits each
};
constexpr int EXPONENT_AT = 24, LOW_AT = 12, NOT_FINITE = 255;
constexpr unsigned SHARE = 4095;       // most of a share; of low elements, all
constexpr unsigned DEEP_WHOLE = 16384; // all, of deep elements

struct operand_parts {
    gt_half *lines;
    line_known *known;
};
__device__ __forceinline__ gt_int parts_ld(const gt_args &g)
{
    return (g.k + PARTS_STEP - 1) / PARTS_STEP * (2 * PARTS_STEP);
}
// Bytes of a matrix with so many lines.
__device__ __forceinline__ gt_int parts_size(const gt_args &g, gt_int lines)
{
    constexpr gt_int UNIT = 128;
    return lines * parts_ld(g) * 2 + (lines * sizeof(line_known) + UNIT - 1) / UNIT * UNIT;
}
__device__ __forceinline__ operand_parts parts_of(const gt_args &g, bool of_a)
{
    const gt_int a = parts_size(g, g.m), b = parts_size(g, g.n);
    char *at = (char *)g.workspace + (of_a ? blockIdx.z * a : gridDim.z * a + blockIdx.z * b);
    return {(gt_half *)at, (line_known *)(at + (of_a ? g.m : g.n) * parts_ld(g) * 2)};
}
// The workspace behind them.
__device__ __forceinline__ void *gt_workspace(const gt_args &g)
{
    return (char *)g.workspace + gridDim.z * (parts_size(g, g.m) + parts_size(g, g.n));
}

// ---- the kernel before the product ----

constexpr int PARTS_WARPS = 16, PARTS_CLUSTER = 8; // warps of a block, blocks of a cluster at most
constexpr unsigned MAGNITUDE = 0x7fffffff;
typedef gt_vector<float, 4> four_elements;
typedef gt_vector<unsigned, 2> four_parts;

// A line's scale, from the bits of its largest magnitude: its square is multiplied with.
struct line_scale {
    int half; // of the power of two

    __device__ __forceinline__ explicit line_scale(unsigned largest)
    {
        const int power = largest >> 23 ? (int)(largest >> 23) - 127 : 31 - __clz(largest) - 149;
        half = largest == 0 ? 0 : (14 - power) >> 1;
    }
    __device__ __forceinline__ float up() const
    {
        return __int_as_float((127 + half) << 23);
    }
    __device__ __forceinline__ float undo() const
    {
        return __int_as_float((127 - half) << 23);
    }
};

// What a line has of such elements.
struct line_counts {
    int low = 0, deep = 0;
};

// An element's parts, and what it counts for where it is one of the line.
struct element_parts {
    unsigned hi, lo; // bits

    __device__ __forceinline__ element_parts(float element, float up, bool counts, line_counts &counted)
    {
        const float v = element * up * up;
        const gt_half high(v), rest((v - float(high)) * LO_SCALE);
        hi = high.bits;
        lo = rest.bits;
        counted.low += fabsf(v) < 0x1p-4f && counts;
        counted.deep += fabsf(v) < 0x1p-14f && element != 0;
    }
};

__device__ __forceinline__ line_known know(unsigned largest, line_counts counted, gt_int k)
{
    if (largest == 0)
        return {1, 0};
    const gt_int low = ((gt_int)counted.low * SHARE + k - 1) / k,
                 deep = ((gt_int)counted.deep * DEEP_WHOLE + k - 1) / k;
    return {line_scale(largest).undo(),
            largest >> 23 << EXPONENT_AT | (unsigned)low << LOW_AT | (deep < SHARE ? (unsigned)deep : SHARE)};
}

// What warps of a block tell each other: of a line those from `first` on, so many.
struct told {
    unsigned largest[PARTS_WARPS][32];
    line_counts counted[PARTS_WARPS][32];

    __device__ __forceinline__ static unsigned find_largest(const unsigned (*of)[32], unsigned first, int warps)
    {
        unsigned largest = 0;
        for (int w = 0; w < warps; w++)
            largest = max(largest, of[first + w][threadIdx.x % 32]);
        return largest;
    }
    __device__ __forceinline__ static line_counts count(const line_counts (*of)[32], unsigned first, int warps)
    {
        line_counts all;
        for (int w = 0; w < warps; w++) {
            all.low += of[first + w][threadIdx.x % 32].low;
            all.deep += of[first + w][threadIdx.x % 32].deep;
        }
        return all;
    }
};

// Blocks of a cluster share strips (below), each a part of K, so that what is read twice is still in L2 the second
// time. They tell each other of their lines, all lanes of a warp the same: one writes for all blocks, and all meet.
struct told_in_cluster {
    line_counts counted[PARTS_CLUSTER][32];
    unsigned largest[PARTS_CLUSTER][32];

    __device__ __forceinline__ static unsigned blocks()
    {
        unsigned count;
        asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
        return count;
    }
    __device__ __forceinline__ static unsigned rank()
    {
        unsigned rank;
        asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
        return rank;
    }
    // What was written into other blocks is there behind it.
    __device__ __forceinline__ static void meet()
    {
        asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
    }
    template <typename T> __device__ __forceinline__ static void tell(const T &here, unsigned value)
    {
        const unsigned at = (unsigned)__cvta_generic_to_shared(&here);
        for (unsigned block = 0; block < blocks(); block++)
            asm volatile("{\n.reg .u32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
                         "st.shared::cluster.u32 [there], %2;\n}" ::"r"(at),
                         "r"(block), "r"(value)
                         : "memory");
    }
    __device__ __forceinline__ unsigned find_largest(unsigned own)
    {
        if (blocks() == 1)
            return own;
        if (threadIdx.x < 32)
            tell(largest[rank()][threadIdx.x], own);
        meet();
        return told::find_largest(largest, 0, blocks());
    }
    __device__ __forceinline__ line_counts count(line_counts own)
    {
        if (blocks() == 1)
            return own;
        if (threadIdx.x < 32) {
            tell(counted[rank()][threadIdx.x].low, own.low);
            tell(counted[rank()][threadIdx.x].deep, own.deep);
        }
        meet();
        return told::count(counted, 0, blocks());
    }
};

// Lines that are stored along K: `warps` of a block share each. A lane has four neighbours of every 128 elements.
struct long_lines {
    static constexpr int AHEAD = 4, SPAN = AHEAD * 128; // loads under way, and what they bring

    __device__ __forceinline__ static unsigned blocks()
    {
        return 1; // that share lines
    }
    __device__ __forceinline__ static int warps(gt_int k)
    {
        return k > 8192 ? PARTS_WARPS : k > 1024 ? 4 : 1;
    }
    __device__ __forceinline__ static gt_int of_block(gt_int k)
    {
        return PARTS_WARPS / warps(k);
    }

    __device__ __forceinline__ static void load(four_elements (&held)[AHEAD], const float *from, gt_int at, gt_int k)
    {
#pragma unroll
        for (int i = 0; i < AHEAD; i++, at += 128)
            if (GT_ALIGN >= 16 && at + 4 <= k)
                held[i] = *(const four_elements *)(from + at);
            else
#pragma unroll
                for (int e = 0; e < 4; e++)
                    held[i].e[e] = at + e < k ? from[at + e] : 0;
    }

    // Those that begin with the first of a block, `lines` of them.
    __device__ __forceinline__ static void split(told &t, const float *from, gt_int ld, gt_int lines, gt_int k,
                                                 gt_half *to, gt_int to_ld, line_known *known)
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, of_line = warps(k), line = warp / of_line;
        const bool there = line < lines;
        const gt_int first = (warp % of_line) * (gt_int)SPAN + lane * 4, end = there ? k : 0;
        four_elements held[AHEAD];
        line_counts counted;
        unsigned largest = 0;
        from += line * ld;
        to += line * to_ld + lane / 8 * (2 * PARTS_STEP) + lane % 8 * 4;
        for (gt_int at = first; at < end; at += of_line * SPAN) {
            load(held, from, at, k);
#pragma unroll
            for (int i = 0; i < AHEAD * 4; i++)
                largest = max(largest, __float_as_uint(held[i / 4].e[i % 4]) & MAGNITUDE);
        }
        t.largest[warp][lane] = __reduce_max_sync(~0u, largest);
        __syncthreads();
        largest = told::find_largest(t.largest, line * of_line, of_line);
        const float up = line_scale(largest).up();
        // From the end on: what was read last is still in a cache.
        const gt_int turns = (end + of_line * SPAN - 1) / (of_line * SPAN);
        for (gt_int at = first + (turns - 1) * of_line * SPAN; at >= 0; at -= of_line * SPAN) {
            load(held, from, at, k);
#pragma unroll
            for (int i = 0; i < AHEAD; i++) {
                const gt_int p = at + i * 128;
                four_parts hi, lo;
#pragma unroll
                for (int e = 0; e < 4; e += 2) {
                    const element_parts even(held[i].e[e], up, p + e < k, counted),
                        odd(held[i].e[e + 1], up, p + e + 1 < k, counted);
                    hi.e[e / 2] = even.hi | odd.hi << 16;
                    lo.e[e / 2] = even.lo | odd.lo << 16;
                }
                if (p - lane % 8 * 4 < k) { // of a step that has elements
                    gt_half *place = to + (p - lane * 4) * 2;
                    *(four_parts *)place = hi;
                    *(four_parts *)(place + PARTS_STEP) = lo;
                }
            }
        }
        t.counted[warp][lane].low = __reduce_add_sync(~0u, counted.low);
        t.counted[warp][lane].deep = __reduce_add_sync(~0u, counted.deep);
        __syncthreads();
        if (there && warp % of_line == 0 && lane == 0)
            known[line] = know(largest, told::count(t.counted, warp, of_line), k);
    }
};

// Lines that are stored across K, WIDTH by a cluster: a warp has PARTS_STEP elements of each at a time, a lane 16 of
// one.
struct strip {
    static constexpr int WIDTH = 16, ELEMENTS = PARTS_STEP * WIDTH / 32, TURN = PARTS_WARPS * PARTS_STEP;
    typedef float elements[ELEMENTS];
    typedef gt_vector<unsigned, 4> piece; // eight his or los
    static constexpr int PIECES = PARTS_STEP / 8, OWN = ELEMENTS / 8;

    __device__ __forceinline__ static unsigned blocks()
    {
        return told_in_cluster::blocks();
    }
    __device__ __forceinline__ static gt_int of_block(gt_int)
    {
        return WIDTH;
    }

    __device__ __forceinline__ static void load(elements &held, const float *from, gt_int ld, gt_int first, gt_int k)
    {
        from += first * ld;
        if (first + ELEMENTS <= k) {
#pragma unroll
            for (int i = 0; i < ELEMENTS; i++)
                held[i] = from[i * ld];
        } else {
#pragma unroll
            for (int i = 0; i < ELEMENTS; i++)
                held[i] = first + i < k ? from[i * ld] : 0;
        }
    }

    __device__ __forceinline__ static void split(told &t, const float *from, gt_int ld, gt_int lines, gt_int k,
                                                 gt_half *to, gt_int to_ld, line_known *known)
    {
        __shared__ piece pieces[PARTS_WARPS][WIDTH][PIECES];
        __shared__ told_in_cluster others;
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, line = lane % WIDTH, half = lane / WIDTH;
        const gt_int of_warp = (others.rank() * PARTS_WARPS + warp) * PARTS_STEP, turn = others.blocks() * TURN;
        const gt_int begin = of_warp + half * ELEMENTS; // of this lane
        elements held, next;
        line_counts counted;
        unsigned largest = 0;
        from += line < lines ? line : 0; // others do again what the first one does
        for (gt_int first = begin; first < k; first += 2 * turn) {
            load(held, from, ld, first, k);
            load(next, from, ld, first + turn, k);
#pragma unroll
            for (int i = 0; i < ELEMENTS; i++)
                largest = max(largest, max(__float_as_uint(held[i]) & MAGNITUDE, __float_as_uint(next[i]) & MAGNITUDE));
        }
        t.largest[warp][lane] = max(largest, __shfl_xor_sync(~0u, largest, WIDTH));
        __syncthreads();
        largest = others.find_largest(told::find_largest(t.largest, 0, PARTS_WARPS));
        const float up = line_scale(largest).up();
        // From the end on: what was read last is still in a cache. The elements of the next turn come meanwhile.
        gt_int first = begin + (k - 1 - of_warp + turn) / turn * turn - turn;
        if (first >= 0)
            load(next, from, ld, first, k);
        for (; first >= 0; first -= turn) {
            unsigned lo[ELEMENTS / 2];
#pragma unroll
            for (int i = 0; i < ELEMENTS; i++)
                held[i] = next[i];
            if (first >= turn)
                load(next, from, ld, first - turn, k);
            gt_half *const place = to + (first - half * ELEMENTS) * 2;
#pragma unroll
            for (int i = 0; i < ELEMENTS; i += 8) {
                piece hi;
#pragma unroll
                for (int e = i; e < i + 8; e += 2) {
                    const element_parts even(held[e], up, first + e < k, counted),
                        odd(held[e + 1], up, first + e + 1 < k, counted);
                    hi.e[(e - i) / 2] = even.hi | odd.hi << 16;
                    lo[e / 2] = even.lo | odd.lo << 16;
                }
                pieces[warp][line][place_of(half * OWN + i / 8, line)] = hi;
            }
            store(pieces[warp], lines, place, to_ld);
#pragma unroll
            for (int i = 0; i < OWN; i++)
                pieces[warp][line][place_of(half * OWN + i, line)] = {lo[i * 4], lo[i * 4 + 1], lo[i * 4 + 2],
                                                                      lo[i * 4 + 3]};
            store(pieces[warp], lines, place + PARTS_STEP, to_ld);
        }
        t.counted[warp][lane].low = counted.low + __shfl_xor_sync(~0u, counted.low, WIDTH);
        t.counted[warp][lane].deep = counted.deep + __shfl_xor_sync(~0u, counted.deep, WIDTH);
        __syncthreads();
        counted = others.count(told::count(t.counted, 0, PARTS_WARPS));
        if (others.rank() == 0 && warp == 0 && lane < WIDTH && line < lines)
            known[line] = know(largest, counted, k);
    }

    // Where a piece of a line lies, so that eight lanes find theirs in all banks.
    __device__ __forceinline__ static int place_of(int piece, int line)
    {
        return piece ^ line / 2 % PIECES;
    }

    // Four lanes store a line's his, or los: 64 bytes.
    __device__ __forceinline__ static void store(const piece (&pieces)[WIDTH][PIECES], gt_int lines, gt_half *to,
                                                 gt_int to_ld)
    {
        const int lane = threadIdx.x % 32, which = lane % PIECES;
        __syncwarp();
#pragma unroll
        for (int i = 0; i < WIDTH; i += 32 / PIECES) {
            const int line = i + lane / PIECES;
            if (line < lines)
                *(piece *)(to + line * to_ld + which * 8) = pieces[line][place_of(which, line)];
        }
        __syncwarp();
    }
};

template <bool ALONG_K> struct lines_of {
    typedef long_lines type;
};
template <> struct lines_of<false> {
    typedef strip type;
};
typedef lines_of<GT_A_ALONG_K>::type lines_a;
typedef lines_of<GT_B_ALONG_K>::type lines_b;

// Blocks deal out among them the lines of both operands; strips, which take longer, first, so that they begin with the
// first block of a cluster.
extern "C" __global__ void __launch_bounds__(PARTS_WARPS * 32, 2) repack(const __grid_constant__ gt_args g)
{
    constexpr bool B_FIRST = GT_A_ALONG_K && !GT_B_ALONG_K;
    __shared__ told t;
    if (told_in_cluster::blocks() > 1)
        told_in_cluster::meet(); // all run
    gt_begin();
    const gt_int of_a = lines_a::of_block(g.k), of_b = lines_b::of_block(g.k), ld = parts_ld(g);
    const gt_int blocks_a = (g.m + of_a - 1) / of_a * lines_a::blocks(),
                 blocks_b = (g.n + of_b - 1) / of_b * lines_b::blocks();
    const operand_parts a = parts_of(g, true), b = parts_of(g, false);
    for (gt_int number = blockIdx.x; number < blocks_a + blocks_b; number += gridDim.x) {
        const bool is_a = B_FIRST ? number >= blocks_b : number < blocks_a;
        const gt_int within = is_a == B_FIRST ? number - (B_FIRST ? blocks_b : blocks_a) : number;
        if (is_a) {
            const gt_int first = within / lines_a::blocks() * of_a;
            lines_a::split(t, g.a + blockIdx.z * g.stride_a + first * (GT_A_ALONG_K ? g.lda : 1), g.lda, g.m - first,
                           g.k, a.lines + first * ld, ld, a.known + first);
        } else {
            const gt_int first = within / lines_b::blocks() * of_b;
            lines_b::split(t, g.b + blockIdx.z * g.stride_b + first * (GT_B_ALONG_K ? g.ldb : 1), g.ldb, g.n - first,
                           g.k, b.lines + first * ld, ld, b.known + first);
        }
        __syncthreads(); // what was told has been read
    }
}

// ---- what the product asks ----

// Of some lines of an operand: the exponent of the largest element, the largest shares of low and deep ones. All lanes
// of a warp ask, and know.
struct lines_known {
    unsigned exponent = 0, low = 0, deep = 0;

    __device__ __forceinline__ lines_known(const line_known *known, gt_int first, int count, gt_int lines)
    {
        for (int i = threadIdx.x % 32; i < count; i += 32)
            if (first + i < lines) {
                const unsigned what = known[first + i].what;
                exponent = max(exponent, what >> EXPONENT_AT);
                low = max(low, what >> LOW_AT & SHARE);
                deep = max(deep, what & SHARE);
            }
        exponent = __reduce_max_sync(~0u, exponent);
        low = __reduce_max_sync(~0u, low);
        deep = __reduce_max_sync(~0u, deep);
    }
};

// Whether the parts of lines may be multiplied: as said above, n <= 2^-6 (K - s), or there is nothing deep. Elements
// with an exponent x are below 2^(x - 126); sums stay below 2^126, so that rounding does not carry them beyond the
// largest number either.
__device__ __forceinline__ bool parts_suffice(const gt_args &g, gt_int row, int rows, gt_int column, int columns)
{
    const lines_known a(parts_of(g, true).known, row, rows, g.m), b(parts_of(g, false).known, column, columns, g.n);
    const int terms = 64 - __clzll(g.k), deep = (int)(a.deep + b.deep); // K is below two to `terms`
    static_assert(DEEP_WHOLE / 64 * 16 >= SHARE, "16 times a deep share is 2^6 times its part of all");
    return a.exponent != NOT_FINITE && b.exponent != NOT_FINITE && (int)(a.exponent + b.exponent) + terms <= 3 * 126 &&
           (deep == 0 || deep * 16 <= (int)SHARE - (int)(a.low + b.low));
}

#endif
