/*
 * One product with one kernel through the driver, and the proof that it is right. Elements are small whole numbers:
 * every order of sums then gives the same result, to the last bit, in every type; it is rounded once, to C's.
 */
#ifndef PRODUCT_FIXTURE_H
#define PRODUCT_FIXTURE_H

#include <math.h>

#include "../src/core/launch.h"
#include "../src/softgpu/softgpu.h"
#include "../tuner/worker/reference.h"
#include "check.h"

typedef struct product {
    int64_t m, n, k, batch;
    int alpha, beta;
    int64_t pad;  /* elements, at least, from the end of a row to the next one */
    bool guarded; /* NaN around and between the elements, which must stay; else memory of just the right size, of
                     which nobody has written more than the elements: to read beyond is a fault on the software GPU */
    gt_epilogue epilogue;
    bool beside; /* results go to a D of their own */
} product;

#define POISON 0xff /* every byte of a NaN, in any type of floating point */
#define GUARD  4096 /* bytes on each side */
#define MOST   3    /* of an element */

/* The bits of a small whole number in an element type: those that the reference reads as that number. */
static inline uint64_t product_bits(gt_type type, int value)
{
    const int bytes = gt_type_find(type)->bytes;
    const float f32 = (float)value;
    const double f64 = value;
    uint64_t bits = 0;
    if (bytes == 8) {
        memcpy(&bits, &f64, 8);
    } else if (bytes == 4) {
        memcpy(&bits, &f32, 4);
        if (gt_reference_load(type, &bits, 0) != value)
            bits = (uint32_t)value;
    } else {
        while (bits >> 8 * bytes == 0 && gt_reference_load(type, &bits, 0) != value)
            bits++;
    }
    if (gt_reference_load(type, &bits, 0) != value)
        check_fail(__FILE__, __LINE__, "no bits of %s are %d", gt_type_find(type)->name, value);
    return bits;
}

/* A stored operand. On the device: guard, matrices with their gaps, guard. */
typedef struct operand {
    gt_type type;
    size_t width;
    int64_t rows, columns, ld, stride, batch;
    size_t before, bytes, whole; /* of the guard; of the matrices; of all */
    int *values;                 /* of the elements, packed */
    uint8_t *image;              /* of all */
    CUdeviceptr base;
} operand;

/* Row and batch strides with a pad are odd multiples of the alignment: no kernel may count on more. */
static inline int64_t product_step(int64_t elements, int64_t unit, bool odd)
{
    const int64_t units = (elements + unit - 1) / unit;
    return ((odd || !units) ? units | 1 : units) * unit;
}

static inline operand product_operand(const product *p, gt_type type, int64_t rows, int64_t columns, int align)
{
    operand x = {.type = type, .width = (size_t)gt_type_find(type)->bytes, .rows = rows, .columns = columns,
                 .batch = p->batch};
    const int64_t unit = (size_t)align > x.width ? align / (int64_t)x.width : 1;
    x.ld = product_step(columns + p->pad, unit, p->pad > 0);
    x.stride = product_step(x.ld * rows, unit, p->pad > 0);
    if (rows && columns)
        x.bytes = (size_t)((x.batch - 1) * x.stride + (rows - 1) * x.ld + columns) * x.width;
    x.before = (p->guarded ? GUARD : 0) + (size_t)unit * x.width % 16; /* aligned as promised and no better */
    x.whole = x.before + x.bytes + (p->guarded ? GUARD : x.bytes ? 0 : 16);
    return x;
}

static inline size_t product_at(const operand *x, int64_t matrix, int64_t row, int64_t column)
{
    return x->before + (size_t)(matrix * x->stride + row * x->ld + column) * x->width;
}

/* Draws elements from -MOST to MOST and puts them on the device; content false leaves even them unwritten, or NaN. */
static inline void product_place(const gt_driver *driver, const product *p, bool content, operand *x)
{
    uint64_t bits[2 * MOST + 1];
    for (int i = -MOST; i <= MOST; i++)
        bits[i + MOST] = product_bits(x->type, i);
    int *value = x->values = calloc((size_t)(x->rows * x->columns * x->batch) + 1, sizeof *value);
    x->image = malloc(x->whole);
    CHECK(x->values && x->image && driver->cuMemAlloc(&x->base, x->whole) == CUDA_SUCCESS);
    memset(x->image, POISON, x->whole);
    for (int64_t b = 0; b < x->batch && x->columns; b++)
        for (int64_t i = 0; i < x->rows; i++) {
            const size_t row = product_at(x, b, i, 0);
            for (int64_t j = 0; j < x->columns; j++, value++) {
                const unsigned drawn = (unsigned)(check_random() % (2 * MOST + 1));
                *value = (int)drawn - MOST;
                if (content)
                    memcpy(x->image + row + (size_t)j * x->width, &bits[drawn], x->width);
            }
            const size_t bytes = (size_t)x->columns * x->width;
            if (content && !p->guarded)
                CHECK(driver->cuMemcpyHtoD(x->base + row, x->image + row, bytes) == CUDA_SUCCESS);
        }
    if (p->guarded)
        CHECK(driver->cuMemcpyHtoD(x->base, x->image, x->whole) == CUDA_SUCCESS);
}

