/*
 * A program that knows nothing of gemmtune and calls a cuBLASLt, the file that it is told, NVIDIA's own too: descriptors
 * need no GPU. Products that are answered run on the software GPU, and cuBLASLt itself, which has none, has a status for
 * those that come to it. test_dropin.py runs it with the front preloaded.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)                                                                                   \
    ((condition) ? (void)0 : (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition), exit(1)))
#define CUDA(call) REQUIRE((call) == CUDA_SUCCESS)

enum { SUCCESS = 0, NOT_INITIALIZED = 1 };
enum { R_32F = 0, R_64F = 1, COMPUTE_32F = 68, COMPUTE_64F = 70 };
enum { POINTER_MODE = 2, OP_A = 3, OP_B = 4, EPILOGUE = 7, BIAS = 8, BIAS_STRIDE = 10, SM_TARGET = 15, A_SCALE = 17,
       BIAS_TYPE = 26, IN_COUNTERS = 29, OUT_COUNTERS = 30, ALPHA_STRIDE = 39, BETA_STRIDE = 40, INVARIANCE = 41 };
enum { RELU = 2, WITH_BIAS = 4, GELU = 32, AUX = 128 };
enum { ORDER = 1, ROWS = 2, BATCH = 5, STRIDE = 6, PLANE = 7 };
enum { M = 33, N = 20, K = 17, MATRICES = 2 };

static int (*make_operation)(void **, int, int), (*free_operation)(void *);
static int (*make_layout)(void **, int, uint64_t, uint64_t, int64_t), (*free_layout)(void *);
static int (*set_operation)(void *, int, const void *, size_t), (*set_layout)(void *, int, const void *, size_t);
static int (*matmul)(void *, void *, const void *, const void *, void *, const void *, void *, const void *, const void *,
                     void *, void *, void *, const void *, void *, size_t, CUstream);
static CUstream stream;

static void load(const char *path)
{
    void *lt = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    REQUIRE(lt);
#define FIND(pointer, name) REQUIRE((pointer = (__typeof__(pointer))dlsym(lt, name)))
    FIND(make_operation, "cublasLtMatmulDescCreate");
    FIND(free_operation, "cublasLtMatmulDescDestroy");
    FIND(set_operation, "cublasLtMatmulDescSetAttribute");
    FIND(make_layout, "cublasLtMatrixLayoutCreate");
    FIND(free_layout, "cublasLtMatrixLayoutDestroy");
    FIND(set_layout, "cublasLtMatrixLayoutSetAttribute");
    /* As a program that is linked with it finds it. */
    REQUIRE((matmul = (__typeof__(matmul))dlvsym(RTLD_DEFAULT, "cublasLtMatmul", "libcublasLt.so.13")));
}

typedef struct product {
    int ops[2], rows[3]; /* of A and B; which of A, B and D have their rows apart, not their columns */
    bool wide, apart;    /* f64; C is another matrix than D */
    bool nowhere;        /* there is no D */
    double beta;
    int batch;
    int epilogue;         /* 0: none; else with a bias in any case, whether it is to be added or not */
    int attribute, value; /* of the operation, beside the usual; 0: none */
    bool on_layout;       /* it is one of A's layout */
} product;

typedef struct matrix {
    int64_t rows, columns, ld, stride;
    double host[MATRICES * 40 * 40];
    CUdeviceptr data;
    void *layout;
} matrix;

static void fill(matrix *x, const product *p, int64_t rows, int64_t columns, bool by_rows, unsigned *seed)
{
    const size_t element = p->wide ? 8 : 4;
    char image[sizeof x->host];
    x->rows = rows;
    x->columns = columns;
    x->ld = (by_rows ? columns : rows) + 2;
    x->stride = x->ld * (by_rows ? rows : columns) + 3;
    for (int64_t i = 0; i < x->stride * MATRICES; i++) {
        x->host[i] = (double)(rand_r(seed) % 5) - 2;
        if (p->wide)
            memcpy(image + i * 8, &x->host[i], 8);
        else
            memcpy(image + i * 4, &(float){(float)x->host[i]}, 4);
    }
    CUDA(cuMemAlloc(&x->data, (size_t)(x->stride * MATRICES) * element));
    CUDA(cuMemcpyHtoD(x->data, image, (size_t)(x->stride * MATRICES) * element));
    REQUIRE(make_layout(&x->layout, p->wide ? R_64F : R_32F, (uint64_t)rows, (uint64_t)columns, x->ld) == SUCCESS);
    REQUIRE(set_layout(x->layout, ORDER, &(int32_t){by_rows}, 4) == SUCCESS);
    REQUIRE(set_layout(x->layout, BATCH, &(int32_t){p->batch}, 4) == SUCCESS);
    REQUIRE(set_layout(x->layout, STRIDE, &x->stride, 8) == SUCCESS);
}

