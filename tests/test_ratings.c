/* What bench's summary says of the ratios to cuBLAS. */
#include "../tuner/commands/ratings.h"
#include "check.h"

/* A race in which ours took 10 us back to back and 20 with another kernel between. */
static const gt_trial ours = {.us = 10, .us_cold = 20};

static void set(gt_baseline *baseline, double us, double us_cold)
{
    baseline->trial = (gt_trial){.us = us, .us_cold = us_cold};
}

TEST(each_figure_is_against_the_baseline_that_is_best_at_it)
{
    gt_baseline baselines[GT_BASELINE_COUNT] = {0};
    set(&baselines[GT_BASELINE_CUBLAS], 15, 24);
    set(&baselines[GT_BASELINE_CUBLASLT], 12, 26);
    set(&baselines[GT_BASELINE_AUTOTUNE], 13, 19);
    CHECK_NEAR(gt_race_ratio(&ours, baselines, GT_FIGURE_WARM), 1.2, 1e-12);
    CHECK_NEAR(gt_race_ratio(&ours, baselines, GT_FIGURE_COLD), 0.95, 1e-12);
    CHECK_NEAR(gt_race_ratio(&ours, baselines, GT_FIGURE_SMALLER), 0.95, 1e-12);
    set(&baselines[GT_BASELINE_CUBLASLT], 9, 26);
    CHECK_NEAR(gt_race_ratio(&ours, baselines, GT_FIGURE_SMALLER), 0.9, 1e-12);
}

TEST(a_race_that_one_side_did_not_run_has_no_ratio)
{
    gt_baseline baselines[GT_BASELINE_COUNT] = {0};
    for (int figure = 0; figure < GT_FIGURE_COUNT; figure++)
        CHECK(gt_race_ratio(&ours, baselines, (gt_figure)figure) == 0);
    set(&baselines[GT_BASELINE_CUBLAS], 12, 0);
    CHECK_NEAR(gt_race_ratio(&ours, baselines, GT_FIGURE_WARM), 1.2, 1e-12);
    CHECK(gt_race_ratio(&ours, baselines, GT_FIGURE_COLD) == 0);
    CHECK(gt_race_ratio(&ours, baselines, GT_FIGURE_SMALLER) == 0); /* one figure is not the smaller of two */
    set(&baselines[GT_BASELINE_CUBLAS], 12, 24);
    const gt_trial wrong = {.outcome = GT_TRIAL_WRONG_RESULT, .us = 10, .us_cold = 20};
    for (int figure = 0; figure < GT_FIGURE_COUNT; figure++)
        CHECK(gt_race_ratio(&wrong, baselines, (gt_figure)figure) == 0);
}

TEST(a_rating_has_the_geometric_mean_the_weakest_race_and_counts)
{
    gt_rating rating = {0};
    CHECK(gt_rating_mean(&rating) == 0);
    const double ratios[] = {2, 0, 0.5, 1.01, 0.99, 1.5};
    for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++)
        gt_rating_add(&rating, ratios[i], i);
    CHECK_INT(rating.count, 5);
    CHECK_INT(rating.ahead, 2);
    CHECK_INT(rating.tied, 2);
    CHECK_INT(rating.behind, 1);
    CHECK(rating.least == 0.5);
    CHECK_INT(rating.weakest, 2);
    CHECK_NEAR(gt_rating_mean(&rating), 1.08445, 1e-5); /* the fifth root of 1.49985 */
}

CHECK_MAIN
