#include "trim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* So many kernels are remembered of those that one of these could take: the best ones. Where all others are dropped the last
 * one is kept, as if no other could run it. */
#define RIVALS 24

/* A kernel is worth what sizes would lose without it, which then take the next best: logarithms, added up. One that is worth
 * less for each megabyte of its code is dropped: most have 20 to 80 KB, so that is 1 to 4% of one size by one demand. */
#define WORTH_LEAST 0.5

/* Bytes of a type's code for each alignment that its rows may have, in all layouts, unless more of it won races: 34.5 MB of f32,
 * 46 of 16-bit types. Of a whole run of bf16 on an H200, whose candidates have 134 MB and winners 20, drawn sizes are expected
 * to take 1.006 of what they take with all where 45 MB are kept, 1.11 and more in one of 50; with 35 MB 1.011 and 1.16. */
#define BYTES_EACH (23 << 19)

/* A kernel of the type, in any layout. */
typedef struct entry {
    int64_t kernel_id, bytes;
    double worth;
    bool won, dropped;
} entry;

typedef struct entries {
    entry *list; /* by id */
    size_t count;
} entries;

/* A kernel that a size could take. */
typedef struct rival {
    int64_t kernel_id;
    double score;
    entry *entry;
} rival;

/* What a size could take by one demand, best first. */
typedef struct choice {
    rival list[RIVALS];
    size_t count;
} choice;

typedef struct choices {
    choice *list;
    size_t count;
} choices;

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

/* The drawn problems of a class, and what they could take. */
typedef struct sample {
    const gt_device *device;
    const gt_measurements *measured;
    gt_problem problems[SIZES];
    gt_status status[SIZES];
    choice *choices; /* SIZES * DEMANDS */
} sample;

static void choose(void *data, size_t index)
{
    sample *s = data;
    for (size_t d = 0; s->status[index] == GT_OK && d < DEMANDS; d++) {
        choice *c = &s->choices[index * DEMANDS + d];
        gt_prospect best[RIVALS];
        s->status[index] =
            gt_select_prospects(s->device, &s->problems[index], &demands[d], s->measured, best, RIVALS, &c->count);
        for (size_t i = 0; i < c->count; i++)
            c->list[i] = (rival){s->measured->list[best[i].nearest].kernel_id, best[i].score, NULL};
    }
}

/* Adds what problems of a class could take. */
static gt_status choose_in_class(const gt_device *device, const gt_class *class, const gt_measurements *measured,
                                 choices *all)
{
    gt_draws draws = {.seed = SEED};
    gt_status status = GT_OK;
    sample *s = calloc(1, sizeof *s);
    choice *more = s ? realloc(all->list, (all->count + SIZES * DEMANDS) * sizeof *more) : NULL;
    if (!more) {
        free(s);
        return gt_fail_memory();
    }
    all->list = more;
    *s = (sample){.device = device, .measured = measured, .choices = more + all->count};
    memset(s->choices, 0, SIZES * DEMANDS * sizeof *more);
    for (int i = 0; status == GT_OK && i < SIZES; i++)
        status = draw_problem(&draws, class, i % 4 == 3, &s->problems[i]);
    if (status == GT_OK)
        gt_parallel(SIZES, choose, s);
    for (int i = 0; status == GT_OK && i < SIZES; i++)
        if (s->status[i] != GT_OK)
            status = gt_fail(s->status[i], "cannot tell which kernels are chosen");
    all->count += status == GT_OK ? SIZES * DEMANDS : 0;
    free(s);
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
        if (kept > 0 && all->list[kept - 1].kernel_id == all->list[i].kernel_id)
            all->list[kept - 1].won |= all->list[i].won;
        else
            all->list[kept++] = all->list[i];
    all->count = kept;
    return GT_OK;
}

static gt_status look_at_class(gt_store *store, const gt_device *device, const gt_class *class, entries *kernels,
                               choices *all)
{
    gt_measurements measured;
    gt_status status = gt_store_find_measured(store, device, class, &measured);
    if (status != GT_OK)
        return status;
    status = take_in(&measured, kernels);
    if (status == GT_OK)
        status = choose_in_class(device, class, &measured, all);
    gt_measurements_finish(&measured);
    return status;
}

