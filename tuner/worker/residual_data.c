/* What residuals are held to: operands, random vectors and places, and what is right for them. */
#include "residual_data.h"

#include <math.h>
#include <stdlib.h>

#include "../random.h"

#define SAMPLES      1280 /* corners, last row, last column, and over a thousand anywhere */
#define EDGE_SAMPLES 64

void gt_residual_init(const gt_checks *checks, gt_buffers *buffers, gt_residual *residual)
{
    *residual = (gt_residual){.checks = checks, .buffers = buffers};
}

void gt_residual_clear(gt_residual *r)
{
    for (int i = 0; i < GT_RESIDUAL_PRODUCTS; i++) {
        for (int side = 0; side < 2; side++) {
            gt_residual_side *s = &r->products[i].sides[side];
            free(s->product);
            free(s->square);
            free(s->c);
            free(s->c_square);
        }
        free(r->products[i].samples);
        free(r->products[i].samples_c);
        r->products[i] = (gt_residual_product){0};
    }
    free(r->places);
    free(r->scratch);
    free(r->bias);
    if (r->device)
        r->checks->driver->cuMemFree(r->device);
    gt_residual_init(r->checks, r->buffers, r);
}

void gt_residual_spoilt(gt_residual *residual)
{
    residual->ready = false;
}

static double *doubles(int64_t count)
{
    return malloc((size_t)(count + 1) * sizeof(double));
}

/* Host and device memory for a problem's references. */
static bool allocate(gt_residual *r, const gt_problem *p, gt_trial *trial)
{
    const int64_t longest = p->m > p->n ? p->m : p->n;
    const int64_t picked[] = {0, p->batch / 2, p->batch - 1};
    bool have = true;
    r->count = p->batch >= 3 ? 3 : (int)p->batch;
    r->sample_count = p->m > 0 && p->n > 0 ? SAMPLES : 0;
    for (int i = 0; i < r->count; i++) {
        gt_residual_product *product = &r->products[i];
        product->index = p->batch >= 3 ? picked[i] : i;
        for (int side = 0; side < 2; side++) {
            gt_residual_side *s = &product->sides[side];
            s->length = side == GT_ROWS ? p->m : p->n;
            s->product = doubles(s->length);
            s->square = doubles(s->length);
            s->c = doubles(s->length);
            s->c_square = doubles(s->length);
            have = have && s->product && s->square && s->c && s->c_square;
        }
        product->samples = doubles(3 * SAMPLES);
        product->samples_c = doubles(SAMPLES);
        have = have && product->samples && product->samples_c;
    }
    r->places = malloc(2 * SAMPLES * sizeof *r->places);
    r->scratch = doubles(longest > SAMPLES ? longest : SAMPLES);
    r->bias = doubles(p->n);
    if (!have || !r->places || !r->scratch || !r->bias)
        return gt_trial_fail(trial, GT_TRIAL_NOT_TRIED, "out of memory for the problem's references");

    const struct {
        CUdeviceptr *vector;
        int64_t length;
    } vectors[] = {
        {&r->vectors[GT_ROWS], p->n},
        {&r->vectors[GT_COLUMNS], p->m},
        {&r->between, p->k},
        {&r->result, longest},
        {&r->places_device, 2 * SAMPLES},
        {&r->samples_device, 3 * SAMPLES},
        {&r->found, 2},
        {&r->bias_device, p->n},
    };
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        bytes += ((size_t)vectors[i].length + 1) * sizeof(double);
    if (!gt_trial_check(trial, r->checks->driver, r->checks->driver->cuMemAlloc(&r->device, bytes),
                        "making room for the residuals")) {
        r->device = 0;
        return false;
    }
    CUdeviceptr at = r->device;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        *vectors[i].vector = at;
        at += ((CUdeviceptr)vectors[i].length + 1) * sizeof(double);
    }
    return true;
}

/* Corners, the last row and column, where tails are, and anywhere. */
static void choose_places(gt_residual *r, const gt_problem *p)
{
    const uint64_t seed = gt_stream_seed(r->seed, GT_STREAM_PLACES);
    for (int64_t at = 0; at < r->sample_count; at++) {
        int64_t *place = &r->places[2 * at];
        place[0] = (int64_t)(gt_random_bits(seed, 2 * (uint64_t)at) % (uint64_t)p->m);
        place[1] = (int64_t)(gt_random_bits(seed, 2 * (uint64_t)at + 1) % (uint64_t)p->n);
        if (at < 4) {
            place[0] = at / 2 ? p->m - 1 : 0;
            place[1] = at % 2 ? p->n - 1 : 0;
        } else if (at < 4 + EDGE_SAMPLES) {
            place[0] = p->m - 1;
        } else if (at < 4 + 2 * EDGE_SAMPLES) {
            place[1] = p->n - 1;
        }
    }
}

