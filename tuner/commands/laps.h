/* A list of problems, tuned one after the other, and then once more with the winners of all of them. */
#ifndef GT_LAPS_H
#define GT_LAPS_H

#include "../engine/tune.h"
#include "options.h"

/* Tunes type by type: what is left of the budget is shared among the problems that are left, by their shares; NULL: they
 * are equal. Results stand in tuned, which has room for all, in the order of the list; *count says how many were
 * reached. */
gt_status gt_laps_run(gt_engine *engine, const gt_options_cli *options, const gt_problem *problems, const double *shares,
                      size_t total, gt_tuned *tuned, size_t *count);

/* Whether anything was tried: not if all was known from runs before. */
bool gt_laps_tried_any(const gt_tuned *tuned, size_t count);

#endif
