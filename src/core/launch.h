/* From a kernel and a problem to a launch: grid, workspace, arguments. */
#ifndef GT_LAUNCH_H
#define GT_LAUNCH_H

#include "kernel.h"

/* A host value of the accumulator's type, in a slot of eight bytes whatever the type. */
typedef union gt_scalar {
    float f32;
    int32_t s32;
    double f64;
    uint64_t bits;
} gt_scalar;

/* The scalar of a number, in the accumulator's type. */
gt_scalar gt_scalar_make(const gt_types *types, double value);

/* The argument block that every kernel takes by value. kernel_templates/gemm.cuh has its other side. */
typedef struct gt_args {
    const void *a, *b;
    void *c;
    void *workspace;    /* ws_tile bytes for each tile (or block, where their number is fixed) and matrix of the batch */
    unsigned *counters; /* one for each block; zero before and after every launch */
    int64_t m, n, k;
    int64_t lda, ldb, ldc;
    int64_t stride_a, stride_b, stride_c;
    gt_scalar alpha, beta;
} gt_args;

_Static_assert(sizeof(gt_args) == 16 * 8, "kernels expect this block");

typedef struct gt_launch {
    bool empty; /* no element of C: nothing to launch */
    unsigned grid[3]; /* tiles or blocks that share them, parts of K, matrices */
    unsigned threads, smem_bytes, cluster;
    int64_t batch; /* matrices in all; more than grid[2] are launched in turns */
    unsigned repack; /* blocks that first copy operands to the workspace's beginning; 0: none */
    bool early;      /* see gt_kernel */
    size_t counter_bytes, workspace_bytes;
} gt_launch;

/* A loaded kernel. Owned: gt_module_unload. */
typedef struct gt_module {
    CUlibrary library;
    CUfunction function, repack; /* the latter NULL where operands are taken as they are */
    int registers, spills; /* as the driver reports them */
} gt_module;

/* Works out grid and workspace. GT_ERROR_INVALID if the kernel's facts are absurd or the grid is too large. */
gt_status gt_launch_init(const gt_kernel *kernel, const gt_problem *problem, gt_launch *launch);

/* The constant part of the arguments: sizes, leading dimensions, strides. */
void gt_args_init(const gt_problem *problem, gt_args *args);

/* Puts alpha and beta in place, widened to their slots. alpha = 0 makes k zero: A and B are then never read. */
void gt_args_scale(gt_args *args, const gt_types *types, int64_t k, const void *alpha, const void *beta);

/* Loads code; the software GPU is given its PTX too. */
CUresult gt_code_load(const gt_driver *driver, const gt_code *code, CUlibrary *library);

/* Loads code into the current context. */
gt_status gt_module_load(const gt_driver *driver, const gt_kernel *kernel, const gt_code *code, gt_module *module);
void gt_module_unload(const gt_driver *driver, gt_module *module);

/* Enqueues the kernel. No allocation, no synchronisation. */
CUresult gt_launch_run(const gt_driver *driver, const gt_module *module, const gt_launch *launch,
                       const gt_problem *problem, const gt_args *args, CUstream stream);

#endif
