// Warp-specialised blocks for plain arithmetic on Hopper: four producer warps copy tiles of K into a ring of stages in
// shared memory, the consumer warps only read fragments and multiply, so that nearly every instruction that these issue
// is a multiply-add.
//
// A family defines before it includes this text:
//   its tunables, where the defaults below are not its own;
//   PRODUCER_REGISTERS  registers that a producer keeps, a multiple of 8 and no fewer than it uses; consumers get the
//                       others. How many these have decides where the assembler puts sums: choose by measurement.
//   CROSSED             whether lanes cross rows with columns: see lane_row in mainloop.cuh.
// It provides after it:
//   produce(g, ring)    what a producer does: fills the ring with the block's tiles, by produce_tile (producer.cuh);
//   consume(g, ring)    what a consumer does: sums of the tiles, by `mainloop` (mainloop.cuh), and C (epilogue.cuh);
//   the kernel `gemm`, with __launch_bounds__(THREADS_, OCC), which calls run_roles(g).
// It has from here: run_roles, consumers_sync, read_four, struct place for its way round the ring, what the included
// headers offer, and the names of what is computed from the tunables. Operands may be copies (repack.cuh).
//
// A multiprocessor's registers lie in two banks, even and odd, that each give one operand a clock, and an operand can
// be kept for the next instruction. A multiply-add reads three: one must be kept, the other two must come from
// different banks. So a row's value stays, columns and sums move, and sums lie exchanged in pairs against the columns.
// Measured on an H200: 100% of the multiply-add rate in this order, 90% with sums and operand in the same bank, 70%
// with all sums of a row in one bank. The assembler keeps the order at its first level only.
#ifndef GT_WARP_SPECIALISED_CUH
#define GT_WARP_SPECIALISED_CUH

#include "async_copy.cuh"
#include "dependent_launch.cuh"
#include "gemm.cuh"
#include "mbarrier.cuh"
#include "multiply_add.cuh"
#include "repack.cuh"

#ifndef BM // threadblock tile
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
#ifndef TM // thread tile
#define TM 8
#endif
#ifndef TN
#define TN 16
#endif
#ifndef SLICES // K-slice groups: consumers that cover the tile each, and share the k-steps of a stage
#define SLICES 1
#endif
#ifndef STAGES // tiles of K in flight
#define STAGES 4
#endif
// How the operand that stays lies in a stage if it is stored K-major: 0 transposed on the way, M/N-major; 1 K-major as
// stored; 2 K-major in pairs.
#ifndef KMAJOR
#define KMAJOR 0
#endif
#ifndef OCC // blocks an SM should hold
#define OCC 1
#endif
#ifndef PTXAS // the assembler's level: the first keeps the order of the multiply-adds
#define PTXAS 1
#endif

constexpr int WARPS_N = BN / WN, SLICE_THREADS = BM / WM * WARPS_N * 32; // of one K-slice group
constexpr int CONSUMERS = SLICE_THREADS * SLICES, PRODUCERS = 128, THREADS_ = CONSUMERS + PRODUCERS;
constexpr int LANES_M = WM / TM, LANES_N = WN / TN;
constexpr int SLICE_K = BK / SLICES; // k-steps of a stage that a K-slice group takes

static_assert(sizeof(GT_AB) == 4 && sizeof(GT_ACC) == 4 && sizeof(GT_C) == 4, "elements of four bytes");
static_assert(BM % WM == 0 && BN % WN == 0 && LANES_M * LANES_N == 32,
              "warps cover the tile, lanes the warp");
static_assert(TM % 4 == 0 && TN % 4 == 0, "fragments are read in pieces of four");
static_assert(BK % SLICES == 0 && SLICE_K % 4 == 0, "of a K-major stage four k-steps are read at once");
static_assert(CONSUMERS % 128 == 0, "registers change hands between groups of four warps");
static_assert(STAGES >= 2, "one stage is read while another is filled");

// k-steps that the main loop is unrolled to: more than about 1,200 instructions and the producers' would not
// stay in the instruction cache together (measured: twice as many cost 5%).
constexpr int UNROLLED = TM * TN * SLICE_K <= 1280 ? SLICE_K : TM * TN <= 80 ? 16 : 8;
static_assert(SLICE_K % UNROLLED == 0, "whole rounds of the main loop");
constexpr int ROUNDS = SLICE_K / UNROLLED; // of the main loop in a stage

typedef gt_vector<GT_ACC, 4> four_acc;

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

#include "consumers_sync.cuh"
#include "roles.cuh"

// Where stages and their mbarriers begin in shared memory: full[s] is complete when stage s has been filled, empty[s]
// when it has been read.
struct ring {
    unsigned stages, full, empty;
};

#include "producer.cuh"
#include "mainloop.cuh"
#include "epilogue.cuh"

__device__ void produce(const gt_args &g, const ring &r);
__device__ void consume(const gt_args &g, const ring &r);

// What a block does: its warps take the family's two roles.
__device__ __forceinline__ void run_roles(const gt_args &g)
{
    extern __shared__ __align__(128) GT_AB stages[];
    __shared__ gt_mbarrier full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
#pragma unroll
        for (int s = 0; s < STAGES; s++) {
            gt_mbarrier_init(gt_shared_address(&full[s]), PRODUCERS);
            gt_mbarrier_init(gt_shared_address(&empty[s]), CONSUMERS / 32 * GT_WARP_ARRIVALS);
        }
    }
    __syncthreads();
    const ring r = {gt_shared_address(stages), gt_shared_address(full), gt_shared_address(empty)};
    if (threadIdx.x >= CONSUMERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS));
        produce(g, r);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(CONSUMER_REGISTERS));
        gt_wait();
        consume(g, r);
    }
}

#endif
