#include "accuracy.h"

#include <math.h>
#include <stdlib.h>

#include "../random.h"
#include "parallel.h"
#include "reference.h"

#define ROWS    64     /* rows that are examined, at most */
#define WORK    0x1p33 /* multiply-adds for all of them, at most */
#define COLUMNS 64     /* of the reference, that a thread has at a time */
#define PI      3.14159265358979323846

static const char *const names[] = {
    [GT_DATA_NORMAL] = "normal",
    [GT_DATA_UNIFORM] = "uniform in [0,1)",
    [GT_DATA_WIDE] = "normal, times 2^+-10",
    [GT_DATA_WIDEST] = "normal, times 2^+-40",
    [GT_DATA_CANCELLING] = "sums that cancel",
};
_Static_assert(sizeof names / sizeof names[0] == GT_DATA_KINDS, "every kind has its name");

const char *gt_data_name(gt_data_kind kind)
{
    return names[kind];
}

bool gt_accuracy_offered(const gt_types *types)
{
    return !types->exact && gt_type_find(types->a)->most > 0x1p100 && gt_type_find(types->b)->most > 0x1p100;
}

/* An operand while it is drawn. A line is a row of op(A) or a column of op(B). */
typedef struct drawn {
    const gt_type_info *type;
    gt_data_kind kind;
    bool is_b;
    uint64_t seed;
    int64_t lines, k, line_step, k_step, stride; /* of one matrix, in elements */
    void *data;
} drawn;

/* Uniform in [0,1), of as many bits as f32 has. */
static double uniform(uint64_t seed, uint64_t index)
{
    return (double)(gt_random_bits(seed, index) >> 40) * 0x1p-24;
}

static double normal(uint64_t seed, uint64_t index)
{
    const uint64_t bits = gt_random_bits(seed, index);
    const double radius = ((double)(bits >> 32) + 0.5) * 0x1p-32, angle = (double)(bits & 0xffffffffu) * 0x1p-32;
    return sqrt(-2 * log(radius)) * cos(2 * PI * angle);
}

/* Element l of a line. Each element has four numbers to draw. */
static double draw(const drawn *d, int64_t line, int64_t l)
{
    const int64_t half = d->k / 2;
    const bool again = d->kind == GT_DATA_CANCELLING && l >= half;
    const uint64_t own = 4 * (uint64_t)(line * d->k + l), index = again ? own - 4 * (uint64_t)half : own;
    switch (d->kind) {
    case GT_DATA_UNIFORM:
        return uniform(d->seed, index);
    case GT_DATA_WIDE:
        return normal(d->seed, index) * exp2(10 * (2 * uniform(d->seed, index + 1) - 1));
    case GT_DATA_WIDEST:
        return normal(d->seed, index) * exp2(40 * (2 * uniform(d->seed, index + 1) - 1));
    case GT_DATA_CANCELLING:
        if (l == 2 * half) /* of an odd number, alone */
            return 0;
        return normal(d->seed, index) * (again && d->is_b ? -(1 + 1e-5 * normal(d->seed, own + 2)) : 1);
    case GT_DATA_NORMAL:
        break;
    }
    return normal(d->seed, index);
}

/* One line of all matrices, counted through. */
static void draw_line(void *data, size_t index)
{
    const drawn *d = data;
    const int64_t line = (int64_t)index, at = line / d->lines * d->stride + line % d->lines * d->line_step;
    for (int64_t l = 0; l < d->k; l++)
        d->type->store(d->data, at + l * d->k_step, draw(d, line, l));
}

static bool draw_operand(const gt_problem *p, gt_operand operand, gt_data_kind kind, uint64_t seed, drawn *d)
{
    const gt_stored o = gt_problem_stored(p, operand);
    const bool is_b = operand == GT_B, along_k = is_b ? p->class.op_b == GT_T : p->class.op_a == GT_N;
    *d = (drawn){.type = gt_type_find(o.type),
                 .kind = kind,
                 .is_b = is_b,
                 .seed = gt_stream_seed(seed, is_b ? GT_STREAM_B : GT_STREAM_A),
                 .lines = is_b ? p->n : p->m,
                 .k = p->k,
                 .line_step = along_k ? o.ld : 1,
                 .k_step = along_k ? 1 : o.ld,
                 .stride = o.stride,
                 .data = calloc(gt_problem_bytes(p, operand) + 1, 1)};
    if (d->data)
        gt_parallel((size_t)(d->lines * p->batch), draw_line, d);
    return d->data != NULL;
}

/* The matrix and row of the index-th row that is examined: they are spread evenly from the first to the last. */
static int64_t matrix_of(const gt_accuracy_case *made, int64_t index)
{
    return index % made->buffers->problem.batch;
}
static int64_t row_of(const gt_accuracy_case *made, int64_t index)
{
    return made->rows > 1 ? index * (made->buffers->problem.m - 1) / (made->rows - 1) : 0;
}

typedef struct summing {
    const gt_accuracy_case *made;
    const drawn *a, *b;
} summing;