/* An element of a random vector. */
static double sign_at(const gt_residual *r, int stream, int64_t index)
{
    return gt_random_bits(gt_stream_seed(r->seed, stream), (uint64_t)index) >> 63 ? -1 : 1;
}

static CUresult upload_signs(gt_residual *r, CUdeviceptr out, int64_t length, int stream)
{
    for (int64_t i = 0; i < length; i++)
        r->scratch[i] = sign_at(r, stream, i);
    if (length == 0)
        return CUDA_SUCCESS;
    return r->checks->driver->cuMemcpyHtoD(out, r->scratch, (size_t)length * sizeof(double));
}

/* A bias of the size of results, on the device, and what residuals have of it. The vectors are made again. */
static CUresult upload_bias(gt_residual *r, const gt_problem *p)
{
    const gt_types *types = gt_class_types(&p->class);
    const gt_type_info *type = gt_type_find(p->class.type_c);
    const double size = types->exact ? 1000 : sqrt((double)(p->k + 1));
    r->bias_row = r->bias_columns = r->bias_square = 0;
    for (int64_t j = 0; j < p->n; j++) {
        const uint64_t bits = gt_random_bits(gt_stream_seed(r->seed, GT_STREAM_BIAS), (uint64_t)j);
        const double drawn = size * ((double)(bits >> 11) * 0x1p-52 - 1);
        type->store(r->scratch, j, types->exact ? rint(drawn) : drawn);
        r->bias[j] = type->load(r->scratch, j);
        r->bias_row += sign_at(r, GT_STREAM_X, j) * r->bias[j];
        r->bias_square += r->bias[j] * r->bias[j];
    }
    for (int64_t i = 0; i < p->m; i++)
        r->bias_columns += sign_at(r, GT_STREAM_Y, i);
    if (p->n == 0)
        return CUDA_SUCCESS;
    return r->checks->driver->cuMemcpyHtoD(r->bias_device, r->scratch, (size_t)(p->n * type->bytes));
}

/* What lies in `from` on the device, in `to` on the host. */
static CUresult fetch(const gt_residual *r, CUdeviceptr from, int64_t length, double *to)
{
    if (length == 0)
        return CUDA_SUCCESS;
    return r->checks->driver->cuMemcpyDtoH(to, from, (size_t)length * sizeof(double));
}

/* One side of op(A) op(B) applied to a vector (0: ones): for rows A (B x), for columns (y' A) B. */
static CUresult apply_product(const gt_residual *r, int64_t index, int side, bool squares, CUdeviceptr vector,
                              double *out)
{
    const gt_problem *p = &r->buffers->problem;
    const gt_matrix a = gt_matrix_of(p, GT_A, r->buffers->a.data, index);
    const gt_matrix b = gt_matrix_of(p, GT_B, r->buffers->b.data, index);
    const bool flip = side == GT_COLUMNS;
    const gt_matrix *first = flip ? &a : &b, *second = flip ? &b : &a;
    const bool first_t = (flip ? p->class.op_a : p->class.op_b) == GT_T,
               second_t = (flip ? p->class.op_b : p->class.op_a) == GT_T;
    CUresult result = gt_checks_multiply(r->checks, first, first_t != flip, squares, vector, r->between);
    if (result == CUDA_SUCCESS)
        result = gt_checks_multiply(r->checks, second, second_t != flip, squares, r->between, r->result);
    return result != CUDA_SUCCESS ? result : fetch(r, r->result, flip ? p->n : p->m, out);
}

CUresult gt_residual_apply_c(const gt_residual *r, int64_t index, int side, bool squares, CUdeviceptr vector,
                             double *out)
{
    const gt_problem *p = &r->buffers->problem;
    const gt_matrix c = gt_matrix_of(p, GT_C, r->buffers->c.data, index);
    CUresult result = gt_checks_multiply(r->checks, &c, side == GT_COLUMNS, squares, vector, r->result);
    return result != CUDA_SUCCESS ? result : fetch(r, r->result, side == GT_COLUMNS ? p->n : p->m, out);
}

CUresult gt_residual_gather(const gt_residual *r, int64_t index, double *out)
{
    const gt_matrix c = gt_matrix_of(&r->buffers->problem, GT_C, r->buffers->c.data, index);
    CUresult result = gt_checks_gather(r->checks, &c, r->places_device, r->sample_count, r->samples_device);
    return result != CUDA_SUCCESS ? result : fetch(r, r->samples_device, r->sample_count, out);
}

