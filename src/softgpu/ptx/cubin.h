/* What a cubin says about its kernels: the assembler's facts, which the PTX does not have. */
#ifndef SG_CUBIN_H
#define SG_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sass.h"

typedef struct sg_cubin_kernel {
    char *name;
    uint32_t registers;     /* a thread */
    uint32_t local_bytes;   /* a thread: its stack frame, spills among it */
    uint32_t static_shared; /* bytes, without what the system keeps of every block */
    uint32_t max_threads;   /* of .maxntid or .reqntid; 0: none */
    uint32_t cluster[3];    /* fixed in the source; 0: not */
    uint32_t max_cluster;   /* blocks; 0: none given */
    uint32_t barriers;
    sg_sass_loop loop;
    uint32_t constant_bytes; /* of the whole cubin's __constant__ variables */
} sg_cubin_kernel;

typedef struct sg_cubin {
    int cc;
    size_t count;
    sg_cubin_kernel *kernels;
} sg_cubin;

#define SG_CUBIN_HEADER 64 /* bytes of it that sg_cubin_size reads */

/* The bytes that a cubin has by its header, of which SG_CUBIN_HEADER bytes must be there; 0 if it is none. */
size_t sg_cubin_size(const void *header);

/* Reads the kernels' facts. False if it is no whole cubin or memory is out; never reads outside bytes. *cubin is owned
 * by the caller: sg_cubin_finish. */
bool sg_cubin_read(const void *data, size_t bytes, sg_cubin *cubin);
void sg_cubin_finish(sg_cubin *cubin);

/* NULL if there is none of that name. */
const sg_cubin_kernel *sg_cubin_find(const sg_cubin *cubin, const char *name);

#endif
