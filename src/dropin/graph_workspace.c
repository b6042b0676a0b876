#include "graph_workspace.h"

#define MOST 256

typedef struct workspace {
    uint64_t context;
    uint64_t capture, stream; /* that it belongs to; 0: none yet */
    CUdeviceptr data;
    size_t bytes;
} workspace;

static workspace list[MOST];
static size_t count;

/* Of a captured stream, or with 0 for both that which is set aside; NULL if there is none as large. */
static workspace *find(uint64_t context, uint64_t capture, uint64_t stream, size_t bytes)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].context == context && list[i].capture == capture && list[i].stream == stream &&
            list[i].bytes >= bytes)
            return &list[i];
    return NULL;
}

size_t gt_graph_workspace_prepare(const gt_driver *driver, uint64_t context, size_t bytes, size_t most)
{
    workspace *w = find(context, 0, 0, 0);
    if ((w && w->bytes >= bytes) || (!w && count == MOST))
        return 0;
    const size_t before = w ? w->bytes : 0;
    CUdeviceptr data;
    if (bytes - before > most || driver->cuMemAlloc(&data, bytes) != CUDA_SUCCESS)
        return 0;
    if (w)
        driver->cuMemFree(w->data);
    else
        w = &list[count++];
    *w = (workspace){.context = context, .data = data, .bytes = bytes};
    return bytes - before;
}

void *gt_graph_workspace_take(uint64_t context, uint64_t capture, uint64_t stream, size_t bytes)
{
    workspace *w = find(context, capture, stream, bytes);
    if (!w && (w = find(context, 0, 0, bytes))) {
        w->capture = capture;
        w->stream = stream;
    }
    return w ? (void *)w->data : NULL;
}
