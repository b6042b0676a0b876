/*
 * Who passes the small checks and who does not: the products of a drawing computed on the host in every arithmetic that
 * a right kernel may use, and in some that it may not.
 */
#include "cases_fixture.h"
#include "tensor_fixture.h"

#define WORK 20e6

static const arithmetic plain = {"multiply-adds"}, wide = {"multiply-adds in f64", .f64 = true};

/* One row of C of one case. */
static void compute_row(const gt_case *c, const arithmetic *how, const char *image, int64_t index, int64_t i,
                        char *after)
{
    const gt_problem *p = &c->problem;
    const gt_type_info *a = gt_type_find(p->class.type_a), *b = gt_type_find(p->class.type_b),
                       *result = gt_type_find(p->class.type_c);
    const int64_t down_a = p->class.op_a == GT_N ? p->lda : 1, along_a = p->class.op_a == GT_N ? 1 : p->lda;
    const int64_t down_b = p->class.op_b == GT_N ? p->ldb : 1, along_b = p->class.op_b == GT_N ? 1 : p->ldb;
    double *x = calloc((size_t)p->k + 1, sizeof *x), *y = calloc((size_t)p->k + 1, sizeof *y);
    CHECK(x && y);
    for (int64_t l = 0; l < p->k; l++)
        x[l] = a->load(image + c->place[GT_A], index * p->stride_a + i * down_a + l * along_a);
    for (int64_t j = 0; j < p->n; j++) {
        const int64_t at = index * p->stride_c + i * p->ldc + j;
        for (int64_t l = 0; l < p->k; l++)
            y[l] = b->load(image + c->place[GT_B], index * p->stride_b + l * down_b + j * along_b);
        const double sum = c->alpha == 0 ? 0 : add_up(how, x, y, p->k), scaled = c->alpha == 0 ? 0 : c->alpha * sum;
        const double was = c->beta == 0 ? 0 : result->load(image + c->place[GT_C], at);
        const double exact = fma(c->beta, was, scaled), narrow = fmaf((float)c->beta, (float)was, (float)scaled);
        result->store(after + c->place[GT_C], at, how->f64 ? exact : narrow);
    }
    free(x);
    free(y);
}

/* Whether a kernel of that arithmetic passes; *trial says why not. */
static bool passes(const gt_types *types, const arithmetic *how, gt_trial *trial)
{
    const gt_class class = {.type_a = types->a, .type_b = types->b, .type_c = types->c, .math = types->math,
                            .align = 16, .op_a = check_random() % 2 ? GT_T : GT_N,
                            .op_b = check_random() % 2 ? GT_T : GT_N};
    const gt_kernel kernel = {.params = params_of("bk=16 stages=3"),
                              .facts = {.tile_m = 16, .tile_n = 16, .split_k = 1}};
    gt_cases cases;
    gt_errors errors = {0};
    bool good = true;
    CHECK_OK(gt_cases_draw(&class, &kernel, check_random(), WORK, GT_EXTENT_ALL, &cases));
    char *image = malloc(cases.bytes), *after = malloc(cases.bytes);
    CHECK(image && after);
    cases_fill(&class, &cases, check_random(), image);
    memcpy(after, image, cases.bytes);
    *trial = (gt_trial){0};
    for (size_t i = 0; good && i < cases.count; i++) {
        const gt_case *c = &cases.list[i];
        gt_reference reference;
        CHECK_OK(gt_reference_init(&c->problem, image + c->place[GT_A], image + c->place[GT_B], &reference));
        for (int64_t index = 0; good && index < c->problem.batch; index++) {
            for (int64_t row = 0; row < c->problem.m; row++)
                compute_row(c, how, image, index, row, after);
            good = gt_compare_product(c, &reference, index, image + c->place[GT_C], NULL, after + c->place[GT_C], &errors,
                                      trial);
        }
        gt_reference_finish(&reference);
    }
    good = good && gt_compare_errors(&errors, trial);
    if (!good)
        printf("%s, %s: %s\n", types->name, how->name, trial->detail);
    else
        printf("%s, %s: root mean square %.2f of the arithmetic's own, of sums %.2f over %.0f\n", types->name,
               how->name, sqrt(errors.sum / errors.count), sqrt(errors.sums_sum / errors.sums_count),
               errors.sums_count);
    free(image);
    free(after);
    gt_cases_finish(&cases);
    return good;
}

static void check_passes(const char *types, gt_math math, const arithmetic *how)
{
    gt_trial trial;
    if (!passes(gt_types_parse(types, math), how, &trial))
        check_fail(__FILE__, __LINE__, "%s, %s: %s", types, how->name, trial.detail);
}

static void check_refused(const char *types, gt_math math, const arithmetic *how)
{
    gt_trial trial;
    if (passes(gt_types_parse(types, math), how, &trial))
        check_fail(__FILE__, __LINE__, "%s, %s: passed", types, how->name);
    CHECK_INT(trial.outcome, GT_TRIAL_WRONG_RESULT);
}

static const char *const halves[] = {"f16", "f16_f32", "bf16", "bf16_f32"};

