/*
 * Workspaces of products that are captured into graphs. A graph runs whenever its program likes, so that its products
 * share a workspace with no others; and nothing may be allocated in a capture. So some are set aside while nothing is
 * captured, and one belongs to the first capture that asks. There the products of one stream run one behind the other and
 * share it. Its counters lie before it, are cleared once, and each product leaves them so. It is set aside again once the
 * graph is destroyed, and what was made ready or cloned of it; where the driver does not tell of that, never. A node whose
 * arguments a program copies into another graph does not count.
 */
#ifndef GT_GRAPH_WORKSPACE_H
#define GT_GRAPH_WORKSPACE_H

#include <stdatomic.h>

#include "../core/driver.h"

#define GT_GRAPH_WORKSPACES 256

typedef struct gt_graph_bytes {
    size_t workspace, counters;
} gt_graph_bytes;

typedef struct gt_graph_workspace {
    uint64_t capture, stream; /* that it belongs to; 0: none yet */
    CUdeviceptr data;         /* counters, then the workspace */
    gt_graph_bytes bytes;
} gt_graph_workspace;

/* Those of a CUDA context; all zero at first. What is called with them is under a lock of the caller's. */
typedef struct gt_graph_workspaces {
    gt_graph_workspace list[GT_GRAPH_WORKSPACES];
    atomic_bool ended[GT_GRAPH_WORKSPACES]; /* the graph that it belongs to: set without the lock, by CUDA */
    size_t count;
} gt_graph_workspaces;

/* Sets `wanted` of so many bytes aside in the current context, or fewer where they would take more than `most`. The device
 * memory that takes, in bytes. */
size_t gt_graph_workspace_prepare(gt_graph_workspaces *workspaces, const gt_driver *driver, gt_graph_bytes bytes,
                                  size_t wanted, size_t most);

/* The workspace of a captured stream: one that it has already, or one that was set aside, which is the capture's graph's from
 * then on; NULL if there is none of so many bytes. */
void *gt_graph_workspace_take(gt_graph_workspaces *workspaces, uint64_t capture, uint64_t stream, CUgraph graph,
                              gt_graph_bytes bytes, void **counters);

#endif
