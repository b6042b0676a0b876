// The producer's part of skinny.cu: copies from global to shared memory in the background, of the streamed operand
// into each lane's corner of a slot, and of chunks of the kept one for the block. Included by skinny.cu.
//
// Needs: V, ALONG_K, KEPT_ALONG_K, FEW, UNIT, PITCH, THREADS_; struct operands; column_of and step_of; async_copy.cuh.
// Offers: struct stream, whose fetch starts the copies of a warp's next unit; stage, which starts those of a chunk. The
// caller commits the copies and waits for them.
#ifndef GT_SKINNY_PRODUCER_CUH
#define GT_SKINNY_PRODUCER_CUH

// Starts a copy of V elements of the streamed operand, of which the first `valid` are read; the rest become zeros. It
// passes through L1 only where warps share it or the copy is short.
__device__ __forceinline__ void copy_streamed(GT_AB *to, const GT_AB *from, int valid, unsigned long long policy)
{
    constexpr bool IN_L1 = WARPS_FEW > 1;
    gt_copy_async<V * sizeof(GT_AB), IN_L1, (gt_l2)HINT>(gt_shared_address(to), from, valid * GT_AB_BYTES,
                                                         policy);
}

// The units of the streamed operand that a warp takes, one after the other. What lies beyond the matrix is not read but
// filled with zeros, from the address where it would be: lanes that copy from one address go one after the other.
struct stream {
    static constexpr int LINES = ALONG_K ? T_MANY : 4;        // lines of the matrix that a lane reads in a unit
    static constexpr int PIECES = (ALONG_K ? 4 : T_MANY) / V; // vectors on each

    const GT_AB *line[ALONG_K ? T_MANY : 1]; // where the next unit begins
    gt_int ld;
    int columns; // from the lane's first one to the end of the matrix
    unsigned long long policy;

    __device__ __forceinline__ stream(const operands &o, gt_int first, gt_int k) : ld(o.ld_streamed)
    {
        columns = gt_clip(o.many - first, COVER) - column_of(0);
        policy = HINT == GT_L2_EVICT_FIRST ? gt_evict_first() : 0;
#pragma unroll
        for (int l = 0; l < (ALONG_K ? T_MANY : 1); l++)
            line[l] = ALONG_K ? o.streamed + (first + column_of(l)) * ld + k + step_of(0)
                              : o.streamed + (k + step_of(0)) * ld + first + column_of(0);
    }

    // Starts bringing the next unit into the lane's corner of a slot: element (e, j), k-step by column, becomes b[j][e]
    // or, where columns are contiguous, b[e][j]. WHOLE: all of it lies in the matrix; else only k_left k-steps may.
    template <bool WHOLE> __device__ __forceinline__ void fetch(GT_AB *corner, int k_left)
    {
#pragma unroll
        for (int l = 0; l < LINES; l++)
#pragma unroll
            for (int p = 0; p < PIECES; p++) {
                const GT_AB *from = ALONG_K ? line[l] + p * LANES_K * V : line[0] + l * ld + p * LANES_MANY * V;
                const int steps = k_left - step_of(ALONG_K ? p * V : l), room = columns - (ALONG_K ? l : p * V) * LANES_MANY;
                const int most = steps <= 0 || room <= 0 ? 0 : ALONG_K ? steps : room;
                const int i = (l * PIECES + p) * V;
                copy_streamed(corner + i / 4 * 128 + i % 4, from, WHOLE || most > V ? V : most, policy);
            }
#pragma unroll
        for (int l = 0; l < (ALONG_K ? T_MANY : 1); l++)
            line[l] += ALONG_K ? (gt_int)(WARPS_K * UNIT) : WARPS_K * UNIT * ld;
    }
};

// The kept operand lies in shared memory as [few][K] whatever its layout. Threads side by side on a line of it: no more
// than it has vectors, and in whole turns along K.
constexpr int KEPT_WIDE = KEPT_ALONG_K ? V : 1, KEPT_LINE = KEPT_ALONG_K ? BK / V : FEW;
constexpr __device__ int side_by_side()
{
    int count = 1;
    while (count < 32 && (KEPT_ALONG_K ? KEPT_LINE % (2 * count) == 0 : count < KEPT_LINE))
        count *= 2;
    return count;
}

