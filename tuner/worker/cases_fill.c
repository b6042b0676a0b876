/* What operands of cases hold. */
#include <math.h>

#include "cases.h"
#include "checks.h"
#include "exact.h"
#include "parallel.h"

#define HARD_EVERY  4  /* elements of C for each of a kind */
#define SHRUNK      0x1p-40 /* what an operand is multiplied with beside one with NaN and infinities */
#define LARGE_EVERY 64 /* rows of A or columns of B for each with an element far larger than the others */

/* The power of two that a row of A or a column of B is scaled by. One of the two goes down to subnormal numbers, the
 * other up to where products still fit; the ends of what a row may have are often met. The first element of C is always of
 * subnormal numbers, sums and its old value alike. */
static int scale_of(const gt_case *c, gt_operand operand, uint64_t seed, int64_t index)
{
    const gt_class *class = &c->problem.class;
    const gt_type_info *type = gt_type_find(operand == GT_A ? class->type_a : class->type_b);
    const int least = operand == c->odd ? type->least_scale : 0, most = operand == c->odd ? 0 : 2 * type->most_scale;
    const uint64_t bits = gt_random_bits(seed + operand, (uint64_t)index);
    const int kind = (int)(bits >> 61); /* of eight */
    return index == 0 || kind == 0 ? least : kind <= 2 ? most : least + (int)(bits % (uint64_t)(most - least + 1));
}

/* Of A rows are scaled, of B columns, of C both, so far as its type can hold that. */
static void scale_operand(const gt_case *c, gt_operand operand, uint64_t seed, char *data)
{
    const gt_problem *p = &c->problem;
    const gt_stored o = gt_problem_stored(p, operand);
    const gt_type_info *type = gt_type_find(o.type);
    const bool a_down = p->class.op_a == GT_N, b_down = p->class.op_b == GT_N;
    for (int64_t index = 0; index < p->batch; index++)
        for (int64_t row = 0; row < o.rows; row++)
            for (int64_t column = 0; column < o.columns; column++) {
                const int64_t at = index * o.stride + row * o.ld + column;
                int power;
                if (operand == GT_A) {
                    power = scale_of(c, GT_A, seed, a_down ? row : column);
                } else if (operand == GT_B) {
                    power = scale_of(c, GT_B, seed, b_down ? column : row);
                } else {
                    power = scale_of(c, GT_A, seed, row) + scale_of(c, GT_B, seed, column);
                    power = power < type->least_scale ? type->least_scale : power;
                }
                type->store(data, at, ldexp(type->load(data, at), power));
            }
}

/* Each kind of hard values that a case has at a place of every matrix; at more of them in C, where each is seen in one
 * element of the result only, and elements are stored in several ways. NaN comes last, so that nothing takes its place, and
 * is an operand's first element as often as not: that is what is read where there is nothing to read, and to be taken for
 * zero. */
static void harden(const gt_case *c, gt_operand operand, gt_draws *places, char *data)
{
    static const double hard[GT_HARD_KINDS] = {NAN, INFINITY, -INFINITY};
    const gt_stored o = gt_problem_stored(&c->problem, operand);
    const gt_type_info *type = gt_type_find(o.type);
    if (o.rows == 0 || o.columns == 0)
        return;
    const int64_t count = operand == GT_C ? 1 + o.rows * o.columns / HARD_EVERY : 1;
    for (int64_t i = 0; i < c->problem.batch * count; i++)
        for (int kind = GT_HARD_KINDS - 1; kind >= 0; kind--) {
            const int64_t drawn = gt_draw_below(places, o.rows) * o.ld + gt_draw_below(places, o.columns);
            const bool first = kind == 0 && operand != GT_C && gt_draw_below(places, 2);
            if (c->hard >> kind & 1)
                type->store(data, i / count * o.stride + (first ? 0 : drawn), hard[kind]);
        }
}

