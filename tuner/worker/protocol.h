/*
 * What a worker and its parent say to each other: messages of a kind and some bytes over a socket. Both ends are the
 * same program, so structs travel as they are; sizes are checked all the same.
 *
 *     parent          worker
 *     INIT       ->
 *                <-   READY, or FAILED and the worker ends
 *     TRY, RACE  ->
 *                <-   PHASE, any number of them
 *     GO         ->   where a PHASE needs the GPU and the one before did not
 *                <-   RESULT, or FAULT and the worker ends
 *     CEILING    ->
 *                <-   CEILINGS, or the worker ends
 *     ACCURACY   ->
 *                <-   ACCURACIES, or the worker ends
 */
#ifndef GT_WORKER_PROTOCOL_H
#define GT_WORKER_PROTOCOL_H

#include <signal.h>
#include <sys/uio.h>

#include "../../db/trial.h"
#include "../../src/core/kernel.h"
#include "accuracy.h"
#include "ceiling.h"
#include "../baselines/baseline.h"

#define GT_MESSAGE_MAGIC   0x67746d36u /* changes with the structs below */
#define GT_MESSAGE_MOST    ((uint64_t)1 << 30)
#define GT_CONTESTANTS     64
#define GT_MESSAGE_TEXT    1000

typedef enum gt_message_kind {
    GT_MESSAGE_INIT = 1, /* gt_message_init, the driver's path, cubin, PTX of the checks */
    GT_MESSAGE_READY,    /* nothing */
    GT_MESSAGE_FAILED,   /* gt_message_failed */
    GT_MESSAGE_TRY,      /* gt_message_job, a gt_message_contestant, its cubin and PTX */
    GT_MESSAGE_RACE,     /* the same with `count` contestants */
    GT_MESSAGE_CEILING,  /* gt_message_ceiling, cubin and PTX of the kernels that measure */
    GT_MESSAGE_CEILINGS, /* gt_ceilings */
    GT_MESSAGE_ACCURACY, /* gt_message_accuracy, cubin and PTX of its kernel */
    GT_MESSAGE_ACCURACIES, /* gt_message_accuracies */
    GT_MESSAGE_PHASE,    /* gt_message_phase */
    GT_MESSAGE_GO,       /* nothing: the GPU is the worker's */
    GT_MESSAGE_RESULT,   /* gt_message_result, `count` trials */
    GT_MESSAGE_FAULT,    /* gt_message_fault: a contestant broke the context */
} gt_message_kind;

typedef struct gt_message_header {
    uint32_t magic, kind;
    uint64_t bytes; /* that follow */
} gt_message_header;

typedef struct gt_message_init {
    int32_t device;
    uint32_t driver_bytes; /* of the path with its end; 0: the default driver */
    uint64_t cubin_bytes, ptx_bytes;
} gt_message_init;

typedef struct gt_message_failed {
    int32_t status;
    char line[GT_MESSAGE_TEXT];
} gt_message_failed;

typedef struct gt_message_ceiling {
    gt_class class; /* of which only types and math count */
    uint64_t cubin_bytes, ptx_bytes;
} gt_message_ceiling;

typedef struct gt_message_job {
    gt_problem problem;
    uint64_t seed; /* of the data that contestants are checked on */
    double best_us, seconds;
    double search_s; /* for a baseline that has a choice of algorithms */
    uint32_t count, time_it;
    uint32_t baselines; /* one bit each */
    uint32_t extent;    /* of the small checks: gt_extent */
} gt_message_job;

typedef struct gt_message_contestant {
    gt_kernel kernel;
    uint64_t cubin_bytes, ptx_bytes;
} gt_message_contestant;

typedef struct gt_message_accuracy {
    gt_problem problem;
    uint64_t seed;
    uint32_t kind;     /* of data */
    uint32_t baseline; /* 1: cuBLAS runs, too */
    gt_message_contestant contestant;
} gt_message_accuracy;

typedef struct gt_message_accuracies {
    gt_accuracy kernel, cublas;
} gt_message_accuracies;

