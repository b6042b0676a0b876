#include "state.h"

#include <pthread.h>

sg_state sg;
_Thread_local sg_manner sg_asked;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

CUresult sg_enter(sg_need need)
{
    pthread_mutex_lock(&lock);
    if (need >= SG_NEEDS_INIT && !sg.profile)
        return sg.ended ? CUDA_ERROR_DEINITIALIZED : CUDA_ERROR_NOT_INITIALIZED;
    if (need >= SG_NEEDS_CONTEXT && !sg_top())
        return CUDA_ERROR_INVALID_CONTEXT;
    if (need >= SG_NEEDS_CONTEXT && !sg_current())
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return need >= SG_NEEDS_WORK ? sg.fault : CUDA_SUCCESS;
}

bool sg_try_enter(void)
{
    return pthread_mutex_trylock(&lock) == 0;
}

CUresult sg_leave(CUresult result)
{
    pthread_mutex_unlock(&lock);
    return result;
}
