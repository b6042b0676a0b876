/*
 * Answers a product of a program that knows nothing of the library, or says why the program's own library has to. Sets
 * nothing up before the first product that could be answered: a preloaded library is in every child process.
 */
#ifndef GT_FRONT_H
#define GT_FRONT_H

#include <stdbool.h>

#include "../gemmtune.h"
#include "../runtime/rates.h"
#include "symbols.h"
#include "tally.h"

/* Asked for each product. False where GEMMTUNE_DISABLE is set, in the child of a process that has seen products, and in a
 * pause. */
bool gt_front_is_on(void);

/* What that will say of the first product, asked without one: children of a process that only looked functions up have
 * products of their own. */
bool gt_front_may_answer(void);

/* Begins a pause where it is on, or ends it. Thread-safe. */
void gt_front_pause(bool paused);

/* A product as a program asked for it. */
typedef struct gt_request {
    gt_gemm gemm; /* align is what the pointers have */
    gt_symbol symbol;
    bool alone;      /* no cuBLAS competes: whatever is tuned may answer */
    gt_fate refused; /* GT_FATE_ANSWERED, or why it cannot be answered whatever the database has: it is counted */
} gt_request;

/*
 * Enqueues the product on the stream by a plan that is expected to be faster than cuBLAS is: GT_FATE_ANSWERED. With any
 * other fate nothing was enqueued. *answer is what the call was counted under, as it was if it could not be. Thread-safe;
 * takes a lock only for a problem that was not seen before in this CUDA context and, where a plan needs a workspace,
 * stream.
 */
typedef struct gt_answer gt_answer;
gt_fate gt_front_run(const gt_request *request, struct CUstream_st *stream, const gt_operands *operands,
                     gt_answer **answer);

/* Rates of this machine that programs before this one have stored become the list's values; calls nothing of CUDA. And
 * stores them for others, where products are counted. */
void gt_front_load_rates(gt_rate *list, size_t count);
void gt_front_store_rates(const gt_rate *list, size_t count);

/* The same in two steps: whether it would be answered, and what is expected of that, in microseconds; and the rest. */
gt_fate gt_front_find(const gt_request *request, struct CUstream_st *stream, gt_answer **answer, double *expected_us);
gt_fate gt_front_execute(gt_answer *answer, struct CUstream_st *stream, const gt_operands *operands);

#endif
