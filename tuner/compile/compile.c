#include "compile.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/core/status.h"

#define THREAD_LIMIT 64

typedef struct job {
    gt_compiled result;
    char *source;
    bool started, done;
    struct job *next;
} job;

struct gt_compiler {
    const gt_nvrtc *nvrtc;
    pthread_mutex_t lock;
    pthread_cond_t queued, finished;
    job *head, *tail; /* in the order of submission; taken from the head */
    bool closing;
    int threads;
    pthread_t thread[THREAD_LIMIT];
};

static job *first_waiting(gt_compiler *compiler)
{
    job *j = compiler->head;
    while (j && j->started)
        j = j->next;
    return j;
}

/* A dependent launch that does not wait would run beside what came before it: result checks may miss this race. */
static gt_status check_waits(const gt_compiled *r)
{
    if (!r->kernel.facts.dependent_launch || (r->code.ptx && strstr(r->code.ptx, "griddepcontrol.wait")))
        return GT_OK;
    return gt_fail(GT_ERROR_COMPILE, "%s.sql says dependent_launch, and the kernel never waits (gt_begin of "
                   "dependent_launch.cuh)",
                   r->kernel.family);
}

/* Without it nothing could be launched. */
static gt_status check_entry(const gt_compiled *r)
{
    if (!r->code.ptx || strstr(r->code.ptx, ".entry " GT_ENTRY "("))
        return GT_OK;
    return gt_fail(GT_ERROR_COMPILE, "%s.cu has no kernel of the name: extern \"C\" __global__ void %s(gt_args g)",
                   r->kernel.family, GT_ENTRY);
}

/* Whether a text speaks of a symbol. */
static bool has_symbol(const char *text, const char *name, size_t length)
{
    while ((text = strstr(text, name))) {
        const char before = text[-1], behind = text[length];
        if ((before == ' ' || before == '[') && (behind == ';' || behind == ']' || behind == '+'))
            return true;
        text += length;
    }
    return false;
}

/* A variable of the module that a kernel writes is one for all launches: two on different streams, which a plan without a
 * workspace may have, would take it from each other, and no check launches two at a time. Constants have values in PTX,
 * but for zero, of which no instruction speaks. */
static gt_status check_variables(const gt_compiled *r)
{
    static const char global[] = "\n.global ";
    for (const char *at = r->code.ptx; at && (at = strstr(at, global)); at++) {
        const char *end = at + 1 + strcspn(at + 1, "=[;"), *begin = end;
        while (begin[-1] != ' ')
            begin--;
        char name[200];
        snprintf(name, sizeof name, "%.*s", (int)(end - begin), begin);
        if (*end != '=' && end[strcspn(end, "=;")] == ';' && has_symbol(end, name, strlen(name)))
            return gt_fail(GT_ERROR_COMPILE, "%s.cu has a variable that launches on several streams would share, %s: what a "
                           "launch writes for itself belongs into its workspace (ws_tile)", r->kernel.family, name);
    }
    return GT_OK;
}

static gt_status check_code(const gt_compiled *r)
{
    gt_status status = check_entry(r);
    if (status == GT_OK)
        status = check_variables(r);
    return status == GT_OK ? check_waits(r) : status;
}

static void *work(void *data)
{
    gt_compiler *compiler = data;
    pthread_mutex_lock(&compiler->lock);
    for (;;) {
        job *j;
        while (!(j = first_waiting(compiler)) && !compiler->closing)
            pthread_cond_wait(&compiler->queued, &compiler->lock);
        if (compiler->closing)
            break;
        j->started = true;
        pthread_mutex_unlock(&compiler->lock);
        gt_compiled *r = &j->result;
        r->status = gt_nvrtc_compile(compiler->nvrtc, j->source, r->kernel.arch, &r->code, NULL);
        if (r->status == GT_OK && (r->status = check_code(r)) != GT_OK)
            gt_code_finish(&r->code);
        if (r->status != GT_OK)
            snprintf(r->detail, sizeof r->detail, "%s", gt_error_message());
        pthread_mutex_lock(&compiler->lock);
        j->done = true;
        pthread_cond_broadcast(&compiler->finished);
    }
    pthread_mutex_unlock(&compiler->lock);
    return NULL;
}

