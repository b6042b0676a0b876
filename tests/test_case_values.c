/* Values and scalars of the products that a kernel is checked on. */
#include "../src/core/copies.h"
#include "cases_fixture.h"

TEST(each_operand_has_each_hard_value_alone)
{
    const gt_class class = class_of(GT_F32, GT_F32, 16);
    const gt_kernel k = kernel(64, 64, "bk=16 stages=3");
    bool seen[GT_OPERANDS][1 << GT_HARD_KINDS] = {0};
    gt_cases cases;
    CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
    for (size_t i = 0; i < cases.count; i++) {
        const gt_case *c = &cases.list[i];
        if (c->values == GT_VALUES_HARD && c->problem.k > 0)
            seen[c->odd][c->hard] = true;
    }
    for (gt_operand o = GT_A; o < GT_OPERANDS; o++)
        CHECK(seen[o][1] && seen[o][2] && seen[o][4] && seen[o][7]);
    gt_cases_finish(&cases);
}

/* Whether a product of a case is another where those of its elements that are zero are left out. */
static bool shows_without_zeros(const gt_case *c, const char *image)
{
    const gt_problem *p = &c->problem;
    const float *a = (const float *)(image + c->place[GT_A]), *b = (const float *)(image + c->place[GT_B]);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            float all = 0, some = 0;
            for (int64_t l = 0; l < p->k; l++) {
                const float x = a[p->class.op_a == GT_N ? i * p->lda + l : l * p->lda + i];
                const float y = b[p->class.op_b == GT_N ? l * p->ldb + j : j * p->ldb + l];
                all += x * y;
                some += x != 0 && y != 0 ? x * y : 0;
            }
            if (isnan(all) && !isnan(some))
                return true;
        }
    return false;
}

TEST(a_product_of_zero_and_a_hard_value_is_met)
{
    const gt_class class = class_of(GT_F32, GT_F32, 16);
    const gt_kernel k = kernel(64, 64, "bk=16 stages=3");
    bool seen[GT_OPERANDS] = {false};
    gt_cases cases;
    CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
    char *image = fill(&class, &cases, check_random());
    for (size_t i = 0; i < cases.count; i++) {
        const gt_case *c = &cases.list[i];
        if (c->values == GT_VALUES_HARD && c->problem.batch == 1 && c->alpha != 0)
            seen[c->odd] = seen[c->odd] || shows_without_zeros(c, image);
    }
    CHECK(seen[GT_A] && seen[GT_B]);
    free(image);
    gt_cases_finish(&cases);
}

/* Which is zero, too: C is not to be read, and nothing but poison shows whether it was. */
TEST(beta_is_minus_zero_over_poison_with_and_without_an_epilogue)
{
    const gt_class class = class_of(GT_F32, GT_F32, 16);
    gt_kernel k = kernel(64, 64, "bk=16 stages=3");
    int plain = 0, finished = 0;
    gt_cases cases;
    k.facts.epilogue = 1;
    CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
    char *image = fill(&class, &cases, check_random());
    for (size_t i = 0; i < cases.count; i++) {
        const gt_case *c = &cases.list[i];
        if (c->beta != 0 || !signbit(c->beta))
            continue;
        CHECK(isnan(((const float *)(image + c->place[GT_C]))[0]));
        *(c->epilogue ? &finished : &plain) += c->problem.k > 0;
    }
    CHECK(plain > 4 && finished > 0);
    free(image);
    gt_cases_finish(&cases);
}

/* Sums in f32 are exact up to 2^24. */
TEST(sums_of_8_bit_integers_are_met_beyond_what_floats_hold)
{
    const gt_class class = class_of(GT_S8, GT_S32, 16);
    const gt_kernel k = kernel(64, 64, "bk=64 stages=3");
    gt_cases cases;
    bool beyond = false;
    CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
    char *image = fill(&class, &cases, check_random());
    for (size_t i = 0; i < cases.count; i++) {
        const gt_case *c = &cases.list[i];
        gt_reference r;
        CHECK_OK(gt_reference_init(&c->problem, image + c->place[GT_A], image + c->place[GT_B], &r));
        beyond |= c->values == GT_VALUES_LARGE && r.sum[0] > 0x1p25;
        gt_reference_finish(&r);
    }
    CHECK(beyond);
    free(image);
    gt_cases_finish(&cases);
}

