#include "residual.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../random.h"
#include "reference.h"

#define SAMPLES      1280 /* corners, last row, last column, and over a thousand anywhere */
#define EDGE_SAMPLES 64

enum { ROWS, COLUMNS };
static const char *const side_names[] = {"row", "column"};

/* What a stand-in has at least: rows and columns, tiles along either, and steps of K, more than most pipelines hold.
 * Sides of many tiles and long K are among the small checks. */
#define STAND_IN_SIDE  64
#define STAND_IN_TILES 2
#define STAND_IN_STEPS 256
#define STEP           64 /* a multiple of the usual tiles of K */

/* No problem of less work is stood in for. */
#define STAND_IN_FLOPS 1e8

/* A length with as many elements beyond whole units; from `least`, rounded up to units, to twice as much. */
static int64_t shortened(int64_t length, int64_t unit, int64_t least)
{
    const int64_t whole = (least + unit - 1) / unit * unit;
    return length < 2 * whole ? length : whole + length % whole;
}

gt_problem gt_residual_stand_in(const gt_problem *p, const gt_kernel *kernel)
{
    const int64_t rows = STAND_IN_TILES * kernel->facts.tile_m, columns = STAND_IN_TILES * kernel->facts.tile_n;
    int64_t step;
    if (kernel->facts.tile_m < 1 || kernel->facts.tile_n < 1 || kernel->facts.split_k < 1)
        return *p; /* facts that no launch will accept */
    if (!gt_params_find(&kernel->params, "bk", &step) || step < 1 || STEP % step == 0)
        step = STEP;
    const int64_t m = shortened(p->m, kernel->facts.tile_m, rows > STAND_IN_SIDE ? rows : STAND_IN_SIDE);
    const int64_t n = shortened(p->n, kernel->facts.tile_n, columns > STAND_IN_SIDE ? columns : STAND_IN_SIDE);
    const int64_t k = shortened(p->k, step * kernel->facts.split_k, STAND_IN_STEPS);
    const int64_t less_a = p->class.op_a == GT_N ? p->k - k : p->m - m,
                  less_b = p->class.op_b == GT_N ? p->n - n : p->k - k;
    gt_gemm gemm = gt_class_gemm(&p->class, m, n, k);
    gemm.batch = p->batch < GT_RESIDUAL_PRODUCTS ? p->batch : GT_RESIDUAL_PRODUCTS;
    gemm.lda = p->lda - less_a; /* between rows as much as before */
    gemm.ldb = p->ldb - less_b;
    gemm.ldc = p->ldc - (p->n - n);
    gt_problem smaller;
    if (gt_problem_init(&gemm, &smaller) != GT_OK || !gt_class_same(&smaller.class, &p->class) ||
        gt_problem_flops(p) < STAND_IN_FLOPS || 2 * gt_problem_flops(&smaller) > gt_problem_flops(p))
        return *p;
    return smaller;
}

