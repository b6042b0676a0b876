/* PTX as NVRTC writes it: from text to kernels that can run. */
#ifndef SG_PTX_H
#define SG_PTX_H

#include "../machine/memory.h"

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

/*
 * Parses and decodes a module. text need not end with a zero. cc is the device's compute capability (90). Global and
 * constant variables are placed into memory. On failure message has one line with the PTX line's number and the
 * mnemonic. *module is owned by the caller. Never crashes, whatever the text.
 */
sg_ptx_status sg_module_create(const char *text, size_t bytes, int cc, sg_memory *memory, sg_module **module,
                               char message[SG_MESSAGE_LENGTH]);
void sg_module_destroy(sg_module *module);

/* NULL if there is no entry of that name. Kernels live as long as their module. */
const sg_kernel *sg_module_kernel(const sg_module *module, const char *name);

/* Address and size of a global variable; false if there is none of that name. */
bool sg_module_variable(const sg_module *module, const char *name, uint64_t *address, uint64_t *bytes);

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

const sg_kernel_facts *sg_kernel_describe(const sg_kernel *kernel);

#endif
