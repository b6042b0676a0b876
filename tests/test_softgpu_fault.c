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

DEVICE_TEST(untimed_launches_run_but_are_not_counted)
{
    enum { WORDS = 256 };
    unsigned before[WORDS], after[WORDS];
    CUevent events[3];
    gtSoftLaunch launch;
    float timed, untimed;
    open_context();
    SOFT_ONLY;
    const CUdeviceptr address = memory(sizeof before);
    memset(before, 0xee, sizeof before);
    for (size_t i = 0; i < 3; i++)
        OK(cu->cuEventCreate(&events[i], 0));
    OK(cu->cuEventRecord(events[0], NULL));
    OK(run("fill", 10, WORDS, address, 1, NULL));
    OK(cu->cuEventRecord(events[1], NULL));
    OK(cu->cuMemcpyHtoD(address, before, sizeof before));
    OK(cu->cuEventRecord(events[1], NULL));
    CHECK_INT(cu->soft->sample(3), 0);
    OK(run("fill", 20, WORDS, address, 1, NULL));
    CHECK_INT(cu->soft->sample(0), 0);
    OK(cu->cuEventRecord(events[2], NULL));
    OK(cu->cuMemcpyDtoH(after, address, sizeof after));
    for (size_t i = 0; i < WORDS; i++)
        CHECK_INT(after[i], 1);
    OK(cu->cuEventElapsedTime(&timed, events[0], events[1]));
    OK(cu->cuEventElapsedTime(&untimed, events[1], events[2]));
    CHECK(timed > 0 && untimed == 0);
    CHECK_INT(cu->soft->counts(&launch, sizeof launch), 0);
    CHECK_INT(launch.blocks, 10); /* the last that was counted */
    CHECK_INT(cu->soft->sample(4), CUDA_ERROR_INVALID_VALUE);
}

/* Two warps store to one word of shared memory; blocks note in which order they come. */
static const char told[] =
    PTX("8.0", "sm_80")
    ".visible .entry clash()\n{\n.reg .b32 %w<2>; .shared .align 4 .b32 s;\nmov.u32 %w1, %tid.x;\n"
    "st.shared.u32 [s], %w1;\nret;\n}\n"
    ".visible .entry turns(.param .u64 p)\n{\n.reg .b64 %r<4>; .reg .b32 %w<4>;\n"
    "ld.param.u64 %r1, [p]; atom.global.add.u32 %w1, [%r1], 1; mov.u32 %w2, %ctaid.x;\n"
    "mul.wide.u32 %r2, %w1, 4; add.s64 %r3, %r1, %r2; st.global.u32 [%r3+4], %w2; ret;\n}\n";

static void load_told(void)
{
    OK(cu->cuLibraryLoadData(&library, told, NULL, NULL, 0, NULL, NULL, 0));
}

