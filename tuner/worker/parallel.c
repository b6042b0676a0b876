#include "parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* Threads beside the caller's own: half of the cores, with that one, at most. */
#define THREADS 7

typedef struct share {
    void (*work)(void *data, size_t index);
    void *data;
    size_t count;
    atomic_size_t next;
} share;

static void *take_some(void *data)
{
    share *s = data;
    for (size_t i; (i = atomic_fetch_add(&s->next, 1)) < s->count;)
        s->work(s->data, i);
    return NULL;
}

void gt_parallel(size_t count, void (*work)(void *data, size_t index), void *data)
{
    share s = {.work = work, .data = data, .count = count};
    pthread_t threads[THREADS];
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int started = 0;
    while (started < THREADS && 2 * (started + 1) < cores && (size_t)started + 1 < count &&
           pthread_create(&threads[started], NULL, take_some, &s) == 0)
        started++;
    take_some(&s);
    while (started > 0)
        pthread_join(threads[--started], NULL);
}
