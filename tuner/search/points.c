#include "points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/copies.h"
#include "../../src/core/status.h"
#include "../random.h"
#include "model.h"

/* In so many tunables, none of them the tile's, a configuration may differ from a seed and still stand for it. */
#define SEED_UNLIKE 3

/* The weight of a space's own model beside the estimate, in logarithms: the model knows more of a family's parameters, the
 * estimate more of the problem. Of 5,900 trials of f32 and bf16 on an H200 both explain most so of what differs on one problem.
 * Families are compared by the estimates of their favourites: models have scales of their own. */
#define MODEL_SHARE 0.3

static int by_estimate(const void *a, const void *b)
{
    const gt_point *x = a, *y = b;
    if (x->estimate != y->estimate)
        return x->estimate < y->estimate ? -1 : 1;
    return x->shuffle < y->shuffle ? -1 : x->shuffle > y->shuffle;
}

static gt_status add_space(gt_points *points, const gt_family *family, const gt_device *device,
                           const gt_problem *problem, bool rungs)
{
    gt_space space;
    gt_status status = gt_space_init(family, device, problem, &space);
    if (status != GT_OK)
        return status;
    const bool rung = gt_space_column(&space, "rung") >= 0;
    if (space.rows == 0 || (rung && !rungs)) {
        gt_space_finish(&space);
        return GT_OK;
    }
    gt_space *spaces = realloc(points->spaces, (points->space_count + 1) * sizeof *spaces);
    if (!spaces) {
        gt_space_finish(&space);
        return gt_fail_memory();
    }
    points->spaces = spaces;
    spaces[points->space_count++] = space;
    points->count += space.rows;
    return GT_OK;
}

/* Microseconds by the estimate and the space's model, and by the estimate alone; by the model where nobody fitted the
 * estimate. */
static double expect(const gt_search_options *options, const gt_device *device, const gt_problem *problem,
                     const gt_space *space, size_t row, double *estimate)
{
    const double model = *estimate = gt_model_us(space, row, device, problem);
    const gt_terms *coefficients =
        gt_coefficients_known(options->fitted, options->fitted_count, space->family->name, &problem->class);
    gt_kernel kernel;
    gt_terms terms;
    if (!coefficients || !isfinite(model) || gt_space_kernel(space, row, device, &kernel) != GT_OK)
        return model;
    kernel.registers = (int)gt_space_value(space, row, "regs", 0);
    if (!gt_estimate_terms(device, &kernel, problem, &terms, NULL))
        return model;
    *estimate = gt_estimate_us(&terms, coefficients);
    return *estimate * pow(model / *estimate, MODEL_SHARE);
}

/* The points of one space. */
static void list_space(const gt_search_options *options, const gt_device *device, const gt_problem *problem,
                       const gt_space *space, size_t first, gt_point *list)
{
    double least = INFINITY, scale = 1;
    for (size_t r = 0; r < space->rows; r++) {
        double estimate;
        const double expected = expect(options, device, problem, space, r, &estimate);
        list[r] = (gt_point){
            .space = space, .row = r, .estimate = expected, .shuffle = gt_random_bits(options->seed, first + r)};
        if (expected < least) {
            least = expected;
            scale = estimate / expected;
        }
    }
    for (size_t r = 0; r < space->rows; r++)
        list[r].estimate *= scale;
}

static gt_status list_points(gt_points *points, const gt_search_options *options, const gt_device *device,
                             const gt_problem *problem)
{
    size_t at = 0;
    points->list = calloc(points->count, sizeof *points->list);
    if (!points->list)
        return gt_fail_memory();
    for (size_t s = 0; s < points->space_count; at += points->spaces[s++].rows)
        list_space(options, device, problem, &points->spaces[s], at, points->list + at);
    qsort(points->list, points->count, sizeof *points->list, by_estimate);
    return GT_OK;
}

static bool has_seed(const gt_search_options *options, const char *family)
{
    if (options->served && strcmp(options->served->family, family) == 0)
        return true;
    for (size_t i = 0; i < options->seed_count; i++)
        if (strcmp(options->seeds[i].family, family) == 0)
            return true;
    return false;
}

/* Adds the spaces of all families that are asked for. narrow: of these only the seeds'. */
static gt_status add_spaces(gt_points *points, const gt_families *families, const gt_device *device,
                            const gt_problem *problem, const gt_search_options *options, bool narrow)
{
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && i < families->count; i++)
        if ((!options->family || strcmp(options->family, families->list[i].name) == 0) &&
            (!narrow || has_seed(options, families->list[i].name)))
            status = add_space(points, &families->list[i], device, problem, options->family != NULL);
    return status;
}