static void multiply_all(const gt_case *c, gt_operand operand, double factor, char *data)
{
    const gt_stored o = gt_problem_stored(&c->problem, operand);
    const gt_type_info *type = gt_type_find(o.type);
    for (int64_t row = 0; row < c->problem.batch * o.rows; row++)
        for (int64_t column = 0; column < o.columns; column++) {
            const int64_t at = row / o.rows * o.stride + row % o.rows * o.ld + column;
            type->store(data, at, factor * type->load(data, at));
        }
}

/* Where operands may be in parts, which NaN and infinities are not: they count beside nothing but zeros too, and however
 * small the other operand is, as often as not; and a C with all of them is as it is where A keeps its tile from being in
 * parts. */
static bool is_harder(const gt_case *c, uint64_t bits)
{
    return gt_class_types(&c->problem.class)->parts > 0 &&
           (c->odd == GT_C ? c->hard == (1u << GT_HARD_KINDS) - 1 : bits & 1);
}

static void harden_more(const gt_case *c, gt_operand operand, gt_draws *places, char *data)
{
    if (operand != GT_C && c->odd != GT_C)
        multiply_all(c, operand, operand == c->odd ? 0 : SHRUNK, data);
    if (operand == c->odd || (operand == GT_A && c->odd == GT_C))
        harden(c, operand, places, data);
}

/* Beside a NaN or an infinity of one operand the other one has a zero, at the same place along K: who leaves products with
 * zeros out loses them there. */
static void put_zeros_beside(const gt_case *c, gt_draws *places, char *image)
{
    const gt_operand other = c->odd == GT_A ? GT_B : GT_A;
    const gt_stored o = gt_problem_stored(&c->problem, c->odd), z = gt_problem_stored(&c->problem, other);
    const gt_type_info *type = gt_type_find(o.type), *type_z = gt_type_find(z.type);
    for (int64_t row = 0; row < c->problem.batch * o.rows; row++)
        for (int64_t column = 0; column < o.columns; column++) {
            const int64_t index = row / o.rows, along = gt_case_has_k_down(c, c->odd) ? row % o.rows : column;
            if (isfinite(type->load(image + c->place[c->odd], index * o.stride + row % o.rows * o.ld + column)))
                continue;
            const int64_t place = gt_case_has_k_down(c, other) ? along * z.ld + gt_draw_below(places, z.columns)
                                                               : gt_draw_below(places, z.rows) * z.ld + along;
            type_z->store(image + c->place[other], index * z.stride + place, 0);
        }
}

/*
 * The first product (of operands in parts, where K is odd, the last) is 2^9, all others are 1.5 2^-5: below the last of
 * 14 bits of a sum that has the first one. Tensor cores that never promote lose them all. Those that do lose the ones of
 * the first interval, 127 at most, or 5.95: the bound is at least 8.9, and is passed where 190 or more are lost of a
 * result in f32, 520 in bf16.
 */
static void make_steep(const gt_case *c, gt_operand operand, char *data)
{
    const gt_problem *p = &c->problem;
    const gt_stored o = gt_problem_stored(p, operand);
    const gt_type_info *type = gt_type_find(o.type);
    const bool k_down = gt_case_has_k_down(c, operand);
    const int64_t large = gt_class_types(&p->class)->parts > 0 && p->k % 2 ? p->k - 1 : 0;
    for (int64_t row = 0; row < p->batch * o.rows; row++)
        for (int64_t column = 0; column < o.columns; column++) {
            const bool first = (k_down ? row % o.rows : column) == large;
            type->store(data, row / o.rows * o.stride + row % o.rows * o.ld + column,
                        operand == GT_A ? (first ? 0x1p4 : 0x1.8p-5) : (first ? 0x1p5 : 1));
        }
}

/* Integers of one sign in the upper quarter of their type. */
static void enlarge(const gt_case *c, gt_operand operand, char *data)
{
    const gt_stored o = gt_problem_stored(&c->problem, operand);
    const gt_type_info *type = gt_type_find(o.type);
    for (int64_t row = 0; row < c->problem.batch * o.rows; row++)
        for (int64_t column = 0; column < o.columns; column++) {
            const int64_t at = row / o.rows * o.stride + row % o.rows * o.ld + column;
            type->store(data, at, type->most - floor(fabs(type->load(data, at)) / 4));
        }
}

