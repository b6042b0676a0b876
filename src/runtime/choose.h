/* Which kernel a plan takes: of which database, in which math, and the next best where one cannot be loaded. */
#ifndef GT_CHOOSE_H
#define GT_CHOOSE_H

#include "plan.h"

/* The context's choice for a problem, made now or before. Under the context's lock; in use until gt_choices_release. */
gt_status gt_choose(gt_context *context, const gt_problem *problem, const gt_demands *demands, gt_chosen **chosen);

#endif
