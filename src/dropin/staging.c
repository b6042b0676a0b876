#include "staging.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_state.h"
#include "visit.h"

#define PAGE         4096
#define BUFFERS      2 /* of a thread: one is copied by the GPU, one by the thread */
#define MOST_THREADS 8
#define TASKS        32 /* that may be under way */

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
    CUevent arrived;
    size_t chunk_rows, chunks;
    size_t taken, left; /* chunks that somebody has or had, and that are not done */
} task;

/* A chunk in a thread's hands. */
typedef struct piece {
    task *task; /* NULL: none */
    size_t row, rows, buffer;
    bool failed;
} piece;

/* Tasks are begun in their order. A thread that has lost its core to another program holds up its own task; the others go
 * on with those behind. */
struct gt_staging {
    const gt_driver *driver;
    CUcontext context;
    CUstream stream;
    bool up;
    size_t threads; /* beside the caller's */
    ring rings[MOST_THREADS]; /* the first is the caller's */
    pthread_mutex_t lock; /* over all below */
    pthread_cond_t begin, end;
    size_t joined; /* threads that have a number */
    task tasks[TASKS]; /* by their ticket's remainder */
    size_t put, open; /* tickets: the next one, and the first with chunks that nobody took */
    bool failed;
};

/* The next chunk of the tasks up to a ticket. Under the lock. */
static piece take(gt_staging *s, ring *r, size_t last)
{
    while (s->open < s->put && s->tasks[s->open % TASKS].taken == s->tasks[s->open % TASKS].chunks)
        s->open++;
    if (s->open == s->put || s->open > last)
        return (piece){0};
    task *const t = &s->tasks[s->open % TASKS];
    const size_t row = t->chunk_rows * t->taken++, left = t->staged.rows - row;
    return (piece){.task = t, .row = row, .rows = left < t->chunk_rows ? left : t->chunk_rows,
                   .buffer = r->turn++ % BUFFERS, .failed = s->failed};
}

/* Under the lock. */
static void finish(gt_staging *s, const piece *p, bool copied)
{
    task *const t = p->task;
    if (--t->left == 0 && s->up && s->driver->cuEventRecord(t->arrived, s->stream) != CUDA_SUCCESS)
        copied = false;
    s->failed = s->failed || !copied;
    if (t->left == 0)
        pthread_cond_signal(&s->end);
}

static void copy_rows(char *to, size_t to_pitch, const char *from, size_t from_pitch, size_t row_bytes, size_t rows)
{
    if (to_pitch == from_pitch && to_pitch == row_bytes)
        memcpy(to, from, rows * row_bytes);
    else
        for (size_t i = 0; i < rows; i++)
            memcpy(to + i * to_pitch, from + i * from_pitch, row_bytes);
}

/* To the GPU, once it has read what was in the buffer before. */
static bool send(gt_staging *s, ring *r, const piece *p)
{
    const gt_staged *x = &p->task->staged;
    char *const data = r->buffers[p->buffer].data;
    const CUevent done = r->buffers[p->buffer].done;
    if (p->failed || s->driver->cuEventSynchronize(done) != CUDA_SUCCESS)
        return false;
    copy_rows(data, x->pitch, x->host + p->row * x->host_pitch, x->host_pitch, x->row_bytes, p->rows);
    return s->driver->cuMemcpyHtoDAsync(x->device + p->row * x->pitch, data, p->rows * x->pitch, s->stream) ==
               CUDA_SUCCESS &&
           s->driver->cuEventRecord(done, s->stream) == CUDA_SUCCESS;
}

/* From the GPU into the buffer. */
static bool fetch(gt_staging *s, ring *r, const piece *p)
{
    const gt_staged *x = &p->task->staged;
    return !p->failed &&
           s->driver->cuMemcpyDtoHAsync(r->buffers[p->buffer].data, x->device + p->row * x->pitch, p->rows * x->pitch,
                                        s->stream) == CUDA_SUCCESS &&
           s->driver->cuEventRecord(r->buffers[p->buffer].done, s->stream) == CUDA_SUCCESS;
}

/* And from there to its place, once it has come. */
static bool receive(gt_staging *s, ring *r, const piece *p)
{
    const gt_staged *x = &p->task->staged;
    if (p->failed || s->driver->cuEventSynchronize(r->buffers[p->buffer].done) != CUDA_SUCCESS)
        return false;
    copy_rows(x->host + p->row * x->host_pitch, x->host_pitch, r->buffers[p->buffer].data, x->pitch, x->row_bytes,
              p->rows);
    return true;
}

