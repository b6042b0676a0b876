#include "retrial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verdict.h"

/* All are of one architecture: source and compiler tell codes apart. */
static int compare_code(const gt_convicted *a, const gt_convicted *b)
{
    const int by_source = strcmp(a->kernel.source_hash, b->kernel.source_hash);
    return by_source != 0 ? by_source : strcmp(a->kernel.nvrtc, b->kernel.nvrtc);
}

static int by_code(const void *a, const void *b)
{
    const gt_retrial *x = a, *y = b;
    const int code = compare_code(x->convicted, y->convicted);
    return code != 0 ? code : (x->convicted > y->convicted) - (x->convicted < y->convicted);
}

/* Whether every check that a code failed can be made here. */
static bool is_triable(const gt_convictions *all, const gt_convicted *convicted)
{
    for (size_t i = 0; i < all->count; i++)
        if (compare_code(&all->list[i], convicted) == 0 && !(all->list[i].same_gpu && all->list[i].has_code))
            return false;
    return true;
}

gt_status gt_retrials_find(gt_engine *engine, const gt_types *const *types, size_t type_count, gt_retrials *out)
{
    gt_retrials found = {0};
    gt_status status = gt_store_find_convicted(engine->store, &engine->device, &found.convictions);
    if (status == GT_OK && !(found.list = calloc(found.convictions.count + 1, sizeof *found.list)))
        status = gt_fail_memory();
    for (size_t i = 0; status == GT_OK && i < found.convictions.count; i++) {
        const gt_convicted *convicted = &found.convictions.list[i];
        if (gt_types_among(gt_class_types(&convicted->problem.class), types, type_count) &&
            is_triable(&found.convictions, convicted))
            found.list[found.count++].convicted = convicted;
    }
    if (status != GT_OK) {
        gt_retrials_finish(&found);
        return status;
    }
    qsort(found.list, found.count, sizeof *found.list, by_code);
    *out = found;
    return GT_OK;
}

void gt_retrials_finish(gt_retrials *retrials)
{
    free(retrials->list);
    gt_convictions_finish(&retrials->convictions);
    *retrials = (gt_retrials){0};
}

size_t gt_retrials_end(const gt_retrials *retrials, size_t first)
{
    size_t end = first + 1;
    while (end < retrials->count && compare_code(retrials->list[end].convicted, retrials->list[first].convicted) == 0)
        end++;
    return end;
}

/* A kernel on the problem that it failed, with the data of a seed. Code that is damaged or gone cannot be checked. */
static gt_status check(gt_engine *engine, const gt_convicted *convicted, uint64_t seed, bool quick, gt_trial *trial)
{
    gt_code code = {0};
    gt_status status = gt_store_find_code(engine->store, convicted->kernel_id, &convicted->kernel, &code);
    if (gt_store_lacks_code(status)) {
        *trial = (gt_trial){.outcome = GT_TRIAL_LAUNCH_ERROR, .seed = seed};
        snprintf(trial->detail, sizeof trial->detail, "%s", gt_error_message());
        return GT_OK;
    }
    const gt_contestant contestant = {&convicted->kernel, &code};
    const gt_try_terms terms = {.seed = seed, .time_it = true, /* it may have failed after timing */
                                .extent = quick ? GT_EXTENT_FEW : GT_EXTENT_ALL};
    if (status == GT_OK)
        status = gt_verdict_find(engine, &convicted->problem, &contestant, &terms, trial);
    gt_code_finish(&code);
    return status;
}

/* Repeats the checks that a code failed, until one fails again. The record does not say whether such a check was a
 * quick one, so both kinds are made. */
static gt_status check_again(gt_engine *engine, gt_retrial *list, size_t count, bool *passed)
{
    gt_status status = GT_OK;
    *passed = true;
    for (size_t i = 0; status == GT_OK && *passed && i < 2 * count; i++) {
        gt_retrial *r = &list[i / 2];
        status = check(engine, r->convicted, r->convicted->trial.seed, i % 2 == 0, &r->trial);
        r->checked = status == GT_OK;
        *passed = r->checked && r->trial.outcome == GT_TRIAL_OK;
    }
    return status;
}

/* The same with fresh data. A failure here is a new one and is put on record. */
static gt_status check_fresh(gt_engine *engine, gt_retrial *list, size_t count, uint64_t seed, bool *passed)
{
    gt_status status = GT_OK;
    for (gt_retrial *r = list; status == GT_OK && *passed && r < list + count; r++) {
        gt_trial trial = {0};
        status = check(engine, r->convicted, seed, false, &trial);
        *passed = status == GT_OK && trial.outcome == GT_TRIAL_OK;
        if (status != GT_OK || *passed)
            continue;
        r->trial = trial;
        if (gt_outcome_convicts(trial.outcome))
            status = gt_verdict_put(engine, &r->convicted->problem, &r->convicted->kernel, &trial);
    }
    return status;
}

/* Puts the passed checks on record. A process that is killed halfway leaves the code out of service: it has checks left
 * to pass. */
static gt_status clear(gt_engine *engine, gt_retrial *list, size_t count)
{
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && i < count; i++)
        status = gt_verdict_put(engine, &list[i].convicted->problem, &list[i].convicted->kernel, &list[i].trial);
    for (size_t i = 0; status == GT_OK && i < count; i++)
        list[i].cleared = true;
    return status;
}

/* The seed itself, or the next one that none of the checks had. */
static uint64_t find_fresh(const gt_retrial *list, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count;)
        if (list[i].convicted->trial.seed == seed) {
            seed++;
            i = 0;
        } else {
            i++;
        }
    return seed;
}

gt_status gt_retrials_run(gt_engine *engine, gt_retrials *retrials, size_t first, int rounds)
{
    gt_retrial *const list = &retrials->list[first];
    const size_t count = gt_retrials_end(retrials, first) - first;
    uint64_t seed = engine->options.check_seed;
    bool passed;
    gt_status status = check_again(engine, list, count, &passed);
    for (int round = 0; status == GT_OK && passed && round < rounds; round++) {
        seed = find_fresh(list, count, seed);
        status = check_fresh(engine, list, count, seed++, &passed);
    }
    return status == GT_OK && passed ? clear(engine, list, count) : status;
}