/* Beside A B a tiny beta would not show, and f16 has no such numbers. */
TEST(scalars_far_from_1_stand_alone_where_the_types_have_them)
{
    const gt_type results[] = {GT_F32, GT_F16};
    for (int i = 0; i < 2; i++) {
        const gt_class class = class_of(GT_F16, results[i], 16);
        const gt_kernel k = kernel(64, 64, "bk=16 stages=2");
        int small = 0, large = 0, strange = 0;
        gt_cases cases;
        CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
        for (size_t at = 0; at < cases.count; at++) {
            const gt_case *c = &cases.list[at];
            const double alpha = fabs(c->alpha), beta = fabs(c->beta);
            small += c->problem.k == 0 && beta > 0 && beta < 0x1p-80;
            large += c->problem.k == 0 && beta > 0x1p80;
            strange += !isfinite(alpha) || !isfinite(beta);
            CHECK(c->beta == 0 || alpha == 0 || !isfinite(alpha) || (alpha > 0x1p-20 && alpha < 0x1p20));
        }
        CHECK_INT(small, results[i] == GT_F32);
        CHECK_INT(large, results[i] == GT_F32);
        CHECK_INT(strange, 4);
        gt_cases_finish(&cases);
    }
}

TEST(wide_values_reach_far_up_and_down_and_their_products_fit)
{
    const gt_class class = class_of(GT_F32, GT_F32, 16);
    const gt_kernel k = kernel(64, 64, "bk=16 stages=3");
    double least = INFINITY, most = 0, result = 0;
    gt_cases cases;
    CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
    char *image = fill(&class, &cases, check_random());
    for (size_t i = 0; i < cases.count; i++) {
        const gt_case *c = &cases.list[i];
        if (c->values != GT_VALUES_WIDE)
            continue;
        const gt_stored a = gt_problem_stored(&c->problem, GT_A), b = gt_problem_stored(&c->problem, GT_B);
        const float *const operands[] = {(float *)(image + c->place[GT_A]), (float *)(image + c->place[GT_B])};
        for (int64_t at = 0; at < a.rows * a.columns + b.rows * b.columns; at++) {
            const bool second = at >= a.rows * a.columns;
            const gt_stored *o = second ? &b : &a;
            const int64_t index = second ? at - a.rows * a.columns : at;
            const double x = fabs((double)operands[second][index / o->columns * o->ld + index % o->columns]);
            least = x > 0 && x < least ? x : least;
            most = x > most ? x : most;
        }
        gt_reference reference;
        CHECK_OK(gt_reference_init(&c->problem, operands[0], operands[1], &reference));
        for (int64_t at = 0; at < c->problem.m * c->problem.n; at++)
            result = fabs(c->alpha * reference.sum[at]) > result ? fabs(c->alpha * reference.sum[at]) : result;
        gt_reference_finish(&reference);
    }
    CHECK(least < 0x1p-126 && most > 1e28 && result > 1e28 && result < 0x1p126);
    free(image);
    gt_cases_finish(&cases);
}

TEST(wide_values_are_met_without_C_so_that_subnormal_sums_are_results)
{
    const gt_class class = class_of(GT_F32, GT_F32, 16);
    const gt_kernel k = kernel(64, 32, "bk=16 stages=3");
    for (int round = 0; round < 8; round++) {
        gt_cases cases;
        int without = 0, with = 0;
        CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
        for (size_t i = 0; i < cases.count; i++)
            if (cases.list[i].values == GT_VALUES_WIDE && cases.list[i].alpha != 0 && cases.list[i].problem.k > 0)
                *(cases.list[i].beta == 0 ? &without : &with) += 1;
        CHECK(without >= 3 && with >= 3);
        gt_cases_finish(&cases);
    }
}

/* A number with the last bits of 24 cut off. */
static double cut(double number, int bits)
{
    int power;
    const double mantissa = frexp(number, &power);
    return ldexp(trunc(ldexp(mantissa, 24 - bits)), power - 24 + bits);
}

