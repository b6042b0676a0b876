#include "select.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/launch.h"

/* Microseconds from one kernel's end to the next one's start in a stream: what an empty kernel costs on every GPU
 * of the last years, give or take one. */
#define OVERHEAD_US 2.5

/* A block's fixed cost, filling its pipeline and storing its tile, in steps of K. */
#define FIXED_K 48.0

/* Latency left uncovered by a set of resident blocks, as the work of so many warps: a lone block of 4 warps gets 2/3
 * of the SM's throughput, one of 8 warps 4/5. */
#define UNCOVERED_WARPS 2.0

/* Measurements of a kernel that count for one prediction, and the squared distance that halves the weight of one. */
#define NEIGHBOURS 3
#define NEAR 0.02

/* A prediction is trusted less the farther it reaches: so much of it for each factor of e in the sizes. Of many
 * kernels with optimistic and pessimistic predictions, the smallest is likely an optimistic one. On an H200 predictions
 * of simt were off by 5% (root mean square) at a factor of e, 9% at e^2, 20 to 30% beyond: three times that much. */
#define DISTRUST 0.15

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

/* Tiles of one matrix, those at its edges included. */
static double tile_count(const gt_kernel *kernel, const gt_problem *problem)
{
    return ceil((double)problem->m / (double)kernel->facts.tile_m) *
           ceil((double)problem->n / (double)kernel->facts.tile_n);
}

/*
 * Tiles that the busiest SM works on where a fixed number of blocks shares all of them. With a workspace tiles are
 * split along K and the work is even; else each block takes whole ones, and one that has its SM for itself is no faster
 * than beside another.
 */
static double shared_tiles(const gt_kernel *kernel, const gt_problem *problem, int sm_count)
{
    const double tiles = tile_count(kernel, problem);
    const double each = kernel->facts.ws_tile > 0 ? tiles / kernel->facts.blocks : ceil(tiles / kernel->facts.blocks);
    return each * kernel->facts.blocks / sm_count * (double)problem->batch;
}

/*
 * How long the busiest SM works, in steps of K of one block that has the SM's full throughput; 0 if the kernel
 * cannot be launched. Blocks are dealt evenly over the SMs, each SM works on as many as it holds at a time, and they
 * share its throughput: `resident` blocks take as long as resident blocks' work, and the uncovered latency more.
 */
static double sm_work(const gt_device *device, const gt_kernel *kernel, const gt_problem *problem)
{
    gt_launch launch;
    if (gt_launch_init(kernel, problem, &launch) != GT_OK || launch.empty)
        return 0;
    const int resident = gt_device_occupancy(device, (int)kernel->facts.threads, kernel->registers,
                                             (int)kernel->facts.smem_bytes);
    if (resident < 1)
        return 0;
    const int sm_count = device->sm_count > 0 ? device->sm_count : 1;
    const double blocks = (double)launch.grid[0] * launch.grid[1] * (double)problem->batch;
    const double per_sm = kernel->facts.blocks > 0 ? shared_tiles(kernel, problem, sm_count) : ceil(blocks / sm_count);
    const double sets = ceil(per_sm / resident), warps = ceil((double)kernel->facts.threads / 32);
    const double steps = ceil((double)problem->k / kernel->facts.split_k) + FIXED_K;
    return (per_sm + sets * UNCOVERED_WARPS / warps) * steps;
}

static double bytes_moved(const gt_problem *p)
{
    const double a = (double)p->m * (double)p->k, b = (double)p->k * (double)p->n, c = (double)p->m * (double)p->n;
    return (double)p->batch *
           ((a + b) * gt_type_find(p->class.type_a)->bytes + c * gt_type_find(p->class.type_c)->bytes);
}

/* Microseconds of one unit of sm_work that a measurement shows. */
static double unit_us(const gt_device *device, const gt_measured *row)
{
    /* A kernel that took hardly longer than an empty one still worked. */
    const double worked = fmax(row->trial.us - OVERHEAD_US, 0.2 * row->trial.us);
    return worked / sm_work(device, row->kernel, &row->problem);
}

double gt_select_predict(const gt_device *device, const gt_problem *problem, const gt_measured *list,
                         const size_t *rows, size_t count, size_t *nearest)
{
    size_t best[NEIGHBOURS];
    double far[NEIGHBOURS], weights = 0, sum = 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const double d = distance2(problem, &list[rows[i]].problem);
        size_t at = kept < NEIGHBOURS ? kept++ : NEIGHBOURS;
        for (; at > 0 && far[at - 1] > d; at--)
            if (at < NEIGHBOURS) {
                far[at] = far[at - 1];
                best[at] = best[at - 1];
            }
        if (at < NEIGHBOURS) {
            far[at] = d;
            best[at] = rows[i];
        }
    }
    for (size_t i = 0; i < kept; i++) {
        const double weight = 1 / (NEAR + far[i]);
        sum += weight * log(unit_us(device, &list[best[i]]));
        weights += weight;
    }
    *nearest = best[0];
    return OVERHEAD_US + sm_work(device, list[best[0]].kernel, problem) * exp(sum / weights);
}

