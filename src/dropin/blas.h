/* A product as a program asks a BLAS for it, its matrices in host memory, and whether it is answered. */
#ifndef GT_BLAS_H
#define GT_BLAS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "../gemmtune.h"
#include "symbols.h"
#include "tally.h"

/* The program's own function of a name. */
typedef struct gt_blas_function {
    gt_symbol symbol;
    bool plain; /* its name does not tell how wide its integers are: usually 32 bits */
    _Atomic(void *) real;
    atomic_bool foreign; /* its integers are not what the name says: nothing is answered */
} gt_blas_function;

/* Finds it, once: what `caller`, an address in the program's code, would have found without this library. Ends the
 * process, as the loader would, where there is none. */
void *gt_blas_find(gt_blas_function *function, const void *caller);

static inline void *gt_blas_real(gt_blas_function *function, const void *caller)
{
    void *const real = atomic_load_explicit(&function->real, memory_order_acquire);
    return real ? real : gt_blas_find(function, caller);
}

/* In the program's own library, which may call another function that is seen here. Preloaded, this has a place in every
 * thread from the start. */
extern _Thread_local __attribute__((tls_model("initial-exec"))) int gt_blas_inside;

/* Multiply-adds below which nothing is looked at, once it is known that small products stay on the CPU; 0 before. */
extern _Atomic double gt_blas_least;

/* Whether a product is small, and counts it: most of most programs are, and take little longer than to look at their arguments.
 * What a call costs then is code and data that its product has driven out of the first cache. */
static inline bool gt_blas_is_small(double m, double n, double k)
{
    if (!(m * n * k < atomic_load_explicit(&gt_blas_least, memory_order_relaxed)))
        return false;
    if (__builtin_expect(gt_blas_inside == 0, 1))
        gt_tally_count(GT_FATE_SMALL);
    return true;
}

/* Column-major, as Fortran has it: C = alpha op(A) op(B) + beta C. */
typedef struct gt_blas_call {
    const gt_blas_function *function;
    gt_type type;    /* GT_F32 or GT_F64 */
    char op_a, op_b; /* 'N', 'T', 'C' of either case; anything else is illegal */
    int64_t m, n, k, lda, ldb, ldc;
    const void *alpha, *a, *b, *beta;
    void *c;
} gt_blas_call;

/* True if C has the result; else nothing was done and the call has to be forwarded, between the two below. */
bool gt_blas_answer(const gt_blas_call *call);

/* Around the program's own function: what that calls in turn is not looked at, and its speed is learned from. */
double gt_blas_leave(const gt_blas_call *call);
void gt_blas_return(const gt_blas_call *call, double left);

#endif
