#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"

/*
 * The error bound.
 *
 * An element of C is s = sum of k products x_p = a_ip b_pj. The data are independent and their signs are fair coins,
 * so that, given the magnitudes, any partial sum has mean zero and mean square at most q = sum of x_p^2 (Higham and
 * Mary, "A new approach to probabilistic rounding error analysis", 2019, make the same step for random data).
 *
 * Rounding arithmetic (u = 2^-24): whatever the order of summation, s is built by at most k - 1 additions and k
 * products, fused or not. Each addition commits a relative error of at most u, with mean zero and independent of the
 * others, on a partial sum of mean square at most q: variance at most u^2 q each. The products, if rounded on their
 * own, add u^2 x_p^2 each, u^2 q in all. Then alpha * s and beta * c are rounded: at most u^2 (alpha s)^2 and
 * u^2 (beta c)^2. Their sum is rounded to the type of C, whose unit roundoff is v: since (x + y)^2 <= 2 x^2 + 2 y^2, at
 * most v^2 times twice both. With E s^2 = q the variance is at most
 *
 *     sigma^2 = u^2 ((k + 2) alpha^2 q + beta^2 c^2) + 2 v^2 (alpha^2 q + beta^2 c^2).
 *
 * Truncating arithmetic (tensor cores; the pair's row says `cut`, and u = 2^-23): errors all have the sign that shrinks
 * the sum, so they add up instead of cancelling: at most u times a partial sum in each of k steps, of root mean square
 * u k sqrt(q). k is then replaced by k^2. The step's partial sum may also be aligned to its largest product, but
 * that is no larger than sqrt(q) either.
 *
 * A residual adds up elements times independent signs x_j: the variance of sum_j x_j e_ij is sum_j e_ij^2 whatever the
 * e_ij are to each other, so q and c^2 are simply added up over j. For a row, q_i = sum_p a_ip^2 (sum_j b_pj^2).
 *
 * One candidate is judged by fewer than 2e6 comparisons (small cases 1.3e6 elements; at the tuned size rows, columns
 * and samples). A normal variable passes 8 sigma with probability 1.3e-15: a right kernel is refused once in 4e8
 * times. For sums of few terms, where nothing is normal, the worst case over all signs, u sum_p sqrt(p q), is below
 * 8 sigma up to k = 11, and beyond that the true sigma is 2.4 times smaller (rounding errors are spread evenly up to
 * u: variance u^2 / 3; partial sums grow as sqrt(p): half of q on average). A missing product, of size sqrt(q / k), is
 * refused as long as 8 u k < 1: up to k = 2e6 in f32.
 *
 * The f64 reference's own errors are smaller by 2^-29 and are left out.
 */
#define SIGMAS 8

double gt_reference_bound(const gt_types *types, int64_t k, double alpha, double beta, double square, double c_square)
{
    const gt_reference_terms t = gt_reference_terms_of(types, k, alpha, beta);
    return sqrt((alpha == 0 ? 0 : t.bound_square * square) + (beta == 0 ? 0 : t.bound_c * c_square));
}

/*
 * The mean square error.
 *
 * The bound above must hold for the worst of millions of elements, and lets a long sum of inexact products pass. On
 * average an error is smaller, and known. A result x that is rounded to nearest errs evenly within half a unit in its
 * last place; for mantissas m in [1, 2) whose logarithms are even, as those of products are, the mean of 1 / m^2 is
 * 3 / (8 ln 2), and the mean square u^2 x^2 / (8 ln 2). With E s_p^2 = q p / k for the partial sums, fused
 * multiply-adds one after the other give u^2 / (8 ln 2) times q (k + 1) / 2; alpha s, beta c and their sum are each
 * rounded once more. Sums that are cut instead err by half a unit of the partial sum in each step, all in one
 * direction: at most (u k / 2)^2 q in all.
 */
#define ROUNDED_SQUARE 0.18033688011112042 /* 1 / (8 ln 2) */

gt_reference_terms gt_reference_terms_of(const gt_types *types, int64_t k, double alpha, double beta)
{
    const double u = types->roundoff * types->roundoff, v = types->result_roundoff * types->result_roundoff;
    const double length = (double)k, steps = types->cut ? length * length : length;
    const double mean = types->cut ? length * length / 4 : ROUNDED_SQUARE * (length + 1) / 2;
    return (gt_reference_terms){
        .bound_square = SIGMAS * SIGMAS * alpha * alpha * (u * (steps + 2) + 2 * v),
        .bound_c = SIGMAS * SIGMAS * beta * beta * (u + 2 * v),
        .square = u * mean * alpha * alpha,
        .parts = u * ROUNDED_SQUARE,
        .whole = v * ROUNDED_SQUARE,
    };
}

bool gt_reference_accepts(double result, double expected, double bound)
{
    return fabs(result - expected) <= bound;
}

double gt_reference_load(gt_type type, const void *data, int64_t index)
{
    return gt_type_find(type)->load(data, index);
}