void gt_residual_init(const gt_checks *checks, gt_buffers *buffers, uint64_t seed, gt_residual *residual)
{
    *residual = (gt_residual){.checks = checks, .buffers = buffers, .seed = seed};
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
    if (r->device)
        r->checks->driver->cuMemFree(r->device);
    gt_residual_init(r->checks, r->buffers, r->seed, r);
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
            s->length = side == ROWS ? p->m : p->n;
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
    if (!have || !r->places || !r->scratch)
        return gt_trial_fail(trial, GT_TRIAL_OVER_RESOURCES, "out of memory for the problem's references");

    const struct {
        CUdeviceptr *vector;
        int64_t length;
    } vectors[] = {
        {&r->vectors[ROWS], p->n},
        {&r->vectors[COLUMNS], p->m},
        {&r->between, p->k},
        {&r->result, longest},
        {&r->places_device, 2 * SAMPLES},
        {&r->samples_device, 3 * SAMPLES},
        {&r->found, 2},
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

static CUresult upload_signs(gt_residual *r, CUdeviceptr out, int64_t length, int stream)
{
    const uint64_t seed = gt_stream_seed(r->seed, stream);
    for (int64_t i = 0; i < length; i++)
        r->scratch[i] = gt_random_bits(seed, (uint64_t)i) >> 63 ? -1 : 1;
    if (length == 0)
        return CUDA_SUCCESS;
    return r->checks->driver->cuMemcpyHtoD(out, r->scratch, (size_t)length * sizeof(double));
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
    const bool flip = side == COLUMNS;
    const gt_matrix *first = flip ? &a : &b, *second = flip ? &b : &a;
    const bool first_t = (flip ? p->class.op_a : p->class.op_b) == GT_T,
               second_t = (flip ? p->class.op_b : p->class.op_a) == GT_T;
    CUresult result = gt_checks_multiply(r->checks, first, first_t != flip, squares, vector, r->between);
    if (result == CUDA_SUCCESS)
        result = gt_checks_multiply(r->checks, second, second_t != flip, squares, r->between, r->result);
    return result != CUDA_SUCCESS ? result : fetch(r, r->result, flip ? p->n : p->m, out);
}

/* The same of C itself. */
static CUresult apply_c(const gt_residual *r, int64_t index, int side, bool squares, CUdeviceptr vector, double *out)
{
    const gt_problem *p = &r->buffers->problem;
    const gt_matrix c = gt_matrix_of(p, GT_C, r->buffers->c.data, index);
    CUresult result = gt_checks_multiply(r->checks, &c, side == COLUMNS, squares, vector, r->result);
    return result != CUDA_SUCCESS ? result : fetch(r, r->result, side == COLUMNS ? p->n : p->m, out);
}

static CUresult gather(const gt_residual *r, int64_t index, double *out)
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
            (result = apply_c(r, index, side, false, vector, s->c)) == CUDA_SUCCESS)
            result = apply_c(r, index, side, true, 0, s->c_square);
    }
    if (result == CUDA_SUCCESS)
        result = gt_checks_sample(r->checks, &r->buffers->problem, r->buffers->a.data, r->buffers->b.data, index,
                                  r->places_device, r->sample_count, r->samples_device);
    if (result == CUDA_SUCCESS)
        result = fetch(r, r->samples_device, 3 * r->sample_count, product->samples);
    return result != CUDA_SUCCESS ? result : gather(r, index, product->samples_c);
}

