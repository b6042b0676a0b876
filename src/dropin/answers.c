#include "answers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

#define SLOT_BITS 14
#define SLOTS     (1 << SLOT_BITS) /* beyond three quarters a search takes many steps */

_Static_assert(GT_ANSWERS_MOST <= SLOTS / 4 * 3, "there is room");
_Static_assert(sizeof(gt_answer_key) == 12 * 8 + 12 * 4, "keys have no bytes between fields");

static _Atomic(gt_answer *) slots[SLOTS];
static atomic_size_t count;
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

gt_answer *gt_answers_find(const gt_answer_key *key)
{
    gt_answer *answer;
    size_t slot = gt_hash(key, sizeof *key / 8, SLOT_BITS);
    while ((answer = atomic_load_explicit(&slots[slot], memory_order_acquire)) &&
           memcmp(&answer->key, key, sizeof *key) != 0)
        slot = (slot + 1) & (SLOTS - 1);
    return answer;
}

gt_answer *gt_answers_next(size_t *at)
{
    gt_answer *answer = NULL;
    while (!answer && *at < SLOTS)
        answer = atomic_load_explicit(&slots[(*at)++], memory_order_acquire);
    return answer;
}

bool gt_answers_have_room(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed) + 2 <= GT_ANSWERS_MOST;
}

gt_answer *gt_answers_add(const gt_answer *answer)
{
    gt_answer *copy = malloc(sizeof *copy);
    size_t slot = gt_hash(&answer->key, sizeof answer->key / 8, SLOT_BITS);
    if (!copy)
        return NULL;
    memcpy(copy, answer, sizeof *copy);
    pthread_mutex_lock(&adding);
    while (atomic_load_explicit(&slots[slot], memory_order_relaxed))
        slot = (slot + 1) & (SLOTS - 1);
    atomic_store_explicit(&slots[slot], copy, memory_order_release);
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    pthread_mutex_unlock(&adding);
    return copy;
}
