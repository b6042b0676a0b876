/* How what cases left in memory is judged: what is right passes, and each way to be wrong is named. */
#include "cases_fixture.h"

static gt_cases cases;
static char *before, *after;
static gt_trial trial;

/* Cases with the results that they should have. */
static void arrange_for(gt_math math)
{
    const gt_class class = {.type_a = GT_F32, .type_b = GT_F32, .type_c = GT_F32, .align = 16, .math = math};
    const gt_kernel kernel = {.params = params_of("bk=16 stages=3"),
                              .facts = {.tile_m = 32, .tile_n = 64, .split_k = 2, .ws_tile = 1024}};
    CHECK_OK(gt_cases_draw(&class, &kernel, check_random(), 60e6, GT_EXTENT_ALL, &cases));
    before = malloc(cases.bytes);
    after = malloc(cases.bytes);
    cases_fill(&class, &cases, check_random(), before);
    memcpy(after, before, cases.bytes);
    for (size_t i = 0; i < cases.count; i++)
        cases_multiply(&cases.list[i], before, after);
}

static void arrange(void)
{
    arrange_for(GT_MATH_STRICT);
}

static void clear(void)
{
    gt_cases_finish(&cases);
    free(before);
    free(after);
}

static bool judge(void)
{
    gt_errors errors = {0};
    trial = (gt_trial){0};
    return gt_judge_end(gt_judge_begin(&cases, 0, cases.count, before), after, &errors, &trial) &&
           gt_compare_errors(&errors, &trial);
}

static const gt_case *drawn(void)
{
    return &cases.list[check_random() % cases.count];
}

TEST(right_results_pass)
{
    arrange();
    if (!judge())
        check_fail(__FILE__, __LINE__, "%s", trial.detail);
    CHECK(trial.error > 0 && trial.error < 1e-6);
    clear();
}

TEST(a_judgement_may_be_dropped)
{
    arrange();
    gt_judge_drop(gt_judge_begin(&cases, 0, cases.count, before));
    gt_judge_drop(NULL);
    CHECK(judge());
    clear();
}

/* Of a case's first product, the next element from *at on that is finite (0), NaN (1) or infinite (2); NULL: none. */
static float *find(const gt_case *c, int kind, int64_t *at)
{
    const gt_problem *p = &c->problem;
    for (; *at < p->m * p->n; ++*at) {
        float *x = (float *)(after + c->place[GT_C]) + *at / p->n * p->ldc + *at % p->n;
        if ((isnan(*x) ? 1 : isinf(*x) ? 2 : 0) == kind)
            return x;
    }
    return NULL;
}

TEST(a_value_where_there_should_be_another_is_a_wrong_result)
{
    static const float others[3][4] = {
        {1e35f, NAN, INFINITY, -INFINITY}, {0, 1, INFINITY, -INFINITY}, {0, 1e35f, -1e35f, NAN}};
    int tried[3] = {0};
    arrange();
    for (size_t i = 0; i < cases.count; i++)
        for (int kind = 0; kind < 3; kind++) {
            int64_t at = 0;
            float *c = find(&cases.list[i], kind, &at);
            for (int v = 0; c && v < 4 && tried[kind] < 40; v++, tried[kind]++) {
                const float right = *c;
                *c = others[kind][v];
                if (judge())
                    check_fail(__FILE__, __LINE__, "%g in place of %g passes", (double)*c, (double)right);
                CHECK_INT(trial.outcome, GT_TRIAL_WRONG_RESULT);
                *c = right;
            }
        }
    CHECK(tried[0] && tried[1] && tried[2]);
    clear();
}

TEST(an_infinity_of_the_other_sign_is_a_wrong_result)
{
    int tried = 0;
    arrange();
    for (size_t i = 0; i < cases.count; i++) {
        int64_t at = 0;
        for (float *c; tried < 20 && (c = find(&cases.list[i], 2, &at)); at++, tried++) {
            *c = -*c;
            CHECK(!judge() && trial.outcome == GT_TRIAL_WRONG_RESULT);
            *c = -*c;
        }
    }
    CHECK(tried > 0);
    clear();
}

TEST(a_change_of_anything_but_C_is_told_before_a_wrong_result)
{
    arrange();
    ((float *)(after + cases.list[0].place[GT_C]))[0] += 1e20f; /* wrong as well, and earlier */
    for (int round = 0; round < 60; round++) {
        const gt_case *c = drawn();
        const gt_operand o = (gt_operand)(check_random() % 2);
        const size_t end = c->place[GT_C] + gt_problem_bytes(&c->problem, GT_C);
        const size_t places[] = {c->place[o] + check_random() % (gt_problem_bytes(&c->problem, o) + 1),
                                 c->place[o] - 1 - check_random() % GT_CASE_GUARD,
                                 end + check_random() % (GT_CASE_GUARD - 256)};
        const size_t at = places[round % 3];
        after[at] ^= 1;
        CHECK(!judge());
        CHECK_INT(trial.outcome, GT_TRIAL_OUT_OF_BOUNDS);
        CHECK(strncmp(trial.detail, "wrote ", 6) == 0);
        after[at] ^= 1;
    }
    clear();
}

TEST(padding_between_the_rows_of_C_is_nobodys)
{
    int tried = 0;
    arrange();
    for (size_t i = 0; i < cases.count && tried < 10; i++) {
        const gt_problem *p = &cases.list[i].problem;
        if (p->m < 2 || p->ldc == p->n)
            continue;
        char *const at = after + cases.list[i].place[GT_C] + sizeof(float) * (size_t)p->n;
        *at ^= 1;
        CHECK(!judge() && trial.outcome == GT_TRIAL_OUT_OF_BOUNDS && strstr(trial.detail, "C's padding: row 0"));
        *at ^= 1;
        tried++;
    }
    CHECK(tried > 0);
    clear();
}

TEST(results_of_fewer_bits_are_told_from_right_ones_by_their_errors)
{
    arrange();
    for (size_t i = 0; i < cases.count; i++) {
        const gt_problem *p = &cases.list[i].problem;
        for (int64_t row = 0; row < p->m; row++)
            for (int64_t j = 0; j < p->n; j++) {
                uint32_t *const c = (uint32_t *)(after + cases.list[i].place[GT_C]) + row * p->ldc + j;
                *c = isfinite((double)*(float *)c) ? *c & ~15u : *c;
            }
    }
    CHECK(!judge() && trial.outcome == GT_TRIAL_WRONG_RESULT);
    clear();
}

/* Every one of them is within its bound: a kernel that leaves out the third of three parts errs so. */
TEST(elements_far_apart_are_told_from_right_ones_by_the_mean_of_their_errors)
{
    arrange_for(GT_MATH_SPLIT);
    CHECK(judge());
    for (size_t i = 0; i < cases.count; i++) {
        const gt_case *c = &cases.list[i];
        const gt_problem *p = &c->problem;
        const bool far = c->values == GT_VALUES_UNEVEN && c->uneven == GT_UNEVEN_FAR && p->k >= 16;
        for (int64_t at = 0; far && at < p->m * p->n; at++) {
            const int64_t place = at / p->n * p->ldc + at % p->n;
            float *const got = (float *)(after + c->result) + place;
            const double was = c->beta == 0 ? 0 : c->beta * (double)((float *)(before + c->place[GT_C]))[place];
            *got += (float)(((double)*got - was) * 0x1p-20);
        }
    }
    CHECK(!judge() && trial.outcome == GT_TRIAL_WRONG_RESULT && strstr(trial.detail, "elements far apart are"));
    clear();
}

CHECK_MAIN
