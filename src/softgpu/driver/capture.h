/* Graphs, and streams that are being captured into one. */
#ifndef SG_CAPTURE_H
#define SG_CAPTURE_H

#include "work.h"

/* What stands behind a CUuserObject. Programs and graphs hold `count` references; with the last one it ends. */
typedef struct sg_user {
    CUuserObject handle;
    void *data;
    CUhostFn destroy; /* called under the driver's lock: it may not call CUDA */
    unsigned count;
} sg_user;

typedef struct sg_hold {
    sg_user *user;
    unsigned count;
} sg_hold;

/* A graph, and one made ready: work in the order in which it was given. One stream's capture has no other order. */
struct sg_graph {
    CUgraph handle; /* NULL while nobody knows it */
    bool open;      /* a stream is being captured into it */
    sg_work *works;
    CUgraphNode *nodes; /* handles; NULL until somebody asked */
    size_t count, capacity;
    sg_hold *holds;
    size_t hold_count;
};

/* What stands behind a CUgraphNode. */
typedef struct sg_node {
    sg_graph *graph;
    size_t index;
} sg_node;

/* NULL is allowed. */
void sg_graph_free(sg_graph *graph);
sg_graph *sg_graph_copy(const sg_graph *graph);

/* The graph's handle, made with the first question; NULL if out of memory. */
CUgraph sg_graph_name(sg_graph *graph);

/* Makes so many of an object's references the graph's. False if out of memory. */
bool sg_graph_hold(sg_graph *graph, sg_user *user, unsigned count);
void sg_user_release(sg_user *user, unsigned count);

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
