/* Cases with their memory on the host, and a kernel that is right: the reference itself. */
#ifndef CASES_FIXTURE_H
#define CASES_FIXTURE_H

#include "../tuner/worker/judge.h"
#include "params_fixture.h"

#define SOFT 60e6 /* some work that a drawing is held to */

/* With K over two blocks. */
static inline gt_kernel kernel(int tile_m, int tile_n, const char *params)
{
    return (gt_kernel){.params = params_of(params),
                       .facts = {.tile_m = tile_m, .tile_n = tile_n, .split_k = 2, .products = 1, .ws_tile = 1024}};
}

/* In any layout. */
static inline gt_class class_of(gt_type ab, gt_type c, int align)
{
    return (gt_class){.type_a = ab, .type_b = ab, .type_c = c, .align = align, .op_a = check_random() % 2 ? GT_T : GT_N,
                      .op_b = check_random() % 2 ? GT_T : GT_N};
}

/* What memory holds before the launches, drawn from a seed. */
static inline void cases_fill(const gt_class *class, const gt_cases *cases, uint64_t seed, void *image)
{
    const gt_type types[GT_OPERANDS] = {class->type_a, class->type_b, class->type_c};
    gt_pool pools[GT_OPERANDS];
    for (gt_operand o = GT_A; o < GT_OPERANDS; o++)
        CHECK_OK(gt_pool_init(types[o], seed + o, &pools[o]));
    gt_cases_fill(cases, pools, image);
    for (gt_operand o = GT_A; o < GT_OPERANDS; o++)
        gt_pool_finish(&pools[o]);
}

/* What memory holds before the launches: free it. */
static inline void *fill(const gt_class *class, const gt_cases *cases, uint64_t seed)
{
    void *image = malloc(cases->bytes);
    cases_fill(class, cases, seed, image);
    return image;
}

/* Puts what it should become into a case's C of f32. */
static inline void cases_multiply(const gt_case *c, const char *before, char *after)
{
    const gt_problem *p = &c->problem;
    const gt_types *types = gt_class_types(&p->class);
    const float *was = (const float *)(before + c->place[GT_C]);
    float *result = (float *)(after + c->place[GT_C]);
    gt_reference r;
    CHECK_OK(gt_reference_init(p, before + c->place[GT_A], before + c->place[GT_B], &r));
    for (int64_t at = 0; at < p->batch * p->m * p->n; at++) {
        const int64_t index = at / (p->m * p->n), row = at / p->n % p->m;
        const int64_t place = index * p->stride_c + row * p->ldc + at % p->n;
        result[place] = (float)gt_reference_scale(types, c->alpha, r.sum[at], c->beta, (double)was[place]);
    }
    gt_reference_finish(&r);
}

#endif