// Brings BK k-steps from k on, of which k_left lie in the block's part: up to the end of the last unit, with zeros for
// what is not there. WHOLE: all k-steps and all lines are.
template <bool WHOLE>
__device__ __forceinline__ void bring(GT_AB *chunk, const operands &o, gt_int first, gt_int k, gt_int k_left)
{
    constexpr int NEXT = side_by_side();
    const int rows = gt_clip(o.few - first, FEW), steps = gt_clip(k_left, BK);
    const int needed = WHOLE ? BK : (steps + UNIT - 1) / UNIT * UNIT;
    const int lines = KEPT_ALONG_K ? FEW : needed, length = KEPT_ALONG_K ? needed / KEPT_WIDE : KEPT_LINE;
    const int line = threadIdx.x / NEXT, along = threadIdx.x % NEXT;
    const GT_AB *from = o.kept + (KEPT_ALONG_K ? (first + line) * o.ld_kept + k : (k + line) * o.ld_kept + first);
#pragma unroll(WHOLE ? 2 : 1) // rare ones take few registers
    for (int l = line; l < lines; l += THREADS_ / NEXT, from += THREADS_ / NEXT * o.ld_kept)
#pragma unroll(WHOLE ? KEPT_LINE : 1)
        for (int i = 0; i < (WHOLE ? KEPT_LINE : length); i += NEXT) {
            const int at = (along + i) * KEPT_WIDE, s = KEPT_ALONG_K ? l : at, p = KEPT_ALONG_K ? at : l;
            const int left = s < rows ? steps - p : 0, valid = left >= KEPT_WIDE ? KEPT_WIDE : left > 0 ? left : 0;
            if (WHOLE && KEPT_LINE % NEXT == 0 || at < (KEPT_ALONG_K ? needed : FEW))
                gt_copy_async<KEPT_WIDE * sizeof(GT_AB)>(gt_shared_address(chunk + s * PITCH + p), from + at,
                                                         (WHOLE ? KEPT_WIDE : valid) * GT_AB_BYTES);
        }
}
// The same by elements that are too small for a copy in the background. A thread reads 16, or all that it has of one k-step,
// before it writes the first one: each of them would wait for memory else.
__device__ __forceinline__ void bring_elements(GT_AB *chunk, const operands &o, gt_int first, gt_int k, gt_int k_left)
{
    constexpr int NEXT = side_by_side(), BELOW = THREADS_ / NEXT;
    constexpr int OVER_FEW = KEPT_ALONG_K ? BELOW : NEXT, OVER_K = KEPT_ALONG_K ? NEXT : BELOW; // threads
    constexpr int LINES = (FEW + OVER_FEW - 1) / OVER_FEW, STEPS = LINES < 16 ? 16 / LINES : 1;
    const int rows = gt_clip(o.few - first, FEW), steps = gt_clip(k_left, BK), needed = (steps + UNIT - 1) / UNIT * UNIT;
    const int line = KEPT_ALONG_K ? threadIdx.x / NEXT : threadIdx.x % NEXT;
    const int step = KEPT_ALONG_K ? threadIdx.x % NEXT : threadIdx.x / NEXT;
    for (int at = step; at < needed; at += STEPS * OVER_K) {
        GT_AB held[STEPS * LINES] = {};
#pragma unroll
        for (int i = 0; i < STEPS * LINES; i++) {
            const int s = line + i % LINES * OVER_FEW, p = at + i / LINES * OVER_K;
            if (s < rows && p < steps)
                held[i] = o.kept[KEPT_ALONG_K ? (first + s) * o.ld_kept + k + p : (k + p) * o.ld_kept + first + s];
        }
#pragma unroll
        for (int i = 0; i < STEPS * LINES; i++) {
            const int s = line + i % LINES * OVER_FEW, p = at + i / LINES * OVER_K;
            if (s < FEW && p < needed)
                chunk[s * PITCH + p] = held[i];
        }
    }
}
__device__ __forceinline__ void stage(GT_AB *chunk, const operands &o, gt_int first, gt_int k, gt_int k_left)
{
    if constexpr (KEPT_WIDE * sizeof(GT_AB) < 4)
        bring_elements(chunk, o, first, k, k_left);
    else if (k_left >= BK && o.few - first >= FEW)
        bring<true>(chunk, o, first, k, k_left);
    else
        bring<false>(chunk, o, first, k, k_left);
}

#endif
