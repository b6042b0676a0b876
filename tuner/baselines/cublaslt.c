#include "cublaslt.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cublaslt_abi.h"
#include "../compile/cuda_library.h"

/* Every function that is called, as cublasLt<name>. */
#define FUNCTIONS(X)                                                                                         \
    X(Create, int, (void **handle))                                                                          \
    X(Destroy, int, (void *handle))                                                                          \
    X(GetVersion, size_t, (void))                                                                            \
    X(MatmulDescCreate, int, (void **operation, int compute, int scale))                                     \
    X(MatmulDescSetAttribute, int, (void *object, int attribute, const void *value, size_t bytes))           \
    X(MatmulDescDestroy, int, (void *object))                                                                \
    X(MatrixLayoutCreate, int, (void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld))       \
    X(MatrixLayoutSetAttribute, int, (void *object, int attribute, const void *value, size_t bytes))         \
    X(MatrixLayoutDestroy, int, (void *object))                                                              \
    X(MatmulPreferenceCreate, int, (void **preference))                                                      \
    X(MatmulPreferenceSetAttribute, int, (void *object, int attribute, const void *value, size_t bytes))     \
    X(MatmulPreferenceDestroy, int, (void *object))                                                          \
    X(MatmulAlgoGetHeuristic, int,                                                                           \
      (void *handle, void *operation, void *a, void *b, void *c, void *d, void *preference, int most,        \
       gt_lt_offer *offers, int *count))                                                                     \
    X(Matmul, int,                                                                                           \
      (void *handle, void *operation, const void *alpha, const void *a, void *layout_a, const void *b,       \
       void *layout_b, const void *beta, const void *c, void *layout_c, void *d, void *layout_d,             \
       const gt_lt_algorithm *algorithm, void *workspace, size_t workspace_bytes, CUstream stream))

/* What cuBLAS recommends for Hopper, and what plain cuBLAS is given. */
#define WORKSPACE_BYTES ((size_t)32 << 20)
#define MOST_OFFERS     128 /* more than it has ever given */

enum { LEFT, RIGHT, RESULT, LAYOUTS };

struct gt_cublaslt {
    gt_runner runner;
    const gt_driver *driver;
    CUstream stream;
    void *library, *handle;
#define X(name, result, arguments) result(*name) arguments;
    FUNCTIONS(X)
#undef X
    char version[16];
    CUdeviceptr workspace;
    void *operation, *layouts[LAYOUTS], *preference; /* of the prepared problem */
    gt_problem problem;
    gt_lt_offer offers[MOST_OFFERS];
    int count, chosen; /* count 0: no problem is prepared */
};

/* One stored matrix, column-major: what row-major C calls rows are its columns. */
static int describe_matrix(const gt_cublaslt *self, gt_operand operand, void **layout)
{
    const gt_stored o = gt_problem_stored(&self->problem, operand);
    const int batch = (int)self->problem.batch;
    int refused = self->MatrixLayoutCreate(layout, gt_type_find(o.type)->cublas, (uint64_t)o.columns, (uint64_t)o.rows,
                                           o.ld);
    if (refused == GT_LT_SUCCESS && batch > 1)
        refused = self->MatrixLayoutSetAttribute(*layout, GT_LT_BATCH, &batch, sizeof batch);
    if (refused == GT_LT_SUCCESS && batch > 1)
        refused = self->MatrixLayoutSetAttribute(*layout, GT_LT_STRIDE, &o.stride, sizeof o.stride);
    return refused;
}

/* Sums of 8-bit floats are promoted now and then, unless math allows them to be fast. Other types know no such choice,
 * nor do versions before 11.8, which lack these. */
static int describe_sums(const gt_cublaslt *self, const gt_types *types)
{
    const int8_t fast = types->math != GT_MATH_STRICT;
    if (types->exact || gt_type_find(types->a)->bytes > 1)
        return GT_LT_SUCCESS;
    return self->MatmulDescSetAttribute(self->operation, GT_LT_FAST_ACCUM, &fast, sizeof fast);
}

