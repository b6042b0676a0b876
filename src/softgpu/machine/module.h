/* Modules: PTX that was read, with its variables in device memory and its kernels ready to run. */
#ifndef SG_MODULE_H
#define SG_MODULE_H

#include "../ptx/ptx.h"
#include "memory.h"

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

const sg_kernel_facts *sg_kernel_describe(const sg_kernel *kernel);

#endif
