#include "select.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/bound.h"

/* Times its own estimate that a kernel of `split` is feared to take where a strict one could serve: of 64 products of 256^3 it
 * was 2.2 times too small on an H200. Where parts pay they are two to four times as fast. Estimates of tf32 are as good as
 * strict ones: of 296 sizes that neither knew, choices by them take 1.04 of the better one's time, and with this doubt 1.08. */
#define SPLIT_DOUBT 1.5

bool gt_selection_serves(const gt_selection *serving, const gt_selection *own, gt_math math)
{
    const bool here = serving->choice != GT_CHOICE_FALLBACK, own_here = own->choice != GT_CHOICE_FALLBACK;
    const double doubt = math == GT_MATH_SPLIT ? SPLIT_DOUBT : 1;
    return here == own_here ? serving->expected_us < doubt * own->expected_us : here;
}

gt_kernel gt_selection_kernel(const gt_measurements *measured, const gt_selection *selection)
{
    gt_kernel kernel = *measured->list[selection->index].kernel;
    if (selection->parts > 0)
        gt_kernel_split(&kernel, selection->parts);
    return kernel;
}

/* Blocks of K's parts that an SM may be given, at most. */
#define MOST_BLOCKS 4

/* A baseline is expected to do better by so much for each factor of e between the sizes. */
#define BASELINE_GAIN 0.10

/* What the search below looks at: the measurements that may be used, kernel by kernel. */
typedef struct usable {
    gt_neighbours near;
    bool refused; /* something fitted the problem, but not the demands */
} usable;

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
static double estimate_made(const gt_device *device, const gt_problem *problem, const gt_demands *demands,
                            const gt_measurements *measured, const gt_kernel *kernel)
{
    gt_terms terms;
    size_t workspace;
    const bool runs = gt_estimate_terms(device, kernel, problem, &terms, &workspace) &&
                      (demands->refused == 0 || workspace < demands->refused) &&
                      (device->memory_bytes <= 0 || workspace < (size_t)device->memory_bytes);
    return runs ? gt_estimate_us(&terms, gt_neighbours_coefficients(measured, kernel, &problem->class)) : 0;
}

/* The same, in the parts of K that suit the problem, where the kernel takes any: all of a neighbour but its row. */
static gt_neighbour estimate(const gt_device *device, const gt_problem *problem, const gt_demands *demands,
                             const gt_measurements *measured, const gt_kernel *kernel)
{
    gt_neighbour best = {.estimate_us = estimate_made(device, problem, demands, measured, kernel)};
    best.as_made = best.estimate_us > 0;
    /* A bound of the error holds for the parts of K that the kernel was made with. */
    const bool any = kernel->facts.any_split && !demands->as_made && demands->max_error <= 0;
    int64_t last = kernel->facts.split_k;
    for (int64_t blocks = 1; any && blocks <= MOST_BLOCKS; blocks *= 2) {
        int64_t wanted = gt_estimate_parts(device, kernel, problem, blocks);
        for (; wanted > 0; wanted = gt_estimate_fewer_parts(kernel, wanted)) {
            if (wanted == last) /* estimated already */
                continue;
            gt_kernel split = *kernel;
            gt_kernel_split(&split, last = wanted);
            const double us = estimate_made(device, problem, demands, measured, &split);
            if (us > 0 && (best.estimate_us <= 0 || us < best.estimate_us)) {
                best.estimate_us = us;
                best.parts = split.facts.split_k;
            }
        }
    }
    return best;
}

static double bound(const gt_problem *problem, const gt_kernel *kernel)
{
    return gt_error_bound(gt_class_types(&problem->class), &kernel->facts, problem->k);
}

static bool satisfies(const gt_problem *problem, const gt_demands *demands, const gt_kernel *kernel)
{
    return (!demands->deterministic || kernel->facts.deterministic) &&
           (!demands->epilogue || kernel->facts.epilogue) &&
           (demands->max_error <= 0 || bound(problem, kernel) <= demands->max_error);
}

double gt_select_least_bound(const gt_problem *problem, const gt_measurements *measured)
{
    double least = INFINITY;
    for (size_t i = 0; i < measured->count; i++)
        if (fits(problem, &measured->list[i]))
            least = fmin(least, bound(problem, measured->list[i].kernel));
    return least;
}

static int by_kernel(const void *left, const void *right, void *data)
{
    const gt_measured *list = data;
    const size_t a = ((const gt_neighbour *)left)->row, b = ((const gt_neighbour *)right)->row;
    const int64_t x = list[a].kernel_id, y = list[b].kernel_id;
    return x != y ? (x > y) - (x < y) : (a > b) - (a < b);
}

