/* Values whose sums are exact in every order, so that results are right to the last bit: whole numbers, and ties. */
#ifndef GT_EXACT_H
#define GT_EXACT_H

#include "../random.h"
#include "case.h"

/* The largest whole number of operands whose sums over k are exact; 0: there is none. */
int64_t gt_exact_whole(const gt_types *types, int64_t k);

/* Whether the types have ties: not where C's holds all that sums are exact to. */
bool gt_exact_has_ties(const gt_types *types);

/* The elements of an operand of such cases. Whole numbers have no sign, so that sums are large and have all bits. */
void gt_exact_fill_whole(const gt_case *c, gt_operand operand, gt_draws *draws, void *data);
void gt_exact_fill_ties(const gt_case *c, gt_operand operand, gt_draws *draws, void *data);

#endif
