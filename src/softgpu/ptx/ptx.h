/* What comes of reading PTX as NVRTC writes it: how it went, and what a kernel says of itself. */
#ifndef SG_PTX_H
#define SG_PTX_H

#include <stddef.h>
#include <stdint.h>

typedef struct sg_module sg_module;
typedef struct sg_kernel sg_kernel;

typedef enum sg_ptx_status {
    SG_PTX_OK = 0,
    SG_PTX_SYNTAX,      /* does not parse */
    SG_PTX_UNSUPPORTED, /* an instruction, type or directive that is not known: never skipped */
    SG_PTX_TARGET,      /* for a newer architecture than the device's, or a newer PTX version */
    SG_PTX_MEMORY,      /* out of host memory */
} sg_ptx_status;

#define SG_MESSAGE_LENGTH 512

/* What a launch must match. */
typedef struct sg_kernel_facts {
    const char *name;
    size_t param_count;
    const uint32_t *param_offsets, *param_bytes;
    uint32_t params_bytes;   /* the whole parameter block */
    uint32_t static_shared;  /* bytes of .shared variables of fixed size */
    uint32_t local_bytes;    /* of .local variables, a thread */
    uint32_t max_threads;    /* .maxntid product; 0: none */
    uint32_t min_blocks;     /* .minnctapersm; 0: none */
    uint32_t cluster[3];     /* .reqnctapercluster; 0: none */
} sg_kernel_facts;

#endif
