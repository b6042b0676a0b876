/* Candidates that were rejected: how many for which reason, and the families none of whose candidates passed. */
#ifndef GT_REJECTIONS_H
#define GT_REJECTIONS_H

#include "../../db/trial.h"
#include "../../src/core/kernel.h"
#include "../../src/core/problem.h"

/* A line on one candidate: problem, family, parameters, outcome and detail. */
#define GT_REJECTION_LENGTH (GT_PROBLEM_NAME_LENGTH + GT_PARAMS_TEXT + GT_DETAIL_LENGTH + 128)

/* "f32 nn 64x64x64, simt bm=16 bn=64: wrong_result: element (0,0) is ...". */
void gt_rejection_describe(const gt_problem *problem, const gt_kernel *kernel, const gt_trial *trial,
                           char line[GT_REJECTION_LENGTH]);

#define GT_REJECTION_COUNTS 256

/* "3 wrong_result, 1 compile_error", most frequent first; "" for none. */
void gt_rejection_counts(const int counts[GT_OUTCOME_COUNT], char text[GT_REJECTION_COUNTS]);

/* What became of one family's candidates in a run, also of those that earlier runs tried. */
typedef struct gt_family_trials {
    char family[GT_FAMILY_LENGTH];
    int tried, passed;
    char first[GT_REJECTION_LENGTH]; /* the first that was rejected; where none was tried, that cannot be launched */
} gt_family_trials;

/* A run's. Zero to begin with; owned: gt_rejections_finish. */
typedef struct gt_rejections {
    int counts[GT_OUTCOME_COUNT]; /* candidates tried in this run, by outcome; GT_TRIAL_OK is not counted */
    gt_family_trials *families;
    size_t count;
    int missed; /* candidates that the machine failed to try */
    char first_missed[GT_REJECTION_LENGTH];
} gt_rejections;

/* Notes a candidate; now: tried in this run, else known from an earlier one. Out of memory, its family is left out. */
void gt_rejections_note(gt_rejections *rejections, const gt_problem *problem, const gt_kernel *kernel,
                        const gt_trial *trial, bool now);

/* Notes a family that has no candidate, as none of its configurations can be launched: the first of them, and why. */
void gt_rejections_refuse(gt_rejections *rejections, const gt_problem *problem, const gt_kernel *kernel, const char *reason);
void gt_rejections_finish(gt_rejections *rejections);

#endif
