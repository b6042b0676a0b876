/*
 * A library with cuBLAS's name and symbol versions, for programs that know nothing of gemmtune: products of every type
 * in every layout, computed on the host, with the statuses that cuBLAS has for what it refuses.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../../src/core/types.h"
#include "program_cublas.h"

#define EXPORT __attribute__((visibility("default")))

struct cublasContext {
    CUstream stream;
    int pointer_mode, math_mode, sm_target;
};

static _Thread_local int calls;

EXPORT int fakeCalls(void)
{
    return calls;
}

EXPORT int cublasCreate_v2(cublasHandle_t *handle)
{
    *handle = calloc(1, sizeof **handle);
    return *handle ? FAKE_SUCCESS : FAKE_NOT_INITIALIZED;
}

EXPORT int cublasDestroy_v2(cublasHandle_t handle)
{
    free(handle);
    return FAKE_SUCCESS;
}

#define PROPERTY(type, field, set, get)                                                                      \
    EXPORT int set(cublasHandle_t handle, type value)                                                        \
    {                                                                                                        \
        if (!handle)                                                                                         \
            return FAKE_NOT_INITIALIZED;                                                                     \
        handle->field = value;                                                                               \
        return FAKE_SUCCESS;                                                                                 \
    }                                                                                                        \
    EXPORT int get(cublasHandle_t handle, type *value)                                                       \
    {                                                                                                        \
        if (!handle)                                                                                         \
            return FAKE_NOT_INITIALIZED;                                                                     \
        *value = handle->field;                                                                              \
        return FAKE_SUCCESS;                                                                                 \
    }
PROPERTY(CUstream, stream, cublasSetStream_v2, cublasGetStream_v2)
PROPERTY(int, pointer_mode, cublasSetPointerMode_v2, cublasGetPointerMode_v2)
PROPERTY(int, math_mode, cublasSetMathMode, cublasGetMathMode)
PROPERTY(int, sm_target, cublasSetSmCountTarget, cublasGetSmCountTarget)

static const gt_type_info *find_type(int cublas)
{
    for (int i = 0; gt_type_find((gt_type)i); i++)
        if (gt_type_find((gt_type)i)->cublas == cublas)
            return gt_type_find((gt_type)i);
    return NULL;
}

/* One product of the batch; data begins at its matrices. */
static void multiply(int op_a, int op_b, int64_t m, int64_t n, int64_t k, double alpha, const gt_type_info *ab,
                     const char *a, int64_t lda, const char *b, int64_t ldb, double beta, const gt_type_info *type_c,
                     char *c, int64_t ldc)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += ab->load(a, op_a ? i * lda + l : l * lda + i) * ab->load(b, op_b ? l * ldb + j : j * ldb + l);
            type_c->store(c, j * ldc + i, alpha * sum + (beta == 0 ? 0 : beta * type_c->load(c, j * ldc + i)));
        }
}

EXPORT int cublasGemmStridedBatchedEx_64(cublasHandle_t handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                                         const void *alpha, const void *a, int type_a, int64_t lda, long long stride_a,
                                         const void *b, int type_b, int64_t ldb, long long stride_b, const void *beta,
                                         void *c, int type_c, int64_t ldc, long long stride_c, int64_t batch,
                                         int compute, int algorithm)
{
    const gt_type_info *ab = find_type(type_a), *to = find_type(type_c);
    const gt_type_info *scalar = gt_type_find(compute == FAKE_64F   ? GT_F64
                                              : compute == FAKE_32I ? GT_S32
                                              : compute == FAKE_16F ? GT_F16
                                                                    : GT_F32);
    CUstreamCaptureStatus captured;
    (void)algorithm;
    calls++;
    if (!handle)
        return FAKE_NOT_INITIALIZED;
    if (op_a < 0 || op_a > 2 || op_b < 0 || op_b > 2 || m < 0 || n < 0 || k < 0 || batch < 0 ||
        lda < (op_a ? k : m) || ldb < (op_b ? n : k) || ldc < m || lda < 1 || ldb < 1 || ldc < 1 || !alpha || !beta)
        return FAKE_INVALID_VALUE;
    if (!ab || !to || type_a != type_b)
        return FAKE_NOT_SUPPORTED;
    if (cuStreamIsCapturing(handle->stream, &captured) != CUDA_SUCCESS)
        return FAKE_EXECUTION_FAILED;
    if (captured != CU_STREAM_CAPTURE_STATUS_NONE) /* the host's work cannot be captured */
        return FAKE_SUCCESS;
    if (cuStreamSynchronize(handle->stream) != CUDA_SUCCESS)
        return FAKE_EXECUTION_FAILED;
    for (int64_t i = 0; i < batch; i++)
        multiply(op_a, op_b, m, n, k, scalar->load(alpha, 0), ab, (const char *)a + i * stride_a * ab->bytes, lda,
                 (const char *)b + i * stride_b * ab->bytes, ldb, scalar->load(beta, 0), to,
                 (char *)c + i * stride_c * to->bytes, ldc);
    return FAKE_SUCCESS;
}

