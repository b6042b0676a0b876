#include "neighbours.h"

#include <math.h>
#include <string.h>

/* Weights of measurements, by their squared distance to the problem in logarithms of sizes. At NEAR a measurement has
 * half its weight. The family's mean counts as one measurement at FAMILY_NEAR: that is where a kernel's own
 * measurements say as little as those of its family. Of 1, 2, 4, 8 and 16, 4 makes the best choices in three tables of trials. */
#define NEAR        0.02
#define FAMILY_NEAR 4.0

/* What a row's cold time may count for, as a logarithm: seven times the other, or a seventh of it, is no measurement. */
#define COLD_MOST 1.0

double gt_neighbours_distance2(const gt_problem *a, const gt_problem *b)
{
    const double steps[] = {
        log((double)(a->m + 1) / (double)(b->m + 1)), log((double)(a->n + 1) / (double)(b->n + 1)),
        log((double)(a->k + 1) / (double)(b->k + 1)), log((double)a->batch / (double)b->batch)};
    double sum = 0;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        sum += steps[i] * steps[i];
    return sum;
}

/* A kernel that would be launched in other parts of K than it was measured in is farther by the factor between them. */
static double split_distance2(const gt_neighbour *entry, const gt_kernel *kernel)
{
    const double step = entry->parts > 0 ? log((double)entry->parts / (double)kernel->facts.split_k) : 0;
    return step * step;
}

const gt_terms *gt_neighbours_coefficients(const gt_measurements *measured, const gt_kernel *kernel,
                                           const gt_class *class)
{
    return gt_coefficients_find(measured->fitted, measured->fitted_count, kernel->family, class);
}

void gt_neighbours_compare(const gt_device *device, const gt_problem *problem, const gt_measurements *measured,
                           gt_neighbours *all)
{
    for (size_t i = 0; i < all->count; i++) {
        gt_neighbour *e = &all->list[i];
        const gt_measured *row = &measured->list[e->row];
        gt_terms terms;
        double us = row->estimate_us;
        if (us <= 0 && gt_estimate_terms(device, row->kernel, &row->problem, &terms, NULL))
            us = gt_estimate_us(&terms, gt_neighbours_coefficients(measured, row->kernel, &row->problem.class));
        e->far = gt_neighbours_distance2(problem, &row->problem) + split_distance2(e, row->kernel);
        e->ratio = us > 0 && isfinite(us) ? log(gt_measured_us(row) / us) : NAN;
        const double cold = log(gt_trial_deciding_us(&row->trial) / row->trial.us);
        e->cold = fmin(fmax(cold, -COLD_MOST), COLD_MOST);
    }
}

/* A weighted mean of ratios: nearer measurements weigh more. */
typedef struct mean {
    double sum, cold, squares, weights;
    double least; /* squared distance */
    size_t nearest; /* row */
} mean;

static mean average(const gt_measurements *measured, const gt_neighbour *entries, size_t count, const char *family)
{
    mean m = {.least = INFINITY};
    for (const gt_neighbour *e = entries; e < entries + count; e++) {
        if (isnan(e->ratio) || (family && strcmp(measured->list[e->row].kernel->family, family) != 0))
            continue;
        const double weight = 1 / (NEAR + e->far);
        m.sum += weight * e->ratio;
        m.cold += weight * e->cold;
        m.squares += weight * e->ratio * e->ratio;
        m.weights += weight;
        if (e->far < m.least) {
            m.least = e->far;
            m.nearest = e->row;
        }
    }
    return m;
}

static gt_family_ratio ratio_of_family(const gt_measurements *measured, gt_neighbours *all, const char *family)
{
    for (size_t i = 0; i < all->family_count; i++)
        if (strcmp(all->families[i].family, family) == 0)
            return all->families[i];
    const mean m = average(measured, all->list, all->count, family);
    gt_family_ratio found = {0};
    memcpy(found.family, family, sizeof found.family);
    if (m.weights > 0) {
        found.ratio = m.sum / m.weights;
        found.cold = m.cold / m.weights;
        found.spread = sqrt(fmax(0, m.squares / m.weights - found.ratio * found.ratio));
    }
    if (all->family_count < sizeof all->families / sizeof all->families[0])
        all->families[all->family_count++] = found;
    return found;
}

bool gt_neighbours_predict(const gt_measurements *measured, gt_neighbours *all, const gt_neighbour *own, size_t count,
                           gt_prospect *out)
{
    const double family_weight = 1 / (NEAR + FAMILY_NEAR);
    mean m = average(measured, own, count, NULL);
    if (m.weights <= 0)
        return false;
    const gt_family_ratio family = ratio_of_family(measured, all, measured->list[own[0].row].kernel->family);
    m.sum += family_weight * family.ratio;
    m.cold += family_weight * family.cold;
    m.weights += family_weight;
    const double us = own[0].estimate_us * exp(m.sum / m.weights);
    const double distrust = (1 + GT_DISTRUST * sqrt(m.least)) * (1 + GT_DISTRUST_SPREAD * family.spread);
    *out = (gt_prospect){m.nearest, us, us * exp(m.cold / m.weights) * distrust, own[0].parts};
    return isfinite(us) && us > 0;
}
