#include "compare.h"

#include <math.h>
#include <stdio.h>

#include "epilogue.h"
#include "runner.h"

/* Errors as a whole: their mean square, over what the arithmetic gives, must be below VARIANCE_LIMIT. Only sums of up
 * to VARIANCE_K products count, as rounding of longer ones hides wrong products; and only over VARIANCE_LEAST elements,
 * as the mean is then known to a tenth. Errors of rounded operands are shared by a row or column: a product must have
 * VARIANCE_OPERANDS elements of each operand to count. */
#define VARIANCE_LIMIT    2
#define VARIANCE_K        64
#define VARIANCE_LEAST    200
#define VARIANCE_OPERANDS 32

void gt_case_name(const gt_case *c, char name[GT_CASE_NAME])
{
    const gt_problem *p = &c->problem;
    int length =
        snprintf(name, GT_CASE_NAME, "check %lldx%lldx%lld", (long long)p->m, (long long)p->n, (long long)p->k);
    if (p->batch > 1)
        length += snprintf(name + length, GT_CASE_NAME - (size_t)length, " batch %lld", (long long)p->batch);
    snprintf(name + length, GT_CASE_NAME - (size_t)length, ", alpha=%.9g beta=%.9g%s%s%s%s%s", c->alpha, c->beta,
             c->values == GT_VALUES_WIDE   ? ", wide values"
             : c->values == GT_VALUES_HARD ? ", nan and inf"
             : c->values == GT_VALUES_WHOLE ? ", whole numbers"
             : c->values == GT_VALUES_TIES ? ", sums next to ties"
             : c->values == GT_VALUES_STEEP ? ", one large product"
             : c->values == GT_VALUES_LARGE ? ", large integers"
             : c->values == GT_VALUES_UNEVEN ? ", elements far apart"
                                           : "",
             c->itself ? ", A by itself" : c->again ? ", again" : "",
             c->epilogue & GT_EPILOGUE_BIAS ? ", bias" : "",
             c->epilogue & GT_EPILOGUE_RELU ? ", relu" : c->epilogue & GT_EPILOGUE_GELU ? ", gelu" : "",
             c->beside ? ", D beside C" : "");
}

/* The smallest number of a type that has all its digits. */
static double least_normal(const gt_type_info *type)
{
    double digit = 1, place = 0;
    do {
        digit /= 2;
        type->store(&place, 0, 1 + digit);
    } while (type->load(&place, 0) == 1 + digit);
    return type->least / (2 * digit);
}

/*
 * Subnormal sums are rounded to a unit in every step. Operands that are rounded may be subnormal too, and meet others
 * that are up to four times a power of two. Tensor cores align products by the exponents of their operands, and a
 * subnormal number has that of the smallest normal one: seen on an H200, where sums of such products are cut earlier.
 */
static double underflow(const gt_case *c, const gt_types *types)
{
    if (c->values != GT_VALUES_WIDE || types->exact)
        return 0;
    const gt_type_info *small = gt_type_find(c->odd == GT_A ? types->a : types->b);
    const gt_type_info *large = gt_type_find(c->odd == GT_A ? types->b : types->a);
    const double sums = gt_type_find(types->accumulator)->least;
    const double rounded = types->rounded ? types->rounded->least : 0;
    const double cut = types->cut.group > 0 ? 2 * types->cut.product * least_normal(small) : 0;
    const double operands = ldexp(rounded + cut, 2 * large->most_scale + 2);
    return ((double)c->problem.k + 4) * (sums + operands) * (1 + fabs(c->alpha));
}

/* What is known of one element: NaN and infinities are as they are, anything else within `last` of the result's
 * magnitude and the square of a bound. What C's type may not hold becomes infinite. */
