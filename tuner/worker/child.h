/* The worker process: `gemmtune worker FD`, not for people. */
#ifndef GT_CHILD_H
#define GT_CHILD_H

/* Takes jobs from the socket until it ends. Never returns a kernel's fault as its own. */
int gt_worker_main(int fd);

#endif
