/*
 * A kernel: what was compiled, and what it takes to launch it. The facts and the code travel together, from the
 * tuner to the database and from there to a plan.
 */
#ifndef GT_KERNEL_H
#define GT_KERNEL_H

#include "facts.h"
#include "hash.h"
#include "params.h"

#define GT_FAMILY_LENGTH 32
#define GT_ENTRY "gemm" /* every template's kernel has this name */
#define GT_REPACK_ENTRY "repack"

/* No pointers inside: a kernel can be copied and sent to a worker as it is. */
typedef struct gt_kernel {
    char family[GT_FAMILY_LENGTH];
    char source_hash[GT_HASH_LENGTH];
    char nvrtc[16]; /* compiler's version, "13.0" */
    char arch[16];  /* "sm_90a" */
    gt_params params;
    gt_facts facts;
    int registers, spills; /* per thread; bytes of local memory */
} gt_kernel;

/* A kernel's code. Owned: gt_code_finish. */
typedef struct gt_code {
    void *cubin;
    size_t cubin_bytes;
    char *ptx; /* may be NULL */
    size_t ptx_bytes;
} gt_code;

/* Frees what a code holds and clears it. */
void gt_code_finish(gt_code *code);

/* A deep copy. *copy: gt_code_finish. */
gt_status gt_code_copy(const gt_code *code, gt_code *copy);

#endif
