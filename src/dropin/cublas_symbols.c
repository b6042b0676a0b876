/*
 * The functions of cuBLAS that stand before the program's own, for one major version: GT_CUBLAS_MAJOR. Each carries the
 * version that cuBLAS gives to its symbols, its soname, so that a program finds those of the major it was linked with,
 * and one of an unknown major finds none.
 */
#include "cublas.h"
#include "cublas_abi.h"

#define TEXT_(x)     #x
#define TEXT(x)      TEXT_(x)
#define JOIN_(a, b)  a##b
#define JOIN(a, b)   JOIN_(a, b)

#define SONAME "libcublas.so." TEXT(GT_CUBLAS_MAJOR)
#if GT_CUBLAS_MAJOR == 13
#define VERSION "@@" SONAME /* also for a program that asks for no version */
#else
#define VERSION "@" SONAME
#endif

static gt_cublas_library library = {.soname = SONAME};

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
        return real ? real(__VA_ARGS__) : GT_CUBLAS_NOT_INITIALIZED;                                            \
    } while (0)

#define INTEGER int
#define SUFFIX
#include "cublas_symbols.h"
#undef INTEGER
#undef SUFFIX

#define INTEGER int64_t
#define SUFFIX  _64
#include "cublas_symbols.h"
