/*
 * Copies between pageable host memory and the GPU through pinned buffers, by several threads with buffers of their own: one
 * thread copies at a fifth of the speed of the link of an H200 (55 GB/s from pinned memory, 9 to 16 from pageable).
 */
#ifndef GT_STAGING_H
#define GT_STAGING_H

#include "../core/driver.h"

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

/* In a context, which is current; NULL where memory cannot be pinned. It is there until the process ends. */
gt_staging *gt_staging_create(const gt_driver *driver, CUcontext context, CUstream stream);

/* Enqueues the rows' way to the GPU; host memory may change once it returned. False on failure of CUDA's. */
bool gt_staging_upload(gt_staging *staging, const gt_staged *staged);

/* The way back, behind what is in the stream: done when it returns. On failure some rows may have been written. */
bool gt_staging_download(gt_staging *staging, const gt_staged *staged);

#endif
