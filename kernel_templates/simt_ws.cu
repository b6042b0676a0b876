// The production kernel for plain arithmetic on Hopper. Warps have trades: four producers bring tiles of K
// into a ring of shared-memory stages, the others only read fragments and multiply, so that nearly every
// instruction they issue is a multiply-add. Blocks stay on their multiprocessor and take tile after tile;
// what does not divide evenly among them is split along K (stream K) and added up in a fixed order.
//
// A multiprocessor's registers lie in two banks, even and odd, that each give one operand a clock, and an
// operand can be kept for the next instruction. A multiply-add reads three: one must be kept, the other two
// must come from different banks. So a row's value stays, columns and sums move, and sums lie exchanged in
// pairs against the columns. Measured on an H200: 100% of the multiply-add rate in this order, 90% with sums
// and operand in the same bank, 70% with all sums of a row in one bank. The assembler keeps the order at its
// first level only.
#include "gemm.cuh"

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
#ifndef STAGES // tiles of K in flight
#define STAGES 4
#endif
#ifndef GROUP // tile rows that are walked together, for L2
#define GROUP 8
#endif
#ifndef STREAM // 1: it is given a workspace, and tiles that do not divide evenly are split along K
#define STREAM 1
#endif
#ifndef OCC // blocks an SM should hold
#define OCC 1
#endif
#ifndef BLOCKS // that share all tiles among them
#define BLOCKS 132
#endif
#ifndef REPACK // 1: operands come from aligned copies
#define REPACK 0
#endif
#ifndef PTXAS // the assembler's level: the first keeps the order of the multiply-adds
#define PTXAS 1
#endif

constexpr int WARPS_N = BN / WN, CONSUMERS = BM / WM * WARPS_N * 32, PRODUCERS = 128;
constexpr int THREADS_ = CONSUMERS + PRODUCERS;
constexpr int LANES_M = WM / TM, LANES_N = WN / TN;

static_assert(sizeof(GT_AB) == 4 && sizeof(GT_ACC) == 4 && sizeof(GT_C) == 4, "elements of four bytes");
static_assert(BM % WM == 0 && BN % WN == 0 && LANES_M * LANES_N == 32,
              "warps cover the tile, lanes the warp");
static_assert(TM % 4 == 0 && TN % 4 == 0 && (BK == 8 || BK == 16), "fragments are read in pieces of four");
static_assert(CONSUMERS % 128 == 0, "registers change hands between groups of four warps");
static_assert(STAGES >= 2, "one stage is read while another is filled");

// k-steps that the main loop is unrolled to: more than about 1,200 instructions and the producers' would not
// stay in the instruction cache together (measured: twice as many cost 5%).
constexpr int SLICE = TM * TN * BK > 1024 ? 1024 / (TM * TN) : BK;

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

