// Writes past its result, far enough not to hit another buffer.
#include "gemm.cuh"

#ifndef BM
#define BM 16
#endif
#ifndef BN
#define BN 16
#endif

extern "C" __global__ void __launch_bounds__(BM *BN) gemm(gt_args g)
{
    if (threadIdx.x == 0 && blockIdx.x == 0)
        g.c[(gt_int)1 << 28] = GT_C(1);
}
