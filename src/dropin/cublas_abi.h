/* What the front knows of cuBLAS: values of its enumerations, which are passed as int, and the functions that say how a
 * handle is set. Building does not ask for NVIDIA's header. */
#ifndef GT_CUBLAS_ABI_H
#define GT_CUBLAS_ABI_H

enum { GT_CUBLAS_SUCCESS = 0, GT_CUBLAS_NOT_INITIALIZED = 1 };
enum { GT_CUBLAS_OP_N = 0, GT_CUBLAS_OP_T = 1, GT_CUBLAS_OP_C = 2 };
enum { GT_CUBLAS_HOST_SCALARS = 0 };
enum { GT_CUBLAS_ALGORITHM_DEFAULT = -1, GT_CUBLAS_ALGORITHM_DEFAULT_TENSOR = 99 };

/* cublasLtMatmulBatchInvarianceFlags_t: what is not set is as a variable of the user's says. */
enum { GT_CUBLAS_INVARIANCE_NONE = 0, GT_CUBLAS_INVARIANCE_UNSET = 0x8000 };

/* cublasMath_t: one of these, and the flag. */
enum {
    GT_CUBLAS_MATH_DEFAULT = 0,
    GT_CUBLAS_MATH_TENSOR = 1, /* of old: f32 may be cut to f16, and nothing changes for other types */
    GT_CUBLAS_MATH_PEDANTIC = 2,
    GT_CUBLAS_MATH_TF32 = 3,
    GT_CUBLAS_MATH_NO_REDUCED_SUMS = 16,
};

/* cudaDataType_t */
enum { GT_CUDA_32F = 0, GT_CUDA_64F = 1, GT_CUDA_16F = 2, GT_CUDA_8I = 3, GT_CUDA_32I = 10, GT_CUDA_16BF = 14 };

/* cublasComputeType_t */
enum {
    GT_CUBLAS_COMPUTE_16F = 64,
    GT_CUBLAS_COMPUTE_32F = 68,
    GT_CUBLAS_COMPUTE_32F_PEDANTIC = 69,
    GT_CUBLAS_COMPUTE_64F = 70,
    GT_CUBLAS_COMPUTE_64F_PEDANTIC = 71,
    GT_CUBLAS_COMPUTE_32I = 72,
    GT_CUBLAS_COMPUTE_32I_PEDANTIC = 73,
    GT_CUBLAS_COMPUTE_32F_TF32 = 77,
};

struct CUstream_st;
typedef int cublas_get_stream(void *handle, struct CUstream_st **stream);
typedef int cublas_get_int(void *handle, int *value); /* pointer mode, math mode, SM count target */

#endif
