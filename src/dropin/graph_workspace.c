#include "graph_workspace.h"

#include <stdatomic.h>

#include "cuda_state.h"

#define MOST  256
#define ALIGN 256 /* bytes, of workspaces */

typedef struct workspace {
    uint64_t context;
    uint64_t capture, stream; /* that it belongs to; 0: none yet */
    CUdeviceptr data;         /* counters, then the workspace */
    gt_graph_bytes bytes;
} workspace;

static workspace list[MOST];
static atomic_bool ended[MOST]; /* the graph that it belongs to: set without a lock, by CUDA */
static size_t count;

static void CUDA_CB end(void *flag)
{
    atomic_store_explicit((atomic_bool *)flag, true, memory_order_release);
}

/* Sets those of graphs that are gone aside again. */
static void collect(void)
{
    for (size_t i = 0; i < count; i++)
        if (atomic_load_explicit(&ended[i], memory_order_acquire)) {
            atomic_store_explicit(&ended[i], false, memory_order_relaxed);
            list[i].capture = list[i].stream = 0;
        }
}

/* Of a captured stream, or with 0 for both that which is set aside; NULL if there is none as large. */
static workspace *find(uint64_t context, uint64_t capture, uint64_t stream, gt_graph_bytes bytes)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].context == context && list[i].capture == capture && list[i].stream == stream &&
            list[i].bytes.workspace >= bytes.workspace && list[i].bytes.counters >= bytes.counters)
            return &list[i];
    return NULL;
}

/* In a stream of its own: the default one may have to wait for what a program does there. */
static bool clear(const gt_driver *driver, CUdeviceptr data, size_t bytes)
{
    CUstream stream;
    if (driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        return false;
    const bool is_clear = driver->cuMemsetD32Async(data, 0, bytes / sizeof(unsigned), stream) == CUDA_SUCCESS &&
                          driver->cuStreamSynchronize(stream) == CUDA_SUCCESS;
    driver->cuStreamDestroy(stream);
    return is_clear;
}

/* The one behind so many others that are set aside; NULL if there are no more. */
static workspace *find_spare(uint64_t context, size_t others)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].context == context && list[i].capture == 0 && others-- == 0)
            return &list[i];
    return NULL;
}

/* Sets one aside, in place of one that is too small or, with NULL, as one more. */
static size_t set_aside(const gt_driver *driver, uint64_t context, gt_graph_bytes bytes, size_t most, workspace *small)
{
    const size_t before = small ? small->bytes.workspace + small->bytes.counters : 0;
    const size_t after = bytes.workspace + bytes.counters;
    CUdeviceptr data;
    if ((!small && count == MOST) || after - before > most || driver->cuMemAlloc(&data, after) != CUDA_SUCCESS)
        return 0;
    if (!clear(driver, data, bytes.counters)) {
        driver->cuMemFree(data);
        return 0;
    }
    if (small)
        driver->cuMemFree(small->data);
    else
        small = &list[count++];
    *small = (workspace){.context = context, .data = data, .bytes = bytes};
    return after - before;
}

size_t gt_graph_workspace_prepare(const gt_driver *driver, uint64_t context, gt_graph_bytes bytes, size_t wanted,
                                  size_t most)
{
    size_t taken = 0;
    bytes.counters = (bytes.counters + ALIGN - 1) / ALIGN * ALIGN;
    collect();
    for (size_t i = 0; i < wanted; i++) {
        workspace *w = find_spare(context, i);
        if (!w || w->bytes.workspace < bytes.workspace || w->bytes.counters < bytes.counters)
            taken += set_aside(driver, context, bytes, most - taken, w);
    }
    return taken;
}

void *gt_graph_workspace_take(uint64_t context, uint64_t capture, uint64_t stream, CUgraph graph, gt_graph_bytes bytes,
                              void **counters)
{
    collect();
    workspace *w = find(context, capture, stream, bytes);
    if (!w && (w = find(context, 0, 0, bytes))) {
        w->capture = capture;
        w->stream = stream;
        gt_cuda_watch_graph(graph, end, &ended[w - list]);
    }
    if (!w)
        return NULL;
    *counters = (void *)w->data;
    return (void *)(w->data + w->bytes.counters);
}
