/* A kernel's code, loaded into a context. */
#ifndef GT_MODULE_H
#define GT_MODULE_H

#include "driver.h"
#include "kernel.h"

#define GT_ARGS_BYTES (25 * 8) /* of the whole argument block, which kernels with epilogues take */

/* Owned: gt_module_unload. */
typedef struct gt_module {
    CUlibrary library;
    CUfunction function, repack; /* the latter NULL where operands are taken as they are */
    int registers, spills; /* as the driver reports them */
} gt_module;

/* Loads code; the software GPU is given its PTX too. */
CUresult gt_code_load(const gt_driver *driver, const gt_code *code, CUlibrary *library);

/* Loads a kernel's code into the current context. GT_ERROR_CORRUPT if the cubin is not a whole one, or says of threads,
 * shared memory or cluster what the kernel's facts do not, or takes less than the parameters of a kernel with
 * epilogues; GT_ERROR_DRIVER. */
gt_status gt_module_load(const gt_driver *driver, const gt_kernel *kernel, const gt_code *code, gt_module *module);
void gt_module_unload(const gt_driver *driver, gt_module *module);

#endif
