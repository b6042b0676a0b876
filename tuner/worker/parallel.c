#include "parallel.h"

#include <unistd.h>

static void *take_some(void *data)
{
    gt_parallel_work *s = data;
    for (size_t i; (i = atomic_fetch_add(&s->next, 1)) < s->count;)
        s->work(s->data, i);
    return NULL;
}

void gt_parallel_begin(size_t count, void (*work)(void *data, size_t index), void *data, gt_parallel_work *s)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    s->work = work;
    s->data = data;
    s->count = count;
    s->started = 0;
    atomic_init(&s->next, 0);
    while (s->started < GT_PARALLEL_THREADS && 2 * (s->started + 1) < cores && (size_t)s->started + 1 < count &&
           pthread_create(&s->threads[s->started], NULL, take_some, s) == 0)
        s->started++;
}

void gt_parallel_end(gt_parallel_work *s)
{
    take_some(s);
    while (s->started > 0)
        pthread_join(s->threads[--s->started], NULL);
}

void gt_parallel_drop(gt_parallel_work *s)
{
    atomic_store(&s->next, s->count);
    gt_parallel_end(s);
}

void gt_parallel(size_t count, void (*work)(void *data, size_t index), void *data)
{
    gt_parallel_work shared;
    gt_parallel_begin(count, work, data, &shared);
    gt_parallel_end(&shared);
}
