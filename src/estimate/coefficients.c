#include "coefficients.h"

#include <string.h>

/* Fitted by `gemmtune fit --trials tests/trials_h200.txt`, or trials_h200_tensor.txt for mma, mma_ws (f64), split and wgmma
 * (bf16), but the first: what the terms are meant to be, for families that nobody has fitted. */
static const gt_fitted shipped[] = {
    {"", {.launch = 1.5, .begin = 1.5, .compute = 1.2, .step = 0.5, .l2 = 1, .memory = 1, .narrow = 0.5, .store = 1,
          .sums = 1, .copies = 1, .dispatch = 1}},
    {"batched", {.launch = 0.15, .begin = 1.354, .compute = 2.973, .step = 5.687, .l2 = 2.941, .memory = 0.949,
                 .narrow = 0.021, .store = 0.671, .sums = 1, .copies = 1, .dispatch = 1}},
    {"low_rank", {.launch = 1.253, .begin = 2.416, .compute = 0.906, .step = 1.118, .l2 = 1.169, .memory = 1, .narrow = 0.5,
                  .store = 0.57, .sums = 1, .copies = 1, .dispatch = 1}},
    {"mma", {.launch = 0.395, .begin = 1.635, .compute = 1.368, .step = 0.75, .l2 = 0.503, .memory = 0.976,
             .narrow = 0.69, .store = 0.622, .sums = 0.698, .copies = 1.098, .dispatch = 1.09}},
    {"mma_ws", {.launch = 0.574, .begin = 0.875, .compute = 0.871, .step = 0.257, .l2 = 0.631, .memory = 1.089,
                .narrow = 0.512, .store = 1.099, .sums = 0.849, .copies = 0.992, .dispatch = 1}},
    {"outer", {.launch = 0.244, .begin = 1.522, .compute = 2.705, .step = 4.526, .l2 = 0.565, .memory = 0.802,
               .narrow = 0.088, .store = 0.79, .sums = 1, .copies = 1, .dispatch = 1}},
    {"simt", {.launch = 0.572, .begin = 1.16, .compute = 1.051, .step = 2.766, .l2 = 0.503, .memory = 1.017,
              .narrow = 0.672, .store = 0.557, .sums = 1.224, .copies = 1, .dispatch = 1}},
    {"simt_cluster", {.launch = 0.511, .begin = 1.168, .compute = 0.927, .step = 1.6, .l2 = 0.503, .memory = 1.08,
                      .narrow = 0.398, .store = 0.404, .sums = 0.954, .copies = 0.829, .dispatch = 1}},
    {"simt_ws", {.launch = 2.183, .begin = 1.385, .compute = 0.906, .step = 0.149, .l2 = 1.282, .memory = 0.804,
                 .narrow = 0.727, .store = 0.464, .sums = 1.748, .copies = 1.032, .dispatch = 1}},
    {"skinny", {.launch = 1.271, .begin = 0.625, .compute = 2.811, .step = 0.33, .l2 = 0.961, .memory = 1.024,
                .narrow = 0.267, .store = 2.283, .sums = 0.774, .copies = 1, .dispatch = 1}},
    {"split", {.launch = 1.159, .begin = 4.693, .compute = 1.219, .step = 0.541, .l2 = 0.903, .memory = 1.741,
               .narrow = 0.5, .store = 0.925, .sums = 1.378, .copies = 1.188, .dispatch = 1}},
    {"vector", {.launch = 0.621, .begin = 1.561, .compute = 10.36, .step = 3.924, .l2 = 0.517, .memory = 0.898,
                .narrow = 0.157, .store = 9.857, .sums = 1.082, .copies = 1, .dispatch = 1}},
    {"wgmma", {.launch = 0.932, .begin = 1.197, .compute = 1.229, .step = 0.169, .l2 = 0.72, .memory = 1.072,
               .narrow = 0.925, .store = 0.823, .sums = 0.531, .copies = 1.467, .dispatch = 1}},
};

/* Of operands of 16 bits, by trials_h200_tensor.txt: what is not multiplied by tensor cores becomes floats on its way, which
 * takes 1.2 to 1.4 times as long as the same kernels' terms for f32 say. */
static const gt_fitted shipped_halves[] = {
    {"batched", {.launch = 0.267, .begin = 1.354, .compute = 3.643, .step = 5.342, .l2 = 6.838, .memory = 0.949,
                 .narrow = 0.02, .store = 0.314, .sums = 1, .copies = 1, .dispatch = 1}},
    {"low_rank", {.launch = 1.08, .begin = 3.03, .compute = 1.349, .step = 1.199, .l2 = 1.244, .memory = 1.032,
                  .narrow = 0.5, .store = 0.351, .sums = 1, .copies = 1, .dispatch = 1}},
    {"outer", {.launch = 0.321, .begin = 1.894, .compute = 2.011, .step = 2.922, .l2 = 0.991, .memory = 1.186,
               .narrow = 0.089, .store = 1.398, .sums = 1, .copies = 1, .dispatch = 1}},
    {"simt", {.launch = 0.489, .begin = 1.107, .compute = 1.425, .step = 3.84, .l2 = 0.523, .memory = 0.955,
              .narrow = 0.89, .store = 1.99, .sums = 1.596, .copies = 1, .dispatch = 1}},
    {"skinny", {.launch = 1.619, .begin = 0.53, .compute = 2.442, .step = 0.441, .l2 = 0.822, .memory = 1.008,
                .narrow = 0.291, .store = 2.43, .sums = 1.576, .copies = 1, .dispatch = 1}},
    {"vector", {.launch = 0.932, .begin = 1.04, .compute = 12.497, .step = 4.344, .l2 = 0.513, .memory = 0.831,
                .narrow = 0.217, .store = 52.461, .sums = 0.911, .copies = 1, .dispatch = 1}},
};
#define HALF_BYTES 2

static const gt_terms *find(const gt_fitted *list, size_t count, const char *family)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].family, family) == 0)
            return &list[i].coefficients;
    return NULL;
}

/* NULL where nobody has fitted any. */
static const gt_terms *find_shipped(const char *family, const gt_class *class)
{
    const bool halves = class && gt_type_find(class->type_a)->bytes == HALF_BYTES;
    const gt_terms *own =
        halves ? find(shipped_halves, sizeof shipped_halves / sizeof shipped_halves[0], family) : NULL;
    return own ? own : find(shipped, sizeof shipped / sizeof shipped[0], family);
}

const gt_terms *gt_coefficients_shipped(const char *family, const gt_class *class)
{
    const gt_terms *own = find_shipped(family, class);
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

const gt_terms *gt_coefficients_known(const gt_fitted *list, size_t count, const char *family, const gt_class *class)
{
    const gt_terms *own = find(list, count, family);
    return own ? own : find_shipped(family, class);
}

const gt_terms *gt_coefficients_find(const gt_fitted *list, size_t count, const char *family, const gt_class *class)
{
    const gt_terms *known = gt_coefficients_known(list, count, family, class);
    return known ? known : &shipped[0].coefficients;
}
