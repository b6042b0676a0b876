/* Which context, stream and capture of CUDA's a product is asked for in: by ids, for handles are used again. */
#ifndef GT_CUDA_STATE_H
#define GT_CUDA_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "../core/driver.h"

/* Before all below, by one thread; the first driver is asked, and stays open. */
void gt_cuda_state_begin(const gt_driver *driver);

/* The current context. False where there is none. */
bool gt_cuda_find_context(uint64_t *id);

/* A stream, or a thread's own where each thread has its own behind the handle; never 0. */
bool gt_cuda_find_stream(CUstream stream, uint64_t *id);

/* True also where that cannot be told: the default stream must not be asked while others are captured. */
bool gt_cuda_is_captured(CUstream stream);

/* The capture that a stream is in, the stream's number there, never 0, and the graph that comes of it. Nothing else is
 * asked of a captured stream, not its id either: what CUDA does not allow there ends the capture. Handles tell the streams
 * of one capture apart. */
bool gt_cuda_find_capture(CUstream stream, uint64_t *id, uint64_t *number, CUgraph *graph);

/* Has `ended` called once a graph, all that was made of it and their launches are done with, in a thread of CUDA's, where
 * nothing of CUDA may be called; never by a driver that has no user objects. */
void gt_cuda_watch_graph(CUgraph graph, CUhostFn ended, void *data);

/* Whether a thread may load and allocate while others capture their streams; *mode becomes what it was before. */
void gt_cuda_exchange_mode(CUstreamCaptureMode *mode);

#endif