static CUresult prepare_data(gt_residual *r, const gt_problem *p)
{
    CUresult result = gt_buffers_fill(r->buffers, r->seed);
    if (result == CUDA_SUCCESS)
        result = gt_buffers_reset_c(r->buffers, true, r->seed);
    if (result == CUDA_SUCCESS)
        result = upload_signs(r, r->vectors[ROWS], p->n, GT_STREAM_X);
    if (result == CUDA_SUCCESS)
        result = upload_signs(r, r->vectors[COLUMNS], p->m, GT_STREAM_Y);
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

/* That of C's checked products. */
static bool sum_c(gt_residual *r, uint64_t *sum, gt_trial *trial)
{
    gt_matrix c[GT_RESIDUAL_PRODUCTS];
    for (int i = 0; i < r->count; i++)
        c[i] = gt_matrix_of(&r->buffers->problem, GT_C, r->buffers->c.data, r->products[i].index);
    return sum_bits(r, c, r->count, sum, trial);
}

/* That of A and B with all that lies between their rows. */
static bool sum_ab(gt_residual *r, uint64_t *sum, gt_trial *trial)
{
    const gt_class *class = &r->buffers->problem.class;
    const int64_t a = (int64_t)r->buffers->a.bytes / gt_type_find(class->type_a)->bytes,
                  b = (int64_t)r->buffers->b.bytes / gt_type_find(class->type_b)->bytes;
    const gt_matrix both[] = {{r->buffers->a.data, class->type_a, 1, a, a},
                              {r->buffers->b.data, class->type_b, 1, b, b}};
    return sum_bits(r, both, 2, sum, trial);
}

bool gt_residual_prepare(gt_residual *r, const gt_problem *problem, gt_trial *trial)
{
    if (r->ready && r->buffers->placed && gt_problem_same(&r->buffers->problem, problem))
        return true;
    gt_residual_clear(r);
    if (!gt_buffers_place(r->buffers, problem, trial) || !allocate(r, problem, trial))
        return false;
    choose_places(r, problem);
    if (!gt_trial_check(trial, r->checks->driver, prepare_data(r, problem), "preparing the problem") ||
        !sum_ab(r, &r->operands, trial))
        return false;
    r->ready = true;
    return true;
}

/* A residual that is not finite is explained by the first element that is not. */
static bool fail_nonfinite(gt_residual *r, int64_t index, const char *where, gt_trial *trial)
{
    const gt_driver *driver = r->checks->driver;
    const gt_problem *p = &r->buffers->problem;
    const gt_matrix c = gt_matrix_of(p, GT_C, r->buffers->c.data, index);
    uint64_t found[2] = {0, UINT64_MAX};
    CUresult result = driver->cuMemcpyHtoD(r->found, found, sizeof found);
    if (result == CUDA_SUCCESS)
        result = gt_checks_nonfinite(r->checks, &c, r->found);
    if (result == CUDA_SUCCESS)
        result = driver->cuMemcpyDtoH(found, r->found, sizeof found);
    if (!gt_trial_check(trial, driver, result, "looking for elements that are not finite"))
        return false;
    if (found[0] == 0)
        return gt_trial_fail(trial, GT_TRIAL_WRONG_RESULT, "a residual is not finite (%s)", where);
    return gt_trial_fail(trial, GT_TRIAL_WRONG_RESULT, "element (%llu,%llu) is not finite, nor are %llu others (%s)",
                         (unsigned long long)(found[1] / (uint64_t)p->n),
                         (unsigned long long)(found[1] % (uint64_t)p->n), (unsigned long long)(found[0] - 1), where);
}

/* Rows or columns of one product against what is right; the worst one is named. */
static bool check_side(gt_residual *r, const gt_residual_product *product, int side, double alpha, double beta,
                       const char *where, gt_trial *trial)
{
    const gt_problem *p = &r->buffers->problem;
    const gt_types *types = gt_class_types(&p->class);
    const gt_residual_side *s = &product->sides[side];
    double worst = 0, worst_error = 0, worst_bound = 0;
    int64_t worst_at = -1;
    if (!gt_trial_check(trial, r->checks->driver, apply_c(r, product->index, side, false, r->vectors[side], r->scratch),
                        "multiplying C with a random vector"))
        return false;
    for (int64_t i = 0; i < s->length; i++) {
        const double wanted = alpha * s->product[i] + (beta == 0 ? 0 : beta * s->c[i]);
        const double bound = gt_reference_bound(types, p->k, alpha, beta, s->square[i], s->c_square[i]);
        const double error = fabs(r->scratch[i] - wanted);
        if (gt_reference_accepts(r->scratch[i], wanted, bound))
            continue;
        if (!isfinite(error))
            return fail_nonfinite(r, product->index, where, trial);
        const double ratio = bound > 0 ? error / bound : error;
        if (ratio > worst) {
            worst = ratio;
            worst_error = error;
            worst_bound = bound;
            worst_at = i;
        }
    }
    if (worst_at < 0)
        return true;
    return gt_trial_fail(trial, GT_TRIAL_WRONG_RESULT, "%s %lld residual %.2g exceeds bound %.2g (%s)",
                         side_names[side], (long long)worst_at, worst_error, worst_bound, where);
}

static bool check_samples(gt_residual *r, const gt_residual_product *product, double alpha, double beta,
                          const char *where, gt_trial *trial)
{
    const gt_problem *p = &r->buffers->problem;
    const gt_types *types = gt_class_types(&p->class);
    if (!gt_trial_check(trial, r->checks->driver, gather(r, product->index, r->scratch), "reading samples of C"))
        return false;
    for (int64_t at = 0; at < r->sample_count; at++) {
        const double *sample = &product->samples[3 * at], c = beta == 0 ? 0 : product->samples_c[at];
        const double got = r->scratch[at], wanted = alpha * sample[0] + beta * c;
        const double bound = gt_reference_bound(types, p->k, alpha, beta, sample[1], c * c);
        const double scale = fabs(alpha) * sample[2] + fabs(beta * c);
        if (!gt_reference_accepts(got, wanted, bound))
            return gt_trial_fail(
                trial, GT_TRIAL_WRONG_RESULT, "element (%lld,%lld) is %.9g, expected %.9g within %.2g (%s)",
                (long long)r->places[2 * at], (long long)r->places[2 * at + 1], got, wanted, bound, where);
        if (!types->exact && scale > 0 && fabs(got - wanted) / scale > trial->error)
            trial->error = fabs(got - wanted) / scale;
    }
    return true;
}

static bool check_result(gt_residual *r, const gt_runner *runner, double alpha, double beta, const char *when,
                         gt_trial *trial)
{
    char name[GT_PROBLEM_NAME_LENGTH], where[GT_PROBLEM_NAME_LENGTH + 80];
    gt_problem_name(&r->buffers->problem, name);
    snprintf(where, sizeof where, "%s, alpha=%g beta=%g%s", name, alpha, beta, when);
    if (!gt_buffers_intact(r->buffers, runner, where, trial))
        return false;
    for (int i = 0; i < r->count; i++)
        if (!check_side(r, &r->products[i], ROWS, alpha, beta, where, trial) ||
            !check_side(r, &r->products[i], COLUMNS, alpha, beta, where, trial) ||
            !check_samples(r, &r->products[i], alpha, beta, where, trial))
            return false;
    return true;
}

/* Enqueues one product into a C that is random, or poisoned where nobody reads it. */
static bool launch(gt_residual *r, const gt_runner *runner, const gt_launch_operands *operands, bool random,
                   const char *doing, gt_trial *trial)
{
    const gt_driver *driver = r->checks->driver;
    return gt_trial_check(trial, driver, gt_buffers_reset_c(r->buffers, random, r->seed), "resetting C") &&
           gt_trial_check(trial, driver, runner->launch(runner, operands), doing);
}

static bool run(gt_residual *r, gt_runner *runner, const gt_launch_operands *operands, double alpha, double beta,
                gt_trial *trial)
{
    return launch(r, runner, operands, beta != 0, "launching at the tuned size", trial) &&
           check_result(r, runner, alpha, beta, "", trial);
}

/* Launches once more on the same data: a kernel that adds up in no fixed order gives other bits, which must be right
 * too. */
static bool repeat(gt_residual *r, gt_runner *runner, const gt_launch_operands *operands, gt_trial *trial)
{
    uint64_t first = 0, second = 0;
    if (!sum_c(r, &first, trial) || !launch(r, runner, operands, false, "launching at the tuned size", trial) ||
        !sum_c(r, &second, trial))
        return false;
    if (first == second)
        return true;
    trial->varied = true;
    return check_result(r, runner, 1, 0, ", once more", trial);
}

/* A scalar of full mantissa and either sign, from 0.5 to 2; integers take small ones. */
static double draw_scalar(const gt_residual *r, const gt_types *types, uint64_t index)
{
    const uint64_t bits = gt_random_bits(gt_stream_seed(r->seed, GT_STREAM_SCALARS), index);
    const float magnitude = types->exact ? (float)(2 + bits % 7) : 0.5f + (float)(bits >> 41) * 0x1.8p-23f;
    return bits & 1 ? -magnitude : magnitude;
}

bool gt_residual_verify(gt_residual *r, gt_runner *runner, gt_launch_operands *timed, gt_trial *trial)
{
    const gt_problem *p = &r->buffers->problem;
    const gt_types *types = gt_class_types(&p->class);
    const double alpha = draw_scalar(r, types, 0), beta = draw_scalar(r, types, 1);
    gt_launch_operands operands = {
        .a = (void *)r->buffers->a.data, .b = (void *)r->buffers->b.data, .c = (void *)r->buffers->c.data,
        .alpha = gt_scalar_make(types, alpha), .beta = gt_scalar_make(types, beta),
    };
    if (!runner->prepare(runner, p, trial) || !run(r, runner, &operands, alpha, beta, trial))
        return false;
    operands.alpha = gt_scalar_make(types, 1);
    operands.beta = gt_scalar_make(types, 0);
    *timed = operands;
    uint64_t left = 0;
    if (!run(r, runner, &operands, 1, 0, trial) || !repeat(r, runner, &operands, trial) || !sum_ab(r, &left, trial))
        return false;
    return left == r->operands ||
           gt_trial_fail(trial, GT_TRIAL_OUT_OF_BOUNDS, "wrote into A or B, or between their rows");
}

bool gt_residual_verify_left(gt_residual *r, const gt_runner *runner, gt_trial *trial)
{
    return check_result(r, runner, 1, 0, ", after timing", trial);
}

bool gt_residual_verify_again(gt_residual *r, const gt_runner *runner, const gt_launch_operands *timed, gt_trial *trial)
{
    return launch(r, runner, timed, false, "launching after timing", trial) &&
           check_result(r, runner, 1, 0, ", once more after timing", trial);
}
