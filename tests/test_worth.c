/* Which products of host memory go to the GPU, by what was seen of both sides. The front is a stand-in that stores
 * nothing. */
#include "../src/dropin/front.h"
#include "../src/dropin/worth.h"
#include "check.h"

bool gt_front_is_on(void)
{
    return false;
}

void gt_front_load_rates(gt_rate *list, size_t count)
{
    (void)list, (void)count;
}

void gt_front_store_rates(const gt_rate *list, size_t count)
{
    (void)list, (void)count;
}

static gt_work product(gt_type type, double m, double n, double k)
{
    const double size = type == GT_F64 ? 8 : 4, operands = (m * k + k * n) * size;
    return (gt_work){type, m * n * k, operands + m * n * size, operands};
}

static gt_work cube(gt_type type, double side)
{
    return product(type, side, side, side);
}

/* Sizes of which nothing was seen before: each test has its own. */
static void set_up_gpu(void)
{
    const gt_work any = cube(GT_F64, 200);
    gt_worth_staying(&any, 1);
}

TEST(a_blas_that_had_slept_is_seen_awake_before_its_products_go)
{
    set_up_gpu();
    const gt_work w = cube(GT_F32, 512);
    for (int i = 0; i < 100; i++) {
        gt_worth_see_cpu(&w, i < 10 ? 1500 : 220);
        CHECK(!gt_worth_going(&w));
    }
}

TEST(after_a_while_on_the_gpu_products_stay_on_the_cpu_again)
{
    set_up_gpu();
    const gt_work w = cube(GT_F32, 900);
    for (int i = 0; i < 4; i++)
        gt_worth_see_cpu(&w, 6000);
    for (int i = 0; i < 1000; i++) {
        CHECK(gt_worth_going(&w));
        gt_worth_see_gpu(&w, 2000);
    }
    CHECK(!gt_worth_going(&w));
    for (int i = 0; i < 50; i++)
        gt_worth_see_cpu(&w, 1000);
    CHECK(!gt_worth_going(&w));
}

TEST(what_the_cpu_is_slow_at_goes)
{
    set_up_gpu();
    const gt_work w = cube(GT_F32, 1100);
    for (int i = 0; i < 3; i++) {
        CHECK(!gt_worth_going(&w));
        gt_worth_see_cpu(&w, 9000);
    }
    CHECK(gt_worth_going(&w));
    CHECK(gt_worth_staying(&w, 50));
    CHECK(!gt_worth_staying(&w, 9000));
}

TEST(a_long_product_goes_when_one_was_seen)
{
    set_up_gpu();
    const gt_work w = cube(GT_F64, 4096);
    CHECK(!gt_worth_going(&w));
    gt_worth_see_cpu(&w, 200e3);
    CHECK(gt_worth_going(&w));
}

TEST(what_was_seen_of_another_shape_says_nothing)
{
    set_up_gpu();
    const gt_work reads = product(GT_F32, 8192, 64, 8192), writes = product(GT_F32, 8192, 8192, 64);
    for (int i = 0; i < 3; i++)
        gt_worth_see_cpu(&reads, 40e3);
    CHECK(gt_worth_going(&reads));
    CHECK(!gt_worth_going(&writes));
    for (int i = 0; i < 10; i++)
        gt_worth_see_cpu(&writes, 8e3);
    CHECK(!gt_worth_going(&writes));
    CHECK(gt_worth_going(&reads));
}

CHECK_MAIN
