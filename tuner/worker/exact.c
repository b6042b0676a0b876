#include "exact.h"

#include <math.h>

static bool holds(const gt_type_info *type, double number)
{
    double place = 0;
    type->store(&place, 0, number);
    return type->load(&place, 0) == number;
}

/* The last of the numbers 1, 3, 7, ... up to a limit that a type holds. */
static double last_whole(const gt_type_info *type, double limit)
{
    double number = 0;
    for (double next = 1; next <= limit && holds(type, next); next = 2 * next + 1)
        number = next;
    return number;
}

/* Sums of whole numbers up to here are exact in every order. */
static double exact_sums(const gt_types *types)
{
    return 0.5 / fmax(2 * types->roundoff, fmax(types->cut.sum, types->cut.product));
}

/* ---- whole numbers ---- */

int64_t gt_exact_whole(const gt_types *types, int64_t k)
{
    const double sums = fmin(exact_sums(types), gt_type_find(types->c)->most / 2);
    const double most = sqrt(sums / (double)(k > 0 ? k : 1));
    const double limit = fmin(most, types->rounded ? 1 / types->rounded->roundoff : most);
    return types->exact || types->parts > 0 ? 0
                        : (int64_t)fmin(limit, fmin(last_whole(gt_type_find(types->a), limit * 2),
                                                    last_whole(gt_type_find(types->b), limit * 2)));
}

void gt_exact_fill_whole(const gt_case *c, gt_operand operand, gt_draws *draws, void *data)
{
    const gt_problem *p = &c->problem;
    const gt_stored o = gt_problem_stored(p, operand);
    const int64_t most = gt_exact_whole(gt_class_types(&p->class), p->k);
    for (int64_t row = 0; row < p->batch * o.rows; row++)
        for (int64_t column = 0; column < o.columns; column++)
            gt_type_find(o.type)->store(data, row / o.rows * o.stride + row % o.rows * o.ld + column,
                                        (double)gt_draw_below(draws, most + 1));
}

/* ---- ties ---- */

/*
 * A tie is a product of two odd numbers with one bit more than C's type holds, times a power of two. What is added to it
 * is a smaller power of two. All is scaled into C's range by A's elements.
 */
typedef struct gt_tie {
    int bits[GT_C], powers[GT_C]; /* of the odd numbers of A and B */
    int distances, scale;         /* powers of two: those of a sum's distance from its tie, that of A's elements */
} gt_tie;

static bool find_tie(const gt_types *types, gt_tie *t)
{
    const gt_type_info *result = gt_type_find(types->c),
                       *const operands[] = {gt_type_find(types->a), gt_type_find(types->b)};
    const double sums = exact_sums(types), most = fmin(sums, result->most / 2);
    const int bits = ilogb(last_whole(result, 2 * most) + 1) + 1;
    *t = (gt_tie){.distances = ilogb(sums) - bits, .scale = ilogb(most) - ilogb(sums)};
    if (types->exact || types->parts > 0 || t->distances < 1)
        return false;
    for (gt_operand o = GT_A; o < GT_C; o++) {
        t->bits[o] = (bits + (o == GT_B)) / 2;
        t->powers[o] = (t->distances + (o == GT_B)) / 2 + (o == GT_A ? t->scale : 0);
        if (!holds(operands[o], ldexp(ldexp(1, t->bits[o]) - 1, t->powers[o])))
            return false;
    }
    return holds(operands[GT_A], ldexp(1, t->scale)) && holds(operands[GT_B], ldexp(1, t->distances - 1)) &&
           holds(result, ldexp(1, t->scale));
}

bool gt_exact_has_ties(const gt_types *types)
{
    gt_tie tie;
    return find_tie(types, &tie);
}

/* One place along K has the tie, another what is added to it or taken from it, all others have zeros. */
void gt_exact_fill_ties(const gt_case *c, gt_operand operand, gt_draws *draws, void *data)
{
    const gt_problem *p = &c->problem;
    const gt_stored o = gt_problem_stored(p, operand);
    const bool k_down = gt_case_has_k_down(c, operand);
    const int64_t place = (int64_t)(c->seed >> 32) % p->k;
    const int64_t beside = p->k == 1 ? -1 : (place + 1 + (int64_t)(c->seed & 0xffffffff) % (p->k - 1)) % p->k;
    gt_tie t;
    find_tie(gt_class_types(&p->class), &t);
    for (int64_t row = 0; row < p->batch * o.rows; row++)
        for (int64_t column = 0; column < o.columns; column++) {
            const int64_t at = k_down ? row % o.rows : column;
            double value = 0;
            if (operand == GT_C) {
                value = ldexp((double)gt_draw_below(draws, 3) - 1, t.scale);
            } else if (at == place) {
                const int64_t first = INT64_C(1) << (t.bits[operand] - 1); /* set, and the last bit */
                value = ldexp((double)(first | gt_draw_below(draws, first) | 1), t.powers[operand]);
            } else if (at == beside) {
                value = operand == GT_A ? ldexp(gt_draw_below(draws, 2) ? 1 : -1, t.scale)
                                        : ldexp(1, (int)gt_draw_below(draws, t.distances));
            }
            gt_type_find(o.type)->store(data, row / o.rows * o.stride + row % o.rows * o.ld + column, value);
        }
}
