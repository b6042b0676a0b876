#include "cuda_state.h"

#include <dlfcn.h>
#include <stdatomic.h>

static struct {
    const gt_driver *driver;
    /* These came with CUDA 12.0 or before. The software GPU, where handles are not used again, has no ids. */
    CUresult (*context_id)(CUcontext context, unsigned long long *id);
    CUresult (*stream_id)(CUstream stream, unsigned long long *id);
    CUresult (*capture_info)(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                             const CUgraphNode **dependencies, size_t *count);
    /* Came with CUDA 12.3, and tells of edges, too. It is what the runtime of CUDA 13 asks. */
    CUresult (*newer_capture_info)(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **dependencies, const void **edges, size_t *count);
    CUresult (*create_object)(CUuserObject *object, void *data, CUhostFn destroy, unsigned count, unsigned flags);
    CUresult (*retain_object)(CUgraph graph, CUuserObject object, unsigned count, unsigned flags);
} cuda;

void gt_cuda_state_begin(const gt_driver *driver)
{
    if (cuda.driver)
        return;
    cuda.driver = driver;
#define FIND(function, name) cuda.function = (__typeof__(cuda.function))dlsym(driver->library, name)
    FIND(context_id, "cuCtxGetId");
    FIND(stream_id, "cuStreamGetId");
    FIND(capture_info, "cuStreamGetCaptureInfo_v2");
    FIND(newer_capture_info, "cuStreamGetCaptureInfo_v3");
    FIND(create_object, "cuUserObjectCreate");
    FIND(retain_object, "cuGraphRetainUserObject");
#undef FIND
}

bool gt_cuda_find_context(uint64_t *id)
{
    CUcontext context = NULL;
    unsigned long long number = 0;
    if (cuda.driver->cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context)
        return false;
    if (cuda.context_id && cuda.context_id(context, &number) != CUDA_SUCCESS)
        return false;
    *id = cuda.context_id ? number : (uintptr_t)context;
    return true;
}

/* A number for each thread, which is not used again. */
static uint64_t find_thread(void)
{
    static _Thread_local __attribute__((tls_model("initial-exec"))) uint64_t own;
    static atomic_ullong last;
    return own ? own : (own = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1);
}

/* Nothing says that the id of every thread's own stream is another in each. */
bool gt_cuda_find_stream(CUstream stream, uint64_t *id)
{
    unsigned long long number = 0;
    if (stream == CU_STREAM_PER_THREAD) {
        *id = UINT64_MAX - find_thread();
        return true;
    }
    if (cuda.stream_id && cuda.stream_id(stream, &number) != CUDA_SUCCESS)
        return false;
    *id = (cuda.stream_id ? number : (uintptr_t)stream) + 1;
    return true;
}

bool gt_cuda_is_captured(CUstream stream)
{
    CUstreamCaptureStatus status;
    return cuda.driver->cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

bool gt_cuda_find_capture(CUstream stream, uint64_t *id, uint64_t *number, CUgraph *graph)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t capture = 0;
    const CUresult result =
        cuda.newer_capture_info ? cuda.newer_capture_info(stream, &status, &capture, graph, NULL, NULL, NULL)
        : cuda.capture_info     ? cuda.capture_info(stream, &status, &capture, graph, NULL, NULL)
                                : CUDA_ERROR_NOT_SUPPORTED;
    if (result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return false;
    *id = capture + 1;
    *number = stream == CU_STREAM_PER_THREAD ? UINT64_MAX - find_thread() : (uintptr_t)stream + 1;
    return true;
}

/* One that the graph does not take is not released: that would be taken for the graph's end. */
void gt_cuda_watch_graph(CUgraph graph, CUhostFn ended, void *data)
{
    CUuserObject object;
    if (cuda.create_object && cuda.retain_object &&
        cuda.create_object(&object, data, ended, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) == CUDA_SUCCESS)
        cuda.retain_object(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
}

void gt_cuda_exchange_mode(CUstreamCaptureMode *mode)
{
    cuda.driver->cuThreadExchangeStreamCaptureMode(mode);
}
