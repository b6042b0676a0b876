// Split-K: blocks that share one tile of C leave their partial sums in the workspace, and the last to arrive adds them
// up. It does so in the order of the parts, whoever was last: the result is the same every time.
#ifndef GT_SPLIT_K_CUH
#define GT_SPLIT_K_CUH

#include "gemm.cuh"

// Whether this block is the last of PARTS to arrive at a counter: then its threads may read what those of the others
// wrote before they arrived, and must set the counter to zero, as the next launch expects it. sync() is a barrier of
// all threads that take part; `last` lies in shared memory, and nobody uses it meanwhile.
template <int PARTS, typename SYNC>
__device__ __forceinline__ bool gt_arrive_last(unsigned *counter, bool *last, SYNC sync)
{
    sync();
    if (threadIdx.x == 0) { // for all that met
        unsigned before;
        asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
        *last = before == PARTS - 1;
    }
    sync();
    return *last;
}

// The sums of all PARTS, in the last of their blocks; false in the others. Of TOTAL vectors of sums each of THREADS
// threads has up to COUNT, every THREADS-th one; `parts` is its first one in the workspace.
template <int PARTS, int TOTAL, int THREADS, int COUNT, typename VECTOR, typename SYNC>
__device__ __forceinline__ bool gt_add_parts(VECTOR *parts, unsigned part, unsigned *counter, VECTOR *sums, bool *last,
                                             SYNC sync)
{
#pragma unroll
    for (int n = 0; n < COUNT; n++)
        if (n * THREADS + threadIdx.x < TOTAL)
            parts[part * TOTAL + n * THREADS] = sums[n];
    if (!gt_arrive_last<PARTS>(counter, last, sync))
        return false;
    // Many reads are under way together, of HELD vectors of as many parts as that leaves room for.
    constexpr int HELD = COUNT < 16 ? COUNT : 16, BATCH = 16 / HELD;
#pragma unroll
    for (int held = 0; held < COUNT; held += HELD)
#pragma unroll 1
        for (int first = 0; first < PARTS; first += BATCH) {
            VECTOR read[BATCH][HELD] = {};
#pragma unroll
            for (int c = 0; c < BATCH; c++)
#pragma unroll
                for (int n = held; n < COUNT && n < held + HELD; n++)
                    if (first + c < PARTS && n * THREADS + threadIdx.x < TOTAL)
                        read[c][n - held] = parts[(first + c) * TOTAL + n * THREADS];
#pragma unroll
            for (int c = 0; c < BATCH; c++)
#pragma unroll
                for (int n = held; n < COUNT && n < held + HELD; n++)
                    if (first + c == 0)
                        sums[n] = read[c][n - held];
                    else if (first + c < PARTS)
#pragma unroll
                        for (int e = 0; e < (int)sizeof(VECTOR) / GT_ACC_BYTES; e++)
                            sums[n].e[e] += read[c][n - held].e[e];
        }
    if (threadIdx.x == 0)
        *counter = 0; // as the next launch expects it
    return true;
}

#endif
