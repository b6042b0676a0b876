#include "search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../src/core/status.h"
#include "model.h"
#include "random.h"

/* How much is tried, by effort: winners of other problems and the estimate's favourites in the first round, each later
 * round, and how many of those. Once more as many winners in the last lap: `normal` is 24 at most. */
static const struct {
    size_t seeds, first, later, centres;
    int rounds;
} plans[] = {
    [GT_EFFORT_QUICK] = {2, 8, 4, 1, 1},
    [GT_EFFORT_NORMAL] = {2, 12, 4, 2, 2},
    [GT_EFFORT_FULL] = {SIZE_MAX, SIZE_MAX, 0, 0, 0},
    [GT_EFFORT_COVER] = {3, 3, 0, 0, 0},
};

/* Times the estimate's favourite that another family's may take and still get its full share of the first round. */
#define FAR_BEHIND 1.5

/* A later round that gains less than this is the last one. */
#define WORTH_GOING_ON 0.005

/* Tunables, beside those of the tile, in which a configuration may differ from a seed and stand for it. */
#define SEED_UNLIKE 3

/* What a space's own model says counts for this much of the order, in logarithms: it tells configurations apart that
 * are alike in the estimate's eyes. */
#define MODEL_SHARE 0.02

/* One configuration of one space, with its estimate. */
typedef struct point {
    const gt_space *space;
    size_t row;
    double estimate;
    uint64_t shuffle;
    gt_candidate *candidate; /* once it was handed out */
} point;

struct gt_search {
    gt_search_options options;
    const gt_device *device;
    gt_space *spaces;
    size_t space_count;
    point *points; /* by estimate, best first */
    size_t point_count;
    gt_candidate **candidates; /* handed out so far */
    size_t candidate_count, candidate_capacity;
    int rounds;
    double best_us; /* at the end of the last round */
};

static int by_estimate(const void *a, const void *b)
{
    const point *x = a, *y = b;
    if (x->estimate != y->estimate)
        return x->estimate < y->estimate ? -1 : 1;
    return x->shuffle < y->shuffle ? -1 : x->shuffle > y->shuffle;
}

static gt_status add_space(gt_search *search, const gt_problem *problem, const gt_family *family)
{
    gt_space space;
    gt_status status = gt_space_init(family, search->device, problem, &space);
    if (status != GT_OK)
        return status;
    const bool rung = gt_space_column(&space, "rung") >= 0;
    if (space.rows == 0 || (rung && !search->options.family)) {
        gt_space_finish(&space);
        return GT_OK;
    }
    gt_space *spaces = realloc(search->spaces, (search->space_count + 1) * sizeof *spaces);
    if (!spaces) {
        gt_space_finish(&space);
        return gt_fail_memory();
    }
    search->spaces = spaces;
    spaces[search->space_count++] = space;
    search->point_count += space.rows;
    return GT_OK;
}

/* The estimate, where somebody has fitted it to the family, else what the space's model says. */
static double expect(const gt_search *search, const gt_space *space, size_t row, const gt_problem *problem)
{
    const double model = gt_model_us(space, row, search->device, problem);
    const gt_terms *coefficients =
        gt_estimate_known(search->options.fitted, search->options.fitted_count, space->family->name);
    gt_kernel kernel;
    gt_terms terms;
    if (!coefficients || !isfinite(model) || gt_space_kernel(space, row, search->device, &kernel) != GT_OK)
        return model;
    kernel.registers = (int)gt_space_value(space, row, "regs", 0);
    if (!gt_estimate_terms(search->device, &kernel, problem, &terms, NULL))
        return model;
    const double us = gt_estimate_us(&terms, coefficients);
    return us * pow(model / us, MODEL_SHARE);
}

static gt_status list_points(gt_search *search, const gt_problem *problem)
{
    size_t at = 0;
    search->points = calloc(search->point_count, sizeof *search->points);
    if (!search->points)
        return gt_fail_memory();
    for (size_t s = 0; s < search->space_count; s++)
        for (size_t r = 0; r < search->spaces[s].rows; r++, at++)
            search->points[at] = (point){
                .space = &search->spaces[s],
                .row = r,
                .estimate = expect(search, &search->spaces[s], r, problem),
                .shuffle = gt_random_bits(search->options.seed, at),
            };
    qsort(search->points, search->point_count, sizeof *search->points, by_estimate);
    return GT_OK;
}