static inline void product_release(const gt_driver *driver, operand *x)
{
    free(x->values);
    free(x->image);
    CHECK(driver->cuMemFree(x->base) == CUDA_SUCCESS);
}

/* Element (i, j) of one matrix's op. */
static inline int product_value(const operand *x, int64_t matrix, gt_op op, int64_t i, int64_t j)
{
    return x->values[matrix * x->rows * x->columns + (op == GT_N ? i * x->columns + j : j * x->columns + i)];
}

/* Whether an element is what it must be, rounded once; gelu is as near as its instructions bring it. */
static inline bool product_is(const product *p, const operand *c, const uint8_t *at, int64_t linear, double *expected)
{
    const double x = (double)(p->epilogue & GT_EPILOGUE_RELU && linear < 0 ? 0 : linear);
    const double result = gt_reference_load(c->type, at, 0);
    uint64_t rounded = 0;
    *expected = p->epilogue & GT_EPILOGUE_GELU ? x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) : x;
    gt_type_find(c->type)->store(&rounded, 0, *expected);
    if (p->epilogue & GT_EPILOGUE_GELU)
        return fabs(result - *expected) <=
               0x1p-19 * fabs(x) + 2 * fabs(gt_reference_load(c->type, &rounded, 0) - *expected);
    return memcmp(&rounded, at, c->width) == 0 || (result == 0 && x == 0);
}

/* Every result as it must be, in `d`, everything else as it was; `what` begins a failure's line. */
static inline void product_compare(const gt_driver *driver, const product *p, const gt_problem *q, const operand *a,
                                   const operand *b, const operand *c, const operand *bias, const operand *d,
                                   const char *what)
{
    uint8_t *found = malloc(d->whole);
    CHECK(found && driver->cuMemcpyDtoH(found, d->base, d->whole) == CUDA_SUCCESS);
    for (int64_t x = 0; x < p->batch; x++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                int64_t linear = p->beta ? p->beta * product_value(c, x, GT_N, i, j) : 0;
                double expected;
                linear += p->epilogue & GT_EPILOGUE_BIAS ? bias->values[j] : 0;
                for (int64_t s = 0; s < p->k && p->alpha; s++)
                    linear +=
                        p->alpha * product_value(a, x, q->class.op_a, i, s) * product_value(b, x, q->class.op_b, s, j);
                uint8_t *at = found + product_at(d, x, i, j);
                if (!product_is(p, d, at, linear, &expected))
                    check_fail(__FILE__, __LINE__, "%s: (%lld, %lld) of matrix %lld is %.9g, not %.9g", what,
                               (long long)i, (long long)j, (long long)x, gt_reference_load(d->type, at, 0), expected);
                memset(at, POISON, d->width);
            }
    for (size_t i = 0; p->guarded && i < d->whole; i++)
        if (found[i] != POISON)
            check_fail(__FILE__, __LINE__, "%s: a write %lld bytes into results, where no element is", what,
                       (long long)i - (long long)d->before);
    free(found);
    const operand *const inputs[] = {a, b, c};
    for (int i = 0; i < 2 + p->beside && p->guarded; i++) {
        CHECK(found = malloc(inputs[i]->whole));
        CHECK(driver->cuMemcpyDtoH(found, inputs[i]->base, inputs[i]->whole) == CUDA_SUCCESS);
        if (memcmp(found, inputs[i]->image, inputs[i]->whole) != 0)
            check_fail(__FILE__, __LINE__, "%s: %c or its surroundings changed", what, "ABC"[i]);
        free(found);
    }
}

static inline void product_fail(const gt_driver *driver, CUresult result, const char *what)
{
    char line[512] = "";
    const char *name = "an unknown error";
    driver->cuGetErrorName(result, &name);
    if (driver->soft)
        driver->soft->report(line, sizeof line);
    check_fail(__FILE__, __LINE__, "%s: %s %s", what, name, line);
}

