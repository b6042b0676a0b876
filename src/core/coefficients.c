#include "coefficients.h"

#include <string.h>

/* Fitted by `gemmtune fit --trials tests/trials_h200.txt`, but the first: what the terms are meant to be, for families
 * that nobody has fitted. */
static const gt_fitted shipped[] = {
    {"", {.launch = 1.5, .begin = 1.5, .compute = 1.2, .step = 0.5, .l2 = 1, .memory = 1, .narrow = 0.5, .store = 1,
          .sums = 1, .copies = 1}},
    {"batched", {.launch = 0.15, .begin = 1.365, .compute = 3.02, .step = 5.555, .l2 = 2.438, .memory = 1.049,
                 .narrow = 0.047, .store = 0.862, .sums = 1, .copies = 1}},
    {"outer", {.launch = 0.412, .begin = 1.233, .compute = 3.638, .step = 7.011, .l2 = 0.597, .memory = 0.802,
               .narrow = 0.088, .store = 1.223, .sums = 1, .copies = 1}},
    {"simt", {.launch = 0.782, .begin = 0.666, .compute = 1.076, .step = 4.597, .l2 = 0.503, .memory = 1.337,
              .narrow = 0.641, .store = 0.54, .sums = 1.055, .copies = 1}},
    {"simt_cluster", {.launch = 0.693, .begin = 1.055, .compute = 0.942, .step = 2.087, .l2 = 0.503, .memory = 1.097,
                      .narrow = 0.437, .store = 0.45, .sums = 0.896, .copies = 0.829}},
    {"simt_ws", {.launch = 2.846, .begin = 1.894, .compute = 0.906, .step = 0.217, .l2 = 1.223, .memory = 0.804,
                 .narrow = 0.699, .store = 0.496, .sums = 1.532, .copies = 1.048}},
    {"skinny", {.launch = 1.251, .begin = 0.62, .compute = 2.767, .step = 1.075, .l2 = 0.939, .memory = 1.056,
                .narrow = 0.245, .store = 2.649, .sums = 0.744, .copies = 1}},
    {"vector", {.launch = 0.611, .begin = 1.526, .compute = 10.28, .step = 3.893, .l2 = 0.501, .memory = 0.934,
                .narrow = 0.09, .store = 8.981, .sums = 1.057, .copies = 1}},
};

static const gt_terms *find(const gt_fitted *list, size_t count, const char *family)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].family, family) == 0)
            return &list[i].coefficients;
    return NULL;
}

const gt_terms *gt_coefficients_shipped(const char *family)
{
    const gt_terms *own = find(shipped, sizeof shipped / sizeof shipped[0], family);
    return own ? own : &shipped[0].coefficients;
}

#define LARGEST 1e4

bool gt_coefficients_check(const gt_terms *coefficients)
{
    gt_terms copy = *coefficients;
    for (size_t i = 0; i < GT_TERM_COUNT; i++) {
        const double value = *gt_term(&copy, i);
        if (!(value >= 0 && value <= LARGEST))
            return false;
    }
    return copy.launch > 0 && copy.compute > 0 && copy.memory > 0;
}

const gt_terms *gt_coefficients_known(const gt_fitted *list, size_t count, const char *family)
{
    const gt_terms *own = find(list, count, family);
    return own ? own : find(shipped, sizeof shipped / sizeof shipped[0], family);
}

const gt_terms *gt_coefficients_find(const gt_fitted *list, size_t count, const char *family)
{
    const gt_terms *known = gt_coefficients_known(list, count, family);
    return known ? known : &shipped[0].coefficients;
}
