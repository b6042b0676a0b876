#include "cublas.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "../compile/cuda_library.h"

/* What is needed of cublas_v2.h, by hand: building must not ask for it. Values have been the same since cuBLAS 11. */
enum { SUCCESS = 0, NOT_SUPPORTED = 15, OP_N = 0, OP_T = 1 };
enum { MATH_DEFAULT = 0 }; /* no TF32 behind f32's back */
static const int algorithms[] = {[GT_CUBLAS_HEURISTIC] = -1, [GT_CUBLAS_AUTOTUNE] = 999}; /* cublasGemmAlgo_t */
_Static_assert(sizeof algorithms / sizeof algorithms[0] == GT_CUBLAS_CHOICES, "every choice has its algorithm");
#define AUTOTUNE_RELEASE 130000 /* 13.0.0, the first that has it */

typedef int create_fn(void **handle);
typedef int destroy_fn(void *handle);
typedef int get_version_fn(void *handle, int *version);
typedef int set_stream_fn(void *handle, CUstream stream);
typedef int set_workspace_fn(void *handle, void *workspace, size_t bytes);
typedef int set_math_fn(void *handle, int mode);
typedef int gemm_fn(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a,
                    int lda, const void *b, int type_b, int ldb, const void *beta, void *c, int type_c, int ldc,
                    int compute, int algorithm);
typedef int gemm_batched_fn(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a,
                            int type_a, int lda, long long stride_a, const void *b, int type_b, int ldb,
                            long long stride_b, const void *beta, void *c, int type_c, int ldc, long long stride_c,
                            int batch, int compute, int algorithm);

/* What cuBLAS recommends for Hopper. Given by us, so that nothing is allocated inside a capture. */
#define WORKSPACE_BYTES ((size_t)32 << 20)

/* One way to call it, ready for a problem. */
typedef struct caller {
    gt_runner runner;
    const gt_cublas *cublas;
    gt_cublas_choice choice;
    gt_problem problem;
} caller;

struct gt_cublas {
    caller callers[GT_CUBLAS_CHOICES];
    const gt_driver *driver;
    void *library, *handle;
    destroy_fn *destroy;
    gemm_fn *gemm;
    gemm_batched_fn *gemm_batched;
    int release;      /* 130100 */
    char version[16]; /* "13.1.0" */
    CUdeviceptr workspace;
};

static bool prepare(gt_runner *runner, const gt_problem *p, gt_trial *trial)
{
    caller *self = (caller *)runner;
    const int64_t sizes[] = {p->m, p->n, p->k, p->lda, p->ldb, p->ldc, p->batch};
    const gt_types *types = gt_class_types(&p->class);
    if (!types->cublas)
        return gt_trial_fail(trial, GT_TRIAL_LAUNCH_ERROR, "cuBLAS has no %s", types->name);
    if (gt_type_find(types->a)->bytes == 1 && !types->exact)
        return gt_trial_fail(trial, GT_TRIAL_LAUNCH_ERROR, "cuBLAS takes 8-bit floats through cuBLASLt only");
    if (self->choice == GT_CUBLAS_AUTOTUNE && self->cublas->release < AUTOTUNE_RELEASE)
        return gt_trial_fail(trial, GT_TRIAL_LAUNCH_ERROR, "cuBLAS %s has no autotuning", self->cublas->version);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i] > INT_MAX)
            return gt_trial_fail(trial, GT_TRIAL_LAUNCH_ERROR, "cuBLAS takes sizes up to 2^31");
    self->problem = *p;
    /* Whether it scales integers is not promised, nor that other scalars find what was tuned. */
    runner->plain = types->exact || self->choice == GT_CUBLAS_AUTOTUNE;
    return true;
}

