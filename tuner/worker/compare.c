#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runner.h"

/* The mean square of errors that is too much, in units of what the arithmetic gives; sums up to this length count:
 * rounding of longer ones hides what is wrong with their products. */
#define VARIANCE_LIMIT 2
#define VARIANCE_K     64

/* Elements that the mean is taken over, at least: its own error is then some hundredths. */
#define VARIANCE_LEAST 500

void gt_case_name(const gt_case *c, char name[GT_CASE_NAME])
{
    const gt_problem *p = &c->problem;
    int length =
        snprintf(name, GT_CASE_NAME, "check %lldx%lldx%lld", (long long)p->m, (long long)p->n, (long long)p->k);
    if (p->batch > 1)
        length += snprintf(name + length, GT_CASE_NAME - (size_t)length, " batch %lld", (long long)p->batch);
    snprintf(name + length, GT_CASE_NAME - (size_t)length, ", alpha=%.9g beta=%.9g%s%s", c->alpha, c->beta,
             c->values == GT_VALUES_WIDE   ? ", wide values"
             : c->values == GT_VALUES_HARD ? ", nan and inf"
                                           : "",
             c->again ? ", again" : "");
}

/* Subnormal numbers are rounded to units of 2^-149 in every step. */
static double underflow(const gt_case *c)
{
    return c->values == GT_VALUES_WIDE ? ((double)c->problem.k + 4) * 0x1p-149 * (1 + fabs(c->alpha)) : 0;
}

static bool matches(double got, double wanted, double bound)
{
    if (isnan(wanted))
        return isnan(got);
    return isinf(wanted) ? got == wanted : gt_reference_accepts(got, wanted, bound);
}

bool gt_compare_product(const gt_case *c, const gt_reference *r, int64_t index, const void *before, void *after,
                        gt_errors *e, gt_trial *trial)
{
    const gt_problem *p = &c->problem;
    const gt_types *types = gt_class_types(&p->class);
    const size_t bytes = (size_t)gt_type_find(p->class.type_c)->bytes;
    const bool counts = c->values == GT_VALUES_NORMAL && !types->exact && p->k <= VARIANCE_K;
    int64_t at = index * p->m * p->n;
    for (int64_t i = 0; i < p->m; i++) {
        const int64_t row = index * p->stride_c + i * p->ldc;
        for (int64_t j = 0; j < p->n; j++, at++) {
            const double was = c->beta == 0 ? 0 : gt_reference_load(p->class.type_c, before, row + j);
            const double got = gt_reference_load(p->class.type_c, after, row + j);
            const double wanted = gt_reference_scale(types, c->alpha, r->sum[at], c->beta, was);
            const double bound =
                gt_reference_bound(types, p->k, c->alpha, c->beta, r->square[at], was * was) + underflow(c);
            if (!matches(got, wanted, bound)) {
                char name[GT_CASE_NAME], product[40] = "";
                gt_case_name(c, name);
                if (p->batch > 1)
                    snprintf(product, sizeof product, " of product %lld", (long long)index);
                return gt_trial_fail(trial, GT_TRIAL_WRONG_RESULT,
                                     "element (%lld,%lld)%s is %.9g, expected %.9g within %.2g (%s)", (long long)i,
                                     (long long)j, product, got, wanted, bound, name);
            }
            if (types->exact || !isfinite(wanted))
                continue;
            const double error = fabs(got - wanted), scale = fabs(c->alpha) * r->magnitude[at] + fabs(c->beta * was);
            const double variance =
                gt_reference_variance(types, p->k, c->alpha, c->beta, r->square[at], r->sum[at], was);
            if (c->values == GT_VALUES_NORMAL && scale > 0 && error > trial->error * scale)
                trial->error = error / scale;
            if (counts && variance > 0) {
                e->sum += error * error / variance;
                e->count++;
            }
        }
        memcpy((char *)after + (size_t)row * bytes, (const char *)before + (size_t)row * bytes, (size_t)p->n * bytes);
    }
    return true;
}

bool gt_compare_errors(const gt_errors *e, gt_trial *trial)
{
    if (e->count < VARIANCE_LEAST || e->sum <= VARIANCE_LIMIT * (double)e->count)
        return true;
    return gt_trial_fail(trial, GT_TRIAL_WRONG_RESULT,
                         "errors are %.3g times the arithmetic's own: root mean square over %lld elements",
                         sqrt(e->sum / (double)e->count), (long long)e->count);
}
