#include "trim.h"

#include <stdlib.h>

#include "../../src/core/status.h"
#include "../../src/runtime/select.h"
#include "../random.h"
#include "../worker/parallel.h"

/* Sizes that are drawn for a layout and alignment: evenly in logarithms, so that a kernel which is none's choice serves
 * less than about one size in a hundred. One in four is a batch of smaller products. */
#define SIZES            400
#define LARGEST          16384.0
#define LARGEST_OF_BATCH 512.0
#define MOST_PRODUCTS    16384.0
#define SEED             1

/* What programs may ask for: anything; the same bits every time; no workspace. */
static const gt_demands demands[] = {{0}, {.deterministic = true}, {.refused = 1}};

#define DEMANDS (sizeof demands / sizeof demands[0])

/* Sizes that a kernel is chosen for, at least, unless it won a race. Of whole runs on an H200 one kernel in six is chosen for
 * one or two sizes alone; without them sizes drawn otherwise are expected to take as long in f32, 1.002 of it in bf16. */
#define SIZES_LEAST 3

/* A kernel of the type, in any layout. */
typedef struct entry {
    int64_t kernel_id;
    bool won;
    int sizes; /* that choose it */
} entry;

typedef struct entries {
    entry *list; /* by id */
    size_t count;
} entries;

static int by_id(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return (x->kernel_id > y->kernel_id) - (x->kernel_id < y->kernel_id);
}

static gt_status draw_problem(gt_draws *draws, const gt_class *class, bool batch, gt_problem *problem)
{
    const double largest = batch ? LARGEST_OF_BATCH : LARGEST;
    const int64_t m = gt_draw_size(draws, largest), n = gt_draw_size(draws, largest), k = gt_draw_size(draws, largest);
    gt_gemm gemm = gt_class_gemm(class, m, n, k);
    gemm.batch = batch ? gt_draw_size(draws, MOST_PRODUCTS) : 1;
    const gt_status status = gt_problem_init(&gemm, problem);
    problem->class = *class; /* alignment is the class's, not that of packed rows */
    return status;
}

/* Counts a size that chooses a kernel by some demand. */
static void count_size(entries *all, const int64_t chosen[DEMANDS])
{
    for (size_t d = 0; d < DEMANDS; d++) {
        entry *found = bsearch(&(entry){.kernel_id = chosen[d]}, all->list, all->count, sizeof *all->list, by_id);
        bool before = false;
        for (size_t e = 0; e < d; e++)
            before = before || chosen[e] == chosen[d];
        if (found && !before)
            found->sizes++;
    }
}

/* What the drawn problems of a class choose. */
typedef struct choices {
    const gt_device *device;
    const gt_measurements *measured;
    gt_problem problems[SIZES];
    gt_status status[SIZES];
    int64_t kernels[SIZES][DEMANDS]; /* chosen by each demand; NONE where it finds nothing */
} choices;

#define NONE INT64_MIN

static void choose(void *data, size_t index)
{
    choices *c = data;
    for (size_t d = 0; c->status[index] == GT_OK && d < DEMANDS; d++) {
        gt_selection selection;
        const gt_status status = gt_select(c->device, &c->problems[index], &demands[d], c->measured, &selection);
        c->kernels[index][d] = status == GT_OK ? c->measured->list[selection.index].kernel_id : NONE;
        c->status[index] = status == GT_ERROR_NOT_TUNED ? GT_OK : status;
    }
}

/* Counts what problems of a class choose. */
static gt_status count_of_class(const gt_device *device, const gt_class *class, const gt_measurements *measured,
                                entries *all)
{
    gt_draws draws = {.seed = SEED};
    gt_status status = GT_OK;
    choices *c = calloc(1, sizeof *c);
    if (!c)
        return gt_fail_memory();
    c->device = device;
    c->measured = measured;
    for (int i = 0; status == GT_OK && i < SIZES; i++)
        status = draw_problem(&draws, class, i % 4 == 3, &c->problems[i]);
    if (status == GT_OK)
        gt_parallel(SIZES, choose, c);
    for (int i = 0; status == GT_OK && i < SIZES; i++) {
        if (c->status[i] == GT_OK)
            count_size(all, c->kernels[i]);
        else
            status = gt_fail(c->status[i], "cannot tell which kernels are chosen");
    }
    free(c);
    return status;
}

/* Takes in the kernels of a list of measurements. */
static gt_status take_in(const gt_measurements *measured, entries *all)
{
    entry *more = realloc(all->list, (all->count + measured->count + 1) * sizeof *more);
    size_t kept = 0;
    if (!more)
        return gt_fail_memory();
    all->list = more;
    for (size_t i = 0; i < measured->count; i++) {
        const gt_measured *row = &measured->list[i];
        all->list[all->count++] = (entry){.kernel_id = row->kernel_id, .won = row->winner || row->unbeaten};
    }
    qsort(all->list, all->count, sizeof *all->list, by_id);
    for (size_t i = 0; i < all->count; i++)
        if (kept > 0 && all->list[kept - 1].kernel_id == all->list[i].kernel_id) {
            all->list[kept - 1].won |= all->list[i].won;
            all->list[kept - 1].sizes += all->list[i].sizes;
        } else {
            all->list[kept++] = all->list[i];
        }
    all->count = kept;
    return GT_OK;
}

static gt_status look_at_class(gt_store *store, const gt_device *device, const gt_class *class, entries *all)
{
    gt_measurements measured;
    gt_status status = gt_store_find_measured(store, device, class, &measured);
    if (status != GT_OK)
        return status;
    status = take_in(&measured, all);
    if (status == GT_OK)
        status = count_of_class(device, class, &measured, all);
    gt_measurements_finish(&measured);
    return status;
}

gt_status gt_trim(gt_store *store, const gt_device *device, int64_t gpu, const gt_types *types, size_t *dropped)
{
    entries all = {0};
    int64_t *ids = NULL;
    size_t count = 0;
    gt_status status = GT_OK;
    for (int layout = 0; layout < 4; layout++)
        for (int align = 16; status == GT_OK && align >= gt_type_find(types->a)->bytes; align /= 2) {
            const gt_class class = {.type_a = types->a, .type_b = types->b, .type_c = types->c, .math = types->math,
                                    .op_a = layout & 2 ? GT_T : GT_N, .op_b = layout & 1 ? GT_T : GT_N, .align = align};
            status = look_at_class(store, device, &class, &all);
        }
    if (status == GT_OK && !(ids = calloc(all.count + 1, sizeof *ids)))
        status = gt_fail_memory();
    for (size_t i = 0; status == GT_OK && i < all.count; i++)
        if (!all.list[i].won && all.list[i].sizes < SIZES_LEAST)
            ids[count++] = all.list[i].kernel_id;
    if (status == GT_OK)
        status = gt_store_drop_code(store, gpu, ids, count, dropped);
    free(ids);
    free(all.list);
    return status;
}