gt_status gt_compiler_create(const gt_nvrtc *nvrtc, int threads, gt_compiler **out)
{
    gt_compiler *compiler = calloc(1, sizeof *compiler);
    if (!compiler)
        return gt_fail_memory();
    compiler->nvrtc = nvrtc;
    pthread_mutex_init(&compiler->lock, NULL);
    pthread_cond_init(&compiler->queued, NULL);
    pthread_cond_init(&compiler->finished, NULL);
    if (threads <= 0)
        threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (threads > THREAD_LIMIT)
        threads = THREAD_LIMIT;
    for (int i = 0; i < threads; i++, compiler->threads++)
        if (pthread_create(&compiler->thread[i], NULL, work, compiler) != 0)
            break;
    if (compiler->threads == 0) {
        gt_compiler_destroy(compiler);
        return gt_fail(GT_ERROR_MEMORY, "no thread could be started for compiling");
    }
    *out = compiler;
    return GT_OK;
}

static void free_job(job *j)
{
    gt_code_finish(&j->result.code);
    free(j->source);
    free(j);
}

void gt_compiler_destroy(gt_compiler *compiler)
{
    if (!compiler)
        return;
    pthread_mutex_lock(&compiler->lock);
    compiler->closing = true;
    pthread_cond_broadcast(&compiler->queued);
    pthread_mutex_unlock(&compiler->lock);
    for (int i = 0; i < compiler->threads; i++)
        pthread_join(compiler->thread[i], NULL);
    for (job *j = compiler->head, *next; j; j = next) {
        next = j->next;
        free_job(j);
    }
    pthread_cond_destroy(&compiler->finished);
    pthread_cond_destroy(&compiler->queued);
    pthread_mutex_destroy(&compiler->lock);
    free(compiler);
}

gt_status gt_compiler_submit(gt_compiler *compiler, const gt_kernel *kernel, char *source, void *tag)
{
    job *j = calloc(1, sizeof *j);
    if (!j) {
        free(source);
        return gt_fail_memory();
    }
    j->result.kernel = *kernel;
    j->result.tag = tag;
    j->source = source;
    pthread_mutex_lock(&compiler->lock);
    if (compiler->tail)
        compiler->tail->next = j;
    else
        compiler->head = j;
    compiler->tail = j;
    pthread_cond_signal(&compiler->queued);
    pthread_mutex_unlock(&compiler->lock);
    return GT_OK;
}

/* Takes a job out of the queue and hands its result over. */
static void take(gt_compiler *compiler, job **at, gt_compiled *compiled)
{
    job *j = *at, *last = NULL;
    *at = j->next;
    for (job *left = compiler->head; left; left = left->next)
        last = left;
    compiler->tail = last;
    *compiled = j->result;
    j->result.code = (gt_code){0};
    free_job(j);
}

bool gt_compiler_next(gt_compiler *compiler, gt_compiled *compiled)
{
    pthread_mutex_lock(&compiler->lock);
    while (compiler->head && !compiler->head->done)
        pthread_cond_wait(&compiler->finished, &compiler->lock);
    const bool any = compiler->head;
    if (any)
        take(compiler, &compiler->head, compiled);
    pthread_mutex_unlock(&compiler->lock);
    return any;
}

bool gt_compiler_finished(gt_compiler *compiler, gt_compiled *compiled)
{
    pthread_mutex_lock(&compiler->lock);
    job **at = &compiler->head;
    while (*at && !(*at)->done)
        at = &(*at)->next;
    const bool any = *at;
    if (any)
        take(compiler, at, compiled);
    pthread_mutex_unlock(&compiler->lock);
    return any;
}

static job *find_job(const gt_compiler *compiler, const char *source_hash)
{
    job *j = compiler->head;
    while (j && strcmp(j->result.kernel.source_hash, source_hash) != 0)
        j = j->next;
    return j;
}

bool gt_compiler_share(gt_compiler *compiler, const char *source_hash)
{
    pthread_mutex_lock(&compiler->lock);
    job *j = find_job(compiler, source_hash);
    if (j)
        j->result.tag = NULL;
    pthread_mutex_unlock(&compiler->lock);
    return j;
}

bool gt_compiler_wait(gt_compiler *compiler, const char *source_hash)
{
    const job *j;
    pthread_mutex_lock(&compiler->lock);
    while ((j = find_job(compiler, source_hash)) && !j->done)
        pthread_cond_wait(&compiler->finished, &compiler->lock);
    pthread_mutex_unlock(&compiler->lock);
    return j;
}

void gt_compiler_drop(gt_compiler *compiler, const void *tag)
{
    pthread_mutex_lock(&compiler->lock);
    job **at = &compiler->head;
    compiler->tail = NULL;
    while (*at) {
        job *j = *at;
        if (j->started || j->result.tag != tag) {
            compiler->tail = j;
            at = &j->next;
        } else {
            *at = j->next;
            free_job(j);
        }
    }
    pthread_cond_broadcast(&compiler->finished); /* who waits for one of them waits in vain */
    pthread_mutex_unlock(&compiler->lock);
}