DEVICE_TEST(races_are_looked_for_where_a_thread_asks)
{
    open_context();
    SOFT_ONLY;
    load_told();
    launch("clash", 1, 64, 1, 0, NULL);
    OK(cu->cuCtxSynchronize());
    cu->soft->races(1);
    cu->soft->races(0);
    launch("clash", 1, 64, 1, 0, NULL);
    OK(cu->cuCtxSynchronize());
    cu->soft->races(1);
    launch("clash", 1, 64, 1, 0, NULL);
    CU(cu->cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    expect_report("race");
}

enum { TURNS = 100 };

static void find_turns(uint64_t seed, unsigned cluster, unsigned order[TURNS + 1])
{
    CUdeviceptr address = memory((TURNS + 1) * sizeof *order);
    void *arguments[] = {&address};
    cu->soft->order(seed);
    launch("turns", TURNS, 1, cluster, 0, arguments);
    cu->soft->order(0);
    OK(cu->cuMemcpyDtoH(order, address, (TURNS + 1) * sizeof *order));
    CHECK_INT(order[0], TURNS);
}

DEVICE_TEST(a_seed_draws_the_order_of_blocks)
{
    unsigned plain[TURNS + 1], first[TURNS + 1], again[TURNS + 1], second[TURNS + 1];
    open_context();
    SOFT_ONLY;
    load_told();
    find_turns(0, 1, plain);
    find_turns(7, 1, first);
    find_turns(7, 1, again);
    find_turns(8, 1, second);
    CHECK(memcmp(first, again, sizeof first) == 0);
    CHECK(memcmp(first, second, sizeof first) != 0 && memcmp(first, plain, sizeof first) != 0);
    bool seen[TURNS] = {false};
    for (int i = 1; i <= TURNS; i++) {
        CHECK_INT(plain[i], i - 1);
        CHECK(first[i] < TURNS && !seen[first[i]]);
        seen[first[i]] = true;
    }
    find_turns(7, 4, first);
    for (int i = 1; i <= TURNS; i += 4) /* a cluster's blocks stay together */
        CHECK(first[i] / 4 == first[i + 1] / 4 && first[i] / 4 == first[i + 3] / 4);
}

/* 64 words that 64 threads add to, of which some may not be touched. */
static CUresult add_beside(unsigned first, unsigned threads, CUdeviceptr address)
{
    OK(run("add", 1, threads, address + 4 * first, 1, NULL));
    return cu->cuCtxSynchronize();
}

DEVICE_TEST(bytes_that_are_allowed_beside_protected_ones_are_as_before)
{
    open_context();
    SOFT_ONLY;
    const CUdeviceptr address = memory(8192);
    const gtSoft *soft = cu->soft;
    CHECK_INT(soft->protect(address + 64 * 4, 1, 0), 0);
    OK(add_beside(0, 64, address));
    OK(add_beside(65, 64, address));
    CHECK_INT(soft->protect(address + 10, 5, 0), 0);
    CHECK_INT(soft->protect(address, 8192, 0), 0);
    CHECK_INT(soft->protect(address + 17, 500, 1), 0); /* up to byte 517 */
    OK(add_beside(5, 124, address)); /* the last of bytes 516 and on is not touched */
    OK(cu->cuMemsetD8(address, 1, 8192)); /* the host may */
    CHECK_INT(soft->protect(address, 8192, 1), 0);
    for (unsigned i = 0; i < 200; i++) /* every other word */
        CHECK_INT(soft->protect(address + 8 * i, 4, 0), 0);
    for (unsigned i = 0; i < 200; i++)
        OK(add_beside(2 * i + 1, 1, address));
    CHECK_INT(word(address), 0x01010101);
    CHECK_INT(word(address + 4), 0x01010102);
    CHECK_INT(soft->protect(address, 0, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(soft->protect(address + 8190, 3, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(soft->protect(1, 3, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuMemFree(address));
    OK(add_beside(0, 64, memory(8192)));
}

static void expect_refused(unsigned first, unsigned threads)
{
    open_context();
    SOFT_ONLY;
    const CUdeviceptr address = memory(8192);
    OK(add_beside(0, 64, address));
    for (unsigned i = 0; i < 100; i++)
        CHECK_INT(cu->soft->protect(address + 1000 + 20 * i, 1, 0), 0); /* a byte of every fifth word */
    CU(add_beside(first, threads, address), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_report("outside of what the host lets kernels touch");
    expect_report("PTX line");
}

DEVICE_TEST(a_protected_byte_cannot_be_read)
{
    expect_refused(250, 1);
}

/* 64 bytes by the copy engine, beside a protected byte and then with it. */
DEVICE_TEST(the_copy_engine_is_held_to_what_is_protected)
{
    static const char copying[] =
        PTX("8.0", "sm_90")
        ".visible .entry copy(.param .u64 p)\n{\n.reg .b64 %r<2>; .reg .pred p1; .shared .align 16 .b8 s[80];\n"
        "ld.param.u64 %r1, [p]; mbarrier.init.shared.b64 [s+64], 1;\n"
        "mbarrier.arrive.expect_tx.shared.b64 _, [s+64], 64;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%r1], 64, [s+64];\n"
        "W: mbarrier.try_wait.parity.shared.b64 p1, [s+64], 0; @!p1 bra W; ret;\n}\n";
    open_context();
    SOFT_ONLY;
    need_capability(90);
    CUdeviceptr address = memory(4096), beside = address + 16;
    OK(cu->cuLibraryLoadData(&library, copying, NULL, NULL, 0, NULL, NULL, 0));
    CHECK_INT(cu->soft->protect(address + 79 + 1, 1, 0), 0);
    launch("copy", 1, 1, 1, 0, (void *[]){&beside});
    OK(cu->cuCtxSynchronize());
    CHECK_INT(cu->soft->protect(address + 79, 1, 0), 0);
    launch("copy", 1, 1, 1, 0, (void *[]){&beside});
    CU(cu->cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_report("PTX line");
}

DEVICE_TEST(a_protected_byte_is_seen_among_others)
{
    expect_refused(745, 32);
}

CHECK_MAIN
