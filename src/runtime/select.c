#include "select.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/launch.h"

/* The squared distance, in logarithms of sizes, that halves the weight of a measurement; and the one at which a kernel's
 * own measurements say as much about it as those of its family near the problem. */
#define NEAR        0.02
#define FAMILY_NEAR 2.0

/* A prediction is trusted less the farther it reaches: so much of it for each factor of e in the sizes. Of many
 * kernels with optimistic and pessimistic predictions, the smallest is likely an optimistic one. */
#define DISTRUST 0.10

/* Distance of two sizes in log-space: a product of sizes tells nothing, 256x4096 and 1024x1024 are far apart. */
static double distance2(const gt_problem *a, const gt_problem *b)
{
    const double steps[] = {
        log((double)(a->m + 1) / (double)(b->m + 1)), log((double)(a->n + 1) / (double)(b->n + 1)),
        log((double)(a->k + 1) / (double)(b->k + 1)), log((double)a->batch / (double)b->batch)};
    double sum = 0;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        sum += steps[i] * steps[i];
    return sum;
}

static const gt_terms *coefficients_of(const gt_measurements *measured, const gt_kernel *kernel)
{
    return gt_estimate_find(measured->fitted, measured->fitted_count, kernel->family);
}

/* A measurement that may be used. */
typedef struct entry {
    size_t row;         /* in the list */
    double estimate_us; /* of its kernel on the problem */
    double far;         /* squared distance to the problem */
    double ratio;       /* logarithm of the time over its own estimate; NaN: there is none */
} entry;

/* What a family's measurements near a problem are over their estimates, found once for each. */
typedef struct family_ratio {
    char family[GT_FAMILY_LENGTH];
    double ratio;
} family_ratio;

/* What the search below looks at: the measurements that may be used, kernel by kernel. */
typedef struct usable {
    entry *entries; /* a kernel's own together */
    size_t count;
    bool refused; /* something fitted the problem, but not the demands */
    family_ratio families[32];
    size_t family_count;
} usable;

/* Distances and ratios, once for all kernels and families. */
static void compare(const gt_device *device, const gt_problem *problem, const gt_measurements *measured, usable *pool)
{
    for (size_t i = 0; i < pool->count; i++) {
        entry *e = &pool->entries[i];
        const gt_measured *row = &measured->list[e->row];
        gt_terms terms;
        double us = row->estimate_us;
        if (us <= 0 && gt_estimate_terms(device, row->kernel, &row->problem, &terms, NULL))
            us = gt_estimate_us(&terms, coefficients_of(measured, row->kernel));
        e->far = distance2(problem, &row->problem);
        e->ratio = us > 0 && isfinite(us) ? log(row->trial.us / us) : NAN;
    }
}

/* A mean of ratios, the nearer to the problem the weightier. */
typedef struct mean {
    double sum, weights;
    double least; /* squared distance */
    size_t nearest; /* row */
} mean;

static mean average(const gt_measurements *measured, const entry *entries, size_t count, const char *family)
{
    mean m = {.least = INFINITY};
    for (const entry *e = entries; e < entries + count; e++) {
        if (isnan(e->ratio) || (family && strcmp(measured->list[e->row].kernel->family, family) != 0))
            continue;
        const double weight = 1 / (NEAR + e->far);
        m.sum += weight * e->ratio;
        m.weights += weight;
        if (e->far < m.least) {
            m.least = e->far;
            m.nearest = e->row;
        }
    }
    return m;
}

static double ratio_of_family(const gt_measurements *measured, usable *pool, const char *family)
{
    for (size_t i = 0; i < pool->family_count; i++)
        if (strcmp(pool->families[i].family, family) == 0)
            return pool->families[i].ratio;
    const mean m = average(measured, pool->entries, pool->count, family);
    const double ratio = m.weights > 0 ? m.sum / m.weights : 0;
    if (pool->family_count < sizeof pool->families / sizeof pool->families[0]) {
        family_ratio *found = &pool->families[pool->family_count++];
        memcpy(found->family, family, sizeof found->family);
        found->ratio = ratio;
    }
    return ratio;
}

/* One kernel on the problem. */
typedef struct prospect {
    size_t nearest; /* of its measurements */
    double us, score;
} prospect;

static bool predict(const gt_measurements *measured, usable *pool, const entry *own, size_t count, prospect *out)
{
    const double family_weight = 1 / (NEAR + FAMILY_NEAR);
    mean m = average(measured, own, count, NULL);
    if (m.weights <= 0)
        return false;
    m.sum += family_weight * ratio_of_family(measured, pool, measured->list[own[0].row].kernel->family);
    m.weights += family_weight;
    const double us = own[0].estimate_us * exp(m.sum / m.weights);
    *out = (prospect){m.nearest, us, us * (1 + DISTRUST * sqrt(m.least))};
    return isfinite(us) && us > 0;
}

