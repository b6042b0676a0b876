/*
 * What the driver knows: its devices, their contexts, and the objects that programs hold handles of. One lock guards all
 * of it: every function of the API takes it for as long as it runs, kernels included.
 */
#ifndef SG_STATE_H
#define SG_STATE_H

#include <cuda.h>
#include <sys/types.h>

#include "../machine/exec.h"
#include "../model/model.h"
#include "../model/profile.h"
#include "../ptx/cubin.h"
#include "../softgpu.h"
#include "handle.h"

/* A library's kernel. The same object stands behind CUkernel and CUfunction: contexts share the device's code. */
typedef struct sg_function {
    CUkernel handle;
    const sg_kernel *code;
    const sg_kernel_facts *facts;
    sg_cubin_kernel assembled; /* what the assembler says; .name is the cubin's, or NULL */
    int max_dynamic_shared, carveout; /* attributes that programs set */
    bool nonportable_cluster;
    uint32_t cluster[3]; /* that every launch must have: the code's own, else what the program set; 0: none */
    struct sg_library *library;
    struct sg_function *next; /* of the same library */
} sg_function;

/* What stands behind CUlibrary and CUmodule: the first belongs to no context, the second to one. */
typedef struct sg_library {
    void *handle;
    sg_kind kind; /* SG_LIBRARY or SG_MODULE */
    sg_module *module;
    sg_cubin cubin; /* empty if it was loaded as PTX */
    bool assembled;
    sg_function *functions; /* those that were asked for */
} sg_library;

typedef struct sg_graph sg_graph;

typedef struct sg_stream {
    bool is_default; /* cannot be captured */
    bool blocking;   /* waits for the default stream, and that one for it */
    bool capturing, invalidated;
    CUstreamCaptureMode mode;
    pid_t thread;       /* that began the capture */
    cuuint64_t capture; /* its number */
    sg_graph *captured; /* what has been captured so far */
} sg_stream;

typedef struct sg_event {
    bool timed, recorded, captured;
    double at_us; /* on the device's clock */
} sg_event;

typedef struct sg_context {
    CUcontext handle;
    CUdevice device;
    uint32_t number; /* under which it owns handles and memory */
    int retained;    /* times, for a primary one, which lives while this is not 0; 1 for others */
    unsigned flags;
} sg_context;

/* Devices are alike; their memory and their clock are one. */
typedef struct sg_state {
    const sg_profile *profile; /* NULL: before cuInit, and at the end */
    bool ended;                /* other threads may still call */
    bool check_races;
    int device_count;
    sg_memory *memory;
    sg_context primary[GT_SOFT_MOST_DEVICES];
    uint32_t contexts; /* the last one's number */
    CUresult fault;    /* what a kernel left behind; no context of the process recovers from it */
    double now_us;     /* the device's clock: it runs while the device works, and only then */
    char report[SG_MESSAGE_LENGTH];
    bool launched;
    sg_launch_record last;
} sg_state;

extern sg_state sg;

/* How launches of the calling thread run: softgpu.h's races and order. */
typedef struct sg_manner {
    bool check_races;
    uint64_t order;
} sg_manner;

extern _Thread_local sg_manner sg_asked;

/* Whether there is a device of that number. */
static inline bool sg_is_device(CUdevice device)
{
    return device >= 0 && device < sg.device_count;
}

/* What to be from cuInit on; results are those of softgpu.h's choose, and the caller has the lock. */
CUresult sg_choose(const char *choice);

/* What a function of the API needs. */
typedef enum sg_need {
    SG_NEEDS_NOTHING,
    SG_NEEDS_INIT,    /* cuInit was called */
    SG_NEEDS_CONTEXT, /* this thread has a context that lives */
    SG_NEEDS_WORK,    /* and no kernel broke it */
} sg_need;

/* Takes the lock, always; tells what is missing. Every sg_enter is followed by one sg_leave, which returns result. */
CUresult sg_enter(sg_need need);
CUresult sg_leave(CUresult result);

/* Takes the lock if no thread has it. */
bool sg_try_enter(void);

/*
 * A thread's stack of contexts; its top is the current one. sg_push is false where the stack is full; sg_pop and sg_top
 * give NULL where it is empty.
 */
bool sg_push(CUcontext context);
CUcontext sg_pop(void);
CUcontext sg_top(void);

/* The living context behind a handle, or behind the top of this thread's stack; NULL if it lives no more. */
sg_context *sg_context_find(CUcontext handle);
sg_context *sg_current(void);

/* Destroys what belongs to a context: modules, streams, events, graphs, the program's memory. */
void sg_context_empty(sg_context *context);

/* A new one, NULL if out of memory; and its end. */
sg_context *sg_context_create(unsigned flags, CUdevice device);
void sg_context_destroy(sg_context *context);

/* The stream behind a handle, the default one behind NULL, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD. NULL if there is
 * none. */
sg_stream *sg_stream_find(CUstream handle);
void sg_stream_free(sg_stream *stream);
void sg_library_free(sg_library *library);

/* Ends all mappings, reservations and physical memory, which belong to no context. */
void sg_virtual_finish(void);

#endif
