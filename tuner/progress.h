/* Progress of long work on standard error: a bar with time left on a terminal, plain lines elsewhere. */
#ifndef GT_PROGRESS_H
#define GT_PROGRESS_H

#include <stdbool.h>

typedef struct gt_progress gt_progress;

/* What is shown. Times in seconds. */
typedef struct gt_progress_state {
    int step, steps;            /* problems: the third of sixteen is 2, 16 */
    const char *what;           /* "f32 nn 4096x4096x4096" */
    int done, total;            /* candidates of this problem */
    double best_tflops;         /* so far, on this problem; 0: none yet */
    const char *best;           /* its family and parameters; may be NULL */
    int failed;                 /* candidates rejected in this run */
    double elapsed, budget;     /* budget 0: none */
} gt_progress_state;

/* quiet shows nothing. NULL if out of memory; the calls below accept that. */
gt_progress *gt_progress_create(bool quiet);
void gt_progress_destroy(gt_progress *progress);

/* Draws the state, at most ten times a second on a terminal; elsewhere as a plain line, at most every ten seconds. */
void gt_progress_update(gt_progress *progress, const gt_progress_state *state);

/* Prints one line that stays, above the bar on a terminal. */
void gt_progress_line(gt_progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