/* cuBLASLt is column-major: row-major C = A B is its C' = B' A', so B stands left and both keep their ops. Alignment is
 * left at its default, 256 bytes: that is how the operands lie, and it leaves the choice of all algorithms. */
static int describe(gt_cublaslt *self)
{
    const gt_problem *p = &self->problem;
    const int op_a = p->class.op_a == GT_T ? GT_LT_T : GT_LT_N, op_b = p->class.op_b == GT_T ? GT_LT_T : GT_LT_N;
    const gt_types *types = gt_class_types(&p->class);
    const int scale = gt_type_find(types->accumulator)->cublas;
    const uint64_t workspace = WORKSPACE_BYTES;
    int refused = self->MatmulDescCreate(&self->operation, types->cublas, scale);
    if (refused == GT_LT_SUCCESS)
        refused = self->MatmulDescSetAttribute(self->operation, GT_LT_TRANSPOSE_A, &op_b, sizeof op_b);
    if (refused == GT_LT_SUCCESS)
        refused = self->MatmulDescSetAttribute(self->operation, GT_LT_TRANSPOSE_B, &op_a, sizeof op_a);
    if (refused == GT_LT_SUCCESS)
        refused = describe_sums(self, types);
    if (refused == GT_LT_SUCCESS)
        refused = describe_matrix(self, GT_B, &self->layouts[LEFT]);
    if (refused == GT_LT_SUCCESS)
        refused = describe_matrix(self, GT_A, &self->layouts[RIGHT]);
    if (refused == GT_LT_SUCCESS)
        refused = describe_matrix(self, GT_C, &self->layouts[RESULT]);
    if (refused == GT_LT_SUCCESS)
        refused = self->MatmulPreferenceCreate(&self->preference);
    if (refused == GT_LT_SUCCESS)
        refused = self->MatmulPreferenceSetAttribute(self->preference, GT_LT_WORKSPACE, &workspace,
                                                     sizeof workspace);
    return refused;
}

static void forget(gt_cublaslt *self)
{
    if (self->operation)
        self->MatmulDescDestroy(self->operation);
    for (int i = 0; i < LAYOUTS; i++) {
        if (self->layouts[i])
            self->MatrixLayoutDestroy(self->layouts[i]);
        self->layouts[i] = NULL;
    }
    if (self->preference)
        self->MatmulPreferenceDestroy(self->preference);
    self->operation = self->preference = NULL;
    self->count = self->chosen = 0;
}

/* Those offers that can run, in their order. */
static int keep_good(gt_lt_offer *offers, int count)
{
    int kept = 0;
    for (int i = 0; i < count && i < MOST_OFFERS; i++)
        if (offers[i].state == GT_LT_SUCCESS && offers[i].workspace_bytes <= WORKSPACE_BYTES)
            offers[kept++] = offers[i];
    return kept;
}

static bool prepare(gt_runner *runner, const gt_problem *p, gt_trial *trial)
{
    gt_cublaslt *self = (gt_cublaslt *)runner;
    const gt_types *types = gt_class_types(&p->class);
    int found = 0;
    if (self->count > 0 && gt_problem_same(&self->problem, p))
        return true;
    forget(self);
    if (!types->cublas)
        return gt_trial_fail(trial, GT_TRIAL_LAUNCH_ERROR, "cuBLASLt has no %s", types->name);
    if (p->batch > INT32_MAX)
        return gt_trial_fail(trial, GT_TRIAL_LAUNCH_ERROR, "cuBLASLt takes batches up to 2^31");
    self->problem = *p;
    runner->plain = types->exact; /* whether it scales integers is not promised */
    int refused = describe(self);
    if (refused == GT_LT_SUCCESS)
        refused = self->MatmulAlgoGetHeuristic(self->handle, self->operation, self->layouts[LEFT], self->layouts[RIGHT],
                                               self->layouts[RESULT], self->layouts[RESULT], self->preference,
                                               MOST_OFFERS, self->offers, &found);
    if (refused != GT_LT_SUCCESS)
        return gt_trial_fail(trial, GT_TRIAL_LAUNCH_ERROR, "cuBLASLt does not take this problem: its status is %d",
                             refused);
    self->count = keep_good(self->offers, found);
    if (self->count == 0)
        return gt_trial_fail(trial, GT_TRIAL_LAUNCH_ERROR, "cuBLASLt has no algorithm for this problem");
    return true;
}

