#include "staging.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE         4096
#define BUFFERS      2 /* of a thread: one is copied by the GPU, one by the thread */
#define MOST_THREADS 8
#define NONE         SIZE_MAX

/* What a thread copies through. */
typedef struct ring {
    struct {
        char *data;
        CUevent done; /* what the GPU does with it */
    } buffers[BUFFERS];
    size_t turn;
} ring;

/* Rows that threads share: each takes the next chunk of them that nobody has. */
typedef struct task {
    gt_staged staged;
    bool up;
    size_t chunk_rows, chunks;
} task;

struct gt_staging {
    const gt_driver *driver;
    CUcontext context;
    CUstream stream;
    size_t threads; /* beside the caller's */
    ring rings[MOST_THREADS]; /* the first is the caller's */
    atomic_size_t next; /* chunk */
    atomic_bool failed;
    pthread_mutex_t lock; /* over all below */
    pthread_cond_t begin, end;
    size_t joined; /* threads that have a number */
    size_t round;  /* of tasks: a new one is there */
    size_t busy;
    task task;
};

static size_t take_chunk(gt_staging *s, const task *t)
{
    const size_t chunk = atomic_load(&s->failed) ? NONE : atomic_fetch_add(&s->next, 1);
    return chunk < t->chunks ? chunk : NONE;
}

static size_t count_rows(const task *t, size_t chunk)
{
    const size_t left = t->staged.rows - chunk * t->chunk_rows;
    return left < t->chunk_rows ? left : t->chunk_rows;
}

static void copy_rows(char *to, size_t to_pitch, const char *from, size_t from_pitch, size_t row_bytes, size_t rows)
{
    if (to_pitch == from_pitch && to_pitch == row_bytes)
        memcpy(to, from, rows * row_bytes);
    else
        for (size_t i = 0; i < rows; i++)
            memcpy(to + i * to_pitch, from + i * from_pitch, row_bytes);
}

/* A chunk on its way to the GPU. */
static bool send(gt_staging *s, const task *t, ring *r, size_t chunk)
{
    const gt_staged *x = &t->staged;
    const size_t row = chunk * t->chunk_rows, rows = count_rows(t, chunk), i = r->turn++ % BUFFERS;
    if (s->driver->cuEventSynchronize(r->buffers[i].done) != CUDA_SUCCESS)
        return false;
    copy_rows(r->buffers[i].data, x->pitch, x->host + row * x->host_pitch, x->host_pitch, x->row_bytes, rows);
    return s->driver->cuMemcpyHtoDAsync(x->device + row * x->pitch, r->buffers[i].data, rows * x->pitch, s->stream) ==
               CUDA_SUCCESS &&
           s->driver->cuEventRecord(r->buffers[i].done, s->stream) == CUDA_SUCCESS;
}

/* A chunk on its way from the GPU into a buffer: its number; NONE if there is none. */
static size_t fetch(gt_staging *s, const task *t, ring *r, size_t i)
{
    const gt_staged *x = &t->staged;
    const size_t chunk = take_chunk(s, t);
    if (chunk == NONE ||
        (s->driver->cuMemcpyDtoHAsync(r->buffers[i].data, x->device + chunk * t->chunk_rows * x->pitch,
                                      count_rows(t, chunk) * x->pitch, s->stream) == CUDA_SUCCESS &&
         s->driver->cuEventRecord(r->buffers[i].done, s->stream) == CUDA_SUCCESS))
        return chunk;
    atomic_store(&s->failed, true);
    return NONE;
}

static bool receive(gt_staging *s, const task *t, ring *r, size_t chunk, size_t i)
{
    const gt_staged *x = &t->staged;
    if (s->driver->cuEventSynchronize(r->buffers[i].done) != CUDA_SUCCESS)
        return false;
    copy_rows(x->host + chunk * t->chunk_rows * x->host_pitch, x->host_pitch, r->buffers[i].data, x->pitch, x->row_bytes,
              count_rows(t, chunk));
    return true;
}