/* A double that holds an int32, as bits that wrap. */
static uint32_t wrapping(double x)
{
    return (uint32_t)(int32_t)x;
}

double gt_reference_scale(const gt_types *types, double alpha, double sum, double beta, double c)
{
    if (types->exact)
        return (int32_t)(wrapping(alpha) * wrapping(sum) + (beta == 0 ? 0 : wrapping(beta) * wrapping(c)));
    return (alpha == 0 ? 0 : alpha * sum) + (beta == 0 ? 0 : beta * c);
}

/* op(X) of a product of the batch as f64, packed. */
static void widen(const gt_stored *o, const void *data, int64_t index, gt_op op, double *out)
{
    const gt_type_info *type = gt_type_find(o->type);
    const int64_t rows = op == GT_N ? o->rows : o->columns, columns = op == GT_N ? o->columns : o->rows;
    const int64_t down = op == GT_N ? o->ld : 1, along = op == GT_N ? 1 : o->ld;
    const float *const singles = o->type == GT_F32 ? (const float *)data + index * o->stride : NULL;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < columns; column++)
            out[row * columns + column] = singles ? (double)singles[row * down + column * along]
                                                  : type->load(data, index * o->stride + row * down + column * along);
}

/* x86-64's baseline has vectors of two doubles. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__AVX2__) && !defined(__clang__) && __GNUC__ >= 12
#define VECTOR __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define VECTOR
#endif

/* Columns that are summed together; b has room for as many behind its last row. */
#define ABREAST 4
typedef double columns __attribute__((vector_size(ABREAST * sizeof(double))));
typedef int64_t column_bits __attribute__((vector_size(ABREAST * sizeof(int64_t))));

/* One product from packed operands. */
VECTOR static void multiply(const gt_problem *p, const double *a, const double *b, double *sum, double *square,
                            double *magnitude)
{
    for (int64_t i = 0; i < p->m; i++, a += p->k)
        for (int64_t first = 0; first < p->n; first += ABREAST) {
            const size_t bytes = sizeof(double) * (size_t)(p->n - first < ABREAST ? p->n - first : ABREAST);
            columns s = {0}, q = {0}, w = {0};
            for (int64_t l = 0; l < p->k; l++) {
                columns row;
                memcpy(&row, b + l * p->n + first, sizeof row);
                const columns term = a[l] * row;
                s += term;
                q += term * term;
                w += (columns)((column_bits)term & INT64_MAX);
            }
            memcpy(sum + i * p->n + first, &s, bytes);
            memcpy(square + i * p->n + first, &q, bytes);
            memcpy(magnitude + i * p->n + first, &w, bytes);
        }
}

static void multiply_wrapping(const gt_problem *p, const double *a, const double *b, double *sum)
{
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t l = 0; l < p->k; l++) {
            const uint32_t x = wrapping(a[i * p->k + l]);
            for (int64_t j = 0; j < p->n; j++) {
                double *const total = &sum[i * p->n + j];
                *total = (int32_t)(wrapping(*total) + x * wrapping(b[l * p->n + j]));
            }
        }
}

gt_status gt_reference_init(const gt_problem *p, const void *a, const void *b, gt_reference *reference)
{
    const size_t each = (size_t)(p->m * p->n), count = each * (size_t)p->batch;
    const gt_stored stored_a = gt_problem_stored(p, GT_A), stored_b = gt_problem_stored(p, GT_B);
    gt_status status = GT_OK;
    /* calloc of nothing may return NULL: always ask for something. */
    gt_reference r = {calloc(count + 1, sizeof(double)), calloc(count + 1, sizeof(double)),
                      calloc(count + 1, sizeof(double))};
    double *wide_a = malloc((size_t)(p->m * p->k + 1) * sizeof(double));
    double *wide_b = malloc((size_t)(p->k * p->n + ABREAST) * sizeof(double));
    if (!r.sum || !r.square || !r.magnitude || !wide_a || !wide_b) {
        status = gt_fail_memory();
        goto end;
    }
    memset(wide_b + p->k * p->n, 0, ABREAST * sizeof(double));
    for (int64_t i = 0; i < p->batch; i++) {
        const size_t at = each * (size_t)i;
        widen(&stored_a, a, i, p->class.op_a, wide_a);
        widen(&stored_b, b, i, p->class.op_b, wide_b);
        if (gt_class_types(&p->class)->exact)
            multiply_wrapping(p, wide_a, wide_b, r.sum + at);
        else
            multiply(p, wide_a, wide_b, r.sum + at, r.square + at, r.magnitude + at);
    }
    *reference = r;
    r = (gt_reference){0};
end:
    gt_reference_finish(&r);
    free(wide_a);
    free(wide_b);
    return status;
}

void gt_reference_finish(gt_reference *reference)
{
    free(reference->sum);
    free(reference->square);
    free(reference->magnitude);
    *reference = (gt_reference){0};
}
