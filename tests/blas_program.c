/*
 * A program that knows nothing of gemmtune: it calls a BLAS of the tests' own making and checks every result.
 * test_dropin_blas.py runs it with the front preloaded. `blas_program PART answered|forwarded`: of the products of that
 * part all or none must not have come to the BLAS.
 */
#include <cuda.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake/program_blas.h"

#define REQUIRE(condition)                                                                                   \
    ((condition) ? (void)0 : (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition), exit(1)))

static bool answered;

/* Small whole numbers, whose sums of products are exact. Column-major. */
typedef struct product {
    int flip_a, flip_b;
    int m, n, k, pad;
    double beta;
} product;

static double pick(const void *data, bool wide, size_t at)
{
    return wide ? ((const double *)data)[at] : ((const float *)data)[at];
}

static void put(void *data, bool wide, size_t at, double value)
{
    if (wide)
        ((double *)data)[at] = value;
    else
        ((float *)data)[at] = (float)value;
}

static void *make(size_t count, bool wide, unsigned *seed)
{
    void *data = malloc(count * 8);
    for (size_t i = 0; i < count; i++)
        put(data, wide, i, (double)(rand_r(seed) % 5) - 2);
    return data;
}

typedef void gemm(const product *p, const void *a, int lda, const void *b, int ldb, void *c, int ldc, bool row_major);

/* Runs a product and checks each element of C, and what lies between its columns. */
static void run(gemm *call, bool wide, const product *p, bool row_major, unsigned *seed)
{
    const int lda = (p->flip_a ? p->k : p->m) + p->pad, ldb = (p->flip_b ? p->n : p->k) + p->pad, ldc = p->m + p->pad;
    void *a = make((size_t)(lda * (p->flip_a ? p->m : p->k)), wide, seed);
    void *b = make((size_t)(ldb * (p->flip_b ? p->k : p->n)), wide, seed);
    void *c = make((size_t)(ldc * p->n), wide, seed), *old = malloc((size_t)(ldc * p->n) * 8);
    for (int i = 0; p->beta == 0 && i < ldc * p->n; i++)
        if (i % ldc < p->m)
            put(c, wide, (size_t)i, NAN); /* never read */
    memcpy(old, c, (size_t)(ldc * p->n) * (wide ? 8 : 4));
    const int before = fakeBlasCalls();
    call(p, a, lda, b, ldb, c, ldc, row_major);
    REQUIRE((fakeBlasCalls() == before) == answered);
    for (int j = 0; j < p->n; j++)
        for (int i = 0; i < ldc; i++) {
            double right = pick(old, wide, (size_t)(j * ldc + i)), sum = 0;
            for (int l = 0; i < p->m && l < p->k; l++)
                sum += pick(a, wide, (size_t)(p->flip_a ? i * lda + l : l * lda + i)) *
                       pick(b, wide, (size_t)(p->flip_b ? l * ldb + j : j * ldb + l));
            if (i < p->m)
                right = 2 * sum + (p->beta == 0 ? 0 : p->beta * right);
            REQUIRE(pick(c, wide, (size_t)(j * ldc + i)) == right);
        }
    free(a);
    free(b);
    free(c);
    free(old);
}

/* A product by each function. A row-major one is that of the transposes. */
#define FORTRAN(name, element, integer)                                                                      \
    static void call_##name(const product *p, const void *a, int lda, const void *b, int ldb, void *c, int ldc, \
                            bool row_major)                                                                  \
    {                                                                                                        \
        const integer m = p->m, n = p->n, k = p->k, la = lda, lb = ldb, lc = ldc;                            \
        const element alpha = 2, beta = (element)p->beta;                                                    \
        (void)row_major;                                                                                     \
        name(p->flip_a ? "t" : "N", p->flip_b ? "C" : "n", &m, &n, &k, &alpha, a, &la, b, &lb, &beta, c, &lc, 1, 1); \
    }
#define CBLAS(name, element, integer)                                                                        \
    static void call_##name(const product *p, const void *a, int lda, const void *b, int ldb, void *c, int ldc, \
                            bool row_major)                                                                  \
    {                                                                                                        \
        const int op_a = p->flip_a ? 112 : 111, op_b = p->flip_b ? 113 : 111;                                \
        if (row_major)                                                                                       \
            name(101, op_b, op_a, p->n, p->m, p->k, 2, b, ldb, a, lda, (element)p->beta, c, ldc);            \
        else                                                                                                 \
            name(102, op_a, op_b, p->m, p->n, p->k, 2, a, lda, b, ldb, (element)p->beta, c, ldc);            \
    }
