/* Code that programs load: behind CUlibrary and CUmodule. */
#ifndef SG_LIBRARY_H
#define SG_LIBRARY_H

#include "state.h"

/* Options of the compiler, as the API takes them. */
typedef struct sg_jit {
    const CUjit_option *options;
    void **values;
    unsigned count;
} sg_jit;

/* kind: SG_LIBRARY or SG_MODULE; the handle stands for the new object until sg_library_free. On failure sg.report says
 * what is wrong with the code, and so does the log that the options ask for. */
CUresult sg_library_create(sg_kind kind, uint32_t owner, const void *code, const sg_jit *jit, void **handle);

/* The handle of a kernel, the same each time; CUDA_ERROR_NOT_FOUND. */
CUresult sg_library_function(sg_library *library, const char *name, CUkernel *out);

/* Where a global variable lies and how large it is; one of the two may be NULL. */
CUresult sg_library_variable(const sg_library *library, const char *name, CUdeviceptr *address, size_t *bytes);

#endif
