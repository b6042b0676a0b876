/* Compiling in threads: candidates go in, and come out compiled or failed. */
#ifndef GT_COMPILE_H
#define GT_COMPILE_H

#include "nvrtc.h"
#include "render.h"

typedef struct gt_compiler gt_compiler;

/* One candidate on its way. source is owned by the compiler from submit on; code passes to whoever takes the
 * result. */
typedef struct gt_compiled {
    gt_kernel kernel;
    gt_status status; /* as of gt_nvrtc_compile */
    char detail[400]; /* the compiler's first error line */
    gt_code code;
    void *tag;        /* the caller's */
} gt_compiled;

/* threads 0 means as many as cores. nvrtc must outlive the compiler. */
gt_status gt_compiler_create(const gt_nvrtc *nvrtc, int threads, gt_compiler **compiler);

/* Ends the threads (each finishes what it is compiling) and frees what nobody took. NULL is allowed. */
void gt_compiler_destroy(gt_compiler *compiler);

/* Queues one candidate; kernel->arch says for what. Takes source, also on failure. */
gt_status gt_compiler_submit(gt_compiler *compiler, const gt_kernel *kernel, char *source, void *tag);

/* Waits for the oldest candidate not yet taken. false if nothing was submitted that has not been taken. */
bool gt_compiler_next(gt_compiler *compiler, gt_compiled *compiled);

/* Takes one that is finished, if there is any, without waiting. */
bool gt_compiler_finished(gt_compiler *compiler, gt_compiled *compiled);

/* Whether a candidate of this source hash is on its way. It has no tag from then on: who else waits for it may not care for
 * what the first one drops. */
bool gt_compiler_share(gt_compiler *compiler, const char *source_hash);

/* Waits until the candidate of a source hash is finished, or taken by somebody. false if there is none: nobody queued
 * it, or it was taken. */
bool gt_compiler_wait(gt_compiler *compiler, const char *source_hash);

/* Forgets what is queued with a tag and not yet started: a budget ran out. */
void gt_compiler_drop(gt_compiler *compiler, const void *tag);

#endif
