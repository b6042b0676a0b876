/* How good estimates are: whether the library would choose well by them, and how they order trials. */
#include "fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"
#include "../../src/runtime/select.h"

#define FIRST          8 /* kernels that a search would try */
#define FEWEST_ORDERED 5 /* trials of a problem that have an order worth looking at */

/* Leaves a problem's own measurements out, and all kernels that were not measured on it: those cannot be judged
 * there. ids has room for as many as there are measurements. */
static void leave_out(const gt_measurements *from, const gt_problem *problem, int64_t *ids, gt_measurements *to)
{
    size_t own = 0;
    to->count = 0;
    for (size_t i = 0; i < from->count; i++)
        if (gt_problem_same_size(&from->list[i].problem, problem))
            ids[own++] = from->list[i].kernel_id;
    for (size_t i = 0; i < from->count; i++) {
        bool here = false;
        if (gt_problem_same_size(&from->list[i].problem, problem))
            continue;
        for (size_t j = 0; !here && j < own; j++)
            here = ids[j] == from->list[i].kernel_id;
        if (here) {
            to->list[to->count] = from->list[i];
            to->list[to->count++].estimate_us = 0;
        }
    }
}

/* The time on a problem of the kernel with an id, or (id 0) of the fastest of those that `among` lists. */
static double find_us(const gt_measurements *all, const gt_measurements *among, const gt_problem *problem, int64_t id)
{
    double best = INFINITY;
    for (size_t i = 0; i < all->count; i++) {
        const gt_measured *row = &all->list[i];
        bool listed = false;
        if (!gt_problem_same_size(&row->problem, problem) || (id != 0 && row->kernel_id != id))
            continue;
        for (size_t j = 0; !listed && j < among->count; j++)
            listed = among->list[j].kernel_id == row->kernel_id;
        if (listed)
            best = fmin(best, gt_measured_us(row));
    }
    return best;
}

/* The rank of the best kernel among the choices for a problem: each choice is made without those before it. */
static size_t place_of_best(const gt_device *device, const gt_problem *problem, const gt_measurements *all,
                            const gt_measurements *among, double best_us)
{
    const gt_demands demands = {.as_made = true};
    gt_measurements rest = *among;
    gt_selection selection;
    size_t place = 1;
    if (!(rest.list = malloc((among->count + 1) * sizeof *rest.list)))
        return SIZE_MAX;
    memcpy(rest.list, among->list, among->count * sizeof *rest.list);
    for (; place <= FIRST && gt_select(device, problem, &demands, &rest, &selection) == GT_OK; place++) {
        const int64_t id = rest.list[selection.index].kernel_id;
        size_t kept = 0;
        if (find_us(all, among, problem, id) <= best_us)
            break;
        for (size_t i = 0; i < rest.count; i++)
            if (rest.list[i].kernel_id != id)
                rest.list[kept++] = rest.list[i];
        rest.count = kept;
    }
    free(rest.list);
    return place;
}

static gt_status judge_choices(const gt_device *device, const gt_measurements *lists, size_t count,
                               const gt_fitted *fitted, size_t fitted_count, gt_fit_choices *out)
{
    double sum = 0;
    size_t first = 0;
    *out = (gt_fit_choices){.worst = 1};
    for (size_t l = 0; l < count; l++) {
        const gt_measurements *all = &lists[l];
        gt_measurements others = {.list = calloc(all->count + 1, sizeof *others.list), .fitted = (gt_fitted *)fitted,
                                  .fitted_count = fitted_count};
        int64_t *ids = calloc(all->count + 1, sizeof *ids);
        if (!others.list || !ids) {
            free(others.list);
            free(ids);
            return gt_fail_memory();
        }
        for (size_t i = 0; i < all->count; i++) {
            const gt_demands demands = {.as_made = true};
            const gt_problem *problem = &all->list[i].problem;
            gt_selection selection;
            size_t before = 0;
            while (!gt_problem_same_size(&all->list[before].problem, problem))
                before++;
            if (before < i)
                continue;
            leave_out(all, problem, ids, &others);
            if (others.count < 2 || gt_select(device, problem, &demands, &others, &selection) != GT_OK)
                continue;
            const double best = find_us(all, &others, problem, 0);
            const double ratio = find_us(all, &others, problem, others.list[selection.index].kernel_id) / best;
            first += place_of_best(device, problem, all, &others, best) <= FIRST;
            sum += log(ratio);
            out->problems++;
            if (ratio > out->worst) {
                out->worst = ratio;
                out->worst_problem = *problem;
            }
        }
        free(others.list);
        free(ids);
    }
    out->mean = out->problems > 0 ? exp(sum / (double)out->problems) : 1;
    out->among_first = out->problems > 0 ? (double)first / (double)out->problems : 1;
    return GT_OK;
}