EXPORT int cublasGemmStridedBatchedEx(cublasHandle_t handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                                      const void *a, int type_a, int lda, long long stride_a, const void *b, int type_b,
                                      int ldb, long long stride_b, const void *beta, void *c, int type_c, int ldc,
                                      long long stride_c, int batch, int compute, int algorithm)
{
    return cublasGemmStridedBatchedEx_64(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, stride_a, b, type_b, ldb,
                                         stride_b, beta, c, type_c, ldc, stride_c, batch, compute, algorithm);
}

#define SINGLE(suffix, integer)                                                                              \
    EXPORT int cublasGemmEx##suffix(cublasHandle_t handle, int op_a, int op_b, integer m, integer n,         \
                                    integer k, const void *alpha, const void *a, int type_a, integer lda,    \
                                    const void *b, int type_b, integer ldb, const void *beta, void *c,       \
                                    int type_c, integer ldc, int compute, int algorithm)                     \
    {                                                                                                        \
        return cublasGemmStridedBatchedEx_64(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, 0, b, type_b, ldb, \
                                             0, beta, c, type_c, ldc, 0, 1, compute, algorithm);             \
    }
SINGLE(, int)
SINGLE(_64, int64_t)

#define TYPED(gemm, batched, type, id, compute, suffix, integer)                                             \
    EXPORT int gemm##suffix(cublasHandle_t handle, int op_a, int op_b, integer m, integer n,                 \
                                               integer k, const type *alpha, const type *a, integer lda,     \
                                               const type *b, integer ldb, const type *beta, type *c,        \
                                               integer ldc)                                                  \
    {                                                                                                        \
        return cublasGemmStridedBatchedEx_64(handle, op_a, op_b, m, n, k, alpha, a, id, lda, 0, b, id, ldb, 0, \
                                             beta, c, id, ldc, 0, 1, compute, -1);                           \
    }                                                                                                        \
    EXPORT int batched##suffix(                                                                              \
        cublasHandle_t handle, int op_a, int op_b, integer m, integer n, integer k, const type *alpha, const type *a, \
        integer lda, long long stride_a, const type *b, integer ldb, long long stride_b, const type *beta, type *c,   \
        integer ldc, long long stride_c, integer batch)                                                      \
    {                                                                                                        \
        return cublasGemmStridedBatchedEx_64(handle, op_a, op_b, m, n, k, alpha, a, id, lda, stride_a, b, id, ldb,   \
                                             stride_b, beta, c, id, ldc, stride_c, batch, compute, -1);      \
    }
TYPED(cublasSgemm_v2, cublasSgemmStridedBatched, float, FAKE_R_32F, FAKE_32F, , int)
TYPED(cublasSgemm_v2, cublasSgemmStridedBatched, float, FAKE_R_32F, FAKE_32F, _64, int64_t)
TYPED(cublasDgemm_v2, cublasDgemmStridedBatched, double, FAKE_R_64F, FAKE_64F, , int)
TYPED(cublasDgemm_v2, cublasDgemmStridedBatched, double, FAKE_R_64F, FAKE_64F, _64, int64_t)
TYPED(cublasHgemm, cublasHgemmStridedBatched, uint16_t, FAKE_R_16F, FAKE_16F, , int)
TYPED(cublasHgemm, cublasHgemmStridedBatched, uint16_t, FAKE_R_16F, FAKE_16F, _64, int64_t)
