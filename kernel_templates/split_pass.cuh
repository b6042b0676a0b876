// The kernel before the product: operands of f32 into two parts of f16 (split_parts.cuh). Each element is read once:
// the first ones of a line say what its scale is to be, which leaves room for larger ones. Where a larger one still
// does not fit, the block does its lines again, with the scale of the largest.
#ifndef GT_SPLIT_PASS_CUH
#define GT_SPLIT_PASS_CUH

#include "split_parts.cuh"

constexpr int PARTS_WARPS = 8, PARTS_CLUSTER = 8; // warps of a block, blocks of a cluster at most
typedef gt_vector<float, 4> four_elements;
typedef gt_vector<unsigned, 2> four_parts;

// Bits that compare as magnitudes do.
__device__ __forceinline__ unsigned magnitude(float element)
{
    return __float_as_uint(element) & 0x7fffffff;
}

// A line's scale, from the bits of a magnitude: its square is multiplied with.
struct line_scale {
    int half = 0; // of the power of two

    // The power of two of a magnitude, which is not zero.
    __device__ __forceinline__ static int power(unsigned magnitude)
    {
        return magnitude >> 23 ? (int)(magnitude >> 23) - 127 : 31 - __clz(magnitude) - 149;
    }
    line_scale() = default;
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

// What a line has of such elements; zeros that stand behind its end count as low. `fine`: lanes that have seen a lo
// that is not zero.
struct line_counts {
    int low = 0, deep = 0, deepest = 0, fine = 0;
};

// What is seen of a line's elements on their way.
struct line_seen {
    unsigned largest = 0;
    line_counts counted;

    template <int COUNT> __device__ __forceinline__ void see(const float (&elements)[COUNT])
    {
#pragma unroll
        for (int e = 0; e < COUNT; e++)
            largest = max(largest, magnitude(elements[e]));
    }
    // Few elements are low, mostly: they are looked for only where the smallest one is.
    template <int COUNT> __device__ __forceinline__ void count(const float (&elements)[COUNT], float up)
    {
        unsigned least = ~0u;
#pragma unroll
        for (int e = 0; e < COUNT; e++)
            least = min(least, magnitude(elements[e]));
        if (__uint_as_float(least) * up * up < 0x1p-4f)
#pragma unroll
            for (int e = 0; e < COUNT; e++) {
                const float v = fabsf(elements[e]) * up * up;
                counted.low += v < 0x1p-4f;
                counted.deep += v < 0x1p-14f && elements[e] != 0;
                counted.deepest += v < 0x1p-96f && elements[e] != 0;
            }
    }
};

// The parts of two neighbours, the first one's in the lower halves.
struct pair_parts {
    unsigned hi, lo;

    __device__ __forceinline__ static float unpack(unsigned short bits)
    {
        gt_half value;
        value.bits = bits;
        return float(value);
    }
    __device__ __forceinline__ pair_parts(float first, float second, float up)
    {
        float v = first * up * up, w = second * up * up;
        hi = gt_pack(gt_half(), v, w);
        v = (v - unpack((unsigned short)hi)) * LO_SCALE;
        w = (w - unpack((unsigned short)(hi >> 16))) * LO_SCALE;
        lo = gt_pack(gt_half(), v, w);
    }
};

// `behind`: zeros behind its end that were counted.
__device__ __forceinline__ line_known know(const line_seen &seen, line_scale scale, gt_int k, gt_int behind)
{
    if (seen.largest == 0)
        return {1, 0};
    const gt_int low = ((seen.counted.low - behind) * ALL_LOW + k - 1) / k,
                 deep = ((gt_int)seen.counted.deep * ALL_DEEP + k - 1) / k;
    return {seen.counted.deepest > 0 ? -scale.undo() : scale.undo(),
            seen.largest >> 23 << EXPONENT_AT | (unsigned)(seen.counted.fine > 0) << FINE_AT | (unsigned)low << LOW_AT |
                (deep < MOST_DEEP ? (unsigned)deep : MOST_DEEP)};
}

// What warps of a block, or blocks of a cluster, tell each other: of a line those from `first` on, so many.
static_assert(PARTS_CLUSTER <= PARTS_WARPS, "loops over warps do for blocks");
struct told {
    unsigned sampled[PARTS_WARPS][32], largest[PARTS_WARPS][32];
    line_counts counted[PARTS_WARPS][32];

