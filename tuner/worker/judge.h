/* What became of cases that were run: results against the reference, and all memory around them bit by bit. */
#ifndef GT_JUDGE_H
#define GT_JUDGE_H

#include "compare.h"

/*
 * Judges the cases from first to end - 1 by what memory held before and behind their launches. Errors are added to
 * *errors, trial->error becomes the largest. false: the trial is that of the first case with a write where none should
 * be, which may have spoilt results of others, else of the first with a wrong result.
 */
bool gt_judge_cases(const gt_cases *cases, size_t first, size_t end, const void *before, const void *after,
                    gt_errors *errors, gt_trial *trial);

#endif
