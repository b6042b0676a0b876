/* User objects: a program is told when the last graph that holds one is gone. */
#include <stdlib.h>

#include "capture.h"

CUresult CUDAAPI cuUserObjectCreate(CUuserObject *out, void *data, CUhostFn destroy, unsigned count, unsigned flags)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS && (!out || !destroy || count == 0 || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        sg_user *user = malloc(sizeof *user);
        CUuserObject handle = user ? sg_handle_create(SG_USER_OBJECT, SG_NOBODY, user) : NULL;
        if (handle) {
            *user = (sg_user){.handle = handle, .data = data, .destroy = destroy, .count = count};
            *out = handle;
        } else {
            free(user);
            result = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return sg_leave(result);
}

CUresult CUDAAPI cuUserObjectRelease(CUuserObject object, unsigned count)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    sg_user *user = result == CUDA_SUCCESS ? sg_handle_find(SG_USER_OBJECT, object) : NULL;
    if (result == CUDA_SUCCESS && (!user || count == 0 || count > user->count))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        sg_user_release(user, count);
    return sg_leave(result);
}

static CUresult retain(sg_graph *graph, sg_user *user, unsigned count, unsigned flags)
{
    const bool moves = flags & CU_GRAPH_USER_OBJECT_MOVE;
    if (!graph || !user || count == 0 || (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE) || (moves && count > user->count))
        return CUDA_ERROR_INVALID_VALUE;
    if (!sg_graph_hold(graph, user, count))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!moves)
        user->count += count;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count, unsigned flags)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS)
        result = retain(sg_handle_find(SG_GRAPH, graph), sg_handle_find(SG_USER_OBJECT, object), count, flags);
    return sg_leave(result);
}
