/*
 * What was decided for each problem: the plan that answers it, or why none does. Read without a lock; entries are added
 * one at a time and never change or go, so the table is bounded.
 */
#ifndef GT_ANSWERS_H
#define GT_ANSWERS_H

#include "../gemmtune.h"
#include "tally.h"

/* Whole numbers only: no bytes between the fields, so that they are compared as memory. */
typedef struct gt_answer_key {
    uint64_t context; /* of CUDA, by its id */
    uint64_t stream;  /* by its id, where the plan has a workspace; else 0 */
    int64_t m, n, k, batch;
    int64_t lda, ldb, ldc, stride_a, stride_b, stride_c;
    int32_t op_a, op_b, type_ab, type_c, math, align;
} gt_answer_key;

typedef struct gt_answer {
    gt_answer_key key;
    gt_fate fate;
    bool by_stream; /* the plan has a workspace: there is one for each stream, under its own key */
    gt_plan *plan;  /* where fate is GT_FATE_ANSWERED and it is not by stream */
} gt_answer;

/* The answer to a problem; NULL if nothing was decided yet. Thread-safe. */
const gt_answer *gt_answers_find(const gt_answer_key *key);

/* Whether there is room for two more. Under a lock of the caller's, like the next one. */
bool gt_answers_have_room(void);

/* Adds an answer to a key that has none, where there is room; NULL if memory is out. */
const gt_answer *gt_answers_add(const gt_answer *answer);

#endif