typedef enum gt_phase {
    GT_PHASE_DRAWING,   /* the small checks, on the host: no candidate has run */
    GT_PHASE_PREPARING, /* data and references of the problem: no candidate has run */
    GT_PHASE_VERIFYING,
    GT_PHASE_JUDGING, /* results of the small checks, on the host */
    GT_PHASE_TIMING,
} gt_phase;

#define GT_PHASE_COUNT 5

/* In the other phases another worker may have the GPU: what is timed there must run alone. */
static inline bool gt_phase_needs_gpu(gt_phase phase)
{
    return phase != GT_PHASE_DRAWING && phase != GT_PHASE_JUDGING;
}

typedef struct gt_message_phase {
    uint32_t phase;
    uint32_t index; /* whose: a contestant's, or `count` and a baseline's */
} gt_message_phase;

typedef struct gt_message_result {
    gt_baseline baselines[GT_BASELINE_COUNT];
    uint64_t count;
} gt_message_result;

typedef struct gt_message_fault {
    uint64_t index;
    gt_trial trial;
} gt_message_fault;

_Static_assert(sizeof(gt_message_header) == 16, "the header has no holes");
_Static_assert(sizeof(gt_message_init) == 24, "init has no holes");
_Static_assert(sizeof(gt_message_failed) == 4 + GT_MESSAGE_TEXT, "failed has no holes");
_Static_assert(sizeof(gt_message_ceiling) == sizeof(gt_class) + 16, "ceiling has no holes");
_Static_assert(sizeof(gt_ceilings) == 16, "ceilings have no holes");
_Static_assert(sizeof(gt_message_job) == sizeof(gt_problem) + 48, "job has no holes");
_Static_assert(sizeof(gt_message_contestant) == sizeof(gt_kernel) + 16, "contestant has no holes");
_Static_assert(sizeof(gt_message_accuracy) == sizeof(gt_problem) + 16 + sizeof(gt_message_contestant),
               "accuracy has no holes");
_Static_assert(sizeof(gt_message_accuracies) == 2 * (sizeof(gt_trial) + 16), "accuracies have no holes");
_Static_assert(sizeof(gt_message_result) == GT_BASELINE_COUNT * (sizeof(gt_trial) + 24) + 8, "result has no holes");

/* One message. payload is owned: gt_message_finish. */
typedef struct gt_message {
    uint32_t kind;
    size_t bytes;
    char *payload;
} gt_message;

typedef enum gt_receipt {
    GT_RECEIVED,
    GT_RECEIVE_END,         /* the other side is gone */
    GT_RECEIVE_LATE,        /* the deadline passed */
    GT_RECEIVE_INTERRUPTED, /* *interrupted became non-zero */
    GT_RECEIVE_BAD,         /* not a message, or no memory for it */
} gt_receipt;

/* Sends the parts as one message. false if the other side is gone or does not take it. */
bool gt_message_send(int fd, gt_message_kind kind, const struct iovec *parts, int count);

/* Waits for a message to begin until deadline (seconds of gt_now(), those not counted for which this process was stopped;
 * INFINITY: for ever). interrupted may be NULL. */
gt_receipt gt_message_receive(int fd, double deadline, const volatile sig_atomic_t *interrupted, gt_message *message);

/* The same; *deadline, which may be that of several messages, moves on by the time for which this process was stopped. */
gt_receipt gt_message_await(int fd, double *deadline, const volatile sig_atomic_t *interrupted, gt_message *message);

/* NULL payloads are allowed. */
void gt_message_finish(gt_message *message);

/* Takes the next bytes of a payload: where they are, or NULL if fewer are left. *at moves on. */
const void *gt_message_take(const gt_message *message, size_t bytes, size_t *at);

/* The same, copied to where a struct is. */
bool gt_message_take_struct(const gt_message *message, void *to, size_t bytes, size_t *at);

/* The same, copied to memory of its own, which is aligned; NULL if bytes is 0. Owned, also on failure: free. */
bool gt_message_take_blob(const gt_message *message, uint64_t bytes, size_t *at, void **blob);

/* The cubin and the PTX, one after the other. Owned, also on failure: gt_code_finish. */
bool gt_message_take_code(const gt_message *message, uint64_t cubin_bytes, uint64_t ptx_bytes, size_t *at,
                          gt_code *code);

#endif
