// Warps with trades, for plain arithmetic on Hopper: four producers bring tiles of K into a ring of shared-memory
// stages, the others only read fragments and multiply, so that nearly every instruction they issue is a
// multiply-add. A family includes this text after gemm.cuh and its own tunables; it says which tiles a block
// takes and what becomes of the sums.
//
// A multiprocessor's registers lie in two banks, even and odd, that each give one operand a clock, and an
// operand can be kept for the next instruction. A multiply-add reads three: one must be kept, the other two
// must come from different banks. So a row's value stays, columns and sums move, and sums lie exchanged in
// pairs against the columns. Measured on an H200: 100% of the multiply-add rate in this order, 90% with sums
// and operand in the same bank, 70% with all sums of a row in one bank. The assembler keeps the order at its
// first level only.

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 256
#endif
#ifndef BK
#define BK 16
#endif
#ifndef WM // warp tile
#define WM 64
#endif
#ifndef WN
#define WN 64
#endif
#ifndef TM // register tile
#define TM 8
#endif
#ifndef TN
#define TN 16
#endif
#ifndef SLICES // groups of consumers that share the k-steps of a stage
#define SLICES 1
#endif
#ifndef STAGES // tiles of K in flight
#define STAGES 4
#endif
#ifndef DEEP // how the operand that stays lies in a stage, if along K in memory: 0 turned, 1 as it is, 2 turned in pairs
#define DEEP 0
#endif
#ifndef OCC // blocks an SM should hold
#define OCC 1
#endif
#ifndef PTXAS // the assembler's level: the first keeps the order of the multiply-adds
#define PTXAS 1
#endif

constexpr int WARPS_N = BN / WN, SQUAD = BM / WM * WARPS_N * 32; // consumers that cover the tile
constexpr int CONSUMERS = SQUAD * SLICES, PRODUCERS = 128, THREADS_ = CONSUMERS + PRODUCERS;
constexpr int LANES_M = WM / TM, LANES_N = WN / TN;
constexpr int DEPTH = BK / SLICES; // k-steps of a stage that a squad takes

static_assert(sizeof(GT_AB) == 4 && sizeof(GT_ACC) == 4 && sizeof(GT_C) == 4, "elements of four bytes");
static_assert(BM % WM == 0 && BN % WN == 0 && LANES_M * LANES_N == 32,
              "warps cover the tile, lanes the warp");
static_assert(TM % 4 == 0 && TN % 4 == 0, "fragments are read in pieces of four");
static_assert(BK % SLICES == 0 && DEPTH % 4 == 0, "of a deep stage four k-steps are read at once");
static_assert(CONSUMERS % 128 == 0, "registers change hands between groups of four warps");
static_assert(STAGES >= 2, "one stage is read while another is filled");

// k-steps that the main loop is unrolled to: more than about 1,200 instructions and the producers' would not
// stay in the instruction cache together (measured: twice as many cost 5%).
constexpr int SLICE = TM * TN * DEPTH <= 1280 ? DEPTH : TM * TN <= 80 ? 16 : 8;
static_assert(DEPTH % SLICE == 0, "whole turns of the main loop");
constexpr int ROUNDS = DEPTH / SLICE; // of the main loop in a stage

typedef gt_vector<GT_ACC, 4> four_acc;

// An object in shared memory on which warps wait for each other and for copies.
typedef unsigned long long barrier;

__device__ __forceinline__ void barrier_init(unsigned b, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(b), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void barrier_arrive(unsigned b)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(b) : "memory");
}
// Arrives once all copies that this thread has under way are there.
__device__ __forceinline__ void barrier_arrive_after_copies(unsigned b)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(b) : "memory");
}
__device__ __forceinline__ void barrier_wait(unsigned b, unsigned phase)
{
    unsigned done;
    do {
        asm volatile("{\n.reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(b), "r"(phase)
                     : "memory");
    } while (!done);
}
// Asks without waiting.
__device__ __forceinline__ bool barrier_test(unsigned b, unsigned phase)
{
    unsigned done;
    asm volatile("{\n.reg .pred p;\n"
                 "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(b), "r"(phase)
                 : "memory");
    return done;
}

