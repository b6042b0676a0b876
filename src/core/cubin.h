/* A cubin's outside: an ELF file that a driver reads as far as its tables say, without being told how long it is. */
#ifndef GT_CUBIN_H
#define GT_CUBIN_H

#include "status.h"

/* Whether the bytes are a whole 64-bit ELF file: its tables, and all sections and segments, lie inside them.
 * GT_ERROR_CORRUPT with what does not. */
gt_status gt_cubin_check(const void *cubin, size_t bytes);

/* The threads of a block that a kernel of a whole cubin insists on (.reqntid); 0: it takes any number. */
int64_t gt_cubin_required_threads(const void *cubin, size_t bytes, const char *kernel);

/* Bytes of all parameters of a kernel of a whole cubin; 0: it does not say. */
int64_t gt_cubin_parameter_bytes(const void *cubin, size_t bytes, const char *kernel);

#endif
