/* A product as a program asks a BLAS for it, its matrices in host memory, and whether it is answered. */
#ifndef GT_BLAS_H
#define GT_BLAS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "../gemmtune.h"
#include "symbols.h"

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
