// Matrices of 8 x 8 elements of 16 bits between a warp's registers and lines of 16 bytes in shared memory, four at once:
// lanes 8 i to 8 i + 7 say where the lines of the i-th lie. TRANSPOSED: its columns are the lines.
#ifndef GT_MATRICES_CUH
#define GT_MATRICES_CUH

template <bool TRANSPOSED> __device__ __forceinline__ void gt_read_matrices(unsigned (&m)[4], unsigned from)
{
    if constexpr (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                     : "r"(from)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                     : "r"(from)
                     : "memory");
}
// From sm_90 on.
template <bool TRANSPOSED> __device__ __forceinline__ void gt_write_matrices(unsigned to, const unsigned (&m)[4])
{
    if constexpr (TRANSPOSED)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(m[0]),
                     "r"(m[1]), "r"(m[2]), "r"(m[3])
                     : "memory");
    else
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(m[0]),
                     "r"(m[1]), "r"(m[2]), "r"(m[3])
                     : "memory");
}

#endif
