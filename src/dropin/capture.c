#include "capture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../core/environment.h"
#include "answers.h"
#include "visit.h"

#define SECONDS      5  /* between two additions to the database */
#define CONTEXTS     16 /* as in front.c */
#define PROGRAM      96 /* bytes of a program's name */
#define COMMAND_LINE 4096

/* A CUDA context that products are counted in. */
typedef struct counted {
    uint64_t id;
    gt_counted_gpu *gpu;
} counted;

static struct {
    pthread_mutex_t lock; /* over what is stored, and when that ends */
    bool on, ended;
    const gt_library *library;
    counted contexts[CONTEXTS];
    atomic_size_t count; /* of contexts: grows */
    char program[PROGRAM];
    char failure[GT_CAPTURE_TEXT - 256];
} capture = {.lock = PTHREAD_MUTEX_INITIALIZER};

const char *gt_symbol_name(gt_symbol symbol)
{
    static const char *const names[] = {
#define X(name) #name,
        GT_SYMBOL_LIST(X)
#undef X
    };
    return names[symbol];
}

bool gt_capture_read_environment(void)
{
    const char *asked = gt_environment(GT_ENV_CAPTURE);
    capture.on = asked != NULL;
    return asked && strcmp(asked, "only") == 0;
}

/* The program's name, and behind it that of its script: "python3 train.py". Options are nobody's business. */
static void find_program(void)
{
    char line[COMMAND_LINE + 2] = "";
    FILE *file = fopen("/proc/self/cmdline", "re");
    const size_t length = file ? fread(line, 1, COMMAND_LINE, file) : 0;
    if (file)
        fclose(file);
    const char *first = line, *second = line + strnlen(line, length) + 1;
    const char *const names[] = {first, second < line + length && *second != '-' ? second : ""};
    for (size_t i = 0; i < 2; i++) {
        const char *slash = strrchr(names[i], '/');
        const size_t used = strlen(capture.program);
        snprintf(capture.program + used, sizeof capture.program - used, "%s%s", i > 0 && *names[i] ? " " : "",
                 slash ? slash + 1 : names[i]);
    }
}

static gt_counted describe(const gt_answer *answer, unsigned long long calls)
{
    const gt_answer_key *k = &answer->key;
    return (gt_counted){
        .gemm = {.m = k->m, .n = k->n, .k = k->k, .batch = k->batch, .lda = k->lda, .ldb = k->ldb, .ldc = k->ldc,
                 .stride_a = k->stride_a, .stride_b = k->stride_b, .stride_c = k->stride_c, .op_a = (gt_op)k->op_a,
                 .op_b = (gt_op)k->op_b, .type_ab = (gt_type)k->type_ab, .type_c = (gt_type)k->type_c,
                 .math = (gt_math)k->math, .align = k->align},
        .symbol = gt_symbol_name((gt_symbol)k->symbol), .fate = gt_fate_text(answer->fate),
        .tunable = gt_fate_is_tunable(answer->fate), .calls = (int64_t)calls, .baseline_us = answer->baseline_us,
        .expected_us = answer->fate == GT_FATE_ANSWERED ? answer->expected_us : 0,
    };
}

/* Adds what was counted in one context since the last time. Under the lock. */
static void store_context(const counted *context)
{
    gt_answer *answer, **taken = malloc(GT_ANSWERS_MOST * sizeof(gt_answer *));
    gt_counted *list = malloc(GT_ANSWERS_MOST * sizeof *list);
    size_t count = 0, at = 0;
    while (taken && list && count < GT_ANSWERS_MOST && (answer = gt_answers_next(&at))) {
        const unsigned long long calls = atomic_load_explicit(&answer->calls, memory_order_relaxed) - answer->stored;
        if (answer->key.context != context->id || calls == 0)
            continue;
        taken[count] = answer;
        list[count++] = describe(answer, calls);
    }
    const gt_status status = count > 0 ? capture.library->gt_counted_store(context->gpu, capture.program, list, count) : GT_OK;
    for (size_t i = 0; status == GT_OK && i < count; i++)
        taken[i]->stored += (unsigned long long)list[i].calls;
    snprintf(capture.failure, sizeof capture.failure, "%s", status == GT_OK ? "" : capture.library->gt_error_message());
    free(taken);
    free(list);
}

/* Under the lock. */
static void store_all(void)
{
    for (size_t i = 0; i < atomic_load(&capture.count); i++)
        store_context(&capture.contexts[i]);
}

static void *work(void *unused)
{
    static const struct timespec pause = {.tv_sec = SECONDS};
    bool ended = false;
    (void)unused;
    while (!ended) {
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&capture.lock);
        ended = capture.ended;
        if (!ended)
            store_all();
        pthread_mutex_unlock(&capture.lock);
    }
    return NULL;
}

void gt_capture_begin(uint64_t context, const gt_library *library)
{
    const size_t count = atomic_load(&capture.count);
    gt_counted_gpu *gpu = NULL;
    if (!capture.on || count == CONTEXTS || library->gt_counted_open(&gpu) != GT_OK)
        return;
    if (count == 0) {
        capture.library = library;
        find_program();
    }
    capture.contexts[count] = (counted){.id = context, .gpu = gpu};
    atomic_store(&capture.count, count + 1);
    if (count == 0)
        gt_visit_start(work, NULL);
}

const gt_counted_gpu *gt_capture_gpu(void)
{
    return atomic_load(&capture.count) > 0 ? capture.contexts[0].gpu : NULL;
}

/* Milliseconds of cuBLAS's that calls would have taken, and that were saved, where stored times say so. */
static void add_up(double *total, double *saved, unsigned long long *tunable)
{
    const gt_answer *answer;
    for (size_t at = 0; (answer = gt_answers_next(&at));) {
        const unsigned long long calls = atomic_load_explicit(&answer->calls, memory_order_relaxed);
        *total += 1e-3 * answer->baseline_us * (double)calls;
        if (answer->fate == GT_FATE_ANSWERED)
            *saved += 1e-3 * (answer->baseline_us - answer->expected_us) * (double)calls;
        else if (gt_fate_is_tunable(answer->fate) && answer->fate != GT_FATE_SLOWER)
            *tunable += calls;
    }
}

void gt_capture_end(char text[GT_CAPTURE_TEXT])
{
    double total = 0, saved = 0;
    unsigned long long tunable = 0;
    size_t length = 0;
    pthread_mutex_lock(&capture.lock);
    capture.ended = true;
    store_all();
    pthread_mutex_unlock(&capture.lock);
    add_up(&total, &saved, &tunable);
    text[0] = 0;
    if (saved > 0)
        length = (size_t)snprintf(text, GT_CAPTURE_TEXT, "; saved about %.1f of %.1f ms", saved, total);
    if (capture.failure[0] && !gt_tally_has_why()) /* or that one says it all */
        snprintf(text + length, GT_CAPTURE_TEXT - length, "; not stored: %s", capture.failure);
    else if (!capture.failure[0] && tunable > 0 && atomic_load(&capture.count) > 0)
        snprintf(text + length, GT_CAPTURE_TEXT - length, "; next: gemmtune tune --wanted");
}
