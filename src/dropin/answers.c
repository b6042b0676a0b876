#include "answers.h"

#include <stdlib.h>
#include <string.h>

#define SLOT_BITS 14
#define SLOTS     (1 << SLOT_BITS) /* beyond three quarters a search takes many steps */

_Static_assert(GT_ANSWERS_MOST <= SLOTS / 4 * 3, "there is room");
_Static_assert(sizeof(gt_answer_key) == 12 * 8 + 12 * 4, "keys have no bytes between fields");

static _Atomic(gt_answer *) slots[SLOTS];
static atomic_size_t count;

/* A sum of products, which do not wait for each other. */
static size_t first_slot(const gt_answer_key *key)
{
    uint64_t words[sizeof *key / 8], sum = 0;
    memcpy(words, key, sizeof words);
    for (uint64_t i = 0; i < sizeof words / sizeof words[0]; i++)
        sum += words[i] * (0x9e3779b97f4a7c15u * (2 * i + 1));
    return (size_t)((sum ^ sum >> 32) * 0x9e3779b97f4a7c15u >> (64 - SLOT_BITS));
}

gt_answer *gt_answers_find(const gt_answer_key *key)
{
    gt_answer *answer;
    size_t slot = first_slot(key);
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
    size_t slot = first_slot(&answer->key);
    if (!copy)
        return NULL;
    memcpy(copy, answer, sizeof *copy);
    while (atomic_load_explicit(&slots[slot], memory_order_relaxed))
        slot = (slot + 1) & (SLOTS - 1);
    atomic_store_explicit(&slots[slot], copy, memory_order_release);
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return copy;
}
