/* Work that some threads share. */
#ifndef GT_PARALLEL_H
#define GT_PARALLEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define GT_PARALLEL_THREADS 7 /* threads beside the caller's, at most; together no more than half of the cores */

typedef struct gt_parallel_work {
    void (*work)(void *data, size_t index);
    void *data;
    size_t count;
    atomic_size_t next;
    pthread_t threads[GT_PARALLEL_THREADS];
    int started;
} gt_parallel_work;

/* Calls work for every index below count, from several threads where there are cores for them; returns when all is
 * done. */
void gt_parallel(size_t count, void (*work)(void *data, size_t index), void *data);

/* The same in two parts, between which the caller does something else. *shared must stay where it is. */
void gt_parallel_begin(size_t count, void (*work)(void *data, size_t index), void *data, gt_parallel_work *shared);
void gt_parallel_end(gt_parallel_work *shared);

/* Ends it; indices that no thread has begun with are left out. */
void gt_parallel_drop(gt_parallel_work *shared);

#endif
