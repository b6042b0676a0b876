/*
 * A program that looks cuBLAS up by dlsym, as XLA does: one of the tests' own making, on the software GPU.
 * `dlsym_program CUBLAS_12 CUBLAS_13 answered|forwarded|forks`: whether products come to cuBLAS that were looked up in a
 * handle; or how it is in child processes. It is linked with cuBLAS 13, and with a library of its own before that.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake/program_cublas.h"

#define REQUIRE(condition)                                                                                   \
    ((condition) ? (void)0 : (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition), exit(1)))

#define N 64

typedef __typeof__(cublasSgemm_v2) sgemm;

int interposerCalls(void);

static CUstream stream;
static CUdeviceptr memory; /* three matrices */

/* Runs a product of a library and checks it. Whether that library saw it. */
static bool run(void *library, sgemm *multiply, bool on_device)
{
    static float x[N * N], right[N * N];
    static const float alpha = 1, beta = 0;
    __typeof__(fakeCalls) *const calls = (__typeof__(fakeCalls) *)dlsym(library, "fakeCalls");
    __typeof__(cublasCreate_v2) *const create = (__typeof__(cublasCreate_v2) *)dlsym(library, "cublasCreate_v2");
    __typeof__(cublasSetStream_v2) *const set_stream =
        (__typeof__(cublasSetStream_v2) *)dlsym(library, "cublasSetStream_v2");
    __typeof__(cublasSetPointerMode_v2) *const set_mode =
        (__typeof__(cublasSetPointerMode_v2) *)dlsym(library, "cublasSetPointerMode_v2");
    cublasHandle_t handle;
    float *const a = (float *)memory, *const b = a + N * N, *const c = b + N * N;
    REQUIRE(create(&handle) == 0 && set_stream(handle, stream) == 0 && set_mode(handle, on_device) == 0);
    for (int i = 0; i < N * N; i++)
        x[i] = (float)(i * 7 % 11 - 5);
    REQUIRE(cuMemcpyHtoD((CUdeviceptr)a, x, sizeof x) == CUDA_SUCCESS);
    REQUIRE(cuMemcpyHtoD((CUdeviceptr)b, x, sizeof x) == CUDA_SUCCESS);
    for (int i = 0; i < N * N; i++) {
        right[i] = 0;
        for (int l = 0; l < N; l++)
            right[i] += x[l * N + i % N] * x[i / N * N + l];
    }
    const int before = calls();
    REQUIRE(multiply(handle, 0, 0, N, N, N, &alpha, a, N, b, N, &beta, c, N) == 0);
    REQUIRE(cuStreamSynchronize(stream) == CUDA_SUCCESS);
    REQUIRE(cuMemcpyDtoH(x, (CUdeviceptr)c, sizeof x) == CUDA_SUCCESS);
    REQUIRE(memcmp(x, right, sizeof x) == 0);
    return calls() > before;
}

/* What a program finds in a handle is answered, or forwarded to the library that it was found in, of either major. */
static void look_into(void *library, const char *version, bool answered)
{
    sgemm *const found = (sgemm *)dlsym(library, "cublasSgemm_v2");
    sgemm *const own = (sgemm *)dlvsym(library, "cublasSgemm_v2", version);
    REQUIRE(found && own && (found != own) == answered);
    REQUIRE(run(library, found, false) == !answered);
    REQUIRE(run(library, found, true));
    REQUIRE(run(library, own, false));
    REQUIRE(dlerror() == NULL);
}

/* What is not there is told of as ever. */
static void look_for_nothing(void *library)
{
    const char *text;
    REQUIRE(dlsym(library, "cublasNothing") == NULL && (text = dlerror()) && strstr(text, "cublasNothing"));
    REQUIRE(dlsym(library, "nothing") == NULL && (text = dlerror()) && strstr(text, "nothing"));
    REQUIRE(dlsym(RTLD_DEFAULT, "cublasNothing") == NULL && (text = dlerror()) && strstr(text, "cublasNothing"));
    REQUIRE(dlerror() == NULL);
}

/* This program's own, not the library's below it. */
int interposerCalls(void)
{
    return -1;
}

static void open_gpu(void)
{
    CUdevice device;
    CUcontext context;
    REQUIRE(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&device, 0) == CUDA_SUCCESS);
    REQUIRE(cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS && cuCtxSetCurrent(context) == CUDA_SUCCESS);
    REQUIRE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    REQUIRE(cuMemAlloc(&memory, 3 * N * N * sizeof(float)) == CUDA_SUCCESS);
}

/* A child process that has a product, which is answered or not. */
static void fork_one(void *library, sgemm *multiply, bool answered)
{
    int status;
    fflush(NULL);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        open_gpu();
        REQUIRE(run(library, multiply, false) == !answered);
        exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

/* A program that only imports cuBLAS before it starts its workers, and one that has used it. */
static int run_children(void *library)
{
    sgemm *const found = (sgemm *)dlsym(library, "cublasSgemm_v2");
    fork_one(library, found, true);
    open_gpu();
    REQUIRE(!run(library, found, false));
    fork_one(library, found, false);
    return 0;
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 4);
    const bool answered = strcmp(argv[3], "answered") == 0;
    REQUIRE(fakeCalls() == 0); /* linked with it */
    void *const twelve = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), *const thirteen = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    REQUIRE(twelve && thirteen);
    if (strcmp(argv[3], "forks") == 0)
        return run_children(thirteen);
    open_gpu();
    look_into(thirteen, "libcublas.so.13", answered);
    look_into(twelve, "libcublas.so.12", answered);
    look_for_nothing(thirteen);
    /* By the caller: the next after this program, and what this program is linked with. */
    int (*const next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "interposerCalls");
    REQUIRE(next && next != interposerCalls && dlsym(RTLD_DEFAULT, "interposerCalls") == (void *)interposerCalls);
    REQUIRE(dlsym(RTLD_DEFAULT, "cublasSgemm_v2") == (void *)cublasSgemm_v2);
    /* The library between has all that is forwarded, and finds the next in its turn. */
    const int before = next();
    REQUIRE(run(thirteen, cublasSgemm_v2, false) == !answered && next() - before == !answered);
    REQUIRE(run(thirteen, cublasSgemm_v2, true) && next() - before == 1 + !answered);
    return 0;
}
