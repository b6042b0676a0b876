/* A product as a program asks a BLAS for it, its matrices in host memory, and whether it is answered. */
#ifndef GT_BLAS_H
#define GT_BLAS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "../gemmtune.h"
#include "symbols.h"
#include "tally.h"

/* The program's own function of a name, for calls from one of its libraries: they need not share a BLAS. Another library that is
 * loaded where one was unloaded has that one's. */
typedef struct gt_blas_binding {
    uintptr_t first, size; /* of the library */
    void *real;
    bool foreign; /* its integers are not what the name says: nothing is answered */
} gt_blas_binding;

#define GT_BLAS_CALLERS 8 /* libraries; calls from more have the last one's */

typedef struct gt_blas_function {
    gt_symbol symbol;
    bool plain; /* its name does not tell how wide its integers are: usually 32 bits */
    atomic_size_t count;
    gt_blas_binding bindings[GT_BLAS_CALLERS];
} gt_blas_function;

/* That of `caller`, an address in the program's code; NULL if it is not known yet. */
static inline const gt_blas_binding *gt_blas_bound(gt_blas_function *function, const void *caller)
{
    const size_t count = atomic_load_explicit(&function->count, memory_order_acquire);
    for (size_t i = 0; i < count; i++)
        if ((uintptr_t)caller - function->bindings[i].first < function->bindings[i].size)
            return &function->bindings[i];
    return NULL;
}

/* Finds it, once: what the caller would have found without this library. Ends the process, as the loader would, where there
 * is none. */
const gt_blas_binding *gt_blas_find(gt_blas_function *function, const void *caller);

static inline const gt_blas_binding *gt_blas_bind(gt_blas_function *function, const void *caller)
{
    const gt_blas_binding *const bound = gt_blas_bound(function, caller);
    return bound ? bound : gt_blas_find(function, caller);
}

/* In the program's own library, which may call another function that is seen here, and returns. Preloaded, this has a place in
 * every thread from the start. */
extern _Thread_local __attribute__((tls_model("initial-exec"))) int gt_blas_inside;

/* Multiply-adds below which nothing is looked at, once it is known that small products stay on the CPU; 0 before. */
extern _Atomic double gt_blas_least;

/* Column-major, as Fortran has it: C = alpha op(A) op(B) + beta C. */
typedef struct gt_blas_call {
    const gt_blas_function *function;
    const gt_blas_binding *own;
    gt_type type;    /* GT_F32 or GT_F64 */
    char op_a, op_b; /* 'N', 'T', 'C' of either case; anything else is illegal */
    int64_t m, n, k, lda, ldb, ldc;
    const void *alpha, *a, *b, *beta;
    void *c;
} gt_blas_call;

/* Whether a BLAS computes it. Of all else it tells xerbla_, which a program may have replaced by one that jumps away. */
static inline bool gt_blas_is_legal(const gt_blas_call *c)
{
    const char a = (char)(c->op_a & ~0x20), b = (char)(c->op_b & ~0x20); /* upper case */
    const int64_t rows_a = a == 'N' ? c->m : c->k, rows_b = b == 'N' ? c->k : c->n;
    return (a == 'N' || a == 'T' || a == 'C') && (b == 'N' || b == 'T' || b == 'C') && c->m >= 0 && c->n >= 0 &&
           c->k >= 0 && c->lda >= 1 && c->lda >= rows_a && c->ldb >= 1 && c->ldb >= rows_b && c->ldc >= 1 && c->ldc >= c->m;
}

/* Whether a product is small, and counts it: most of most programs are, and take little longer than to look at their arguments.
 * What a call costs then is code and data that its product has driven out of the first cache. */
static inline bool gt_blas_is_small(const gt_blas_call *c)
{
    if (!((double)c->m * (double)c->n * (double)c->k < atomic_load_explicit(&gt_blas_least, memory_order_relaxed)))
        return false;
    if (__builtin_expect(gt_blas_inside == 0, 1))
        gt_tally_count(GT_FATE_SMALL);
    return true;
}

/* True if C has the result; else nothing was done and the call has to be forwarded, between the two below. */
bool gt_blas_answer(const gt_blas_call *call);

/* Around the program's own function: what that calls in turn is not looked at, and its speed is learned from. */
double gt_blas_leave(const gt_blas_call *call);
void gt_blas_return(const gt_blas_call *call, double left);

#endif