/* cuBLAS is column-major: row-major C = A B is its C' = B' A', so the operands change places and keep their ops. */
static CUresult launch(const gt_runner *runner, const gt_launch_operands *o)
{
    const caller *self = (const caller *)runner;
    const gt_cublas *cublas = self->cublas;
    const gt_problem *p = &self->problem;
    const int op_a = p->class.op_a == GT_T ? OP_T : OP_N, op_b = p->class.op_b == GT_T ? OP_T : OP_N;
    const int algorithm = algorithms[self->choice];
    const gt_types *types = gt_class_types(&p->class);
    const int type_a = gt_type_find(types->a)->cublas, type_b = gt_type_find(types->b)->cublas,
              type_c = gt_type_find(types->c)->cublas;
    const void *a = o->a, *b = o->b;
    const int status = p->batch == 1
                           ? cublas->gemm(cublas->handle, op_b, op_a, (int)p->n, (int)p->m, (int)p->k, &o->alpha, b,
                                          type_b, (int)p->ldb, a, type_a, (int)p->lda, &o->beta, o->c, type_c,
                                          (int)p->ldc, types->cublas, algorithm)
                           : cublas->gemm_batched(cublas->handle, op_b, op_a, (int)p->n, (int)p->m, (int)p->k,
                                                  &o->alpha, b, type_b, (int)p->ldb, p->stride_b, a, type_a,
                                                  (int)p->lda, p->stride_a, &o->beta, o->c, type_c, (int)p->ldc,
                                                  p->stride_c, (int)p->batch, types->cublas, algorithm);
    return status == SUCCESS ? CUDA_SUCCESS : status == NOT_SUPPORTED ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_UNKNOWN;
}

gt_status gt_cublas_open(const gt_driver *driver, CUstream stream, gt_cublas **out)
{
    gt_cublas *self = calloc(1, sizeof *self);
    if (!self)
        return gt_fail_memory();
    self->driver = driver;
    for (int i = 0; i < GT_CUBLAS_CHOICES; i++)
        self->callers[i] = (caller){{.prepare = prepare, .launch = launch}, .cublas = self, .choice = (gt_cublas_choice)i};
    gt_status status = GT_ERROR_UNSUPPORTED;
    if (!(self->library = gt_library_open("cublas"))) {
        gt_fail(status, "cuBLAS was not found: not on the loader's path, in $CUDA_HOME nor in /usr/local/cuda");
        goto fail;
    }
    create_fn *const create = (create_fn *)dlsym(self->library, "cublasCreate_v2");
    get_version_fn *const get_version = (get_version_fn *)dlsym(self->library, "cublasGetVersion_v2");
    set_stream_fn *const set_stream = (set_stream_fn *)dlsym(self->library, "cublasSetStream_v2");
    set_workspace_fn *const set_workspace = (set_workspace_fn *)dlsym(self->library, "cublasSetWorkspace_v2");
    set_math_fn *const set_math = (set_math_fn *)dlsym(self->library, "cublasSetMathMode");
    self->destroy = (destroy_fn *)dlsym(self->library, "cublasDestroy_v2");
    self->gemm = (gemm_fn *)dlsym(self->library, "cublasGemmEx");
    self->gemm_batched = (gemm_batched_fn *)dlsym(self->library, "cublasGemmStridedBatchedEx");
    if (!create || !get_version || !set_stream || !set_workspace || !set_math || !self->destroy || !self->gemm ||
        !self->gemm_batched) {
        gt_fail(status, "cuBLAS lacks a function of version 11.2");
        goto fail;
    }
    if (driver->cuMemAlloc(&self->workspace, WORKSPACE_BYTES) != CUDA_SUCCESS) {
        self->workspace = 0;
        gt_fail(status, "no device memory for cuBLAS's workspace");
        goto fail;
    }
    /* The workspace after the stream: setting a stream goes back to cuBLAS's own. */
    int refused = create(&self->handle);
    if (refused == SUCCESS)
        refused = get_version(self->handle, &self->release);
    if (refused == SUCCESS)
        refused = set_stream(self->handle, stream);
    if (refused == SUCCESS)
        refused = set_workspace(self->handle, (void *)self->workspace, WORKSPACE_BYTES);
    if (refused == SUCCESS)
        refused = set_math(self->handle, MATH_DEFAULT);
    if (refused != SUCCESS) {
        gt_fail(status, "cuBLAS does not start: its status is %d", refused);
        goto fail;
    }
    snprintf(self->version, sizeof self->version, "%d.%d.%d", self->release / 10000, self->release / 100 % 100,
             self->release % 100);
    *out = self;
    return GT_OK;
fail:
    gt_cublas_close(self);
    return status;
}

void gt_cublas_close(gt_cublas *self)
{
    if (!self)
        return;
    if (self->handle)
        self->destroy(self->handle);
    if (self->workspace)
        self->driver->cuMemFree(self->workspace);
    /* The library stays loaded: CUDA's runtime inside it does not survive dlclose. */
    free(self);
}

const char *gt_cublas_version(const gt_cublas *self)
{
    return self->version;
}

gt_runner *gt_cublas_runner(gt_cublas *self, gt_cublas_choice choice)
{
    return &self->callers[choice].runner;
}