double gt_select_predict(const gt_device *device, const gt_problem *problem, const gt_measurements *measured,
                         const size_t *rows, size_t count, size_t *nearest)
{
    const gt_kernel *kernel = measured->list[rows[0]].kernel;
    usable pool = {.entries = calloc(count, sizeof *pool.entries), .count = count};
    gt_terms terms;
    prospect found = {0};
    if (pool.entries && gt_estimate_terms(device, kernel, problem, &terms, NULL)) {
        for (size_t i = 0; i < count; i++)
            pool.entries[i] = (entry){
                .row = rows[i], .estimate_us = gt_estimate_us(&terms, coefficients_of(measured, kernel))};
        compare(device, problem, measured, &pool);
        if (predict(measured, &pool, pool.entries, count, &found))
            *nearest = found.nearest;
        else
            found.us = 0;
    }
    free(pool.entries);
    return found.us;
}

/* 0 is best: a clock on this GPU, a clock on another of the architecture, then the software GPU's model. */
static int rank(const gt_measured *row)
{
    return (row->trial.modelled ? 2 : 0) + (row->same_gpu ? 0 : 1);
}

static bool fits(const gt_problem *problem, const gt_measured *row)
{
    return row->trial.outcome == GT_TRIAL_OK && isfinite(row->trial.us) && row->trial.us > 0 && row->problem.k >= 0 &&
           row->problem.batch > 0 && gt_class_serves(&row->problem.class, &problem->class);
}

/* A kernel's estimate on the problem; 0 where it cannot be launched, or not with a workspace that can be had. */
static double estimate(const gt_device *device, const gt_problem *problem, const gt_demands *demands,
                       const gt_measurements *measured, const gt_kernel *kernel)
{
    gt_terms terms;
    size_t workspace;
    const bool runs = gt_estimate_terms(device, kernel, problem, &terms, &workspace) &&
                      (demands->refused == 0 || workspace < demands->refused) &&
                      (device->memory_bytes <= 0 || workspace < (size_t)device->memory_bytes);
    return runs ? gt_estimate_us(&terms, coefficients_of(measured, kernel)) : 0;
}

static bool is_accurate(const gt_demands *demands, const gt_measured *row)
{
    return demands->max_error <= 0 || row->trial.error <= demands->max_error;
}

static int by_kernel(const void *left, const void *right, void *data)
{
    const gt_measured *list = data;
    const size_t a = ((const entry *)left)->row, b = ((const entry *)right)->row;
    const int64_t x = list[a].kernel_id, y = list[b].kernel_id;
    return x != y ? (x > y) - (x < y) : (a > b) - (a < b);
}

static size_t group_end(const usable *pool, const gt_measured *list, size_t begin)
{
    size_t end = begin + 1;
    while (end < pool->count && list[pool->entries[end].row].kernel_id == list[pool->entries[begin].row].kernel_id)
        end++;
    return end;
}

/* Of a sorted pool the kernels that can run the problem, with their estimates. */
static void keep_runnable(const gt_device *device, const gt_problem *problem, const gt_demands *demands,
                          const gt_measurements *measured, usable *pool)
{
    size_t kept = 0;
    for (size_t begin = 0, end; begin < pool->count; begin = end) {
        end = group_end(pool, measured->list, begin);
        const double us = estimate(device, problem, demands, measured, measured->list[pool->entries[begin].row].kernel);
        for (size_t i = begin; us > 0 && i < end; i++)
            pool->entries[kept++] = (entry){.row = pool->entries[i].row, .estimate_us = us};
    }
    pool->count = kept;
}

/* Fills the pool with the best-ranked usable measurements. Accuracy is asked for later: it is a fact of one problem
 * where that was measured, else of all that a kernel was measured on. */
static gt_status pool_init(const gt_device *device, const gt_problem *problem, const gt_demands *demands,
                           const gt_measurements *measured, usable *out)
{
    const gt_measured *list = measured->list;
    usable pool = {.entries = malloc((measured->count + 1) * sizeof *pool.entries)};
    if (!pool.entries)
        return gt_fail_memory();
    for (size_t i = 0; i < measured->count; i++) {
        if (!fits(problem, &list[i]))
            continue;
        if (demands->deterministic && !list[i].kernel->facts.deterministic)
            pool.refused = true;
        else
            pool.entries[pool.count++] = (entry){.row = i};
    }
    qsort_r(pool.entries, pool.count, sizeof *pool.entries, by_kernel, (void *)list);
    keep_runnable(device, problem, demands, measured, &pool);
    int best = 4;
    size_t kept = 0;
    for (size_t i = 0; i < pool.count; i++)
        best = rank(&list[pool.entries[i].row]) < best ? rank(&list[pool.entries[i].row]) : best;
    for (size_t i = 0; i < pool.count; i++)
        if (rank(&list[pool.entries[i].row]) == best)
            pool.entries[kept++] = pool.entries[i];
    pool.count = kept;
    compare(device, problem, measured, &pool);
    *out = pool;
    return GT_OK;
}

