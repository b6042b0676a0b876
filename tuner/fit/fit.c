#include "fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"

/* A fit begins with the shipped coefficients and stays near them where trials say little: moving a coefficient by x, in
 * logarithms, costs as much as PRIOR_TRIALS trials with an error of x / 10 each. */
#define PRIOR_TRIALS 20.0

/* Steps of a coefficient's logarithm: halved from the first to the last whenever no step helps. */
#define FIRST_STEP 0.5
#define LAST_STEP  0.004

/* Larger errors, in logarithms, count as this one: a kernel that spills must not bend the coefficients of all
 * others. */
#define LARGEST_ERROR 0.7

#define FEWEST 12 /* trials of a family that are worth a fit */

/* The least that coefficients may be, whatever few trials say: nominal rates, with some allowance for caches and for
 * instructions that are issued beside multiply-adds. */
static const gt_terms least_coefficients = {.compute = 0.75, .l2 = 0.5, .memory = 0.8};

/* One measurement. */
typedef struct sample {
    const gt_measured *row;
    gt_terms terms;
    bool odd; /* which half of the problems it belongs to, for fits to one that are judged by the other */
} sample;

typedef struct samples {
    sample *list;
    size_t count;
} samples;

static double error_of(const sample *s, const gt_terms *coefficients)
{
    return log(gt_estimate_us(&s->terms, coefficients) / gt_measured_us(s->row));
}

/* The sum that a fit minimises. half: 0 or 1, of the samples of that half; 2, of all. */
static double loss(const samples *all, int half, const gt_terms *coefficients, const gt_terms *prior)
{
    gt_terms now = *coefficients, then = *prior;
    double sum = 0;
    for (size_t i = 0; i < all->count; i++)
        if (half == 2 || all->list[i].odd == (half == 1)) {
            const double error = fmin(fabs(error_of(&all->list[i], coefficients)), LARGEST_ERROR);
            sum += error * error;
        }
    for (size_t i = 0; i < GT_TERM_COUNT; i++) {
        const double moved = log(*gt_term(&now, i) / *gt_term(&then, i));
        sum += PRIOR_TRIALS * 0.01 * moved * moved;
    }
    return sum;
}

/* Least squares of logarithms by coordinate descent, one coefficient after the other. */
static gt_terms fit_terms(const samples *all, int half, const gt_terms *prior)
{
    gt_terms best = *prior, floors = least_coefficients;
    double least = loss(all, half, &best, prior);
    for (double step = FIRST_STEP; step > LAST_STEP;) {
        bool better = false;
        for (size_t i = 0; i < 2 * GT_TERM_COUNT; i++) {
            gt_terms tried = best;
            *gt_term(&tried, i / 2) *= exp(i % 2 ? step : -step);
            const double now = loss(all, half, &tried, prior);
            if (now < least * (1 - 1e-9) && *gt_term(&tried, i / 2) >= *gt_term(&floors, i / 2)) {
                least = now;
                best = tried;
                better = true;
            }
        }
        if (!better)
            step /= 2;
    }
    return best;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of |errors|, of one half or of all. */
static double median_error(const samples *all, int half, const gt_terms *coefficients, double *scratch)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++)
        if (half == 2 || all->list[i].odd == (half == 1))
            scratch[count++] = fabs(error_of(&all->list[i], coefficients));
    qsort(scratch, count, sizeof *scratch, by_size);
    return count > 0 ? scratch[count / 2] : 0;
}

static gt_status fit_family(const samples *all, bool judge, gt_fit_family *family)
{
    const gt_class *class = all->count > 0 ? &all->list[0].row->problem.class : NULL;
    const gt_terms *shipped = gt_coefficients_shipped(family->fitted.family, class);
    size_t halves[2] = {0};
    double *scratch = calloc(all->count + 1, sizeof *scratch);
    if (!scratch)
        return gt_fail_memory();
    family->trials = all->count;
    family->fitted.coefficients = all->count >= FEWEST ? fit_terms(all, 2, shipped) : *shipped;
    family->shipped = median_error(all, 2, shipped, scratch);
    family->error = median_error(all, 2, &family->fitted.coefficients, scratch);
    for (size_t i = 0; i < all->count; i++)
        halves[all->list[i].odd]++;
    if (judge && halves[0] >= FEWEST && halves[1] >= FEWEST)
        for (int half = 0; half < 2; half++) {
            const gt_terms other = fit_terms(all, 1 - half, shipped);
            family->held_out += 0.5 * median_error(all, half, &other, scratch);
        }
    free(scratch);
    return GT_OK;
}

