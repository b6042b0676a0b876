#include "memo.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BITS  6
#define CALLS 1024 /* that are forwarded until one is looked at again: a handle may have become another GPU's */

_Static_assert(GT_CUBLAS_ASKED == 11 * 8 + 10 * 4, "what is asked for has no bytes between its fields");

typedef struct entry {
    gt_cublas_call call;
    int align;
    int left; /* calls; 0: none, or to be looked at again */
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

/* The one place of a call. The sums' factors are odd and have nothing in common. */
static entry *find_entry(memo *m, const gt_cublas_call *c)
{
    const uint64_t sum = (uint64_t)c->m * 0x9e3779b97f4a7c15u + (uint64_t)c->n * 0xc2b2ae3d27d4eb4fu +
                         (uint64_t)c->k * 0x165667b19e3779f9u + (uint64_t)c->batch * 0xd6e8feb86659fd93u +
                         (uint64_t)(4 * c->op_a + c->op_b) * 0xa0761d6478bd642fu + (uintptr_t)c->handle;
    return &m->entries[(sum ^ sum >> 32) * 0x9e3779b97f4a7c15u >> (64 - BITS)];
}

bool gt_memo_forwards(const gt_cublas_call *call)
{
    if (!own)
        return false;
    entry *e = find_entry(own, call);
    if (e->left == 0 || e->align != gt_cublas_align(call) || !e->call.d != !call->d ||
        memcmp(&e->call, call, GT_CUBLAS_ASKED) != 0)
        return false;
    e->left--;
    for (int i = 0; i < GT_MEMO_ANSWERS; i++)
        if (e->answers[i])
            atomic_fetch_add_explicit(&e->answers[i]->calls, 1, memory_order_relaxed);
    gt_tally_count(e->fate);
    return true;
}

/* Whether it holds for every stream, and wherever the scalars are. */
static bool stays(gt_fate fate)
{
    return fate == GT_FATE_UNAVAILABLE || fate == GT_FATE_COUNTED || fate == GT_FATE_NOT_TUNED ||
           fate == GT_FATE_NO_BASELINE || fate == GT_FATE_SLOWER;
}

void gt_memo_keep(const gt_cublas_call *call, gt_fate fate, gt_answer *const answers[GT_MEMO_ANSWERS])
{
    if (!stays(fate) || (!own && !make_memo()))
        return;
    entry *e = find_entry(own, call);
    *e = (entry){.call = *call, .align = gt_cublas_align(call), .left = CALLS, .fate = fate};
    memcpy(e->answers, answers, sizeof e->answers);
}