static bool has_seed(const gt_search_options *options, const char *family)
{
    for (size_t i = 0; i < options->seed_count; i++)
        if (strcmp(options->seeds[i].family, family) == 0)
            return true;
    return false;
}

/* The spaces of all families that are asked for; of the seeds' only, where it is to be quick. */
static gt_status add_spaces(gt_search *search, const gt_families *families, const gt_problem *problem, bool narrow)
{
    const gt_search_options *options = &search->options;
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && i < families->count; i++)
        if ((!options->family || strcmp(options->family, families->list[i].name) == 0) &&
            (!narrow || has_seed(options, families->list[i].name)))
            status = add_space(search, problem, &families->list[i]);
    return status;
}

gt_status gt_search_create(const gt_families *families, const gt_device *device, const gt_problem *problem,
                           const gt_search_options *options, gt_search **out)
{
    char name[GT_PROBLEM_NAME_LENGTH];
    gt_status status = GT_OK;
    gt_search *search = calloc(1, sizeof *search);
    if (!search)
        return gt_fail_memory();
    search->options = *options;
    search->device = device;
    if (options->family) {
        const gt_family *family;
        status = gt_families_get(families, options->family, &family);
    }
    const bool narrow = options->only_seeds || options->effort == GT_EFFORT_COVER;
    if (status == GT_OK)
        status = add_spaces(search, families, problem, narrow);
    if (status == GT_OK && search->point_count == 0 && narrow)
        status = add_spaces(search, families, problem, false);
    if (status != GT_OK)
        goto fail;
    if (search->point_count == 0) {
        gt_problem_name(problem, name);
        status = gt_fail(GT_ERROR_UNSUPPORTED, "no family has a configuration for %s on %s", name, device->name);
        goto fail;
    }
    if ((status = list_points(search, problem)) != GT_OK)
        goto fail;
    *out = search;
    return GT_OK;
fail:
    gt_search_destroy(search);
    return status;
}

void gt_search_destroy(gt_search *search)
{
    if (!search)
        return;
    for (size_t i = 0; i < search->candidate_count; i++)
        free(search->candidates[i]);
    for (size_t i = 0; i < search->space_count; i++)
        gt_space_finish(&search->spaces[i]);
    free(search->candidates);
    free(search->points);
    free(search->spaces);
    free(search);
}

/* Hands a point out as a candidate, once. */
static gt_status hand_out(gt_search *search, point *p)
{
    if (p->candidate || !isfinite(p->estimate))
        return GT_OK;
    if (search->candidate_count == search->candidate_capacity) {
        const size_t more = search->candidate_capacity ? search->candidate_capacity * 2 : 64;
        gt_candidate **list = realloc(search->candidates, more * sizeof *list);
        if (!list)
            return gt_fail_memory();
        search->candidates = list;
        search->candidate_capacity = more;
    }
    gt_candidate *candidate = calloc(1, sizeof *candidate);
    if (!candidate)
        return gt_fail_memory();
    *candidate = (gt_candidate){.space = p->space, .row = p->row, .estimate_us = p->estimate};
    gt_status status = gt_space_kernel(p->space, p->row, search->device, &candidate->kernel);
    if (status != GT_OK) {
        free(candidate);
        return status;
    }
    search->candidates[search->candidate_count++] = candidate;
    p->candidate = candidate;
    return GT_OK;
}

/* Columns that make two configurations different shapes of tile; the others are details to refine later. */
static const char *const tile_columns[] = {"bm", "bn", "tm", "tn", "split_k"};
#define TILE_COLUMNS (sizeof tile_columns / sizeof tile_columns[0])

static bool is_tile(const char *column)
{
    for (size_t i = 0; i < TILE_COLUMNS; i++)
        if (strcmp(tile_columns[i], column) == 0)
            return true;
    return false;
}

static bool same_tile(const gt_space *space, size_t a, const gt_space *other, size_t b)
{
    if (space != other)
        return false;
    for (size_t i = 0; i < TILE_COLUMNS; i++)
        if (gt_space_value(space, a, tile_columns[i], 0) != gt_space_value(space, b, tile_columns[i], 0))
            return false;
    return true;
}

/* In how many tunables a point differs from a seed, whose values are those of the space's columns; those that make it
 * another shape of tile count for many. */
static int unlike(const point *p, const int64_t *wanted)
{
    const gt_space *space = p->space;
    const int64_t *values = space->values + p->row * (size_t)space->columns;
    int different = 0;
    for (int c = 0; c < space->columns; c++)
        if (space->tunable[c] && values[c] != wanted[c])
            different += is_tile(space->names[c]) ? SEED_UNLIKE + 1 : 1;
    return different;
}