/* A thread's part of a task. On the way back the next chunk comes while one is copied. */
static void do_part(gt_staging *s, const task *t, ring *r)
{
    size_t turn = 0, chunk = t->up ? take_chunk(s, t) : fetch(s, t, r, 0);
    while (chunk != NONE) {
        const size_t ahead = t->up ? NONE : fetch(s, t, r, ++turn % BUFFERS);
        if (!(t->up ? send(s, t, r, chunk) : receive(s, t, r, chunk, (turn - 1) % BUFFERS)))
            atomic_store(&s->failed, true);
        chunk = t->up ? take_chunk(s, t) : ahead;
    }
}

static void *work(void *data)
{
    gt_staging *s = data;
    size_t seen = 0;
    const bool lost = s->driver->cuCtxSetCurrent(s->context) != CUDA_SUCCESS;
    pthread_mutex_lock(&s->lock);
    ring *r = &s->rings[++s->joined];
    for (;;) {
        while (s->round == seen)
            pthread_cond_wait(&s->begin, &s->lock);
        seen = s->round;
        const task mine = s->task;
        pthread_mutex_unlock(&s->lock);
        if (!lost)
            do_part(s, &mine, r);
        pthread_mutex_lock(&s->lock);
        if (--s->busy == 0)
            pthread_cond_signal(&s->end);
    }
    return NULL;
}

/* One chunk is copied in less time than it takes to wake others. */
static bool run(gt_staging *s, const gt_staged *staged, bool up)
{
    task t = {.staged = *staged, .up = up, .chunk_rows = GT_STAGING_LINE / staged->pitch};
    t.chunks = (staged->rows + t.chunk_rows - 1) / t.chunk_rows;
    const bool shared = s->threads > 0 && t.chunks > 1;
    atomic_store(&s->next, 0);
    atomic_store(&s->failed, false);
    if (shared) {
        pthread_mutex_lock(&s->lock);
        s->task = t;
        s->busy = s->threads;
        s->round++;
        pthread_cond_broadcast(&s->begin);
        pthread_mutex_unlock(&s->lock);
    }
    do_part(s, &t, &s->rings[0]);
    if (shared) {
        pthread_mutex_lock(&s->lock);
        while (s->busy > 0)
            pthread_cond_wait(&s->end, &s->lock);
        pthread_mutex_unlock(&s->lock);
    }
    return !atomic_load(&s->failed);
}

bool gt_staging_upload(gt_staging *staging, const gt_staged *staged)
{
    return run(staging, staged, true);
}

bool gt_staging_download(gt_staging *staging, const gt_staged *staged)
{
    return run(staging, staged, false);
}

static bool make_ring(const gt_driver *driver, ring *r)
{
    for (int i = 0; i < BUFFERS; i++) {
        void *data = NULL;
        if (posix_memalign(&data, PAGE, GT_STAGING_LINE) != 0)
            return false;
        r->buffers[i].data = data;
        if (driver->cuMemHostRegister(data, GT_STAGING_LINE, 0) != CUDA_SUCCESS ||
            driver->cuEventCreate(&r->buffers[i].done, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
            return false;
    }
    return true;
}

/* A thread for every second core, and two at least: one copies while the other waits. The program's signals are for its
 * own. */
static void start(gt_staging *s)
{
    const long spare = sysconf(_SC_NPROCESSORS_ONLN) / 2;
    const size_t wanted = spare < 2 ? 2 : spare < MOST_THREADS ? (size_t)spare : MOST_THREADS;
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (s->threads + 1 < wanted && make_ring(s->driver, &s->rings[s->threads + 1]) &&
           pthread_create(&thread, NULL, work, s) == 0) {
        pthread_detach(thread);
        s->threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* What could be made of one that fails stays: memory may be pinned. */
gt_staging *gt_staging_create(const gt_driver *driver, CUcontext context, CUstream stream)
{
    gt_staging *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->driver = driver;
    s->context = context;
    s->stream = stream;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->begin, NULL);
    pthread_cond_init(&s->end, NULL);
    if (!make_ring(driver, &s->rings[0]))
        return NULL;
    start(s);
    return s;
}
