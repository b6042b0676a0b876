/* Results against the reference: element by element, and errors as a whole. */
#ifndef GT_COMPARE_H
#define GT_COMPARE_H

#include "../../db/trial.h"
#include "cases.h"
#include "reference.h"

#define GT_CASE_NAME 160

/* "check 17x5x33 batch 3, alpha=1.5 beta=0", for messages. */
void gt_case_name(const gt_case *c, char name[GT_CASE_NAME]);

/* What errors add up to: their squares, each over its variance. */
typedef struct gt_errors {
    double sum, count;           /* all alike */
    double sums_sum, sums_count; /* each by its sum's share of the variance: alpha, beta and C hide some */
    double promoted_sum, promoted_count; /* all alike, of long sums that are to be promoted */
    double far_sum, far_count; /* by its sum's share, of elements so far apart that operands are in more parts */
} gt_errors;

/*
 * Every element of one product of a case; before and after are C and the results of all products, bias is the
 * epilogue's. NaN and infinities must be where the reference has them. trial->error becomes the largest error seen.
 */
bool gt_compare_product(const gt_case *c, const gt_reference *reference, int64_t index, const void *before,
                        const void *bias, const void *after, gt_errors *errors, gt_trial *trial);

/* Whether errors are no larger on average than the arithmetic explains. */
bool gt_compare_errors(const gt_errors *errors, gt_trial *trial);

#endif
