/*
 * Whether a product of host memory is worth the way to the GPU: by the rates of the CPU's own BLAS and of the link, which
 * are measured as products go by and kept in the database for the next program.
 */
#ifndef GT_WORTH_H
#define GT_WORTH_H

#include <stdbool.h>

#include "../gemmtune.h"

/* Below this many multiply-adds no GPU is faster: its memory is too far away. Nothing else is computed then. */
#define GT_WORTH_LEAST (1 << 22)

/* A product, as far as its time depends on it. */
typedef struct gt_work {
    gt_type type; /* GT_F32 or GT_F64 */
    double multiply_adds;
    double bytes;    /* that would be moved */
    double operands; /* of these A's and B's */
} gt_work;

/* Whether the user said which products go, so that none may be computed elsewhere for somebody's convenience. */
bool gt_worth_is_told(void);

/* Whether it goes. The GPU is set up once products would have saved the time that this takes. Thread-safe, as all here. */
bool gt_worth_going(const gt_work *work);

/* The same once the GPU is set up and the microseconds of its kernel are known. */
bool gt_worth_staying(const gt_work *work, double kernel_us);

/* What was seen: the microseconds of a product on the GPU without its kernel, and of one on the CPU. */
void gt_worth_see_gpu(const gt_work *work, double moved_us);
void gt_worth_see_cpu(const gt_work *work, double us);

/* Whether a product of so many multiply-adds is large enough for its time on the CPU to say something. */
bool gt_worth_seeing(double multiply_adds);

#endif
