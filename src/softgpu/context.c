/* Contexts: which one a thread works in, and what ends with one. */
#include <stdlib.h>

#include "capture.h"

#define DEPTH 256 /* of a thread's stack: programs push and pop in pairs */

static _Thread_local struct {
    CUcontext contexts[DEPTH];
    size_t count;
} stack;

bool sg_push(CUcontext context)
{
    if (stack.count == DEPTH)
        return false;
    stack.contexts[stack.count++] = context;
    return true;
}

CUcontext sg_pop(void)
{
    return stack.count ? stack.contexts[--stack.count] : NULL;
}

CUcontext sg_top(void)
{
    return stack.count ? stack.contexts[stack.count - 1] : NULL;
}

sg_context *sg_context_find(CUcontext handle)
{
    sg_context *context = sg_handle_find(SG_CONTEXT, handle);
    return context && context->retained > 0 ? context : NULL;
}

sg_context *sg_current(void)
{
    return sg_context_find(sg_top());
}

static void end_stream(void *stream)
{
    sg_stream_free(stream);
}

static void end_graph(void *graph)
{
    sg_graph_free(graph);
}

static void end_module(void *module)
{
    sg_library_free(module);
}

void sg_context_empty(sg_context *context)
{
    static const struct {
        sg_kind kind;
        void (*end)(void *object);
    } kinds[] = {
        {SG_STREAM, end_stream}, {SG_EVENT, free},        {SG_GRAPH, end_graph},
        {SG_GRAPH_EXEC, end_graph}, {SG_MODULE, end_module},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        void *handle;
        for (size_t at = 0; (handle = sg_handle_next(kinds[i].kind, &at));)
            if (sg_handle_owner(kinds[i].kind, handle) == context->number)
                kinds[i].end(sg_handle_destroy(kinds[i].kind, handle));
    }
    sg_memory_free_user(sg.memory, context->number);
}

sg_context *sg_context_create(unsigned flags)
{
    sg_context *context = calloc(1, sizeof *context);
    if (!context || !(context->handle = sg_handle_create(SG_CONTEXT, SG_NOBODY, context))) {
        free(context);
        return NULL;
    }
    context->number = ++sg.contexts;
    context->retained = 1;
    context->flags = flags;
    return context;
}

void sg_context_destroy(sg_context *context)
{
    sg_context_empty(context);
    sg_handle_destroy(SG_CONTEXT, context->handle);
    free(context);
}
