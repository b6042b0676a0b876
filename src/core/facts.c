#include "facts.h"

#define ROW(name, ...) {#name, __VA_ARGS__},
const gt_fact_row gt_fact_rows[GT_FACT_COUNT] = {GT_FACTS(ROW)};

int64_t *gt_fact(gt_facts *facts, size_t row)
{
    return (int64_t *)facts + row;
}

int64_t gt_fact_value(const gt_facts *facts, size_t row)
{
    return ((const int64_t *)facts)[row];
}

gt_status gt_facts_check(const gt_facts *facts)
{
    for (size_t i = 0; i < GT_FACT_COUNT; i++) {
        const gt_fact_row *row = &gt_fact_rows[i];
        const int64_t value = gt_fact_value(facts, i);
        if (value < row->low || value > row->high)
            return gt_fail(GT_ERROR_INVALID, "%s is %lld, outside %lld to %lld", row->name, (long long)value,
                           (long long)row->low, (long long)row->high);
    }
    if (facts->any_split && facts->split_k % facts->cluster_y != 0)
        return gt_fail(GT_ERROR_INVALID, "any_split with split_k %lld, no multiple of the cluster's %lld along K",
                       (long long)facts->split_k, (long long)facts->cluster_y);
    return GT_OK;
}