/* The place of each of some numbers among them, ties in the middle. */
static void rank_numbers(const double *numbers, size_t count, double *ranks)
{
    for (size_t i = 0; i < count; i++) {
        ranks[i] = 0;
        for (size_t j = 0; j < count; j++)
            ranks[i] += numbers[j] < numbers[i] ? 1 : numbers[j] == numbers[i] ? 0.5 : 0;
    }
}

/* Spearman's rank correlation of two lists; scratch has room for both. 0 where one has no order. */
static double correlate(const double *x, const double *y, size_t count, double *scratch)
{
    double *a = scratch, *b = scratch + count, xy = 0, xx = 0, yy = 0;
    const double mean = (double)count / 2;
    rank_numbers(x, count, a);
    rank_numbers(y, count, b);
    for (size_t i = 0; i < count; i++) {
        xy += (a[i] - mean) * (b[i] - mean);
        xx += (a[i] - mean) * (a[i] - mean);
        yy += (b[i] - mean) * (b[i] - mean);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

/* Whether nothing before the i-th was measured on its problem. */
static bool is_first(const gt_measurements *all, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (gt_problem_same_size(&all->list[j].problem, &all->list[i].problem) &&
            gt_class_same(&all->list[j].problem.class, &all->list[i].problem.class))
            return false;
    return true;
}

static gt_status judge_order(const gt_device *device, const gt_measurements *lists, size_t count,
                             const gt_fitted *fitted, size_t fitted_count, gt_fit_order *out)
{
    size_t most = 0;
    for (size_t l = 0; l < count; l++)
        most = lists[l].count > most ? lists[l].count : most;
    double *memory = calloc(5 * most + 1, sizeof *memory), *us = memory, *before = us + most, *after = before + most;
    if (!memory)
        return gt_fail_memory();
    *out = (gt_fit_order){0};
    for (size_t l = 0; l < count; l++)
        for (size_t i = 0; i < lists[l].count; i++) {
            const gt_problem *problem = &lists[l].list[i].problem;
            size_t trials = 0;
            for (size_t j = i; is_first(&lists[l], i) && j < lists[l].count; j++) {
                const gt_measured *row = &lists[l].list[j];
                gt_terms terms;
                if (!gt_problem_same_size(&row->problem, problem) ||
                    !gt_class_same(&row->problem.class, &problem->class) ||
                    !gt_estimate_terms(device, row->kernel, problem, &terms, NULL))
                    continue;
                us[trials] = gt_measured_us(row);
                before[trials] = gt_estimate_us(&terms, gt_coefficients_shipped(row->kernel->family, &problem->class));
                after[trials++] = gt_estimate_us(&terms, gt_coefficients_find(fitted, fitted_count, row->kernel->family,
                                                                              &problem->class));
            }
            if (trials < FEWEST_ORDERED)
                continue;
            out->before += correlate(before, us, trials, after + most);
            out->after += correlate(after, us, trials, after + most);
            out->problems++;
        }
    if (out->problems > 0) {
        out->before /= (double)out->problems;
        out->after /= (double)out->problems;
    }
    free(memory);
    return GT_OK;
}

gt_status gt_fit_judge(const gt_device *device, const gt_measurements *lists, size_t count, const gt_fitted *fitted,
                       gt_fit *fit)
{
    gt_status status = judge_choices(device, lists, count, NULL, 0, &fit->before);
    if (status == GT_OK)
        status = judge_choices(device, lists, count, fitted, fit->count, &fit->after);
    return status == GT_OK ? judge_order(device, lists, count, fitted, fit->count, &fit->order) : status;
}
