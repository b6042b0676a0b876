#include "search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"
#include "points.h"

/* How much is tried, by effort. With as many seeds once more in the last lap (see laps.c) `normal` is 24 at most. */
static const struct {
    size_t seeds;   /* winners of other problems, in the first round */
    size_t first;   /* favourites of the estimate, in the first round */
    size_t later;   /* neighbours of the best ones, in each later round */
    size_t centres; /* how many best ones those are */
    int rounds;     /* later rounds at most */
} plans[] = {
    [GT_EFFORT_QUICK] = {2, 8, 4, 1, 1},
    [GT_EFFORT_NORMAL] = {2, 12, 4, 2, 2},
    [GT_EFFORT_FULL] = {SIZE_MAX, SIZE_MAX, 0, 0, 0},
    [GT_EFFORT_COVER] = {3, 3, 0, 0, 0},
    [GT_EFFORT_FIRST] = {0, 1, 0, 0, 0},
    [GT_EFFORT_TWIN] = {1, 1, 0, 0, 0},
};

/* What is expected to take so many times as long as the best one is hardly worth a compilation: a family that has no
 * better one gets one candidate in the first round, later rounds leave such neighbours out, and all of one that was
 * seen to take as long, and winners of other problems are left out that are so far behind their own family's best. */
#define FAR_BEHIND 1.5

/* A later round that gains less than this is the last one. */
#define WORTH_GOING_ON 0.005

/* A finalist is at most so many times slower than the fastest, or has the fewest clocks. */
#define CLOSE 1.06

struct gt_search {
    gt_search_options options;
    const gt_device *device;
    gt_points points;
    bool served; /* by a kernel of another math, found there; what else there is, is for this math alone */
    gt_candidate **candidates; /* handed out so far */
    size_t candidate_count, candidate_capacity;
    int rounds;
    double best_us; /* at the end of the last round */
};

gt_status gt_search_create(const gt_families *families, const gt_device *device, const gt_problem *problem,
                           const gt_search_options *options, gt_search **out)
{
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
    if (status == GT_OK)
        status = gt_points_init(families, device, problem, options, &search->points);
    if (status != GT_OK) {
        gt_search_destroy(search);
        return status;
    }
    search->served = options->served && gt_points_serve(&search->points, options->served);
    *out = search;
    return GT_OK;
}

void gt_search_destroy(gt_search *search)
{
    if (!search)
        return;
    for (size_t i = 0; i < search->candidate_count; i++)
        free(search->candidates[i]);
    free(search->candidates);
    gt_points_finish(&search->points);
    free(search);
}

/* Hands a point out as a candidate, once. */
static gt_status hand_out(gt_search *search, gt_point *p)
{
    const double most = search->options.most_us;
    if (p->handed_out || !isfinite(p->estimate) || (most > 0 && p->estimate > most))
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
    p->handed_out = true;
    return GT_OK;
}

