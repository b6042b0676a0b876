// The kernel before the product: operands of f32 into two parts of f16 (split_parts.cuh). Each element is read once:
// the first ones of a line say what its scale is to be, which leaves room for larger ones. Where a larger one still
// does not fit, the block does its lines again, with the scale of the largest.
#ifndef GT_SPLIT_PASS_CUH
#define GT_SPLIT_PASS_CUH

#include "split_parts.cuh"

constexpr int PARTS_WARPS = 16, PARTS_CLUSTER = 8; // warps of a block, blocks of a cluster at most
__device__ __forceinline__ unsigned magnitude(float element)
{
    return __float_as_uint(element) & 0x7fffffff;
}
typedef gt_vector<float, 4> four_elements;
typedef gt_vector<unsigned, 2> four_parts;

// A line's scale, from the bits of a magnitude: its square is multiplied with.
struct line_scale {
    int half; // of the power of two

    // The magnitude's power of two; many less than all where it is zero.
    __device__ __forceinline__ static int power(unsigned magnitude)
    {
        return magnitude >> 23 ? (int)(magnitude >> 23) - 127 : 31 - __clz(magnitude) - 149;
    }
    // Of a line whose largest magnitude this is, or, where not all have been seen, of some elements: the others may be
    // four times as large.
    __device__ __forceinline__ line_scale(unsigned largest, bool of_all)
    {
        half = largest == 0 ? 0 : ((of_all ? 14 : 12) - power(largest)) >> 1;
    }
    // Whether it fits a line with this largest magnitude. Nothing fits what is not finite, and nothing is asked of it.
    __device__ __forceinline__ bool fits(unsigned largest) const
    {
        const int scaled = power(largest) + 2 * half;
        return largest == 0 || largest >> 23 == NOT_FINITE || (scaled >= 11 && scaled <= 14);
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

__device__ __forceinline__ line_known know(unsigned largest, line_scale scale, line_counts counted, gt_int k)
{
    if (largest == 0)
        return {1, 0};
    const gt_int low = ((gt_int)counted.low * SHARE + k - 1) / k,
                 deep = ((gt_int)counted.deep * DEEP_WHOLE + k - 1) / k;
    return {scale.undo(),
            largest >> 23 << EXPONENT_AT | (unsigned)low << LOW_AT | (deep < SHARE ? (unsigned)deep : SHARE)};
}

// What warps of a block tell each other: of a line those from `first` on, so many.
struct told {
    unsigned sampled[PARTS_WARPS][32], largest[PARTS_WARPS][32];
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

// Blocks of a cluster share strips (below), each a part of K, where there are few. They tell each other of their lines,
// all warps of a block the same: one writes for all blocks, and all meet.
struct told_in_cluster {
    unsigned sampled[PARTS_CLUSTER][32], largest[PARTS_CLUSTER][32];
    line_counts counted[PARTS_CLUSTER][32];

    __device__ __forceinline__ static unsigned blocks()
    {
        unsigned count = 1;
#if __CUDA_ARCH__ >= 900
        asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
#endif
        return count;
    }
    __device__ __forceinline__ static unsigned rank()
    {
        unsigned rank = 0;
#if __CUDA_ARCH__ >= 900
        asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
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
    // The largest magnitudes of some elements, then of all, with counts.
    __device__ __forceinline__ unsigned sample(unsigned own)
    {
        if (blocks() == 1)
            return own;
        if (threadIdx.x < 32)
            tell(sampled[rank()][threadIdx.x], own);
        meet();
        return told::find_largest(sampled, 0, blocks());
    }
    __device__ __forceinline__ void add(unsigned &own, line_counts &own_counts)
    {
        if (blocks() == 1)
            return;
        if (threadIdx.x < 32) {
            tell(largest[rank()][threadIdx.x], own);
            tell(counted[rank()][threadIdx.x].low, own_counts.low);
            tell(counted[rank()][threadIdx.x].deep, own_counts.deep);
        }
        meet();
        own = told::find_largest(largest, 0, blocks());
        own_counts = told::count(counted, 0, blocks());
    }
    // Before they are told again.
    __device__ __forceinline__ static void begin_again()
    {
        if (blocks() > 1)
            meet();
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
        const gt_int turn = of_line * SPAN;
        four_elements held[AHEAD];
        unsigned largest = 0;
        from += line * ld;
        to += line * to_ld + lane / 8 * (2 * PARTS_STEP) + lane % 8 * 4;
        load(held, from, first, end);
#pragma unroll
        for (int i = 0; i < AHEAD * 4; i++)
            largest = max(largest, magnitude(held[i / 4].e[i % 4]));
        t.sampled[warp][lane] = __reduce_max_sync(~0u, largest);
        __syncthreads();
        line_scale scale(told::find_largest(t.sampled, line * of_line, of_line), k <= turn);
        for (;;) {
            const float up = scale.up();
            line_counts counted;
            largest = 0;
            for (gt_int begin = 0; begin < end; begin += turn) {
                const gt_int at = begin + first;
                load(held, from, at, k);
#pragma unroll
                for (int i = 0; i < AHEAD; i++) {
                    const gt_int p = at + i * 128;
                    four_parts hi, lo;
#pragma unroll
                    for (int e = 0; e < 4; e += 2) {
                        const element_parts even(held[i].e[e], up, p + e < k, counted),
                            odd(held[i].e[e + 1], up, p + e + 1 < k, counted);
                        largest = max(largest, max(magnitude(held[i].e[e]), magnitude(held[i].e[e + 1])));
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
            t.largest[warp][lane] = __reduce_max_sync(~0u, largest);
            t.counted[warp][lane].low = __reduce_add_sync(~0u, counted.low);
            t.counted[warp][lane].deep = __reduce_add_sync(~0u, counted.deep);
            __syncthreads();
            largest = told::find_largest(t.largest, line * of_line, of_line);
            counted = told::count(t.counted, line * of_line, of_line);
            if (!__syncthreads_or(!scale.fits(largest))) {
                if (there && warp % of_line == 0 && lane == 0)
                    known[line] = know(largest, scale, counted, k);
                break;
            }
            scale = line_scale(largest, true);
        }
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
        unsigned largest = 0;
        from += line < lines ? line : 0; // others do again what the first one does
        load(held, from, ld, begin, k);
        load(next, from, ld, begin + turn, k);
#pragma unroll
        for (int i = 0; i < ELEMENTS; i++)
            largest = max(largest, max(magnitude(held[i]), magnitude(next[i])));
        t.sampled[warp][lane] = max(largest, __shfl_xor_sync(~0u, largest, WIDTH));
        __syncthreads();
        line_scale scale(others.sample(told::find_largest(t.sampled, 0, PARTS_WARPS)), k <= 2 * turn);
        for (;;) {
            const float up = scale.up();
            line_counts counted;
            largest = 0;
            load(next, from, ld, begin, k);
            for (gt_int at = of_warp; at < k; at += turn) {
                const gt_int first = at + half * ELEMENTS;
                gt_half *const place = to + at * 2;
                unsigned lo[ELEMENTS / 2];
#pragma unroll
                for (int i = 0; i < ELEMENTS; i++)
                    held[i] = next[i];
                if (at + turn < k)
                    load(next, from, ld, first + turn, k); // comes meanwhile
#pragma unroll
                for (int i = 0; i < ELEMENTS; i += 8) {
                    piece hi;
#pragma unroll
                    for (int e = i; e < i + 8; e += 2) {
                        const element_parts even(held[e], up, first + e < k, counted),
                            odd(held[e + 1], up, first + e + 1 < k, counted);
                        largest = max(largest, max(magnitude(held[e]), magnitude(held[e + 1])));
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
            t.largest[warp][lane] = max(largest, __shfl_xor_sync(~0u, largest, WIDTH));
            t.counted[warp][lane].low = counted.low + __shfl_xor_sync(~0u, counted.low, WIDTH);
            t.counted[warp][lane].deep = counted.deep + __shfl_xor_sync(~0u, counted.deep, WIDTH);
            __syncthreads();
            largest = told::find_largest(t.largest, 0, PARTS_WARPS);
            counted = told::count(t.counted, 0, PARTS_WARPS);
            others.add(largest, counted);
            if (!__syncthreads_or(!scale.fits(largest))) {
                if (others.rank() == 0 && warp == 0 && lane < WIDTH && line < lines)
                    known[line] = know(largest, scale, counted, k);
                break;
            }
            scale = line_scale(largest, true);
            others.begin_again();
        }
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

#endif