/* The samples of one family. All trials of a problem are in the same half. */
static gt_status collect(const gt_device *device, const gt_measurements *lists, size_t count, const char *family,
                         samples *out)
{
    size_t room = 0;
    *out = (samples){0};
    for (size_t i = 0; i < count; i++)
        room += lists[i].count;
    if (!(out->list = calloc(room + 1, sizeof *out->list)))
        return gt_fail_memory();
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < lists[i].count; j++) {
            const gt_measured *row = &lists[i].list[j];
            sample *s = &out->list[out->count];
            if (strcmp(row->kernel->family, family) != 0 ||
                !gt_estimate_terms(device, row->kernel, &row->problem, &s->terms, NULL))
                continue;
            s->row = row;
            s->odd = gt_problem_hash(&row->problem) >> 7 & 1;
            out->count++;
        }
    return GT_OK;
}

static int by_name(const void *a, const void *b)
{
    const gt_fit_family *x = a, *y = b;
    return strcmp(x->fitted.family, y->fitted.family);
}

static gt_status list_families(const gt_measurements *lists, size_t count, gt_fit *fit)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < lists[i].count; j++) {
            const char *name = lists[i].list[j].kernel->family;
            size_t at = 0;
            while (at < fit->count && strcmp(fit->families[at].fitted.family, name) != 0)
                at++;
            if (at < fit->count)
                continue;
            gt_fit_family *more = realloc(fit->families, (fit->count + 1) * sizeof *more);
            if (!more)
                return gt_fail_memory();
            fit->families = more;
            more[fit->count] = (gt_fit_family){0};
            memcpy(more[fit->count++].fitted.family, name, GT_FAMILY_LENGTH);
        }
    if (fit->count > 0)
        qsort(fit->families, fit->count, sizeof *fit->families, by_name);
    return GT_OK;
}

gt_status gt_fit_init(const gt_device *device, const gt_measurements *lists, size_t count, bool judge, gt_fit *fit)
{
    *fit = (gt_fit){0};
    gt_fitted *fitted = NULL;
    gt_status status = list_families(lists, count, fit);
    for (size_t i = 0; status == GT_OK && i < fit->count; i++) {
        samples all;
        status = collect(device, lists, count, fit->families[i].fitted.family, &all);
        if (status == GT_OK)
            status = fit_family(&all, judge, &fit->families[i]);
        free(all.list);
    }
    if (status == GT_OK && !(fitted = calloc(fit->count + 1, sizeof *fitted)))
        status = gt_fail_memory();
    for (size_t i = 0; status == GT_OK && i < fit->count; i++)
        fitted[i] = fit->families[i].fitted;
    if (status == GT_OK && judge)
        status = gt_fit_judge(device, lists, count, fitted, fit);
    free(fitted);
    return status;
}

void gt_fit_finish(gt_fit *fit)
{
    free(fit->families);
    *fit = (gt_fit){0};
}

gt_status gt_fit_read(gt_store *store, const gt_device *device, const gt_types *types, gt_measurements lists[GT_FIT_LISTS])
{
    gt_status status = GT_OK;
    for (int i = 0; status == GT_OK && i < GT_FIT_LISTS; i++) {
        const gt_class class = {.type_a = types->a, .type_b = types->b, .type_c = types->c, .math = types->math,
                                .op_a = i & 2 ? GT_T : GT_N, .op_b = i & 1 ? GT_T : GT_N, .align = 16};
        status = gt_store_find_measured(store, device, &class, &lists[i]);
    }
    return status;
}

gt_status gt_fit_store(gt_store *store, int64_t gpu, const gt_types *types, const gt_fit *fit)
{
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && i < fit->count; i++)
        if (fit->families[i].trials >= FEWEST)
            status = gt_store_put_fitted(store, gpu, types, &fit->families[i].fitted, 1);
    return status;
}

gt_status gt_fit_stored(gt_store *store, const gt_device *device, int64_t gpu, const gt_types *types)
{
    gt_measurements lists[GT_FIT_LISTS] = {0};
    gt_fit fit = {0};
    gt_status status = gt_fit_read(store, device, types, lists);
    if (status == GT_OK)
        status = gt_fit_init(device, lists, GT_FIT_LISTS, false, &fit);
    if (status == GT_OK)
        status = gt_fit_store(store, gpu, types, &fit);
    gt_fit_finish(&fit);
    for (int i = 0; i < GT_FIT_LISTS; i++)
        gt_measurements_finish(&lists[i]);
    return status;
}