/* Finds what the choices name, and what code it has. */
static gt_status find_entries(gt_store *store, entries *kernels, choices *all)
{
    gt_status status = GT_OK;
    for (size_t i = 0; i < all->count; i++)
        for (rival *r = all->list[i].list; r < all->list[i].list + all->list[i].count; r++)
            r->entry =
                bsearch(&(entry){.kernel_id = r->kernel_id}, kernels->list, kernels->count, sizeof *kernels->list, by_id);
    for (size_t i = 0; status == GT_OK && i < kernels->count; i++)
        status = gt_store_find_code_bytes(store, kernels->list[i].kernel_id, &kernels->list[i].bytes);
    return status;
}

/* Keeps the first two of a choice among what is there: no others are looked at. */
static void take_out_dropped(choice *c)
{
    size_t kept = 0;
    if (!(c->count > 0 && c->list[0].entry->dropped) && !(c->count > 1 && c->list[1].entry->dropped))
        return;
    for (size_t i = 0; i < c->count; i++)
        if (!c->list[i].entry->dropped)
            c->list[kept++] = c->list[i];
    c->count = kept;
}

static void find_worths(entries *kernels, choices *all)
{
    for (size_t i = 0; i < kernels->count; i++)
        kernels->list[i].worth = 0;
    for (choice *c = all->list; c < all->list + all->count; c++) {
        take_out_dropped(c);
        if (c->count > 0)
            c->list[0].entry->worth += c->count > 1 ? log(c->list[1].score / c->list[0].score) : INFINITY;
    }
}

static double worth_for_bytes(const entry *e)
{
    return e->worth / ((double)e->bytes / (1 << 20));
}

/* What is to be dropped next: what is worth least for its bytes; NULL where it must stay. */
static entry *find_least(const entries *kernels, int64_t most)
{
    entry *least = NULL;
    int64_t bytes = 0;
    for (entry *e = kernels->list; e < kernels->list + kernels->count; e++) {
        bytes += e->dropped ? 0 : e->bytes;
        if (!e->won && !e->dropped && (!least || worth_for_bytes(e) < worth_for_bytes(least)))
            least = e;
    }
    const double limit = bytes > most ? INFINITY : WORTH_LEAST;
    return least && worth_for_bytes(least) < limit ? least : NULL;
}

/* One after the other: what the others are worth depends on it. */
static void drop_worthless(entries *kernels, choices *all, int64_t most)
{
    entry *least;
    for (find_worths(kernels, all); (least = find_least(kernels, most)) != NULL; find_worths(kernels, all))
        least->dropped = true;
}

gt_status gt_trim(gt_store *store, const gt_device *device, int64_t gpu, const gt_types *types, size_t *dropped)
{
    entries kernels = {0};
    choices all = {0};
    int64_t *ids = NULL;
    size_t count = 0;
    int64_t most = 0;
    gt_status status = GT_OK;
    for (int align = 16; align >= gt_type_find(types->a)->bytes; align /= 2, most += BYTES_EACH)
        for (int layout = 0; status == GT_OK && layout < 4; layout++) {
            const gt_class class = {.type_a = types->a, .type_b = types->b, .type_c = types->c, .math = types->math,
                                    .op_a = layout & 2 ? GT_T : GT_N, .op_b = layout & 1 ? GT_T : GT_N, .align = align};
            status = look_at_class(store, device, &class, &kernels, &all);
        }
    if (status == GT_OK && !(ids = calloc(kernels.count + 1, sizeof *ids)))
        status = gt_fail_memory();
    if (status == GT_OK)
        status = find_entries(store, &kernels, &all);
    if (status == GT_OK)
        drop_worthless(&kernels, &all, most);
    for (size_t i = 0; status == GT_OK && i < kernels.count; i++)
        if (kernels.list[i].dropped)
            ids[count++] = kernels.list[i].kernel_id;
    if (status == GT_OK)
        status = gt_store_drop_code(store, gpu, ids, count, dropped);
    free(ids);
    free(kernels.list);
    free(all.list);
    return status;
}