__device__ __forceinline__ void put(unsigned to, float value)
{
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(value) : "memory");
}
__device__ __forceinline__ void put(unsigned to, int value)
{
    asm volatile("st.shared.s32 [%0], %1;" ::"r"(to), "r"(value) : "memory");
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

// What a block does, tile by tile. First comes its share of the tiles that are split along K, from the last
// of them to the first: so the part that another block waits for is done early, and blocks wait for earlier
// ones only.
struct segment {
    gt_int tile;
    gt_int first, end; // steps of BK
};
struct schedule {
    gt_int tiles, steps; // of the matrix, of each tile
    gt_int begin, end;   // this block's share of the split tiles, in steps
    gt_int whole;        // its next tile that is not split
    bool may_split;      // not a constant: one machine code for both, and it is a good one

    __device__ __forceinline__ gt_int split_tiles() const
    {
        if (!may_split || tiles % BLOCKS == 0)
            return 0;
        return tiles < BLOCKS ? tiles : tiles % BLOCKS + BLOCKS;
    }
    // Where a block's share of the split tiles begins. Of more blocks than steps the last have none.
    __device__ __forceinline__ gt_int share(unsigned block) const
    {
        const gt_int all = split_tiles() * steps, blocks = all < BLOCKS ? all : BLOCKS;
        return block < blocks ? all * block / blocks : all;
    }
    __device__ __forceinline__ schedule(const gt_args &g)
    {
        may_split = g.counters != nullptr;
        tiles = ((g.m + BM - 1) / BM) * ((g.n + BN - 1) / BN);
        steps = (g.k + BK - 1) / BK;
        begin = share(blockIdx.x);
        end = share(blockIdx.x + 1);
        whole = (steps > 0 ? split_tiles() : 0) + blockIdx.x;
    }
    __device__ __forceinline__ bool next(segment &s)
    {
        if (begin < end) {
            s.tile = (end - 1) / steps;
            s.end = end - s.tile * steps;
            end = begin > s.tile * steps ? begin : s.tile * steps;
            s.first = end - s.tile * steps;
            return true;
        }
        s = {whole, 0, steps};
        whole += BLOCKS;
        return s.tile < tiles;
    }
};

// Where a tile lies: inside the matrix, at its last rows or columns, or at the end of K.
enum where { INSIDE, AT_EDGE, AT_END };

// One operand's way into a stage, where it lies as [BK][OUTER] whatever its layout in global memory. Three
// ways: 16-byte copies in the background; where it is contiguous along K, 16-byte reads to registers and
// stores that transpose; where that does not fit or is not aligned, copies of single elements in the
// background, which transpose too.
template <int OUTER, bool ALONG_K, bool MAY_HOLD> struct operand {
    // Producers have few registers: one operand's small tile goes through them, no more.
    static constexpr bool HELD = ALONG_K && MAY_HOLD && GT_WIDE_AB == 4 && OUTER * BK <= 16 * PRODUCERS;
    static constexpr int VEC = ALONG_K && !HELD ? 1 : GT_WIDE_AB; // elements of one read
    // Rows of a transposed stage are shifted by four banks against each other.
    static constexpr int PITCH = OUTER + (ALONG_K ? 4 : 0);
    static constexpr int ELEMENTS = BK * PITCH;
    // A line is what is contiguous in global memory. Producers side by side: as many as a line takes; one by
    // one along K eight, a sector of memory.
    static constexpr int LENGTH = ALONG_K ? BK : OUTER, LINES = ALONG_K ? OUTER : BK;
    static constexpr int FILL = ALONG_K && !HELD ? 8 : LENGTH / VEC,
                         SIDE = FILL < PRODUCERS ? FILL : PRODUCERS;
    static constexpr int TURN = PRODUCERS / SIDE; // lines that the producers take at once
    static constexpr int COUNT = LINES / TURN * (LENGTH / VEC / SIDE);
    static_assert(LINES % TURN == 0, "whole turns");

    const GT_AB *from; // this producer's first element of the next tile
    gt_int ld;
    int outer_left; // rows or columns inside the matrix, from this producer's first on
    gt_vector<GT_AB, VEC> held[HELD ? COUNT : 1];

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
        ld = matrix.ld;
        from = matrix.at + along() +
               (ALONG_K ? (outer_first + line()) * ld + k_first : (k_first + line()) * ld + outer_first);
        outer_left = gt_clip(outer_end - outer_first, OUTER) - (ALONG_K ? line() : along());
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

    // How many of its elements lie in the matrix; zeros stand for the others.
    template <where TILE> __device__ __forceinline__ int inside(int n, int k_left) const
    {
        const int outer = outer_left - (ALONG_K ? lines(n) : steps(n)),
                  k = k_left - (ALONG_K ? steps(n) : lines(n));
        const int room = ALONG_K ? k : outer;
        if (TILE == INSIDE)
            return VEC;
        if (TILE == AT_EDGE && ALONG_K)
            return outer > 0 ? VEC : 0;
        return outer <= 0 || (TILE == AT_END && k <= 0) ? 0 : room < VEC ? room : VEC;
    }

    // Before the stage is free: reads what goes through registers.
    template <where TILE> __device__ __forceinline__ void fetch(int k_count)
    {
        const GT_AB *row = from;
#pragma unroll
        for (int n = 0; HELD && n < COUNT; n++, row += TURN * ld)
            held[n] = gt_load_vector<VEC>(row, inside<TILE>(n, k_count - along()));
    }
    // Once it is free: brings the rest, and puts down what was read. `somewhere` is any address of the
    // operand, for copies that read nothing.
    template <where TILE>
    __device__ __forceinline__ void bring(unsigned stage, int k_count, const GT_AB *somewhere)
    {
        const unsigned to = stage + 4 * (ALONG_K ? along() * PITCH + line() : line() * PITCH + along());
        const int k_left = k_count - (ALONG_K ? along() : line());
        const GT_AB *row = from;
#pragma unroll(TILE == INSIDE || VEC > 1                                                                     \
                   ? COUNT                                                                                   \
                   : 2) // elements one by one with all their questions: registers are few
        for (int n = 0; n < COUNT; n++) {
            const unsigned there =
                to + 4 * (ALONG_K ? steps(n) * PITCH + lines(n) : lines(n) * PITCH + steps(n));
            if (HELD) {
#pragma unroll
                for (int e = 0; e < VEC; e++)
                    put(there + 4 * e * PITCH, held[HELD ? n : 0].e[e]);
            } else {
                const int elements = inside<TILE>(n, k_left);
                gt_copy_async<VEC * 4>(there, elements ? row + steps(n) : somewhere, elements * 4);
                if (lines(n + 1) != lines(n))
                    row += TURN * ld;
            }
        }
        from += ALONG_K ? (gt_int)BK : BK * ld;
    }
};

