/* Contexts, and which one a thread works in. */
#include <stdlib.h>

#include "state.h"

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

sg_context *sg_context_create(unsigned flags, CUdevice device)
{
    sg_context *context = calloc(1, sizeof *context);
    if (!context || !(context->handle = sg_handle_create(SG_CONTEXT, SG_NOBODY, context))) {
        free(context);
        return NULL;
    }
    context->device = device;
    context->number = ++sg.contexts;
    context->retained = 1;
    context->flags = flags;
    return context;
}
