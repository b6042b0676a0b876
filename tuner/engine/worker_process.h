/* A worker's process as its parent sees it: started when needed, killed when late, collected when dead. */
#ifndef GT_WORKER_PROCESS_H
#define GT_WORKER_PROCESS_H

#include "worker.h"

#define GT_WORKER_LEFT 16 /* killed processes that may still be on their way out */

struct gt_worker {
    gt_worker_options options;
    char *driver; /* owned copy */
    pid_t pid;    /* 0: no process */
    int fd;       /* our end of the socket; -1 without a process */
    int losses;
    pid_t left[GT_WORKER_LEFT]; /* killed and not yet collected; 0: free */
};

/* A running, ready process. A GPU that has just lost one is given a moment. */
gt_status gt_worker_start(gt_worker *worker);

/* Kills the process; waits for it only so long: one that is stuck in the driver is left behind and collected later. */
void gt_worker_kill(gt_worker *worker);

/* Seconds of CPU time that the process has taken. */
double gt_worker_cpu_s(const gt_worker *worker);

/* After the socket's end: collects the process, by force if it is still there. how: "died of SIGSEGV". Whether somebody
 * had killed it, by a signal that no candidate raises: the system does so where memory is short, or CPU time is limited. */
bool gt_worker_collect(gt_worker *worker, char *how, size_t size);

/* Kills the process and returns GT_ERROR_BUSY, "interrupted". */
gt_status gt_worker_interrupt(gt_worker *worker);

#endif