FAKE_FORTRAN(FORTRAN)
FAKE_CBLAS(CBLAS)

static const struct {
    gemm *call;
    bool wide, c;
} functions[] = {
#define ROW_FORTRAN(name, element, integer) {call_##name, sizeof(element) == 8, false},
#define ROW_CBLAS(name, element, integer)   {call_##name, sizeof(element) == 8, true},
    FAKE_FORTRAN(ROW_FORTRAN) FAKE_CBLAS(ROW_CBLAS)
};

#define FUNCTIONS (sizeof functions / sizeof functions[0])

/* Every function with each op, columns apart or not, C read or not, in both orders where there are two. */
static void layouts(unsigned *seed)
{
    for (size_t i = 0; i < FUNCTIONS; i++)
        for (int bits = 0; bits < (functions[i].c ? 8 : 4); bits++) {
            const product p = {.flip_a = bits & 1, .flip_b = bits >> 1 & 1, .m = 33, .n = 20, .k = 17,
                               .pad = bits % 3, .beta = bits % 2 ? -3 : 0};
            run(functions[i].call, functions[i].wide, &p, bits & 4, seed);
        }
}

/* Sizes that take several rounds through the buffers, and threads to fill them. */
static void large(unsigned *seed)
{
    run(call_sgemm_, false, &(product){.m = 2100, .n = 2200, .k = 3, .pad = 5, .beta = -3}, false, seed);
}

/* A result that comes back in two parts, on a GPU that has only one of them. Where C is read there is no way back. */
static void lost(unsigned *seed)
{
    run(call_sgemm_, false, &(product){.m = 600, .n = 600, .k = 3}, false, seed);
}

static void lost_for_good(unsigned *seed)
{
    run(call_sgemm_, false, &(product){.m = 600, .n = 600, .k = 3, .beta = -3}, false, seed);
}

static void *lose(void *seed)
{
    lost_for_good(seed);
    return NULL;
}

/* Ends while a thread of its multiplies, and the driver before that. */
static void ends(unsigned *seed)
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, lose, seed) == 0);
    sleep(2);
    exit(0);
}

/* Sizes that are cut into tiles along every side where the GPU has little memory, the last ones smaller. */
static void tiles(unsigned *seed)
{
    for (int bits = 0; bits < 4; bits++) {
        const product p = {.flip_a = bits & 1, .flip_b = bits >> 1, .m = 290, .n = 90, .k = 130, .pad = bits,
                           .beta = bits % 2 ? -3 : 0};
        run(bits & 2 ? call_dgemm_ : call_sgemm_, bits & 2, &p, false, seed);
    }
}

/* What a BLAS has its own answer to: it comes there, with the lengths of its texts. */
static void others(unsigned *seed)
{
    const int32_t one = 1, none = 0;
    const float alpha = 1, zero = 0;
    float x[4] = {1, 2, 3, 4};
    const int before = fakeBlasCalls();
    (void)seed;
    sgemm_("N", "N", &one, &one, &none, &alpha, x, &one, x, &one, &alpha, x + 1, &one, 3, 4);
    REQUIRE(fakeBlasCalls() == before + 1 && fakeBlasLengths() == 7);
    sgemm_("N", "N", &one, &one, &one, &zero, x, &one, x, &one, &alpha, x + 1, &one, 1, 1);
    sgemm_("N", "N", &one, &one, &one, &alpha, x, &none, x, &one, &alpha, x + 1, &one, 1, 1);
    REQUIRE(fakeBlasCalls() == before + 3);
}

static void *work(void *data)
{
    unsigned seed = (unsigned)(uintptr_t)data;
    for (int i = 0; i < 20; i++)
        run(functions[(size_t)i % FUNCTIONS].call, functions[(size_t)i % FUNCTIONS].wide,
            &(product){.m = 10 + i % 7, .n = 20, .k = 17, .flip_a = i & 1, .beta = -3}, false, &seed);
    return NULL;
}

static void threads(unsigned *seed)
{
    pthread_t list[8];
    for (uintptr_t i = 0; i < 8; i++)
        REQUIRE(pthread_create(&list[i], NULL, work, (void *)(*seed + i)) == 0);
    for (int i = 0; i < 8; i++)
        pthread_join(list[i], NULL);
}

/* Products that a GPU would do faster: the CPU has the first ones, until they would have paid for setting a GPU up. Where
 * it is known how slow the CPU is, one of them may have. */
