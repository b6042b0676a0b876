/* Libraries, kernels, cubins and launches. */
#include "driver_fixture.h"

DEVICE_TEST(a_kernel_is_found_by_its_name)
{
    CUkernel found, again;
    CUfunction function;
    open_context();
    CHECK(kernel("fill"));
    OK(cu->cuLibraryGetKernel(&found, library, "fill"));
    OK(cu->cuLibraryGetKernel(&again, library, "fill"));
    CHECK(found == again);
    OK(cu->cuKernelGetFunction(&function, found));
    CU(cu->cuLibraryGetKernel(&found, library, "nobody"), CUDA_ERROR_NOT_FOUND);
    CU(cu->cuLibraryGetKernel(&found, library, NULL), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuLibraryGetKernel(NULL, library, "fill"), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuLibraryGetKernel(&found, NULL, "fill"), CUDA_ERROR_INVALID_HANDLE);
    CU(cu->cuKernelGetFunction(NULL, found), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuKernelGetFunction(&function, NULL), CUDA_ERROR_INVALID_HANDLE);
    CU(cu->cuLibraryUnload(NULL), CUDA_ERROR_INVALID_HANDLE);
    CU(cu->cuLibraryLoadData(NULL, kernels, NULL, NULL, 0, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuLibraryLoadData(&library, NULL, NULL, NULL, 0, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuLibraryLoadData(&library, kernels, NULL, NULL, 2, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuLibraryUnload(library));
}

/* The real driver reads an image when a kernel of it is asked for; the software GPU when it is loaded. */
DEVICE_TEST(what_cannot_run_is_refused_when_it_is_loaded)
{
    static const struct {
        const char *code;
        CUresult result;
    } images[] = {
        {"", CUDA_ERROR_INVALID_IMAGE},
        {"garbage that is neither", CUDA_ERROR_INVALID_IMAGE},
        {"\177E", CUDA_ERROR_INVALID_IMAGE},
        {"/* no end", CUDA_ERROR_INVALID_IMAGE},
        {PTX("8.0", "sm_80") ".visible .entry f() { frobnicate.u32 %r1; ret; }\n", CUDA_ERROR_INVALID_PTX},
        {PTX("8.0", "sm_80") ".visible .entry f() {", CUDA_ERROR_INVALID_PTX},
        {PTX("99.0", "sm_80") ".visible .entry f() { ret; }\n", CUDA_ERROR_UNSUPPORTED_PTX_VERSION},
        {PTX("8.7", "sm_120") ".visible .entry f() { ret; }\n", CUDA_ERROR_UNSUPPORTED_PTX_VERSION},
        {"// well\n\n" PTX("8.0", "sm_80") ".visible .entry f() { ret; }\n", CUDA_SUCCESS},
    };
    char log[200] = "", report[200];
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    open_context();
    SOFT_ONLY;
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++)
        CU(cu->cuLibraryLoadData(&library, images[i].code, NULL, NULL, 0, NULL, NULL, 0), images[i].result);
    CU(cu->cuLibraryLoadData(&library, images[4].code, options, values, 2, NULL, NULL, 0), CUDA_ERROR_INVALID_PTX);
    CHECK(strstr(log, "frobnicate") && strstr(log, "4"));
    CHECK_INT((uintptr_t)values[1], strlen(log) + 1);
    CHECK_INT(cu->soft->report(report, sizeof report), 0);
    CHECK_STR(report, log);
}

DEVICE_TEST(attributes_of_a_kernel_are_read_and_set)
{
    static const CUfunction_attribute most = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    int value, optin;
    open_context();
    CUkernel fill = (CUkernel)kernel("fill"), fixed = (CUkernel)kernel("fixed");
    OK(cu->cuDeviceGetAttribute(&optin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
    OK(cu->cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, (CUkernel)kernel("bounded"), 0));
    CHECK_INT(value, 96);
    OK(cu->cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, fixed, 0));
    CHECK_INT(value, 4000);
    OK(cu->cuKernelGetAttribute(&value, most, fixed, 0));
    CHECK_INT(value, (48 << 10) - 4000);
    OK(cu->cuKernelSetAttribute(most, optin - 4000, fixed, 0));
    CU(cu->cuKernelSetAttribute(most, optin - 3999, fixed, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuKernelSetAttribute(most, 100, fill, 0));
    OK(cu->cuKernelGetAttribute(&value, most, fill, 0));
    CHECK_INT(value, 100);
    CU(cu->cuKernelSetAttribute(most, -1, fill, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NUM_REGS, 3, fill, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuKernelSetAttribute(most, 1, NULL, 0), CUDA_ERROR_INVALID_HANDLE);
    CU(cu->cuKernelSetAttribute(most, 1, fill, 99), CUDA_ERROR_INVALID_DEVICE);
    CU(cu->cuKernelGetAttribute(&value, (CUfunction_attribute)999, fill, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuKernelGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, fill, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL, 0), CUDA_ERROR_INVALID_HANDLE);
}

DEVICE_TEST(occupancy_follows_threads_and_shared_memory)
{
    int blocks, limit;
    open_context();
    CUfunction fill = kernel("fill");
    OK(cu->cuDeviceGetAttribute(&limit, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 0));
    OK(cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 512, 0));
    CHECK_INT(blocks, limit / 512);
    OK(cu->cuDeviceGetAttribute(&limit, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 0));
    OK(cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 96, 20000));
    CHECK_INT(blocks, limit / (20000 + 1024 + 96)); /* the system's own share, in pieces of 128 */
    OK(cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 2000, 0));
    CHECK_INT(blocks, 0);
    OK(cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 128, 60000)); /* beyond the kernel's attribute */
    CHECK_INT(blocks, 0);
    CU(cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 0, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, fill, 128, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NULL, 128, 0), CUDA_ERROR_INVALID_HANDLE);
}