/* The point with a seed's parameters, or of the same tile with nearly all of them: other layouts and alignments do not
 * have the same choices. NULL if this space has none. */
static point *find_seed(gt_search *search, const gt_seed *seed)
{
    const gt_space *space = NULL;
    int64_t wanted[GT_SPACE_COLUMNS];
    point *nearest = NULL;
    int least = SEED_UNLIKE + 1;
    for (size_t i = 0; i < search->space_count; i++)
        if (strcmp(search->spaces[i].family->name, seed->family) == 0)
            space = &search->spaces[i];
    if (!space)
        return NULL;
    for (int c = 0; c < space->columns; c++)
        if (space->tunable[c] && !gt_params_find(&seed->params, space->names[c], &wanted[c]))
            return NULL;
    for (size_t i = 0; i < search->point_count && least > 0; i++)
        if (search->points[i].space == space) {
            const int different = unlike(&search->points[i], wanted);
            if (different < least) {
                least = different;
                nearest = &search->points[i];
            }
        }
    return nearest;
}

static int by_place(const void *a, const void *b)
{
    const point *const *x = a, *const *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Of the winners on other problems those that are expected to be fastest here. */
static gt_status hand_out_seeds(gt_search *search)
{
    const size_t limit = plans[search->options.effort].seeds;
    gt_status status = GT_OK;
    size_t found = 0;
    point **points = calloc(search->options.seed_count + 1, sizeof *points);
    if (!points)
        return gt_fail_memory();
    for (size_t s = 0; s < search->options.seed_count; s++)
        if ((points[found] = find_seed(search, &search->options.seeds[s])))
            found++;
    qsort(points, found, sizeof *points, by_place); /* points lie in the order of their estimates */
    for (size_t s = 0; status == GT_OK && s < found && s < limit; s++)
        status = hand_out(search, points[s]);
    free(points);
    return status;
}

/* How many shapes of tile each space may have in the first round: the same number of each family, for what an estimate
 * says of one family's tiles holds, what it says of two families is hardly comparable; but one of a family that is far
 * behind in its eyes. */
static void share_out(const gt_search *search, size_t wanted, size_t *quotas)
{
    size_t promising = 0;
    memset(quotas, 0, search->space_count * sizeof *quotas);
    for (size_t i = 0; i < search->point_count; i++) { /* by estimate, best first */
        size_t *quota = &quotas[search->points[i].space - search->spaces];
        if (*quota == 0) {
            *quota = search->points[i].estimate <= FAR_BEHIND * search->points[0].estimate ? wanted : 1;
            promising += *quota > 1;
        }
    }
    const size_t rest = search->space_count - promising, shared = wanted > rest ? wanted - rest : 1;
    for (size_t i = 0; promising > 0 && i < search->space_count; i++)
        if (quotas[i] > 1)
            quotas[i] = (shared + promising - 1) / promising;
}

/* Hands out the estimate's favourites, one of each shape of tile, until there are `wanted`; where quotas are given, of
 * each space no more than its own. shapes has room for all that are wanted and holds the *taken first. */
static gt_status take_shapes(gt_search *search, point **shapes, size_t wanted, const size_t *quotas, size_t *taken)
{
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && i < search->point_count && *taken < wanted; i++) {
        point *p = &search->points[i];
        size_t of_space = 0;
        bool known = false;
        for (size_t j = 0; !known && j < *taken; j++) {
            of_space += shapes[j]->space == p->space;
            known = same_tile(p->space, p->row, shapes[j]->space, shapes[j]->row);
        }
        if (known || (quotas && of_space >= quotas[p->space - search->spaces]))
            continue;
        shapes[(*taken)++] = p;
        status = hand_out(search, p);
    }
    return status;
}

