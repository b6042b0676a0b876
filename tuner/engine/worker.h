/*
 * Workers: every launch of a candidate happens in a process of its own (this program, started by exec) that owns
 * the GPU context. A candidate that crashes, hangs or writes out of bounds costs one worker; the tuner sees a
 * typed failure and goes on with the next one.
 */
#ifndef GT_WORKER_H
#define GT_WORKER_H

#include <pthread.h>
#include <signal.h>

#include "../../db/trial.h"
#include "../../src/core/kernel.h"
#include "../worker/accuracy.h"
#include "../worker/cases.h"
#include "../worker/ceiling.h"
#include "../baselines/baseline.h"

typedef struct gt_worker gt_worker;

typedef struct gt_worker_options {
    int device;
    const char *driver; /* NULL: libcuda.so.1 */
    double limit_s;     /* how long one candidate may take */
    const gt_code *checks; /* checks.cu compiled for the device; must outlive the worker */
    const volatile sig_atomic_t *interrupted; /* may be NULL; non-zero ends any wait: see GT_ERROR_BUSY below */
} gt_worker_options;

/* The process starts with the first call that needs it. Owned: gt_worker_destroy. */
gt_status gt_worker_create(const gt_worker_options *options, gt_worker **worker);

/* Ends the process. NULL is allowed. */
void gt_worker_destroy(gt_worker *worker);

/* One contestant: a kernel with its code. */
typedef struct gt_contestant {
    const gt_kernel *kernel;
    const gt_code *code;
} gt_contestant;

/* How a kernel is tried. */
typedef struct gt_try_terms {
    uint64_t seed;    /* of the data: the same seed, problem, kernel and extent make the same check */
    bool time_it;     /* else it is verified only */
    gt_extent extent; /* not all: fewer small products are checked, and shorter ones */
    double best_us;   /* of those before it, 0: none yet; lets timing stop early for a loser */
    double limit_s;   /* how long it may take; 0: the worker's limit */
    pthread_mutex_t *turn; /* the caller's, given up while the worker needs no GPU; NULL: there is none */
} gt_try_terms;

/*
 * Verifies a kernel on small problems and on this one, then times it; *trial says how it went, GT_TRIAL_NOT_TRIED where the
 * machine failed: somebody killed the worker twice, or it was lost, or short of memory, before the kernel ran. Returns other
 * than GT_OK only where no worker can be had at all (no GPU, out of processes), or GT_ERROR_BUSY, "interrupted", once
 * *interrupted is non-zero: the process is then gone and nothing is known of the kernel.
 */
gt_status gt_worker_try(gt_worker *worker, const gt_problem *problem, const gt_contestant *contestant,
                        const gt_try_terms *terms, gt_trial *trial);

/* How a race is run. */
typedef struct gt_race_terms {
    uint64_t seed;   /* of the data */
    double seconds;  /* about how long */
    unsigned baselines; /* who races too: GT_BASELINE_BIT of each */
    double search_s; /* how long a baseline may try its algorithms before */
} gt_race_terms;

/*
 * Times verified kernels interleaved, round after round. The baselines that are asked for race too, if they can be
 * found and take the problem: their outcomes say. Each trial's us is comparable with the others'. A kernel that fails
 * here gets its outcome; the others are still timed. The fastest one has its margin set, 0 where it ran alone; everyone
 * else's is -1. baselines may be NULL where none is asked for. At most 64 contestants. Failures as above.
 */
gt_status gt_worker_race(gt_worker *worker, const gt_problem *problem, const gt_contestant *contestants, size_t count,
                         const gt_race_terms *terms, gt_trial *trials, gt_baseline baselines[GT_BASELINE_COUNT]);

/* Measures what the GPU can do at most on these types: see ceiling.h, whose kernels code is. */
gt_status gt_worker_ceilings(gt_worker *worker, const gt_types *types, const gt_code *code, gt_ceilings *ceilings);

/* On which data, from which seed, and whether cuBLAS runs on it, too. */
typedef struct gt_accuracy_terms {
    uint64_t seed;
    gt_data_kind kind;
    bool baseline;
} gt_accuracy_terms;

/* Measures a kernel's errors on a problem, and those of cuBLAS: see accuracy.h. GT_ERROR_DRIVER where a worker is lost by
 * it; else as above. */
gt_status gt_worker_accuracy(gt_worker *worker, const gt_problem *problem, const gt_contestant *contestant,
                             const gt_accuracy_terms *terms, gt_accuracy *kernel, gt_accuracy *cublas);

/* Whole processes lost so far. */
int gt_worker_losses(const gt_worker *worker);

#endif
