#include "capture.h"

#include <stdlib.h>
#include <unistd.h>

void sg_graph_free(sg_graph *graph)
{
    if (!graph)
        return;
    for (size_t i = 0; i < graph->count; i++) {
        sg_work_finish(&graph->works[i]);
        if (graph->nodes)
            free(sg_handle_destroy(SG_GRAPH_NODE, graph->nodes[i]));
    }
    for (size_t i = 0; i < graph->hold_count; i++)
        sg_user_release(graph->holds[i].user, graph->holds[i].count);
    sg_handle_destroy(SG_GRAPH, graph->handle);
    free(graph->works);
    free(graph->nodes);
    free(graph->holds);
    free(graph);
}

CUgraph sg_graph_name(sg_graph *graph)
{
    if (!graph->handle)
        graph->handle = sg_handle_create(SG_GRAPH, sg_current()->number, graph);
    return graph->handle;
}

bool sg_graph_hold(sg_graph *graph, sg_user *user, unsigned count)
{
    sg_hold *const holds = realloc(graph->holds, (graph->hold_count + 1) * sizeof *holds);
    if (!holds)
        return false;
    graph->holds = holds;
    graph->holds[graph->hold_count++] = (sg_hold){user, count};
    return true;
}

void sg_user_release(sg_user *user, unsigned count)
{
    user->count -= count;
    if (user->count > 0)
        return;
    sg_handle_destroy(SG_USER_OBJECT, user->handle);
    user->destroy(user->data);
    free(user);
}

/* Takes work over, also on failure. False if out of memory. */
static bool add_work(sg_graph *graph, sg_work *work)
{
    if (graph->count == graph->capacity) {
        const size_t capacity = graph->capacity ? 2 * graph->capacity : 8;
        sg_work *works = realloc(graph->works, capacity * sizeof *works);
        if (!works) {
            sg_work_finish(work);
            return false;
        }
        graph->works = works;
        graph->capacity = capacity;
    }
    graph->works[graph->count++] = *work;
    return true;
}

sg_graph *sg_graph_copy(const sg_graph *graph)
{
    sg_graph *copy = calloc(1, sizeof *copy);
    for (size_t i = 0; copy && i < graph->count; i++) {
        sg_work work;
        if (!sg_work_copy(&graph->works[i], &work) || !add_work(copy, &work)) {
            sg_graph_free(copy);
            return NULL;
        }
    }
    for (size_t i = 0; copy && i < graph->hold_count; i++) {
        if (!sg_graph_hold(copy, graph->holds[i].user, graph->holds[i].count)) {
            sg_graph_free(copy);
            return NULL;
        }
        graph->holds[i].user->count += graph->holds[i].count;
    }
    return copy;
}

/* Spoils every capture that `stands` in the way and tells so. */
static CUresult refuse(bool (*stands)(const sg_stream *), CUresult refusal)
{
    CUresult result = CUDA_SUCCESS;
    void *handle;
    for (size_t at = 0; (handle = sg_handle_next(SG_STREAM, &at));) {
        sg_stream *stream = sg_handle_find(SG_STREAM, handle);
        if (!stream->capturing || stream->invalidated || !stands(stream))
            continue;
        stream->invalidated = true;
        result = refusal;
    }
    return result;
}

static bool is_blocking(const sg_stream *stream)
{
    return stream->blocking;
}

static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUstreamCaptureMode sg_exchange_mode(CUstreamCaptureMode mode)
{
    const CUstreamCaptureMode before = thread_mode;
    thread_mode = mode;
    return before;
}

/* A thread's own captures stand in its way unless it is relaxed; those of others, if both say global. */
static bool forbids_unsafe(const sg_stream *stream)
{
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED || stream->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    return stream->thread == gettid() ||
           (stream->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static bool is_any(const sg_stream *stream)
{
    return stream->capturing;
}

CUresult sg_refuse_default(void)
{
    return refuse(is_blocking, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
}

CUresult sg_refuse_unsafe(void)
{
    return refuse(forbids_unsafe, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

CUresult sg_refuse_any(void)
{
    return refuse(is_any, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

CUresult sg_stream_give(sg_stream *stream, sg_work *work)
{
    CUresult result = CUDA_SUCCESS;
    if (stream->capturing) {
        result = stream->invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : sg_work_check(work);
        if (result == CUDA_SUCCESS)
            return add_work(stream->captured, work) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
        stream->invalidated = true;
    } else {
        if (stream->is_default)
            result = sg_refuse_default();
        if (result == CUDA_SUCCESS)
            result = sg_work_check(work);
        if (result == CUDA_SUCCESS)
            result = sg_work_run(work);
    }
    sg_work_finish(work);
    return result;
}
