#include "graph_workspace.h"

#include "cuda_state.h"

#define ALIGN 256 /* bytes, of workspaces */

static void CUDA_CB end(void *flag)
{
    atomic_store_explicit((atomic_bool *)flag, true, memory_order_release);
}

/* Sets those of graphs that are gone aside again. */
static void collect(gt_graph_workspaces *all)
{
    for (size_t i = 0; i < all->count; i++)
        if (atomic_load_explicit(&all->ended[i], memory_order_acquire)) {
            atomic_store_explicit(&all->ended[i], false, memory_order_relaxed);
            all->list[i].capture = all->list[i].stream = 0;
        }
}

/* Of a captured stream, or with 0 for both that which is set aside; NULL if there is none as large. */
static gt_graph_workspace *find(gt_graph_workspaces *all, uint64_t capture, uint64_t stream, gt_graph_bytes bytes)
{
    for (size_t i = 0; i < all->count; i++) {
        gt_graph_workspace *const w = &all->list[i];
        if (w->capture == capture && w->stream == stream && w->bytes.workspace >= bytes.workspace &&
            w->bytes.counters >= bytes.counters)
            return w;
    }
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
static gt_graph_workspace *find_spare(gt_graph_workspaces *all, size_t others)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i].capture == 0 && others-- == 0)
            return &all->list[i];
    return NULL;
}

/* Sets one aside, in place of one that is too small or, with NULL, as one more. */
static size_t set_aside(gt_graph_workspaces *all, const gt_driver *driver, gt_graph_bytes bytes, size_t most,
                        gt_graph_workspace *small)
{
    const size_t before = small ? small->bytes.workspace + small->bytes.counters : 0;
    const size_t after = bytes.workspace + bytes.counters;
    CUdeviceptr data;
    if ((!small && all->count == GT_GRAPH_WORKSPACES) || after - before > most ||
        driver->cuMemAlloc(&data, after) != CUDA_SUCCESS)
        return 0;
    if (!clear(driver, data, bytes.counters)) {
        driver->cuMemFree(data);
        return 0;
    }
    if (small)
        driver->cuMemFree(small->data);
    else
        small = &all->list[all->count++];
    *small = (gt_graph_workspace){.data = data, .bytes = bytes};
    return after - before;
}

size_t gt_graph_workspace_prepare(gt_graph_workspaces *all, const gt_driver *driver, gt_graph_bytes bytes, size_t wanted,
                                  size_t most)
{
    size_t taken = 0;
    bytes.counters = (bytes.counters + ALIGN - 1) / ALIGN * ALIGN;
    collect(all);
    for (size_t i = 0; i < wanted; i++) {
        gt_graph_workspace *w = find_spare(all, i);
        if (!w || w->bytes.workspace < bytes.workspace || w->bytes.counters < bytes.counters)
            taken += set_aside(all, driver, bytes, most - taken, w);
    }
    return taken;
}

void *gt_graph_workspace_take(gt_graph_workspaces *all, uint64_t capture, uint64_t stream, CUgraph graph,
                              gt_graph_bytes bytes, void **counters)
{
    collect(all);
    gt_graph_workspace *w = find(all, capture, stream, bytes);
    if (!w && (w = find(all, 0, 0, bytes))) {
        w->capture = capture;
        w->stream = stream;
        gt_cuda_watch_graph(graph, end, &all->ended[w - all->list]);
    }
    if (!w)
        return NULL;
    *counters = (void *)w->data;
    return (void *)(w->data + w->bytes.counters);
}
