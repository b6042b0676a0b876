#include "drain.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define ROOM 2

typedef struct item {
    CUevent computed;
    gt_staged rows;
} item;

struct gt_drain {
    const gt_driver *driver;
    CUcontext context;
    gt_staging *staging;
    pthread_mutex_t lock; /* over all below */
    pthread_cond_t come, gone;
    item items[ROOM];
    size_t put, done;
    bool failed, written;
};

/* What is lost stays lost: behind a failure nothing more is brought. */
static bool bring(gt_drain *drain, const item *next, bool failed)
{
    if (failed || drain->driver->cuEventSynchronize(next->computed) != CUDA_SUCCESS)
        return false;
    pthread_mutex_lock(&drain->lock);
    drain->written = true;
    pthread_mutex_unlock(&drain->lock);
    return gt_staging_download(drain->staging, &next->rows);
}

static void *work(void *data)
{
    gt_drain *drain = data;
    bool lost = drain->driver->cuCtxSetCurrent(drain->context) != CUDA_SUCCESS;
    pthread_mutex_lock(&drain->lock);
    for (;;) {
        while (drain->put == drain->done)
            pthread_cond_wait(&drain->come, &drain->lock);
        const item next = drain->items[drain->done % ROOM];
        const bool failed = drain->failed || lost;
        pthread_mutex_unlock(&drain->lock);
        const bool brought = bring(drain, &next, failed);
        pthread_mutex_lock(&drain->lock);
        drain->failed = drain->failed || !brought;
        drain->done++;
        pthread_cond_signal(&drain->gone);
    }
    return NULL;
}

gt_drain *gt_drain_create(const gt_driver *driver, CUcontext context, gt_staging *staging)
{
    pthread_t thread;
    sigset_t all, before;
    gt_drain *drain = calloc(1, sizeof *drain);
    if (!drain)
        return NULL;
    *drain = (gt_drain){.driver = driver, .context = context, .staging = staging, .lock = PTHREAD_MUTEX_INITIALIZER,
                        .come = PTHREAD_COND_INITIALIZER, .gone = PTHREAD_COND_INITIALIZER};
    sigfillset(&all); /* the program's signals are for its own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&thread, NULL, work, drain) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!started) {
        free(drain);
        return NULL;
    }
    pthread_detach(thread);
    return drain;
}

/* Under the lock. */
static void wait_until(gt_drain *drain, size_t most)
{
    while (drain->put - drain->done > most)
        pthread_cond_wait(&drain->gone, &drain->lock);
}

void gt_drain_put(gt_drain *drain, CUevent computed, const gt_staged *rows)
{
    pthread_mutex_lock(&drain->lock);
    wait_until(drain, ROOM - 1);
    drain->items[drain->put++ % ROOM] = (item){.computed = computed, .rows = *rows};
    pthread_cond_signal(&drain->come);
    pthread_mutex_unlock(&drain->lock);
}

void gt_drain_wait(gt_drain *drain, size_t most)
{
    pthread_mutex_lock(&drain->lock);
    wait_until(drain, most);
    pthread_mutex_unlock(&drain->lock);
}

bool gt_drain_finish(gt_drain *drain, bool *written)
{
    pthread_mutex_lock(&drain->lock);
    wait_until(drain, 0);
    const bool brought = !drain->failed;
    *written = drain->written;
    drain->failed = drain->written = false;
    pthread_mutex_unlock(&drain->lock);
    return brought;
}