static CUresult launch(const gt_runner *runner, const gt_launch_operands *o)
{
    const gt_cublaslt *self = (const gt_cublaslt *)runner;
    const int status = self->Matmul(self->handle, self->operation, &o->alpha, o->b,
                                    self->layouts[LEFT], o->a, self->layouts[RIGHT], &o->beta,
                                    o->c, self->layouts[RESULT], o->c, self->layouts[RESULT],
                                    &self->offers[self->chosen].algorithm, (void *)self->workspace, WORKSPACE_BYTES,
                                    self->stream);
    return status == GT_LT_SUCCESS         ? CUDA_SUCCESS
           : status == GT_LT_NOT_SUPPORTED ? CUDA_ERROR_NOT_SUPPORTED
                                           : CUDA_ERROR_UNKNOWN;
}

static gt_status start(gt_cublaslt *self)
{
    if (!(self->library = gt_library_open("cublasLt")))
        return gt_fail(GT_ERROR_UNSUPPORTED,
                       "cuBLASLt was not found: not on the loader's path, in $CUDA_HOME nor in /usr/local/cuda");
#define X(name, result, arguments)                                                                           \
    if (!(self->name = (result(*) arguments)dlsym(self->library, "cublasLt" #name)))                         \
        return gt_fail(GT_ERROR_UNSUPPORTED, "cuBLASLt has no cublasLt" #name ", which version 11 has");
    FUNCTIONS(X)
#undef X
    if (self->driver->cuMemAlloc(&self->workspace, WORKSPACE_BYTES) != CUDA_SUCCESS) {
        self->workspace = 0;
        return gt_fail(GT_ERROR_UNSUPPORTED, "no device memory for cuBLASLt's workspace");
    }
    const int refused = self->Create(&self->handle);
    if (refused != GT_LT_SUCCESS) {
        self->handle = NULL;
        return gt_fail(GT_ERROR_UNSUPPORTED, "cuBLASLt does not start: its status is %d", refused);
    }
    const size_t version = self->GetVersion();
    snprintf(self->version, sizeof self->version, "%zu.%zu.%zu", version / 10000 % 1000, version / 100 % 100,
             version % 100);
    return GT_OK;
}

gt_status gt_cublaslt_open(const gt_driver *driver, CUstream stream, gt_cublaslt **out)
{
    gt_cublaslt *self = calloc(1, sizeof *self);
    if (!self)
        return gt_fail_memory();
    self->driver = driver;
    self->stream = stream;
    self->runner = (gt_runner){.prepare = prepare, .launch = launch};
    const gt_status status = start(self);
    if (status == GT_OK)
        *out = self;
    else
        gt_cublaslt_close(self);
    return status;
}

void gt_cublaslt_close(gt_cublaslt *self)
{
    if (!self)
        return;
    forget(self);
    if (self->handle)
        self->Destroy(self->handle);
    if (self->workspace)
        self->driver->cuMemFree(self->workspace);
    /* The library stays loaded: CUDA's runtime inside it does not survive dlclose. */
    free(self);
}

const char *gt_cublaslt_version(const gt_cublaslt *self)
{
    return self->version;
}

gt_runner *gt_cublaslt_runner(gt_cublaslt *self)
{
    return &self->runner;
}

int gt_cublaslt_offers(const gt_cublaslt *self)
{
    return self->count;
}

void gt_cublaslt_choose(gt_cublaslt *self, int index)
{
    self->chosen = index >= 0 && index < self->count ? index : 0;
}
