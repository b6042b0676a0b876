/* A product as a program asks cuBLAS for it, column-major, and whether it is answered. */
#ifndef GT_CUBLAS_H
#define GT_CUBLAS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../gemmtune.h"
#include "memo.h"
#include "symbols.h"
#include "tally.h"

/* The program's own cuBLAS, of one major version. */
typedef struct gt_cublas_library {
    const char *soname;
    const char *probe; /* a function that nobody stands before */
    _Atomic(void *) get_stream, get_pointer_mode, get_math_mode, get_sm_target;
    _Atomic(void *) get_layout, get_operation; /* of cuBLASLt */
} gt_cublas_library;

typedef struct gt_cublas_call {
    /* What is asked for. Up to the epilogue, which cuBLAS has none of, there are no bytes between the fields: they are
     * compared as memory. */
    void *handle;
    int64_t m, n, k;
    int64_t lda, ldb, ldc;
    int64_t stride_a, stride_b, stride_c;
    int64_t batch;
    gt_symbol symbol;
    int op_a, op_b;
    int type_a, type_b, type_c; /* cudaDataType_t */
    int compute, algorithm;
    int math_mode; /* of the handle */
    int align;     /* the largest power of two, 16 at most, that all pointers are multiples of */
    gt_epilogue epilogue;
    const void *alpha, *a, *b, *beta;
    void *c, *d; /* results go to C where there is no D, which lies as C does */
    const void *bias; /* one for each row of C */
} gt_cublas_call;

#define GT_CUBLAS_ASKED offsetof(gt_cublas_call, epilogue) /* bytes that are compared */

/* How a product is to be run: of the handle, or of cuBLASLt's descriptor. */
typedef struct gt_cublas_state {
    struct CUstream_st *stream;
    int pointer_mode, sm_target;
    int invariance; /* cublasLtMatmulBatchInvarianceFlags_t: a row's bits are to be the same whatever the others are */
    bool epilogue; /* one is asked for that the library does not have */
} gt_cublas_state;

/* A function of the program's own cuBLAS, remembered in *slot; NULL if it has none of that name. */
void *gt_cublas_find(const gt_cublas_library *library, const char *name, _Atomic(void *) *slot);

int gt_cublas_align(const gt_cublas_call *call);

/* True if the product is enqueued; else nothing was done and the call has to be forwarded, between the two below. The math
 * mode and the alignment are filled in. */
bool gt_cublas_answer(gt_cublas_library *library, gt_cublas_call *call);

/* The same where all of that is known: GT_FATE_ANSWERED, or why it is not. Nothing is counted but *answers, which the call
 * was looked up under. */
gt_fate gt_cublas_run(const gt_cublas_call *call, const gt_cublas_state *state, gt_answer *answers[GT_MEMO_ANSWERS]);

/* Around the program's own function: cuBLAS calls cuBLASLt, through the loader, and that is not looked at again. */
void gt_cublas_leave(void);
void gt_cublas_return(void);
bool gt_cublas_is_left(void);

/* Exported, for programs that compare: until it is called with 0 again their own cuBLAS gets every product, none is counted. */
void gemmtune_pause(int paused);

#endif
