/*
 * A program that looks cuBLAS up by dlsym and calls it often, to be run under `gemmtune run --dlsym`, on any GPU:
 *
 *   front_load CUBLAS cost [N]              what a call costs the host, through the front and without it
 *   front_load CUBLAS threads THREADS CALLS  CALLS products of mixed sizes by THREADS threads with four streams each, all
 *                                           checked, while the process forks
 *   front_load CUBLAS graphs                products of mixed sizes captured into graphs, which run twice, all checked
 *
 * CUBLAS is the library's file or soname. dlsym finds the front's functions; dlvsym, which nobody stands before, finds
 * cuBLAS's own: both are timed in one process, in turns, on one core.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../src/core/driver.h"

#define REQUIRE(condition)                                                                                   \
    ((condition) ? (void)0 : (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition), exit(1)))
#define CUDA(call) REQUIRE(driver->call == CUDA_SUCCESS)

#define ROUNDS  300 /* of calls that are timed together; their median counts */
#define CALLS   40  /* in a round: fewer than a stream takes before launching waits for it */
#define STREAMS 4
#define REPEATS 8 /* products that are added up before they are checked */

typedef int create_handle(void **handle);
typedef int set_stream(void *handle, CUstream stream);
typedef int sgemm(void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha, const float *a, int lda,
                  const float *b, int ldb, const float *beta, float *c, int ldc);

static gt_driver *driver;
static CUcontext context;
static void *cublas;
static sgemm *multiply; /* as a program finds it */

static void *find(const char *name)
{
    void *symbol = dlsym(cublas, name);
    REQUIRE(symbol);
    return symbol;
}

static void *make_handle(CUstream stream)
{
    void *handle;
    REQUIRE(((create_handle *)find("cublasCreate_v2"))(&handle) == 0);
    REQUIRE(((set_stream *)find("cublasSetStream_v2"))(handle, stream) == 0);
    return handle;
}

