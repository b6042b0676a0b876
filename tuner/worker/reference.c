#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/bound.h"
#include "../../src/core/status.h"

/*
 * The error bound.
 *
 * An element of C is s = sum of k products x_p = a_ip b_pj. The data are independent and their signs are fair coins,
 * so that, given the magnitudes, any partial sum has mean zero and mean square at most q = sum of x_p^2 (Higham and
 * Mary, "A new approach to probabilistic rounding error analysis", 2019, make the same step for random data).
 *
 * Rounding arithmetic (unit roundoff u): whatever the order of summation, s is built by at most k - 1 additions and k
 * products, fused or not. Each addition commits a relative error of at most u, with mean zero and independent of the
 * others, on a partial sum of mean square at most q: variance at most u^2 q each. The products, if rounded on their
 * own, add u^2 x_p^2 each, u^2 q in all. Then alpha * s and beta * c are rounded: at most u^2 (alpha s)^2 and
 * u^2 (beta c)^2. Their sum is rounded to the type of C, whose unit roundoff is v: since (x + y)^2 <= 2 x^2 + 2 y^2, at
 * most v^2 times twice both. With E s^2 = q the variance is at most
 *
 *     sigma^2 = u^2 ((k + 2) alpha^2 q + beta^2 c^2) + 2 v^2 (alpha^2 q + beta^2 c^2).
 *
 * Tensor cores (a row's `cut`) take steps of g products. A step aligns its products and the sum so far to the largest
 * of them, M, and cuts each to a unit of w M at most: that shrinks a product, so that the error has the other sign than
 * the product, a fair coin whatever the magnitudes are. M^2 is at most the sum's square and the largest product's, 2 q
 * on average: variance at most 2 w^2 q for each of k products. The result is cut to a unit of r times itself. These
 * errors follow the sign of the sum, which hardly changes from step to step: they do not cancel, and are at most
 * r sqrt(q) in each of n = k / g steps, of mean square r^2 n^2 q in all. So a tensor core adds
 *
 *     (2 w^2 k + r^2 n^2) alpha^2 q
 *
 * to sigma^2. The rounded part stays: another kernel of the same types may use none.
 *
 * Sums that are promoted after P products begin anew. The signs of their errors are those of so many independent sums,
 * each with its own part of q: the variances add up to the same with P instead of k.
 *
 * Operands that are rounded first, with unit roundoff o, give products with a relative error of at most 2 o. It depends
 * on magnitudes alone, so that the errors have the products' signs: variance at most 4 o^2 q. So do operands in two
 * parts: a part of eleven bits and the rest, rounded to eleven bits, lie within 2^-23 of an element, with its sign and
 * two more of theirs; the product of the rests, which is left out, is 2^-22 at most and 2^-24.5 on average.
 *
 * A residual adds up elements times independent signs x_j: the variance of sum_j x_j e_ij is sum_j e_ij^2 whatever the
 * e_ij are to each other, so q and c^2 are simply added up over j. For a row, q_i = sum_p a_ip^2 (sum_j b_pj^2).
 *
 * One candidate is judged by fewer than 2e6 comparisons (small cases 1.3e6 elements; at the tuned size rows, columns
 * and samples). A normal variable passes 8 sigma with probability 1.3e-15: a right kernel is refused once in 4e8
 * times. For sums of few terms, where nothing is normal, the worst case over all signs, u sum_p sqrt(p q), is below
 * 8 sigma up to k = 11, and beyond that the true sigma is 2.4 times smaller (rounding errors are spread evenly up to
 * u: variance u^2 / 3; partial sums grow as sqrt(p): half of q on average). A missing product, of size sqrt(q / k), is
 * refused as long as 8 u k < 1: up to k = 2e6 in f32; on tensor cores as long as 8 r k^1.5 < g: up to 4e4 in f16.
 *
 * Where C's type is short of exponents a result may be subnormal: it is then rounded to a unit, its smallest number.
 *
 * Of a single element more is known. The last two roundings err by u and v times the result at most: where C has few
 * bits that is much less than 8 v sqrt(q), and shows what is wrong with sums that have more. And no sum errs by more
 * than the worst case over all signs, which is less than 8 sigma where k is small: with t the sum of all |x_p|, u t for
 * each of k - 1 additions, for all products and for alpha; where tensor cores cut, w t for each of k products and of n
 * sums that meet others, r t for each of n results; 2 o t where operands are rounded. Tensor cores do not keep to that
 * where exponents are far apart: an H200 was seen to err by 2^-20 in sums of three products of f16 with wide values,
 * perhaps because subnormal operands are aligned as if they were not. Such values, and operands in parts, of which more is
 * left out, are held to 8 sigma with v's.
 *
 * The reference errs too, in f64. Its sum is of as many additions as it says, on partial sums like the candidate's, and
 * rounded; then it is scaled as C is. That counts where C is f64 itself.
 */
#define SIGMAS 8
#define OWN    0x1p-106 /* the square of f64's unit roundoff */

double gt_reference_bound(const gt_types *types, int64_t k, int64_t own, double alpha, double beta, double square,
                          double c_square)
{
    const gt_reference_terms t = gt_reference_terms_of(types, k, own, alpha, beta);
    return sqrt((alpha == 0 ? 0 : (t.bound_square + alpha * alpha * t.result) * square) +
                (beta == 0 ? 0 : (t.bound_c + beta * beta * t.result) * c_square) + t.least);
}

