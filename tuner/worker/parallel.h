/* Work that some threads of the worker share. */
#ifndef GT_PARALLEL_H
#define GT_PARALLEL_H

#include <stddef.h>

/* Calls work for every index below count, from several threads where there are cores for them; returns when all is
 * done. */
void gt_parallel(size_t count, void (*work)(void *data, size_t index), void *data);

#endif