TEST(multiply_adds_and_tensor_cores_of_every_architecture_pass)
{
    static const arithmetic tensor[] = {{"Ampere's tensor cores", 8, 24, 23}, {"Hopper's tensor cores", 16, 25, 23}};
    check_passes("f32", GT_MATH_STRICT, &plain);
    check_passes("f64", GT_MATH_STRICT, &wide);
    for (size_t i = 0; i < sizeof halves / sizeof halves[0]; i++) {
        check_passes(halves[i], GT_MATH_STRICT, &plain);
        check_passes(halves[i], GT_MATH_STRICT, &tensor[0]);
        check_passes(halves[i], GT_MATH_STRICT, &tensor[1]);
    }
}

TEST(operands_may_be_rounded_to_tf32_and_not_cut)
{
    static const arithmetic right[] = {{"rounded, multiply-adds", .operand = 11},
                                       {"rounded, Ampere's tensor cores", 4, 24, 23, .operand = 11},
                                       {"rounded, Hopper's tensor cores", 8, 25, 23, .operand = 11}};
    static const arithmetic wrong[] = {{"cut, tensor cores", 8, 25, 23, .operand = -11},
                                       {"rounded to 10 bits", 8, 25, 23, .operand = 10},
                                       {"rounded, without the last product", .operand = 11, .forgets = true}};
    check_passes("f32", GT_MATH_TF32, &plain); /* more than what was asked for */
    for (int i = 0; i < 3; i++) {
        check_passes("f32", GT_MATH_TF32, &right[i]);
        check_refused("f32", GT_MATH_TF32, &wrong[i]);
        check_refused("f32", GT_MATH_STRICT, &right[i]);
    }
}

TEST(sums_of_8_bit_floats_are_promoted_unless_math_is_fast)
{
    static const char *const types[] = {"e4m3", "e4m3_f16", "e4m3_f32", "e5m2", "e5m2_e4m3_f16", "e4m3_e5m2_f32"};
    static const arithmetic promoted[] = {{"Ada's tensor cores, promoted", 16, 13, 13, .promoted = 128},
                                          {"Hopper's tensor cores, promoted", 32, 13, 13, .promoted = 128},
                                          {"Hopper's tensor cores, promoted more often", 32, 13, 13, .promoted = 32}};
    static const arithmetic raw[] = {{"Ada's tensor cores", 16, 13, 13}, {"Hopper's tensor cores", 32, 13, 13}};
    static const arithmetic forgets = {"promoted, without the last product", 32, 13, 13, .promoted = 128,
                                       .forgets = true};
    static const arithmetic shorter = {"sums of 10 bits, promoted", 32, 9, 9, .promoted = 128};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        for (gt_math math = GT_MATH_STRICT; math <= GT_MATH_FAST; math += GT_MATH_FAST) {
            check_passes(types[i], math, &plain);
            check_refused(types[i], math, &forgets);
            for (int j = 0; j < 3; j++)
                check_passes(types[i], math, &promoted[j]);
        }
        for (int j = 0; j < 2; j++) {
            check_refused(types[i], GT_MATH_STRICT, &raw[j]);
            check_passes(types[i], GT_MATH_FAST, &raw[j]);
        }
    }
    check_refused("e4m3_f32", GT_MATH_STRICT, &shorter);
}

TEST(a_product_that_is_left_out_is_refused_in_all_types)
{
    static const arithmetic forgets = {"without the last product", .forgets = true};
    static const arithmetic forgets_wide = {"without the last product, in f64", .forgets = true, .f64 = true};
    check_refused("f32", GT_MATH_STRICT, &forgets);
    check_refused("f64", GT_MATH_STRICT, &forgets_wide);
    for (size_t i = 0; i < sizeof halves / sizeof halves[0]; i++)
        check_refused(halves[i], GT_MATH_STRICT, &forgets);
}

TEST(products_of_fewer_bits_are_refused_where_the_result_shows_them)
{
    static const arithmetic cut_19 = {"products cut to 19 bits", .product = 19},
                            cut_14 = {"products cut to 14 bits", .product = 14},
                            short_sums = {"sums cut to 18 bits", 16, 25, 17},
                            shorter_sums = {"sums cut to 15 bits", 16, 25, 14},
                            long_sums = {"sums cut to 21 bits", 16, 25, 20};
    static const arithmetic cut_49 = {"products cut to 49 bits", .product = 49, .f64 = true};
    check_refused("f64", GT_MATH_STRICT, &cut_49);
    check_refused("f64", GT_MATH_STRICT, &plain);
    check_refused("f32", GT_MATH_STRICT, &cut_19);
    check_refused("f16_f32", GT_MATH_STRICT, &cut_19);
    check_refused("bf16_f32", GT_MATH_STRICT, &cut_14);
    check_refused("f16_f32", GT_MATH_STRICT, &short_sums);
    check_refused("bf16_f32", GT_MATH_STRICT, &short_sums);
    check_refused("f16_f32", GT_MATH_STRICT, &long_sums); /* whole numbers are to be exact */
    check_refused("bf16_f32", GT_MATH_STRICT, &long_sums);
    check_refused("f16", GT_MATH_STRICT, &short_sums); /* the result is rounded to 11 bits, or 8: */
    check_refused("bf16", GT_MATH_STRICT, &shorter_sums); /* an error shows where it is beyond half a unit */
}

CHECK_MAIN