/*
 * The mean square error.
 *
 * The bound above must hold for the worst of millions of elements, and lets a long sum of inexact products pass. On
 * average an error is smaller, and known. A result x that is rounded to nearest errs evenly within half a unit in its
 * last place; for mantissas m in [1, 2) whose logarithms are even, as those of products are, the mean of 1 / m^2 is
 * 3 / (8 ln 2), and the mean square R u^2 x^2 with R = 1 / (8 ln 2). With E s_p^2 = q p / k for the partial sums, fused
 * multiply-adds one after the other give R u^2 times q (k + 1) / 2; alpha s, beta c and their sum are each rounded once
 * more.
 *
 * What is cut errs evenly from nothing to a whole unit: mean square R w^2 M^2, and M^2 is q at most. A sum loses half a
 * unit on average, H r |s| with H = 1 / (4 ln 2) as the mean of 1 / m is 1 / (2 ln 2), in every step; with the partial
 * sums growing as sqrt(i / n) that is H r sqrt(q) (2 n + 1) / 3 in all, and R r^2 q (n + 1) / 2 around it. Operands
 * that are rounded err by R o^2 each.
 */
#define R 0.18033688011112042
#define H 0.36067376022224085

/* What tensor cores add: within the bound, and on average, both times q; and at worst, times the sum of magnitudes. */
typedef struct cut_terms {
    double bound, mean, worst;
} cut_terms;

static cut_terms terms_of_cut(const gt_cut *cut, double k)
{
    if (cut->group == 0)
        return (cut_terms){0};
    const double w = cut->product * cut->product, r = cut->sum * cut->sum, n = ceil(k / cut->group);
    const double lost = H * (2 * n + 1) / 3;
    return (cut_terms){.bound = 2 * w * k + r * n * n, .mean = R * w * k + r * (lost * lost + R * (n + 1) / 2),
                       .worst = gt_cut_worst(cut, k)};
}

gt_reference_terms gt_reference_terms_of(const gt_types *types, int64_t k, int64_t own, double alpha, double beta)
{
    const double u = types->roundoff * types->roundoff, v = types->result_roundoff * types->result_roundoff;
    const double length = (double)k, least = types->exact ? 0 : gt_type_find(types->c)->least;
    const double operand = types->rounded ? types->rounded->roundoff : types->parts, o = operand * operand;
    const double e = types->exact ? 0 : OWN;
    const bool promotes = types->promoted > 0 && k > types->promoted;
    const cut_terms cut = terms_of_cut(&types->cut, promotes ? types->promoted : length);
    return (gt_reference_terms){
        .bound_square = SIGMAS * SIGMAS * alpha * alpha *
                        (u * (length + 2) + cut.bound + 4 * o + e * ((double)own + 4)),
        .bound_c = SIGMAS * SIGMAS * beta * beta * (u + 3 * e),
        .result = SIGMAS * SIGMAS * 2 * v,
        .bound_last = types->roundoff + types->result_roundoff,
        .worst = fabs(alpha) *
                 (types->roundoff * (length + 2) + terms_of_cut(&types->cut, length).worst + 2.01 * sqrt(o)),
        .worst_c = fabs(beta) * 2 * types->roundoff,
        .square_mean = alpha * alpha * (u * R * (length + 1) / 2 + cut.mean + 2 * R * o + e * R * ((double)own + 1)),
        .parts = (u + e) * R,
        .whole = (v + e) * R,
        .least = least * least,
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

/* The same of f64, with twice its precision: what additions (Knuth's two-sum) and products round off is kept and added
 * in the end. */
static gt_status multiply_exactly(const gt_problem *p, const double *a, const double *b, double *restrict sum,
                                  double *restrict square, double *restrict magnitude)
{
    double *rest = malloc((size_t)(p->n + 1) * sizeof *rest);
    if (!rest)
        return gt_fail_memory();
    for (int64_t i = 0; i < p->m; i++, sum += p->n, square += p->n, magnitude += p->n) {
        memset(rest, 0, (size_t)p->n * sizeof *rest);
        for (int64_t l = 0; l < p->k; l++) {
            const double x = a[i * p->k + l], *const row = b + l * p->n;
            for (int64_t j = 0; j < p->n; j++) {
                const double term = x * row[j], next = sum[j] + term, added = next - sum[j];
                rest[j] += fma(x, row[j], -term) + ((sum[j] - (next - added)) + (term - added));
                sum[j] = next;
                square[j] += term * term;
                magnitude[j] += fabs(term);
            }
        }
        for (int64_t j = 0; j < p->n; j++)
            sum[j] += isfinite(sum[j]) ? rest[j] : 0;
    }
    free(rest);
    return GT_OK;
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
    const gt_types *types = gt_class_types(&p->class);
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
    for (int64_t i = 0; status == GT_OK && i < p->batch; i++) {
        const size_t at = each * (size_t)i;
        widen(&stored_a, a, i, p->class.op_a, wide_a);
        widen(&stored_b, b, i, p->class.op_b, wide_b);
        if (types->exact)
            multiply_wrapping(p, wide_a, wide_b, r.sum + at);
        else if (types->accumulator == GT_F64)
            status = multiply_exactly(p, wide_a, wide_b, r.sum + at, r.square + at, r.magnitude + at);
        else
            multiply(p, wide_a, wide_b, r.sum + at, r.square + at, r.magnitude + at);
    }
    if (status == GT_OK) {
        *reference = r;
        r = (gt_reference){0};
    }
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
