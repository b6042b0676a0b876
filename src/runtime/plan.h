/* What is behind gt_context and gt_plan. */
#ifndef GT_PLAN_H
#define GT_PLAN_H

#include <pthread.h>

#include "../core/launch.h"
#include "select.h"

/* A database, and the measurements last read from it: programs plan many sizes of one kind of problem. */
typedef struct gt_source {
    gt_store *store;
    bool is_read;
    gt_class class; /* that the list was read for */
    gt_measured *list;
    size_t count;
} gt_source;

/* A kernel, loaded once for all plans of a context. */
typedef struct gt_loaded {
    const gt_source *source; /* whose ids these are */
    int64_t kernel_id;
    gt_module module;
    struct gt_loaded *next;
} gt_loaded;

/* A choice once made: the next plan of the same problem starts here. */
typedef struct gt_chosen {
    gt_problem problem;
    gt_demands demands;
    gt_selection selection;
    gt_kernel kernel;
    const gt_loaded *loaded;
    struct gt_chosen *next;
} gt_chosen;

struct gt_context {
    gt_driver *driver;
    gt_device device;
    CUdevice handle;
    CUcontext cuda; /* current when the context was opened; lent to threads that have none */
    bool retained;  /* cuda is the device's primary context, released at the end */
    void (*log)(void *data, const char *message);
    void *log_data;
    pthread_mutex_t lock; /* over all below: plans are made one at a time */
    gt_source sources[2]; /* the user's, then the system's */
    size_t source_count;
    gt_loaded *loaded;
    gt_chosen *chosen;
};

/* Tells the caller of a surprise that is not an error. */
void gt_context_tell(const gt_context *context, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The calling thread's CUDA context, lent to it where it has none. Kernels are chosen for one GPU: GT_ERROR_INVALID
 * where the thread is on another. */
gt_status gt_context_enter(const gt_context *context, CUcontext *cuda);

/* Never changed after it is made, so that executions need no lock. */
struct gt_plan {
    const gt_driver *driver;
    const gt_types *types;
    const gt_chosen *chosen; /* the context's; NULL for an empty product */
    gt_problem problem;
    gt_module module; /* the context's */
    gt_launch launch;
    gt_args args;          /* all but the operands and the scalars */
    uintptr_t unaligned;   /* bits that no pointer may have */
    CUcontext cuda;        /* where the workspace is */
    CUdeviceptr workspace; /* 0: none */
    size_t workspace_bytes;
};

#endif
