/* Kernels that break the context; handles that are none; many threads; modelled time. */
#include <pthread.h>

#include "driver_fixture.h"

static void expect_broken(CUresult fault)
{
    CUdeviceptr address;
    CUstream stream;
    CUevent event;
    CUcontext same;
    CUdevice device;
    CUkernel found;
    size_t bytes;
    int value;
    CUfunction fill = kernel("fill");
    CU(cu->cuCtxSynchronize(), fault);
    CU(cu->cuCtxSynchronize(), fault);
    CU(cu->cuMemAlloc(&address, 4), fault);
    CU(cu->cuMemFree(0), fault);
    CU(cu->cuMemGetInfo(&bytes, NULL), fault);
    CU(cu->cuMemsetD8(4096, 0, 4), fault);
    CU(cu->cuStreamCreate(&stream, 0), fault);
    CU(cu->cuStreamSynchronize(NULL), fault);
    CU(cu->cuEventCreate(&event, 0), fault);
    CU(run("fill", 1, 32, 0, 0, NULL), fault);
    CU(cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, fill, 32, 0), fault);
    OK(cu->cuCtxGetDevice(&device)); /* what needs no device goes on */
    OK(cu->cuCtxGetCurrent(&same));
    OK(cu->cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
    OK(cu->cuLibraryGetKernel(&found, library, "fill"));
    OK(cu->cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, found, 0));
    OK(cu->cuLibraryUnload(library));
    OK(cu->cuDevicePrimaryCtxRelease(0));
    CU(cu->cuMemAlloc(&address, 4), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CU(cu->cuDevicePrimaryCtxRetain(&same, 0), fault); /* for the rest of the process */
}

/* The software GPU's line about it, which names the kernel. */
static void expect_report(const char *name)
{
    char line[512] = "";
    if (!cu->soft)
        return;
    CHECK_INT(cu->soft->report(line, sizeof line), 0);
    if (!strstr(line, name))
        check_fail(__FILE__, __LINE__, "the report is '%s', without '%s'", line, name);
}

DEVICE_TEST(a_write_to_nowhere_breaks_the_context)
{
    open_context();
    OK(run("wild", 1, 1, 0x1000, 0, NULL));
    cu->cuCtxSynchronize();
    expect_report("wild");
    expect_broken(CUDA_ERROR_ILLEGAL_ADDRESS);
}

DEVICE_TEST(a_write_beyond_an_allocation_breaks_the_context)
{
    open_context();
    SOFT_ONLY; /* a GPU's allocations are rounded up */
    const CUdeviceptr address = memory(40);
    OK(run("fill", 1, 10, address, 1, NULL));
    OK(cu->cuCtxSynchronize());
    OK(run("fill", 1, 11, address, 1, NULL));
    expect_report("fill");
    expect_broken(CUDA_ERROR_ILLEGAL_ADDRESS);
}

DEVICE_TEST(a_misaligned_write_breaks_the_context)
{
    open_context();
    const CUdeviceptr address = memory(64);
    OK(run("wild", 1, 1, address + 2, 0, NULL));
    expect_broken(CUDA_ERROR_MISALIGNED_ADDRESS);
}

