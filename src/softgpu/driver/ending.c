/* What ends with a context, and with the library. */
#include <stdlib.h>

#include "attach.h"
#include "capture.h"

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

void sg_context_destroy(sg_context *context)
{
    sg_context_empty(context);
    sg_handle_destroy(SG_CONTEXT, context->handle);
    free(context);
}

static void free_all(void)
{
    void *handle;
    sg_attach_finish();
    if (!sg.profile)
        return;
    for (int i = 0; i < sg.device_count; i++) {
        sg_context_empty(&sg.primary[i]);
        sg_handle_destroy(SG_CONTEXT, sg.primary[i].handle);
    }
    for (size_t at = 0; (handle = sg_handle_next(SG_CONTEXT, &at));)
        sg_context_destroy(sg_handle_find(SG_CONTEXT, handle));
    for (size_t at = 0; (handle = sg_handle_next(SG_LIBRARY, &at));)
        sg_library_free(sg_handle_destroy(SG_LIBRARY, handle));
    sg_virtual_finish();
    sg_handle_finish();
    sg_memory_destroy(sg.memory);
    sg = (sg_state){.ended = true};
}

/* When the library is closed: a program may open it again, and finds it as new. A process may end while a thread of its
 * runs a kernel: then all stays as it is. */
__attribute__((destructor)) static void finish(void)
{
    if (!sg_try_enter())
        return;
    free_all();
    sg_leave(CUDA_SUCCESS);
}
