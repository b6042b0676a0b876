#include "winners.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"

gt_status gt_winners_init(size_t most, gt_winners *winners)
{
    *winners = (gt_winners){
        .list = calloc(most + 1, sizeof *winners->list), .seeds = calloc(most + 1, sizeof *winners->seeds), .room = most};
    return winners->list && winners->seeds ? GT_OK : gt_fail_memory();
}

void gt_winners_finish(gt_winners *winners)
{
    free(winners->list);
    free(winners->seeds);
    *winners = (gt_winners){0};
}

static bool same_seed(const gt_seed *a, const gt_seed *b)
{
    return gt_params_same(&a->params, &b->params) && strcmp(a->family, b->family) == 0;
}

void gt_winners_add(gt_winners *winners, const gt_kernel *kernel, const gt_class *class, int row)
{
    gt_winner winner = {.seed.params = kernel->params, .class = *class, .row = row};
    memcpy(winner.seed.family, kernel->family, sizeof kernel->family);
    for (size_t i = 0; i < winners->count; i++)
        if (winners->list[i].row == row && gt_class_same(&winners->list[i].class, class) &&
            same_seed(&winners->list[i].seed, &winner.seed))
            return;
    if (winners->count < winners->room)
        winners->list[winners->count++] = winner;
}

/* Adds a winner's seed to those chosen, unless it is among them. */
static size_t choose(gt_winners *winners, size_t chosen, const gt_winner *winner)
{
    for (size_t i = 0; i < chosen; i++)
        if (same_seed(&winners->seeds[i], &winner->seed))
            return chosen;
    winners->seeds[chosen] = winner->seed;
    return chosen + 1;
}

size_t gt_winners_of_row(gt_winners *winners, int row)
{
    size_t chosen = 0;
    for (size_t i = 0; i < winners->count; i++)
        if (winners->list[i].row == row)
            chosen = choose(winners, chosen, &winners->list[i]);
    return chosen;
}

size_t gt_winners_of_class(gt_winners *winners, const gt_class *class)
{
    size_t chosen = 0;
    for (size_t i = 0; i < winners->count; i++)
        if (gt_class_same(&winners->list[i].class, class))
            chosen = choose(winners, chosen, &winners->list[i]);
    return chosen;
}

bool gt_winners_has(const gt_winners *winners, int row, const gt_class *class, bool layout)
{
    for (size_t i = 0; i < winners->count; i++) {
        const gt_class *of = &winners->list[i].class;
        if (winners->list[i].row == row && of->align == class->align &&
            (!layout || (of->op_a == class->op_a && of->op_b == class->op_b)))
            return true;
    }
    return false;
}

size_t gt_winners_all(gt_winners *winners)
{
    size_t chosen = 0;
    for (size_t i = 0; i < winners->count; i++)
        chosen = choose(winners, chosen, &winners->list[i]);
    return chosen;
}

static gt_type twin_of(gt_type type)
{
    return type == GT_F16 ? GT_BF16 : type == GT_BF16 ? GT_F16 : type == GT_E5M2 ? GT_E4M3 : type;
}

bool gt_class_twin(const gt_class *class, gt_class *twin)
{
    *twin = *class;
    twin->type_a = twin_of(class->type_a);
    twin->type_b = twin_of(class->type_b);
    const bool alike = twin->type_a == class->type_a && twin->type_b == class->type_b;
    if (alike || gt_class_element(class) == 2) /* 8-bit operands of another type have the same results */
        twin->type_c = twin_of(class->type_c);
    return (!alike || twin->type_c != class->type_c) &&
           gt_types_find(twin->type_a, twin->type_b, twin->type_c, twin->math);
}
