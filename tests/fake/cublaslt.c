/*
 * A library with cuBLASLt's name and those of its functions that are called, which computes on the host: column-major,
 * as its descriptors say.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cublaslt.h"
#include "matrix.h"

#define EXPORT  __attribute__((visibility("default")))
#define INVALID 7 /* a status */

EXPORT fake_control fake_cublaslt = {.offers = 1, .last = -1, .fast = -1};

/* One object for all kinds of descriptors. */
typedef struct object {
    fake_matrix matrix;
    int compute, trans_a, trans_b;
    int8_t fast;
    uint64_t workspace;
} object;

static int make(void **out, object o)
{
    object *copy = malloc(sizeof *copy);
    if (!copy)
        return INVALID;
    *copy = o;
    *out = copy;
    fake_cublaslt.objects++;
    return 0;
}

#define DESTROY(name)                                                                                        \
    EXPORT int name(void *object_)                                                                           \
    {                                                                                                        \
        free(object_);                                                                                       \
        fake_cublaslt.objects--;                                                                             \
        return 0;                                                                                            \
    }
DESTROY(cublasLtDestroy)
DESTROY(cublasLtMatmulDescDestroy)
DESTROY(cublasLtMatrixLayoutDestroy)
DESTROY(cublasLtMatmulPreferenceDestroy)

static int set(void *to, size_t size, const void *value, size_t bytes)
{
    if (bytes != size)
        return INVALID;
    memcpy(to, value, bytes);
    return 0;
}

EXPORT int cublasLtCreate(void **handle)
{
    return make(handle, (object){0});
}

EXPORT size_t cublasLtGetVersion(void)
{
    return 130100;
}

EXPORT int cublasLtMatmulDescCreate(void **out, int compute, int scale)
{
    return scale == GT_LT_32F ? make(out, (object){.compute = compute}) : INVALID;
}

EXPORT int cublasLtMatmulDescSetAttribute(void *to, int attribute, const void *value, size_t bytes)
{
    object *o = to;
    const int refused = attribute == GT_LT_TRANSPOSE_A   ? set(&o->trans_a, sizeof o->trans_a, value, bytes)
                        : attribute == GT_LT_TRANSPOSE_B ? set(&o->trans_b, sizeof o->trans_b, value, bytes)
                        : attribute == GT_LT_FAST_ACCUM  ? set(&o->fast, sizeof o->fast, value, bytes)
                                                         : INVALID;
    if (attribute == GT_LT_FAST_ACCUM)
        fake_cublaslt.fast = o->fast;
    return refused;
}

EXPORT int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
    return make(out, (object){.matrix = {type, 1, (int64_t)rows, (int64_t)columns, ld, 0}});
}

EXPORT int cublasLtMatrixLayoutSetAttribute(void *to, int attribute, const void *value, size_t bytes)
{
    fake_matrix *m = &((object *)to)->matrix;
    return attribute == GT_LT_BATCH    ? set(&m->batch, sizeof m->batch, value, bytes)
           : attribute == GT_LT_STRIDE ? set(&m->stride, sizeof m->stride, value, bytes)
                                       : INVALID;
}

EXPORT int cublasLtMatmulPreferenceCreate(void **out)
{
    return make(out, (object){0});
}

EXPORT int cublasLtMatmulPreferenceSetAttribute(void *to, int attribute, const void *value, size_t bytes)
{
    object *o = to;
    return attribute == GT_LT_WORKSPACE ? set(&o->workspace, sizeof o->workspace, value, bytes) : INVALID;
}

static fake_ops ops(const object *op)
{
    return (fake_ops){op->trans_a == GT_LT_T, op->trans_b == GT_LT_T};
}

/* Whether the descriptors go together. */
static int fits(const object *op, const object *a, const object *b, const object *c)
{
    return fake_fits(ops(op), &a->matrix, &b->matrix, &c->matrix) && op->compute == GT_LT_COMPUTE_32F;
}

EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, void *op, void *a, void *b, void *c, void *d, void *preference,
                                          int most, gt_lt_offer *offers, int *count)
{
    const object *p = preference;
    if (!handle || c != d || !fits(op, a, b, c) || p->workspace == 0)
        return INVALID;
    *count = fake_cublaslt.offers < most ? fake_cublaslt.offers : most;
    memset(offers, 0, (size_t)*count * sizeof *offers);
    for (int i = 0; i < *count; i++) {
        offers[i].algorithm.opaque[7] = (uint64_t)i;
        offers[i].workspace_bytes = i == 2 ? p->workspace + 1 : p->workspace;
        offers[i].state = i == 1 ? GT_LT_NOT_SUPPORTED : 0;
    }
    return 0;
}

EXPORT int cublasLtMatmul(void *handle, void *operation, const void *alpha, const void *a, void *layout_a,
                          const void *b, void *layout_b, const void *beta, const void *c, void *layout_c, void *d,
                          void *layout_d, const gt_lt_algorithm *algorithm, void *workspace, size_t workspace_bytes,
                          void *stream)
{
    const object *op = operation, *la = layout_a, *lb = layout_b, *lc = layout_c;
    const int id = (int)algorithm->opaque[7];
    const float scale = *(const float *)alpha, keep = *(const float *)beta;
    (void)stream;
    if (!handle || c != d || layout_c != layout_d || !workspace || workspace_bytes == 0 || !fits(op, la, lb, lc))
        return INVALID;
    fake_cublaslt.ran |= 1 << id;
    fake_cublaslt.last = id;
    if (fake_cublaslt.refusing >> id & 1)
        return GT_LT_NOT_SUPPORTED;
    fake_multiply(ops(op), scale, &la->matrix, a, &lb->matrix, b, keep, &lc->matrix, d);
    if (fake_cublaslt.lying >> id & 1)
        *(float *)d += 1;
    if ((fake_cublaslt.wavering >> id & 1) && fake_cublaslt.runs++ % 2)
        *(uint32_t *)d ^= 1;
    return 0;
}
