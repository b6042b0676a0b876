/* A library of a program's own that stands before cuBLAS: it counts a product and passes it on to whatever is next. */
#include <dlfcn.h>

#include "program_cublas.h"

#define EXPORT __attribute__((visibility("default")))

static int seen;

EXPORT int interposerCalls(void);
EXPORT int interposerCalls(void)
{
    return seen;
}

EXPORT int cublasSgemm_v2(cublasHandle_t handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                          const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc)
{
    __typeof__(cublasSgemm_v2) *const next = (__typeof__(cublasSgemm_v2) *)dlsym(RTLD_NEXT, "cublasSgemm_v2");
    seen++;
    return next(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