/* What an element of an uneven operand is multiplied with: `here` is the one place along K, `line` its row of A or column
 * of B, of so many. */
static double unevenness(const gt_case *c, bool here, int64_t line, int64_t lines, uint64_t seed, int64_t at)
{
    const int64_t chosen = seed >> 4 & 1 ? lines - 1 : (int64_t)(seed >> 16) % lines;
    switch (c->uneven) {
    case GT_UNEVEN_SPREAD:
        return ldexp(1, -(int)(gt_random_bits(seed, (uint64_t)at) % 24));
    case GT_UNEVEN_FAR:
        return ldexp(1, -(int)(gt_random_bits(seed, (uint64_t)at) % 48));
    case GT_UNEVEN_LAST:
        return here && line == lines - 1 ? 0x1p40 : 1;
    case GT_UNEVEN_LARGE:
        return here && (line == chosen || gt_random_bits(seed, (uint64_t)line) % LARGE_EVERY == 0) ? 0x1p40 : 1;
    default:
        return here ? 0x1p-38 : 1;
    }
}

/* A and B each have an element at `place` that is 2^-144 of the odd operand's others, 2^-88 of the other's, and the product
 * of both is the result: where one operand has more, the other one has zeros. Only the odd one is farther apart than three
 * parts may be. */
static double depth_of(const gt_case *c, gt_operand operand, int64_t at, int64_t place)
{
    const bool odd = operand == c->odd, other = at == (place + 1) % c->problem.k;
    if (at == place)
        return odd ? 0x1p-76 : 0x1p-48;
    return other == odd ? 0 : odd ? 0x1p68 : 0x1p40;
}

/* Products that a sum beyond 2048 loses the end of: half its last digit is 2^-13. */
#define DRIFTING (1 + 0x1.fp-14)

/* Elements of operands that are beyond what parts hold: `value` was drawn. */
static double beyond_of(const gt_case *c, gt_operand operand, bool here, double value)
{
    if (here)
        return operand == c->odd ? 0x1p100 : 0;
    return (operand == c->odd ? 0x1p-14 : 1) *
           (c->uneven == GT_UNEVEN_BEYOND ? value : operand == GT_A ? DRIFTING : 1);
}

/* The one place along K. A large element lies in the second half: who scales a line by its first ones does it again. */
static int64_t place_of(const gt_case *c, uint64_t seed)
{
    const int64_t k = c->problem.k, first = c->uneven == GT_UNEVEN_LARGE ? k / 2 : 0;
    return c->uneven == GT_UNEVEN_FIRST_SMALL  ? 0
           : c->uneven == GT_UNEVEN_LAST_SMALL ? k - 1
                                               : first + (int64_t)(seed >> 8) % (k - first);
}

/* Whether the other operand has a zero, so that what is large tells nothing of the sum: at that place, or at all others,
 * where the last one is small in the last row or column alone. */
static bool is_zero_beside(const gt_case *c, bool here, bool last)
{
    if (here)
        return c->uneven == GT_UNEVEN_LARGE || c->uneven == GT_UNEVEN_LAST;
    return c->uneven == GT_UNEVEN_SMALL || c->uneven == GT_UNEVEN_FIRST_SMALL ||
           (c->uneven == GT_UNEVEN_LAST_SMALL && last);
}

static void make_uneven(const gt_case *c, gt_operand operand, uint64_t seed, char *data)
{
    const gt_problem *p = &c->problem;
    const gt_stored o = gt_problem_stored(p, operand);
    const gt_type_info *type = gt_type_find(o.type);
    const bool k_down = gt_case_has_k_down(c, operand);
    const int64_t place = place_of(c, seed);
    for (int64_t row = 0; row < p->batch * o.rows; row++)
        for (int64_t column = 0; column < o.columns; column++) {
            const int64_t at = row / o.rows * o.stride + row % o.rows * o.ld + column;
            const int64_t along = k_down ? row % o.rows : column, line = k_down ? column : row % o.rows;
            const int64_t lines = k_down ? o.columns : o.rows;
            const bool here = along == place;
            const double value = type->load(data, at);
            if (c->uneven == GT_UNEVEN_DEEP)
                type->store(data, at, value * depth_of(c, operand, along, place));
            else if (c->uneven >= GT_UNEVEN_BEYOND)
                type->store(data, at, beyond_of(c, operand, here, value));
            else if (operand == c->odd)
                type->store(data, at, value * unevenness(c, here, line, lines, seed, at));
            else if (is_zero_beside(c, here, line == lines - 1))
                type->store(data, at, 0);
        }
}