static float *make_buffer(size_t count, const float *from)
{
    CUdeviceptr data;
    CUDA(cuMemAlloc(&data, count * sizeof(float)));
    if (from)
        CUDA(cuMemcpyHtoD(data, from, count * sizeof(float)));
    return (float *)data;
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int compare(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(double *list)
{
    qsort(list, ROUNDS, sizeof *list, compare);
    return list[ROUNDS / 2];
}

/* What a launch costs the host at least: a kernel that does nothing. NULL where PTX cannot be loaded. */
static CUfunction load_empty(void)
{
    static const char text[] = ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry empty()\n{\n ret;\n}\n";
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    return driver->cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0) == CUDA_SUCCESS &&
                   driver->cuLibraryGetKernel(&kernel, library, "empty") == CUDA_SUCCESS &&
                   driver->cuKernelGetFunction(&function, kernel) == CUDA_SUCCESS
               ? function
               : NULL;
}

static void cost(const char *soname, int n)
{
    const size_t count = (size_t)n * (size_t)n;
    float *const zeros = calloc(count, sizeof *zeros);
    static double own[ROUNDS], front[ROUNDS], bare[ROUNDS], over_own[ROUNDS], over_bare[ROUNDS];
    static const float alpha = 1, beta = 0;
    sgemm *const without = (sgemm *)dlvsym(cublas, "cublasSgemm_v2", soname);
    const CUfunction empty = load_empty();
    cpu_set_t cores;
    CUstream stream;
    REQUIRE(without);
    CPU_ZERO(&cores);
    CPU_SET(sched_getcpu(), &cores);
    sched_setaffinity(0, sizeof cores, &cores);
    CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    void *const handle = make_handle(stream);
    float *const a = make_buffer(count, zeros), *const b = make_buffer(count, zeros), *const c = make_buffer(count, NULL);
    for (int round = -1; round < ROUNDS; round++)
        for (int kind = 0; kind < 3; kind++) {
            double *const list = kind == 0 ? own : kind == 1 ? front : bare;
            const double begun = now_us();
            for (int i = 0; i < CALLS; i++)
                if (kind < 2)
                    REQUIRE((kind ? multiply : without)(handle, 0, 0, n, n, n, &alpha, a, n, b, n, &beta, c, n) == 0);
                else if (empty)
                    CUDA(cuLaunchKernel(empty, 64, 1, 1, 256, 1, 1, 0, stream, NULL, NULL));
            if (round >= 0)
                list[round] = (now_us() - begun) / CALLS;
            CUDA(cuStreamSynchronize(stream));
        }
    for (int round = 0; round < ROUNDS; round++) {
        over_own[round] = front[round] - own[round];
        over_bare[round] = front[round] - bare[round];
    }
    printf("sgemm of %d cubed, us of the host a call: %.3f without, %.3f with the front%s, %.3f more (%.3f more than an"
           " empty kernel's %.3f)\n", n, median(own), median(front), multiply == without ? " (not there)" : "",
           median(over_own), median(over_bare), median(bare));
    free(zeros);
}

/* Sizes, and layouts, that the threads ask for. */
static const struct {
    int op_a, op_b, m, n, k;
} shapes[] = {{0, 0, 64, 64, 64}, {0, 0, 16, 16, 4096}, {1, 0, 33, 20, 17}, {0, 1, 33, 20, 17}, {0, 0, 7, 5, 3},
              {1, 1, 40, 24, 8},  {0, 0, 96, 1, 50},    {0, 0, 1, 80, 33},  {0, 0, 63, 65, 31}, {0, 1, 128, 16, 16}};

#define SHAPES    (sizeof shapes / sizeof shapes[0])
#define MOST_AB   (16 * 4096)
#define MOST_C    (128 * 64)

static struct {
    float *a, *b; /* on the GPU; all shapes read their beginning */
    float right[SHAPES][MOST_C];
    long calls; /* of each thread */
    atomic_long done;
} load;

/* Small whole numbers: sums are exact in any order. Column-major, without gaps. */
static void prepare_load(void)
{
    static float a[MOST_AB], b[MOST_AB];
    for (int i = 0; i < MOST_AB; i++) {
        a[i] = (float)(i * 7 % 11 - 5);
        b[i] = (float)(i * 5 % 13 - 6);
    }
    load.a = make_buffer(MOST_AB, a);
    load.b = make_buffer(MOST_AB, b);
    for (size_t s = 0; s < SHAPES; s++)
        for (int at = 0; at < shapes[s].m * shapes[s].n; at++) {
            const int m = shapes[s].m, n = shapes[s].n, k = shapes[s].k, i = at % m, j = at / m;
            for (int l = 0; l < k; l++)
                load.right[s][at] += a[shapes[s].op_a ? i * k + l : l * m + i] * b[shapes[s].op_b ? l * n + j : j * k + l];
        }
}

/* Products of one shape, added up in the handle's stream. */
static void add_up(void *handle, size_t s, float *c)
{
    static const float one = 1, zero = 0;
    const int m = shapes[s].m, n = shapes[s].n, k = shapes[s].k;
    for (int i = 0; i < REPEATS; i++)
        REQUIRE(multiply(handle, shapes[s].op_a, shapes[s].op_b, m, n, k, &one, load.a, shapes[s].op_a ? k : m, load.b,
                         shapes[s].op_b ? n : k, i == 0 ? &zero : &one, c, m) == 0);
}

static void check(size_t s, CUstream stream, const float *c, float *got)
{
    const int count = shapes[s].m * shapes[s].n;
    CUDA(cuStreamSynchronize(stream));
    CUDA(cuMemcpyDtoH(got, (CUdeviceptr)c, (size_t)count * sizeof *got));
    for (int at = 0; at < count; at++)
        REQUIRE(got[at] == REPEATS * load.right[s][at]);
}

static void *work(void *data)
{
    unsigned seed = (unsigned)(uintptr_t)data;
    CUstream streams[STREAMS];
    void *handles[STREAMS];
    float *c[STREAMS], *got = malloc(MOST_C * sizeof *got);
    size_t chosen[STREAMS];
    CUDA(cuCtxSetCurrent(context));
    for (int i = 0; i < STREAMS; i++) {
        CUDA(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
        handles[i] = make_handle(streams[i]);
        c[i] = make_buffer(MOST_C, NULL);
    }
    for (long calls = 0; calls < load.calls; calls += STREAMS * REPEATS) {
        for (int i = 0; i < STREAMS; i++)
            add_up(handles[i], chosen[i] = (size_t)rand_r(&seed) % SHAPES, c[i]);
        for (int i = 0; i < STREAMS; i++)
            check(chosen[i], streams[i], c[i], got);
        atomic_fetch_add(&load.done, STREAMS * REPEATS);
    }
    free(got);
    return NULL;
}

/* A child at a time, which becomes another program, or ends, while the parent's threads are anywhere. */
static int fork_until_done(long total)
{
    int forks = 0, status;
    for (; atomic_load(&load.done) < total; forks++) {
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            if (forks % 2)
                execlp("true", "true", (char *)NULL);
            _exit(0);
        }
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
        usleep(20000);
    }
    return forks;
}

static long resident_kb(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    REQUIRE(file && fscanf(file, "%*s %ld", &pages) == 1);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void threads(int count, long total)
{
    pthread_t *list = calloc((size_t)count, sizeof *list);
    prepare_load();
    load.calls = total / count;
    const long each = (load.calls + STREAMS * REPEATS - 1) / (STREAMS * REPEATS) * STREAMS * REPEATS;
    const double begun = now_us();
    for (int i = 0; i < count; i++)
        REQUIRE(pthread_create(&list[i], NULL, work, (void *)(uintptr_t)(i + 1)) == 0);
    while (atomic_load(&load.done) < each * count / 4)
        usleep(1000);
    const long before = resident_kb();
    const int forks = fork_until_done(each * count);
    const long after = resident_kb();
    for (int i = 0; i < count; i++)
        pthread_join(list[i], NULL);
    printf("%ld products of %d threads with %d streams each, %d forks, %.1f s: all right; %ld KB resident, %ld at a"
           " quarter\n", each * count, count, STREAMS, forks, (now_us() - begun) * 1e-6, after, before);
    free(list);
}

/* Each shape behind one that was not captured, in a graph of its own. */
static void graphs(void)
{
    static float got[MOST_C];
    CUstream stream;
    CUgraph graph;
    CUgraphExec list[SHAPES];
    prepare_load();
    CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    void *const handle = make_handle(stream);
    float *const c = make_buffer(MOST_C, NULL);
    for (size_t s = 0; s < SHAPES; s++) {
        add_up(handle, s, c);
        check(s, stream, c, got);
        CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        add_up(handle, s, c);
        CUDA(cuStreamEndCapture(stream, &graph));
        CUDA(cuGraphInstantiate(&list[s], graph, 0));
    }
    for (size_t i = 0; i < 2 * SHAPES; i++) {
        CUDA(cuMemsetD32Async((CUdeviceptr)c, 0x7fc00000, MOST_C, stream));
        CUDA(cuGraphLaunch(list[i % SHAPES], stream));
        check(i % SHAPES, stream, c, got);
    }
    printf("%zu graphs of %d products each, twice: all right\n", SHAPES, REPEATS);
}

int main(int argc, char **argv)
{
    CUdevice device;
    REQUIRE(argc >= 3);
    if (gt_driver_open(NULL, &driver) != GT_OK || !(cublas = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL))) {
        printf("SKIP: %s\n", driver ? dlerror() : gt_error_message());
        return 77;
    }
    CUDA(cuDeviceGet(&device, 0));
    CUDA(cuDevicePrimaryCtxRetain(&context, device));
    CUDA(cuCtxSetCurrent(context));
    multiply = (sgemm *)find("cublasSgemm_v2");
    if (strcmp(argv[2], "cost") == 0)
        cost(strrchr(argv[1], '/') ? strrchr(argv[1], '/') + 1 : argv[1], argc > 3 ? atoi(argv[3]) : 256);
    else if (strcmp(argv[2], "graphs") == 0)
        graphs();
    else
        threads(argc > 3 ? atoi(argv[3]) : 64, argc > 4 ? atol(argv[4]) : 1000000);
    return 0;
}
