/* Failures: a status for programs and, kept per thread, one line for people. */
#ifndef GT_STATUS_H
#define GT_STATUS_H

#include "../gemmtune.h"

/* Records the line for this thread, with blanks for control characters, and returns status, so that
 * `return gt_fail(GT_ERROR_IO, ...)` reads well. */
gt_status gt_fail(gt_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* gt_fail for a failed host allocation. */
gt_status gt_fail_memory(void);

#endif
