/*
 * Stands before the loader's dlsym, for programs that look cuBLAS up with it (XLA, and with it JAX and TensorFlow; ctypes):
 * where they would get a function of cuBLAS's that the front answers, they get the front's. All else is the loader's, by
 * a tail call: what RTLD_NEXT and RTLD_DEFAULT mean depends on the address that it returns to. dlvsym is left alone, so
 * that whoever asks for one version by name has what he named, and the next dlsym is found by it.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "stand_in.h"

typedef void *look_up(void *handle, const char *name);

#define EXPORT __attribute__((visibility("default")))

/* The version that dlsym had in the first glibc for a machine; every later one has it too. */
#ifdef __x86_64__
#define FIRST_VERSION "GLIBC_2.2.5"
#else
#define FIRST_VERSION "GLIBC_2.17"
#endif

/* Found without a failure, whose text would be allocated: programs with an allocator of their own call dlsym to set that
 * up. */
static look_up *find_next(void)
{
    static _Atomic(void *) found;
    void *next = atomic_load_explicit(&found, memory_order_acquire);
    if (next)
        return (look_up *)next;
    if (!(next = dlvsym(RTLD_NEXT, "dlsym", FIRST_VERSION)))
        abort(); /* no libc that this was built for is without it */
    atomic_store_explicit(&found, next, memory_order_release);
    return (look_up *)next;
}

/* Not inlined: what it needs on the stack would stand in the way of the tail call. */
static __attribute__((noinline)) void *look_up_cublas(look_up *next, void *handle, const char *name)
{
    void *real = next(handle, name);
    __typeof__(gt_cublas_stand_in) *const stand_in =
        real ? (__typeof__(gt_cublas_stand_in) *)dlvsym(RTLD_DEFAULT, "gt_cublas_stand_in", "gemmtune") : NULL;
    if (stand_in)
        real = stand_in(name, real);
    if (real)
        dlerror(); /* a program that asks for it next has no failure of ours to see */
    return real;
}

EXPORT void *dlsym(void *restrict handle, const char *restrict name)
{
    look_up *const next = find_next();
    if (handle != RTLD_DEFAULT && handle != RTLD_NEXT && strncmp(name, "cublas", 6) == 0)
        return look_up_cublas(next, handle, name);
    return next(handle, name);
}