/* Launches once: workspace unwritten, counters zero before and after. */
static inline void product_launch(const gt_driver *driver, const gt_module *module, const gt_launch *launch,
                                  const gt_launch_operands *given, const char *what)
{
    gt_launch_operands all = *given;
    CUdeviceptr counters = 0, workspace = 0;
    uint8_t *after = calloc(launch->counter_bytes + 1, 1);
    CHECK(after);
    if (launch->counter_bytes) {
        CHECK(driver->cuMemAlloc(&counters, launch->counter_bytes) == CUDA_SUCCESS);
        CHECK(driver->cuMemsetD8(counters, 0, launch->counter_bytes) == CUDA_SUCCESS);
    }
    if (launch->workspace_bytes)
        CHECK(driver->cuMemAlloc(&workspace, launch->workspace_bytes) == CUDA_SUCCESS);
    all.counters = (unsigned *)(uintptr_t)counters;
    all.workspace = (void *)(uintptr_t)workspace;
    CUresult result = gt_launch_run(driver, module, launch, &all, NULL);
    if (result == CUDA_SUCCESS)
        result = driver->cuCtxSynchronize();
    if (result != CUDA_SUCCESS)
        product_fail(driver, result, what);
    if (counters) {
        CHECK(driver->cuMemcpyDtoH(after, counters, launch->counter_bytes) == CUDA_SUCCESS);
        for (size_t i = 0; i < launch->counter_bytes; i++)
            if (after[i])
                check_fail(__FILE__, __LINE__, "%s: counters are not zero behind the launch", what);
        CHECK(driver->cuMemFree(counters) == CUDA_SUCCESS);
    }
    if (workspace)
        CHECK(driver->cuMemFree(workspace) == CUDA_SUCCESS);
    free(after);
}

/* `class` has types, layout and alignment. A and B are null where alpha is 0, not to be read where k is. */
static inline void product_run(const gt_driver *driver, const gt_module *module, const gt_kernel *kernel,
                               const gt_gemm *class, const product *p)
{
    const gt_type type_b = class->type_b ? class->type_b : class->type_ab;
    const gt_types *types = gt_types_find(class->type_ab, type_b, class->type_c, class->math);
    operand a = product_operand(p, class->type_ab, class->op_a == GT_N ? p->m : p->k,
                                class->op_a == GT_N ? p->k : p->m, class->align);
    operand b = product_operand(p, type_b, class->op_b == GT_N ? p->k : p->n,
                                class->op_b == GT_N ? p->n : p->k, class->align);
    operand c = product_operand(p, class->type_c, p->m, p->n, class->align), d = c;
    const product flat = {.batch = 1, .guarded = p->guarded};
    operand bias = product_operand(&flat, class->type_c, 1, p->n, 1);
    gt_gemm gemm = *class;
    gt_problem q;
    gt_launch launch;
    char name[GT_PROBLEM_NAME_LENGTH], params[GT_PARAMS_TEXT], what[2048];
    gemm.m = p->m, gemm.n = p->n, gemm.k = p->k, gemm.batch = p->batch;
    gemm.lda = a.ld, gemm.ldb = b.ld, gemm.ldc = c.ld;
    gemm.stride_a = a.stride, gemm.stride_b = b.stride, gemm.stride_c = c.stride;
    CHECK_OK(gt_problem_init(&gemm, &q));
    CHECK(q.class.align >= class->align);
    gt_problem_name(&q, name);
    snprintf(what, sizeof what, "%s %s for %s, %s ld %lld %lld %lld, alpha %d beta %d epilogue %d%s%s", kernel->family,
             gt_params_text(&kernel->params, params), kernel->arch, name, (long long)a.ld, (long long)b.ld,
             (long long)c.ld, p->alpha, p->beta, (int)p->epilogue, p->beside ? ", D beside C" : "",
             p->guarded ? ", guarded" : "");
    CHECK_OK(gt_launch_init(NULL, kernel, &q, &launch));
    product_place(driver, p, true, &a);
    product_place(driver, p, true, &b);
    product_place(driver, p, p->beta != 0, &c);
    product_place(driver, &flat, true, &bias);
    if (p->beside)
        product_place(driver, p, false, &d);
    const gt_launch_operands operands = {
        .a = p->alpha ? (const void *)(uintptr_t)(a.base + a.before) : NULL,
        .b = p->alpha ? (const void *)(uintptr_t)(b.base + b.before) : NULL,
        .c = (void *)(uintptr_t)(c.base + c.before),
        .d = p->beside ? (void *)(uintptr_t)(d.base + d.before) : NULL,
        .epilogue = p->epilogue, .bias = (const void *)(uintptr_t)(bias.base + bias.before),
        .alpha = gt_scalar_make(types, p->alpha), .beta = gt_scalar_make(types, p->beta),
    };
    product_launch(driver, module, &launch, &operands, what);
    product_compare(driver, p, &q, &a, &b, &c, &bias, p->beside ? &d : &c, what);
    if (p->beside)
        product_release(driver, &d);
    product_release(driver, &bias);
    product_release(driver, &a);
    product_release(driver, &b);
    product_release(driver, &c);
}

#endif
