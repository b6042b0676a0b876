/*
 * A kernel: what was compiled, and what it takes to launch it. The facts and the code travel together, from the
 * tuner to the database and from there to a plan.
 */
#ifndef GT_KERNEL_H
#define GT_KERNEL_H

#include <stdbool.h>

#include "device.h"
#include "problem.h"

#define GT_HASH_LENGTH 65 /* SHA-256 in hexadecimal, and the end */
#define GT_FAMILY_LENGTH 32
#define GT_PARAMS_LENGTH 256
#define GT_ENTRY "gemm" /* every template's kernel has this name */
#define GT_REPACK_ENTRY "repack"

/* No pointers inside: a kernel's facts can be copied and sent to a worker as they are. */
typedef struct gt_kernel {
    char family[GT_FAMILY_LENGTH];
    char params[GT_PARAMS_LENGTH]; /* "bm=128 bn=256 bk=16": in the order of the space's columns */
    char source_hash[GT_HASH_LENGTH];
    char nvrtc[16]; /* compiler's version, "13.0" */
    char arch[16];  /* "sm_90a" */
    int tile_m, tile_n; /* elements of C that one block computes */
    int split_k;        /* blocks that share one tile, each a part of K */
    int threads, smem_bytes, cluster;
    int blocks;               /* a fixed number that share all tiles among them; 0: one for each tile */
    int repack;               /* another kernel of the same code first copies 1: A, 2: B, 3: both into the workspace */
    bool early;               /* it waits itself for the stream's earlier work: it may be launched before that is done */
    int64_t ws_tile;          /* workspace bytes for one tile of C, or for one of those blocks; 0: none */
    int registers, spills;    /* per thread; bytes of local memory */
    bool deterministic;
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

/* SHA-256 of some bytes, in hexadecimal. */
void gt_hash(const void *bytes, size_t count, char hash[GT_HASH_LENGTH]);

/* The integer value of one parameter in "bm=128 bn=256"; GT_ERROR_INVALID if it is not there. */
gt_status gt_params_get(const char *params, const char *name, int64_t *value);

#endif
