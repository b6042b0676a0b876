/*
 * The functions of BLAS that stand before the program's own: Fortran's and C's, and the names that they have in
 * OpenBLAS, netlib's BLAS and MKL with integers of 64 bits and in the libraries of NumPy's and SciPy's wheels.
 */
#include "blas.h"

#define EXPORT __attribute__((visibility("default")))

enum { ROW_MAJOR = 101, COLUMN_MAJOR = 102 };

/* CBLAS's numbers of ops. */
static char op_letter(int op)
{
    return op == 111 ? 'N' : op == 112 ? 'T' : op == 113 ? 'C' : '?';
}

/* Fortran's hidden lengths of its texts are passed on, whether the caller gave them or not. */
typedef void fortran_gemm(const char *op_a, const char *op_b, const void *m, const void *n, const void *k,
                          const void *alpha, const void *a, const void *lda, const void *b, const void *ldb,
                          const void *beta, void *c, const void *ldc, size_t length_a, size_t length_b);

#define FORTRAN(name, type_, integer, is_plain)                                                              \
    EXPORT fortran_gemm name;                                                                                \
    void name(const char *op_a, const char *op_b, const void *m, const void *n, const void *k,               \
              const void *alpha, const void *a, const void *lda, const void *b, const void *ldb,             \
              const void *beta, void *c, const void *ldc, size_t length_a, size_t length_b)                  \
    {                                                                                                        \
        static gt_blas_function function = {.symbol = GT_SYMBOL_##name, .plain = is_plain};                  \
        const gt_blas_binding *const own = gt_blas_bind(&function, __builtin_return_address(0));             \
        fortran_gemm *const real = (fortran_gemm *)own->real;                                                \
        const gt_blas_call call = {                                                                          \
            .function = &function, .own = own, .type = type_, .op_a = *op_a, .op_b = *op_b,                  \
            .m = *(const integer *)m,                                                                        \
            .n = *(const integer *)n, .k = *(const integer *)k, .lda = *(const integer *)lda,                \
            .ldb = *(const integer *)ldb, .ldc = *(const integer *)ldc, .alpha = alpha, .a = a, .b = b,      \
            .beta = beta, .c = c,                                                                            \
        };                                                                                                   \
        if (gt_blas_is_small(&call)) {                                                                       \
            const bool returns = gt_blas_is_legal(&call);                                                    \
            gt_blas_inside += returns;                                                                       \
            real(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, length_a, length_b);              \
            gt_blas_inside -= returns;                                                                       \
            return;                                                                                          \
        }                                                                                                    \
        if (gt_blas_answer(&call))                                                                           \
            return;                                                                                          \
        const double left = gt_blas_leave(&call);                                                            \
        real(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, length_a, length_b);                  \
        gt_blas_return(&call, left);                                                                         \
    }

/* Integers are taken and passed on as 64 bits, of which a caller with 32 has set the lower half: so they arrive as they
 * came, whatever the program's library takes. A row-major product is the column-major one of the transposes. */
#define CBLAS(name, number, type_, integer, is_plain)                                                        \
    typedef void name##_type(int order, int op_a, int op_b, int64_t m, int64_t n, int64_t k, number alpha,   \
                             const number *a, int64_t lda, const number *b, int64_t ldb, number beta,        \
                             number *c, int64_t ldc);                                                        \
    EXPORT name##_type name;                                                                                 \
    void name(int order, int op_a, int op_b, int64_t m, int64_t n, int64_t k, number alpha, const number *a, \
              int64_t lda, const number *b, int64_t ldb, number beta, number *c, int64_t ldc)                \
    {                                                                                                        \
        static gt_blas_function function = {.symbol = GT_SYMBOL_##name, .plain = is_plain};                  \
        const gt_blas_binding *const own = gt_blas_bind(&function, __builtin_return_address(0));             \
        name##_type *const real = (name##_type *)own->real;                                                  \
        const bool flip = order == ROW_MAJOR, known = flip || order == COLUMN_MAJOR;                         \
        const gt_blas_call call = {                                                                          \
            .function = &function, .own = own, .type = type_,                                                \
            .op_a = known ? op_letter(flip ? op_b : op_a) : '?', .op_b = op_letter(flip ? op_a : op_b),      \
            .m = (integer)(flip ? n : m), .n = (integer)(flip ? m : n), .k = (integer)k,                     \
            .lda = (integer)(flip ? ldb : lda), .ldb = (integer)(flip ? lda : ldb), .ldc = (integer)ldc,     \
            .alpha = &alpha, .a = flip ? b : a, .b = flip ? a : b, .beta = &beta, .c = c,                    \
        };                                                                                                   \
        if (gt_blas_is_small(&call)) {                                                                       \
            const bool returns = gt_blas_is_legal(&call);                                                    \
            gt_blas_inside += returns;                                                                       \
            real(order, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                           \
            gt_blas_inside -= returns;                                                                       \
            return;                                                                                          \
        }                                                                                                    \
        if (gt_blas_answer(&call))                                                                           \
            return;                                                                                          \
        const double left = gt_blas_leave(&call);                                                            \
        real(order, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                               \
        gt_blas_return(&call, left);                                                                         \
    }

FORTRAN(sgemm_, GT_F32, int32_t, true)
FORTRAN(dgemm_, GT_F64, int32_t, true)
FORTRAN(scipy_sgemm_, GT_F32, int32_t, false)
FORTRAN(scipy_dgemm_, GT_F64, int32_t, false)
FORTRAN(sgemm_64_, GT_F32, int64_t, false)
FORTRAN(dgemm_64_, GT_F64, int64_t, false)
FORTRAN(scipy_sgemm_64_, GT_F32, int64_t, false)
FORTRAN(scipy_dgemm_64_, GT_F64, int64_t, false)
CBLAS(cblas_sgemm, float, GT_F32, int32_t, true)
CBLAS(cblas_dgemm, double, GT_F64, int32_t, true)
CBLAS(scipy_cblas_sgemm, float, GT_F32, int32_t, false)
CBLAS(scipy_cblas_dgemm, double, GT_F64, int32_t, false)
CBLAS(cblas_sgemm64_, float, GT_F32, int64_t, false)
CBLAS(cblas_dgemm64_, double, GT_F64, int64_t, false)
CBLAS(cblas_sgemm_64, float, GT_F32, int64_t, false)
CBLAS(cblas_dgemm_64, double, GT_F64, int64_t, false)
CBLAS(scipy_cblas_sgemm64_, float, GT_F32, int64_t, false)
CBLAS(scipy_cblas_dgemm64_, double, GT_F64, int64_t, false)
