/*
 * A program that knows nothing of gemmtune: it calls cuBLAS, one of the tests' own making, on the software GPU, and
 * checks every result. test_dropin.py runs it with the front preloaded. `dropin_program PART answered|forwarded|any`: of the
 * products of that part all, none or any number must not have come to cuBLAS.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dropin_product.h"

static CUcontext context;

static cublasHandle_t make_handle(CUstream *stream)
{
    cublasHandle_t handle;
    CUDA(cuStreamCreate(stream, CU_STREAM_NON_BLOCKING));
    REQUIRE(cublasCreate_v2(&handle) == FAKE_SUCCESS);
    REQUIRE(cublasSetStream_v2(handle, *stream) == FAKE_SUCCESS);
    return handle;
}

/* Every op, conjugate transposes too, with columns apart, batches and pointers that are aligned to an element only, by
 * each of the functions. */
static void layouts(cublasHandle_t handle, unsigned *seed)
{
    for (int bits = 0; bits < 9 * 16; bits++) {
        product p = {F32(33, 20, 17), .op_a = bits / 16 % 3, .op_b = bits / 48, .wide = bits & 1, .typed = bits & 2};
        p.strided = bits & 4;
        p.batch = p.strided ? 3 : 1;
        p.pad = bits & 8 ? 3 : 0;
        p.offset = bits & 8 ? 1 : 0;
        run(handle, &p, seed);
    }
}

static void types(cublasHandle_t handle, unsigned *seed)
{
    static const struct {
        gt_type ab, c;
        int compute;
        bool typed;
    } rows[] = {{GT_F64, GT_F64, FAKE_64F, true},   {GT_F64, GT_F64, FAKE_64F, false},
                {GT_F16, GT_F16, FAKE_16F, true},   {GT_F16, GT_F16, FAKE_16F, false},
                {GT_F16, GT_F16, FAKE_32F, false},  {GT_F16, GT_F32, FAKE_32F, false},
                {GT_BF16, GT_BF16, FAKE_32F, false}, {GT_BF16, GT_F32, FAKE_32F, false},
                {GT_S8, GT_S32, FAKE_32I, false},   {GT_F32, GT_F32, FAKE_32F_FAST_TF32, false},
                {GT_F32, GT_F32, FAKE_32F_PEDANTIC, false}};
    for (size_t i = 0; i < 4 * (sizeof rows / sizeof rows[0]); i++) {
        product p = {F32(64, 64, 64), .wide = i & 1, .strided = i & 2};
        p.type_ab = rows[i / 4].ab;
        p.type_c = rows[i / 4].c;
        p.compute = rows[i / 4].compute;
        p.typed = rows[i / 4].typed;
        p.batch = p.strided ? 2 : 1;
        p.algorithm = i % 4 == 3 ? 99 : -1;
        run(handle, &p, seed);
    }
    for (int flip = 0; flip < 2; flip++) {
        product p = {F32(33, 20, 17), .op_a = flip, .typed = true, .strided = true, .windows = true};
        p.batch = 3;
        run(handle, &p, seed);
    }
    /* Tensor cores were asked for once, and 16-bit types need no such mode. */
    REQUIRE(cublasSetMathMode(handle, 1) == FAKE_SUCCESS);
    product half = {F32(64, 64, 64)};
    half.type_ab = half.type_c = GT_F16;
    run(handle, &half, seed);
    /* The handle may ask for tf32 as well. */
    REQUIRE(cublasSetMathMode(handle, 3) == FAKE_SUCCESS);
    run(handle, &(product){F32(64, 64, 64), .typed = true}, seed);
    REQUIRE(cublasSetMathMode(handle, 0) == FAKE_SUCCESS);
}

/* What a zero multiplies is not read. */
static void zeros(cublasHandle_t handle, unsigned *seed)
{
    static const struct {
        gt_type type;
        int compute;
    } rows[] = {{GT_F32, FAKE_32F}, {GT_F64, FAKE_64F}, {GT_F16, FAKE_16F}, {GT_BF16, FAKE_32F}};
    for (size_t i = 0; i < 4 * 3; i++) {
        product p = {F32(33, 20, 17), .no_alpha = i % 3 > 0, .no_beta = i % 3 < 2};
        p.type_ab = p.type_c = rows[i / 3].type;
        p.compute = rows[i / 3].compute;
        run(handle, &p, seed);
    }
}

