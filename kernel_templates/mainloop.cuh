// The main loop of the consumers of a warp-specialised block: they read fragments out of the ring and multiply.
// Included by warp_specialised.cuh, after producer.cuh.
//
// Needs: the tunables and what is computed from them, CROSSED, operand_a and operand_b, struct place and struct ring.
// Offers: `sums`, a thread's sums; `mainloop`, which computes those of one tile after the other; first_row and
// first_column, where a thread's sums lie in the tile, and fragment_a and fragment_b, how they go on from there
// (outer).
#ifndef GT_MAINLOOP_CUH
#define GT_MAINLOOP_CUH

// A value that the compiler keeps in its register instead of computing it again in the loop.
__device__ __forceinline__ unsigned settled(unsigned x)
{
    return __shfl_sync(~0u, x, threadIdx.x % 32);
}

// A thread's COUNT rows or columns of one operand: four of them side by side, for the k-step at hand and the next, or
// in pairs for two and the next two; or of a K-major stage one by one, four k-steps of each.
template <typename OPERAND, int COUNT, int LANES> struct fragment {
    static constexpr bool K_MAJOR = OPERAND::K_MAJOR, PAIRED = OPERAND::PAIRED;
    static constexpr int SIDE = K_MAJOR ? 1 : 4; // rows or columns side by side
    static constexpr int HELD = K_MAJOR || PAIRED ? 4 : 2; // k-steps
    unsigned at; // the thread's first element, in the first stage
    GT_AB values[HELD][COUNT];

    // The thread's i-th row or column, from its first on.
    static constexpr __device__ int outer(int i)
    {
        return i / SIDE * LANES * SIDE + i % SIDE;
    }
    // Bytes from one k-step to the next, and from one row or column; of pairs to every second k-step.
    static constexpr int LINE = OPERAND::PITCH * GT_AB_BYTES;
    static constexpr int STEP = K_MAJOR ? GT_AB_BYTES : PAIRED ? LINE / 2 : LINE;
    static constexpr int ACROSS = K_MAJOR ? LINE : PAIRED ? 2 * GT_AB_BYTES : GT_AB_BYTES;

    __device__ __forceinline__ fragment(unsigned stage, int first)
        : at(settled(stage + ACROSS * first + threadIdx.x / SLICE_THREADS * SLICE_K * STEP))
    {
    }
    // What is to be read before the multiply-adds of k-step k.
    __device__ __forceinline__ void read(unsigned offset, int k)
    {
        const unsigned from = at + offset + k * STEP;
        if (PAIRED && k % 2 == 0) {
#pragma unroll
            for (int i = 0; i < COUNT; i += 2)
                read_apart<2>(from + ACROSS * outer(i), k, i);
        } else if (!PAIRED && !K_MAJOR) {
#pragma unroll
            for (int i = 0; i < COUNT; i += 4)
                read_four(&values[k % 2][i], from + ACROSS * outer(i));
        }
    }
    // Four k-steps of the i-th.
    __device__ __forceinline__ void read_k_major(unsigned offset, int k, int i)
    {
        read_apart<4>(at + offset + k * STEP + ACROSS * outer(i), k, i);
    }
    // Four elements: STEPS k-steps of the i-th and what follows it.
    template <int STEPS> __device__ __forceinline__ void read_apart(unsigned from, int k, int i)
    {
        GT_AB four[4];
        read_four(four, from);
#pragma unroll
        for (int e = 0; e < 4; e++)
            values[(k + e % STEPS) % HELD][i + e / STEPS] = four[e];
    }
    __device__ __forceinline__ GT_AB value(int k, int i) const
    {
        return values[k % HELD][i];
    }
};

typedef fragment<operand_a, TM, LANES_M> fragment_a;
typedef fragment<operand_b, TN, LANES_N> fragment_b;

// A lane's row and column among LANES_M x LANES_N. A read of 16 bytes takes two clocks instead of four if all lanes
// agree with lane ^ 1, or all with lane ^ 2, and that is too fast: what it brings into the registers then keeps
// multiply-adds from issuing (measured: 3% for 8 x 16 and 8 x 12). So rows are crossed with columns, unless small
// fragments need the bandwidth of shared memory: CROSSED is what was best for the family. The smallest need it for
// both: neighbours share columns then, and every second lane rows.
constexpr bool CLOSE = !CROSSED && TM * TN < 64 && LANES_M % 2 == 0;
__device__ __forceinline__ int lane_column()
{
    return threadIdx.x / (CLOSE ? 2 : 1) % LANES_N;
}
__device__ __forceinline__ int lane_row()
{
    if (CLOSE)
        return threadIdx.x % 2 + threadIdx.x % 32 / (2 * LANES_N) * 2;
    const int lane = threadIdx.x % 32, crossing = LANES_M > 2 ? lane % 4 : (lane ^ lane / 2) % LANES_M;
    return lane / LANES_N ^ (CROSSED ? crossing : 0);
}

// A consumer's first row and column in the tile; threads of all K-slice groups that cover the same have
// the same number in their group.
__device__ __forceinline__ int first_row()
{
    return threadIdx.x % SLICE_THREADS / 32 / WARPS_N * WM + lane_row() * fragment_a::SIDE;
}
__device__ __forceinline__ int first_column()
{
    return threadIdx.x % SLICE_THREADS / 32 % WARPS_N * WN + lane_column() * fragment_b::SIDE;
}

