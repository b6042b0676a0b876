#include "state.h"

#include <pthread.h>
#include <stdlib.h>

#include "attach.h"
#include "capture.h"

sg_state sg;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool is_current;

CUresult sg_enter(sg_need need)
{
    pthread_mutex_lock(&lock);
    if (need >= SG_NEEDS_INIT && !sg.profile)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (need >= SG_NEEDS_CONTEXT && !is_current)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (need >= SG_NEEDS_CONTEXT && sg.retained == 0)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return need >= SG_NEEDS_WORK ? sg.fault : CUDA_SUCCESS;
}

CUresult sg_leave(CUresult result)
{
    pthread_mutex_unlock(&lock);
    return result;
}

bool sg_is_current(void)
{
    return is_current;
}

void sg_set_current(bool current)
{
    is_current = current;
}

void sg_context_destroy(void)
{
    void *handle;
    for (size_t at = 0; (handle = sg_handle_next(SG_STREAM, &at));)
        sg_stream_free(sg_handle_destroy(SG_STREAM, handle));
    for (size_t at = 0; (handle = sg_handle_next(SG_EVENT, &at));)
        free(sg_handle_destroy(SG_EVENT, handle));
    for (size_t at = 0; (handle = sg_handle_next(SG_GRAPH, &at));)
        sg_graph_free(sg_handle_destroy(SG_GRAPH, handle));
    for (size_t at = 0; (handle = sg_handle_next(SG_GRAPH_EXEC, &at));)
        sg_graph_free(sg_handle_destroy(SG_GRAPH_EXEC, handle));
    sg_memory_free_user(sg.memory);
    sg.retained = 0;
}

/* When the library is closed: a program may open it again, and finds it as new. */
__attribute__((destructor)) static void finish(void)
{
    void *handle;
    sg_attach_finish();
    if (!sg.profile)
        return;
    sg_context_destroy();
    for (size_t at = 0; (handle = sg_handle_next(SG_LIBRARY, &at));)
        sg_library_free(sg_handle_destroy(SG_LIBRARY, handle));
    sg_handle_finish();
    sg_memory_destroy(sg.memory);
    sg = (sg_state){0};
}
