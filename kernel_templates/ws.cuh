// Warps with trades, for plain arithmetic on Hopper: four producers bring tiles of K into a ring of shared-memory
// stages, the others only read fragments and multiply, so that nearly every instruction they issue is a
// multiply-add. A family includes this text after its own tunables; it says which tiles a block takes and what becomes of
// the sums.
//
// A multiprocessor's registers lie in two banks, even and odd, that each give one operand a clock, and an
// operand can be kept for the next instruction. A multiply-add reads three: one must be kept, the other two
// must come from different banks. So a row's value stays, columns and sums move, and sums lie exchanged in
// pairs against the columns. Measured on an H200: 100% of the multiply-add rate in this order, 90% with sums
// and operand in the same bank, 70% with all sums of a row in one bank. The assembler keeps the order at its
// first level only.
#include "async_copy.cuh"
#include "dependent_launch.cuh"
#include "gemm.cuh"
#include "mbarrier.cuh"
#include "multiply_add.cuh"
#include "repack.cuh"

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

// Waits for the other consumers, not for the producers.
__device__ __forceinline__ void consumers_meet()
{
    asm volatile("barrier.sync 1, %0;" ::"n"(CONSUMERS) : "memory");
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

#include "ws_bring.cuh"
#include "ws_multiply.cuh"
#include "ws_store.cuh"

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
    __shared__ gt_mbarrier full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
#pragma unroll
        for (int s = 0; s < STAGES; s++) {
            gt_mbarrier_init(gt_shared_address(&full[s]), PRODUCERS);
            gt_mbarrier_init(gt_shared_address(&empty[s]), CONSUMERS / 32);
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
