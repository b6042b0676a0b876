// Consumers of ws.cuh: they read fragments out of the ring and multiply.

// A value that the compiler keeps in its register instead of computing it again in the loop.
__device__ __forceinline__ unsigned settled(unsigned x)
{
    return __shfl_sync(~0u, x, threadIdx.x % 32);
}

// A thread's COUNT rows or columns of one operand: four of them side by side, for the k-step at hand and the next, or in
// pairs for two and the next two; or of a deep stage one by one, four k-steps of each.
template <typename OPERAND, int COUNT, int LANES> struct fragment {
    static constexpr bool LIES_DEEP = OPERAND::LIES_DEEP, PAIRED = OPERAND::PAIRED;
    static constexpr int SIDE = LIES_DEEP ? 1 : 4; // rows or columns side by side
    static constexpr int HELD = LIES_DEEP || PAIRED ? 4 : 2; // k-steps
    unsigned at; // the thread's first element, in the first stage
    GT_AB values[HELD][COUNT];

    // The thread's i-th row or column, from its first on.
    static constexpr __device__ int outer(int i)
    {
        return i / SIDE * LANES * SIDE + i % SIDE;
    }
    // Bytes from one k-step to the next, and from one row or column; of pairs to every second k-step.
    static constexpr int STEP = LIES_DEEP ? 4 : OPERAND::PITCH * (PAIRED ? 2 : 4);
    static constexpr int ACROSS = LIES_DEEP ? 4 * OPERAND::PITCH : PAIRED ? 8 : 4;

    __device__ __forceinline__ fragment(unsigned stage, int first)
        : at(settled(stage + ACROSS * first + threadIdx.x / SQUAD * DEPTH * STEP))
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
        } else if (!PAIRED && !LIES_DEEP) {
#pragma unroll
            for (int i = 0; i < COUNT; i += 4)
                read_four(&values[k % 2][i], from + ACROSS * outer(i));
        }
    }
    // Four k-steps of the i-th.
    __device__ __forceinline__ void read_deep(unsigned offset, int k, int i)
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
// fragments need the bandwidth of shared memory: CROSSED is what was best for the family.
__device__ __forceinline__ int lane_column()
{
    return threadIdx.x % LANES_N;
}
__device__ __forceinline__ int lane_row()
{
    const int lane = threadIdx.x % 32, crossing = LANES_M > 2 ? lane % 4 : (lane ^ lane / 2) % LANES_M;
    return lane / LANES_N ^ (CROSSED ? crossing : 0);
}

// A consumer's first row and column in the tile; threads of all squads that cover the same have the same number.
__device__ __forceinline__ int first_row()
{
    return threadIdx.x % SQUAD / 32 / WARPS_N * WM + lane_row() * fragment_a::SIDE;
}
__device__ __forceinline__ int first_column()
{
    return threadIdx.x % SQUAD / 32 % WARPS_N * WN + lane_column() * fragment_b::SIDE;
}

// A thread's sums, by what stays and what moves; the latter are exchanged in pairs.
constexpr int STAYING = KEEPS_B ? TN : TM, MOVING = KEEPS_B ? TM : TN;
typedef GT_ACC sums[STAYING][MOVING];

// A consumer on its way round the ring.
struct multiplier {
    fragment_a a;
    fragment_b b;
    bool speaker; // for its warp
    unsigned full, empty;
    place at;
    unsigned stage, slice_a, slice_b; // where they begin, from the first stage on

    __device__ __forceinline__ multiplier(const ring &r)
        : a(r.stages, first_row()), b(r.stages + 4 * operand_a::ELEMENTS, first_column()),
          speaker(settled(threadIdx.x % 32 == 0)), full(settled(r.full)), empty(settled(r.empty)), at{0, 0}, stage(0),
          slice_a(0), slice_b(0)
    {
    }

    // Four k-steps of the s-th of what stays, where it lies deep.
    __device__ __forceinline__ void read_deep(int k, int s)
    {
        if (operand_a::LIES_DEEP)
            a.read_deep(slice_a, k, s);
        if (operand_b::LIES_DEEP)
            b.read_deep(slice_b, k, s);
    }

