/* What a program sees of the pretended BLAS: every name that its gemm may have. */
#ifndef FAKE_PROGRAM_BLAS_H
#define FAKE_PROGRAM_BLAS_H

#include <stddef.h>
#include <stdint.h>

/* X(name, element, integer): Fortran's, and C's. */
#define FAKE_FORTRAN(X)                                                                                      \
    X(sgemm_, float, int32_t) X(scipy_sgemm_, float, int32_t) X(sgemm_64_, float, int64_t)                   \
    X(scipy_sgemm_64_, float, int64_t) X(dgemm_, double, int32_t) X(scipy_dgemm_, double, int32_t)           \
    X(dgemm_64_, double, int64_t) X(scipy_dgemm_64_, double, int64_t)
#define FAKE_CBLAS(X)                                                                                        \
    X(cblas_sgemm, float, int32_t) X(scipy_cblas_sgemm, float, int32_t) X(cblas_sgemm64_, float, int64_t)    \
    X(scipy_cblas_sgemm64_, float, int64_t) X(cblas_dgemm, double, int32_t)                                  \
    X(cblas_sgemm_64, float, int64_t) X(cblas_dgemm_64, double, int64_t)                                     \
    X(scipy_cblas_dgemm, double, int32_t) X(cblas_dgemm64_, double, int64_t)                                 \
    X(scipy_cblas_dgemm64_, double, int64_t)

/* Products that came to this library from the calling thread, and the lengths of Fortran's texts at the last. */
int fakeBlasCalls(void);
size_t fakeBlasLengths(void);

void xerbla_(const char *name, const int *which, size_t length);
#define FORTRAN(name, element, integer)                                                                      \
    void name(const char *, const char *, const integer *, const integer *, const integer *, const element *, \
              const element *, const integer *, const element *, const integer *, const element *, element *, \
              const integer *, size_t, size_t);
#define CBLAS(name, element, integer)                                                                        \
    void name(int, int, int, integer, integer, integer, element, const element *, integer, const element *,  \
              integer, element, element *, integer);
FAKE_FORTRAN(FORTRAN)
FAKE_CBLAS(CBLAS)
#undef FORTRAN
#undef CBLAS

#endif