// Four elements of shared memory. Volatile, so that they stay where the loop has them.
__device__ __forceinline__ void read_four(float *to, unsigned from)
{
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
                 : "r"(from));
}
__device__ __forceinline__ void read_four(int *to, unsigned from)
{
    asm volatile("ld.shared.v4.s32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from));
}

// A place in the ring of stages, and how often it went round.
struct place {
    unsigned stage, phase;
    __device__ __forceinline__ void advance()
    {
        if (++stage == STAGES) {
            stage = 0;
            phase ^= 1;
        }
    }
};

// Where stages and their barriers begin in shared memory.
struct ring {
    unsigned stages, full, empty;
};

// Which operand stays while the other one moves: op(A), unless op(B) lies deep.
constexpr bool KEEPS_B = DEEP == 1 && GT_B_ALONG_K && !GT_A_ALONG_K;

// Where a tile lies: inside the matrix, at its last rows or columns, or at the end of K.
enum where { INSIDE, AT_EDGE, AT_END };

// One operand's way into a stage: copies in the background, of 16 bytes where the matrix is aligned. In a stage it
// lies as [BK][OUTER] whatever its layout in global memory: where that is along K it is turned, by copies of single
// elements. (Nothing turns it for less: on the way through registers, or through a place in shared memory, it takes
// of the bandwidth of shared memory, which the consumers need.) Or it stays as it is, [OUTER][BK], and is read four
// k-steps at a time. Or it goes between the two, by copies of two elements to [BK / 2][OUTER][2].
template <int OUTER, bool ALONG_K, bool COPY, bool STAYS> struct operand {
    static constexpr bool LIES_DEEP = DEEP == 1 && ALONG_K && STAYS, PAIRED = DEEP == 2 && ALONG_K && STAYS;
    static constexpr bool TURNED = ALONG_K && !LIES_DEEP;
    // Elements that go together.
    static constexpr int MOST = COPY ? 16 / (int)sizeof(GT_AB) : GT_WIDE_AB;
    static constexpr int VEC = !TURNED ? MOST : PAIRED && MOST > 1 ? 2 : 1;
    // Lines of a turned or deep stage are shifted against each other, so that copies side by side go to all banks.
    static constexpr int PITCH = LIES_DEEP ? BK + 4 : PAIRED ? 2 * OUTER + 8 / VEC : OUTER + (TURNED ? 4 : 0);
    static constexpr int ELEMENTS = (LIES_DEEP ? OUTER : PAIRED ? BK / 2 : BK) * PITCH;
    // A line is what is contiguous in global memory. Producers side by side: as many as divide it; where it is
    // turned eight, or else they would meet in the same banks.
    static constexpr int LENGTH = ALONG_K ? BK : OUTER, LINES = ALONG_K ? OUTER : BK;
    static constexpr int FILL = LENGTH / VEC & -(LENGTH / VEC), ROOM = TURNED ? 8 : PRODUCERS; // powers of two
    static constexpr int SIDE = FILL < ROOM ? FILL : ROOM;
    static constexpr int TURN = PRODUCERS / SIDE; // lines that the producers take at once
    static constexpr int COUNT = LINES / TURN * (LENGTH / VEC / SIDE);
    static_assert(LINES % TURN == 0, "whole turns");

    // Where an element of a line lies in a stage.
    static constexpr __device__ int place_of(int line, int along)
    {
        return PAIRED   ? along / 2 * PITCH + line * 2 + along % 2
               : TURNED ? along * PITCH + line
                        : line * PITCH + along;
    }

    const GT_AB *from; // this producer's first element of the next tile
    gt_int ld;
    int outer_left; // rows or columns inside the matrix, from this producer's first on

    static __device__ __forceinline__ int along()
    {
        return (threadIdx.x - CONSUMERS) % SIDE * VEC;
    }
    static __device__ __forceinline__ int line()
    {
        return (threadIdx.x - CONSUMERS) / SIDE;
    }

    __device__ __forceinline__ void aim(gt_operand matrix, gt_int outer_first, gt_int outer_end, gt_int k_first)
    {
        const int left = gt_clip(outer_end - outer_first, OUTER);
        ld = matrix.ld;
        from = matrix.at + along() +
               (ALONG_K ? (outer_first + (line() < left ? line() : left - 1)) * ld + k_first
                        : (k_first + line()) * ld + outer_first);
        outer_left = left - (ALONG_K ? line() : along());
    }

    // The n-th vector of a producer: on which line and where along it, from its first on.
    static constexpr __device__ int lines(int n)
    {
        return n / (LENGTH / VEC / SIDE) * TURN;
    }
    static constexpr __device__ int steps(int n)
    {
        return n % (LENGTH / VEC / SIDE) * SIDE * VEC;
    }

    // How many of its elements are to be read; zeros stand for the others. Beyond the last row, or column, of what
    // lies along K anything may stand: it goes into sums that nobody stores.
    template <where TILE> __device__ __forceinline__ int inside(int n, int k_left) const
    {
        const int outer = outer_left - (ALONG_K ? lines(n) : steps(n)),
                  k = k_left - (ALONG_K ? steps(n) : lines(n));
        const int room = ALONG_K ? k : outer;
        if (TILE == INSIDE || (TILE == AT_EDGE && ALONG_K))
            return VEC;
        return outer <= 0 || (TILE == AT_END && k <= 0) ? 0 : room < VEC ? room : VEC;
    }

    // Copies the next tile, of which k_count steps lie in the matrix, to its stage.
    template <where TILE> __device__ __forceinline__ void bring(unsigned stage, int k_count)
    {
        const unsigned to = stage + 4 * place_of(line(), along());
        const int k_left = k_count - (ALONG_K ? along() : line());
        const GT_AB *row = from;
#pragma unroll(VEC > 1 || TILE != AT_END ? COUNT : 4) // single elements with their questions: registers are few
        for (int n = 0; n < COUNT; n++) {
            gt_copy_async<VEC * 4>(to + 4 * place_of(lines(n), steps(n)), row + steps(n), inside<TILE>(n, k_left) * 4);
            // At the edge a line beyond the last is the last again.
            if (lines(n + 1) != lines(n) && (TILE != AT_EDGE || !ALONG_K || lines(n + 1) < outer_left))
                row += TURN * ld;
        }
        from += ALONG_K ? (gt_int)BK : BK * ld;
    }
};

typedef operand<BM, GT_A_ALONG_K, GT_COPY_A, !KEEPS_B> operand_a;
typedef operand<BN, GT_B_ALONG_K, GT_COPY_B, KEEPS_B> operand_b;
constexpr int STAGE = (operand_a::ELEMENTS + operand_b::ELEMENTS) * 4; // bytes

template <where TILE>
__device__ __forceinline__ void bring(operand_a &a, operand_b &b, unsigned stage, int k_count)
{
    a.template bring<TILE>(stage, k_count);
    b.template bring<TILE>(stage + operand_a::ELEMENTS * 4, k_count);
}

// Brings the steps of BK from first to end of a tile.
__device__ __forceinline__ void bring_tile(const gt_args &g, const ring &r, gt_tile tile, gt_int first, gt_int end,
                                           place &at)
{
    const gt_int row = tile.row * BM, column = tile.column * BN;
    const bool edge = g.m - row < BM || g.n - column < BN;
    operand_a a;
    operand_b b;
    a.aim(gt_operand_a(g), row, g.m, first * BK);
    b.aim(gt_operand_b(g), column, g.n, first * BK);
    gt_begin();
    gt_int k_left = g.k - first * BK;
    for (int left = (int)(end - first); left > 0; left--, k_left -= BK) {
        const unsigned stage = r.stages + at.stage * STAGE;
        barrier_wait(r.empty + at.stage * 8, at.phase);
        if (k_left < BK)
            bring<AT_END>(a, b, stage, (int)k_left);
        else if (edge)
            bring<AT_EDGE>(a, b, stage, BK);
        else
            bring<INSIDE>(a, b, stage, BK);
        barrier_arrive_after_copies(r.full + at.stage * 8);
        at.advance();
    }
}

// A value that the compiler keeps in its register instead of computing it again in the loop.
__device__ __forceinline__ unsigned settled(unsigned x)
{
    return __shfl_sync(~0u, x, threadIdx.x % 32);
}

// A thread's COUNT rows or columns of one operand: four of them side by side, for the k-step at hand and the next, or in
// pairs for two and the next two; or of a deep stage one by one, four k-steps of each.
template <typename OPERAND, int COUNT, int LANES> struct fragment {
    static constexpr bool DEEP_ = OPERAND::LIES_DEEP, PAIRED = OPERAND::PAIRED;
    static constexpr int SIDE = DEEP_ ? 1 : 4; // rows or columns side by side
    static constexpr int HELD = DEEP_ || PAIRED ? 4 : 2; // k-steps
    unsigned at; // the thread's first element, in the first stage
    GT_AB values[HELD][COUNT];

    // The thread's i-th row or column, from its first on.
    static constexpr __device__ int outer(int i)
    {
        return i / SIDE * LANES * SIDE + i % SIDE;
    }
    // Bytes from one k-step to the next, and from one row or column; of pairs to every second k-step.
    static constexpr int STEP = DEEP_ ? 4 : OPERAND::PITCH * (PAIRED ? 2 : 4);
    static constexpr int ACROSS = DEEP_ ? 4 * OPERAND::PITCH : PAIRED ? 8 : 4;

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
        } else if (!PAIRED && !DEEP_) {
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

// Waits for the other consumers, not for the producers.
__device__ __forceinline__ void consumers_meet()
{
    asm volatile("barrier.sync 1, %0;" ::"n"(CONSUMERS) : "memory");
}

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

// The p-th four of them as they lie: the assembler takes registers for the sums by how they leave.
constexpr int PIECES = TM * TN / 4;
__device__ __forceinline__ const four_acc &piece(const sums &sum, int p)
{
    return *(const four_acc *)&sum[p * 4 / MOVING][p * 4 % MOVING];
}

// C of one sum. PLAIN: it lies in the matrix and C's old value does not count, as mostly; asked once for a tile where
// sums go one by one.
template <bool PLAIN>
__device__ __forceinline__ void store_one(const gt_args &g, gt_int row, gt_int column, GT_ACC sum, gt_int away)
{
    if (PLAIN)
        g.c[away + row * g.ldc + column] = GT_C(g.alpha.value * sum);
    else if (row < g.m && column < g.n)
        gt_store_c(g, row, column, sum, away);
}
__device__ __forceinline__ bool is_plain(const gt_args &g, gt_tile tile)
{
    return GT_WIDE_C < 4 && g.beta.value == GT_ACC(0) && (tile.row + 1) * BM <= g.m && (tile.column + 1) * BN <= g.n;
}

// Four sums of every lane of a warp one by one, where C is not aligned for more. They go through shared memory, so that
// lanes side by side store neighbours: as they are, every store would touch all sectors of a row, and L2 takes only so
// many (measured: 6% of a product with a K of 900).
__device__ __forceinline__ GT_ACC *desk_of_warp()
{
    __shared__ four_acc desks[CONSUMERS];
    return desks[threadIdx.x / 32 * 32].e;
}
template <bool PLAIN>
__device__ __forceinline__ void store_abreast(const gt_args &g, gt_int row, gt_int column, const GT_ACC *four,
                                              gt_int away)
{
    constexpr int WIDTH = LANES_N * 4; // of what the warp has of a row
    const int lane = threadIdx.x % 32;
    GT_ACC *desk = desk_of_warp();
    __syncwarp(); // what lay there has been read
    *(four_acc *)&desk[(lane_row() * LANES_N + lane_column()) * 4] = {four[0], four[1], four[2], four[3]};
    __syncwarp();
    row += (lane / WIDTH - lane_row()) * fragment_a::SIDE;
    column += lane % WIDTH - lane_column() * 4;
#pragma unroll
    for (int e = 0; e < 128; e += 32)
        store_one<PLAIN>(g, row + e / WIDTH * fragment_a::SIDE, column + e % WIDTH, desk[e + lane], away);
}

// Stores the p-th four sums; row and column are the thread's first ones. Four in a column go one by one: lanes side by
// side have neighbours then.
template <bool PLAIN>
__device__ __forceinline__ void store_piece(const gt_args &g, gt_int row, gt_int column, int p, const four_acc &sum)
{
    const int s = p * 4 / MOVING, n = p * 4 % MOVING;
    const gt_int away = blockIdx.z * g.stride_c;
    const GT_ACC four[4] = {sum.e[1], sum.e[0], sum.e[3], sum.e[2]};
    if (KEEPS_B) {
#pragma unroll
        for (int e = 0; e < 4; e++)
            store_one<PLAIN>(g, row + fragment_a::outer(n + e), column + fragment_b::outer(s), four[e], away);
    } else if (GT_WIDE_C < 4) {
        store_abreast<PLAIN>(g, row + fragment_a::outer(s), column + fragment_b::outer(n), four, away);
    } else if (row + fragment_a::outer(s) < g.m) {
        gt_store_c_vector<4>(g, row + fragment_a::outer(s), column + fragment_b::outer(n), four, away);
    }
}

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
            barrier_arrive(empty + at.stage * 8);
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
        barrier_wait(full + at.stage * 8, at.phase);
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
                    ready = barrier_test(full + next.stage * 8, next.phase);
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
                    barrier_wait(full + at.stage * 8, at.phase);
            }
            read(0);
            step(SLICE - 1, true, sum);
        }
        step(SLICE - 1, false, sum);
        leave();
    }
};