static int by_place(const void *a, const void *b)
{
    const gt_point *const *x = a, *const *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* The point of a family that is expected to be fastest. */
static const gt_point *favourite_of(const gt_points *points, const gt_space *space)
{
    const gt_point *p = points->list; /* by estimate, best first */
    while (p->space != space)
        p++;
    return p;
}

/* Of the winners on other problems those that are expected to be fastest here. */
static gt_status hand_out_seeds(gt_search *search)
{
    const size_t limit = plans[search->options.effort].seeds;
    gt_status status = GT_OK;
    size_t found = 0;
    gt_point **points = calloc(search->options.seed_count + 1, sizeof *points);
    if (!points)
        return gt_fail_memory();
    for (size_t s = 0; s < search->options.seed_count; s++)
        if ((points[found] = gt_points_find(&search->points, &search->options.seeds[s])) &&
            points[found]->estimate <= FAR_BEHIND * favourite_of(&search->points, points[found]->space)->estimate)
            found++;
    qsort(points, found, sizeof *points, by_place); /* points lie in the order of their estimates */
    for (size_t s = 0; status == GT_OK && s < found && s < limit; s++)
        status = hand_out(search, points[s]);
    free(points);
    return status;
}

/* How many shapes of tile each space may have in the first round. Estimates compare tiles of one family well and
 * families with each other badly: so every family gets the same number, and one that is far behind a single one. */
static void share_out(const gt_search *search, size_t wanted, size_t *quotas)
{
    size_t promising = 0;
    memset(quotas, 0, search->points.space_count * sizeof *quotas);
    for (size_t i = 0; i < search->points.count; i++) { /* by estimate, best first */
        size_t *quota = &quotas[search->points.list[i].space - search->points.spaces];
        if (*quota == 0) {
            *quota = search->points.list[i].estimate <= FAR_BEHIND * search->points.list[0].estimate ? wanted : 1;
            promising += *quota > 1;
        }
    }
    const size_t rest = search->points.space_count - promising, shared = wanted > rest ? wanted - rest : 1;
    for (size_t i = 0; promising > 0 && i < search->points.space_count; i++)
        if (quotas[i] > 1)
            quotas[i] = (shared + promising - 1) / promising;
}

/* Hands out the estimate's favourites, one of each shape of tile, until *taken of them are `wanted`. quotas, which may
 * be NULL, limits each space. shapes has room for all that are wanted; its first *taken are those handed out. */
static gt_status take_shapes(gt_search *search, gt_point **shapes, size_t wanted, const size_t *quotas, size_t *taken)
{
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && i < search->points.count && *taken < wanted; i++) {
        gt_point *p = &search->points.list[i];
        size_t of_space = 0;
        bool known = false;
        for (size_t j = 0; !known && j < *taken; j++) {
            of_space += shapes[j]->space == p->space;
            known = gt_points_same_tile(p->space, p->row, shapes[j]->space, shapes[j]->row);
        }
        if (known || (quotas && of_space >= quotas[p->space - search->points.spaces]))
            continue;
        shapes[(*taken)++] = p;
        status = hand_out(search, p);
    }
    return status;
}

/* Favourites that a first round has. Where the problem is served already half as many do, as families are not to be
 * compared, and one beside what serves it where none is expected to come near that. */
static size_t count_favourites(const gt_search *search)
{
    const size_t wanted = plans[search->options.effort].first;
    const gt_points *points = &search->points;
    if (!search->served || wanted == SIZE_MAX)
        return wanted;
    const gt_point *served = gt_points_find(points, search->options.served), *best = &points->list[0];
    if (best == served && points->count > 1)
        best++;
    return wanted >= 4 && best->estimate <= FAR_BEHIND * served->estimate ? wanted / 2 : 2;
}

