/* Brings tiles of a result back to host memory, on a thread of its own, while the next ones are computed. */
#ifndef GT_DRAIN_H
#define GT_DRAIN_H

#include "staging.h"

typedef struct gt_drain gt_drain;

/* In a context; NULL if there is no memory or no thread. It is there until the process ends. */
gt_drain *gt_drain_create(const gt_driver *driver, CUcontext context, gt_staging *staging);

/* Rows to bring back once an event has happened. Waits until at most one is under way. */
void gt_drain_put(gt_drain *drain, CUevent computed, const gt_staged *rows);

/* Waits until at most so many are under way. */
void gt_drain_wait(gt_drain *drain, size_t most);

/* Waits for all since the last time: whether all were brought back, and in *written whether any of them was begun. */
bool gt_drain_finish(gt_drain *drain, bool *written);

#endif
