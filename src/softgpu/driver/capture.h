/* Graphs, and streams that are being captured into one. */
#ifndef SG_CAPTURE_H
#define SG_CAPTURE_H

#include "work.h"

/* A graph, and one made ready: work in the order in which it was given. One stream's capture has no other order. */
struct sg_graph {
    sg_work *works;
    CUgraphNode *nodes; /* handles; NULL until somebody asked */
    size_t count, capacity;
};

/* What stands behind a CUgraphNode. */
typedef struct sg_node {
    sg_graph *graph;
    size_t index;
} sg_node;

/* NULL is allowed. */
void sg_graph_free(sg_graph *graph);
sg_graph *sg_graph_copy(const sg_graph *graph);

/*
 * What may not be called while a stream is captured. Each spoils the captures that stand in its way: work in the
 * default stream spoils blocking streams' captures; what could allocate or wait for the device, all but relaxed ones,
 * unless the calling thread is relaxed; waiting for the whole context, all.
 */
CUresult sg_refuse_default(void);
CUresult sg_refuse_unsafe(void);
CUresult sg_refuse_any(void);

/* Which captures stand in the calling thread's way from now on; what it was before. Global at first. */
CUstreamCaptureMode sg_exchange_mode(CUstreamCaptureMode mode);

#endif