static size_t group_end(const usable *pool, const gt_measured *list, size_t begin)
{
    const int64_t id = list[pool->near.list[begin].row].kernel_id;
    size_t end = begin + 1;
    while (end < pool->near.count && list[pool->near.list[end].row].kernel_id == id)
        end++;
    return end;
}

/* Of a sorted pool the kernels that can run the problem, with their estimates. */
static void keep_runnable(const gt_device *device, const gt_problem *problem, const gt_demands *demands,
                          const gt_measurements *measured, usable *pool)
{
    size_t kept = 0;
    for (size_t begin = 0, end; begin < pool->near.count; begin = end) {
        end = group_end(pool, measured->list, begin);
        const gt_kernel *kernel = measured->list[pool->near.list[begin].row].kernel;
        gt_neighbour entry = estimate(device, problem, demands, measured, kernel);
        for (size_t i = begin; entry.estimate_us > 0 && i < end; i++) {
            entry.row = pool->near.list[i].row;
            pool->near.list[kept++] = entry;
        }
    }
    pool->near.count = kept;
}

/* Fills the pool with the best-ranked usable measurements. */
static gt_status pool_init(const gt_device *device, const gt_problem *problem, const gt_demands *demands,
                           const gt_measurements *measured, usable *out)
{
    const gt_measured *list = measured->list;
    usable pool = {.near.list = malloc((measured->count + 1) * sizeof *pool.near.list)};
    if (!pool.near.list)
        return gt_fail_memory();
    for (size_t i = 0; i < measured->count; i++) {
        if (!fits(problem, &list[i]))
            continue;
        if (!satisfies(problem, demands, list[i].kernel))
            pool.refused = true;
        else
            pool.near.list[pool.near.count++] = (gt_neighbour){.row = i};
    }
    qsort_r(pool.near.list, pool.near.count, sizeof *pool.near.list, by_kernel, (void *)list);
    keep_runnable(device, problem, demands, measured, &pool);
    int best = 4;
    size_t kept = 0;
    for (size_t i = 0; i < pool.near.count; i++)
        best = rank(&list[pool.near.list[i].row]) < best ? rank(&list[pool.near.list[i].row]) : best;
    for (size_t i = 0; i < pool.near.count; i++)
        if (rank(&list[pool.near.list[i].row]) == best)
            pool.near.list[kept++] = pool.near.list[i];
    pool.near.count = kept;
    gt_neighbours_compare(device, problem, measured, &pool.near);
    *out = pool;
    return GT_OK;
}

gt_status gt_select_least_estimate(const gt_device *device, const gt_problem *problem, const gt_measurements *measured,
                                   double *us)
{
    const gt_demands demands = {0};
    usable pool = {0};
    const gt_status status = pool_init(device, problem, &demands, measured, &pool);
    *us = INFINITY;
    for (size_t i = 0; status == GT_OK && i < pool.near.count; i++)
        *us = fmin(*us, pool.near.list[i].estimate_us);
    free(pool.near.list);
    return status;
}

/* The next kernel's prospect, from a place in the pool on, which moves behind it; false where there is none. */
static bool next_prospect(const gt_measurements *measured, usable *pool, size_t *at, gt_prospect *found)
{
    while (*at < pool->near.count) {
        const size_t begin = *at;
        *at = group_end(pool, measured->list, begin);
        if (gt_neighbours_predict(measured, &pool->near, pool->near.list + begin, *at - begin, found))
            return true;
    }
    return false;
}

/* Takes one in among the best so far, at most limit, best first. Kernels come in the order of their ids: a tie stays with the
 * first. */
static void enter(const gt_prospect *found, gt_prospect *best, size_t limit, size_t *count)
{
    size_t at = *count < limit ? ++*count - 1 : limit;
    for (; at > 0 && best[at - 1].score > found->score; at--)
        if (at < limit)
            best[at] = best[at - 1];
    if (at < limit)
        best[at] = *found;
}

gt_status gt_select_prospects(const gt_device *device, const gt_problem *problem, const gt_demands *demands,
                              const gt_measurements *measured, gt_prospect *best, size_t limit, size_t *count)
{
    usable pool = {0};
    gt_prospect found;
    const gt_status status = pool_init(device, problem, demands, measured, &pool);
    *count = 0;
    for (size_t at = 0; status == GT_OK && next_prospect(measured, &pool, &at, &found);)
        enter(&found, best, limit, count);
    free(pool.near.list);
    return status;
}

/* Whether a is the race's winner, which ran beside a problem's baseline, and b is not; or else would win one. */
static bool wins(const gt_measured *a, const gt_measured *b)
{
    return a->winner != b->winner ? a->winner : gt_trial_deciding_us(&a->trial) < gt_trial_deciding_us(&b->trial);
}