static double at(const matrix *x, bool by_rows, bool flip, int batch, int64_t row, int64_t column)
{
    const int64_t r = flip ? column : row, c = flip ? row : column;
    return x->host[batch * x->stride + (by_rows ? r * x->ld + c : c * x->ld + r)];
}

/* Small whole numbers, and halves of them, so that relu meets no sum that is near zero. */
static double bias_of(int64_t row)
{
    return (double)(row % 7) - 3.5;
}

static double finish(int epilogue, double x, int64_t row)
{
    x += epilogue & WITH_BIAS ? bias_of(row) : 0;
    if (epilogue & RELU)
        return x > 0 ? x : 0;
    return epilogue & GELU ? x / 2 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))) : x;
}

static void check(const product *p, const matrix *a, const matrix *b, const matrix *c, const matrix *d)
{
    char image[sizeof d->host];
    CUDA(cuMemcpyDtoH(image, d->data, (size_t)(d->stride * MATRICES) * (p->wide ? 8 : 4)));
    for (int i = 0; i < p->batch; i++)
        for (int64_t row = 0; row < M; row++)
            for (int64_t column = 0; column < N; column++) {
                const int64_t where = i * d->stride + (p->rows[2] ? row * d->ld + column : column * d->ld + row);
                double sum = 0, right, got;
                float narrow;
                for (int64_t l = 0; l < K; l++)
                    sum += at(a, p->rows[0], p->ops[0], i, row, l) * at(b, p->rows[1], p->ops[1], i, l, column);
                right = finish(p->epilogue, 2 * sum + p->beta * c->host[where], row);
                memcpy(&got, image + where * 8 % (int64_t)sizeof image, 8);
                memcpy(&narrow, image + where * 4, 4);
                REQUIRE(fabs((p->wide ? got : narrow) - right) <= (p->epilogue & GELU ? 1e-5 : 0));
            }
}

static bool is_long(int attribute)
{
    return attribute == A_SCALE || attribute == BIAS || attribute == BIAS_STRIDE || attribute == IN_COUNTERS ||
           attribute == OUT_COUNTERS || attribute == ALPHA_STRIDE || attribute == BETA_STRIDE;
}

/* Whether the library has an attribute of operations: some have come and gone. */
static bool is_known(int attribute)
{
    void *operation;
    REQUIRE(make_operation(&operation, COMPUTE_32F, R_32F) == SUCCESS);
    const bool known = set_operation(operation, attribute, &(int64_t){0}, is_long(attribute) ? 8 : 4) == SUCCESS;
    free_operation(operation);
    return known;
}

/* Runs a product; its status, and a right result where that is success. */
static int run(const product *p, unsigned *seed)
{
    static matrix a, b, c, d;
    static char handle[1 << 16];
    const double wide[] = {2, p->beta};
    const float narrow[] = {2, (float)p->beta};
    float bias[M];
    CUdeviceptr biases;
    void *operation;
    for (int i = 0; i < M; i++)
        bias[i] = (float)bias_of(i);
    CUDA(cuMemAlloc(&biases, sizeof bias));
    CUDA(cuMemcpyHtoD(biases, bias, sizeof bias));
    fill(&a, p, p->ops[0] ? K : M, p->ops[0] ? M : K, p->rows[0], seed);
    fill(&b, p, p->ops[1] ? N : K, p->ops[1] ? K : N, p->rows[1], seed);
    fill(&c, p, M, N, p->rows[2], seed);
    fill(&d, p, M, N, p->rows[2], seed);
    REQUIRE(make_operation(&operation, p->wide ? COMPUTE_64F : COMPUTE_32F, p->wide ? R_64F : R_32F) == SUCCESS);
    REQUIRE(set_operation(operation, OP_A, &p->ops[0], 4) == SUCCESS);
    REQUIRE(set_operation(operation, OP_B, &p->ops[1], 4) == SUCCESS);
    if (p->epilogue) {
        REQUIRE(set_operation(operation, EPILOGUE, &p->epilogue, 4) == SUCCESS);
        REQUIRE(set_operation(operation, BIAS, &biases, 8) == SUCCESS);
    }
    if (p->on_layout)
        REQUIRE(set_layout(a.layout, p->attribute, &(int64_t){p->value},
                           p->attribute == ORDER || p->attribute == BATCH ? 4 : 8) == SUCCESS);
    else if (p->attribute)
        REQUIRE(set_operation(operation, p->attribute, &(int64_t){p->value}, is_long(p->attribute) ? 8 : 4) == SUCCESS);
    const void *alpha = p->wide ? (const void *)&wide[0] : &narrow[0], *beta = p->wide ? (const void *)&wide[1] : &narrow[1];
    const matrix *old = p->apart ? &c : &d;
    const int status = matmul(handle, operation, alpha, (void *)a.data, a.layout, (void *)b.data, b.layout, beta,
                              p->apart && p->beta == 0 ? NULL : (void *)old->data, old->layout,
                              p->nowhere ? NULL : (void *)d.data, d.layout, NULL, NULL, 0, stream);
    CUDA(cuStreamSynchronize(stream));
    if (status == SUCCESS)
        check(p, &a, &b, old, &d);
    matrix *const all[] = {&a, &b, &c, &d};
    for (int i = 0; i < 4; i++) {
        CUDA(cuMemFree(all[i]->data));
        free_layout(all[i]->layout);
    }
    CUDA(cuMemFree(biases));
    free_operation(operation);
    return status;
}