/* What serves this problem already, seeds, and the estimate's favourites of every family. */
static gt_status first_round(gt_search *search)
{
    const size_t wanted = count_favourites(search);
    size_t taken = 0;
    gt_status status =
        search->served ? hand_out(search, gt_points_find(&search->points, search->options.served)) : GT_OK;
    if (status == GT_OK)
        status = hand_out_seeds(search);
    if (status != GT_OK || search->options.only_seeds)
        return status;
    if (wanted < SIZE_MAX) {
        gt_point **shapes = calloc(wanted, sizeof *shapes);
        size_t *quotas = calloc(search->points.space_count, sizeof *quotas);
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
    for (size_t i = 0; status == GT_OK && i < search->points.count && search->candidate_count < wanted; i++)
        status = hand_out(search, &search->points.list[i]);
    return status;
}

static double time_of(const gt_candidate *candidate)
{
    return gt_trial_deciding_us(&candidate->trial);
}

/* The neighbours of the best few: those that differ in one tunable, then in two, each in the estimate's order. The
 * best one's neighbours get half of the round, the others share the rest. */
static gt_status later_round(gt_search *search)
{
    gt_candidate *centres[8];
    const size_t wanted = plans[search->options.effort].later;
    const size_t count = gt_search_best(search, centres, plans[search->options.effort].centres);
    const size_t start = search->candidate_count;
    for (size_t c = 0; c < count && time_of(centres[c]) <= FAR_BEHIND * time_of(centres[0]); c++) {
        const size_t until = c + 1 == count ? wanted : wanted / 2 + c * (wanted - wanted / 2) / count;
        for (int far = 1; far <= 2; far++)
            for (size_t i = 0; i < search->points.count && search->candidate_count - start < until; i++) {
                gt_point *p = &search->points.list[i];
                if (p->space != centres[c]->space || p->handed_out ||
                    p->estimate > FAR_BEHIND * centres[c]->estimate_us ||
                    gt_points_distance(p->space, p->row, centres[c]->row) != far)
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
        const bool worth = search->rounds == 1 || time_of(best) < search->best_us * (1 - WORTH_GOING_ON);
        search->best_us = time_of(best);
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

static bool has_passed(const gt_candidate *candidate)
{
    return candidate->tried && candidate->trial.outcome == GT_TRIAL_OK;
}

static int by_time(const void *a, const void *b)
{
    const gt_candidate *x = *(gt_candidate *const *)a, *y = *(gt_candidate *const *)b;
    if (time_of(x) != time_of(y))
        return time_of(x) < time_of(y) ? -1 : 1;
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
        if (has_passed(search->candidates[i]))
            passed[count++] = search->candidates[i];
    qsort(passed, count, sizeof *passed, by_time);
    count = count < limit ? count : limit;
    memcpy(best, passed, count * sizeof *best);
    free(passed);
    return count;
}

size_t gt_search_finalists(const gt_search *search, gt_candidate *finalists[GT_FINALISTS])
{
    const size_t passed = gt_search_best(search, finalists, GT_FINALISTS - 1);
    gt_candidate *fewest = NULL;
    double least = INFINITY;
    size_t count = 0;
    for (size_t i = 0; i < search->candidate_count; i++) {
        gt_candidate *c = search->candidates[i];
        const double clocks = time_of(c) * c->trial.clock_mhz;
        if (has_passed(c) && clocks > 0 && clocks < least) {
            least = clocks;
            fewest = c;
        }
    }
    for (; count < passed && time_of(finalists[count]) <= CLOSE * time_of(finalists[0]); count++)
        if (finalists[count] == fewest)
            fewest = NULL;
    if (fewest)
        finalists[count++] = fewest;
    return count;
}

bool gt_search_leads(const gt_search *search, const gt_candidate *candidate)
{
    for (size_t i = 0; i < search->candidate_count; i++) {
        const gt_candidate *c = search->candidates[i];
        if (c != candidate && has_passed(c) && c->trial.us < candidate->trial.us &&
            gt_points_same_tile(c->space, c->row, candidate->space, candidate->row))
            return false;
    }
    return candidate->trial.outcome == GT_TRIAL_OK;
}

/* Whether a space has points, and no estimate has a time for any. */
static bool is_refused(const gt_points *points, const gt_space *space)
{
    bool any = false;
    for (size_t i = 0; i < points->count; i++) {
        const gt_point *p = &points->list[i];
        if (p->space == space && isfinite(p->estimate))
            return false;
        any = any || p->space == space;
    }
    return any;
}

/* Why a kernel cannot be launched. */
static void give_reason(const gt_device *device, const gt_kernel *kernel, int64_t registers, char reason[GT_DETAIL_LENGTH])
{
    const gt_facts *f = &kernel->facts;
    if (gt_facts_check(f) != GT_OK)
        snprintf(reason, GT_DETAIL_LENGTH, "%s", gt_error_message());
    else if (f->smem_bytes > device->smem_limit)
        snprintf(reason, GT_DETAIL_LENGTH, "smem_bytes is %lld, more than the %d that a block of %s has",
                 (long long)f->smem_bytes, device->smem_limit, device->name);
    else
        snprintf(reason, GT_DETAIL_LENGTH, "a block of %lld threads with %lld registers each and %lld bytes of shared memory "
                 "does not fit an SM of %s", (long long)f->threads, (long long)registers, (long long)f->smem_bytes,
                 device->name);
}

size_t gt_search_refused(const gt_search *search, size_t from, gt_kernel *kernel, char reason[GT_DETAIL_LENGTH])
{
    const gt_points *points = &search->points;
    for (size_t i = from; i < points->space_count; i++) {
        const gt_space *space = &points->spaces[i];
        if (!is_refused(points, space) || gt_space_kernel(space, 0, search->device, kernel) != GT_OK)
            continue;
        give_reason(search->device, kernel, gt_space_value(space, 0, "regs", 0), reason);
        return i + 1;
    }
    return 0;
}

size_t gt_search_size(const gt_search *search)
{
    return search->points.count;
}