static CUresult refer(gt_residual *r, gt_residual_product *product)
{
    const int64_t index = product->index;
    CUresult result = CUDA_SUCCESS;
    for (int side = 0; side < 2 && result == CUDA_SUCCESS; side++) {
        gt_residual_side *s = &product->sides[side];
        const CUdeviceptr vector = r->vectors[side];
        if ((result = apply_product(r, index, side, false, vector, s->product)) == CUDA_SUCCESS &&
            (result = apply_product(r, index, side, true, 0, s->square)) == CUDA_SUCCESS &&
            (result = gt_residual_apply_c(r, index, side, false, vector, s->c)) == CUDA_SUCCESS)
            result = gt_residual_apply_c(r, index, side, true, 0, s->c_square);
    }
    if (result == CUDA_SUCCESS)
        result = gt_checks_sample(r->checks, &r->buffers->problem, r->buffers->a.data, r->buffers->b.data, index,
                                  r->places_device, r->sample_count, r->samples_device);
    if (result == CUDA_SUCCESS)
        result = fetch(r, r->samples_device, 3 * r->sample_count, product->samples);
    return result != CUDA_SUCCESS ? result : gt_residual_gather(r, index, product->samples_c);
}

static CUresult prepare_data(gt_residual *r, const gt_problem *p)
{
    CUresult result = gt_buffers_fill(r->buffers, r->seed);
    if (result == CUDA_SUCCESS)
        result = gt_buffers_reset_c(r->buffers, true, r->seed);
    if (result == CUDA_SUCCESS)
        result = upload_signs(r, r->vectors[GT_ROWS], p->n, GT_STREAM_X);
    if (result == CUDA_SUCCESS)
        result = upload_signs(r, r->vectors[GT_COLUMNS], p->m, GT_STREAM_Y);
    if (result == CUDA_SUCCESS)
        result = upload_bias(r, p);
    if (result == CUDA_SUCCESS)
        result = r->checks->driver->cuMemcpyHtoD(r->places_device, r->places, 2 * SAMPLES * sizeof *r->places);
    for (int i = 0; i < r->count && result == CUDA_SUCCESS; i++)
        result = refer(r, &r->products[i]);
    return result;
}

/* A number that stands for the bits of some matrices. */
static bool sum_bits(gt_residual *r, const gt_matrix *matrices, int count, uint64_t *sum, gt_trial *trial)
{
    const gt_driver *driver = r->checks->driver;
    const uint64_t none = 0;
    CUresult result = driver->cuMemcpyHtoD(r->found, &none, sizeof none);
    for (int i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = gt_checks_checksum(r->checks, &matrices[i], r->found);
    if (result == CUDA_SUCCESS)
        result = driver->cuMemcpyDtoH(sum, r->found, sizeof *sum);
    return gt_trial_check(trial, driver, result, "comparing bits");
}

bool gt_residual_sum_c(gt_residual *r, uint64_t *sum, gt_trial *trial)
{
    gt_matrix c[GT_RESIDUAL_PRODUCTS];
    for (int i = 0; i < r->count; i++)
        c[i] = gt_matrix_of(&r->buffers->problem, GT_C, r->buffers->c.data, r->products[i].index);
    return sum_bits(r, c, r->count, sum, trial);
}

bool gt_residual_sum_ab(gt_residual *r, uint64_t *sum, gt_trial *trial)
{
    const gt_class *class = &r->buffers->problem.class;
    const int64_t a = (int64_t)r->buffers->a.bytes / gt_type_find(class->type_a)->bytes,
                  b = (int64_t)r->buffers->b.bytes / gt_type_find(class->type_b)->bytes;
    const gt_matrix both[] = {{r->buffers->a.data, class->type_a, 1, a, a},
                              {r->buffers->b.data, class->type_b, 1, b, b}};
    return sum_bits(r, both, 2, sum, trial);
}

bool gt_residual_prepare(gt_residual *r, const gt_problem *problem, uint64_t seed, gt_trial *trial)
{
    if (r->ready && r->seed == seed && r->buffers->placed && gt_problem_same(&r->buffers->problem, problem))
        return true;
    gt_residual_clear(r);
    r->seed = seed;
    if (!gt_buffers_place(r->buffers, problem, trial) || !allocate(r, problem, trial))
        return false;
    choose_places(r, problem);
    if (!gt_trial_check(trial, r->checks->driver, prepare_data(r, problem), "preparing the problem") ||
        !gt_residual_sum_ab(r, &r->operands, trial))
        return false;
    r->ready = true;
    return true;
}