static bool matches(const gt_type_info *type, double got, double wanted, double last, double bound_square)
{
    const double beyond = fabs(got - wanted) - last * fabs(wanted);
    if (!isfinite(wanted)) /* its square is infinite, and so is the bound */
        return isnan(wanted) ? isnan(got) : got == wanted;
    if (beyond <= 0 || beyond * beyond <= bound_square)
        return true;
    return isinf(got) && (1 + last) * fabs(wanted) + sqrt(bound_square) > type->most && (got > 0) == (wanted > 0);
}

/* A number as C's type holds it. */
static double rounded(const gt_type_info *type, double value)
{
    double place = 0;
    type->store(&place, 0, value);
    return type->load(&place, 0);
}

static bool fail_element(const gt_case *c, int64_t index, int64_t i, int64_t j, double got, double wanted, double bound,
                         gt_trial *trial)
{
    char name[GT_CASE_NAME], product[40] = "";
    gt_case_name(c, name);
    if (c->problem.batch > 1)
        snprintf(product, sizeof product, " of product %lld", (long long)index);
    return gt_trial_fail(trial, GT_TRIAL_WRONG_RESULT, "element (%lld,%lld)%s is %.9g, expected %.9g within %.2g (%s)",
                         (long long)i, (long long)j, product, got, wanted, bound, name);
}

/* Whether elements are about as large as each other. */
static bool has_near_exponents(const gt_case *c)
{
    return c->values == GT_VALUES_NORMAL || c->values == GT_VALUES_HARD || c->values == GT_VALUES_WHOLE;
}

/* Whether there is one right result, in whatever order terms are summed. */
static bool is_exact(const gt_case *c)
{
    return c->values == GT_VALUES_WHOLE || c->values == GT_VALUES_TIES;
}

/* Whether the errors of a product are many enough, and independent enough, to be judged by their mean. */
static bool is_average(const gt_problem *p, const gt_types *types)
{
    const int64_t few = p->m < p->n ? p->m : p->n;
    return p->k <= VARIANCE_K && ((!types->rounded && types->parts == 0) || few * p->k >= VARIANCE_OPERANDS);
}

/* What the elements of a case are held to. */
typedef struct limits {
    gt_reference_terms terms;
    double least; /* the square of what underflow may lose */
    bool close;   /* exponents are near, or sums are rounded and never cut: the worst case is known */
} limits;

/* One element: the sums of its products, their squares and magnitudes, what C held before, the bias, the result. */
typedef struct element {
    double sum, square, magnitude, was, bias, got;
} element;

/* The square of how far an element may lie from what is wanted, beside what rounding the result itself may add. scaled
 * is what is wanted before the epilogue. */
static double find_bound(const gt_case *c, const gt_types *types, const limits *l, const element *x, double scaled)
{
    const gt_reference_terms *t = &l->terms;
    const double worst = t->worst * x->magnitude + t->worst_c * fabs(x->was);
    const double sums = t->bound_square * x->square + t->bound_c * x->was * x->was;
    const double result = t->result * (c->alpha * c->alpha * x->square + c->beta * c->beta * x->was * x->was);
    const double linear = (l->close ? fmin(sums, worst * worst) : sums + result) + t->least + l->least;
    if (c->epilogue == GT_EPILOGUE_NONE)
        return linear;
    const double around = sqrt(linear) + (l->close ? 0 : types->result_roundoff * fabs(x->bias));
    const double finished = gt_epilogue_bound(types, c->epilogue, scaled, x->bias, around);
    return finished * finished;
}

/* Adds an element's error to those that are judged by their mean. */
static void add_error(const gt_case *c, const gt_reference_terms *t, const element *x, double wanted, bool promotes, bool far,
                      gt_errors *e)
{
    const double ab = c->alpha * x->sum, bc = c->beta * x->was, error = fabs(x->got - wanted);
    const double of_sums = t->square_mean * x->square;
    const double variance = of_sums + t->parts * (ab * ab + bc * bc) + t->whole * wanted * wanted + t->least / 12;
    const double ratio = variance > 0 ? error * error / variance : 0;
    if (promotes) {
        e->promoted_sum += ratio;
        e->promoted_count++;
    } else if (variance > 0 && far) {
        e->far_sum += of_sums / variance * ratio;
        e->far_count += of_sums / variance;
    } else if (variance > 0) {
        const double share = of_sums / variance;
        e->sum += ratio;
        e->count++;
        e->sums_sum += share * ratio;
        e->sums_count += share;
    }
}