/* Sums that lose their last bits before they are rounded to C's type are as good as right, unless they are next to ties. */
TEST(sums_that_are_cut_before_they_are_rounded_show)
{
    static const gt_type types[] = {GT_BF16, GT_F16};
    for (int round = 0; round < 20; round++) {
        const gt_class class = class_of(types[round % 2], types[round % 2], 16);
        const gt_type_info *type = gt_type_find(class.type_c);
        const gt_kernel k = kernel(64, 128, "bk=64 stages=4");
        int64_t shown[9] = {0}; /* by the bits that are cut */
        gt_cases cases;
        CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
        char *image = fill(&class, &cases, check_random());
        for (size_t i = 0; i < cases.count; i++) {
            const gt_case *c = &cases.list[i];
            if (c->values != GT_VALUES_TIES)
                continue;
            gt_reference r;
            CHECK_OK(gt_reference_init(&c->problem, image + c->place[GT_A], image + c->place[GT_B], &r));
            for (int64_t at = 0; at < c->problem.m * c->problem.n; at++)
                for (int bits = 4; bits <= 8; bits += 2) {
                    uint16_t both[2];
                    type->store(both, 0, r.sum[at]);
                    type->store(both, 1, cut(r.sum[at], bits));
                    shown[bits] += both[0] != both[1];
                }
            gt_reference_finish(&r);
        }
        for (int bits = 4; bits <= 8; bits += 2)
            CHECK(shown[bits] > 50);
        free(image);
        gt_cases_finish(&cases);
    }
}

TEST(lines_that_one_warp_splits_have_a_first_or_last_element_that_it_alone_sees)
{
    gt_class class = class_of(GT_F32, GT_F32, 16);
    const gt_kernel k = kernel(128, 64, "bk=32 stages=4");
    bool seen[GT_C][2][2] = {0};
    gt_cases cases;
    class.math = GT_MATH_SPLIT;
    CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
    for (size_t i = 0; i < cases.count; i++) {
        const gt_case *c = &cases.list[i];
        const bool last = c->uneven == GT_UNEVEN_LAST_SMALL;
        if (c->values == GT_VALUES_UNEVEN && (last || c->uneven == GT_UNEVEN_FIRST_SMALL) &&
            (c->problem.k == 32 || c->problem.k == 512))
            seen[c->odd][c->problem.k == 512][last] = true;
    }
    for (gt_operand o = GT_A; o < GT_C; o++)
        CHECK(seen[o][0][0] && seen[o][0][1] && seen[o][1][0] && seen[o][1][1]);
    gt_cases_finish(&cases);
}

TEST(lines_that_a_pair_of_blocks_splits_twice_are_watched)
{
    gt_class class = class_of(GT_F32, GT_F32, 16);
    gt_kernel k = kernel(128, 64, "bk=32 stages=4");
    bool seen[GT_C] = {0};
    gt_cases cases;
    class.math = GT_MATH_SPLIT;
    k.facts.repack = 3 | GT_COPY_SPLIT;
    CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
    char *image = malloc(cases.bytes);
    cases_fill(&class, &cases, check_random(), image);
    for (size_t i = 0; i < cases.count; i++) {
        const gt_case *c = &cases.list[i];
        if (!c->watched || c->values != GT_VALUES_UNEVEN || c->uneven != GT_UNEVEN_LARGE || c->problem.k <= 1024 ||
            c->problem.k >= 2048)
            continue;
        const gt_stored o = gt_problem_stored(&c->problem, c->odd);
        const float *const elements = (const float *)(image + c->place[c->odd]);
        for (int64_t at = 0; at < o.rows * o.columns; at++) {
            const int64_t row = at / o.columns, column = at % o.columns;
            const int64_t along = gt_case_has_k_down(c, c->odd) ? row : column;
            seen[c->odd] |= fabsf(elements[row * o.ld + column]) > 0x1p20f && along >= 512; /* behind the first ones */
        }
    }
    CHECK(seen[GT_A] && seen[GT_B]);
    free(image);
    gt_cases_finish(&cases);
}

CHECK_MAIN
