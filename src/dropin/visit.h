/*
 * The front at work in a thread of the program's. The program cannot leave meanwhile with a lock of the front's held: signals
 * of users, timers and programs wait where it has a handler for them, and so does a cancellation. And it sees nothing of the
 * work afterwards: errno, floating-point traps and flags are as they were, and no signal comes of what the front wrote
 * (SIGPIPE, SIGXFSZ).
 *
 * Other signals come at once: those of an instruction, for a program may have a handler that brings its memory as that is
 * touched, and those by which a runtime stops all of its threads, for it would wait for this one.
 */
#ifndef GT_VISIT_H
#define GT_VISIT_H

#include <fenv.h>
#include <signal.h>
#include <stdbool.h>

typedef struct gt_visit {
    int error, cancellation;
    sigset_t signals, pending;
    fenv_t floating;
} gt_visit;

void gt_visit_begin(gt_visit *visit);
void gt_visit_end(const gt_visit *visit);

/* Begins a thread of the front's own, which nobody joins. The program's signals are for its threads, but for those of an
 * instruction. False if there can be none. */
bool gt_visit_start(void *(*work)(void *), void *data);

#endif
