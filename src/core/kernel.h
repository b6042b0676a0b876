/*
 * A kernel: what was compiled, and what it takes to launch it. The facts and the code travel together, from the
 * tuner to the database and from there to a plan.
 */
#ifndef GT_KERNEL_H
#define GT_KERNEL_H

#include "facts.h"
#include "hash.h"
#include "params.h"
#include "problem.h"

#define GT_FAMILY_LENGTH 32
#define GT_CLASS_LENGTH  64
#define GT_REGISTERS_MOST 255 /* of a thread, on every GPU */
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
    int64_t align; /* that it was rendered for, where stored; 0: as the problem's */
} gt_kernel;

/* The kernel as it is launched with so many parts of K, a multiple of its cluster's; its facts must say any_split. */
void gt_kernel_split(gt_kernel *kernel, int64_t parts);

/* A persistent kernel as it is rendered for so many clusters of blocks; another stays as it is. */
void gt_kernel_deal(gt_kernel *kernel, int64_t clusters);

/* Whether two are one kernel: of the same code, and the same in all facts that tell kernels apart. */
bool gt_kernel_same(const gt_kernel *a, const gt_kernel *b);

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

/* The class that a kernel is rendered for, as the database has it: "f32 strict none nn 16", types, math, epilogue,
 * layout and alignment. Returns text. */
const char *gt_class_text(const gt_class *class, char text[GT_CLASS_LENGTH]);

/* The other direction; false for any other text. */
bool gt_class_parse(const char *text, gt_class *class);

/*
 * A hash over all that a launch depends on, so that damage to a stored kernel shows: the class it was rendered for,
 * what it was made of and for, its facts, and its code by the hashes of cubin and PTX, "" where there is none. A fact
 * that has its default is left out: one that a later format adds leaves the seals of before as they are.
 */
void gt_kernel_seal(const gt_kernel *kernel, const gt_class *class, const char *cubin_hash, const char *ptx_hash,
                    char seal[GT_HASH_LENGTH]);

#endif
