/*
 * What was decided for each problem: the plan that answers it, or why none does, and how often it was asked for. Read
 * without a lock; entries never go, so the table is bounded. Only their counts change.
 */
#ifndef GT_ANSWERS_H
#define GT_ANSWERS_H

#include <stdatomic.h>

#include "../gemmtune.h"
#include "tally.h"

#define GT_ANSWERS_MOST 12288

/* Whole numbers only: no bytes between the fields, so that they are compared as memory. */
typedef struct gt_answer_key {
    uint64_t context; /* of CUDA, by its id */
    uint64_t stream;  /* by its id, where the plan has a workspace; else 0 */
    int64_t m, n, k, batch;
    int64_t lda, ldb, ldc, stride_a, stride_b, stride_c;
    int32_t op_a, op_b, type_ab, type_c, math, align;
    int32_t symbol;  /* that was called: gt_symbol */
    int32_t refused; /* gt_fate: GT_FATE_ANSWERED, or what it was before the database was asked */
    int32_t alone;   /* whether it competes with cuBLAS */
    int32_t epilogue, beside;
    int32_t unused;
} gt_answer_key;

typedef struct gt_answer {
    gt_answer_key key;
    gt_fate fate;
    bool by_stream; /* the plan has a workspace: there is one for each stream, under its own key */
    atomic_bool is_full; /* by stream: streams that have none yet get none */
    int streams;         /* that have one: under the lock of their context */
    gt_plan *plan;  /* where fate is GT_FATE_ANSWERED; by stream, one that is not to run in its own workspace */
    size_t workspace, counters; /* bytes of the plan's */
    double baseline_us, expected_us; /* of the plan; 0: there was none */
    atomic_ullong calls;
    unsigned long long stored; /* of the calls; the capture's own */
} gt_answer;

/* The answer to a problem; NULL if nothing was decided yet. Thread-safe. */
gt_answer *gt_answers_find(const gt_answer_key *key);

/* Each answer in turn, from *at = 0 on; NULL behind the last. Thread-safe. */
gt_answer *gt_answers_next(size_t *at);

/* Whether there is room for two more: none is left once there was none. Thread-safe. */
bool gt_answers_have_room(void);

/* Adds an answer to a key that has none, where there is room; NULL if memory is out. Thread-safe for other keys. */
gt_answer *gt_answers_add(const gt_answer *answer);

#endif
