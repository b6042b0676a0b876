#include "memo.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

#define BITS  6
#define CALLS 1024 /* that are forwarded until one is looked at again: a handle may have become another GPU's */

typedef struct entry {
    uint64_t key[GT_MEMO_WORDS];
    size_t words; /* 0: none */
    int left;     /* calls */
    gt_fate fate;
    gt_answer *answers[GT_MEMO_ANSWERS];
} entry;

typedef struct memo {
    entry entries[1 << BITS];
} memo;

/* A pointer: what is larger in every thread is missing from the smallest stacks of a program's. */
static _Thread_local __attribute__((tls_model("initial-exec"))) memo *own;

static struct {
    pthread_once_t once;
    pthread_key_t key; /* for the end of a thread */
    bool is_made;
} ends = {.once = PTHREAD_ONCE_INIT};

static void forget(void *data)
{
    own = NULL;
    free(data);
}

static void make_key(void)
{
    ends.is_made = pthread_key_create(&ends.key, forget) == 0;
}

/* NULL where there is no memory. */
static memo *make_memo(void)
{
    pthread_once(&ends.once, make_key);
    memo *made = ends.is_made ? calloc(1, sizeof *made) : NULL;
    if (made && pthread_setspecific(ends.key, made) != 0) {
        free(made);
        return NULL;
    }
    return own = made;
}

static entry *find_entry(memo *m, const void *key, size_t words)
{
    return &m->entries[gt_hash(key, words, BITS)];
}

bool gt_memo_forwards(const void *key, size_t words)
{
    if (!own)
        return false;
    entry *e = find_entry(own, key, words);
    if (e->words != words || memcmp(e->key, key, words * sizeof e->key[0]) != 0 || e->left == 0)
        return false;
    e->left--;
    for (int i = 0; i < GT_MEMO_ANSWERS; i++)
        if (e->answers[i])
            atomic_fetch_add_explicit(&e->answers[i]->calls, 1, memory_order_relaxed);
    gt_tally_count(e->fate);
    return true;
}

/* Whether it would be found again, in every stream and wherever the scalars are. */
static bool stays(gt_fate fate)
{
    return fate == GT_FATE_UNAVAILABLE || fate == GT_FATE_COUNTED || fate == GT_FATE_NOT_TUNED ||
           fate == GT_FATE_NO_BASELINE || fate == GT_FATE_SLOWER;
}

/* A table that is full stays so. */
static bool all_stay(gt_fate fate, gt_answer *const answers[GT_MEMO_ANSWERS])
{
    bool all = stays(fate) || fate == GT_FATE_NO_ROOM;
    for (int i = 0; i < GT_MEMO_ANSWERS; i++)
        all = all && (!answers[i] || stays(answers[i]->fate));
    return all;
}

void gt_memo_keep(const void *key, size_t words, gt_fate fate, gt_answer *const answers[GT_MEMO_ANSWERS])
{
    if (!all_stay(fate, answers) || (!own && !make_memo()))
        return;
    entry *e = find_entry(own, key, words);
    memcpy(e->key, key, words * sizeof e->key[0]);
    e->words = words;
    e->left = CALLS;
    e->fate = fate;
    memcpy(e->answers, answers, sizeof e->answers);
}