// A thread's sums, by what stays and what moves; the latter are exchanged in pairs.
constexpr int STAYING = KEEPS_B ? TN : TM, MOVING = KEEPS_B ? TM : TN;
typedef GT_ACC sums[STAYING][MOVING];

// A consumer on its way round the ring of stages.
struct mainloop {
    fragment_a a;
    fragment_b b;
    bool elected; // to arrive for its warp
    unsigned full, empty;
    place at;
    unsigned stage, offset_a, offset_b; // where the stage and the round at hand begin, from the first stage on

    __device__ __forceinline__ mainloop(const ring &r)
        : a(r.stages, first_row()), b(r.stages + operand_a::ELEMENTS * GT_AB_BYTES, first_column()),
          elected(settled(threadIdx.x % 32 == 0)), full(settled(r.full)), empty(settled(r.empty)), at{0, 0}, stage(0),
          offset_a(0), offset_b(0)
    {
    }

    // Four k-steps of the s-th of what stays, where it is K-major.
    __device__ __forceinline__ void read_k_major(int k, int s)
    {
        if (operand_a::K_MAJOR)
            a.read_k_major(offset_a, k, s);
        if (operand_b::K_MAJOR)
            b.read_k_major(offset_b, k, s);
    }

    // What moves, in the order in which it goes past the s-th of what stays: in serpentine, so that the last one need
    // not be read again. What stays has all of a k-step in the same bank if it is not transposed; then a pair changes
    // places where it would come from the bank of the sum.
    static constexpr __device__ int order(int k, int s, int step)
    {
        const int n = s % 2 ? MOVING - 1 - step : step;
        const bool same = fragment_a::HELD == 4 || fragment_b::HELD == 4;
        return same && n / 2 == (k % 2 ? 0 : MOVING / 2 - 1) ? n ^ 1 : n;
    }

    // What is to be read before the multiply-adds of k-step k of the round.
    __device__ __forceinline__ void read(int k)
    {
        a.read(offset_a, k);
        b.read(offset_b, k);
    }

    // The multiply-adds of k-step k. What is K-major is read again as it becomes free, if more follows.
    __device__ __forceinline__ void step(int k, bool more, sums &sum)
    {
#pragma unroll
        for (int s = 0; s < STAYING; s++) {
#pragma unroll
            for (int i = 0; i < MOVING; i++) {
                const int n = order(k, s, i);
                if (KEEPS_B)
                    gt_multiply_add(sum[s][n ^ 1], b.value(k, s), a.value(k, n));
                else
                    gt_multiply_add(sum[s][n ^ 1], a.value(k, s), b.value(k, n));
            }
            if (k % 4 == 3 && more && s % 4 == 3)
#pragma unroll
                for (int done = s - 3; done <= s; done++)
                    read_k_major((k + 1) % UNROLLED, done);
        }
    }

    // Gives the stage back, and goes on to the next.
    __device__ __forceinline__ void leave()
    {
        __syncwarp();
        if (GT_CHECKED || elected)
            gt_mbarrier_arrive(empty + at.stage * GT_MBARRIER_BYTES);
        at.advance();
        offset_a = offset_b = stage = at.stage == 0 ? 0 : stage + STAGE;
    }

    // Rounds that need not be made in the last stage, the step of K from `last` on: beyond the end are zeros. The same
    // for all K-slice groups: a counter that differs between them could not lie in a uniform register.
    static __device__ __forceinline__ int idle(const gt_args &g, gt_int last)
    {
        return SLICES > 1 || ROUNDS == 1 ? 0 : ROUNDS - (gt_clip(g.k - last * BK, BK) + UNROLLED - 1) / UNROLLED;
    }

    // Sums that nothing has been added to.
    static __device__ __forceinline__ void clear(sums &sum)
    {
#pragma unroll
        for (int p = 0; p < TM * TN; p += 2)
            gt_clear_pair(&sum[p / MOVING][p % MOVING]);
    }

    // Adds the products of the next `steps` stages to the sums, of the last without its last `skip` rounds. Values are
    // read one k-step early: at the end of a stage those of the next. Where a round is a whole stage, the k-step before
    // has asked whether that one is full.
    __device__ __forceinline__ void multiply(int steps, int skip, sums &sum)
    {
        if (steps == 0)
            return;
        gt_mbarrier_wait(full + at.stage * GT_MBARRIER_BYTES, at.phase);
#pragma unroll
        for (int s = 0; s < STAYING; s++)
            read_k_major(0, s);
        read(0);
        for (int left = steps * ROUNDS;;) {
            bool ready = false;
#pragma unroll
            for (int k = 0; k < UNROLLED - 1; k++) {
                read(k + 1);
                if (ROUNDS == 1 && k == UNROLLED - 2) {
                    place next = at;
                    next.advance();
                    ready = gt_mbarrier_test(full + next.stage * GT_MBARRIER_BYTES, next.phase);
                }
                step(k, true, sum);
            }
            if (--left == skip)
                break;
            if (left % ROUNDS) {
                offset_a += UNROLLED * fragment_a::STEP;
                offset_b += UNROLLED * fragment_b::STEP;
            } else {
                leave();
                if (!ready)
                    gt_mbarrier_wait(full + at.stage * GT_MBARRIER_BYTES, at.phase);
            }
            read(0);
            step(UNROLLED - 1, true, sum);
        }
        step(UNROLLED - 1, false, sum);
        leave();
    }
};

#endif