/* Cubins, where there is a compiler. */

/* 128 sums that are alive at once. */
static const char many_registers[] =
    "extern \"C\" __global__ void heavy(float *p, int n) { float a[128]; __shared__ float s[1000];\n"
    "#pragma unroll\nfor (int i = 0; i < 128; i++) a[i] = p[i * n];\n"
    "for (int j = 0; j < n; j++)\n"
    "#pragma unroll\nfor (int i = 0; i < 128; i++) a[i] = a[i] * a[(i + 1) % 128] + p[j];\n"
    "s[threadIdx.x] = a[0]; __syncthreads();\n"
    "#pragma unroll\nfor (int i = 0; i < 128; i++) p[i * n + 1] = a[i] + s[i]; }\n";

DEVICE_TEST(a_cubin_tells_registers_and_shared_memory)
{
    gt_code code;
    int value;
    open_context();
    compile(many_registers, &code);
    load_cubin(&code);
    CUkernel heavy = (CUkernel)kernel("heavy");
    OK(cu->cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, heavy, 0));
    CHECK(value > 128 && value <= 255);
    OK(cu->cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, heavy, 0));
    CHECK_INT(value, 4000);
    OK(cu->cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, heavy, 0));
    CHECK(value >= 256 && value < 512 && value % 128 == 0);
    void *arguments[] = {&(CUdeviceptr){0}, &(int){0}};
    CU(cu->cuLaunchKernel((CUfunction)heavy, 1, 1, 1, (unsigned)value + 1, 1, 1, 0, NULL, arguments, NULL),
       CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    gt_code_finish(&code);
}