/* f32 where tf32 makes a difference that whole numbers show: 4097 is 4096 there. */
static void rounded(cublasHandle_t handle, unsigned *seed)
{
    const product p = {F32(64, 64, 64), .typed = true};
    matrix a = make_matrix(&p, GT_F32, 64, 64, seed), b = make_matrix(&p, GT_F32, 64, 64, seed),
           c = make_matrix(&p, GT_F32, 64, 64, seed);
    const float alpha = 1, beta = 0;
    float x[64 * 64];
    for (int pedantic = 0; pedantic < 2; pedantic++) {
        for (int i = 0; i < 64 * 64; i++)
            x[i] = 4097;
        CUDA(cuMemcpyHtoD((CUdeviceptr)a.data, x, sizeof x));
        for (int i = 0; i < 64 * 64; i++)
            x[i] = i % 65 == 0;
        CUDA(cuMemcpyHtoD((CUdeviceptr)b.data, x, sizeof x));
        REQUIRE(cublasSetMathMode(handle, pedantic ? 2 : 0) == FAKE_SUCCESS);
        REQUIRE(call(handle, &p, &alpha, &a, &b, &beta, &c) == FAKE_SUCCESS);
        CUDA(cuCtxSynchronize());
        CUDA(cuMemcpyDtoH(x, (CUdeviceptr)c.data, sizeof x));
        REQUIRE(x[0] == (expected == ANSWERED && !pedantic ? 4096 : 4097));
    }
    free_matrix(&a);
    free_matrix(&b);
    free_matrix(&c);
}

/* What is cuBLAS's alone: every one of these comes to it. */
static void others(cublasHandle_t handle, unsigned *seed)
{
    const product plain = {F32(64, 64, 64), .typed = true};
    product p = plain;
    static const int modes[] = {1, 4, 8};
    for (size_t i = 0; i < 3; i++) {
        REQUIRE(cublasSetMathMode(handle, modes[i]) == FAKE_SUCCESS);
        run(handle, &plain, seed);
    }
    p.typed = false;
    p.compute = FAKE_32F_FAST_TF32;
    REQUIRE(cublasSetMathMode(handle, 2) == FAKE_SUCCESS); /* pedantic, whatever the call allows */
    run(handle, &p, seed);
    p.compute = FAKE_32F;
    REQUIRE(cublasSetMathMode(handle, 0) == FAKE_SUCCESS);
    REQUIRE(cublasSetPointerMode_v2(handle, 1) == FAKE_SUCCESS);
    run(handle, &plain, seed);
    REQUIRE(cublasSetPointerMode_v2(handle, 0) == FAKE_SUCCESS);
    REQUIRE(cublasSetSmCountTarget(handle, 64) == FAKE_SUCCESS);
    run(handle, &plain, seed);
    REQUIRE(cublasSetSmCountTarget(handle, 0) == FAKE_SUCCESS);
    p.algorithm = 3;
    run(handle, &p, seed);
    p.algorithm = -1;
    p.compute = 78;
    run(handle, &p, seed);
    p.compute = FAKE_32I; /* cuBLAS wants rows of 8-bit integers in fours */
    p.type_ab = GT_S8;
    p.type_c = GT_S32;
    p.pad = 1;
    run(handle, &p, seed);
}

/* Calls that are forwarded many times, and between them others that are answered and differ in one thing only. The
 * database knows how fast cuBLAS is in tf32, in f64 without transposes, and not elsewhere. */
static void again(cublasHandle_t handle, unsigned *seed)
{
    for (int i = 0; i < 1100; i++) {
        product p = {F32(8, 8, 8), .typed = true};
        expected = FORWARDED;
        run(handle, &p, seed);
        if (i % 100 != 0)
            continue;
        p.type_ab = p.type_c = GT_F64;
        p.op_a = 1;
        run(handle, &p, seed);
        expected = ANSWERED;
        p.op_a = 0;
        run(handle, &p, seed);
        REQUIRE(cublasSetMathMode(handle, 3) == FAKE_SUCCESS);
        run(handle, &(product){F32(8, 8, 8), .typed = true}, seed);
        REQUIRE(cublasSetMathMode(handle, 0) == FAKE_SUCCESS);
    }
}