/* Some columns of all rows that are looked at. */
static void sum_columns(void *data, size_t index)
{
    const summing *s = data;
    const gt_accuracy_case *made = s->made;
    const gt_problem *p = &made->buffers->problem;
    const int64_t first = (int64_t)index * COLUMNS, count = p->n - first < COLUMNS ? p->n - first : COLUMNS;
    double b[COLUMNS];
    for (int64_t matrix = 0; matrix < p->batch && matrix < made->rows; matrix++)
        for (int64_t l = 0; l < p->k; l++) {
            for (int64_t j = 0; j < count; j++)
                b[j] = s->b->type->load(s->b->data,
                                        matrix * s->b->stride + (first + j) * s->b->line_step + l * s->b->k_step);
            for (int64_t i = matrix; i < made->rows; i += p->batch) {
                const double a = s->a->type->load(s->a->data, matrix * s->a->stride +
                                                                  row_of(made, i) * s->a->line_step + l * s->a->k_step);
                double *exact = made->exact + i * p->n + first, *magnitude = made->magnitude + i * p->n + first;
                for (int64_t j = 0; j < count; j++) {
                    exact[j] += a * b[j];
                    magnitude[j] += fabs(a * b[j]);
                }
            }
        }
}

static bool upload(const gt_buffers *b, const drawn *from_a, const drawn *from_b, gt_trial *trial)
{
    CUresult result = CUDA_SUCCESS;
    if (b->a.bytes > 0)
        result = b->driver->cuMemcpyHtoD(b->a.data, from_a->data, b->a.bytes);
    if (result == CUDA_SUCCESS && b->b.bytes > 0)
        result = b->driver->cuMemcpyHtoD(b->b.data, from_b->data, b->b.bytes);
    return gt_trial_check(trial, b->driver, result, "uploading data");
}

bool gt_accuracy_prepare(gt_buffers *buffers, const gt_problem *p, gt_data_kind kind, uint64_t seed,
                         gt_accuracy_case *made, gt_trial *trial)
{
    const double affordable = WORK / ((double)p->n * (double)p->k + 1);
    drawn a = {0}, b = {0};
    *made = (gt_accuracy_case){.buffers = buffers, .rows = p->m < ROWS ? p->m : ROWS};
    if (p->m == 0 || p->n == 0)
        return gt_trial_fail(trial, GT_TRIAL_LAUNCH_ERROR, "C is empty: there is nothing to run");
    if ((double)made->rows > affordable)
        made->rows = affordable < 1 ? 1 : (int64_t)affordable;
    if (!gt_buffers_place(buffers, p, trial))
        return false;
    made->exact = calloc((size_t)(made->rows * p->n) + 1, sizeof *made->exact);
    made->magnitude = calloc((size_t)(made->rows * p->n) + 1, sizeof *made->magnitude);
    bool good = made->exact && made->magnitude && draw_operand(p, GT_A, kind, seed, &a) &&
                draw_operand(p, GT_B, kind, seed, &b);
    if (!good)
        gt_trial_fail(trial, GT_TRIAL_OVER_RESOURCES, "out of memory for the problem's data");
    if (good && (good = upload(buffers, &a, &b, trial)))
        gt_parallel((size_t)((p->n + COLUMNS - 1) / COLUMNS), sum_columns, &(summing){made, &a, &b});
    free(a.data);
    free(b.data);
    return good;
}

/* Errors of what lies in C. */
static void compare(const gt_accuracy_case *made, const void *c, gt_accuracy *accuracy)
{
    const gt_problem *p = &made->buffers->problem;
    double squares = 0;
    for (int64_t at = 0; at < made->rows * p->n; at++) {
        const int64_t i = at / p->n;
        const double got = gt_reference_load(p->class.type_c, c,
                                             matrix_of(made, i) * p->stride_c + row_of(made, i) * p->ldc + at % p->n);
        const double error = fabs(got - made->exact[at]);
        const double relative = !isfinite(got) ? INFINITY : error > 0 ? error / made->magnitude[at] : 0;
        accuracy->largest = fmax(accuracy->largest, relative);
        squares += relative * relative;
    }
    accuracy->rms = sqrt(squares / (double)(made->rows * p->n));
}

void gt_accuracy_measure(const gt_accuracy_case *made, gt_runner *runner, gt_accuracy *accuracy)
{
    gt_buffers *b = made->buffers;
    const gt_types *types = gt_class_types(&b->problem.class);
    const gt_launch_operands operands = {
        .a = (void *)b->a.data,
        .b = (void *)b->b.data,
        .c = (void *)b->c.data,
        .alpha = gt_scalar_make(types, 1),
        .beta = gt_scalar_make(types, 0),
    };
    gt_trial *trial = &accuracy->trial;
    void *c = malloc(b->c.bytes + 1);
    accuracy->largest = accuracy->rms = 0;
    if (!c) {
        gt_trial_fail(trial, GT_TRIAL_OVER_RESOURCES, "out of memory for C");
        return;
    }
    if (runner->prepare(runner, &b->problem, trial)) {
        CUresult result = gt_buffers_reset_c(b, false, 0); /* what nobody writes is NaN */
        if (result == CUDA_SUCCESS)
            result = runner->launch(runner, &operands);
        if (result == CUDA_SUCCESS)
            result = b->driver->cuStreamSynchronize(b->stream);
        if (result == CUDA_SUCCESS)
            result = b->driver->cuMemcpyDtoH(c, b->c.data, b->c.bytes);
        if (gt_trial_check(trial, b->driver, result, "running it"))
            compare(made, c, accuracy);
    }
    free(c);
}

void gt_accuracy_finish(gt_accuracy_case *made)
{
    free(made->exact);
    free(made->magnitude);
    *made = (gt_accuracy_case){0};
}
