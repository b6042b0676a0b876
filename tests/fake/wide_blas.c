/* A BLAS whose integers have 64 bits under the plain names, as its file says: libfakeblas64.so. */
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

void dgemm_(const char *, const char *, const int64_t *, const int64_t *, const int64_t *, const double *, const double *,
            const int64_t *, const double *, const int64_t *, const double *, double *, const int64_t *, size_t, size_t);

EXPORT void dgemm_(const char *op_a, const char *op_b, const int64_t *m, const int64_t *n, const int64_t *k,
                   const double *alpha, const double *a, const int64_t *lda, const double *b, const int64_t *ldb,
                   const double *beta, double *c, const int64_t *ldc, size_t length_a, size_t length_b)
{
    (void)op_a;
    (void)op_b;
    (void)length_a;
    (void)length_b;
    for (int64_t i = 0; i < *m * *n; i++) {
        double *const at = &c[i / *m * *ldc + i % *m];
        *at = *beta == 0 ? 0 : *beta * *at;
        for (int64_t l = 0; l < *k; l++)
            *at += *alpha * a[l * *lda + i % *m] * b[i / *m * *ldb + l];
    }
}