/* Whether a is the better measurement of the same problem: rendered for more alignment, the race's winner, faster. */
static bool is_better(const gt_measured *a, const gt_measured *b)
{
    if (a->problem.class.align != b->problem.class.align)
        return a->problem.class.align > b->problem.class.align;
    if (a->winner != b->winner)
        return a->winner;
    return a->trial.us < b->trial.us;
}

/*
 * The time that a baseline is expected to need where no baseline was timed: as much more than the kernel as on the
 * nearest size where both were, against the fastest kernel there. Like a prediction it is trusted less the farther that
 * is: the baseline may do better here.
 */
static double expect_baseline(const gt_measured *list, const usable *pool, double expected_us)
{
    const gt_measured *nearest = NULL;
    double least = INFINITY;
    for (size_t i = 0; i < pool->count; i++) {
        const gt_measured *row = &list[pool->entries[i].row];
        const double far = pool->entries[i].far;
        if (row->baseline_us > 0 && (far < least || (far == least && row->trial.us < nearest->trial.us))) {
            nearest = row;
            least = far;
        }
    }
    return nearest ? expected_us * nearest->baseline_us / nearest->trial.us / (1 + DISTRUST * sqrt(least)) : 0;
}

static bool select_exact(const gt_problem *problem, const gt_demands *demands, const gt_measured *list,
                         const usable *pool, gt_selection *out)
{
    const gt_measured *best = NULL;
    size_t kernels = 0;
    for (size_t i = 0; i < pool->count; i++) {
        const gt_measured *row = &list[pool->entries[i].row];
        if (!row->same_gpu || !gt_problem_same_size(&row->problem, problem) || !is_accurate(demands, row))
            continue;
        kernels++;
        if (!best || is_better(row, best))
            best = row;
    }
    if (!best)
        return false;
    *out = (gt_selection){
        .index = (size_t)(best - list), .choice = GT_CHOICE_EXACT, .expected_us = best->trial.us,
        .baseline_us = best->baseline_us > 0 ? best->baseline_us : expect_baseline(list, pool, best->trial.us),
        .modelled = best->trial.modelled,
    };
    if (best->winner)
        snprintf(out->reason, sizeof out->reason, "tuned for this problem");
    else
        snprintf(out->reason, sizeof out->reason, "fastest of %zu kernel%s measured on this problem", kernels,
                 kernels == 1 ? "" : "s");
    return true;
}

static int by_size(const void *left, const void *right, void *data)
{
    const gt_measured *list = data;
    const gt_problem *a = &list[((const entry *)left)->row].problem, *b = &list[((const entry *)right)->row].problem;
    return a->m != b->m   ? (a->m > b->m) - (a->m < b->m)
           : a->n != b->n ? (a->n > b->n) - (a->n < b->n)
           : a->k != b->k ? (a->k > b->k) - (a->k < b->k)
                          : (a->batch > b->batch) - (a->batch < b->batch);
}

/* Sorts the pool by sizes. */
static size_t count_sizes(const gt_measured *list, usable *pool)
{
    size_t sizes = 0;
    qsort_r(pool->entries, pool->count, sizeof *pool->entries, by_size, (void *)list);
    for (size_t i = 0; i < pool->count; i++)
        sizes += i == 0 || by_size(&pool->entries[i - 1], &pool->entries[i], (void *)list) != 0;
    return sizes;
}

/* The best prospects, best first. */
#define PODIUM 3
typedef struct podium {
    prospect list[PODIUM];
    size_t count;
    size_t kernels; /* that there were */
} podium;

/* Kernels come in the order of their ids: a tie stays with the first. */
static void enter(podium *p, const prospect *found)
{
    size_t at = p->count < PODIUM ? p->count++ : PODIUM;
    for (; at > 0 && p->list[at - 1].score > found->score; at--)
        if (at < PODIUM)
            p->list[at] = p->list[at - 1];
    if (at < PODIUM)
        p->list[at] = *found;
}

