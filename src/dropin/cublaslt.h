/* A product as a program asks cuBLASLt for it, by descriptors. */
#ifndef GT_CUBLASLT_H
#define GT_CUBLASLT_H

#include "cublas.h"

typedef struct gt_lt_call {
    void *handle, *operation;
    const void *alpha, *beta;
    const void *data[4]; /* A, B, C, D */
    void *layouts[4];
    struct CUstream_st *stream;
} gt_lt_call;

/* True if the product is enqueued; else nothing was done and the call has to be forwarded. The algorithm that the
 * program chose and the workspace that it lent are cuBLASLt's. */
bool gt_lt_answer(gt_cublas_library *library, const gt_lt_call *call);

#endif