typedef operand<BM, GT_A_ALONG_K, true> operand_a;
typedef operand<BN, GT_B_ALONG_K, !operand_a::HELD> operand_b;
constexpr bool PUTS = operand_a::HELD || operand_b::HELD, COPIES = !operand_a::HELD || !operand_b::HELD;
constexpr int STAGE = (operand_a::ELEMENTS + operand_b::ELEMENTS) * 4; // bytes

// Brings the next tile of both, of which k_count steps lie in the matrix, once the stage is free.
template <where TILE>
__device__ __forceinline__ void bring(const gt_args &g, operand_a &a, operand_b &b, unsigned stage,
                                      unsigned free, unsigned phase, int k_count)
{
    a.template fetch<TILE>(k_count);
    b.template fetch<TILE>(k_count);
    barrier_wait(free, phase);
    a.template bring<TILE>(stage, k_count, REPACK ? (const GT_AB *)g.workspace : g.a);
    b.template bring<TILE>(stage + operand_a::ELEMENTS * 4, k_count, REPACK ? (const GT_AB *)g.workspace : g.b);
}

__device__ __forceinline__ void produce(const gt_args &g, unsigned stages, unsigned full, unsigned empty)
{
    schedule plan(g);
    segment s;
    place at = {0, 1};
    operand_a a;
    operand_b b;
    while (plan.next(s)) {
        const gt_tile tile = gt_find_tile<BM, BN>(g, GROUP, (unsigned)s.tile);
        const gt_int row = tile.row * BM, column = tile.column * BN;
        a.aim(gt_operand_a(g), row, g.m, s.first * BK);
        b.aim(gt_operand_b(g), column, g.n, s.first * BK);
        const bool edge = g.m - row < BM || g.n - column < BN;
        gt_int k_left = g.k - s.first * BK;
        for (int left = (int)(s.end - s.first); left > 0; left--, k_left -= BK) {
            const unsigned stage = stages + at.stage * STAGE;
            const unsigned free = empty + at.stage * 8;
            if (k_left < BK)
                bring<AT_END>(g, a, b, stage, free, at.phase, (int)k_left);
            else if (edge)
                bring<AT_EDGE>(g, a, b, stage, free, at.phase, BK);
            else
                bring<INSIDE>(g, a, b, stage, free, at.phase, BK);
            if (COPIES)
                barrier_arrive_after_copies(full + at.stage * 8);
            if (PUTS)
                barrier_arrive(full + at.stage * 8);
            at.advance();
        }
    }
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

// A value that the compiler keeps in its register instead of computing it again in the loop.
__device__ __forceinline__ unsigned settled(unsigned x)
{
    return __shfl_sync(~0u, x, threadIdx.x % 32);
}

// A thread's COUNT rows or columns of one operand, in pieces of four, for the k-step at hand and the next.
template <typename OPERAND, int COUNT, int LANES> struct fragment {
    unsigned at; // the thread's first element, in the first stage
    GT_AB values[2][COUNT];

    // The thread's i-th row or column, from its first on.
    static constexpr __device__ int outer(int i)
    {
        return i / 4 * LANES * 4 + i % 4;
    }

    __device__ __forceinline__ fragment(unsigned first) : at(settled(first))
    {
    }
    __device__ __forceinline__ void read(unsigned offset, int k)
    {
#pragma unroll
        for (int i = 0; i < COUNT; i += 4)
            read_four(&values[k % 2][i], at + offset + 4 * (k % BK * OPERAND::PITCH + outer(i)));
    }
};

// Waits for the other consumers, not for the producers.
__device__ __forceinline__ void consumers_meet()
{
    asm volatile("barrier.sync 1, %0;" ::"n"(CONSUMERS) : "memory");
}

// A thread's sums; columns are exchanged in pairs.
typedef GT_ACC sums[TM][TN];
constexpr int PIECES = TM * TN / 4;

typedef fragment<operand_a, TM, LANES_M> fragment_a;
typedef fragment<operand_b, TN, LANES_N> fragment_b;

// Stores a thread's p-th four sums; row and column are its first ones.
__device__ __forceinline__ void store_piece(const gt_args &g, gt_int row, gt_int column, int p,
                                            const GT_ACC *sum)
{
    const GT_ACC four[4] = {sum[1], sum[0], sum[3], sum[2]};
    row += fragment_a::outer(p * 4 / TN);
    if (row < g.m)
        gt_store_c_vector<4>(g, row, column + fragment_b::outer(p * 4 % TN), four, blockIdx.z * g.stride_c);
}

// A block's two places for the sums of a part: one that the block which finishes the tile reads, one of its
// own.
__device__ __forceinline__ four_acc *part_of(const gt_args &g, unsigned block, bool own)
{
    const gt_int slot = ((gt_int)blockIdx.z * BLOCKS + block) * 2 + own;
    return (four_acc *)gt_workspace(g) + slot * (PIECES * CONSUMERS) + threadIdx.x;
}
__device__ __forceinline__ unsigned *flag_of(const gt_args &g, unsigned block)
{
    return g.counters + (gt_int)blockIdx.z * BLOCKS + block;
}
__device__ __forceinline__ void lay_down(const gt_args &g, const sums &sum, bool own)
{
    four_acc *part = part_of(g, blockIdx.x, own);
#pragma unroll
    for (int p = 0; p < PIECES; p++)
        part[p * CONSUMERS] = *(const four_acc *)&sum[p * 4 / TN][p * 4 % TN];
}
// Lets the block that finishes the tile have this block's part.
__device__ __forceinline__ void hand_over(const gt_args &g)
{
    __threadfence();
    consumers_meet();
    if (threadIdx.x == 0)
        asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag_of(g, blockIdx.x)) : "memory");
}

