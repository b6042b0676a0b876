/* What a stream is given to do. It is done at once, or kept where the stream is being captured into a graph. */
#ifndef SG_WORK_H
#define SG_WORK_H

#include "state.h"

typedef enum sg_work_kind { SG_WORK_LAUNCH, SG_WORK_FILL, SG_WORK_COPY, SG_WORK_KINDS } sg_work_kind;

/* A launch within all limits. */
typedef struct sg_launch {
    CUkernel kernel;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t dynamic_shared;
    bool dependent; /* while what the stream ran before is still at work */
    uint32_t param_count, params_bytes;
    unsigned char *params; /* the parameter block, then pointers to its parts. Owned */
    void **param_pointers; /* inside params */
} sg_launch;

typedef struct sg_fill {
    uint64_t address, count;
    uint32_t value, width; /* bytes an element: 1, 2 or 4 */
} sg_fill;

/* Either end may be the host's. */
typedef struct sg_copy {
    uint64_t to, from, bytes;
    bool to_device, from_device;
} sg_copy;

typedef struct sg_work {
    sg_work_kind kind;
    union {
        sg_launch launch;
        sg_fill fill;
        sg_copy copy;
    };
} sg_work;

/* Room for a zeroed parameter block; the pointers are the caller's to set. False if out of memory. */
bool sg_launch_alloc(sg_launch *launch, uint32_t params_bytes, uint32_t param_count);

/* Does it now. A kernel's fault is not a failure here: it breaks the context. */
CUresult sg_work_run(const sg_work *work);

/* Frees what it owns. */
void sg_work_finish(sg_work *work);

/* Out of memory: false. */
bool sg_work_copy(const sg_work *work, sg_work *copy);

/* Whether a fill or copy lies inside the device's allocations: CUDA_ERROR_INVALID_VALUE. */
CUresult sg_work_check(const sg_work *work);

/* Gives work to a stream and takes it over, also on failure. */
CUresult sg_stream_give(sg_stream *stream, sg_work *work);

#endif