/* Arguments that cuBLAS refuses, or has nothing to do for: its own status, each time from itself. */
static void statuses(cublasHandle_t handle, unsigned *seed)
{
    const product plain = {F32(64, 64, 64), .typed = true};
    matrix x = make_matrix(&plain, GT_F32, 64, 64, seed);
    float *const data = x.data, one = 1;
    const int before = fakeCalls();
    int calls = 0;
#define STATUS(status, ...) (calls++, REQUIRE(cublasSgemm_v2(__VA_ARGS__) == (status)))
    STATUS(FAKE_NOT_INITIALIZED, NULL, 0, 0, 64, 64, 64, &one, data, 64, data, 64, &one, data, 64);
    STATUS(FAKE_INVALID_VALUE, handle, 0, 3, 64, 64, 64, &one, data, 64, data, 64, &one, data, 64);
    STATUS(FAKE_INVALID_VALUE, handle, 0, 0, -1, 64, 64, &one, data, 64, data, 64, &one, data, 64);
    STATUS(FAKE_INVALID_VALUE, handle, 0, 0, 64, 64, 64, &one, data, 63, data, 64, &one, data, 64);
    STATUS(FAKE_INVALID_VALUE, handle, 0, 0, 64, 64, 64, &one, data, 64, data, 0, &one, data, 64);
    STATUS(FAKE_INVALID_VALUE, handle, 0, 0, 64, 64, 64, &one, data, 64, data, 64, &one, data, 63);
    STATUS(FAKE_INVALID_VALUE, handle, 0, 0, 64, 64, 64, NULL, data, 64, data, 64, &one, data, 64);
    STATUS(FAKE_SUCCESS, handle, 0, 0, 0, 64, 64, &one, data, 64, data, 64, &one, data, 64);
    STATUS(FAKE_SUCCESS, handle, 0, 0, 64, 64, 0, &one, data, 64, data, 64, &one, data, 64);
    REQUIRE(cublasGemmEx(handle, 0, 0, 64, 64, 64, &one, data, 4, 64, data, 4, 64, &one, data, 4, 64, FAKE_32F, -1) ==
            FAKE_NOT_SUPPORTED);
    /* One matrix for the whole batch. */
    REQUIRE(cublasSgemmStridedBatched(handle, 0, 0, 8, 8, 8, &one, data, 8, 0, data, 8, 0, &one, data + 2048, 8, 64,
                                      2) == FAKE_SUCCESS);
    REQUIRE(fakeCalls() - before == calls + 2);
    free_matrix(&x);
}

static size_t find_free(void)
{
    size_t bytes;
    CUDA(cuMemGetInfo(&bytes, NULL));
    return bytes;
}

/* Captures a product, for which nothing may be allocated. Whether it was answered: then the graph's result is right, each
 * time that it runs. What was made ready of it is kept, or with NULL destroyed. */
static bool capture_one(cublasHandle_t handle, const product *p, int launches, CUgraphExec *kept, unsigned *seed)
{
    matrix a = make_matrix(p, GT_F32, p->m, p->k, seed), b = make_matrix(p, GT_F32, p->k, p->n, seed),
           c = make_matrix(p, GT_F32, p->m, p->n, seed);
    const float alpha = 2, beta = -3;
    const int before = fakeCalls();
    const size_t left = find_free();
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    REQUIRE(cublasGetStream_v2(handle, &stream) == FAKE_SUCCESS);
    CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    REQUIRE(call(handle, p, &alpha, &a, &b, &beta, &c) == FAKE_SUCCESS);
    CUDA(cuStreamEndCapture(stream, &graph));
    const bool answered = fakeCalls() == before;
    REQUIRE(find_free() == left);
    CUDA(cuGraphInstantiate(&exec, graph, 0));
    for (int i = 0; answered && i < launches; i++) {
        for (size_t j = 0; j < c.count; j++)
            c.type->store(c.image, (int64_t)j, c.host[j]);
        CUDA(cuMemcpyHtoD((CUdeviceptr)c.data, c.image, c.bytes));
        CUDA(cuGraphLaunch(exec, stream));
        CUDA(cuStreamSynchronize(stream));
        check_result(p, &a, &b, &c);
    }
    CUDA(cuGraphDestroy(graph));
    if (kept)
        *kept = exec;
    else
        CUDA(cuGraphExecDestroy(exec));
    free_matrix(&a);
    free_matrix(&b);
    free_matrix(&c);
    return answered;
}

