/* A trial: what happened when one kernel was tried on one problem. */
#ifndef GT_TRIAL_H
#define GT_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

typedef enum gt_outcome {
    GT_TRIAL_OK = 0,
    GT_TRIAL_COMPILE_ERROR,
    GT_TRIAL_LAUNCH_ERROR,
    GT_TRIAL_WRONG_RESULT,
    GT_TRIAL_OUT_OF_BOUNDS,
    GT_TRIAL_TIMEOUT,
    GT_TRIAL_CRASH,
    GT_TRIAL_OVER_RESOURCES,
    GT_TRIAL_NOT_TRIED, /* the machine or the compiler failed, and nothing is known of the candidate: never stored */
} gt_outcome;

#define GT_OUTCOME_COUNT 8 /* of those that are stored */

/* The name in the database and on the screen, "wrong_result"; never NULL. */
const char *gt_outcome_name(gt_outcome outcome);

/* Whether a trial that ends so says that the code is wrong: store.h has what follows from that. The others are the
 * machine's or the compiler's. */
bool gt_outcome_convicts(gt_outcome outcome);

/* Candidates are screened one after the other; the best of them race, interleaved, for the win. Later they may be
 * verified again, which takes no times: one that fails goes out of service, and one that had failed before comes back
 * by passing the check that it failed. */
typedef enum gt_stage {
    GT_STAGE_SCREEN = 0,
    GT_STAGE_RACE = 1,
    GT_STAGE_VERIFY = 2,
} gt_stage;

#define GT_STAGE_COUNT 3

#define GT_DETAIL_LENGTH 400

/* No pointers inside: a worker sends it as it is. Times are microseconds of one execution; 0: not measured. */
typedef struct gt_trial {
    gt_outcome outcome;
    gt_stage stage;
    char detail[GT_DETAIL_LENGTH]; /* the reason of a failure, for people; "" if ok */
    double us;                     /* median, operands in L2 where they fit */
    double us_min;
    double us_spread;              /* half the distance between the quartiles, over the median */
    double us_cold;                /* median of what a launch adds to a stream of other kernels, which empty L2 */
    int samples;
    bool stopped_early;            /* a loser: timed only until that was plain */
    bool modelled;                 /* the software GPU's model, not a clock */
    double clock_mhz;              /* SM clock while it ran; 0: not known */
    double error;                  /* largest |result - reference| over sum |a||b| seen while verifying */
    double margin;                 /* a race's winner: how much slower the next one was, 0.02 for 2%; else -1 */
    int registers, spills;
    uint64_t seed;                 /* of the data it was checked on; 0: its run's, but in a verification */
    bool varied;                   /* launched twice on the same data, it gave different bits */
} gt_trial;

/* What decides a race. Programs run between both figures, launches back to back and cold ones: it is their geometric
 * mean, where both are known. */
double gt_trial_deciding_us(const gt_trial *trial);

#endif
