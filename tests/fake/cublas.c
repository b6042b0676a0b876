/* A library with cuBLAS's name and those of its functions that are called, which computes on the host. */
#include <string.h>

#include "cublas.h"
#include "matrix.h"

#define EXPORT   __attribute__((visibility("default")))
#define INVALID  7   /* a status */
#define DEFAULT  -1  /* algorithms */
#define AUTOTUNE 999

EXPORT fake_cublas_control fake_cublas = {.release = 130100};

/* What the library remembers to have tuned. Scalars may be part of that: nobody promises otherwise. */
typedef struct call {
    fake_matrix a, b, c;
    int64_t flip_a, flip_b, plain;
} call;

static call tuned;

EXPORT int cublasCreate_v2(void **handle)
{
    *handle = &tuned;
    return 0;
}

EXPORT int cublasDestroy_v2(void *handle)
{
    return handle == &tuned ? 0 : INVALID;
}

EXPORT int cublasGetVersion_v2(void *handle, int *version)
{
    *version = fake_cublas.release;
    return handle == &tuned ? 0 : INVALID;
}

EXPORT int cublasSetStream_v2(void *handle, void *stream)
{
    return handle == &tuned && stream ? 0 : INVALID;
}

EXPORT int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes)
{
    return handle == &tuned && workspace && bytes > 0 ? 0 : INVALID;
}

EXPORT int cublasSetMathMode(void *handle, int mode)
{
    return handle == &tuned && mode == 0 ? 0 : INVALID;
}

EXPORT int cublasGemmStridedBatchedEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                                      const void *a, int type_a, int lda, long long stride_a, const void *b, int type_b,
                                      int ldb, long long stride_b, const void *beta, void *c, int type_c, int ldc,
                                      long long stride_c, int batch, int compute, int algorithm)
{
    const fake_ops flip = {op_a == GT_LT_T, op_b == GT_LT_T};
    const float scale = *(const float *)alpha, keep = *(const float *)beta;
    call now;
    memset(&now, 0, sizeof now);
    now.a = (fake_matrix){type_a, batch, flip.a ? k : m, flip.a ? m : k, lda, stride_a};
    now.b = (fake_matrix){type_b, batch, flip.b ? n : k, flip.b ? k : n, ldb, stride_b};
    now.c = (fake_matrix){type_c, batch, m, n, ldc, stride_c};
    now.flip_a = flip.a;
    now.flip_b = flip.b;
    now.plain = scale == 1 && keep == 0;
    if (!handle || compute != GT_LT_COMPUTE_32F || !fake_fits(flip, &now.a, &now.b, &now.c) ||
        (algorithm != DEFAULT && algorithm != AUTOTUNE))
        return INVALID;
    if (algorithm == AUTOTUNE && fake_cublas.refusing)
        return GT_LT_NOT_SUPPORTED;
    fake_multiply(flip, scale, &now.a, a, &now.b, b, keep, &now.c, c);
    if (algorithm == AUTOTUNE && memcmp(&tuned, &now, sizeof now) != 0) {
        tuned = now;
        fake_cublas.tuned++;
        *(float *)c += 1;
    } else if (algorithm == AUTOTUNE) {
        fake_cublas.runs++;
        *(float *)c += fake_cublas.lying ? 1 : 0;
    }
    return 0;
}

EXPORT int cublasGemmEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a,
                        int type_a, int lda, const void *b, int type_b, int ldb, const void *beta, void *c, int type_c,
                        int ldc, int compute, int algorithm)
{
    return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, 0, b, type_b, ldb, 0, beta, c,
                                      type_c, ldc, 0, 1, compute, algorithm);
}