/* What the search below looks at: the measurements that may be used, kernel by kernel. */
typedef struct usable {
    size_t *rows; /* indices into the list, a kernel's own together */
    size_t count;
    bool refused; /* something fitted the problem, but not the demands */
} usable;

/* 0 is best: a clock on this GPU, a clock on another of the architecture, then the software GPU's model. */
static int rank(const gt_measured *row)
{
    return (row->trial.modelled ? 2 : 0) + (row->same_gpu ? 0 : 1);
}

static bool fits(const gt_device *device, const gt_problem *problem, const gt_measured *row)
{
    return row->trial.outcome == GT_TRIAL_OK && isfinite(row->trial.us) && row->trial.us > 0 && row->problem.k >= 0 &&
           row->problem.batch > 0 && gt_class_serves(&row->problem.class, &problem->class) &&
           sm_work(device, row->kernel, problem) > 0 && sm_work(device, row->kernel, &row->problem) > 0;
}

static bool is_accurate(const gt_demands *demands, const gt_measured *row)
{
    return demands->max_error <= 0 || row->trial.error <= demands->max_error;
}

static int by_kernel(const void *left, const void *right, void *data)
{
    const gt_measured *list = data;
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    const int64_t x = list[a].kernel_id, y = list[b].kernel_id;
    return x != y ? (x > y) - (x < y) : (a > b) - (a < b);
}

static size_t group_end(const usable *pool, const gt_measured *list, size_t begin)
{
    size_t end = begin + 1;
    while (end < pool->count && list[pool->rows[end]].kernel_id == list[pool->rows[begin]].kernel_id)
        end++;
    return end;
}

/* Fills the pool with the best-ranked usable measurements. Accuracy is asked for later: it is a fact of one problem
 * where that was measured, else of all that a kernel was measured on. */
