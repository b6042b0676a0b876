/* Device memory with guards: poison before and behind, so that what strays outside is seen. */
#ifndef GT_GUARDED_H
#define GT_GUARDED_H

#include "checks.h"

/* 4096 elements of four bytes on each side. */
#define GT_GUARD_BYTES ((size_t)16384)

typedef struct gt_guarded {
    CUdeviceptr base; /* the allocation; 0: none yet */
    size_t capacity;  /* its bytes */
    CUdeviceptr data; /* what a kernel is given: data + bytes is exactly where the guard behind begins */
    size_t bytes;
} gt_guarded;

/* Device bytes that a buffer of `bytes` takes. */
size_t gt_guarded_size(size_t bytes);

/* Makes room for bytes at 256-byte alignment, and poisons it all, guards and inside. Memory once taken
 * is kept while it is large enough. */
CUresult gt_guarded_place(const gt_driver *driver, CUstream stream, gt_guarded *guarded, size_t bytes);

/* *counter += bytes of the guards that changed. */
CUresult gt_guarded_count(const gt_checks *checks, const gt_guarded *guarded, CUdeviceptr counter);

/* On the software GPU: takes the guards away from kernels, or gives them back. A kernel that reads them is seen, too. */
void gt_guarded_protect(const gt_driver *driver, const gt_guarded *guarded, bool on);

void gt_guarded_free(const gt_driver *driver, gt_guarded *guarded);

#endif