DEVICE_TEST(a_cubin_needs_its_own_ptx)
{
    gt_code code;
    open_context();
    SOFT_ONLY;
    const gtSoft *soft = cu->soft;
    compile("extern \"C\" __global__ void one(int *p) { *p = 1; }\n", &code);
    CU(cu->cuLibraryLoadData(&library, code.cubin, NULL, NULL, 0, NULL, NULL, 0), CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK_INT(soft->attach_ptx(code.cubin, code.cubin_bytes, code.ptx, code.ptx_bytes), 0);
    CHECK_INT(soft->attach_ptx(code.cubin, code.cubin_bytes, "no PTX", 6), 0); /* the last counts */
    CU(cu->cuLibraryLoadData(&library, code.cubin, NULL, NULL, 0, NULL, NULL, 0), CUDA_ERROR_INVALID_PTX);
    CHECK_INT(soft->attach_ptx(code.cubin, code.cubin_bytes, code.ptx, code.ptx_bytes), 0);
    OK(cu->cuLibraryLoadData(&library, code.cubin, NULL, NULL, 0, NULL, NULL, 0));
    OK(cu->cuLibraryUnload(library));
    ((unsigned char *)code.cubin)[code.cubin_bytes / 2] ^= 1;
    CU(cu->cuLibraryLoadData(&library, code.cubin, NULL, NULL, 0, NULL, NULL, 0), CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK_INT(soft->attach_ptx(code.cubin, 63, code.ptx, code.ptx_bytes), CUDA_ERROR_INVALID_IMAGE);
    CHECK_INT(soft->attach_ptx(code.cubin, code.cubin_bytes - 1, code.ptx, code.ptx_bytes), CUDA_ERROR_INVALID_IMAGE);
    CHECK_INT(soft->attach_ptx(code.cubin, code.cubin_bytes, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(soft->attach_ptx(NULL, 0, code.ptx, code.ptx_bytes), CUDA_ERROR_INVALID_VALUE);
    gt_code_finish(&code);
}

/* Launches. */

DEVICE_TEST(a_kernel_does_its_work_in_order)
{
    CUstream stream;
    open_context();
    const CUdeviceptr address = memory(256);
    OK(cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cu->cuStreamSynchronize(NULL)); /* the fill of the memory, which this stream does not wait for */
    OK(run("fill", 1, 64, address, 5, stream));
    OK(run("add", 1, 32, address, 2, stream));
    OK(cu->cuMemsetD32Async(address, 100, 1, stream));
    OK(run("add", 1, 1, address, 1, stream));
    OK(cu->cuStreamSynchronize(stream));
    CHECK_INT(word(address), 101);
    CHECK_INT(word(address + 31 * 4), 7);
    CHECK_INT(word(address + 63 * 4), 5);
    OK(cu->cuStreamDestroy(stream));
}

DEVICE_TEST(a_launch_stays_within_the_limits)
{
    static const struct {
        unsigned grid[3], block[3];
        CUresult result;
    } sizes[] = {
        {{1, 1, 1}, {1024, 1, 1}, CUDA_SUCCESS},
        {{1, 1, 1}, {1, 1, 64}, CUDA_SUCCESS},
        {{1, 65535, 1}, {1, 1, 1}, CUDA_SUCCESS},
        {{0, 1, 1}, {32, 1, 1}, CUDA_ERROR_INVALID_VALUE},
        {{1, 1, 1}, {0, 1, 1}, CUDA_ERROR_INVALID_VALUE},
        {{1, 1, 1}, {1025, 1, 1}, CUDA_ERROR_INVALID_VALUE},
        {{1, 1, 1}, {32, 33, 1}, CUDA_ERROR_INVALID_VALUE},
        {{1, 1, 1}, {1, 1, 65}, CUDA_ERROR_INVALID_VALUE},
        {{1, 65536, 1}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
        {{1, 1, 65536}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
        {{0x80000000u, 1, 1}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
    };
    open_context();
    CUdeviceptr address = memory(4096);
    void *arguments[] = {&address, &(unsigned){1}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        CU(cu->cuLaunchKernel(kernel("fill"), sizes[i].grid[0], sizes[i].grid[1], sizes[i].grid[2], sizes[i].block[0],
                              sizes[i].block[1], sizes[i].block[2], 0, NULL, arguments, NULL),
           sizes[i].result);
    OK(run("bounded", 1, 96, address, 1, NULL));
    CU(run("bounded", 1, 97, address, 1, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuCtxSynchronize());
}

DEVICE_TEST(dynamic_shared_memory_is_asked_for_first)
{
    int optin;
    open_context();
    CUdeviceptr address = memory(4096);
    CUfunction fill = kernel("fill");
    void *arguments[] = {&address, &(unsigned){1}};
    OK(cu->cuDeviceGetAttribute(&optin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
    OK(cu->cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 48 << 10, NULL, arguments, NULL));
    CU(cu->cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, (48 << 10) + 1, NULL, arguments, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, optin, (CUkernel)fill, 0));
    OK(cu->cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, (unsigned)optin, NULL, arguments, NULL));
    CU(cu->cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, (unsigned)optin + 1, NULL, arguments, NULL),
       CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0, (CUkernel)fill, 0));
    CU(cu->cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 4, NULL, arguments, NULL), CUDA_ERROR_INVALID_VALUE);
}

static CUresult launch_cluster(unsigned grid, unsigned x, unsigned y)
{
    CUdeviceptr address = memory(4096);
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {x, y, 1}};
    CUlaunchConfig config = {.gridDimX = grid, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1,
                             .blockDimZ = 1, .attrs = &attribute, .numAttrs = 1};
    void *arguments[] = {&address, &(unsigned){1}};
    return cu->cuLaunchKernelEx(&config, kernel("fill"), arguments, NULL);
}

DEVICE_TEST(clusters_are_of_a_size_that_the_device_has)
{
    int clusters;
    open_context();
    OK(cu->cuDeviceGetAttribute(&clusters, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0));
    if (!clusters)
        SKIP("a device without clusters");
    OK(launch_cluster(32, 1, 1));
    OK(launch_cluster(32, 2, 1));
    OK(launch_cluster(32, 8, 1));
    CU(launch_cluster(32, 16, 1), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    CU(launch_cluster(32, 3, 1), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    CU(launch_cluster(33, 2, 1), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    CU(launch_cluster(32, 2, 2), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    CU(launch_cluster(32, 0, 1), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    OK(cu->cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, (CUkernel)kernel("fill"), 0));
    OK(launch_cluster(32, 16, 1));
    CU(launch_cluster(32, 32, 1), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    OK(cu->cuCtxSynchronize());
}

DEVICE_TEST(arguments_come_one_by_one_or_in_a_buffer)
{
    open_context();
    const CUdeviceptr address = memory(4096);
    struct {
        CUdeviceptr p;
        unsigned v;
    } block = {address, 9};
    size_t bytes = 12;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    void *arguments[] = {&block.p, &block.v}, *wrong[] = {(void *)77, &block, CU_LAUNCH_PARAM_END};
    CUfunction fill = kernel("fill");
    CU(cu->cuLaunchKernel(NULL, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL), CUDA_ERROR_INVALID_HANDLE);
    CU(cu->cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, extra), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, wrong), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
    CHECK_INT(word(address + 4 * 31), 9);
    bytes = 16;
    CU(cu->cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
}

DEVICE_TEST(attributes_of_a_launch_are_known_ones)
{
    open_context();
    CUdeviceptr address = memory(4096);
    void *arguments[] = {&address, &(unsigned){1}};
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_IGNORE};
    CUlaunchConfig config = {.gridDimX = 2, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1,
                             .blockDimZ = 1, .attrs = &attribute, .numAttrs = 1};
    OK(cu->cuLaunchKernelEx(&config, kernel("fill"), arguments, NULL));
    attribute = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    OK(cu->cuLaunchKernelEx(&config, kernel("fill"), arguments, NULL));
    config.gridDimX = 100000;
    CU(cu->cuLaunchKernelEx(&config, kernel("fill"), arguments, NULL), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    attribute.id = (CUlaunchAttributeID)99;
    CU(cu->cuLaunchKernelEx(&config, kernel("fill"), arguments, NULL), CUDA_ERROR_INVALID_VALUE);
    config.attrs = NULL;
    CU(cu->cuLaunchKernelEx(&config, kernel("fill"), arguments, NULL), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuLaunchKernelEx(NULL, kernel("fill"), arguments, NULL), CUDA_ERROR_INVALID_VALUE);
}

CHECK_MAIN