/* The model's favourites, of every family. */
static gt_status first_round(gt_search *search)
{
    const size_t wanted = plans[search->options.effort].first;
    size_t taken = 0;
    point *served = search->options.served ? find_seed(search, search->options.served) : NULL;
    gt_status status = served ? hand_out(search, served) : GT_OK;
    if (status == GT_OK)
        status = hand_out_seeds(search);
    if (status != GT_OK || search->options.only_seeds)
        return status;
    if (wanted < SIZE_MAX) {
        point **shapes = calloc(wanted, sizeof *shapes);
        size_t *quotas = calloc(search->space_count, sizeof *quotas);
        if (shapes && quotas) {
            share_out(search, wanted, quotas);
            status = take_shapes(search, shapes, wanted, quotas, &taken);
            if (status == GT_OK)
                status = take_shapes(search, shapes, wanted, NULL, &taken);
        } else {
            status = gt_fail_memory();
        }
        free(shapes);
        free(quotas);
    }
    for (size_t i = 0; status == GT_OK && i < search->point_count && search->candidate_count < wanted; i++)
        status = hand_out(search, &search->points[i]);
    return status;
}

/* In how many tunables two configurations of one space differ. */
static int distance(const gt_space *space, size_t a, size_t b)
{
    const size_t columns = (size_t)space->columns;
    int different = 0;
    for (size_t i = 0; i < columns; i++)
        different += space->tunable[i] && space->values[a * columns + i] != space->values[b * columns + i];
    return different;
}

/* The neighbours of the best few: those that differ in one tunable, then in two, each in the estimate's order. The
 * best one's neighbours get half of the round, the others share the rest. */
static gt_status later_round(gt_search *search)
{
    gt_candidate *centres[8];
    const size_t wanted = plans[search->options.effort].later;
    const size_t count = gt_search_best(search, centres, plans[search->options.effort].centres);
    const size_t start = search->candidate_count;
    for (size_t c = 0; c < count; c++) {
        const size_t until = c + 1 == count ? wanted : wanted / 2 + c * (wanted - wanted / 2) / count;
        for (int far = 1; far <= 2; far++)
            for (size_t i = 0; i < search->point_count && search->candidate_count - start < until; i++) {
                point *p = &search->points[i];
                /* Far worse by its estimate is not worth a compilation. */
                if (p->space != centres[c]->space || p->candidate || p->estimate > 1.5 * centres[c]->estimate_us ||
                    distance(p->space, p->row, centres[c]->row) != far)
                    continue;
                gt_status status = hand_out(search, p);
                if (status != GT_OK)
                    return status;
            }
    }
    return GT_OK;
}

gt_status gt_search_round(gt_search *search, gt_candidate ***round, size_t *count)
{
    const size_t start = search->candidate_count;
    gt_candidate *best;
    gt_status status = GT_OK;
    if (search->rounds == 0) {
        status = first_round(search);
    } else if (!search->options.only_seeds && search->rounds <= plans[search->options.effort].rounds &&
               gt_search_best(search, &best, 1) == 1) {
        const bool worth = search->rounds == 1 || best->trial.us < search->best_us * (1 - WORTH_GOING_ON);
        search->best_us = best->trial.us;
        if (worth)
            status = later_round(search);
    }
    search->rounds++;
    if (status != GT_OK)
        return status;
    *round = search->candidates + start;
    *count = search->candidate_count - start;
    return GT_OK;
}

static int by_time(const void *a, const void *b)
{
    const gt_candidate *x = *(gt_candidate *const *)a, *y = *(gt_candidate *const *)b;
    if (x->trial.us != y->trial.us)
        return x->trial.us < y->trial.us ? -1 : 1;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return strcmp(x->kernel.family, y->kernel.family);
}

size_t gt_search_best(const gt_search *search, gt_candidate **best, size_t limit)
{
    size_t count = 0;
    gt_candidate **passed = calloc(search->candidate_count + 1, sizeof *passed);
    if (!passed)
        return 0;
    for (size_t i = 0; i < search->candidate_count; i++)
        if (search->candidates[i]->tried && search->candidates[i]->trial.outcome == GT_TRIAL_OK)
            passed[count++] = search->candidates[i];
    qsort(passed, count, sizeof *passed, by_time);
    count = count < limit ? count : limit;
    memcpy(best, passed, count * sizeof *best);
    free(passed);
    return count;
}

bool gt_search_leads(const gt_search *search, const gt_candidate *candidate)
{
    for (size_t i = 0; i < search->candidate_count; i++) {
        const gt_candidate *c = search->candidates[i];
        if (c != candidate && c->tried && c->trial.outcome == GT_TRIAL_OK && c->trial.us < candidate->trial.us &&
            same_tile(c->space, c->row, candidate->space, candidate->row))
            return false;
    }
    return candidate->trial.outcome == GT_TRIAL_OK;
}

size_t gt_search_size(const gt_search *search)
{
    return search->point_count;
}