DEVICE_TEST(a_trap_breaks_the_context)
{
    open_context();
    OK(cu->cuLaunchKernel(kernel("stop"), 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    expect_broken(CUDA_ERROR_LAUNCH_FAILED);
}

DEVICE_TEST(a_fault_in_a_graph_breaks_the_context)
{
    CUgraph graph;
    CUgraphExec ready;
    open_context();
    CHECK(kernel("stop"));
    CUstream stream = begin(CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_NON_BLOCKING);
    OK(cu->cuLaunchKernel(kernel("stop"), 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
    OK(cu->cuStreamEndCapture(stream, &graph));
    OK(cu->cuGraphInstantiate(&ready, graph, 0));
    OK(cu->cuCtxSynchronize());
    OK(cu->cuGraphLaunch(ready, stream));
    CU(cu->cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_FAILED);
    expect_broken(CUDA_ERROR_LAUNCH_FAILED);
}

/* The software GPU alone: whatever a program does, it stands. */

DEVICE_TEST(handles_that_are_none_are_refused)
{
    CUstream stream;
    CUevent event;
    CUkernel found;
    CUfunction function;
    CUgraph graph;
    CUgraphExec ready;
    float ms;
    open_context();
    SOFT_ONLY;
    const CUdeviceptr address = memory(64);
    for (int i = 0; i < 2000; i++) {
        void *garbage = (void *)(uintptr_t)(i < 1000 ? check_random() : check_random() & 0x3ffffffff);
        if ((uintptr_t)garbage <= 2)
            continue;
        CU(cu->cuStreamSynchronize(garbage), CUDA_ERROR_INVALID_HANDLE);
        CU(cu->cuStreamDestroy(garbage), CUDA_ERROR_INVALID_HANDLE);
        CU(cu->cuEventDestroy(garbage), CUDA_ERROR_INVALID_HANDLE);
        CU(cu->cuEventElapsedTime(&ms, garbage, garbage), CUDA_ERROR_INVALID_HANDLE);
        CU(cu->cuLibraryGetKernel(&found, garbage, "fill"), CUDA_ERROR_INVALID_HANDLE);
        CU(cu->cuLibraryUnload(garbage), CUDA_ERROR_INVALID_HANDLE);
        CU(cu->cuKernelGetFunction(&function, garbage), CUDA_ERROR_INVALID_HANDLE);
        CU(cu->cuGraphLaunch(garbage, NULL), CUDA_ERROR_INVALID_VALUE);
        CU(cu->cuGraphDestroy(garbage), CUDA_ERROR_INVALID_VALUE);
        CU(cu->cuCtxSetCurrent(garbage), CUDA_ERROR_INVALID_CONTEXT);
        CU(run("fill", 1, 16, address, 1, garbage), CUDA_ERROR_INVALID_HANDLE);
    }
    OK(cu->cuStreamCreate(&stream, 0));
    OK(cu->cuEventCreate(&event, 0));
    CU(cu->cuStreamDestroy((CUstream)event), CUDA_ERROR_INVALID_HANDLE);
    OK(cu->cuEventDestroy(event));
    CU(cu->cuEventRecord(event, stream), CUDA_ERROR_INVALID_HANDLE);
    OK(cu->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(run("fill", 1, 16, address, 1, stream));
    OK(cu->cuStreamEndCapture(stream, &graph));
    OK(cu->cuGraphInstantiate(&ready, graph, 0));
    function = kernel("fill");
    OK(cu->cuLibraryUnload(library));
    CU(cu->cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    CU(cu->cuGraphLaunch(ready, stream), CUDA_ERROR_INVALID_HANDLE); /* its kernel is unloaded */
    OK(cu->cuStreamDestroy(stream));
    CU(cu->cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
}

static void *work_in_thread(void *data)
{
    const unsigned number = (unsigned)(uintptr_t)data;
    CUstream stream;
    OK(cu->cuCtxSetCurrent(context));
    OK(cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 50; i++) {
        CUdeviceptr address;
        unsigned value = 0;
        OK(cu->cuMemAlloc(&address, 1024 + 64 * number));
        OK(run("fill", 1, 32, address, 1000 * number + i, stream));
        OK(run("add", 1, 32, address, 1, stream));
        OK(cu->cuStreamSynchronize(stream));
        OK(cu->cuMemcpyDtoH(&value, address + 4 * 31, sizeof value));
        CHECK_INT(value, 1000 * number + i + 1);
        OK(cu->cuMemFree(address));
    }
    OK(cu->cuStreamDestroy(stream));
    return NULL;
}

DEVICE_TEST(many_threads_work_side_by_side)
{
    pthread_t threads[8];
    open_context();
    CHECK(kernel("fill"));
    for (uintptr_t i = 0; i < 8; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, work_in_thread, (void *)i), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(check.result, PASSED); /* a thread cannot leave the test, only say so */
}

DEVICE_TEST(time_is_modelled_and_equal_for_equal_work)
{
    CUevent events[4];
    float one, same, more;
    open_context();
    SOFT_ONLY;
    const CUdeviceptr address = memory(4096);
    gtSoftLaunch launch;
    CHECK_INT(cu->soft->counts(&launch, sizeof launch), CUDA_ERROR_NOT_READY);
    OK(run("fill", 1000, 256, address, 1, NULL)); /* brings the memory into L2 */
    for (int i = 0; i < 4; i++) {
        OK(cu->cuEventCreate(&events[i], 0));
        OK(cu->cuEventRecord(events[i], NULL));
        if (i < 3)
            OK(run("fill", i < 2 ? 1000 : 100000, 256, address, 1, NULL));
    }
    OK(cu->cuEventElapsedTime(&one, events[0], events[1]));
    OK(cu->cuEventElapsedTime(&same, events[1], events[2]));
    OK(cu->cuEventElapsedTime(&more, events[2], events[3]));
    CHECK_NEAR(one, same, 1e-6);
    CHECK(one >= 0.001f && more > 2 * one);
    CHECK_INT(cu->soft->counts(&launch, sizeof launch), 0);
    CHECK_INT(launch.blocks, 100000);
    CHECK_INT(launch.threads, 256);
    CHECK_NEAR(launch.us, 1e3 * (double)more, 0.01);
    CHECK(launch.warp_instructions >= 100000ull * 8 * 3 && launch.global_stores == 100000ull * 8);
    CHECK_INT(cu->soft->counts(NULL, sizeof launch), CUDA_ERROR_INVALID_VALUE);
}

DEVICE_TEST(sampled_launches_leave_memory_as_it_was)
{
    enum { WORDS = 4096 };
    unsigned before[WORDS], after[WORDS] = {0};
    gtSoftLaunch ran, sampled;
    open_context();
    SOFT_ONLY;
    const CUdeviceptr address = memory(sizeof before);
    for (unsigned i = 0; i < WORDS; i++)
        before[i] = 3 * i;
    OK(cu->cuMemcpyHtoD(address, before, sizeof before));
    CHECK_INT(cu->soft->sample(1), 0);
    OK(run("fill", 1000, 256, address, 1, NULL));
    OK(cu->cuMemcpyDtoH(after, address, sizeof after));
    CHECK(memcmp(before, after, sizeof after) == 0);
    CHECK_INT(cu->soft->counts(&sampled, sizeof sampled), 0);
    CHECK_INT(cu->soft->sample(0), 0);
    OK(run("fill", 1000, 256, address, 1, NULL)); /* runs, though its counts are known */
    OK(cu->cuMemcpyDtoH(after, address, sizeof after));
    CHECK(memcmp(before, after, sizeof after) != 0);
    CHECK_INT(cu->soft->counts(&ran, sizeof ran), 0);
    CHECK_INT(ran.ran, 1000);
    CHECK_INT(sampled.blocks, 1000);
    CHECK_INT(sampled.warp_instructions, ran.warp_instructions);
}

CHECK_MAIN
