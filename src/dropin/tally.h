/* What became of the products that were seen: one count for each reason, and one line at the program's end. */
#ifndef GT_TALLY_H
#define GT_TALLY_H

#include <stdbool.h>

typedef enum gt_fate {
    GT_FATE_ANSWERED,
    GT_FATE_UNAVAILABLE, /* no database, no driver, no library: gt_tally_why says which */
    GT_FATE_ARGUMENTS,   /* illegal or empty: the program's own library has the status for it */
    GT_FATE_MODE,        /* types, compute type, math mode, algorithm or strides that are not offered */
    GT_FATE_EPILOGUE,    /* more than a product: a bias, an activation */
    GT_FATE_SCALARS,     /* alpha and beta are in device memory */
    GT_FATE_SMALL,       /* of host memory, and not worth the way to the GPU */
    GT_FATE_CAPTURE,     /* first seen while its stream was captured, or no workspace was set aside for it */
    GT_FATE_COUNTED,     /* nothing is answered: products are only counted */
    GT_FATE_NOT_TUNED,
    GT_FATE_NO_BASELINE, /* cuBLAS was never timed on this type and layout */
    GT_FATE_SLOWER,      /* cuBLAS is expected to be as fast or faster */
    GT_FATE_NO_ROOM,     /* too many problems */
    GT_FATE_NO_MEMORY,   /* too much workspace, for too many streams, or too large tiles of host memory */
    GT_FATE_FAILED,      /* a kernel could not be loaded or launched */
} gt_fate;

#define GT_FATE_COUNT 15

/* In words, "not tuned"; and whether tuning may change it. */
const char *gt_fate_text(gt_fate fate);
bool gt_fate_is_tunable(gt_fate fate);

/* Counts one product. Thread-safe. */
void gt_tally_count(gt_fate fate);

/* Why nothing can be answered; the first one is kept. Thread-safe. */
void gt_tally_why(const char *message);

/* Whether there is such a reason. */
bool gt_tally_has_why(void);

/*
 * Prints the line to standard error, `next` behind it, where `gemmtune run` asked for it by its own process id, which
 * the program that it became keeps: that one has a line even if it has seen no product, and of its children those that
 * have.
 */
void gt_tally_print(const char *next);

#endif