// Registers change hands: producers give back what the consumers' tile needs. How many these have decides where the
// assembler puts sums: LEAN is what was best for the family, and more than producers use.
constexpr int EVEN = 65536 / (THREADS_ * OCC) / 8 * 8, LAUNCHED = EVEN < 240 ? EVEN : 240;
constexpr int REST = (LAUNCHED * THREADS_ - LEAN * PRODUCERS) / CONSUMERS / 8 * 8,
              RICH = REST < 240 ? REST : 240;

__device__ void produce(const gt_args &g, const ring &r);
__device__ void consume(const gt_args &g, const ring &r);

// What a block does: the family's two trades.
__device__ __forceinline__ void work(const gt_args &g)
{
    extern __shared__ __align__(128) GT_AB stages[];
    __shared__ barrier full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
#pragma unroll
        for (int s = 0; s < STAGES; s++) {
            barrier_init(gt_shared_address(&full[s]), PRODUCERS);
            barrier_init(gt_shared_address(&empty[s]), CONSUMERS / 32);
        }
    }
    __syncthreads();
    const ring r = {gt_shared_address(stages), gt_shared_address(full), gt_shared_address(empty)};
    if (threadIdx.x >= CONSUMERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(LEAN));
        produce(g, r);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(RICH));
        gt_wait();
        consume(g, r);
    }
}
