/*
 * Tests of the driver's functions as the project uses them. GEMMTUNE_SOFTGPU names the software GPU's library; without
 * it the same tests run on the machine's own driver, whose answers they were written from (CUDA 13.0, H200), and those
 * about the software GPU alone are skipped.
 */
#ifndef DRIVER_FIXTURE_H
#define DRIVER_FIXTURE_H

#include <dlfcn.h>
#include <sys/wait.h>

#include "../src/core/device.h"
#include "../src/softgpu/softgpu.h"
#include "../tuner/compile/nvrtc.h"
#include "check.h"

/* Of the child process that a test runs in: a broken context cannot be mended. */
static gt_driver *cu;
static CUcontext context;
static CUlibrary library;

#define CU(call, expected)                                                                                   \
    do {                                                                                                     \
        const CUresult result_ = (call);                                                                     \
        if (result_ != (expected))                                                                           \
            check_fail(__FILE__, __LINE__, "%s is %s, not %s", #call, name_of(result_), name_of(expected));  \
    } while (0)
#define OK(call) CU(call, CUDA_SUCCESS)

static inline const char *name_of(CUresult result)
{
    const char *name = NULL;
    cu->cuGetErrorName(result, &name);
    return name ? name : "an unknown result";
}

static inline const char *path(void)
{
    return getenv("GEMMTUNE_SOFTGPU");
}

static inline void open_driver(void)
{
    const gt_status status = gt_driver_open(path(), &cu);
    if (status != GT_OK && !path())
        SKIP(gt_error_message());
    CHECK_OK(status);
}

static inline void open_context(void)
{
    open_driver();
    OK(cu->cuDevicePrimaryCtxRetain(&context, 0));
    OK(cu->cuCtxSetCurrent(context));
}

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

/* A function that the binding does not ask for; the test is skipped where the driver lacks it. */
#define EXTRA(local, symbol)                                                                                 \
    __typeof__(symbol) *local = dlsym(cu->library, STRING(symbol));                                          \
    if (!local)                                                                                              \
        SKIP("this driver has no " STRING(symbol))
/* The table of a software GPU that has not been started yet; later it is cu->soft. */
static inline const gtSoft *soft_table(void *opened)
{
    __typeof__(gtSoftTable) *get_table = dlsym(opened, "gtSoftTable");
    CHECK(get_table);
    return get_table();
}

/* Before cu->soft may be used: what the software GPU offers beyond the driver. */
#define SOFT_ONLY                                                                                            \
    if (!path())                                                                                             \
        SKIP("of the software GPU alone")

static inline void in_child(void (*body)(void))
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        body();
        fflush(stdout);
        gt_driver_close(cu);
        _exit(PASSED);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status))
        check_fail(__FILE__, __LINE__, "the process ended by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) != PASSED)
        check_leave(WEXITSTATUS(status) == SKIPPED ? SKIPPED : FAILED);
}