bool gt_compare_product(const gt_case *c, const gt_reference *r, int64_t index, const void *before, const void *bias,
                        const void *after, gt_errors *e, gt_trial *trial)
{
    const gt_problem *p = &c->problem;
    const gt_types *types = gt_class_types(&p->class);
    const gt_type_info *type = gt_type_find(p->class.type_c);
    const bool normal = c->values == GT_VALUES_NORMAL && !types->exact && c->epilogue == GT_EPILOGUE_NONE;
    const bool counts = normal && !c->itself && is_average(p, types);
    const bool promotes = normal && types->parts > 0 && p->k >= GT_SUMS_K;
    const bool far = c->values == GT_VALUES_UNEVEN && c->uneven == GT_UNEVEN_FAR && c->epilogue == GT_EPILOGUE_NONE &&
                     p->k <= VARIANCE_K;
    const double lost = underflow(c, types);
    const limits l = {.terms = gt_reference_terms_of(types, p->k, 0, c->alpha, c->beta),
                      .least = lost * lost,
                      .close = types->cut.group == 0 || (types->parts == 0 && has_near_exponents(c))};
    const double last = l.close ? l.terms.bound_last : 0;
    int64_t at = index * p->m * p->n;
    for (int64_t i = 0; i < p->m; i++) {
        const int64_t row = index * p->stride_c + i * p->ldc;
        for (int64_t j = 0; j < p->n; j++, at++) {
            const element x = {.sum = r->sum[at],
                               .square = c->alpha == 0 ? 0 : r->square[at],
                               .magnitude = r->magnitude[at],
                               .was = c->beta == 0 ? 0 : type->load(before, row + j),
                               .bias = gt_case_bias(c) > 0 ? type->load(bias, j) : 0,
                               .got = type->load(after, row + j)};
            const double scaled = gt_reference_scale(types, c->alpha, x.sum, c->beta, x.was);
            const double wanted = gt_epilogue_activate(c->epilogue, gt_epilogue_add(types, scaled, x.bias));
            const double bound = find_bound(c, types, &l, &x, scaled);
            if (is_exact(c) && x.got != rounded(type, wanted))
                return fail_element(c, index, i, j, x.got, wanted, 0, trial);
            if (!matches(type, x.got, wanted, last, bound))
                return fail_element(c, index, i, j, x.got, wanted, last * fabs(wanted) + sqrt(bound), trial);
            if (far)
                add_error(c, &l.terms, &x, wanted, false, true, e);
            if (!normal || !isfinite(x.got))
                continue;
            const double error = fabs(x.got - wanted);
            const double scale = fabs(c->alpha) * x.magnitude + fabs(c->beta * x.was);
            if (error > trial->error * scale && scale > 0)
                trial->error = error / scale;
            if (counts || promotes)
                add_error(c, &l.terms, &x, wanted, promotes, false, e);
        }
    }
    return true;
}

bool gt_compare_errors(const gt_errors *e, gt_trial *trial)
{
    const struct {
        const char *what;
        double sum, count;
    } kinds[] = {{"errors", e->sum, e->count}, {"errors of sums", e->sums_sum, e->sums_count},
                 {"errors of long sums", e->promoted_sum, e->promoted_count},
                 {"errors of elements far apart", e->far_sum, e->far_count}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].count >= VARIANCE_LEAST && kinds[i].sum > VARIANCE_LIMIT * kinds[i].count)
            return gt_trial_fail(trial, GT_TRIAL_WRONG_RESULT,
                                 "%s are %.3g times the arithmetic's own: root mean square over %.0f elements",
                                 kinds[i].what, sqrt(kinds[i].sum / kinds[i].count), kinds[i].count);
    return true;
}