    // What moves, in the order in which it goes past the s-th of what stays. Every second time it goes back, so
    // that the last one need not be read again; and it turns where what stays, all of a k-step in the same bank if
    // it is not turned, comes from another bank than the sum.
    static constexpr __device__ int way(int k, int s, int step)
    {
        const int n = s % 2 ? MOVING - 1 - step : step;
        const bool same = fragment_a::HELD == 4 || fragment_b::HELD == 4;
        return same && n / 2 == (k % 2 ? 0 : MOVING / 2 - 1) ? n ^ 1 : n;
    }

    // What is to be read before the multiply-adds of k-step k of the slice.
    __device__ __forceinline__ void read(int k)
    {
        a.read(slice_a, k);
        b.read(slice_b, k);
    }

    // The multiply-adds of k-step k. What lies deep is read again as it becomes free, if more follows.
    __device__ __forceinline__ void step(int k, bool more, sums &sum)
    {
#pragma unroll
        for (int s = 0; s < STAYING; s++) {
#pragma unroll
            for (int i = 0; i < MOVING; i++) {
                const int n = way(k, s, i);
                if (KEEPS_B)
                    gt_multiply_add(sum[s][n ^ 1], b.value(k, s), a.value(k, n));
                else
                    gt_multiply_add(sum[s][n ^ 1], a.value(k, s), b.value(k, n));
            }
            if (k % 4 == 3 && more && s % 4 == 3)
#pragma unroll
                for (int done = s - 3; done <= s; done++)
                    read_deep((k + 1) % SLICE, done);
        }
    }

    // Gives the stage back, and goes on to the next.
    __device__ __forceinline__ void leave()
    {
        __syncwarp();
        if (speaker)
            gt_mbarrier_arrive(empty + at.stage * 8);
        at.advance();
        slice_a = slice_b = stage = at.stage == 0 ? 0 : stage + STAGE;
    }

    // Rounds that need not be made in the last stage, the step of K from `last` on: beyond the end are zeros. The same
    // for all squads: counters that differ would not lie in the registers that warps have for such.
    static __device__ __forceinline__ int idle(const gt_args &g, gt_int last)
    {
        return SLICES > 1 || ROUNDS == 1 ? 0 : ROUNDS - (gt_clip(g.k - last * BK, BK) + SLICE - 1) / SLICE;
    }

    // The sums of the next `steps` stages, of the last without its last `skip` rounds. Values are read one step
    // early: at the end of a stage those of the next, which the step before has asked for where every slice is a stage.
    __device__ __forceinline__ void multiply(int steps, int skip, sums &sum)
    {
#pragma unroll
        for (int p = 0; p < TM * TN; p += 2)
            gt_clear_pair(&sum[p / MOVING][p % MOVING]);
        if (steps == 0)
            return;
        gt_mbarrier_wait(full + at.stage * 8, at.phase);
#pragma unroll
        for (int s = 0; s < STAYING; s++)
            read_deep(0, s);
        read(0);
        for (int left = steps * ROUNDS;;) {
            bool ready = false;
#pragma unroll
            for (int k = 0; k < SLICE - 1; k++) {
                read(k + 1);
                if (ROUNDS == 1 && k == SLICE - 2) {
                    place next = at;
                    next.advance();
                    ready = gt_mbarrier_test(full + next.stage * 8, next.phase);
                }
                step(k, true, sum);
            }
            if (--left == skip)
                break;
            if (left % ROUNDS) {
                slice_a += SLICE * fragment_a::STEP;
                slice_b += SLICE * fragment_b::STEP;
            } else {
                leave();
                if (!ready)
                    gt_mbarrier_wait(full + at.stage * 8, at.phase);
            }
            read(0);
            step(SLICE - 1, true, sum);
        }
        step(SLICE - 1, false, sum);
        leave();
    }
};
