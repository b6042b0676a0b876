/* What is preloaded into programs that know nothing of the library tells it which products they ask for. */
#ifndef GT_WANTED_H
#define GT_WANTED_H

#include "../gemmtune.h"

/* A GPU that products are counted on. */
typedef struct gt_counted_gpu gt_counted_gpu;

/* A product that was asked for through one function, with what became of its calls. */
typedef struct gt_counted {
    gt_gemm gemm;
    const char *symbol; /* "cublasSgemm_v2" */
    const char *fate;   /* "answered", else why not */
    int tunable;        /* whether tuning may change that */
    int64_t calls;
    double baseline_us, expected_us; /* of one call, by a plan's description; 0: not known */
} gt_counted;

/* Reads the facts of the GPU behind the current CUDA context, while CUDA still answers. It stays until the
 * process ends. */
GT_API gt_status gt_counted_open(gt_counted_gpu **gpu);

/* Adds products to the table `wanted` of the user's database, which is made where there is none. Calls nothing of CUDA.
 * What is no product of the library's is left out. */
GT_API gt_status gt_counted_store(const gt_counted_gpu *gpu, const char *program, const gt_counted *list,
                                  size_t count);

#endif
