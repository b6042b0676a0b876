/* Events: marks on the device's clock, which is the model's. */
#include <stdlib.h>

#include "capture.h"

CUresult CUDAAPI cuEventCreate(CUevent *out, unsigned flags)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING; /* nothing is shared between processes */
    if (result == CUDA_SUCCESS && (!out || (flags & ~known)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        sg_event *event = calloc(1, sizeof *event);
        CUevent handle = event ? sg_handle_create(SG_EVENT, sg_current()->number, event) : NULL;
        if (handle) {
            event->timed = !(flags & CU_EVENT_DISABLE_TIMING);
            *out = handle;
        } else {
            free(event);
            result = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return sg_leave(result);
}

CUresult CUDAAPI cuEventDestroy(CUevent handle)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    if (result == CUDA_SUCCESS) {
        sg_event *event = sg_handle_destroy(SG_EVENT, handle);
        if (!event)
            result = CUDA_ERROR_INVALID_HANDLE;
        free(event);
    }
    return sg_leave(result);
}

static CUresult record(sg_event *event, sg_stream *stream)
{
    if (!event || !stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capturing) {
        event->captured = true;
        event->recorded = false;
        return stream->invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
    }
    const CUresult result = stream->is_default ? sg_refuse_default() : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        *event = (sg_event){.timed = event->timed, .recorded = true, .at_us = sg.now_us};
    return result;
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    if (result == CUDA_SUCCESS)
        result = record(sg_handle_find(SG_EVENT, event), sg_stream_find(stream));
    return sg_leave(result);
}

/* One that was last recorded in a capture stands for nothing that happened; asking for it spoils captures. */
static CUresult wait_for(const sg_event *event)
{
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    if (event->captured) {
        sg_refuse_any();
        return CUDA_ERROR_CAPTURED_EVENT;
    }
    return sg_refuse_unsafe();
}

CUresult CUDAAPI cuEventSynchronize(CUevent event)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    if (result == CUDA_SUCCESS)
        result = wait_for(sg_handle_find(SG_EVENT, event));
    return sg_leave(result);
}

CUresult CUDAAPI cuEventQuery(CUevent event)
{
    return cuEventSynchronize(event);
}

CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent first, CUevent last)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    const sg_event *from = result == CUDA_SUCCESS ? sg_handle_find(SG_EVENT, first) : NULL;
    const sg_event *to = result == CUDA_SUCCESS ? sg_handle_find(SG_EVENT, last) : NULL;
    if (result == CUDA_SUCCESS && (!milliseconds || !from || !to || !from->timed || !to->timed))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS && (from->captured || to->captured))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && (!from->recorded || !to->recorded))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        *milliseconds = (float)((to->at_us - from->at_us) * 1e-3);
    return sg_leave(result);
}
