/* Streams, events, captures and graphs. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "driver_fixture.h"

DEVICE_TEST(streams_are_created_with_known_flags)
{
    CUstream stream;
    open_context();
    OK(cu->cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    OK(cu->cuStreamSynchronize(stream));
    OK(cu->cuStreamDestroy(stream));
    OK(cu->cuStreamSynchronize(NULL));
    OK(cu->cuStreamSynchronize(CU_STREAM_LEGACY));
    OK(cu->cuStreamSynchronize(CU_STREAM_PER_THREAD));
    CU(cu->cuStreamCreate(&stream, 77), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuStreamCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuStreamDestroy(NULL), CUDA_ERROR_INVALID_HANDLE);
}

DEVICE_TEST(events_tell_the_time_between_them)
{
    CUevent first, last, untimed;
    float ms = -1, back = 0;
    open_context();
    const CUdeviceptr address = memory(4096);
    OK(cu->cuEventCreate(&first, CU_EVENT_DEFAULT));
    OK(cu->cuEventCreate(&last, CU_EVENT_BLOCKING_SYNC));
    OK(cu->cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    CU(cu->cuEventElapsedTime(&ms, first, last), CUDA_ERROR_INVALID_HANDLE); /* neither happened */
    OK(cu->cuEventSynchronize(first));
    OK(cu->cuEventRecord(first, NULL));
    CU(cu->cuEventElapsedTime(&ms, first, last), CUDA_ERROR_INVALID_HANDLE);
    OK(run("fill", 10, 256, address, 1, NULL));
    OK(cu->cuEventRecord(last, NULL));
    OK(cu->cuEventRecord(untimed, NULL));
    OK(cu->cuEventSynchronize(last));
    OK(cu->cuEventElapsedTime(&ms, first, last));
    CHECK(ms > 0 && ms < 100);
    OK(cu->cuEventElapsedTime(&back, last, first));
    CHECK(back == -ms);
    OK(cu->cuEventSynchronize(untimed));
    CU(cu->cuEventElapsedTime(&ms, first, untimed), CUDA_ERROR_INVALID_HANDLE);
    CU(cu->cuEventElapsedTime(&ms, NULL, last), CUDA_ERROR_INVALID_HANDLE);
    CU(cu->cuEventCreate(&first, 99999), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuEventCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuEventRecord(NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    CU(cu->cuEventSynchronize(NULL), CUDA_ERROR_INVALID_HANDLE);
    CU(cu->cuEventDestroy(NULL), CUDA_ERROR_INVALID_HANDLE);
    OK(cu->cuEventDestroy(last));
}

/* Graphs. */

DEVICE_TEST(a_graph_replays_what_was_captured)
{
    CUgraph graph;
    CUgraphExec ready;
    open_context();
    const CUdeviceptr address = memory(4096);
    CHECK(kernel("add"));
    CUstream stream = begin(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING);
    OK(run("add", 1, 32, address, 3, stream));
    OK(run("add", 1, 32, address, 4, stream));
    OK(cu->cuMemsetD32Async(address + 4, 50, 1, stream));
    OK(cu->cuStreamEndCapture(stream, &graph));
    CHECK_INT(word(address), 0); /* captured, not run */
    OK(cu->cuGraphInstantiate(&ready, graph, 0));
    OK(cu->cuGraphDestroy(graph));
    for (int i = 0; i < 3; i++)
        OK(cu->cuGraphLaunch(ready, stream));
    OK(cu->cuStreamSynchronize(stream));
    CHECK_INT(word(address), 21);
    CHECK_INT(word(address + 4), 50);
    OK(cu->cuGraphExecDestroy(ready));
}

DEVICE_TEST(a_graph_tells_its_kernels_and_arguments)
{
    CUgraph graph;
    CUgraphNode nodes[5] = {NULL};
    CUDA_KERNEL_NODE_PARAMS params;
    size_t count = 5;
    open_context();
    EXTRA(get_nodes, cuGraphGetNodes);
    EXTRA(get_params, cuGraphKernelNodeGetParams);
    const CUdeviceptr address = memory(4096);
    CHECK(kernel("fill"));
    CUstream stream = begin(CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_NON_BLOCKING);
    OK(run("fill", 3, 64, address, 17, stream));
    OK(cu->cuMemsetD32Async(address, 0, 1, stream));
    OK(cu->cuStreamEndCapture(stream, &graph));
    OK(get_nodes(graph, nodes, &count));
    CHECK_INT(count, 2);
    int found = 0;
    for (size_t i = 0; i < count; i++) {
        if (get_params(nodes[i], &params) != CUDA_SUCCESS)
            continue;
        found++;
        CHECK(params.gridDimX == 3 && params.blockDimX == 64 && params.sharedMemBytes == 0);
        CHECK(*(CUdeviceptr *)params.kernelParams[0] == address && *(unsigned *)params.kernelParams[1] == 17);
    }
    CHECK_INT(found, 1);
    CU(get_nodes(NULL, NULL, &count), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuGraphDestroy(graph));
}

DEVICE_TEST(graphs_refuse_what_is_none)
{
    CUgraph graph = NULL;
    CUgraphExec ready;
    CUstream stream;
    open_context();
    OK(cu->cuStreamCreate(&stream, 0));
    CU(cu->cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CU(cu->cuStreamBeginCapture(stream, (CUstreamCaptureMode)9), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
    OK(cu->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(cu->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_ERROR_ILLEGAL_STATE);
    OK(cu->cuStreamEndCapture(stream, &graph)); /* empty, which is fine */
    CU(cu->cuGraphInstantiate(&ready, graph, 0xfff0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuGraphInstantiate(NULL, graph, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuGraphInstantiate(&ready, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuGraphInstantiate(&ready, graph, 0));
    OK(cu->cuGraphLaunch(ready, stream));
    CU(cu->cuGraphLaunch(NULL, stream), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuGraphDestroy(NULL), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuGraphExecDestroy(NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cu->cuStreamDestroy(stream)); /* while it is captured */
}

/* What is called in the middle of a capture. */
static CUstream captured, other;
static CUdeviceptr captured_memory;
static CUevent old_event;

static CUresult wait_captured(void) { return cu->cuStreamSynchronize(captured); }
static CUresult wait_all(void) { return cu->cuCtxSynchronize(); }
static CUresult wait_other(void) { return cu->cuStreamSynchronize(other); }
static CUresult wait_default(void) { return cu->cuStreamSynchronize(NULL); }
static CUresult wait_event(void) { return cu->cuEventSynchronize(old_event); }
static CUresult allocate(void) { CUdeviceptr address; return cu->cuMemAlloc(&address, 100); }
static CUresult release_nothing(void) { return cu->cuMemFree(0); }
static CUresult ask_memory(void) { size_t bytes; return cu->cuMemGetInfo(&bytes, NULL); }
static CUresult copy(void) { int i = 0; return cu->cuMemcpyHtoD(captured_memory, &i, sizeof i); }
static CUresult set_plain(void) { return cu->cuMemsetD8(captured_memory, 0, 4); }
static CUresult launch_default(void) { return run("fill", 1, 32, captured_memory, 1, NULL); }
static CUresult launch_other(void) { return run("fill", 1, 32, captured_memory, 1, other); }
static CUresult launch_nothing(void) { return run("fill", 0, 32, captured_memory, 1, captured); }
static CUresult record_default(void) { return cu->cuEventRecord(old_event, NULL); }
static CUresult record_captured(void) { return cu->cuEventRecord(old_event, captured); }
static CUresult create(void) { CUstream more; return cu->cuStreamCreate(&more, 0); }

DEVICE_TEST(a_capture_is_spoilt_by_what_it_cannot_hold)
{
    enum { FINE = CUDA_SUCCESS, UNSUPPORTED = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
           IMPLICIT = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, INVALID = CUDA_ERROR_INVALID_VALUE };
    static const struct {
        const char *name;
        CUresult (*call)(void);
        int strict, relaxed; /* modes global and thread-local; relaxed */
    } calls[] = {
        {"waiting for the captured stream", wait_captured, UNSUPPORTED, UNSUPPORTED},
        {"waiting for the context", wait_all, UNSUPPORTED, UNSUPPORTED},
        {"waiting for another stream", wait_other, UNSUPPORTED, FINE},
        {"waiting for the default stream", wait_default, IMPLICIT, IMPLICIT},
        {"waiting for an event", wait_event, UNSUPPORTED, FINE},
        {"allocating", allocate, UNSUPPORTED, FINE},
        {"freeing", release_nothing, UNSUPPORTED, FINE},
        {"asking for free memory", ask_memory, FINE, FINE},
        {"copying", copy, IMPLICIT, IMPLICIT},
        {"filling", set_plain, IMPLICIT, IMPLICIT},
        {"launching in the default stream", launch_default, IMPLICIT, IMPLICIT},
        {"launching in another stream", launch_other, FINE, FINE},
        {"a launch that is refused", launch_nothing, INVALID, INVALID},
        {"recording in the default stream", record_default, IMPLICIT, IMPLICIT},
        {"recording in the captured stream", record_captured, FINE, FINE},
        {"creating a stream", create, FINE, FINE},
    };
    CUgraph graph;
    open_context();
    captured_memory = memory(4096);
    OK(cu->cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cu->cuEventCreate(&old_event, 0));
    CHECK(kernel("fill"));
    for (int mode = CU_STREAM_CAPTURE_MODE_GLOBAL; mode <= CU_STREAM_CAPTURE_MODE_RELAXED; mode++) {
        for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
            OK(cu->cuEventRecord(old_event, NULL));
            const int expected = mode == CU_STREAM_CAPTURE_MODE_RELAXED ? calls[i].relaxed : calls[i].strict;
            captured = begin((CUstreamCaptureMode)mode, CU_STREAM_DEFAULT);
            OK(run("fill", 1, 32, captured_memory, 1, captured));
            const CUresult result = calls[i].call();
            if (result != (CUresult)expected)
                check_fail(__FILE__, __LINE__, "%s in mode %d is %s, not %s", calls[i].name, mode, name_of(result),
                           name_of((CUresult)expected));
            const CUresult ended = cu->cuStreamEndCapture(captured, &graph);
            CU(ended, expected == FINE ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
            CHECK((graph != NULL) == (expected == FINE));
            OK(cu->cuStreamDestroy(captured));
        }
    }
}

/* Allocates in a thread of that mode. */
typedef struct attempt {
    __typeof__(cuThreadExchangeStreamCaptureMode) *exchange;
    CUstreamCaptureMode mode, before;
    CUresult result;
} attempt;

static void *try_to_allocate(void *data)
{
    attempt *const a = data;
    a->before = a->mode;
    a->result = cu->cuCtxSetCurrent(context);
    if (a->result == CUDA_SUCCESS)
        a->result = a->exchange(&a->before);
    if (a->result == CUDA_SUCCESS)
        a->result = allocate();
    return NULL;
}

DEVICE_TEST(a_thread_that_says_so_may_allocate_while_streams_are_captured)
{
    CUgraph graph;
    pthread_t thread;
    open_context();
    EXTRA(exchange, cuThreadExchangeStreamCaptureMode);
    for (int mode = CU_STREAM_CAPTURE_MODE_GLOBAL; mode <= CU_STREAM_CAPTURE_MODE_RELAXED; mode++) {
        attempt there = {.exchange = exchange, .mode = (CUstreamCaptureMode)mode}, here = there;
        CUstream stream = begin(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING);
        CHECK(pthread_create(&thread, NULL, try_to_allocate, &there) == 0 && pthread_join(thread, NULL) == 0);
        const bool lasts = cu->cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS;
        CHECK(there.before == CU_STREAM_CAPTURE_MODE_GLOBAL && lasts == (mode != CU_STREAM_CAPTURE_MODE_GLOBAL));
        CU(there.result, lasts ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        stream = begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_NON_BLOCKING);
        try_to_allocate(&here); /* its own capture allows that to a relaxed thread only */
        CU(here.result,
           mode == CU_STREAM_CAPTURE_MODE_RELAXED ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        OK(exchange(&here.before));
        CHECK_INT(here.before, mode);
        cu->cuStreamEndCapture(stream, &graph);
    }
}

/* A driver takes any mode, and faults where there is none: a mistake that only the software GPU tells. */
DEVICE_TEST(a_mode_that_there_is_not_is_refused)
{
    SOFT_ONLY;
    open_context();
    EXTRA(exchange, cuThreadExchangeStreamCaptureMode);
    CU(exchange(NULL), CUDA_ERROR_INVALID_VALUE);
    CU(exchange(&(CUstreamCaptureMode){(CUstreamCaptureMode)9}), CUDA_ERROR_INVALID_VALUE);
}

static void CUDA_CB count_up(void *data)
{
    atomic_fetch_add((atomic_int *)data, 1);
}

/* A thread of CUDA's counts. */
static void wait_for(const atomic_int *count, int wanted)
{
    for (int i = 0; i < 1000 && atomic_load(count) < wanted; i++)
        usleep(1000);
    CHECK_INT(atomic_load(count), wanted);
}

DEVICE_TEST(a_graph_and_those_made_ready_of_it_hold_a_users_object)
{
    CUgraph graph, same;
    CUgraphExec ready;
    CUuserObject object;
    CUstreamCaptureStatus status;
    static atomic_int ends;
    open_context();
    EXTRA(create_object, cuUserObjectCreate);
    EXTRA(release, cuUserObjectRelease);
    EXTRA(retain, cuGraphRetainUserObject);
    CUresult (*tell)(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *, const CUgraphNode **, size_t *) =
        dlsym(cu->library, "cuStreamGetCaptureInfo_v2");
    CHECK(tell);
    CU(create_object(&object, &ends, NULL, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC), CUDA_ERROR_INVALID_VALUE);
    CU(create_object(&object, &ends, count_up, 0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC), CUDA_ERROR_INVALID_VALUE);
    CUstream stream = begin(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING);
    OK(tell(stream, &status, NULL, &graph, NULL, NULL));
    OK(create_object(&object, &ends, count_up, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(retain(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    OK(release(object, 1));
    OK(cu->cuStreamEndCapture(stream, &same));
    CHECK(same == graph);
    OK(cu->cuGraphInstantiate(&ready, graph, 0));
    OK(cu->cuGraphDestroy(graph));
    CHECK_INT(ends, 0);
    OK(cu->cuGraphExecDestroy(ready));
    wait_for(&ends, 1);
    stream = begin(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING); /* one whose capture fails */
    OK(tell(stream, &status, NULL, &graph, NULL, NULL));
    OK(create_object(&object, &ends, count_up, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(retain(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    CHECK(cu->cuStreamSynchronize(stream) != CUDA_SUCCESS && cu->cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS);
    wait_for(&ends, 2);
}

DEVICE_TEST(an_event_of_a_capture_has_no_time)
{
    CUevent event;
    CUgraph graph;
    open_context();
    OK(cu->cuEventCreate(&event, 0));
    CUstream stream = begin(CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_NON_BLOCKING);
    OK(cu->cuEventRecord(event, stream));
    CU(cu->cuEventSynchronize(event), CUDA_ERROR_CAPTURED_EVENT);
    CU(cu->cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

DEVICE_TEST(a_capture_does_not_touch_the_default_stream_of_others)
{
    CUgraph graph;
    open_context();
    const CUdeviceptr address = memory(4096);
    CHECK(kernel("fill"));
    CUstream stream = begin(CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_NON_BLOCKING);
    OK(run("fill", 1, 32, address, 1, stream));
    OK(run("fill", 1, 32, address, 2, NULL));
    CHECK_INT(word(address), 2);
    OK(cu->cuStreamEndCapture(stream, &graph));
}

CHECK_MAIN