gt_status gt_points_init(const gt_families *families, const gt_device *device, const gt_problem *problem,
                         const gt_search_options *options, gt_points *out)
{
    gt_points points = {0};
    char name[GT_PROBLEM_NAME_LENGTH];
    const bool narrow =
        options->only_seeds || options->effort == GT_EFFORT_COVER || options->effort == GT_EFFORT_TWIN;
    gt_status status = add_spaces(&points, families, device, problem, options, narrow);
    if (status == GT_OK && points.count == 0 && narrow)
        status = add_spaces(&points, families, device, problem, options, false);
    if (status == GT_OK && points.count == 0) {
        gt_problem_name(problem, name);
        status = gt_fail(GT_ERROR_UNSUPPORTED, "%s has %s configuration for %s on %s",
                         options->family ? options->family : "no family", options->family ? "no" : "a", name, device->name);
    }
    if (status == GT_OK)
        status = list_points(&points, options, device, problem);
    if (status != GT_OK) {
        gt_points_finish(&points);
        return status;
    }
    *out = points;
    return GT_OK;
}

void gt_points_finish(gt_points *points)
{
    for (size_t i = 0; i < points->space_count; i++)
        gt_space_finish(&points->spaces[i]);
    free(points->spaces);
    free(points->list);
    *points = (gt_points){0};
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

bool gt_points_same_tile(const gt_space *space, size_t a, const gt_space *other, size_t b)
{
    if (space != other)
        return false;
    for (size_t i = 0; i < TILE_COLUMNS; i++)
        if (gt_space_value(space, a, tile_columns[i], 0) != gt_space_value(space, b, tile_columns[i], 0))
            return false;
    return true;
}

/* In how many tunables a point differs from the values that are wanted, one for each column of its space. One that
 * makes it another shape of tile counts for too many to stand for a seed. */
static int unlike(const gt_point *p, const int64_t *wanted)
{
    const gt_space *space = p->space;
    const int64_t *values = space->values + p->row * (size_t)space->columns;
    int different = 0;
    for (int c = 0; c < space->columns; c++)
        if (space->tunable[c] && values[c] != wanted[c])
            different += is_tile(space->names[c]) ? SEED_UNLIKE + 1 : 1;
    return different;
}

gt_point *gt_points_find(const gt_points *points, const gt_seed *seed)
{
    const gt_space *space = NULL;
    int64_t wanted[GT_SPACE_COLUMNS];
    gt_point *nearest = NULL;
    int least = SEED_UNLIKE + 1;
    for (size_t i = 0; i < points->space_count; i++)
        if (strcmp(points->spaces[i].family->name, seed->family) == 0)
            space = &points->spaces[i];
    if (!space)
        return NULL;
    for (int c = 0; c < space->columns; c++)
        if (space->tunable[c] && !gt_params_find(&seed->params, space->names[c], &wanted[c]))
            return NULL;
    for (size_t i = 0; i < points->count && least > 0; i++)
        if (points->list[i].space == space) {
            const int different = unlike(&points->list[i], wanted);
            if (different < least) {
                least = different;
                nearest = &points->list[i];
            }
        }
    return nearest;
}

/* Only math `split` is served by another, and only its own kernels split operands. */
static bool is_own(const gt_point *p)
{
    return gt_space_value(p->space, p->row, "repack", 0) & GT_COPY_SPLIT;
}

bool gt_points_serve(gt_points *points, const gt_seed *seed)
{
    const gt_point *found = gt_points_find(points, seed);
    size_t kept = 0;
    if (!found)
        return false;
    const gt_point served = *found;
    for (size_t i = 0; i < points->count; i++) {
        const gt_point *p = &points->list[i];
        if (is_own(p) || (p->space == served.space && p->row == served.row))
            points->list[kept++] = *p;
    }
    points->count = kept;
    return true;
}

int gt_points_distance(const gt_space *space, size_t a, size_t b)
{
    const size_t columns = (size_t)space->columns;
    int different = 0;
    bool clusters = false;
    for (size_t i = 0; i < columns; i++) {
        if (!space->tunable[i] || space->values[a * columns + i] == space->values[b * columns + i])
            continue;
        if (strncmp(space->names[i], "cluster_", 8) == 0)
            clusters = true;
        else
            different++;
    }
    return different + clusters;
}
