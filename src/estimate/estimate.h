/*
 * One estimate of time: how long a kernel takes on a problem, as a sum of named terms. Each term is what a machine of
 * the device's nominal rates would need for one thing, in microseconds; a coefficient says how much more it takes. They
 * are fitted to trials (gemmtune fit). Nothing but launch facts and a few parameters is needed: no template, no compiler.
 */
#ifndef GT_ESTIMATE_H
#define GT_ESTIMATE_H

#include "../core/device.h"
#include "../core/kernel.h"

#define GT_TERMS(X)                                                                                          \
    X(launch)   /* a microsecond, whatever is launched */                                                    \
    X(begin)    /* for each set of resident blocks 1000 clocks, and their first stage of K, unless that is hidden */ \
    X(compute)  /* multiply-adds of the busiest SM, or what its shared memory moves for them, tails included */ \
    X(step)     /* 100 clocks for each stage of K, and what warps wait for: stages, elements, edges of C */  \
    X(l2)       /* what the busiest SM reads of A and B, 40 bytes a clock, 56 by the copy engine */          \
    X(memory)   /* A and B once, 18 bytes a clock and SM, or 28 where they stay in L2; C once, 28 bytes */   \
    X(narrow)   /* more for it in pieces below 16 bytes, 2 a clock: rows aligned to less, transposed elements; zeros */ \
    X(store)    /* the busiest SM's elements of C, 40 bytes a clock, 0.3 clocks each where rows are not aligned, 1 apart */ \
    X(sums)     /* partial sums on their way, through the workspace and in clusters */                       \
    X(copies)   /* operands that are copied first */                                                         \
    X(dispatch) /* 0.4 us, and 2.5 clocks for each block of the launch: no kernel takes less */

/* Terms, or a coefficient for each of them. */
typedef struct gt_terms {
#define X(name) double name;
    GT_TERMS(X)
#undef X
} gt_terms;

#define GT_TERM_COUNT (sizeof(gt_terms) / sizeof(double))

/* Counts up when a term comes to mean something else: coefficients that were fitted before are not for it. */
#define GT_TERMS_VERSION 5

extern const char *const gt_term_names[GT_TERM_COUNT];

/* A term or coefficient by its number. */
double *gt_term(gt_terms *terms, size_t index);

/* The terms of a kernel on a problem; false where it cannot be launched. *workspace, where not NULL: its bytes. */
bool gt_estimate_terms(const gt_device *device, const gt_kernel *kernel, const gt_problem *problem, gt_terms *terms,
                       size_t *workspace);

/* The parts of K in which a kernel whose facts say any_split gives every SM so many blocks, or nearly; fewer where they
 * would have next to nothing to do. */
int64_t gt_estimate_parts(const gt_device *device, const gt_kernel *kernel, const gt_problem *problem, int64_t blocks);

/* The most parts below these that are added up in a round less, where there are rounds; 0: none. */
int64_t gt_estimate_fewer_parts(const gt_kernel *kernel, int64_t parts);

/* Microseconds: the sum, where multiply-adds, L2 and memory go on at the same time; the dispatch of all blocks at least. */
double gt_estimate_us(const gt_terms *terms, const gt_terms *coefficients);

/* What an epilogue adds to it in kernels of a family. */
double gt_estimate_epilogue_us(const gt_device *device, const char *family, const gt_problem *problem,
                               gt_epilogue epilogue);

#endif