/* Whether a is the better measurement of the same problem: rendered for more alignment, the race's winner, faster. */
static bool is_better(const gt_measured *a, const gt_measured *b)
{
    if (a->problem.class.align != b->problem.class.align)
        return a->problem.class.align > b->problem.class.align;
    return wins(a, b);
}

/*
 * The time that a baseline is expected to take where none was timed on this problem: as much longer than the kernel as
 * the nearest problem's baseline took longer than the best kernel there. It is reduced with distance, like
 * predictions are made worse: the baseline may do better here.
 */
static double expect_baseline(const gt_measured *list, const usable *pool, double expected_us)
{
    const gt_measured *nearest = NULL;
    double least = INFINITY;
    for (size_t i = 0; i < pool->near.count; i++) {
        const gt_measured *row = &list[pool->near.list[i].row];
        const double far = pool->near.list[i].far;
        if (row->baseline_us > 0 && (far < least || (far == least && wins(row, nearest)))) {
            nearest = row;
            least = far;
        }
    }
    return nearest ? expected_us * nearest->baseline_us / nearest->trial.us / (1 + BASELINE_GAIN * sqrt(least)) : 0;
}

/* What was measured on this very problem was measured as it was made: it must run so. */
static bool select_exact(const gt_problem *problem, const gt_measured *list, const usable *pool, gt_selection *out)
{
    const gt_measured *best = NULL;
    size_t kernels = 0;
    for (size_t i = 0; i < pool->near.count; i++) {
        const gt_measured *row = &list[pool->near.list[i].row];
        if (!row->same_gpu || !pool->near.list[i].as_made || !gt_problem_same_size(&row->problem, problem))
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
    const gt_problem *a = &list[((const gt_neighbour *)left)->row].problem;
    const gt_problem *b = &list[((const gt_neighbour *)right)->row].problem;
    return a->m != b->m   ? (a->m > b->m) - (a->m < b->m)
           : a->n != b->n ? (a->n > b->n) - (a->n < b->n)
           : a->k != b->k ? (a->k > b->k) - (a->k < b->k)
                          : (a->batch > b->batch) - (a->batch < b->batch);
}

/* Sorts the pool by sizes. */
static size_t count_sizes(const gt_measured *list, usable *pool)
{
    size_t sizes = 0;
    qsort_r(pool->near.list, pool->near.count, sizeof *pool->near.list, by_size, (void *)list);
    for (size_t i = 0; i < pool->near.count; i++)
        sizes += i == 0 || by_size(&pool->near.list[i - 1], &pool->near.list[i], (void *)list) != 0;
    return sizes;
}

/* The best prospects, best first. */
#define PODIUM 3
typedef struct podium {
    gt_prospect list[PODIUM];
    size_t count;
    size_t kernels; /* that there were */
} podium;

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

static bool select_predicted(const gt_device *device, const gt_measurements *measured, usable *pool, gt_selection *out)
{
    const gt_measured *list = measured->list;
    podium best = {0};
    gt_prospect found;
    for (size_t at = 0; next_prospect(measured, pool, &at, &found); best.kernels++)
        enter(&found, best.list, PODIUM, &best.count);
    if (best.kernels == 0)
        return false;
    const gt_measured *first = &list[best.list[0].nearest];
    *out = (gt_selection){
        .index = best.list[0].nearest,
        .choice = first->same_gpu ? GT_CHOICE_PREDICTED : GT_CHOICE_FALLBACK,
        .parts = best.list[0].parts,
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
    char name[GT_PROBLEM_NAME_LENGTH], words[GT_PROBLEM_WORDS], option[GT_DEVICE_OPTION], accurate[48] = "";
    const bool refused = pool->refused || pool->near.count > 0;
    gt_problem_name(problem, name);
    if (refused && demands->max_error > 0)
        snprintf(accurate, sizeof accurate, " with an error up to %g", demands->max_error);
    return gt_fail(GT_ERROR_NOT_TUNED, "no %skernel%s%s for %s on %s in the database: run `gemmtune --device %s %s%s`",
                   refused && demands->deterministic ? "deterministic " : "",
                   refused && demands->epilogue ? " with epilogues" : "", accurate, name, device->name,
                   gt_device_option(device, option), gt_problem_words(problem, words),
                   demands->db_option ? demands->db_option : "");
}

gt_status gt_select(const gt_device *device, const gt_problem *problem, const gt_demands *demands,
                    const gt_measurements *measured, gt_selection *selection)
{
    usable pool = {0};
    gt_status status = pool_init(device, problem, demands, measured, &pool);
    if (status != GT_OK)
        return status;
    if (!select_exact(problem, measured->list, &pool, selection) &&
        !select_predicted(device, measured, &pool, selection))
        status = fail_not_tuned(device, problem, demands, &pool);
    free(pool.near.list);
    return status;
}
