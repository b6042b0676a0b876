/* What became of cases that were run: results against the reference, and all memory around them bit by bit. */
#ifndef GT_JUDGE_H
#define GT_JUDGE_H

#include "compare.h"

/* The cases of one judgement under way. */
typedef struct gt_judgement gt_judgement;

/* Begins to judge the cases from first to end - 1: threads compute the references from what memory held before the
 * launches. cases and before must not change until gt_judge_end. NULL without memory. */
gt_judgement *gt_judge_begin(const gt_cases *cases, size_t first, size_t end, const void *before);

/*
 * Compares with what memory held after the launches, and frees the judgement; NULL is out of memory. Errors are added
 * to *errors; trial->error becomes the largest. false: the trial tells of the first case with a write where none should
 * be, which may have spoilt others, else of the first with a wrong result.
 */
bool gt_judge_end(gt_judgement *judgement, const void *after, gt_errors *errors, gt_trial *trial);

/* Frees a judgement without a verdict. NULL is allowed. */
void gt_judge_drop(gt_judgement *judgement);

#endif
