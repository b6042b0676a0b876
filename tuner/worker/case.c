#include "case.h"

size_t gt_cases_end(const gt_cases *cases, size_t index)
{
    return index + 1 < cases->count ? cases->list[index + 1].begin : cases->bytes;
}

int64_t gt_case_bias(const gt_case *c)
{
    return c->epilogue & GT_EPILOGUE_BIAS ? c->problem.n : 0;
}

bool gt_case_has_k_down(const gt_case *c, gt_operand operand)
{
    const gt_class *class = &c->problem.class;
    return operand == GT_A ? class->op_a == GT_T : class->op_b == GT_N;
}