int main(int argc, char **argv)
{
    unsigned seed = 1;
    CUcontext context;
    REQUIRE(argc == 2);
    load(argv[1]);
    CUDA(cuInit(0));
    CUDA(cuDevicePrimaryCtxRetain(&context, 0));
    CUDA(cuCtxSetCurrent(context));
    CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int bits = 0; bits < 32; bits++) {
        const product p = {.ops = {bits & 1, bits >> 1 & 1}, .rows = {bits >> 2 & 1, bits >> 3 & 1, bits >> 4},
                           .batch = 1 + bits % 2, .beta = bits % 3 ? -3 : 0};
        REQUIRE(run(&p, &seed) == SUCCESS);
    }
    REQUIRE(run(&(product){.batch = 1, .wide = true, .beta = -3}, &seed) == SUCCESS);
    REQUIRE(run(&(product){.batch = 1, .apart = true}, &seed) == SUCCESS); /* C is not read */
    REQUIRE(run(&(product){.batch = 2, .beta = -3, .apart = true}, &seed) == SUCCESS);
    for (int i = 0; i < 6; i++) { /* f64 is tuned without transposes only: what is forwarded again is not all of it */
        const product p = {.batch = 1, .wide = true, .beta = -3, .ops = {i % 3 == 0}, .rows = {i % 3 == 1}};
        REQUIRE(run(&p, &seed) == (i % 3 < 2 ? NOT_INITIALIZED : SUCCESS));
    }
    static const int epilogues[] = {RELU, WITH_BIAS, RELU | WITH_BIAS, GELU, GELU | WITH_BIAS};
    for (int i = 0; i < 10; i++) {
        const product p = {
            .batch = 1 + i % 2, .beta = i % 3 ? 0 : -3, .apart = i % 4 == 3, .epilogue = epilogues[i % 5]};
        REQUIRE(run(&p, &seed) == SUCCESS);
    }
    /* What is cuBLASLt's alone: a mask beside the result, a bias along its columns, one of another type or none; a result
     * that has no place, for which it has a status. */
    static const product others[] = {
        {.batch = 1, .epilogue = RELU | AUX},
        {.batch = 1, .epilogue = WITH_BIAS, .rows = {0, 0, 1}},
        {.batch = 1, .epilogue = WITH_BIAS, .attribute = BIAS_TYPE, .value = R_64F},
        {.batch = 2, .epilogue = WITH_BIAS, .attribute = BIAS_STRIDE, .value = 64},
        {.batch = 1, .epilogue = WITH_BIAS, .attribute = BIAS},
        {.batch = 1, .epilogue = RELU, .wide = true},
        {.batch = 1, .beta = -3, .apart = true, .nowhere = true},
        {.batch = 1, .attribute = POINTER_MODE, .value = 1},
        {.batch = 1, .attribute = SM_TARGET, .value = 64},
        {.batch = 1, .attribute = A_SCALE, .value = 4096},
        {.batch = 1, .attribute = IN_COUNTERS, .value = 4096}, /* another kernel's, and what others wait for */
        {.batch = 1, .attribute = OUT_COUNTERS, .value = 4096},
        {.batch = 2, .attribute = ALPHA_STRIDE, .value = 1},
        {.batch = 2, .attribute = BETA_STRIDE, .value = 1},
        {.batch = 1, .attribute = INVARIANCE, .value = 4}, /* a row's bits are the same in every batch */
        {.batch = 1, .attribute = PLANE, .value = 64, .on_layout = true},
        {.batch = 1, .attribute = ORDER, .value = 2, .on_layout = true}, /* tiles of 32 columns */
        {.batch = 1, .attribute = ROWS, .value = M - 1, .on_layout = true}, /* sizes that do not fit together */
        {.batch = 1, .attribute = BATCH, .value = 2, .on_layout = true},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].on_layout || others[i].attribute == 0 || is_known(others[i].attribute))
            REQUIRE(run(&others[i], &seed) == NOT_INITIALIZED);
    return 0;
}
