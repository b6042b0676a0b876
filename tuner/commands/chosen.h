/* The kernel that an application would get. */
#ifndef GT_CHOSEN_H
#define GT_CHOSEN_H

#include "../../src/runtime/select.h"
#include "../engine/engine.h"

typedef struct gt_chosen {
    gt_kernel kernel;
    gt_selection selection;
    double tuned_us; /* where the problem is to pass for untuned: what is stored of its best kernel; 0: nothing */
} gt_chosen;

/* By the rules of the library: the user's database stands before the system's, but what was tuned for this very problem
 * before what is only expected to be good at it. untuned: as if nobody had tuned it. *code: gt_code_finish. */
gt_status gt_chosen_find(const gt_engine *engine, const gt_problem *problem, bool untuned, gt_chosen *chosen,
                         gt_code *code);

#endif
