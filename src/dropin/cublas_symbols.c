/*
 * The functions of cuBLAS that stand before the program's own, for one major version: GT_CUBLAS_MAJOR. Each carries the
 * version that cuBLAS gives to its symbols, its soname, so that a program finds those of the major it was linked with,
 * and one of an unknown major finds none.
 */
#include "cublas.h"
#include "cublas_abi.h"
#include "cublaslt.h"

#define TEXT_(x)     #x
#define TEXT(x)      TEXT_(x)
#define JOIN_(a, b)  a##b
#define JOIN(a, b)   JOIN_(a, b)

#define SONAME "libcublas.so." TEXT(GT_CUBLAS_MAJOR)
#if GT_CUBLAS_MAJOR == 13
#define VERSION "@@" SONAME /* also for dlsym, which asks for no version */
#else
#define VERSION "@" SONAME
#endif

static gt_cublas_library library = {.soname = SONAME, .probe = "cublasGetStream_v2"};

/* The name of a function as cuBLAS has it, its number, and its name in this library, where there is one for each
 * major. */
#define SYMBOL(name)   JOIN(name, SUFFIX)
#define NUMBER(name)   JOIN(GT_SYMBOL_, SYMBOL(name))
#define INTERNAL(name) JOIN(JOIN(SYMBOL(name), _of_), GT_CUBLAS_MAJOR)

#define FUNCTION(name, ...)                                                                                  \
    __attribute__((visibility("default"))) int INTERNAL(name)(__VA_ARGS__);                                  \
    __asm__(".symver " TEXT(INTERNAL(name)) "," TEXT(SYMBOL(name)) VERSION);                                 \
    int INTERNAL(name)(__VA_ARGS__)

/* Returns what the program's own function of the same name does. */
#define FORWARD(name, ...)                                                                                   \
    do {                                                                                                     \
        static _Atomic(void *) slot;                                                                         \
        __typeof__(INTERNAL(name)) *const real =                                                             \
            (__typeof__(INTERNAL(name)) *)gt_cublas_find(&library, TEXT(SYMBOL(name)), &slot);               \
        gt_cublas_leave();                                                                                   \
        const int status = real ? real(__VA_ARGS__) : GT_CUBLAS_NOT_INITIALIZED;                             \
        gt_cublas_return();                                                                                  \
        return status;                                                                                       \
    } while (0)

#define INTEGER int
#define SUFFIX
#include "cublas_symbols.h"
#undef INTEGER
#undef SUFFIX

#define INTEGER int64_t
#define SUFFIX  _64
#include "cublas_symbols.h"

/* cuBLASLt's library has versions of its own. */
#undef SONAME
#undef SUFFIX
#define SONAME "libcublasLt.so." TEXT(GT_CUBLAS_MAJOR)
#define SUFFIX
#define library lt_library
static gt_cublas_library lt_library = {.soname = SONAME, .probe = "cublasLtMatmulDescGetAttribute"};

FUNCTION(cublasLtMatmul, void *handle, void *operation, const void *alpha, const void *a, void *layout_a, const void *b,
         void *layout_b, const void *beta, const void *c, void *layout_c, void *d, void *layout_d,
         const void *algorithm, void *workspace, size_t workspace_bytes, struct CUstream_st *stream)
{
    const gt_lt_call call = {
        .handle = handle, .operation = operation, .alpha = alpha, .beta = beta, .stream = stream,
        .data = {a, b, c, d}, .layouts = {layout_a, layout_b, layout_c, layout_d},
    };
    if (gt_lt_answer(&lt_library, &call))
        return GT_CUBLAS_SUCCESS;
    FORWARD(cublasLtMatmul, handle, operation, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d, layout_d, algorithm,
            workspace, workspace_bytes, stream);
}