// Finishes a tile that begins at step `start` of the split tiles: adds the parts in a fixed order. All come
// from memory, this block's too, so that the main loop's choice of registers is not disturbed.
__device__ __forceinline__ void finish(const gt_args &g, const schedule &plan, gt_int start, gt_int row,
                                       gt_int column)
{
    constexpr int BATCH = PIECES < 8 ? PIECES : 8; // reads under way together
    unsigned first = blockIdx.x;
    while (plan.share(first) > start) {
        unsigned there;
        first--;
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                         : "=r"(there)
                         : "l"(flag_of(g, first))
                         : "memory");
        } while (!there);
    }
#pragma unroll 1
    for (int p = 0; p < PIECES; p += BATCH) {
        const four_acc *own = part_of(g, blockIdx.x, true) + p * CONSUMERS;
        four_acc sum[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            sum[i] = own[i * CONSUMERS];
#pragma unroll 1
        for (unsigned block = first; block < blockIdx.x; block++) {
            const four_acc *other = part_of(g, block, false) + p * CONSUMERS;
            four_acc part[BATCH];
#pragma unroll
            for (int i = 0; i < BATCH; i++)
                part[i] = other[i * CONSUMERS];
#pragma unroll
            for (int i = 0; i < BATCH * 4; i++)
                sum[i / 4].e[i % 4] += part[i / 4].e[i % 4];
        }
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            store_piece(g, row, column, p + i, sum[i].e);
    }
    consumers_meet();
    for (unsigned block = first + threadIdx.x; block < blockIdx.x; block += CONSUMERS)
        *flag_of(g, block) = 0; // as the next launch expects it
}

