#include "dropin_product.h"

#include <errno.h>
#include <math.h>

enum expectation expected;

/* Small whole numbers, whose sums of products are exact in every type. */
matrix make_matrix(const product *p, gt_type type, int64_t rows, int64_t columns, unsigned *seed)
{
    matrix x = {.type = gt_type_find(type), .rows = rows, .columns = columns, .ld = rows + p->pad};
    x.stride = x.ld * columns + 4 * p->pad;
    x.count = (size_t)(x.stride * p->batch);
    x.bytes = x.count * (size_t)x.type->bytes;
    x.host = malloc(x.count * sizeof *x.host);
    x.image = malloc(x.bytes);
    CUDA(cuMemAlloc(&x.base, x.bytes + p->offset * (size_t)x.type->bytes));
    x.data = (char *)x.base + p->offset * (size_t)x.type->bytes;
    for (size_t i = 0; i < x.count; i++) {
        x.host[i] = (double)(rand_r(seed) % 5) - 2;
        x.type->store(x.image, (int64_t)i, x.host[i]);
    }
    CUDA(cuMemcpyHtoD((CUdeviceptr)x.data, x.image, x.bytes));
    return x;
}

/* NaN wherever a product of its size would look. */
static void spoil(matrix *x)
{
    for (size_t i = 0; i < x->count; i++)
        x->type->store(x->image, (int64_t)i, NAN);
    CUDA(cuMemcpyHtoD((CUdeviceptr)x->data, x->image, x->bytes));
}

void free_matrix(matrix *x)
{
    free(x->host);
    free(x->image);
    CUDA(cuMemFree(x->base));
}

int call(cublasHandle_t handle, const product *p, const void *alpha, const matrix *a, const matrix *b, const void *beta,
         const matrix *c)
{
    const int ab = a->type->cublas, to = c->type->cublas;
#define SIZES handle, p->op_a, p->op_b, (int)p->m, (int)p->n, (int)p->k, alpha
#define WIDE  handle, p->op_a, p->op_b, p->m, p->n, p->k, alpha
    if (p->typed && p->strided && p->type_ab == GT_F32)
        return p->wide ? cublasSgemmStridedBatched_64(WIDE, a->data, a->ld, a->stride, b->data, b->ld, b->stride, beta,
                                                      c->data, c->ld, c->stride, p->batch)
                       : cublasSgemmStridedBatched(SIZES, a->data, (int)a->ld, a->stride, b->data, (int)b->ld,
                                                   b->stride, beta, c->data, (int)c->ld, c->stride, (int)p->batch);
    if (p->typed && p->strided && p->type_ab == GT_F16)
        return p->wide ? cublasHgemmStridedBatched_64(WIDE, a->data, a->ld, a->stride, b->data, b->ld, b->stride, beta,
                                                      c->data, c->ld, c->stride, p->batch)
                       : cublasHgemmStridedBatched(SIZES, a->data, (int)a->ld, a->stride, b->data, (int)b->ld,
                                                   b->stride, beta, c->data, (int)c->ld, c->stride, (int)p->batch);
    if (p->typed && p->type_ab == GT_F16)
        return p->wide ? cublasHgemm_64(WIDE, a->data, a->ld, b->data, b->ld, beta, c->data, c->ld)
                       : cublasHgemm(SIZES, a->data, (int)a->ld, b->data, (int)b->ld, beta, c->data, (int)c->ld);
    if (p->typed && p->strided)
        return p->wide ? cublasDgemmStridedBatched_64(WIDE, a->data, a->ld, a->stride, b->data, b->ld, b->stride, beta,
                                                      c->data, c->ld, c->stride, p->batch)
                       : cublasDgemmStridedBatched(SIZES, a->data, (int)a->ld, a->stride, b->data, (int)b->ld,
                                                   b->stride, beta, c->data, (int)c->ld, c->stride, (int)p->batch);
    if (p->typed && p->type_ab == GT_F32)
        return p->wide ? cublasSgemm_v2_64(WIDE, a->data, a->ld, b->data, b->ld, beta, c->data, c->ld)
                       : cublasSgemm_v2(SIZES, a->data, (int)a->ld, b->data, (int)b->ld, beta, c->data, (int)c->ld);
    if (p->typed)
        return p->wide ? cublasDgemm_v2_64(WIDE, a->data, a->ld, b->data, b->ld, beta, c->data, c->ld)
                       : cublasDgemm_v2(SIZES, a->data, (int)a->ld, b->data, (int)b->ld, beta, c->data, (int)c->ld);
    if (p->strided)
        return p->wide ? cublasGemmStridedBatchedEx_64(WIDE, a->data, ab, a->ld, a->stride, b->data, ab, b->ld,
                                                       b->stride, beta, c->data, to, c->ld, c->stride, p->batch,
                                                       p->compute, p->algorithm)
                       : cublasGemmStridedBatchedEx(SIZES, a->data, ab, (int)a->ld, a->stride, b->data, ab, (int)b->ld,
                                                    b->stride, beta, c->data, to, (int)c->ld, c->stride, (int)p->batch,
                                                    p->compute, p->algorithm);
    return p->wide ? cublasGemmEx_64(WIDE, a->data, ab, a->ld, b->data, ab, b->ld, beta, c->data, to, c->ld, p->compute,
                                     p->algorithm)
                   : cublasGemmEx(SIZES, a->data, ab, (int)a->ld, b->data, ab, (int)b->ld, beta, c->data, to,
                                  (int)c->ld, p->compute, p->algorithm);
}