/* Copies what nobody has taken of the tasks up to a ticket. Under the lock, which is free meanwhile. */
static void copy_up(gt_staging *s, ring *r, size_t last)
{
    for (piece now = take(s, r, last); now.task; now = take(s, r, last)) {
        pthread_mutex_unlock(&s->lock);
        const bool copied = send(s, r, &now);
        pthread_mutex_lock(&s->lock);
        finish(s, &now, copied);
    }
}

/* On the way back the next chunk comes while one is copied. */
static void copy_down(gt_staging *s, ring *r, size_t last)
{
    piece now = {0}, next = take(s, r, last);
    while (now.task || next.task) {
        pthread_mutex_unlock(&s->lock);
        next.failed = next.task && !fetch(s, r, &next);
        const bool copied = now.task && receive(s, r, &now);
        pthread_mutex_lock(&s->lock);
        if (now.task)
            finish(s, &now, copied);
        now = next;
        next = take(s, r, last);
    }
}

static void copy(gt_staging *s, ring *r, size_t last)
{
    if (s->up)
        copy_up(s, r, last);
    else
        copy_down(s, r, last);
}

static void *work(void *data)
{
    gt_staging *s = data;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; /* a program's captures are none of this thread's */
    if (s->driver->cuCtxSetCurrent(s->context) != CUDA_SUCCESS)
        return NULL; /* others copy */
    gt_cuda_exchange_mode(&mode);
    pthread_mutex_lock(&s->lock);
    ring *const r = &s->rings[++s->joined];
    for (;;) {
        copy(s, r, SIZE_MAX);
        pthread_cond_wait(&s->begin, &s->lock);
    }
    return NULL;
}

/* Under the lock. */
static void wait_for(gt_staging *s, size_t ticket)
{
    copy(s, &s->rings[0], ticket);
    while (s->put <= ticket + TASKS && s->tasks[ticket % TASKS].left > 0)
        pthread_cond_wait(&s->end, &s->lock);
}

/* A single chunk is copied in less time than it takes to wake others: by the caller, when it waits. */
size_t gt_staging_put(gt_staging *s, const gt_staged *staged, CUevent arrived)
{
    task t = {.staged = *staged, .arrived = arrived, .chunk_rows = GT_STAGING_LINE / staged->pitch};
    t.chunks = t.left = (staged->rows + t.chunk_rows - 1) / t.chunk_rows;
    pthread_mutex_lock(&s->lock);
    if (s->put >= TASKS)
        wait_for(s, s->put - TASKS);
    const size_t ticket = s->put++;
    s->tasks[ticket % TASKS] = t;
    if (t.chunks > 1)
        pthread_cond_broadcast(&s->begin);
    pthread_mutex_unlock(&s->lock);
    return ticket;
}

bool gt_staging_wait(gt_staging *s, size_t ticket)
{
    pthread_mutex_lock(&s->lock);
    wait_for(s, ticket);
    const bool good = !s->failed;
    pthread_mutex_unlock(&s->lock);
    return good;
}

bool gt_staging_finish(gt_staging *s)
{
    pthread_mutex_lock(&s->lock);
    for (size_t ticket = s->put < TASKS ? 0 : s->put - TASKS; ticket < s->put; ticket++)
        wait_for(s, ticket);
    const bool good = !s->failed;
    s->failed = false;
    pthread_mutex_unlock(&s->lock);
    return good;
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

/* A thread for every second core, and two at least: one copies while the other waits. */
static void start(gt_staging *s)
{
    const long spare = sysconf(_SC_NPROCESSORS_ONLN) / 2;
    const size_t wanted = spare < 2 ? 2 : spare < MOST_THREADS ? (size_t)spare : MOST_THREADS;
    while (s->threads + 1 < wanted && make_ring(s->driver, &s->rings[s->threads + 1]) && gt_visit_start(work, s))
        s->threads++;
}

/* What could be made of one that fails stays: memory may be pinned. */
gt_staging *gt_staging_create(const gt_driver *driver, CUcontext context, CUstream stream, bool up)
{
    gt_staging *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->driver = driver;
    s->context = context;
    s->stream = stream;
    s->up = up;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->begin, NULL);
    pthread_cond_init(&s->end, NULL);
    if (!make_ring(driver, &s->rings[0]))
        return NULL;
    start(s);
    return s;
}
