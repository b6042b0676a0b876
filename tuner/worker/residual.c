#include <math.h>
#include <stdio.h>

#include "../random.h"
#include "epilogue.h"
#include "reference.h"
#include "residual_data.h"

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

static bool is_linear(const terms *t)
{
    return !(t->epilogue & (GT_EPILOGUE_RELU | GT_EPILOGUE_GELU));
}

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
    const int64_t own = p->k + 2 * (side == GT_ROWS ? p->n : p->m); /* A (B x) and C x */
    double worst = 0, worst_error = 0, worst_bound = 0;
    int64_t worst_at = -1;
    if (!gt_trial_check(trial, r->checks->driver,
                        gt_residual_apply_c(r, product->index, side, false, r->vectors[side], r->scratch),
                        "multiplying C with a random vector"))
        return false;
    const bool biased = t->epilogue & GT_EPILOGUE_BIAS;
    for (int64_t i = 0; i < s->length; i++) {
        const double bias = !biased ? 0 : side == GT_ROWS ? r->bias_row : r->bias_columns * r->bias[i];
        const double wanted = t->alpha * s->product[i] + (t->beta == 0 ? 0 : t->beta * s->c[i]) + bias;
        const double bound = bound_of(types, p->k, own, t, s->square[i], s->c_square[i],
                                      side == GT_ROWS ? r->bias_square : (double)p->m * r->bias[i] * r->bias[i]);
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
    if (!gt_trial_check(trial, r->checks->driver, gt_residual_gather(r, product->index, r->scratch),
                        "reading samples of C"))
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
        if (is_linear(t) && !types->exact && scale > 0 && fabs(got - wanted) / scale > trial->error)
            trial->error = fabs(got - wanted) / scale;
    }
    return true;
}

static bool check_result(gt_residual *r, const gt_runner *runner, const terms *t, const char *when, gt_trial *trial)
{
    char name[GT_PROBLEM_NAME_LENGTH], where[GT_PROBLEM_NAME_LENGTH + 80];
    gt_problem_name(&r->buffers->problem, name);
    snprintf(where, sizeof where, "%s, alpha=%g beta=%g%s%s%s", name, t->alpha, t->beta,
             t->epilogue & GT_EPILOGUE_BIAS ? ", bias" : "", is_linear(t) ? "" : ", activation", when);
    if (!gt_buffers_intact(r->buffers, runner, where, trial))
        return false;
    for (int i = 0; i < r->count; i++)
        if ((is_linear(t) && (!check_side(r, &r->products[i], GT_ROWS, t, where, trial) ||
                              !check_side(r, &r->products[i], GT_COLUMNS, t, where, trial))) ||
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
    if (!gt_residual_sum_c(r, &first, trial) ||
        !launch(r, runner, operands, false, "launching at the tuned size", trial) ||
        !gt_residual_sum_c(r, &second, trial))
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
    if (!run(r, runner, &timed_terms, timed, trial) || !repeat(r, runner, timed, trial) ||
        !gt_residual_sum_ab(r, &left, trial))
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