static void learns(unsigned *seed)
{
    enum { N = 256, K = 80 };
    const int32_t n = N, k = K;
    const double alpha = 1, beta = 0;
    double *a = make(N * K, true, seed), *b = make(N * K, true, seed), *c = make(N * N, true, seed), sum = 0;
    int calls = 0, forwarded = 0;
    for (; calls < 2000 && calls == forwarded; calls++) {
        const int before = fakeBlasCalls();
        dgemm_("N", "N", &n, &n, &k, &alpha, a, &n, b, &k, &beta, c, &n, 1, 1);
        forwarded += fakeBlasCalls() - before;
    }
    printf("%d of %d came to the CPU\n", forwarded, calls);
    REQUIRE(forwarded == calls - 1 && (answered ? forwarded == 0 : forwarded > 5));
    for (int l = 0; l < K; l++)
        sum += a[l * N + 3] * b[7 * K + l];
    REQUIRE(c[7 * N + 3] == sum);
    free(a);
    free(b);
    free(c);
}

#define CUDA(call) REQUIRE((call) == CUDA_SUCCESS)

/* The context that the front computes in. */
static void open_gpu(void)
{
    CUcontext context;
    CUdevice device;
    CUDA(cuInit(0));
    CUDA(cuDeviceGet(&device, 0));
    CUDA(cuDevicePrimaryCtxRetain(&context, device));
    CUDA(cuCtxSetCurrent(context));
}

static void *multiply_once(void *data)
{
    run(call_dgemm_, true, &(product){.m = 600, .n = 600, .k = 3}, false, data);
    return NULL;
}

/* The program captures a stream of its own, in each mode, while it, or another thread of it, has a product, whose matrices
 * take several rounds through the buffers: the graph is as if there had been none. */
static void captures(unsigned *seed)
{
    CUdeviceptr memory;
    CUstream stream;
    CUgraph graph;
    pthread_t other;
    open_gpu();
    CUDA(cuMemAlloc(&memory, 64));
    CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 6; i++) {
        CUDA(cuStreamBeginCapture(stream, (CUstreamCaptureMode)(i % 3)));
        CUDA(cuMemsetD32Async(memory, 0, 16, stream));
        if (i < 3)
            multiply_once(seed);
        else
            REQUIRE(pthread_create(&other, NULL, multiply_once, seed) == 0 && pthread_join(other, NULL) == 0);
        CUDA(cuMemsetD32Async(memory, 1, 16, stream));
        CUDA(cuStreamEndCapture(stream, &graph));
        CUDA(cuGraphDestroy(graph));
    }
    CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL)); /* this thread is as strict as it was */
    REQUIRE(cuMemAlloc(&memory, 64) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

static size_t find_free(void)
{
    size_t bytes;
    CUDA(cuMemGetInfo(&bytes, NULL));
    return bytes;
}

/* Products whose largest matrix is A, B and C in turn, which test_dropin_blas.py gives memory for one of: none is kept for
 * those behind it. */
static void memory(unsigned *seed)
{
    static const product list[] = {{.m = 420, .n = 8, .k = 500}, {.m = 8, .n = 420, .k = 500}, {.m = 440, .n = 440, .k = 8}};
    const size_t limit = strtoull(getenv("GEMMTUNE_BLAS_MEMORY"), NULL, 10);
    open_gpu();
    run(call_dgemm_, true, &(product){.m = 8, .n = 8, .k = 8}, false, seed); /* the kernel is there */
    const size_t before = find_free();
    for (int i = 0; i < 6; i++) {
        run(call_dgemm_, true, &list[i % 3], false, seed);
        REQUIRE(before - find_free() <= limit);
    }
}

/* A child of a process that has used the GPU computes on the CPU. */
static void forks(unsigned *seed)
{
    int status;
    const product p = {.m = 33, .n = 20, .k = 17};
    run(call_dgemm_, true, &p, false, seed);
    fflush(NULL);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        answered = false;
        run(call_dgemm_, true, &p, false, seed);
        exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(unsigned *seed);
    } parts[] = {{"layouts", layouts}, {"large", large}, {"others", others}, {"threads", threads}, {"forks", forks},
                 {"learns", learns}, {"tiles", tiles}, {"lost", lost}, {"lost_for_good", lost_for_good},
                 {"ends", ends},
                 {"captures", captures}, {"memory", memory}};
    unsigned seed = (unsigned)getpid();
    REQUIRE(argc == 3);
    answered = strcmp(argv[2], "answered") == 0;
    printf("seed %u\n", seed);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(parts[i].name, argv[1]) == 0) {
            parts[i].run(&seed);
            return 0;
        }
    fprintf(stderr, "no part %s\n", argv[1]);
    return 2;
}
