/*
 * Workspaces of products that are captured into graphs. A graph runs whenever its program likes, so that its products
 * share a workspace with no others; and nothing may be allocated in a capture. So some are set aside while nothing is
 * captured, and one belongs to the first capture that asks. There the products of one stream run one behind the other and
 * share it. Its counters lie before it, are cleared once, and each product leaves them so. It is set aside again once the
 * graph is destroyed, and what was made ready or cloned of it; where the driver does not tell of that, never.
 */
#ifndef GT_GRAPH_WORKSPACE_H
#define GT_GRAPH_WORKSPACE_H

#include "../core/driver.h"

typedef struct gt_graph_bytes {
    size_t workspace, counters;
} gt_graph_bytes;

/* Sets `wanted` of so many bytes aside in the current context, by its id, or fewer where they would take more than `most`.
 * The device memory that takes, in bytes. Under a lock of the caller's, like the next one. */
size_t gt_graph_workspace_prepare(const gt_driver *driver, uint64_t context, gt_graph_bytes bytes, size_t wanted,
                                  size_t most);

/* The workspace of a captured stream: one that it has already, or one that was set aside, which is the capture's graph's from
 * then on; NULL if there is none of so many bytes. */
void *gt_graph_workspace_take(uint64_t context, uint64_t capture, uint64_t stream, CUgraph graph, gt_graph_bytes bytes,
                              void **counters);

#endif
