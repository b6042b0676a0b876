// Split-K: blocks that share one tile of C leave their partial sums in the workspace, and the last to arrive adds them
// up. It does so in the order of the parts, whoever was last: the result is the same every time.
//
// How many parts there are is what the grid says (the fact any_split): one kernel serves few tiles with a long K and many
// tiles with a short one. Where all parts of a tile are one cluster, they are as many as the kernel was made for.
#ifndef GT_SPLIT_K_CUH
#define GT_SPLIT_K_CUH

#include "gemm.cuh"

// Parts of K of one tile, for a kernel that was made for SPLIT of them in clusters of CLUSTER.
template <int SPLIT, int CLUSTER = 1>
__device__ __forceinline__ unsigned gt_parts()
{
    return SPLIT > CLUSTER ? gridDim.y : SPLIT;
}

// A number of steps over the parts. Divisions of 32 bits are quick.
template <int SPLIT, int CLUSTER>
__device__ __forceinline__ gt_int gt_over_parts(gt_int steps)
{
    if (SPLIT == CLUSTER)
        return steps / SPLIT;
    return steps >> 32 ? steps / gridDim.y : (unsigned)steps / gridDim.y;
}

// The steps of K that every part has but the last ones, which have fewer or none.
template <int SPLIT, int CLUSTER = 1>
__device__ __forceinline__ gt_int gt_share(gt_int steps)
{
    return gt_over_parts<SPLIT, CLUSTER>(steps + gt_parts<SPLIT, CLUSTER>() - 1);
}

// The first step of a part where all have as many steps as the others, or one less.
template <int SPLIT, int CLUSTER = 1>
__device__ __forceinline__ gt_int gt_first_step(gt_int steps, unsigned part)
{
    return gt_over_parts<SPLIT, CLUSTER>(steps * part);
}

// Whether this block is the last of `parts` to arrive at a counter: then its threads may read what those of the others
// wrote before they arrived, and must set the counter to zero, as the next launch expects it. sync() is a barrier of
// all threads that take part; `last` lies in shared memory, and nobody uses it meanwhile.
template <typename SYNC>
__device__ __forceinline__ bool gt_arrive_last(unsigned parts, unsigned *counter, bool *last, SYNC sync)
{
    sync();
    if (threadIdx.x == 0) { // for all that met
        unsigned before;
        asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
        *last = before == parts - 1;
    }
    sync();
    return *last;
}

// The sums of `count` parts, in the last of their blocks; false in the others. Of TOTAL vectors of sums each of
// THREADS threads has up to COUNT, every THREADS-th one; `parts` is its first one in the workspace, and parts lie
// `apart` of them from each other.
template <int TOTAL, int THREADS, int COUNT, typename VECTOR, typename SYNC>
__device__ __forceinline__ bool gt_add_parts(VECTOR *parts, unsigned part, unsigned count, unsigned *counter,
                                             VECTOR *sums, bool *last, SYNC sync, unsigned apart = 1)
{
    if (count == 1) // nothing to add
        return true;
    const auto is_there = [](int n) { return TOTAL % THREADS == 0 || n * THREADS + threadIdx.x < TOTAL; };
#pragma unroll
    for (int n = 0; n < COUNT; n++)
        if (is_there(n))
            parts[part * apart * TOTAL + n * THREADS] = sums[n];
    if (!gt_arrive_last(count, counter, last, sync))
        return false;
    // Many reads are under way together, of HELD vectors of as many parts as that leaves room for. What is not there
    // changes no sum: without questions between reads and sums the compiler keeps reads together.
    constexpr int HELD = COUNT < 16 ? COUNT : 16, BATCH = 16 / HELD, ELEMENTS = sizeof(VECTOR) / GT_ACC_BYTES;
    const auto clear = [](VECTOR &v) {
#pragma unroll
        for (int e = 0; e < ELEMENTS; e++)
            v.e[e] = -GT_ACC(0);
    };
#pragma unroll
    for (int n = 0; n < COUNT; n++)
        clear(sums[n]);
#pragma unroll
    for (int held = 0; held < COUNT; held += HELD)
#pragma unroll 1
        for (unsigned first = 0; first < count; first += BATCH) {
            VECTOR read[BATCH][HELD];
#pragma unroll
            for (int c = 0; c < BATCH; c++)
#pragma unroll
                for (int n = held; n < COUNT && n < held + HELD; n++) {
                    clear(read[c][n - held]);
                    if (first + c < count && is_there(n))
                        read[c][n - held] = parts[(first + c) * apart * TOTAL + n * THREADS];
                }
#pragma unroll
            for (int c = 0; c < BATCH; c++)
#pragma unroll
                for (int n = held; n < COUNT && n < held + HELD; n++)
#pragma unroll
                    for (int e = 0; e < ELEMENTS; e++)
                        sums[n].e[e] += read[c][n - held].e[e];
        }
    if (threadIdx.x == 0)
        *counter = 0; // as the next launch expects it
    return true;
}

// The same for many parts: some blocks add up GT_ADDED parts each, at the same time, and the last of them adds up what
// these come to. There is a counter for each part.
constexpr unsigned GT_ADDED = 8;
template <int TOTAL, int THREADS, int COUNT, typename VECTOR, typename SYNC>
__device__ __forceinline__ bool gt_add_many_parts(VECTOR *parts, unsigned part, unsigned count, unsigned *counters,
                                                  VECTOR *sums, bool *last, SYNC sync)
{
    unsigned apart = 1; // from one that is added to the next
#pragma unroll 1
    for (unsigned round = 0; count > 1; round++) {
        const unsigned first = part / GT_ADDED * GT_ADDED, left = count - first;
        // Another counter in each round: blocks of the next one may arrive before all of this one have.
        if (!gt_add_parts<TOTAL, THREADS, COUNT>(parts + (gt_int)(first * apart) * TOTAL, part - first,
                                                 left < GT_ADDED ? left : GT_ADDED, counters + first * apart + round,
                                                 sums, last, sync, apart))
            return false;
        count = (count + GT_ADDED - 1) / GT_ADDED;
        part /= GT_ADDED;
        apart *= GT_ADDED;
    }
    return true;
}

#endif
