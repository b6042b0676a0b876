/* What a program sees of the pretended cuBLAS: names, values and signatures of NVIDIA's header. */
#ifndef FAKE_PROGRAM_CUBLAS_H
#define FAKE_PROGRAM_CUBLAS_H

#include <cuda.h>
#include <stdint.h>

typedef struct cublasContext *cublasHandle_t;

enum { FAKE_SUCCESS = 0, FAKE_NOT_INITIALIZED = 1, FAKE_INVALID_VALUE = 7, FAKE_EXECUTION_FAILED = 13,
       FAKE_NOT_SUPPORTED = 15 };
enum { FAKE_R_32F = 0, FAKE_R_64F = 1, FAKE_R_16F = 2, FAKE_R_8I = 3, FAKE_R_32I = 10, FAKE_R_16BF = 14 };
enum { FAKE_16F = 64, FAKE_32F = 68, FAKE_32F_PEDANTIC = 69, FAKE_64F = 70, FAKE_32I = 72, FAKE_32F_FAST_TF32 = 77 };

/* Products that came to this library from the calling thread. */
int fakeCalls(void);

int cublasCreate_v2(cublasHandle_t *handle);
int cublasDestroy_v2(cublasHandle_t handle);
int cublasSetStream_v2(cublasHandle_t handle, CUstream stream);
int cublasGetStream_v2(cublasHandle_t handle, CUstream *stream);
int cublasSetPointerMode_v2(cublasHandle_t handle, int mode);
int cublasGetPointerMode_v2(cublasHandle_t handle, int *mode);
int cublasSetMathMode(cublasHandle_t handle, int mode);
int cublasGetMathMode(cublasHandle_t handle, int *mode);
int cublasSetSmCountTarget(cublasHandle_t handle, int count);
int cublasGetSmCountTarget(cublasHandle_t handle, int *count);

#define FAKE_PRODUCTS(suffix, integer)                                                                       \
    int cublasSgemm_v2##suffix(cublasHandle_t, int, int, integer, integer, integer, const float *, const float *, \
                               integer, const float *, integer, const float *, float *, integer);            \
    int cublasDgemm_v2##suffix(cublasHandle_t, int, int, integer, integer, integer, const double *, const double *, \
                               integer, const double *, integer, const double *, double *, integer);         \
    int cublasSgemmStridedBatched##suffix(cublasHandle_t, int, int, integer, integer, integer, const float *, \
                                          const float *, integer, long long, const float *, integer, long long, \
                                          const float *, float *, integer, long long, integer);              \
    int cublasDgemmStridedBatched##suffix(cublasHandle_t, int, int, integer, integer, integer, const double *, \
                                          const double *, integer, long long, const double *, integer, long long, \
                                          const double *, double *, integer, long long, integer);            \
    int cublasHgemm##suffix(cublasHandle_t, int, int, integer, integer, integer, const uint16_t *, const uint16_t *, \
                            integer, const uint16_t *, integer, const uint16_t *, uint16_t *, integer);      \
    int cublasHgemmStridedBatched##suffix(cublasHandle_t, int, int, integer, integer, integer, const uint16_t *, \
                                          const uint16_t *, integer, long long, const uint16_t *, integer,   \
                                          long long, const uint16_t *, uint16_t *, integer, long long, integer); \
    int cublasGemmEx##suffix(cublasHandle_t, int, int, integer, integer, integer, const void *, const void *, int, \
                             integer, const void *, int, integer, const void *, void *, int, integer, int, int); \
    int cublasGemmStridedBatchedEx##suffix(cublasHandle_t, int, int, integer, integer, integer, const void *, \
                                           const void *, int, integer, long long, const void *, int, integer, \
                                           long long, const void *, void *, int, integer, long long, integer, int, int);
FAKE_PRODUCTS(, int)
FAKE_PRODUCTS(_64, int64_t)

#endif
