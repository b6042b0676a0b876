/* Streams, which do what they are given at once and in order, and their capture. */
#include <stdlib.h>
#include <unistd.h>

#include "capture.h"

static sg_stream default_stream = {.is_default = true, .blocking = true};

sg_stream *sg_stream_find(CUstream handle)
{
    return !handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD ? &default_stream
                                                                                   : sg_handle_find(SG_STREAM, handle);
}

void sg_stream_free(sg_stream *stream)
{
    sg_graph_free(stream->captured);
    free(stream);
}

CUresult CUDAAPI cuStreamCreate(CUstream *out, unsigned flags)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    if (result == CUDA_SUCCESS && (!out || flags > CU_STREAM_NON_BLOCKING))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        sg_stream *stream = calloc(1, sizeof *stream);
        CUstream handle = stream ? sg_handle_create(SG_STREAM, sg_current()->number, stream) : NULL;
        if (handle) {
            stream->blocking = flags == CU_STREAM_DEFAULT;
            *out = handle;
        } else {
            free(stream);
            result = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return sg_leave(result);
}

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
    (void)priority;
    return cuStreamCreate(out, flags);
}

CUresult CUDAAPI cuStreamDestroy(CUstream handle)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    if (result == CUDA_SUCCESS) {
        sg_stream *stream = sg_handle_destroy(SG_STREAM, handle);
        if (stream)
            sg_stream_free(stream);
        else
            result = CUDA_ERROR_INVALID_HANDLE;
    }
    return sg_leave(result);
}

/* Everything given is done. What a capture allows is asked all the same. */
static CUresult wait_for(CUstream handle)
{
    sg_stream *stream = sg_stream_find(handle);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capturing) {
        stream->invalidated = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    const CUresult result = stream->is_default ? sg_refuse_default() : CUDA_SUCCESS;
    return result == CUDA_SUCCESS ? sg_refuse_unsafe() : result;
}

CUresult CUDAAPI cuStreamSynchronize(CUstream handle)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    if (result == CUDA_SUCCESS)
        result = wait_for(handle);
    return sg_leave(result);
}

CUresult CUDAAPI cuStreamQuery(CUstream handle)
{
    return cuStreamSynchronize(handle);
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    sg_stream *stream = result == CUDA_SUCCESS ? sg_stream_find(handle) : NULL;
    if (result == CUDA_SUCCESS && (!stream || !sg_handle_find(SG_EVENT, event)))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS && flags > CU_EVENT_WAIT_EXTERNAL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && stream->capturing) { /* a graph here has one branch */
        stream->invalidated = true;
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return sg_leave(result);
}

static cuuint64_t last_capture;

static CUresult begin_capture(sg_stream *stream, CUstreamCaptureMode mode)
{
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->is_default)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capturing)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (!(stream->captured = calloc(1, sizeof *stream->captured)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    stream->captured->open = true;
    stream->capturing = true;
    stream->invalidated = false;
    stream->capture = ++last_capture;
    stream->mode = mode;
    stream->thread = gettid();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    if (result == CUDA_SUCCESS)
        result = begin_capture(sg_stream_find(handle), mode);
    return sg_leave(result);
}

/* The graph is NULL where the capture was spoilt. */
static CUresult end_capture(sg_stream *stream, CUgraph *out)
{
    CUresult result = CUDA_SUCCESS;
    CUgraph graph = NULL;
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!stream->capturing)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (stream->mode != CU_STREAM_CAPTURE_MODE_RELAXED && stream->thread != gettid())
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (stream->invalidated)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (out && !(graph = sg_graph_name(stream->captured)))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    stream->captured->open = false;
    if (!graph)
        sg_graph_free(stream->captured);
    stream->captured = NULL;
    stream->capturing = stream->invalidated = false;
    if (out)
        *out = graph;
    return result;
}

CUresult CUDAAPI cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    if (result == CUDA_SUCCESS)
        result = end_capture(sg_stream_find(handle), graph);
    return sg_leave(result);
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS && (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *mode = sg_exchange_mode(*mode);
    return sg_leave(result);
}

/* The number of the capture and its graph only where there is one. */
static CUresult ask_capture(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    const sg_stream *stream = result == CUDA_SUCCESS ? sg_stream_find(handle) : NULL;
    if (result == CUDA_SUCCESS && !stream)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS && !status)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *status = !stream->capturing    ? CU_STREAM_CAPTURE_STATUS_NONE
                  : stream->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                        : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (result == CUDA_SUCCESS && id && *status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
        *id = stream->capture;
    if (result == CUDA_SUCCESS && graph && *status == CU_STREAM_CAPTURE_STATUS_ACTIVE &&
        !(*graph = sg_graph_name(stream->captured)))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    return sg_leave(result);
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
    return ask_capture(handle, status, NULL, NULL);
}

/* As CUDA 12.0 has it. Nobody is told what is in a graph that is not done. */
CUresult CUDAAPI cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                           const CUgraphNode **dependencies, size_t *count);
CUresult CUDAAPI cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                           const CUgraphNode **dependencies, size_t *count)
{
    return dependencies || count ? CUDA_ERROR_NOT_SUPPORTED : ask_capture(handle, status, id, graph);
}
