// A plain kernel that goes wrong on purpose. FAULT 0 is right; the tuner must find each of the others out.
#include "gemm.cuh"

#ifndef BM
#define BM 16
#endif
#ifndef BN
#define BN 16
#endif
#ifndef FAULT
#define FAULT 0
#endif

#if FAULT == 1
#error "FAULT 1 does not compile"
#endif

extern "C" __global__ void __launch_bounds__(BM *BN) gemm(gt_args g)
{
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int i = tile.row * BM + threadIdx.x / BN, j = tile.column * BN + threadIdx.x % BN;
#if FAULT == 2 // hangs
    volatile unsigned *never = g.counters;
    for (unsigned spins = 1; spins; spins = spins * 2 + 1)
        if (never == (volatile unsigned *)1)
            return;
#elif FAULT == 3 // traps where there are three rows
    if (i == 0 && j == 0 && g.m == 3)
        asm volatile("trap;");
#elif FAULT == 4 // writes far away
    if (i == 0 && j == 0)
        g.c[(gt_int)1 << 44] = GT_C(1);
#endif
    if (i >= g.m || j >= g.n)
        return;
    GT_ACC sum = 0;
    const gt_int k = FAULT == 5 && i == g.m - 1 && g.k > 0 ? g.k - 1 : g.k; // wrong in the last row only
    for (gt_int p = 0; p < k; p++)
        sum += *gt_at_a(g, i, p) * *gt_at_b(g, p, j);
    const GT_C old = FAULT == 8 && g.beta.value == GT_ACC(0) ? g.c[i * g.ldc + j] : GT_C(0);
    gt_store_c(g, i, j, sum);
#if FAULT == 6 // one past the row
    if (j == g.n - 1 && (i < g.m - 1 || g.k > 0))
        g.c[i * g.ldc + g.n] = GT_C(7);
#elif FAULT == 7 // one before the matrix
    if (i == 0 && j == 0)
        g.c[-1] = GT_C(7);
#elif FAULT == 8 // reads C where beta is zero
    g.c[i * g.ldc + j] += GT_ACC(0) * old;
#elif FAULT == 9 // forgets alpha
    g.c[i * g.ldc + j] -= (g.alpha.value - GT_ACC(1)) * sum;
#elif FAULT == 10 // NaN in one corner
    if (i == g.m - 1 && j == g.n - 1)
        g.c[i * g.ldc + j] = GT_C(0) / GT_C(0);
#endif
}
