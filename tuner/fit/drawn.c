#include "drawn.h"

#include "../random.h"

#define SEED 2

#define LARGEST          16384.0
#define LARGEST_OF_BATCH 512.0
#define MOST_PRODUCTS    16384.0

#define MOST_WORK  0x1p33 /* multiply-adds: a third of a millisecond of an H200's */
#define MOST_BYTES 0x1p27 /* of an operand */

/* A size up to the largest, rounded up to whole units. */
static int64_t draw(gt_draws *draws, double largest, int64_t unit)
{
    return (gt_draw_size(draws, largest) + unit - 1) / unit * unit;
}

static bool takes_long(const gt_problem *p)
{
    const double work = gt_problem_flops(p) / 2;
    return work > MOST_WORK || (double)gt_problem_bytes(p, GT_A) > MOST_BYTES ||
           (double)gt_problem_bytes(p, GT_B) > MOST_BYTES || (double)gt_problem_bytes(p, GT_C) > MOST_BYTES;
}

/* What rows are aligned to, by turns: 16 bytes, an element, and what lies between. */
static int choose_align(size_t turn, int element)
{
    const size_t third = turn % 3, round = turn / 3;
    size_t between = 0;
    while (16 >> (between + 1) > element)
        between++;
    if (third == 2 && between > 0)
        return 16 >> (1 + round % between);
    return third == 0 || (third == 2 && round % 2 == 0) ? 16 : element;
}

gt_status gt_draw_problems(const gt_types *types, gt_problem problems[GT_DRAWN_MOST], size_t *count)
{
    const int element = gt_type_find(types->a)->bytes;
    gt_draws draws = {.seed = SEED};
    *count = 0;
    while (*count < GT_DRAWN_MOST) {
        const size_t layout = *count % 4, turn = *count / 4;
        const int align = choose_align(turn, element);
        const int64_t unit = align / element;
        const bool batch = turn % 5 == 4, swapped_b = layout % 2, swapped_a = layout / 2;
        const double largest = batch ? LARGEST_OF_BATCH : LARGEST;
        const gt_gemm gemm = {
            .m = draw(&draws, largest, unit), .n = draw(&draws, largest, unit), .k = draw(&draws, largest, unit),
            .batch = batch ? gt_draw_size(&draws, MOST_PRODUCTS) : 1, .op_a = swapped_a ? GT_T : GT_N,
            .op_b = swapped_b ? GT_T : GT_N, .type_ab = types->a, .type_b = types->b, .type_c = types->c,
            .math = types->math, .align = align,
        };
        bool swapped;
        const gt_status status = gt_problem_fold(&gemm, &problems[*count], &swapped);
        if (status != GT_OK)
            return status;
        *count += !takes_long(&problems[*count]);
    }
    return GT_OK;
}
