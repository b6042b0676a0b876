#include "state.h"

#include <pthread.h>

#include "attach.h"

sg_state sg;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

CUresult sg_enter(sg_need need)
{
    pthread_mutex_lock(&lock);
    if (need >= SG_NEEDS_INIT && !sg.profile)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (need >= SG_NEEDS_CONTEXT && !sg_top())
        return CUDA_ERROR_INVALID_CONTEXT;
    if (need >= SG_NEEDS_CONTEXT && !sg_current())
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return need >= SG_NEEDS_WORK ? sg.fault : CUDA_SUCCESS;
}

CUresult sg_leave(CUresult result)
{
    pthread_mutex_unlock(&lock);
    return result;
}

/* When the library is closed: a program may open it again, and finds it as new. */
__attribute__((destructor)) static void finish(void)
{
    void *handle;
    sg_attach_finish();
    if (!sg.profile)
        return;
    sg_context_empty(&sg.primary);
    sg_handle_destroy(SG_CONTEXT, sg.primary.handle);
    for (size_t at = 0; (handle = sg_handle_next(SG_CONTEXT, &at));)
        sg_context_destroy(sg_handle_find(SG_CONTEXT, handle));
    for (size_t at = 0; (handle = sg_handle_next(SG_LIBRARY, &at));)
        sg_library_free(sg_handle_destroy(SG_LIBRARY, handle));
    sg_handle_finish();
    sg_memory_destroy(sg.memory);
    sg = (sg_state){0};
}