#define DEVICE_TEST(name)                                                                                    \
    static void name##_body(void);                                                                           \
    TEST(name)                                                                                               \
    {                                                                                                        \
        in_child(name##_body);                                                                               \
    }                                                                                                        \
    static void name##_body(void)

#define PTX(version, target) ".version " version "\n.target " target "\n.address_size 64\n"

/* Puts the address of a thread's word into %r3, the value into %w1. */
#define WORD                                                                                                 \
    ".reg .b64 %r<5>; .reg .b32 %w<5>; ld.param.u64 %r1, [p]; ld.param.u32 %w1, [v];\n"                      \
    "mov.u32 %w2, %tid.x; mul.wide.u32 %r2, %w2, 4; add.s64 %r3, %r1, %r2;\n"

static const char kernels[] =
    PTX("8.0", "sm_80")
    ".visible .entry fill(.param .u64 p, .param .u32 v)\n{\n" WORD "st.global.u32 [%r3], %w1; ret;\n}\n"
    ".visible .entry add(.param .u64 p, .param .u32 v)\n{\n" WORD
    "ld.global.u32 %w3, [%r3]; add.s32 %w3, %w3, %w1; st.global.u32 [%r3], %w3; ret;\n}\n"
    ".visible .entry bounded(.param .u64 p, .param .u32 v)\n.maxntid 96, 1, 1\n{\n" WORD
    "st.global.u32 [%r3], %w1; ret;\n}\n"
    ".visible .entry wild(.param .u64 p)\n{\n.reg .b64 %r<3>; .reg .b32 %w<2>; ld.param.u64 %r1, [p];\n"
    "mov.u32 %w1, 1; st.global.u32 [%r1], %w1; ret;\n}\n"
    ".visible .entry stop()\n{\ntrap; ret;\n}\n"
    ".visible .entry fixed(.param .u64 p)\n{\n.reg .b64 %r<3>; .reg .b32 %w<4>;\n"
    ".shared .align 4 .b8 room[4000];\nld.param.u64 %r1, [p]; mov.u32 %w1, room; mov.u32 %w2, 7;\n"
    "st.shared.u32 [%w1], %w2; ld.shared.u32 %w3, [%w1]; st.global.u32 [%r1], %w3; ret;\n}\n";

static inline CUfunction kernel(const char *name)
{
    CUkernel found;
    if (!library)
        OK(cu->cuLibraryLoadData(&library, kernels, NULL, NULL, 0, NULL, NULL, 0));
    OK(cu->cuLibraryGetKernel(&found, library, name));
    return (CUfunction)found;
}

static inline CUdeviceptr memory(size_t bytes)
{
    CUdeviceptr address;
    OK(cu->cuMemAlloc(&address, bytes));
    OK(cu->cuMemsetD8(address, 0, bytes));
    return address;
}

static inline CUresult run(const char *name, unsigned blocks, unsigned threads, CUdeviceptr p, unsigned v,
                           CUstream stream)
{
    void *arguments[] = {&p, &v};
    return cu->cuLaunchKernel(kernel(name), blocks, 1, 1, threads, 1, 1, 0, stream, arguments, NULL);
}

static inline unsigned word(CUdeviceptr address)
{
    unsigned value = 0xdddddddd;
    OK(cu->cuMemcpyDtoH(&value, address, sizeof value));
    return value;
}

/* CUDA source into a cubin for the device, where there is a compiler; gt_code_finish. */
static inline void compile(const char *source, gt_code *code)
{
    gt_nvrtc *nvrtc;
    gt_device device;
    CHECK_OK(gt_device_query(cu, 0, &device));
    if (gt_nvrtc_open(NULL, &nvrtc) != GT_OK)
        SKIP(gt_error_message());
    CHECK_OK(gt_nvrtc_compile(nvrtc, source, device.arch, code, NULL));
    gt_nvrtc_close(nvrtc);
    check_keep(code->ptx);
}

/* The cubin as the library that kernel() looks in. */
static inline void load_cubin(const gt_code *code)
{
    if (cu->soft)
        CHECK_INT(cu->soft->attach_ptx(code->cubin, code->cubin_bytes, code->ptx, code->ptx_bytes), 0);
    const CUresult result = cu->cuLibraryLoadData(&library, code->cubin, NULL, NULL, 0, NULL, NULL, 0);
    if (cu->soft && result != CUDA_SUCCESS) {
        char line[512];
        cu->soft->report(line, sizeof line);
        check_fail(__FILE__, __LINE__, "%s: %s", name_of(result), line);
    }
    OK(result);
}

static inline void load_source(const char *source)
{
    gt_code code;
    compile(source, &code);
    load_cubin(&code);
    gt_code_finish(&code);
}

/* Device memory with the contents of host memory. */
static inline CUdeviceptr upload(const void *data, size_t bytes)
{
    CUdeviceptr address;
    OK(cu->cuMemAlloc(&address, bytes));
    OK(cu->cuMemcpyHtoD(address, data, bytes));
    return address;
}

/* Blocks of a kernel, each cluster of them so many; what comes of it only a wait tells. */
static inline void launch(const char *name, unsigned blocks, unsigned threads, unsigned cluster, unsigned shared,
                          void **arguments)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {cluster, 1, 1}};
    CUlaunchConfig config = {.gridDimX = blocks, .gridDimY = 1, .gridDimZ = 1, .blockDimX = threads, .blockDimY = 1,
                             .blockDimZ = 1, .sharedMemBytes = shared, .attrs = &attribute, .numAttrs = cluster > 1};
    OK(cu->cuLaunchKernelEx(&config, kernel(name), arguments, NULL));
}

static inline int capability(void)
{
    int major, minor;
    OK(cu->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    OK(cu->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
    return 10 * major + minor;
}

/* Skips the test on an older device. */
static inline void need_capability(int least)
{
    if (capability() < least)
        SKIP("a device without this instruction");
}

/* A fresh stream that is being captured. */
static inline CUstream begin(CUstreamCaptureMode mode, unsigned flags)
{
    CUstream stream;
    OK(cu->cuStreamCreate(&stream, flags));
    OK(cu->cuStreamBeginCapture(stream, mode));
    return stream;
}

#endif
