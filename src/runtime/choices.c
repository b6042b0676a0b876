#include "choices.h"

#include <stdlib.h>

#define FIRST_BUCKETS 64

static void unload(gt_choices *choices, gt_loaded *loaded)
{
    gt_loaded **at = &choices->loaded;
    while (*at != loaded)
        at = &(*at)->next;
    *at = loaded->next;
    gt_module_unload(choices->driver, &loaded->module);
    free(loaded);
}

void gt_choices_discard(gt_choices *choices, gt_chosen *chosen)
{
    if (chosen && chosen->loaded && --chosen->loaded->users == 0)
        unload(choices, chosen->loaded);
    free(chosen);
}

void gt_choices_finish(gt_choices *choices)
{
    for (size_t i = 0; i < choices->bucket_count; i++)
        for (gt_chosen *chosen = choices->buckets[i], *next; chosen; chosen = next) {
            next = chosen->next;
            gt_choices_discard(choices, chosen);
        }
    free(choices->buckets);
    *choices = (gt_choices){.driver = choices->driver};
}

/* By leading dimensions and strides, too: a program may plan one size with many of them. */
static gt_chosen **bucket_of(gt_chosen **buckets, size_t count, const gt_problem *p)
{
    const int64_t places[] = {p->lda, p->ldb, p->ldc, p->stride_a, p->stride_b, p->stride_c};
    uint64_t hash = gt_problem_hash(p);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        hash = (hash ^ (uint64_t)places[i]) * 0x100000001b3u;
    return &buckets[(hash ^ hash >> 32) % count];
}

gt_chosen *gt_choices_find(gt_choices *choices, const gt_problem *problem, const gt_demands *demands)
{
    gt_chosen *chosen = NULL;
    if (choices->bucket_count > 0)
        chosen = *bucket_of(choices->buckets, choices->bucket_count, problem);
    while (chosen &&
           (!gt_problem_same(&chosen->problem, problem) ||
            chosen->demands.deterministic != demands->deterministic ||
            chosen->demands.epilogue != demands->epilogue ||
            chosen->demands.max_error != demands->max_error || chosen->demands.refused != demands->refused))
        chosen = chosen->next;
    if (chosen && chosen->users++ == 0) {
        *(chosen->newer ? &chosen->newer->older : &choices->newest) = chosen->older;
        *(chosen->older ? &chosen->older->newer : &choices->oldest) = chosen->newer;
        choices->unused--;
    }
    return chosen;
}

/* As many buckets as choices, so that a look finds one or two. */
static gt_status grow(gt_choices *choices)
{
    if (choices->count < choices->bucket_count)
        return GT_OK;
    const size_t more = choices->bucket_count ? 2 * choices->bucket_count : FIRST_BUCKETS;
    gt_chosen **buckets = calloc(more, sizeof *buckets);
    if (!buckets)
        return gt_fail_memory();
    for (size_t i = 0; i < choices->bucket_count; i++)
        for (gt_chosen *chosen = choices->buckets[i], *next; chosen; chosen = next) {
            gt_chosen **bucket = bucket_of(buckets, more, &chosen->problem);
            next = chosen->next;
            chosen->next = *bucket;
            *bucket = chosen;
        }
    free(choices->buckets);
    choices->buckets = buckets;
    choices->bucket_count = more;
    return GT_OK;
}

gt_status gt_choices_add(gt_choices *choices, gt_chosen *chosen)
{
    const gt_status status = grow(choices);
    if (status != GT_OK) {
        gt_choices_discard(choices, chosen);
        return status;
    }
    gt_chosen **bucket = bucket_of(choices->buckets, choices->bucket_count, &chosen->problem);
    chosen->users = 1;
    chosen->next = *bucket;
    *bucket = chosen;
    choices->count++;
    return GT_OK;
}

static void evict_oldest(gt_choices *choices)
{
    gt_chosen *chosen = choices->oldest, **at = bucket_of(choices->buckets, choices->bucket_count, &chosen->problem);
    while (*at != chosen)
        at = &(*at)->next;
    *at = chosen->next;
    choices->oldest = chosen->newer;
    *(chosen->newer ? &chosen->newer->older : &choices->newest) = NULL;
    choices->unused--;
    choices->count--;
    gt_choices_discard(choices, chosen);
}

void gt_choices_release(gt_choices *choices, gt_chosen *chosen)
{
    if (--chosen->users > 0)
        return;
    chosen->newer = NULL;
    chosen->older = choices->newest;
    *(choices->newest ? &choices->newest->newer : &choices->oldest) = chosen;
    choices->newest = chosen;
    if (++choices->unused > GT_CHOICE_LIMIT)
        evict_oldest(choices);
}

gt_loaded *gt_choices_find_loaded(gt_choices *choices, const gt_kernel *kernel)
{
    for (gt_loaded *loaded = choices->loaded; loaded; loaded = loaded->next)
        if (gt_kernel_same(&loaded->kernel, kernel)) {
            loaded->users++;
            return loaded;
        }
    return NULL;
}

void gt_choices_add_loaded(gt_choices *choices, gt_loaded *loaded)
{
    loaded->users = 1;
    loaded->next = choices->loaded;
    choices->loaded = loaded;
}
