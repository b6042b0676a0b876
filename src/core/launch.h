/*
 * From a kernel and a problem to a launch. The arguments of a launch are built here and nowhere else: execution,
 * verification, timing and profiling all launch through gt_launch_run.
 */
#ifndef GT_LAUNCH_H
#define GT_LAUNCH_H

#include "device.h"
#include "maps.h"
#include "module.h"

/* A host value of the accumulator's type, in a slot of eight bytes whatever the type. */
typedef union gt_scalar {
    float f32;
    int32_t s32;
    double f64;
    uint64_t bits;
} gt_scalar;

/* The scalar of a number, in the accumulator's type. */
gt_scalar gt_scalar_make(const gt_types *types, double value);

/*
 * The argument block that every kernel takes by value; kernel_templates/gemm.cuh has its other side. Stored kernels
 * outlive the library that made them, so fields are only ever added at the end: older kernels take the first 128 bytes,
 * or the whole block and read nothing but those and `batch`. `bias`, `apart` and `epilogue` stand where older libraries
 * write zero, so that what they launch has no epilogue.
 */
typedef struct gt_args {
    const void *a, *b;
    void *c;            /* where results go */
    void *workspace;    /* copies of operands; ws_tile bytes for each tile, or persistent block, and matrix */
    unsigned *counters; /* one for each block; zero before and after every launch */
    int64_t m, n, k;
    int64_t lda, ldb, ldc;
    int64_t stride_a, stride_b, stride_c;
    gt_scalar alpha, beta;

    int64_t reserved[3];
    const void *bias; /* of the epilogue */
    int64_t apart;    /* elements from `c` to the C that beta scales */
    uint32_t epilogue, reserved_half;
    int64_t reserved_too[2];
    int64_t batch; /* matrices of this launch */
} gt_args;

_Static_assert(sizeof(gt_args) == GT_ARGS_BYTES, "kernels expect this block");

typedef struct gt_launch {
    gt_problem problem;
    const gt_type_info *scalar; /* of alpha and beta */
    bool empty;                 /* no element of C: nothing to launch */
    unsigned grid[3];  /* tiles or persistent blocks; parts of K; matrices, or groups of `products` of them */
    unsigned products; /* matrices of one block */
    unsigned threads, smem_bytes, cluster[2];
    gt_copies copies; /* of operands, made first, in the workspace */
    bool dependent;  /* programmatic dependent launch */
    gt_maps maps;    /* passed before the argument block */
    size_t counter_bytes, workspace_bytes;
} gt_launch;

/* Where a launch's operands lie and what they are scaled by. a and b may be NULL if alpha is 0; c if beta is 0 and d is
 * given. An epilogue, or a d together with a beta, needs a kernel whose facts say `epilogue`. */
typedef struct gt_launch_operands {
    const void *a, *b;
    void *c;
    void *d; /* where results go; NULL: into c */
    gt_epilogue epilogue;
    const void *bias;
    gt_scalar alpha, beta;
    void *workspace;    /* workspace_bytes of it */
    unsigned *counters; /* counter_bytes, zero */
    bool serial;        /* not before the stream's earlier work is done, whatever the kernel's facts say */
} gt_launch_operands;

/* Counts the tiles of C, in whole clusters: those at the edge have tiles beyond it. false where there are too many, or the
 * kernel's facts are absurd. */
bool gt_launch_tiles(const gt_kernel *kernel, const gt_problem *problem, int64_t *tiles);

/* Works out grid, workspace and maps and, for a device that is not NULL, whether the launch had better wait for what the
 * stream ran before. GT_ERROR_INVALID if the kernel's facts are absurd, the grid is too large or a tensor map cannot describe
 * an operand. */
gt_status gt_launch_init(const gt_device *device, const gt_kernel *kernel, const gt_problem *problem, gt_launch *launch);

/* Counters and workspace in one piece of memory, aligned to 256 bytes: its size, and where both lie in it. */
size_t gt_launch_memory(const gt_launch *launch);
void gt_launch_place(const gt_launch *launch, void *memory, gt_launch_operands *operands);

/* Whether a launch reads A and B; where it does not, they may be any pointers. */
bool gt_launch_reads(const gt_launch *launch, const gt_scalar *alpha);

/* Enqueues the product. No allocation, no synchronisation. alpha = 0 never reads A or B, beta = 0 never reads C. */
CUresult gt_launch_run(const gt_driver *driver, const gt_module *module, const gt_launch *launch,
                       const gt_launch_operands *operands, CUstream stream);

#endif
