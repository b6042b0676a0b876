/* A library with BLAS's names for programs that know nothing of gemmtune. CBLAS calls Fortran's, as netlib's does. Of what is
 * illegal it looks at A's columns only, and a program may have an xerbla_ of its own. */
#include "program_blas.h"

#include <ctype.h>

#define EXPORT __attribute__((visibility("default")))

static _Thread_local int calls;
static _Thread_local size_t lengths;

EXPORT int fakeBlasCalls(void)
{
    return calls;
}

EXPORT size_t fakeBlasLengths(void)
{
    return lengths;
}

EXPORT void xerbla_(const char *name, const int *which, size_t length)
{
    (void)name;
    (void)which;
    (void)length;
}

#define FORTRAN(name, element, integer)                                                                      \
    EXPORT void name(const char *op_a, const char *op_b, const integer *m, const integer *n, const integer *k, \
                     const element *alpha, const element *a, const integer *lda, const element *b,           \
                     const integer *ldb, const element *beta, element *c, const integer *ldc, size_t length_a, \
                     size_t length_b)                                                                        \
    {                                                                                                        \
        calls++;                                                                                             \
        lengths = length_a + length_b;                                                                       \
        if (*lda < 1)                                                                                        \
            xerbla_(#name, &(const int){8}, sizeof #name - 1);                                               \
        for (integer j = 0; j < *n; j++)                                                                     \
            for (integer i = 0; i < *m; i++) {                                                               \
                element sum = 0, *at = &c[j * *ldc + i];                                                     \
                for (integer l = 0; l < *k; l++)                                                             \
                    sum += a[toupper(*op_a) == 'N' ? l * *lda + i : i * *lda + l] *                          \
                           b[toupper(*op_b) == 'N' ? j * *ldb + l : l * *ldb + j];                           \
                *at = *alpha * sum + (*beta == 0 ? 0 : *beta * *at);                                         \
            }                                                                                                \
    }
FAKE_FORTRAN(FORTRAN)

/* The Fortran function of the same element and integer. */
#define CBLAS(name, element, integer)                                                                        \
    EXPORT void name(int order, int op_a, int op_b, integer m, integer n, integer k, element alpha,          \
                     const element *a, integer lda, const element *b, integer ldb, element beta, element *c, \
                     integer ldc)                                                                            \
    {                                                                                                        \
        const char *const ops[] = {"N", "T", "C"}, *first = ops[op_a - 111], *second = ops[op_b - 111];      \
        if (order == 101)                                                                                    \
            GEMM(element, integer)(second, first, &n, &m, &k, &alpha, b, &ldb, a, &lda, &beta, c, &ldc, 1, 1); \
        else                                                                                                 \
            GEMM(element, integer)(first, second, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1, 1); \
    }
#define GEMM(element, integer)                                                                               \
    _Generic((element)0, float: _Generic((integer)0, int32_t: sgemm_, default: sgemm_64_),                   \
             default: _Generic((integer)0, int32_t: dgemm_, default: dgemm_64_))
FAKE_CBLAS(CBLAS)
