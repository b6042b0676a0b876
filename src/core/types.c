#include "types.h"

#include <string.h>

static const gt_type_info types[] = {
    [GT_F32] = {"f32", "float", 4},
    [GT_S32] = {"s32", "int", 4},
    [GT_F16] = {"f16", "gt_half", 2},
};

_Static_assert(sizeof types / sizeof types[0] == GT_TYPE_COUNT, "every type has its row");

/* Tensor cores cut their sums instead of rounding them: one step may lose twice the unit roundoff of f32. */
static const gt_types pairs[] = {
    {"f32", GT_F32, GT_F32, "float", 4, 0, 0x1p-24},
    {"s32", GT_S32, GT_S32, "int", 4, 1, 0},
    {"f16_f32", GT_F16, GT_F32, "float", 4, 0, 0x1p-23},
};

#define PAIRS (sizeof pairs / sizeof pairs[0])

const gt_type_info *gt_type_find(gt_type type)
{
    return (unsigned)type < GT_TYPE_COUNT ? &types[type] : NULL;
}

const gt_types *gt_types_find(gt_type ab, gt_type c)
{
    for (size_t i = 0; i < PAIRS; i++)
        if (pairs[i].ab == ab && pairs[i].c == c)
            return &pairs[i];
    return NULL;
}

const gt_types *gt_types_parse(const char *name)
{
    for (size_t i = 0; i < PAIRS; i++)
        if (strcmp(pairs[i].name, name) == 0)
            return &pairs[i];
    return NULL;
}

const char *gt_types_names(void)
{
    return "f32 s32 f16_f32";
}
