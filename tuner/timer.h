/* The host's clock. */
#ifndef GT_TIMER_H
#define GT_TIMER_H

/* Seconds on the monotonic clock. */
double gt_now(void);

/* Sleeps, through signals. */
void gt_rest(double seconds);

#endif
