#include "residual.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../random.h"
#include "epilogue.h"
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
    r->bias = doubles(p->n);
    if (!have || !r->places || !r->scratch || !r->bias)
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

/* What a candidate is launched with. */
typedef struct terms {
    double alpha, beta;
    gt_epilogue epilogue;
} terms;

static const terms timed_terms = {.alpha = 1};

/* Rounding's bound for rows, columns or elements: a bias is one more term, rounded as C's is, and one more sum. */
static double bound_of(const gt_types *types, int64_t k, int64_t own, const terms *t, double square, double c_square,
                       double bias_square)
{
    if (!(t->epilogue & GT_EPILOGUE_BIAS))
        return gt_reference_bound(types, k, own, t->alpha, t->beta, square, c_square);
    const double added = (t->beta == 0 ? 0 : t->beta * t->beta * c_square) + bias_square;
    return gt_reference_bound(types, k + 2, own, t->alpha, 1, square, added);
}

/* Rows or columns of one product against what is right; the worst one is named. */
static bool check_side(gt_residual *r, const gt_residual_product *product, int side, const terms *t, const char *where,
                       gt_trial *trial)
{
    const gt_problem *p = &r->buffers->problem;
    const gt_types *types = gt_class_types(&p->class);
    const gt_residual_side *s = &product->sides[side];
    const int64_t own = p->k + 2 * (side == ROWS ? p->n : p->m); /* A (B x) and C x */
    double worst = 0, worst_error = 0, worst_bound = 0;
    int64_t worst_at = -1;
    if (!gt_trial_check(trial, r->checks->driver, apply_c(r, product->index, side, false, r->vectors[side], r->scratch),
                        "multiplying C with a random vector"))
        return false;
    const bool biased = t->epilogue & GT_EPILOGUE_BIAS;
    for (int64_t i = 0; i < s->length; i++) {
        const double bias = !biased ? 0 : side == ROWS ? r->bias_row : r->bias_columns * r->bias[i];
        const double wanted = t->alpha * s->product[i] + (t->beta == 0 ? 0 : t->beta * s->c[i]) + bias;
        const double bound = bound_of(types, p->k, own, t, s->square[i], s->c_square[i],
                                      side == ROWS ? r->bias_square : (double)p->m * r->bias[i] * r->bias[i]);
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

static bool check_samples(gt_residual *r, const gt_residual_product *product, const terms *t, const char *where,
                          gt_trial *trial)
{
    const gt_problem *p = &r->buffers->problem;
    const gt_types *types = gt_class_types(&p->class);
    if (!gt_trial_check(trial, r->checks->driver, gather(r, product->index, r->scratch), "reading samples of C"))
        return false;
    for (int64_t at = 0; at < r->sample_count; at++) {
        const double *sample = &product->samples[3 * at], c = t->beta == 0 ? 0 : product->samples_c[at];
        const double bias = t->epilogue & GT_EPILOGUE_BIAS ? r->bias[r->places[2 * at + 1]] : 0;
        const double got = r->scratch[at], sum = t->alpha * sample[0] + t->beta * c;
        const double wanted = gt_epilogue_activate(t->epilogue, gt_epilogue_add(types, sum, bias));
        const double linear = bound_of(types, p->k, p->k, t, sample[1], c * c, bias * bias);
        const double bound = gt_epilogue_bound(types, t->epilogue, sum, bias, linear);
        const double scale = fabs(t->alpha) * sample[2] + fabs(t->beta * c) + fabs(bias);
        if (!gt_reference_accepts(got, wanted, bound))
            return gt_trial_fail(
                trial, GT_TRIAL_WRONG_RESULT, "element (%lld,%lld) is %.9g, expected %.9g within %.2g (%s)",
                (long long)r->places[2 * at], (long long)r->places[2 * at + 1], got, wanted, bound, where);
        if (!types->exact && scale > 0 && fabs(got - wanted) / scale > trial->error)
            trial->error = fabs(got - wanted) / scale;
    }
    return true;
}

static bool check_result(gt_residual *r, const gt_runner *runner, const terms *t, const char *when, gt_trial *trial)
{
    const bool linear = !(t->epilogue & (GT_EPILOGUE_RELU | GT_EPILOGUE_GELU));
    char name[GT_PROBLEM_NAME_LENGTH], where[GT_PROBLEM_NAME_LENGTH + 80];
    gt_problem_name(&r->buffers->problem, name);
    snprintf(where, sizeof where, "%s, alpha=%g beta=%g%s%s%s", name, t->alpha, t->beta,
             t->epilogue & GT_EPILOGUE_BIAS ? ", bias" : "", linear ? "" : ", activation", when);
    if (!gt_buffers_intact(r->buffers, runner, where, trial))
        return false;
    for (int i = 0; i < r->count; i++)
        if ((linear && (!check_side(r, &r->products[i], ROWS, t, where, trial) ||
                        !check_side(r, &r->products[i], COLUMNS, t, where, trial))) ||
            !check_samples(r, &r->products[i], t, where, trial))
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

static bool run(gt_residual *r, gt_runner *runner, const terms *t, gt_launch_operands *operands, gt_trial *trial)
{
    const gt_types *types = gt_class_types(&r->buffers->problem.class);
    *operands = (gt_launch_operands){
        .a = (void *)r->buffers->a.data, .b = (void *)r->buffers->b.data, .c = (void *)r->buffers->c.data,
        .alpha = gt_scalar_make(types, t->alpha), .beta = gt_scalar_make(types, t->beta), .epilogue = t->epilogue,
        .bias = t->epilogue & GT_EPILOGUE_BIAS ? (void *)r->bias_device : NULL,
    };
    return launch(r, runner, operands, t->beta != 0, "launching at the tuned size", trial) &&
           check_result(r, runner, t, "", trial);
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
    return check_result(r, runner, &timed_terms, ", once more", trial);
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
    const terms scaled = {alpha, beta, runner->epilogue ? GT_EPILOGUE_BIAS : GT_EPILOGUE_NONE},
                activated = {alpha, 0, types->accumulator == GT_F32 ? GT_EPILOGUE_GELU_BIAS : GT_EPILOGUE_RELU_BIAS};
    gt_launch_operands operands;
    if (!runner->prepare(runner, p, trial) || (!runner->plain && !run(r, runner, &scaled, &operands, trial)) ||
        (runner->epilogue && !run(r, runner, &activated, &operands, trial)))
        return false;
    uint64_t left = 0;
    if (!run(r, runner, &timed_terms, timed, trial) || !repeat(r, runner, timed, trial) || !sum_ab(r, &left, trial))
        return false;
    return left == r->operands ||
           gt_trial_fail(trial, GT_TRIAL_OUT_OF_BOUNDS, "wrote into A or B, or between their rows");
}

bool gt_residual_verify_left(gt_residual *r, const gt_runner *runner, gt_trial *trial)
{
    return check_result(r, runner, &timed_terms, ", after timing", trial);
}

bool gt_residual_verify_again(gt_residual *r, const gt_runner *runner, const gt_launch_operands *timed, gt_trial *trial)
{
    return launch(r, runner, timed, false, "launching after timing", trial) &&
           check_result(r, runner, &timed_terms, ", once more after timing", trial);
}
