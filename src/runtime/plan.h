/* What is behind gt_context and gt_plan. */
#ifndef GT_PLAN_H
#define GT_PLAN_H

#include <pthread.h>

#include "choices.h"

/* What was read from a database for one class. */
typedef struct gt_reading {
    bool is_read;
    gt_class class;
    gt_measurements measured;
} gt_reading;

#define GT_READINGS 16 /* kept of a database */

/* A database, and what was last read from it: programs plan many sizes of a few classes. */
typedef struct gt_source {
    gt_store *store;
    gt_reading readings[GT_READINGS];
    size_t oldest; /* of them: the next to go */
} gt_source;

struct gt_context {
    gt_driver *driver;
    gt_device device;
    CUdevice handle;
    CUcontext cuda; /* current when the context was opened; lent to threads that have none */
    bool retained;  /* cuda is the device's primary context, released at the end */
    void (*log)(void *data, const char *message);
    void *log_data;
    char *db_option; /* of commands that messages name: " --db PATH" where the caller named its database, else "" */
    pthread_mutex_t lock; /* over all below: plans are made one at a time */
    gt_source sources[2]; /* the user's, then the system's */
    size_t source_count;
    gt_choices choices;
};

/* Tells the caller of a surprise that is not an error. */
void gt_context_tell(const gt_context *context, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The calling thread's CUDA context, lent to it where it has none. Kernels are chosen for one GPU: GT_ERROR_INVALID
 * where the thread is on another. */
gt_status gt_context_enter(const gt_context *context, CUcontext *cuda);

/* Never changed after it is made, so that executions need no lock. */
struct gt_plan {
    gt_context *context;
    const gt_driver *driver;
    gt_chosen *chosen; /* the context's; NULL for an empty product */
    gt_module module;  /* the choice's */
    gt_launch launch;
    bool swapped;      /* the launch's A is the caller's B, and the other way round */
    bool reads_apart;  /* the kernel can read C where results do not go */
    bool lasts;        /* it takes so long that beginning early is worth little */
    uintptr_t unaligned_ab, unaligned_c, unaligned_bias; /* bits that must be 0 in pointers to A, B; C, D; the bias */
    CUcontext cuda;         /* where the workspace is */
    CUdeviceptr workspace;  /* 0: none */
    gt_launch_operands own; /* where counters and workspace lie in it, and the epilogue */
};

#endif
