/*
 * Workers: every launch of a candidate happens in a process of its own (this program, started by exec) that owns
 * the GPU context. A candidate that crashes, hangs or writes out of bounds costs one worker; the tuner sees a
 * typed failure and goes on with the next one.
 */
#ifndef GT_WORKER_H
#define GT_WORKER_H

#include <signal.h>

#include "../db/trial.h"
#include "../src/kernel.h"

typedef struct gt_worker gt_worker;

typedef struct gt_worker_options {
    int device;
    const char *driver; /* NULL: libcuda.so.1 */
    double limit_s;     /* how long one candidate may take */
    uint64_t seed;      /* of the data */
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

/*
 * Verifies a kernel on small problems and on this one, then times it; *trial says how it went. best_us (0: none
 * yet) lets timing stop early for a loser. time_it false: verify only. Returns other than GT_OK only where no
 * worker can be had at all (no GPU, out of processes), or GT_ERROR_BUSY, "interrupted", once *interrupted is
 * non-zero: the process is then gone and nothing is known of the kernel.
 */
gt_status gt_worker_try(gt_worker *worker, const gt_problem *problem, const gt_contestant *contestant, double best_us,
                        bool time_it, gt_trial *trial);

/*
 * Times verified kernels interleaved, round after round, for about seconds. With cublas, cuBLAS races too, if it can
 * be found and takes the problem: *cublas->outcome says. Each trial's us is comparable with the others'.
 * A kernel that fails here gets its outcome; the others are still timed. The fastest one has its margin set, 0 where it
 * ran alone; everyone else's is -1. cublas may be NULL. At most 64 contestants. Failures as above.
 */
gt_status gt_worker_race(gt_worker *worker, const gt_problem *problem, const gt_contestant *contestants, size_t count,
                         double seconds, gt_trial *trials, gt_trial *cublas, char cublas_version[16]);

/* Whole processes lost so far. */
int gt_worker_losses(const gt_worker *worker);

/* The other side: `gemmtune worker`, not for people. Never returns a kernel's fault as its own. */
int gt_worker_main(int fd);

#endif
