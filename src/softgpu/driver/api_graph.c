/* Graphs: what was captured, made ready and launched. */
#include <stdlib.h>
#include <string.h>

#include "capture.h"

static CUresult instantiate(CUgraphExec *out, CUgraph handle, unsigned long long flags)
{
    const unsigned long long known =
        CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
        CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    const CUresult refused = sg_refuse_unsafe();
    const sg_graph *graph = sg_handle_find(SG_GRAPH, handle);
    if (refused != CUDA_SUCCESS)
        return refused;
    if (!out || !graph || graph->open || (flags & ~known))
        return CUDA_ERROR_INVALID_VALUE;
    sg_graph *copy = sg_graph_copy(graph);
    CUgraphExec ready = copy ? sg_handle_create(SG_GRAPH_EXEC, sg_current()->number, copy) : NULL;
    if (!ready) {
        sg_graph_free(copy);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = ready;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    if (result == CUDA_SUCCESS)
        result = instantiate(out, graph, flags);
    return sg_leave(result);
}

static CUresult launch(CUgraphExec handle, CUstream stream_handle)
{
    const sg_graph *graph = sg_handle_find(SG_GRAPH_EXEC, handle);
    sg_stream *stream = sg_stream_find(stream_handle);
    CUresult result = CUDA_SUCCESS;
    if (!graph)
        return CUDA_ERROR_INVALID_VALUE;
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capturing) {
        stream->invalidated = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (stream->is_default)
        result = sg_refuse_default();
    for (size_t i = 0; i < graph->count && result == CUDA_SUCCESS && sg.fault == CUDA_SUCCESS; i++)
        result = sg_work_run(&graph->works[i]);
    return result;
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec graph, CUstream stream)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    if (result == CUDA_SUCCESS)
        result = launch(graph, stream);
    return sg_leave(result);
}

static CUresult destroy(sg_kind kind, const void *handle)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    sg_graph *graph = result == CUDA_SUCCESS ? sg_handle_find(kind, handle) : NULL;
    if (result == CUDA_SUCCESS && (!graph || graph->open))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        sg_graph_free(sg_handle_destroy(kind, handle));
    return sg_leave(result);
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph)
{
    return destroy(SG_GRAPH, graph);
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec graph)
{
    return destroy(SG_GRAPH_EXEC, graph);
}

/* Handles of a graph's nodes, made when somebody asks. */
static bool name_nodes(sg_graph *graph)
{
    if (graph->nodes || graph->count == 0)
        return true;
    CUgraphNode *nodes = calloc(graph->count, sizeof *nodes);
    for (size_t i = 0; nodes && i < graph->count; i++) {
        sg_node *node = malloc(sizeof *node);
        if (node)
            *node = (sg_node){graph, i};
        if (!node || !(nodes[i] = sg_handle_create(SG_GRAPH_NODE, SG_NOBODY, node))) {
            free(node);
            while (i-- > 0)
                free(sg_handle_destroy(SG_GRAPH_NODE, nodes[i]));
            free(nodes);
            return false;
        }
    }
    graph->nodes = nodes;
    return nodes != NULL;
}

static CUresult get_nodes(sg_graph *graph, CUgraphNode *nodes, size_t *count)
{
    if (!graph || graph->open || !count)
        return CUDA_ERROR_INVALID_VALUE;
    if (!name_nodes(graph))
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; nodes && i < *count; i++)
        nodes[i] = i < graph->count ? graph->nodes[i] : NULL;
    if (!nodes || *count > graph->count)
        *count = graph->count;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    if (result == CUDA_SUCCESS)
        result = get_nodes(sg_handle_find(SG_GRAPH, graph), nodes, count);
    return sg_leave(result);
}

static const sg_work *find_node(CUgraphNode handle)
{
    const sg_node *node = sg_handle_find(SG_GRAPH_NODE, handle);
    return node ? &node->graph->works[node->index] : NULL;
}

CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    static const CUgraphNodeType types[SG_WORK_KINDS] = {[SG_WORK_LAUNCH] = CU_GRAPH_NODE_TYPE_KERNEL,
                                                         [SG_WORK_FILL] = CU_GRAPH_NODE_TYPE_MEMSET,
                                                         [SG_WORK_COPY] = CU_GRAPH_NODE_TYPE_MEMCPY};
    CUresult result = sg_enter(SG_NEEDS_WORK);
    const sg_work *work = result == CUDA_SUCCESS ? find_node(node) : NULL;
    if (result == CUDA_SUCCESS && (!work || !type))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *type = types[work->kind];
    return sg_leave(result);
}

CUresult CUDAAPI cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    const sg_work *work = result == CUDA_SUCCESS ? find_node(node) : NULL;
    if (result == CUDA_SUCCESS && (!params || !work || work->kind != SG_WORK_LAUNCH))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        const sg_launch *l = &work->launch;
        *params = (CUDA_KERNEL_NODE_PARAMS){
            .func = (CUfunction)l->kernel,
            .gridDimX = l->grid[0], .gridDimY = l->grid[1], .gridDimZ = l->grid[2],
            .blockDimX = l->block[0], .blockDimY = l->block[1], .blockDimZ = l->block[2],
            .sharedMemBytes = l->dynamic_shared, .kernelParams = l->param_pointers,
        };
    }
    return sg_leave(result);
}
