// Multiply-adds in the order in which a template writes them, for kernels that choose registers by bank.
#ifndef GT_MULTIPLY_ADD_CUH
#define GT_MULTIPLY_ADD_CUH

// sum += x * y, in the order in which they are written.
__device__ __forceinline__ void gt_multiply_add(float &sum, float x, float y)
{
    asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(sum) : "f"(x), "f"(y));
}
__device__ __forceinline__ void gt_multiply_add(double &sum, double x, double y)
{
    sum = __fma_rn(x, y, sum);
}
__device__ __forceinline__ void gt_multiply_add(int &sum, int x, int y)
{
    sum += x * y;
}

// Two sums begin in a pair of registers, even and odd: in different banks.
__device__ __forceinline__ void gt_clear_pair(float *pair)
{
    asm volatile("mov.b64 {%0, %1}, %2;" : "=f"(pair[0]), "=f"(pair[1]) : "l"(0ll));
}
template <typename T> __device__ __forceinline__ void gt_clear_pair(T *pair)
{
    pair[0] = pair[1] = 0;
}

#endif
