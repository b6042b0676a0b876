/* Products that a program asks cuBLAS for, on the software GPU, and checks. */
#ifndef DROPIN_PRODUCT_H
#define DROPIN_PRODUCT_H

#include <cuda.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "../src/core/types.h"
#include "fake/program_cublas.h"

#define REQUIRE(condition)                                                                                   \
    ((condition) ? (void)0 : (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition), exit(1)))
#define CUDA(call) REQUIRE((call) == CUDA_SUCCESS)

typedef struct product {
    int op_a, op_b;
    int64_t m, n, k, batch, pad; /* pad: elements between columns, and between matrices */
    size_t offset;               /* elements that pointers are beyond 256 bytes of alignment */
    gt_type type_ab, type_c;
    int compute, algorithm;
    bool wide;    /* the _64 function */
    bool typed;   /* cublasSgemm, cublasDgemm */
    bool strided; /* the batched function, also for one matrix */
    bool windows; /* each A begins one column behind the one before */
    bool no_alpha, no_beta; /* they are zero, else 2 and -3; then A, or C, is NaN */
} product;

typedef struct matrix {
    const gt_type_info *type;
    int64_t rows, columns, ld, stride;
    size_t count, bytes;
    double *host;
    void *image; /* the elements as they are on the device */
    CUdeviceptr base;
    void *data;
} matrix;

#define F32(m_, n_, k_)                                                                                      \
    .m = m_, .n = n_, .k = k_, .batch = 1, .type_ab = GT_F32, .type_c = GT_F32, .compute = FAKE_32F, .algorithm = -1

/* Whether products of `run` must not come to cuBLAS, or must. */
extern enum expectation { ANY, ANSWERED, FORWARDED } expected;

matrix make_matrix(const product *p, gt_type type, int64_t rows, int64_t columns, unsigned *seed);
void free_matrix(matrix *x);

/* Calls the function of cuBLAS that the product names; its status. */
int call(cublasHandle_t handle, const product *p, const void *alpha, const matrix *a, const matrix *b, const void *beta,
         const matrix *c);

/* Each element of C, and what lies between columns and matrices, which stays. */
void check_result(const product *p, const matrix *a, const matrix *b, const matrix *c);

/* Runs a product on the handle's stream and checks it; whether it was answered. */
bool run(cublasHandle_t handle, const product *p, unsigned *seed);

#endif