static gt_status pool_init(const gt_device *device, const gt_problem *problem, const gt_demands *demands,
                           const gt_measured *list, size_t count, usable *out)
{
    usable pool = {.rows = malloc((count ? count : 1) * sizeof *pool.rows)};
    int best = 4;
    if (!pool.rows)
        return gt_fail_memory();
    for (size_t i = 0; i < count; i++) {
        if (!fits(device, problem, &list[i]))
            continue;
        if (demands->deterministic && !list[i].kernel->facts.deterministic) {
            pool.refused = true;
            continue;
        }
        if (rank(&list[i]) < best) {
            best = rank(&list[i]);
            pool.count = 0;
        }
        if (rank(&list[i]) == best)
            pool.rows[pool.count++] = i;
    }
    qsort_r(pool.rows, pool.count, sizeof *pool.rows, by_kernel, (void *)list);
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
static double expect_baseline(const gt_problem *problem, const gt_measured *list, const usable *pool, double expected_us)
{
    const gt_measured *nearest = NULL;
    double least = INFINITY;
    for (size_t i = 0; i < pool->count; i++) {
        const gt_measured *row = &list[pool->rows[i]];
        const double far = distance2(problem, &row->problem);
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
        const gt_measured *row = &list[pool->rows[i]];
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
        .baseline_us = best->baseline_us > 0 ? best->baseline_us : expect_baseline(problem, list, pool, best->trial.us),
        .modelled = best->trial.modelled,
    };
    if (best->winner)
        snprintf(out->reason, sizeof out->reason, "tuned for this problem");
    else
        snprintf(out->reason, sizeof out->reason, "fastest of %zu kernel%s measured on this problem", kernels,
                 kernels == 1 ? "" : "s");
    return true;
}

/* The smallest time that memory allows: what a measurement at least as hungry for bytes and of a like size reached;
 * 0 where there is none. The same for every kernel, so it corrects the expectation and never the choice. */
static double memory_us(const gt_problem *problem, const gt_measured *list, const usable *pool)
{
    const double bytes = bytes_moved(problem), hunger = bytes / (gt_problem_flops(problem) + 1);
    double rate = 0;
    for (size_t i = 0; i < pool->count; i++) {
        const gt_measured *row = &list[pool->rows[i]];
        const double moved = bytes_moved(&row->problem);
        if (moved / (gt_problem_flops(&row->problem) + 1) > hunger / 2 && moved > bytes / 4)
            rate = fmax(rate, moved / row->trial.us);
    }
    return rate > 0 ? bytes / rate : 0;
}

/* Multiply-adds that a kernel performs on a problem, those of the tiles' edges beyond the matrix included. */
static double multiply_adds(const gt_kernel *kernel, const gt_problem *problem)
{
    return tile_count(kernel, problem) * (double)(kernel->facts.tile_m * kernel->facts.tile_n) * (double)problem->k *
           (double)problem->batch;
}

/* Elements of C that one thread computes: what it reads from shared memory for each multiply-add falls with them. */
static double elements_per_thread(const gt_kernel *kernel)
{
    return (double)kernel->facts.tile_m * kernel->facts.tile_n / (double)kernel->facts.threads;
}

/* The most multiply-adds in a microsecond that measurements of kernels like this one show, those with as many elements
 * a thread or fewer. A kernel that was only seen on problems too small to fill the GPU shows the latency of its steps,
 * not their throughput; on a large one it will not pass its like. */
static double highest_rate(const gt_measured *list, const usable *pool, const gt_kernel *kernel)
{
    const double elements = elements_per_thread(kernel);
    double rate = 0;
    for (size_t i = 0; i < pool->count; i++) {
        const gt_measured *row = &list[pool->rows[i]];
        if (elements_per_thread(row->kernel) <= elements)
            rate = fmax(rate, multiply_adds(row->kernel, &row->problem) / row->trial.us);
    }
    return rate;
}

static size_t count_sizes(const gt_measured *list, const usable *pool)
{
    size_t sizes = 0;
    for (size_t i = 0; i < pool->count; i++) {
        size_t before = 0;
        while (before < i && !gt_problem_same_size(&list[pool->rows[before]].problem, &list[pool->rows[i]].problem))
            before++;
        sizes += before == i;
    }
    return sizes;
}

static void give_reason(const gt_device *device, const gt_measured *list, const usable *pool, size_t kernels,
                        size_t nearest, gt_selection *out)
{
    const gt_problem *near = &list[nearest].problem;
    const size_t sizes = count_sizes(list, pool);
    char where[GT_REASON_LENGTH / 2];
    if (out->choice == GT_CHOICE_PREDICTED)
        snprintf(where, sizeof where, "%zu other size%s", sizes, sizes == 1 ? "" : "s");
    else
        snprintf(where, sizeof where, "another %s GPU, not on this %.64s", device->arch, device->name);
    snprintf(out->reason, sizeof out->reason,
             "fastest expected of %zu kernel%s tuned on %s; its nearest is %lldx%lldx%lld", kernels,
             kernels == 1 ? "" : "s", where, (long long)near->m, (long long)near->n, (long long)near->k);
}

static bool select_predicted(const gt_device *device, const gt_problem *problem, const gt_demands *demands,
                             const gt_measured *list, const usable *pool, gt_selection *out)
{
    double best_score = INFINITY, best_us = 0;
    size_t best = 0, kernels = 0;
    for (size_t begin = 0, end; begin < pool->count; begin = end) {
        size_t nearest, accurate = 0;
        end = group_end(pool, list, begin);
        for (size_t i = begin; i < end; i++)
            accurate += is_accurate(demands, &list[pool->rows[i]]);
        if (accurate < end - begin)
            continue;
        kernels++;
        const double model = gt_select_predict(device, problem, list, pool->rows + begin, end - begin, &nearest);
        const gt_kernel *kernel = list[nearest].kernel;
        const double us = fmax(model, multiply_adds(kernel, problem) / highest_rate(list, pool, kernel));
        const double score = us * (1 + DISTRUST * sqrt(distance2(problem, &list[nearest].problem)));
        if (score < best_score) { /* kernels come in the order of their ids: a tie stays with the first */
            best_score = score;
            best_us = us;
            best = nearest;
        }
    }
    if (kernels == 0)
        return false;
    *out = (gt_selection){
        .index = best,
        .choice = list[best].same_gpu ? GT_CHOICE_PREDICTED : GT_CHOICE_FALLBACK,
        .expected_us = fmax(best_us, memory_us(problem, list, pool)),
        .modelled = list[best].trial.modelled,
    };
    out->baseline_us = expect_baseline(problem, list, pool, out->expected_us);
    give_reason(device, list, pool, kernels, best, out);
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
                    const gt_measured *list, size_t count, gt_selection *selection)
{
    usable pool = {0};
    gt_status status = pool_init(device, problem, demands, list, count, &pool);
    if (status != GT_OK)
        return status;
    if (!select_exact(problem, demands, list, &pool, selection) &&
        !select_predicted(device, problem, demands, list, &pool, selection))
        status = fail_not_tuned(device, problem, demands, &pool);
    free(pool.rows);
    return status;
}
