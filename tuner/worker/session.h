/* What a worker process keeps from job to job: the GPU, operands, checks, a meter; and how it speaks to its parent. */
#ifndef GT_SESSION_H
#define GT_SESSION_H

#include "../baselines/entrance.h"
#include "protocol.h"
#include "sampled.h"
#include "verify.h"

typedef struct gt_session {
    int fd;
    bool away; /* another worker may have the GPU */
    gt_driver *driver;
    gt_device device;
    CUcontext context;
    CUstream stream;
    gt_checks checks;
    gt_buffers buffers; /* operands of the problem that is checked */
    gt_buffers timed;   /* of the one that is timed, where it is another */
    gt_verifier verifier;
    gt_residual residual;
    gt_sampled sampled; /* blocks of a problem that is timed, and too large to be checked whole */
    gt_meter meter;
    gt_entrance entrance;
} gt_session;

/* Opens the GPU. checks is the code of checks.cu. s->fd is set before. Nothing is undone on failure: the process ends.
 */
gt_status gt_session_open(gt_session *s, const gt_message_init *init, const char *driver, const gt_code *checks);

/* Ends the process without exit handlers: those of a broken driver may hang. */
_Noreturn void gt_session_leave(int code);

/* Sends a message; the process ends if nobody is there to take it. */
void gt_session_answer(const gt_session *s, gt_message_kind kind, const struct iovec *parts, int count);

/* Tells the parent, which keeps the clock, what is about to run. index: whose, see gt_message_phase. Waits for the GPU
 * where it is needed again. */
void gt_session_report(gt_session *s, gt_phase phase, size_t index);

/* Tells of a contestant that broke the context, and ends the process. */
_Noreturn void gt_session_give_up(const gt_session *s, size_t index, const gt_trial *trial);

/* After a trial: gives up if it broke the context; if it failed otherwise, operands are made anew for the next one. */
void gt_session_recover(gt_session *s, size_t index, const gt_trial *trial);

#endif