static double element(const matrix *x, int op, int64_t i, int64_t row, int64_t column)
{
    return x->host[i * x->stride + (op ? row * x->ld + column : column * x->ld + row)];
}

void check_result(const product *p, const matrix *a, const matrix *b, const matrix *c)
{
    CUDA(cuMemcpyDtoH(c->image, (CUdeviceptr)c->data, c->bytes));
    for (size_t at = 0; at < c->count; at++) {
        const int64_t i = (int64_t)at / c->stride, column = (int64_t)at % c->stride / c->ld,
                      row = (int64_t)at % c->stride % c->ld;
        double right = c->host[at], sum = 0;
        if (row < p->m && column < p->n) {
            for (int64_t l = 0; l < p->k; l++)
                sum += element(a, p->op_a, i, row, l) * element(b, p->op_b, i, l, column);
            right = (p->no_alpha ? 0 : 2 * sum) - (p->no_beta ? 0 : 3 * right);
        }
        const double got = c->type->load(c->image, (int64_t)at);
        if (got != right) {
            fprintf(stderr, "element %zu of %s, ops %d %d, %dx%dx%d, pad %d, batch %d: %g, not %g\n", at, c->type->name,
                    p->op_a, p->op_b, (int)p->m, (int)p->n, (int)p->k, (int)p->pad, (int)p->batch, got, right);
            exit(1);
        }
    }
}

bool run(cublasHandle_t handle, const product *p, unsigned *seed)
{
    matrix a = make_matrix(p, p->type_ab, p->op_a ? p->k : p->m, p->op_a ? p->m : p->k, seed);
    matrix b = make_matrix(p, p->type_ab, p->op_b ? p->n : p->k, p->op_b ? p->k : p->n, seed);
    matrix c = make_matrix(p, p->type_c, p->m, p->n, seed);
    a.stride = p->windows ? a.ld : a.stride;
    if (p->no_alpha)
        spoil(&a);
    if (p->no_beta)
        spoil(&c);
    const gt_type_info *scalar =
        gt_type_find(p->compute == FAKE_16F ? GT_F16
                     : p->type_ab == GT_F64 ? GT_F64
                     : p->type_ab == GT_S8  ? GT_S32
                                            : GT_F32);
    double alpha, beta; /* room for any */
    CUstream stream;
    scalar->store(&alpha, 0, p->no_alpha ? 0 : 2);
    scalar->store(&beta, 0, p->no_beta ? 0 : -3);
    const int before = fakeCalls();
    errno = ERANGE;
    REQUIRE(call(handle, p, &alpha, &a, &b, &beta, &c) == FAKE_SUCCESS);
    REQUIRE(errno == ERANGE); /* the program's own */
    REQUIRE(cublasGetStream_v2(handle, &stream) == FAKE_SUCCESS);
    CUDA(cuStreamSynchronize(stream));
    check_result(p, &a, &b, &c);
    free_matrix(&a);
    free_matrix(&b);
    free_matrix(&c);
    const bool answered = fakeCalls() == before;
    REQUIRE(expected == ANY || answered == (expected == ANSWERED));
    return answered;
}