/* One operand of a case. Poison stays between its rows, and in a C that nobody reads and that is not to be filled; always
 * where beta is -0, which shows in nothing but NaN. */
static void fill_operand(const gt_case *c, gt_operand operand, const gt_pool *pool, gt_draws *places, char *data)
{
    const gt_stored o = gt_problem_stored(&c->problem, operand);
    const bool unread = operand == GT_C && c->beta == 0;
    const gt_fill fill = signbit(c->beta) ? GT_FILL_POISON : c->fill;
    if (!unread || fill == GT_FILL_RANDOM) {
        gt_pool_fill(pool, places, &o, c->problem.batch, data);
        return;
    }
    for (int64_t row = 0; fill != GT_FILL_POISON && row < c->problem.batch * o.rows; row++)
        for (int64_t column = 0; column < o.columns; column++)
            pool->type->store(data, row / o.rows * o.stride + row % o.rows * o.ld + column, fill == GT_FILL_ONES);
}

typedef struct filling {
    const gt_cases *cases;
    const gt_pool *pools;
    char *image;
} filling;

static void fill_case(void *data, size_t index)
{
    const filling *f = data;
    const gt_case *c = &f->cases->list[index];
    gt_draws draws = {.seed = c->seed};
    const uint64_t scales = gt_draw_bits(&draws);
    uint32_t *const end = (uint32_t *)(f->image + gt_cases_end(f->cases, index));
    for (uint32_t *at = (uint32_t *)(f->image + c->begin); at < end; at++)
        *at = GT_POISON;
    for (gt_operand o = GT_A; o < GT_OPERANDS; o++) {
        char *const operand = f->image + c->place[o];
        if (o == GT_B && c->itself)
            continue;
        fill_operand(c, o, &f->pools[o], &draws, operand);
        if (o == GT_C && c->beta == 0)
            continue;
        if (c->values == GT_VALUES_WIDE)
            scale_operand(c, o, scales, operand);
        else if (c->values == GT_VALUES_HARD && is_harder(c, scales))
            harden_more(c, o, &draws, operand);
        else if (c->values == GT_VALUES_HARD && o == c->odd)
            harden(c, o, &draws, operand);
        else if (c->values == GT_VALUES_WHOLE)
            gt_exact_fill_whole(c, o, &draws, operand);
        else if (c->values == GT_VALUES_TIES)
            gt_exact_fill_ties(c, o, &draws, operand);
        else if (c->values == GT_VALUES_STEEP && o != GT_C)
            make_steep(c, o, operand);
        else if (c->values == GT_VALUES_LARGE && o != GT_C)
            enlarge(c, o, operand);
        else if (c->values == GT_VALUES_UNEVEN && o != GT_C && c->problem.k > 0)
            make_uneven(c, o, scales >> 1, operand);
    }
    if (c->values == GT_VALUES_HARD && c->odd != GT_C && !c->itself && !is_harder(c, scales))
        put_zeros_beside(c, &draws, f->image);
    const gt_stored bias = {c->problem.class.type_c, 1, gt_case_bias(c), gt_case_bias(c), 0};
    if (bias.columns > 0)
        gt_pool_fill(&f->pools[GT_C], &draws, &bias, 1, f->image + c->bias);
}

void gt_cases_fill(const gt_cases *cases, const gt_pool pools[GT_OPERANDS], void *image)
{
    gt_parallel(cases->count, fill_case, &(filling){cases, pools, image});
}
