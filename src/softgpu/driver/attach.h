/* Which PTX belongs to which cubin. */
#ifndef SG_ATTACH_H
#define SG_ATTACH_H

#include <stdbool.h>
#include <stddef.h>

/* Keeps a copy of the PTX for a cubin, whose bytes are as many as its header says; what was attached to them before is
 * replaced, and the oldest of many forgotten. False if out of memory. */
bool sg_attach(const void *cubin, size_t cubin_bytes, const char *ptx, size_t ptx_bytes);

/* The PTX of a cubin whose header gives it so many bytes; NULL if none was attached. Valid until the next sg_attach.
 * Reads no more than the header where no cubin of that size is known. */
const char *sg_attached(const void *cubin, size_t cubin_bytes, size_t *ptx_bytes);

void sg_attach_finish(void);

#endif