#define IN_A_ROW 4 /* captures that find a workspace which was set aside */

/* Captures a product in several graphs. Whether so many are answered, and no more: those that come then wait for a product
 * outside of captures, or for the end of one of those graphs. */
static bool capture_in_a_row(cublasHandle_t handle, const product *p, unsigned *seed)
{
    CUgraphExec kept[IN_A_ROW + 1];
    int answered = 0, made = 0;
    while (made <= IN_A_ROW && capture_one(handle, p, 2, &kept[made++], seed))
        answered++;
    CUDA(cuGraphExecDestroy(kept[0]));
    const bool again = capture_one(handle, p, 2, NULL, seed);
    for (int i = 1; i < made; i++)
        CUDA(cuGraphExecDestroy(kept[i]));
    return answered == IN_A_ROW && again;
}

/* What was planned before is answered in captures, and nothing is planned there. A kernel with a workspace takes one that was
 * set aside. */
static void capture(cublasHandle_t handle, unsigned *seed)
{
    const product planned = {F32(64, 64, 64), .typed = true}, fresh = {F32(64, 64, 48), .typed = true},
                  split = {F32(16, 16, 4096), .typed = true};
    expected = ANSWERED;
    run(handle, &planned, seed);
    run(handle, &split, seed);
    REQUIRE(capture_one(handle, &planned, 2, NULL, seed) && !capture_one(handle, &fresh, 2, NULL, seed));
    REQUIRE(capture_in_a_row(handle, &split, seed));
    run(handle, &fresh, seed);
    run(handle, &split, seed);
    REQUIRE(capture_one(handle, &split, 2, NULL, seed));
    CUstream other;
    CUDA(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    REQUIRE(cublasSetStream_v2(handle, other) == FAKE_SUCCESS);
    run(handle, &split, seed);
    REQUIRE(capture_in_a_row(handle, &split, seed));
}

/* A little faster than cuBLAS, it is so in a graph, too, where nothing is cleared first. */
static void tight(cublasHandle_t handle, unsigned *seed)
{
    const product split = {F32(16, 16, 4096), .typed = true};
    expected = ANSWERED;
    run(handle, &split, seed);
    REQUIRE(capture_one(handle, &split, 2, NULL, seed));
}

/* A program that captures anew for each of its inputs: more graphs than there are workspaces, one after the other. */
static void recaptures(cublasHandle_t handle, unsigned *seed)
{
    const product split = {F32(16, 16, 4096), .typed = true};
    run(handle, &split, seed);
    for (int i = 0; i < 300; i++)
        REQUIRE(capture_one(handle, &split, i % 50 == 0, NULL, seed));
}

/* What a capture kept from being answered is answered behind it, though the strict way of computing it was refused for
 * good. */
static void between(cublasHandle_t handle, unsigned *seed)
{
    const product p = {F32(64, 64, 64), .typed = true};
    expected = FORWARDED;
    REQUIRE(cublasSetMathMode(handle, 2) == FAKE_SUCCESS);
    run(handle, &p, seed);
    expected = ANSWERED;
    REQUIRE(cublasSetMathMode(handle, 0) == FAKE_SUCCESS);
    run(handle, &p, seed);
    REQUIRE(capture_in_a_row(handle, &p, seed));
    run(handle, &p, seed);
}

static void *work(void *data)
{
    unsigned seed = (unsigned)(uintptr_t)data;
    CUstream streams[2];
    CUDA(cuCtxSetCurrent(context));
    cublasHandle_t handles[2] = {make_handle(&streams[0]), make_handle(&streams[1])};
    for (int i = 0; i < 24; i++) {
        const product p = i % 3 == 0 ? (product){F32(16, 16, 4096), .typed = true} /* its kernel has a workspace */
                                     : (product){F32(10 + i % 4 * 8, 20, 17), .op_a = i & 1, .typed = i & 4};
        run(handles[i / 2 % 2], &p, &seed);
    }
    for (int i = 0; i < 2; i++) {
        cublasDestroy_v2(handles[i]);
        CUDA(cuStreamDestroy(streams[i]));
    }
    return NULL;
}

static void threads(cublasHandle_t handle, unsigned *seed)
{
    pthread_t list[8];
    run(handle, &(product){F32(16, 16, 4096), .typed = true}, seed);
    for (uintptr_t i = 0; i < 8; i++)
        REQUIRE(pthread_create(&list[i], NULL, work, (void *)(*seed + i)) == 0);
    for (int i = 0; i < 8; i++)
        pthread_join(list[i], NULL);
}

/* One half of a collective, in a context of its own. */
typedef struct half {
    CUcontext context;
    atomic_int *runs, *waits; /* the first one was launched; the front waits for it */
    bool is_first;
} half;

static void *work_on_half(void *data)
{
    const half *const h = data;
    unsigned seed = 1;
    CUstream stream;
    CUDA(cuCtxSetCurrent(h->context));
    cublasHandle_t handle = make_handle(&stream);
    if (h->is_first)
        atomic_store(h->runs, 1);
    while (!h->is_first && !atomic_load(h->waits))
        usleep(1000);
    run(handle, &(product){F32(16, 16, 4096), .typed = true}, &seed);
    if (!h->is_first)
        atomic_store(h->runs, 0);
    return NULL;
}

/* Two threads with a GPU each. One has launched its half of a collective, for which its GPU waits, and then has a product,
 * for which the front waits for that GPU. The other's half comes behind a product, too. */
static void collective(cublasHandle_t handle, unsigned *seed)
{
    void *const gpu = dlopen(getenv("GEMMTUNE_DRIVER"), RTLD_NOW);
    CUctxCreateParams params = {0};
    half halves[2] = {{.context = context, .is_first = true}};
    pthread_t threads[2];
    (void)handle, (void)seed;
    CUDA(cuCtxCreate(&halves[1].context, &params, 0, 0));
    for (int i = 0; i < 2; i++) {
        halves[i].runs = dlsym(gpu, "peer_runs");
        halves[i].waits = dlsym(gpu, "peer_waits");
    }
    *(CUcontext *)dlsym(gpu, "peer_context") = context;
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_create(&threads[i], NULL, work_on_half, &halves[i]) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    CUDA(cuCtxSetCurrent(context));
}

/* A kernel with a workspace has one for each stream: what runs at the same time must not share it. */
static void workspaces(cublasHandle_t handle, unsigned *seed)
{
    const product split = {F32(16, 16, 4096), .typed = true};
    CUstream first, second;
    size_t before, brought, taken[4];
    REQUIRE(cublasGetStream_v2(handle, &first) == FAKE_SUCCESS);
    CUDA(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    run(handle, &(product){F32(64, 64, 64), .typed = true}, seed); /* the library is there */
    before = find_free();
    run(handle, &split, seed);
    brought = before - find_free();
    for (int i = 0; i < 4; i++) {
        REQUIRE(cublasSetStream_v2(handle, i & 1 ? second : first) == FAKE_SUCCESS);
        before = find_free();
        run(handle, &split, seed);
        taken[i] = before - find_free();
    }
    /* The first one brought its kernel, too. */
    REQUIRE(brought >= taken[1] && taken[1] > 0 && taken[0] == 0 && taken[2] == 0 && taken[3] == 0);
    REQUIRE(cublasSetStream_v2(handle, first) == FAKE_SUCCESS);
    CUDA(cuStreamDestroy(second));
}

#define OWN_PLANS 128 /* streams that have one, of one problem */

/* A program that makes streams anew for each of its inputs: from some number on they are forwarded without planning, and what
 * was answered still is, as are other problems. */
static void renews(cublasHandle_t handle, unsigned *seed)
{
    const product split = {F32(16, 16, 4096), .typed = true};
    CUstream first, stream;
    size_t left = 0;
    REQUIRE(cublasGetStream_v2(handle, &first) == FAKE_SUCCESS);
    REQUIRE(run(handle, &split, seed));
    for (int i = 1; i < OWN_PLANS + 20; i++) {
        CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        REQUIRE(cublasSetStream_v2(handle, stream) == FAKE_SUCCESS);
        REQUIRE(run(handle, &split, seed) == (i < OWN_PLANS));
        CUDA(cuStreamDestroy(stream));
        left = i < OWN_PLANS ? find_free() : left;
    }
    REQUIRE(find_free() == left);
    REQUIRE(cublasSetStream_v2(handle, first) == FAKE_SUCCESS);
    REQUIRE(run(handle, &split, seed) && run(handle, &(product){F32(64, 64, 64), .typed = true}, seed));
}

static void *use_own_stream(void *data)
{
    unsigned seed = 1;
    size_t *const taken = data;
    CUstream unused;
    CUDA(cuCtxSetCurrent(context));
    const size_t before = find_free();
    cublasHandle_t handle = make_handle(&unused);
    REQUIRE(cublasSetStream_v2(handle, CU_STREAM_PER_THREAD) == FAKE_SUCCESS);
    run(handle, &(product){F32(16, 16, 4096), .typed = true}, &seed);
    *taken = before - find_free();
    cublasDestroy_v2(handle);
    CUDA(cuStreamDestroy(unused));
    return NULL;
}

/* The streams that nobody makes. One of them is another in each thread, and has a workspace in each. */
static void streams(cublasHandle_t handle, unsigned *seed)
{
    const CUstream list[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    size_t taken[2];
    pthread_t thread;
    run(handle, &(product){F32(16, 16, 4096), .typed = true}, seed);
    for (int i = 0; i < 3; i++) {
        REQUIRE(cublasSetStream_v2(handle, list[i]) == FAKE_SUCCESS);
        run(handle, &(product){F32(64, 64, 64), .typed = true}, seed);
        run(handle, &(product){F32(16, 16, 4096), .typed = true}, seed);
    }
    for (int i = 0; i < 2; i++) {
        REQUIRE(pthread_create(&thread, NULL, use_own_stream, &taken[i]) == 0);
        pthread_join(thread, NULL);
    }
    REQUIRE(taken[0] > 0 && taken[1] == taken[0]);
}

/* Ends as no program would like to, some seconds after its product. */
static void killed(cublasHandle_t handle, unsigned *seed)
{
    run(handle, &(product){F32(64, 64, 64), .typed = true}, seed);
    sleep(7);
    raise(SIGKILL);
}

/* More sizes than are remembered. */
static void many(cublasHandle_t handle, unsigned *seed)
{
    for (int64_t i = 0; i < 12300; i++)
        run(handle, &(product){F32(1 + i % 20, 1 + i / 20 % 25, 1 + i / 500), .typed = true}, seed);
    for (int i = 0; i < 3; i++)
        run(handle, &(product){F32(30, 30, 1), .typed = true}, seed);
}

/* A child process that ends as programs do has no products of its own. */
static void forks(cublasHandle_t handle, unsigned *seed)
{
    int status;
    run(handle, &(product){F32(64, 64, 64), .typed = true}, seed);
    fflush(NULL);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        exit(0);
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

/* A program that asks for its own cuBLAS for a while. */
static void pauses(cublasHandle_t handle, unsigned *seed)
{
    void (*const pause_front)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "gemmtune_pause");
    REQUIRE(pause_front);
    for (int i = 0; i < 3; i++) {
        pause_front(i == 1);
        expected = i == 1 ? FORWARDED : ANSWERED;
        run(handle, &(product){F32(64, 64, 64), .typed = true}, seed);
    }
    pause_front(1);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(cublasHandle_t handle, unsigned *seed);
    } parts[] = {{"layouts", layouts}, {"types", types}, {"others", others}, {"statuses", statuses},
                 {"capture", capture}, {"between", between}, {"tight", tight}, {"zeros", zeros}, {"streams", streams},
                 {"threads", threads}, {"forks", forks}, {"again", again}, {"recaptures", recaptures}, {"renews", renews},
                 {"collective", collective},
                 {"many", many}, {"workspaces", workspaces}, {"rounded", rounded}, {"killed", killed},
                 {"pauses", pauses}};
    unsigned seed = (unsigned)getpid();
    CUstream stream;
    CUdevice device;
    REQUIRE(argc == 3);
    expected = strcmp(argv[2], "answered") == 0 ? ANSWERED : strcmp(argv[2], "forwarded") == 0 ? FORWARDED : ANY;
    printf("seed %u\n", seed);
    CUDA(cuInit(0));
    CUDA(cuDeviceGet(&device, 0));
    CUDA(cuDevicePrimaryCtxRetain(&context, device));
    CUDA(cuCtxSetCurrent(context));
    cublasHandle_t handle = make_handle(&stream);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(parts[i].name, argv[1]) == 0) {
            parts[i].run(handle, &seed);
            cublasDestroy_v2(handle);
            return 0;
        }
    fprintf(stderr, "no part %s\n", argv[1]);
    return 2;
}
