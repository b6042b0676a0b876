#include "staging.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE         4096
#define BUFFERS      4
#define BUFFER_BYTES GT_STAGING_LINE
#define MOST_THREADS 8
#define LEAST_BYTES  ((size_t)1 << 20) /* that one thread copies in less time than it takes to wake others */

/* Rows to copy from one place to another. */
typedef struct rows {
    char *to;
    const char *from;
    size_t count, row_bytes, to_pitch, from_pitch;
} rows;

/* Threads that copy parts of the same rows. */
typedef struct team {
    pthread_mutex_t lock;
    pthread_cond_t begin, end;
    size_t threads; /* beside the caller's */
    size_t round;   /* of copies: a new one is there */
    size_t busy;
    rows work;
} team;

struct gt_staging {
    const gt_driver *driver;
    CUstream stream;
    struct {
        char *data;
        CUevent done; /* what the GPU does with it */
    } buffers[BUFFERS];
    size_t turn;
    team team;
    size_t joined; /* threads that have a number */
};

static void copy_rows(const rows *r, size_t first, size_t last)
{
    if (r->to_pitch == r->from_pitch && r->to_pitch == r->row_bytes) {
        memcpy(r->to + first * r->to_pitch, r->from + first * r->from_pitch, (last - first) * r->row_bytes);
        return;
    }
    for (size_t i = first; i < last; i++)
        memcpy(r->to + i * r->to_pitch, r->from + i * r->from_pitch, r->row_bytes);
}

static void copy_part(const rows *r, size_t part, size_t parts)
{
    copy_rows(r, r->count * part / parts, r->count * (part + 1) / parts);
}

static void *work(void *data)
{
    gt_staging *staging = data;
    team *t = &staging->team;
    size_t seen = 0;
    pthread_mutex_lock(&t->lock);
    const size_t part = ++staging->joined;
    for (;;) {
        while (t->round == seen)
            pthread_cond_wait(&t->begin, &t->lock);
        seen = t->round;
        const rows mine = t->work;
        const size_t parts = t->threads + 1;
        pthread_mutex_unlock(&t->lock);
        copy_part(&mine, part, parts);
        pthread_mutex_lock(&t->lock);
        if (--t->busy == 0)
            pthread_cond_signal(&t->end);
    }
    return NULL;
}

static void copy(gt_staging *staging, const rows *r)
{
    team *t = &staging->team;
    if (t->threads == 0 || r->count * r->row_bytes < LEAST_BYTES) {
        copy_rows(r, 0, r->count);
        return;
    }
    pthread_mutex_lock(&t->lock);
    t->work = *r;
    t->busy = t->threads;
    t->round++;
    pthread_cond_broadcast(&t->begin);
    pthread_mutex_unlock(&t->lock);
    copy_part(r, 0, t->threads + 1);
    pthread_mutex_lock(&t->lock);
    while (t->busy > 0)
        pthread_cond_wait(&t->end, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

/* As many as there are cores to spare. The program's signals are for its own threads. */
static void start_team(gt_staging *staging)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const long wanted = cores / 2 < MOST_THREADS ? cores / 2 : MOST_THREADS;
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (long i = 1; i < wanted && pthread_create(&thread, NULL, work, staging) == 0; i++) {
        pthread_detach(thread);
        staging->team.threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static bool make_buffer(const gt_driver *driver, char **out, CUevent *done)
{
    void *data = NULL;
    if (posix_memalign(&data, PAGE, BUFFER_BYTES) != 0)
        return false;
    if (driver->cuMemHostRegister(data, BUFFER_BYTES, 0) == CUDA_SUCCESS) {
        if (driver->cuEventCreate(done, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS) {
            *out = data;
            return true;
        }
        driver->cuMemHostUnregister(data);
    }
    free(data);
    return false;
}

static void drop_buffers(gt_staging *staging, int count)
{
    for (int i = 0; i < count; i++) {
        staging->driver->cuEventDestroy(staging->buffers[i].done);
        staging->driver->cuMemHostUnregister(staging->buffers[i].data);
        free(staging->buffers[i].data);
    }
}

gt_staging *gt_staging_create(const gt_driver *driver, CUstream stream)
{
    int made = 0;
    gt_staging *staging = calloc(1, sizeof *staging);
    if (!staging)
        return NULL;
    *staging = (gt_staging){.driver = driver, .stream = stream,
                            .team = {.lock = PTHREAD_MUTEX_INITIALIZER, .begin = PTHREAD_COND_INITIALIZER,
                                     .end = PTHREAD_COND_INITIALIZER}};
    while (made < BUFFERS && make_buffer(driver, &staging->buffers[made].data, &staging->buffers[made].done))
        made++;
    if (made == BUFFERS) {
        start_team(staging);
        return staging;
    }
    drop_buffers(staging, made);
    free(staging);
    return NULL;
}

bool gt_staging_upload(gt_staging *staging, const gt_staged *s)
{
    const gt_driver *driver = staging->driver;
    const size_t most = BUFFER_BYTES / s->pitch;
    for (size_t row = 0; row < s->rows;) {
        const size_t count = s->rows - row < most ? s->rows - row : most, i = staging->turn++ % BUFFERS;
        const rows r = {.to = staging->buffers[i].data, .from = s->host + row * s->host_pitch, .count = count,
                        .row_bytes = s->row_bytes, .to_pitch = s->pitch, .from_pitch = s->host_pitch};
        if (driver->cuEventSynchronize(staging->buffers[i].done) != CUDA_SUCCESS)
            return false;
        copy(staging, &r);
        if (driver->cuMemcpyHtoDAsync(s->device + row * s->pitch, r.to, count * s->pitch, staging->stream) !=
                CUDA_SUCCESS ||
            driver->cuEventRecord(staging->buffers[i].done, staging->stream) != CUDA_SUCCESS)
            return false;
        row += count;
    }
    return true;
}

/* Enqueues the copy of some rows into the buffer of their turn. */
static bool fetch(gt_staging *staging, const gt_staged *s, size_t row, size_t count, size_t turn)
{
    const gt_driver *driver = staging->driver;
    const size_t i = turn % BUFFERS;
    return driver->cuMemcpyDtoHAsync(staging->buffers[i].data, s->device + row * s->pitch, count * s->pitch,
                                     staging->stream) == CUDA_SUCCESS &&
           driver->cuEventRecord(staging->buffers[i].done, staging->stream) == CUDA_SUCCESS;
}

bool gt_staging_download(gt_staging *staging, const gt_staged *s)
{
    const size_t most = BUFFER_BYTES / s->pitch, parts = (s->rows + most - 1) / most;
    size_t fetched = 0;
    for (size_t part = 0; part < parts; part++) {
        const size_t row = part * most, count = s->rows - row < most ? s->rows - row : most, i = part % BUFFERS;
        for (; fetched < parts && fetched < part + BUFFERS; fetched++) {
            const size_t from = fetched * most, left = s->rows - from;
            if (!fetch(staging, s, from, left < most ? left : most, fetched))
                return false;
        }
        if (staging->driver->cuEventSynchronize(staging->buffers[i].done) != CUDA_SUCCESS)
            return false;
        const rows r = {.to = s->host + row * s->host_pitch, .from = staging->buffers[i].data, .count = count,
                        .row_bytes = s->row_bytes, .to_pitch = s->host_pitch, .from_pitch = s->pitch};
        copy(staging, &r);
    }
    return true;
}