__device__ __forceinline__ void consume(const gt_args &g, unsigned stages, unsigned full, unsigned empty)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int first_row = warp / WARPS_N * WM + lane / LANES_N * 4;
    const int first_column = warp % WARPS_N * WN + lane % LANES_N * 4;
    fragment_a a(stages + 4 * first_row);
    fragment_b b(stages + 4 * (operand_a::ELEMENTS + first_column));
    const bool speaker = settled(lane == 0);
    full = settled(full);
    empty = settled(empty);

    schedule plan(g);
    segment s;
    place at = {0, 0};
    unsigned stage = 0, slice_a = 0, slice_b = 0; // where they begin, from the first stage on
    int slices = BK / SLICE;                      // of the stage, still to read
    while (plan.next(s)) {
        sums sum;
#pragma unroll
        for (int p = 0; p < TM * TN; p += 2)
            gt_clear_pair(&sum[p / TN][p % TN]);
        if (s.first < s.end) {
            barrier_wait(full + at.stage * 8, at.phase);
            a.read(slice_a, 0);
            b.read(slice_b, 0);
        }
        for (int left = (int)(s.end - s.first) * (BK / SLICE); left > 0; left--) {
#pragma unroll
            for (int k = 0; k < SLICE; k++) {
                // Values are read one step early: at the end of a stage, those of the next one.
                if (k == SLICE - 1 && --slices > 0) {
                    slice_a += 4 * SLICE * operand_a::PITCH;
                    slice_b += 4 * SLICE * operand_b::PITCH;
                } else if (k == SLICE - 1) {
                    slices = BK / SLICE;
                    __syncwarp();
                    if (speaker)
                        barrier_arrive(empty + at.stage * 8);
                    at.advance();
                    stage = at.stage == 0 ? 0 : stage + STAGE;
                    slice_a = slice_b = stage;
                    if (left > 1)
                        barrier_wait(full + at.stage * 8, at.phase);
                }
                if (k < SLICE - 1 || left > 1) {
                    a.read(slice_a, (k + 1) % SLICE);
                    b.read(slice_b, (k + 1) % SLICE);
                }
#pragma unroll
                for (int i = 0; i < TM; i++)
#pragma unroll
                    for (int f = 0; f < TN; f++) {
                        const int j = i % 2 ? TN - 1 - f : f;
                        gt_multiply_add(sum[i][j ^ 1], a.values[k % 2][i], b.values[k % 2][j]);
                    }
            }
        }
        const bool first_part = s.first == 0, last_part = s.end == plan.steps;
        if (!(first_part && last_part))
            lay_down(g, sum, last_part);
        if (!last_part) {
            hand_over(g);
            continue;
        }
        const gt_tile tile = gt_find_tile<BM, BN>(g, GROUP, (unsigned)s.tile);
        const gt_int row = tile.row * BM + first_row, column = tile.column * BN + first_column;
        if (!first_part) {
            finish(g, plan, s.tile * plan.steps, row, column);
            continue;
        }
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int j = 0; j < TN; j += 4)
                store_piece(g, row, column, (i * TN + j) / 4, sum[i] + j);
    }
}

// Registers change hands: producers give back what the consumers' tile needs.
constexpr int EVEN = 65536 / (THREADS_ * OCC) / 8 * 8, LAUNCHED = EVEN < 240 ? EVEN : 240;
constexpr int LEAN = 40;
constexpr int REST = (LAUNCHED * THREADS_ - LEAN * PRODUCERS) / CONSUMERS / 8 * 8,
              RICH = REST < 240 ? REST : 240;

extern "C" __global__ void __launch_bounds__(THREADS_, OCC) gemm(const __grid_constant__ gt_args args)
{
    extern __shared__ __align__(128) GT_AB stages[];
    __shared__ barrier full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
#pragma unroll
        for (int s = 0; s < STAGES; s++) {
            barrier_init(gt_shared_address(&full[s]), PRODUCERS * (PUTS + COPIES));
            barrier_init(gt_shared_address(&empty[s]), CONSUMERS / 32);
        }
    }
    __syncthreads();
    if (threadIdx.x >= CONSUMERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(LEAN));
        produce(args, gt_shared_address(stages), gt_shared_address(full), gt_shared_address(empty));
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(RICH));
        consume(args, gt_shared_address(stages), gt_shared_address(full), gt_shared_address(empty));
    }
}