static void give_reason(const gt_device *device, const gt_measured *list, usable *pool, const podium *best,
                        gt_selection *out)
{
    const gt_problem *near = &list[best->list[0].nearest].problem;
    const size_t sizes = count_sizes(list, pool);
    char where[GT_REASON_LENGTH / 3];
    if (out->choice == GT_CHOICE_PREDICTED)
        snprintf(where, sizeof where, "%zu other size%s", sizes, sizes == 1 ? "" : "s");
    else
        snprintf(where, sizeof where, "another %s GPU, not on this %.64s", device->arch, device->name);
    int length = snprintf(out->reason, sizeof out->reason,
                          "fastest expected of %zu kernel%s tuned on %s; its nearest is %lldx%lldx%lld", best->kernels,
                          best->kernels == 1 ? "" : "s", where, (long long)near->m, (long long)near->n, (long long)near->k);
    if (near->batch > 1)
        length += snprintf(out->reason + length, sizeof out->reason - (size_t)length, " batch %lld",
                           (long long)near->batch);
    for (size_t i = 1; i < best->count && (size_t)length < sizeof out->reason; i++) {
        const gt_kernel *kernel = list[best->list[i].nearest].kernel;
        length += snprintf(out->reason + length, sizeof out->reason - (size_t)length, "%s%s %lldx%lld %.3g us",
                           i == 1 ? "; next " : ", ", kernel->family, (long long)kernel->facts.tile_m,
                           (long long)kernel->facts.tile_n, best->list[i].us);
    }
}

static bool select_predicted(const gt_device *device, const gt_demands *demands, const gt_measurements *measured,
                             usable *pool, gt_selection *out)
{
    const gt_measured *list = measured->list;
    podium best = {0};
    for (size_t begin = 0, end; begin < pool->count; begin = end) {
        prospect found;
        size_t accurate = 0;
        end = group_end(pool, list, begin);
        for (size_t i = begin; i < end; i++)
            accurate += is_accurate(demands, &list[pool->entries[i].row]);
        if (accurate < end - begin ||
            !predict(measured, pool, pool->entries + begin, end - begin, &found))
            continue;
        best.kernels++;
        enter(&best, &found);
    }
    if (best.kernels == 0)
        return false;
    const gt_measured *first = &list[best.list[0].nearest];
    *out = (gt_selection){
        .index = best.list[0].nearest,
        .choice = first->same_gpu ? GT_CHOICE_PREDICTED : GT_CHOICE_FALLBACK,
        .expected_us = best.list[0].us,
        .modelled = first->trial.modelled,
    };
    out->baseline_us = expect_baseline(list, pool, out->expected_us);
    give_reason(device, list, pool, &best, out);
    return true;
}

static gt_status fail_not_tuned(const gt_device *device, const gt_problem *problem, const gt_demands *demands,
                                const usable *pool)
{
    char name[GT_PROBLEM_NAME_LENGTH], batch[32] = "", align[32] = "", accurate[48] = "";
    char option[GT_DEVICE_OPTION], math[32] = "";
    const bool refused = pool->refused || pool->count > 0;
    gt_problem_name(problem, name);
    if (refused && demands->max_error > 0)
        snprintf(accurate, sizeof accurate, " with an error up to %g", demands->max_error);
    if (problem->class.math != GT_MATH_STRICT)
        snprintf(math, sizeof math, " --math %s", gt_math_name(problem->class.math));
    if (problem->batch != 1)
        snprintf(batch, sizeof batch, " --batch %lld", (long long)problem->batch);
    if (problem->class.align != 16)
        snprintf(align, sizeof align, " --align %d", problem->class.align);
    return gt_fail(GT_ERROR_NOT_TUNED,
                   "no %skernel%s for %s on %s in the database: run `gemmtune --device %s --type %s%s --layout %s "
                   "--shapes %lldx%lldx%lld%s%s`",
                   refused && demands->deterministic ? "deterministic " : "", accurate, name, device->name,
                   gt_device_option(device, option), gt_class_types(&problem->class)->name, math,
                   gt_class_layout(&problem->class), (long long)problem->m, (long long)problem->n,
                   (long long)(problem->k ? problem->k : 1), batch, align);
}

gt_status gt_select(const gt_device *device, const gt_problem *problem, const gt_demands *demands,
                    const gt_measurements *measured, gt_selection *selection)
{
    usable pool = {0};
    gt_status status = pool_init(device, problem, demands, measured, &pool);
    if (status != GT_OK)
        return status;
    if (!select_exact(problem, demands, measured->list, &pool, selection) &&
        !select_predicted(device, demands, measured, &pool, selection))
        status = fail_not_tuned(device, problem, demands, &pool);
    free(pool.entries);
    return status;
}
