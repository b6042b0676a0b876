// A vector of a row of C, of which a thread may have only a part: rows that begin anywhere are cut where vectors do.
#ifndef GT_PART_OF_ROW_CUH
#define GT_PART_OF_ROW_CUH

#include "gemm.cuh"

// Stores alpha times sums, V of them at once. Two of 16 bits become a word as PTX makes one of two registers: the assembler then
// rounds both in one instruction, where otherwise it takes three.
template <int V> __device__ __forceinline__ void gt_store_plainly(const gt_args &g, GT_C *c, const GT_ACC (&sum)[V])
{
    gt_vector<GT_C, V> stored;
#pragma unroll
    for (int e = 0; e < V; e++)
        stored.e[e] = GT_C(g.alpha.value * sum[e]);
    if constexpr (GT_C_BYTES == 2)
#pragma unroll
        for (int e = 0; e < V; e += 2)
            asm("mov.b32 %0, {%1, %2};"
                : "=r"(((unsigned *)&stored)[e / 2])
                : "h"(stored.e[e].bits), "h"(stored.e[e + 1].bits));
    gt_store_vector(c, stored);
}

// What C has in those of V columns that come from the `low`-th on and before the `high`-th, if it counts. All of them lie in one
// access of the new C; the old one need not lie as it does.
template <int V> __device__ __forceinline__ gt_vector<GT_C, V> gt_load_part(const gt_args &g, const GT_C *c, int low, int high)
{
    gt_vector<GT_C, V> part = {};
    if (g.beta.value == GT_ACC(0))
        return part;
    const GT_C *old = gt_old(g, c);
    if (low == 0 && high == V && (unsigned long long)old % sizeof part == 0)
        part = *(const gt_vector<GT_C, V> *)old;
    else
#pragma unroll
        for (int e = 0; e < V; e++)
            if (e >= low && e < high)
                part.e[e] = old[e];
    return part;
}

// Stores the results of these columns, with the old C and the epilogue.
template <int V>
__device__ __forceinline__ void gt_store_part(const gt_args &g, GT_C *c, gt_int column, const GT_ACC (&sum)[V],
                                              const gt_vector<GT_C, V> &old, int low, int high)
{
    const auto is_mine = [&](int e) { return e >= low && e < high; };
    GT_ACC results[V];
    gt_vector<GT_C, V> stored;
#pragma unroll
    for (int e = 0; e < V; e++)
        results[e] = g.alpha.value * sum[e];
    if (g.beta.value != GT_ACC(0))
#pragma unroll
        for (int e = 0; e < V; e++)
            results[e] += g.beta.value * GT_ACC(old.e[e]);
    if (gt_has_epilogue(g)) {
        GT_C bias[V];
#pragma unroll
        for (int e = 0; e < V; e++)
            bias[e] = is_mine(e) ? gt_bias(g, column + e) : GT_C();
#pragma unroll
        for (int e = 0; e < V; e++)
            results[e] += GT_ACC(bias[e]);
        gt_activate(g, results);
    }
#pragma unroll
    for (int e = 0; e < V; e++)
        stored.e[e] = GT_C(results[e]);
    if (low == 0 && high == V)
        gt_store_vector(c, stored);
    else
#pragma unroll
        for (int e = 0; e < V; e++)
            if (is_mine(e))
                c[e] = stored.e[e];
}

#endif