    __device__ __forceinline__ static unsigned find_largest(const unsigned (*of)[32], unsigned first, int warps)
    {
        unsigned largest = 0;
#pragma unroll
        for (int w = 0; w < PARTS_WARPS; w++)
            if (w < warps)
                largest = max(largest, of[first + w][threadIdx.x % 32]);
        return largest;
    }
    __device__ __forceinline__ static line_counts count(const line_counts (*of)[32], unsigned first, int warps)
    {
        line_counts all;
#pragma unroll
        for (int w = 0; w < PARTS_WARPS; w++)
            if (w < warps) {
                all.low += of[first + w][threadIdx.x % 32].low;
                all.deep += of[first + w][threadIdx.x % 32].deep;
                all.deepest += of[first + w][threadIdx.x % 32].deepest;
                all.fine += of[first + w][threadIdx.x % 32].fine;
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
#pragma unroll 1
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
    __device__ __forceinline__ void add(line_seen &own)
    {
        if (blocks() == 1)
            return;
        if (threadIdx.x < 32) {
            tell(largest[rank()][threadIdx.x], own.largest);
            tell(counted[rank()][threadIdx.x].low, own.counted.low);
            tell(counted[rank()][threadIdx.x].deep, own.counted.deep);
            tell(counted[rank()][threadIdx.x].deepest, own.counted.deepest);
            tell(counted[rank()][threadIdx.x].fine, own.counted.fine);
        }
        meet();
        own = {told::find_largest(largest, 0, blocks()), told::count(counted, 0, blocks())};
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

    typedef float elements[AHEAD * 4];

    __device__ __forceinline__ static void load(elements &held, const float *from, gt_int at, gt_int k)
    {
#pragma unroll
        for (int i = 0; i < AHEAD * 4; i += 4, at += 128)
            if (GT_ALIGN >= 16 && at + 4 <= k)
                *(four_elements *)&held[i] = *(const four_elements *)(from + at);
            else
#pragma unroll
                for (int e = 0; e < 4; e++)
                    held[i + e] = at + e < k ? from[at + e] : 0;
    }

    // Those that begin with the first of a block, `lines` of them.
    __device__ __forceinline__ static void split(told &t, const float *from, gt_int ld, gt_int lines, gt_int k,
                                                 operand_parts to)
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, of_line = warps(k), line = warp / of_line;
        const bool there = line < lines;
        const gt_int first = (warp % of_line) * (gt_int)SPAN + lane * 4, end = there ? k : 0;
        const gt_int turn = of_line * SPAN;
        elements held;
        line_seen sample;
        from += line * ld;
        gt_half *const parts = to.lines + line * to.line_pitch + lane / 8 * STEP_PARTS + lane % 8 * 4;
        load(held, from, first, end);
        sample.see(held);
        t.sampled[warp][lane] = __reduce_max_sync(~0u, sample.largest);
        __syncthreads();
        line_scale scale(told::find_largest(t.sampled, line * of_line, of_line), k <= turn);
        for (;;) {
            const float up = scale.up();
            line_seen seen;
            unsigned los = 0;
#pragma unroll 1
            for (gt_int begin = 0; begin < end; begin += turn) {
                const gt_int at = begin + first;
                load(held, from, at, k);
                seen.see(held);
                seen.count(held, up);
#pragma unroll
                for (int i = 0; i < AHEAD; i++) {
                    const gt_int p = at + i * 128;
                    const pair_parts even(held[i * 4], held[i * 4 + 1], up), odd(held[i * 4 + 2], held[i * 4 + 3], up);
                    los |= even.lo | odd.lo;
                    if (p - lane % 8 * 4 < k) { // of a step that has elements
                        gt_half *place = parts + (p - lane * 4) * 2;
                        *(four_parts *)place = {even.hi, odd.hi};
                        *(four_parts *)(place + PARTS_STEP) = {even.lo, odd.lo};
                    }
                }
            }
            t.largest[warp][lane] = __reduce_max_sync(~0u, seen.largest);
            t.counted[warp][lane].low = __reduce_add_sync(~0u, seen.counted.low);
            t.counted[warp][lane].deep = __reduce_add_sync(~0u, seen.counted.deep);
            t.counted[warp][lane].deepest = __reduce_add_sync(~0u, seen.counted.deepest);
            t.counted[warp][lane].fine = __any_sync(~0u, los != 0);
            __syncthreads();
            seen = {told::find_largest(t.largest, line * of_line, of_line),
                    told::count(t.counted, line * of_line, of_line)};
            if (!__syncthreads_or(!scale.fits(seen.largest))) {
                if (there && warp % of_line == 0 && lane == 0)
                    to.known[line] = know(seen, scale, k, (k + turn - 1) / turn * turn - k);
                break;
            }
            scale = line_scale(seen.largest, true);
        }
    }
};

// Lines that are stored across K, a warp's width of them by a cluster: a lane has one, PARTS_STEP elements of it at a
// time, and as many under way.
struct strip {
    static constexpr int WIDTH = 32, TURN = PARTS_WARPS * PARTS_STEP;
    typedef float elements[PARTS_STEP];
    typedef gt_vector<unsigned, 4> piece; // eight his or los
    static constexpr int OF_HI = PARTS_STEP / 8, PIECES = 2 * OF_HI;
    typedef piece lines_of_warp[WIDTH][PIECES];

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
        if (first + PARTS_STEP <= k) {
#pragma unroll
            for (int i = 0; i < PARTS_STEP; i++, from += ld)
                held[i] = *from;
        } else {
#pragma unroll
            for (int i = 0; i < PARTS_STEP; i++, from += ld)
                held[i] = first + i < k ? *from : 0;
        }
    }

    __device__ __forceinline__ static void split(told &t, const float *from, gt_int ld, gt_int lines, gt_int k,
                                                 operand_parts to)
    {
        __shared__ lines_of_warp parts[PARTS_WARPS];
        __shared__ told_in_cluster others;
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const gt_int of_warp = (others.rank() * PARTS_WARPS + warp) * PARTS_STEP, turn = others.blocks() * TURN;
        elements held;
        line_scale scale;
        bool scaled = false;
        from += lane < lines ? lane : 0; // others do again what the first one does
        for (;;) {
            line_seen seen;
            load(held, from, ld, of_warp, k);
            if (!scaled) {
                line_seen sample;
                sample.see(held);
                t.sampled[warp][lane] = sample.largest;
                __syncthreads();
                scale = line_scale(others.sample(told::find_largest(t.sampled, 0, PARTS_WARPS)), k <= turn);
                scaled = true;
            }
            const float up = scale.up();
            unsigned los = 0;
#pragma unroll 1
            for (gt_int at = of_warp; at < k; at += turn) {
                elements next;
                load(next, from, ld, at + turn, k);
                seen.see(held);
                seen.count(held, up);
                los |= split_step(held, up, parts[warp]);
                store(parts[warp], lines, to.lines + at / PARTS_STEP * to.step_pitch, to.line_pitch);
#pragma unroll
                for (int i = 0; i < PARTS_STEP; i++)
                    held[i] = next[i];
            }
            seen.counted.fine = los != 0;
            t.largest[warp][lane] = seen.largest;
            t.counted[warp][lane] = seen.counted;
            __syncthreads();
            seen = {told::find_largest(t.largest, 0, PARTS_WARPS), told::count(t.counted, 0, PARTS_WARPS)};
            others.add(seen);
            if (!__syncthreads_or(!scale.fits(seen.largest))) {
                if (others.rank() == 0 && warp == 0 && lane < lines)
                    to.known[lane] = know(seen, scale, k, (k + PARTS_STEP - 1) / PARTS_STEP * PARTS_STEP - k);
                break;
            }
            scale = line_scale(seen.largest, true);
            others.begin_again();
        }
    }

    // Where a piece of a line lies, so that eight lanes find theirs in all banks.
    __device__ __forceinline__ static int place_of(int piece, int line)
    {
        return piece ^ line % PIECES;
    }

    // A lane's line. Gives bits of its los.
    __device__ __forceinline__ static unsigned split_step(const elements &held, float up, lines_of_warp &parts)
    {
        const int lane = threadIdx.x % 32;
        unsigned los = 0;
#pragma unroll
        for (int i = 0; i < OF_HI; i++) {
            piece hi, lo;
#pragma unroll
            for (int e = 0; e < 8; e += 2) {
                const pair_parts both(held[i * 8 + e], held[i * 8 + e + 1], up);
                hi.e[e / 2] = both.hi;
                lo.e[e / 2] = both.lo;
                los |= both.lo;
            }
            parts[lane][place_of(i, lane)] = hi;
            parts[lane][place_of(OF_HI + i, lane)] = lo;
        }
        return los;
    }

    // Eight lanes store a line's his and los: 128 bytes.
    __device__ __forceinline__ static void store(const lines_of_warp &parts, gt_int lines, gt_half *to, gt_int pitch)
    {
        const int lane = threadIdx.x % 32, which = lane % PIECES;
        to += lane / PIECES * pitch + which * 8;
        __syncwarp();
#pragma unroll
        for (int line = lane / PIECES; line < WIDTH; line += 32 / PIECES, to += 32 / PIECES * pitch)
            if (line < lines)
                *(piece *)to = parts[line][place_of(which, line)];
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
extern "C" __global__ void __launch_bounds__(PARTS_WARPS * 32, GT_A_ALONG_K &&GT_B_ALONG_K ? 3 : 2)
    repack(const __grid_constant__ gt_args g)
{
    constexpr bool B_FIRST = GT_A_ALONG_K && !GT_B_ALONG_K;
    __shared__ told t;
    if (told_in_cluster::blocks() > 1)
        told_in_cluster::meet(); // all run
    gt_begin();
    const gt_int of_a = lines_a::of_block(g.k), of_b = lines_b::of_block(g.k);
    const gt_int blocks_a = (g.m + of_a - 1) / of_a * lines_a::blocks(),
                 blocks_b = (g.n + of_b - 1) / of_b * lines_b::blocks();
    const operand_parts a = parts_of<true>(g), b = parts_of<false>(g);
    const float *const from_a = g.a + blockIdx.z * g.stride_a, *const from_b = g.b + blockIdx.z * g.stride_b;
    for (gt_int number = blockIdx.x; number < blocks_a + blocks_b; number += gridDim.x) {
        const bool is_a = B_FIRST ? number >= blocks_b : number < blocks_a;
        const gt_int within = is_a == B_FIRST ? number - (B_FIRST ? blocks_b : blocks_a) : number;
        // Lines of both operands that are stored alike are split by the same code.
        if (is_a || GT_A_ALONG_K == GT_B_ALONG_K) {
            const gt_int first = within / lines_a::blocks() * of_a, lda = is_a ? g.lda : g.ldb;
            lines_a::split(t, (is_a ? from_a : from_b) + first * (GT_A_ALONG_K ? lda : 1), lda,
                           (is_a ? g.m : g.n) - first, g.k, (is_a ? a : b).from_line(first));
        } else {
            const gt_int first = within / lines_b::blocks() * of_b;
            lines_b::split(t, from_b + first * (GT_B_ALONG_K ? g.ldb : 1), g.ldb, g.n - first, g.k,
                           b.from_line(first));
        }
        __syncthreads(); // what was told has been read
    }
}

#endif
