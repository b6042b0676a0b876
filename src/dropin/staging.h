/*
 * Copies between pageable host memory and the GPU through pinned buffers, by several threads with buffers of their own: one
 * thread copies at a fifth of the speed of the link of an H200 (55 GB/s from pinned memory, 9 to 16 from pageable).
 */
#ifndef GT_STAGING_H
#define GT_STAGING_H

#include "../core/driver.h"

/* One direction. Its functions are for one thread at a time. */
typedef struct gt_staging gt_staging;

#define GT_STAGING_LINE ((size_t)1 << 20)

/* Rows in host memory, and the same rows on the GPU. */
typedef struct gt_staged {
    char *host;
    CUdeviceptr device;
    size_t rows, row_bytes;
    size_t host_pitch, pitch; /* bytes from one row to the next, there and here; no less than row_bytes, and pitch no
                                 more than GT_STAGING_LINE */
} gt_staged;

/* To the GPU, or back, in a stream of a context, which is current; NULL where memory cannot be pinned. It is there until the
 * process ends. */
gt_staging *gt_staging_create(const gt_driver *driver, CUcontext context, CUstream stream, bool up);

/* Begins to copy rows, behind what is in the stream, and says which ticket they have. On the way to the GPU `arrived` is
 * recorded behind the last of them, before their ticket is done. */
size_t gt_staging_put(gt_staging *staging, const gt_staged *staged, CUevent arrived);

/* Waits, and helps, until the rows of a ticket are done: on their way to the GPU read and enqueued, on their way back
 * written. False if CUDA failed since the last gt_staging_finish. */
bool gt_staging_wait(gt_staging *staging, size_t ticket);

/* Waits for all tickets: whether CUDA copied all that was put since the last time. */
bool gt_staging_finish(gt_staging *staging);

#endif
