/* The choice of a kernel, on made-up measurements: no GPU, no database. */
#include "../src/core/launch.h"
#include "../src/runtime/neighbours.h"
#include "select_fixture.h"

TEST(exact_measurement_beats_any_prediction)
{
    const gt_measured list[] = {
        row(1, tiled(128, 128, 1), sized(4096, 4096, 4096), 2700),
        row(2, tiled(64, 64, 1), sized(1024, 1024, 1024), 60),
        row(1, tiled(128, 128, 1), sized(1000, 1000, 1000), 10),
    };
    gt_selection selection;
    CHECK_INT(choose(sized(1024, 1024, 1024), anything, list, COUNT(list), &selection), 2);
    CHECK(selection.choice == GT_CHOICE_EXACT);
    CHECK(selection.expected_us == 60);
    CHECK(!selection.modelled);
    CHECK_STR(selection.reason, "fastest of 1 kernel measured on this problem");
}

/* A measurement of a size on which a baseline was timed too. */
static gt_measured raced(int64_t id, gt_kernel kernel, gt_problem problem, double us, double baseline_us)
{
    gt_measured measured = row(id, kernel, problem, us);
    measured.baseline_us = baseline_us;
    return measured;
}

TEST(a_tuned_size_has_the_baselines_own_time)
{
    const gt_measured list[] = {
        raced(1, tiled(128, 128, 1), sized(1024, 1024, 1024), 60, 66),
        raced(2, tiled(64, 64, 1), sized(1000, 1000, 1000), 10, 100),
    };
    gt_selection selection;
    CHECK_INT(choose(sized(1024, 1024, 1024), anything, list, COUNT(list), &selection), 1);
    CHECK_NEAR(selection.baseline_us, 66, 1e-9);
}

TEST(elsewhere_a_baseline_is_as_much_slower_as_on_the_nearest_size_and_less_so_the_farther_that_is)
{
    const gt_measured list[] = {
        raced(1, tiled(128, 128, 1), sized(1024, 1024, 1024), 60, 72),
        raced(2, tiled(64, 64, 1), sized(1024, 1024, 1024), 90, 72),
        raced(1, tiled(128, 128, 1), sized(8192, 8192, 8192), 20000, 10000),
        row(1, tiled(128, 128, 1), sized(1056, 1024, 1024), 61),
    };
    double last = 1.2;
    for (int64_t m = 1088; m < 2000; m += 128) {
        gt_selection selection;
        CHECK_INT(choose(sized(m, 1024, 1024), anything, list, COUNT(list), &selection), 1);
        const double ratio = selection.baseline_us / selection.expected_us;
        CHECK(ratio > 1 && ratio < last);
        last = ratio;
    }
}

TEST(a_baseline_is_compared_with_the_kernel_that_it_raced_with)
{
    gt_measured list[] = {
        raced(1, tiled(128, 128, 1), sized(1024, 1024, 1024), 55, 66),
        raced(2, tiled(64, 64, 1), sized(1024, 1024, 1024), 60, 66),
    };
    list[1].winner = true;
    gt_selection selection;
    CHECK(choose(sized(1025, 1024, 1024), anything, list, COUNT(list), &selection) > 0);
    const double ratio = selection.baseline_us / selection.expected_us;
    CHECK(ratio > 1.09 && ratio <= 1.1);
}

TEST(without_a_race_no_baseline_is_made_up)
{
    const gt_measured list[] = {row(1, tiled(128, 128, 1), sized(1024, 1024, 1024), 60)};
    gt_selection selection;
    CHECK_INT(choose(sized(1024, 1024, 1024), anything, list, COUNT(list), &selection), 1);
    CHECK(selection.baseline_us == 0);
    CHECK_INT(choose(sized(2048, 1024, 1024), anything, list, COUNT(list), &selection), 1);
    CHECK(selection.baseline_us == 0);
}

TEST(fastest_exact_measurement_is_taken_where_no_race_was_run)
{
    const gt_measured list[] = {
        row(1, tiled(128, 128, 1), sized(512, 512, 512), 20),
        row(2, tiled(64, 64, 1), sized(512, 512, 512), 12),
        row(3, tiled(32, 32, 1), sized(512, 512, 512), 15),
    };
    gt_selection selection;
    CHECK_INT(choose(sized(512, 512, 512), anything, list, COUNT(list), &selection), 2);
    CHECK(selection.expected_us == 12);
}

TEST(race_winner_is_preferred_to_a_faster_screening)
{
    gt_measured list[] = {
        row(1, tiled(128, 128, 1), sized(512, 512, 512), 11.9),
        row(2, tiled(64, 64, 1), sized(512, 512, 512), 12),
    };
    list[1].winner = true;
    gt_selection selection;
    CHECK_INT(choose(sized(512, 512, 512), anything, list, COUNT(list), &selection), 2);
    CHECK_STR(selection.reason, "tuned for this problem");
}

TEST(batch_is_part_of_the_problem)
{
    gt_problem batched = sized(512, 512, 512);
    batched.batch = 64;
    const gt_measured list[] = {
        row(1, tiled(64, 64, 4), sized(512, 512, 512), 10),
        row(2, tiled(128, 128, 1), batched, 400),
    };
    gt_selection selection;
    CHECK_INT(choose(batched, anything, list, COUNT(list), &selection), 2);
    CHECK(selection.choice == GT_CHOICE_EXACT);
    CHECK_INT(choose(sized(512, 512, 512), anything, list, COUNT(list), &selection), 1);
}

/* 32x32768 and 1024x1024 have the same number of elements; a wide tile that is good for the one wastes the other. */
TEST(equal_products_of_sizes_are_not_equal_problems)
{
    const gt_problem wide = sized(32, 32768, 1024), square = sized(1024, 1024, 1024);
    const gt_kernel flat = tiled(32, 256, 1), block = tiled(128, 128, 1);
    const gt_measured list[] = {
        row(1, block, square, 50), row(1, block, wide, 190),
        row(2, flat, square, 75),  row(2, flat, wide, 60),
    };
    gt_selection selection;
    CHECK_INT(choose(sized(32, 30000, 1024), anything, list, COUNT(list), &selection), 2);
    CHECK_INT(choose(sized(1000, 1000, 1024), anything, list, COUNT(list), &selection), 1);
    CHECK(selection.choice == GT_CHOICE_PREDICTED);
}

TEST(size_between_neighbours_takes_the_tile_that_fills_the_machine)
{
    /* 1408x1536 is 11 x 12 = 132 tiles of 128x128, one for each SM; 1536x1536 is 144, which needs a second turn. */
    const gt_kernel large = tiled(128, 128, 1), small = tiled(96, 96, 1);
    const gt_measured list[] = {
        row(1, large, sized(1024, 1024, 1024), 55), row(1, large, sized(4096, 4096, 1024), 690),
        row(2, small, sized(1024, 1024, 1024), 45), row(2, small, sized(4096, 4096, 1024), 900),
    };
    gt_selection selection;
    CHECK_INT(choose(sized(1408, 1536, 1024), anything, list, COUNT(list), &selection), 1);
    CHECK(strstr(selection.reason, "of 2 kernels tuned on 2 other sizes; its nearest is 1024x1024x1024") != NULL);
    CHECK_INT(choose(sized(4000, 4000, 1024), anything, list, COUNT(list), &selection), 1);
}

/* The time that a kernel is expected to take on a problem, by one measurement of its own. */
static double predict(gt_problem problem, gt_measured own)
{
    const gt_device device = h200();
    const gt_measurements measured = {.list = &own, .count = 1};
    gt_terms terms;
    gt_neighbour entry = {0};
    gt_neighbours all = {.list = &entry, .count = 1};
    gt_prospect found;
    CHECK(gt_estimate_terms(&device, own.kernel, &problem, &terms, NULL));
    entry.estimate_us = gt_estimate_us(&terms, gt_neighbours_coefficients(&measured, own.kernel, NULL));
    gt_neighbours_compare(&device, &problem, &measured, &all);
    CHECK(gt_neighbours_predict(&measured, &all, &entry, 1, &found));
    return found.us;
}

TEST(prediction_follows_the_number_of_turns)
{
    const gt_problem one = sized(128 * 12, 128 * 11, 1024), more = sized(128 * 12, 128 * 11 + 1, 1024);
    const gt_measured own = row(1, tiled(128, 128, 1), one, 62.5);
    CHECK_NEAR(predict(one, own), 62.5, 1e-9);
    CHECK(predict(more, own) > 100);
}

TEST(blocks_that_share_all_tiles_take_as_long_as_their_tiles)
{
    gt_kernel whole = tiled(128, 256, 1), split;
    whole.facts.blocks = 132;
    split = whole;
    split.facts.ws_tile = 2 * 128 * 256 * 4;
    const gt_problem tuned = sized(4096, 4096, 4096), fewer = sized(2048, 2304, 4096), few = sized(512, 512, 4096);
    const gt_measured of_whole = row(1, whole, tuned, 2600), of_split = row(2, split, tuned, 2600);
    /* 144 tiles: two turns of whole tiles, one and a little of split ones; 512 tiles were four turns, nearly. */
    CHECK_NEAR(predict(fewer, of_whole), 1300, 100);
    CHECK_NEAR(predict(fewer, of_split), 750, 100);
    /* 8 tiles: one turn, as long as a full one; split, next to nothing. */
    CHECK_NEAR(predict(few, of_whole), 650, 100);
    CHECK(predict(few, of_split) < 200);
}

TEST(small_sizes_take_small_tiles_or_split_k)
{
    const gt_problem large = sized(4096, 4096, 4096);
    const gt_measured list[] = {
        row(1, tiled(128, 128, 1), large, 2700),
        row(2, tiled(32, 32, 1), large, 4300),
        row(3, tiled(128, 128, 8), large, 2900),
    };
    gt_selection selection;
    CHECK_INT(choose(sized(200, 200, 64), anything, list, COUNT(list), &selection), 2);
    CHECK(choose(sized(128, 128, 8192), anything, list, COUNT(list), &selection) != 1);
    CHECK_INT(choose(sized(4000, 4000, 5000), anything, list, COUNT(list), &selection), 1);
}

TEST(a_kernel_that_takes_any_parts_of_k_fills_the_gpu_with_them)
{
    const gt_problem tuned = sized(128, 128, 65536);
    gt_kernel kernel = tiled(64, 64, 16);
    kernel.facts.cluster_y = 2;
    kernel.facts.ws_tile = 8 * 64 * 64 * 4;
    CHECK_OK(gt_params_add(&kernel.params, "split_k", 16));
    gt_measured list[] = {row(1, kernel, tuned, 50)};
    const gt_measurements measured = {.list = list, .count = 1};
    const gt_demands as_made = {.as_made = true};
    gt_selection selection;
    char params[GT_PARAMS_TEXT];
    CHECK_INT(choose(sized(64, 64, 65536), anything, list, 1, &selection), 1);
    CHECK_INT(selection.parts, 0); /* it does not say that it takes any */

    kernel.facts.any_split = 1;
    list[0] = row(1, kernel, tuned, 50);
    CHECK_INT(choose(sized(64, 64, 65536), anything, list, 1, &selection), 1);
    CHECK(selection.parts >= 64 && selection.parts % 2 == 0); /* one tile, 132 SMs */
    const gt_kernel split = gt_selection_kernel(&measured, &selection);
    CHECK_INT(split.facts.split_k, selection.parts);
    CHECK_INT(split.facts.ws_tile, selection.parts / 2 * 64 * 64 * 4); /* room for every cluster's sums */
    CHECK(strcmp(gt_params_text(&split.params, params), "split_k=16") != 0);
    CHECK_INT(choose(sized(4096, 4096, 256), anything, list, 1, &selection), 1);
    CHECK_INT(selection.parts, 2); /* tiles fill the GPU: one cluster each */
    CHECK_INT(choose(sized(64, 64, 65536), as_made, list, 1, &selection), 1);
    CHECK_INT(selection.parts, 0);
    CHECK_INT(choose(tuned, anything, list, 1, &selection), 1);
    CHECK_INT(selection.parts, 0); /* as it was measured here */
}

/* What the estimate says of a kernel, times a factor. */
static gt_measured off_by(double factor, int64_t id, gt_kernel kernel, gt_problem problem)
{
    const gt_device device = h200();
    gt_terms terms;
    CHECK(gt_estimate_terms(&device, &kernel, &problem, &terms, NULL));
    return row(id, kernel, problem, factor * gt_estimate_us(&terms, gt_coefficients_find(NULL, 0, kernel.family, NULL)));
}

TEST(a_kernel_is_judged_less_by_what_it_took_in_other_parts_of_k)
{
    const gt_problem tuned = sized(2048, 2048, 512);
    gt_kernel split = tiled(64, 64, 16);
    split.facts.ws_tile = 16 * 64 * 64 * 4;
    split.facts.any_split = 1;
    CHECK_OK(gt_params_add(&split.params, "split_k", 16));
    const gt_measured list[] = {off_by(0.8, 1, split, tuned), off_by(0.85, 2, tiled(64, 64, 1), tuned)};
    gt_selection selection;
    CHECK_INT(choose(sized(4096, 4096, 256), anything, list, 1, &selection), 1);
    CHECK_INT(selection.parts, 1);
    CHECK_INT(choose(sized(4096, 4096, 256), anything, list, COUNT(list), &selection), 2);
}

TEST(of_like_predictions_that_of_a_family_whose_times_agree_with_its_estimates_is_taken)
{
    gt_kernel erratic = tiled(64, 64, 1), steady = erratic;
    strcpy(erratic.family, "erratic");
    strcpy(steady.family, "steady");
    const gt_problem smaller = sized(256, 512, 512), larger = sized(1024, 512, 512);
    const gt_measured list[] = {off_by(0.5, 1, erratic, smaller), off_by(2, 1, erratic, larger),
                                off_by(1, 2, steady, smaller), off_by(1, 2, steady, larger)};
    gt_selection selection;
    CHECK_INT(choose(sized(512, 512, 512), anything, list, COUNT(list), &selection), 2);
}

TEST(kernels_are_compared_by_their_screenings_and_not_by_a_race_in_which_power_limits_the_clock)
{
    gt_measured list[] = {off_by(1.15, 1, tiled(128, 128, 1), sized(4096, 4096, 4096)),
                          off_by(1.05, 2, tiled(128, 128, 1), sized(4096, 4096, 4096))};
    gt_selection selection;
    list[0].winner = true;
    CHECK_INT(choose(sized(4096, 4096, 5000), anything, list, COUNT(list), &selection), 2);
    list[0].screen_us = list[0].trial.us / 1.15;
    CHECK_INT(choose(sized(4096, 4096, 5000), anything, list, COUNT(list), &selection), 1);
    CHECK_INT(choose(sized(4096, 4096, 4096), anything, list, COUNT(list), &selection), 1);
    CHECK(selection.expected_us == list[0].trial.us);
}

/* Back to back the first is 1% faster; behind other kernels it takes twice as long as the second. */
TEST(programs_run_other_kernels_between_and_so_cold_times_count_too)
{
    gt_measured list[] = {
        row(1, tiled(64, 64, 1), sized(512, 512, 512), 9.9),
        row(2, tiled(64, 64, 1), sized(512, 512, 512), 10),
    };
    list[0].trial.us_cold = 24;
    list[1].trial.us_cold = 12;
    gt_selection selection;
    CHECK_INT(choose(sized(500, 500, 500), anything, list, COUNT(list), &selection), 2);
    CHECK(selection.expected_us < 10.5); /* which is of launches back to back */
    CHECK_INT(choose(sized(512, 512, 512), anything, list, COUNT(list), &selection), 2);
    CHECK(selection.expected_us == 10);
}

TEST(a_cold_time_that_no_kernel_has_decides_little)
{
    gt_measured list[] = {
        row(1, tiled(64, 64, 1), sized(512, 512, 512), 100),
        row(2, tiled(64, 64, 1), sized(512, 512, 512), 10),
        row(3, tiled(64, 64, 1), sized(512, 512, 512), 40),
    };
    list[0].trial.us_cold = 1e-322; /* times 100, its root is 0 */
    list[1].trial.us_cold = 12;
    list[2].trial.us_cold = 44;
    gt_selection selection;
    CHECK_INT(choose(sized(500, 500, 500), anything, list, COUNT(list), &selection), 2);
}

TEST(only_deterministic_kernels_where_that_is_asked_for)
{
    gt_kernel random_bits = tiled(128, 128, 8);
    random_bits.facts.deterministic = 0;
    gt_measured list[] = {
        row(1, random_bits, sized(512, 512, 512), 10),
        row(2, tiled(64, 64, 1), sized(512, 512, 512), 12),
    };
    const gt_demands same_bits = {.deterministic = true};
    list[0].winner = true;
    gt_selection selection;
    CHECK_INT(choose(sized(512, 512, 512), anything, list, 2, &selection), 1);
    CHECK_INT(choose(sized(512, 512, 512), same_bits, list, 2, &selection), 2);
    CHECK_INT(choose(sized(512, 512, 512), same_bits, list, 1, &selection), -1);
    CHECK(strstr(gt_error_message(), "no deterministic kernel") != NULL);
}

TEST(kernels_whose_bound_is_larger_are_not_eligible)
{
    gt_measured list[] = {
        row(1, tiled(128, 128, 1), sized(512, 512, 4096), 10), /* multiply-adds: 4096 2^-24 is 2.4e-4 */
        row(2, tiled(64, 64, 1), sized(512, 512, 4096), 12),   /* parts: 1.34e-5 */
    };
    gt_kernel parts = *list[1].kernel;
    parts.facts.repack = 27;
    list[1].kernel = &parts;
    list[0].problem.class.math = list[1].problem.class.math = GT_MATH_SPLIT;
    gt_problem asked = sized(512, 512, 4096);
    asked.class.math = GT_MATH_SPLIT;
    gt_selection selection;
    CHECK_INT(choose(asked, anything, list, 2, &selection), 1);
    CHECK_INT(choose(asked, (gt_demands){.max_error = 2.5e-4}, list, 2, &selection), 1);
    CHECK_INT(choose(asked, (gt_demands){.max_error = 2.4e-4}, list, 2, &selection), 2);
    CHECK_INT(choose(asked, (gt_demands){.max_error = 1.35e-5}, list, 2, &selection), 2);
    CHECK_INT(choose(asked, (gt_demands){.max_error = 1.2e-5}, list, 2, &selection), -1);
    CHECK(strstr(gt_error_message(), "with an error up to 1.2e-05") != NULL);
    asked.k = 90; /* 90 2^-24 is 5.36e-6, parts have 5.73e-6 */
    CHECK_INT(choose(asked, (gt_demands){.max_error = 5.4e-6}, list, 2, &selection), 1);
}

TEST(kernels_never_run_on_less_alignment_than_they_were_made_for)
{
    gt_measured list[] = {
        row(1, tiled(128, 128, 1), sized(512, 512, 512), 10),
        row(2, tiled(128, 128, 1), sized(512, 512, 512), 14),
    };
    gt_problem odd = sized(512, 512, 512);
    odd.class.align = 4;
    list[1].problem.class.align = 4;
    gt_selection selection;
    CHECK_INT(choose(odd, anything, list, 2, &selection), 2);
    CHECK_INT(choose(odd, anything, list, 1, &selection), -1);
    CHECK(strstr(gt_error_message(), "--align 4") != NULL);
    CHECK_INT(choose(sized(512, 512, 512), anything, list, 2, &selection), 1);
    CHECK_INT(choose(sized(512, 512, 512), anything, list + 1, 1, &selection), 2);
}

TEST(other_types_and_layouts_are_not_used)
{
    gt_measured list[] = {
        row(1, tiled(64, 64, 1), sized(512, 512, 512), 10),
        row(2, tiled(64, 64, 1), sized(512, 512, 512), 10),
    };
    list[0].problem.class.op_b = GT_T;
    list[1].problem.class.type_a = list[1].problem.class.type_b = GT_F16;
    gt_selection selection;
    CHECK_INT(choose(sized(512, 512, 512), anything, list, 2, &selection), -1);
}

TEST(modelled_times_serve_only_where_nothing_was_measured)
{
    gt_measured list[] = {
        row(1, tiled(64, 64, 1), sized(512, 512, 512), 5),
        row(2, tiled(64, 64, 1), sized(1024, 1024, 512), 40),
    };
    list[0].trial.modelled = true;
    gt_selection selection;
    CHECK_INT(choose(sized(512, 512, 512), anything, list, 2, &selection), 2);
    CHECK(!selection.modelled);
    CHECK_INT(choose(sized(512, 512, 512), anything, list, 1, &selection), 1);
    CHECK(selection.modelled);
}

TEST(another_gpu_of_the_architecture_is_the_last_resort)
{
    gt_measured list[] = {
        row(1, tiled(64, 64, 1), sized(512, 512, 512), 5),
        row(2, tiled(64, 64, 1), sized(1024, 1024, 512), 40),
    };
    list[0].same_gpu = false;
    list[0].winner = true;
    gt_selection selection;
    CHECK_INT(choose(sized(512, 512, 512), anything, list, 2, &selection), 2);
    CHECK(selection.choice == GT_CHOICE_PREDICTED);
    CHECK_INT(choose(sized(512, 512, 512), anything, list, 1, &selection), 1);
    CHECK(selection.choice == GT_CHOICE_FALLBACK);
    CHECK_NEAR(selection.expected_us, 5, 1e-9);
    CHECK(strstr(selection.reason, "tuned on another sm_90a GPU, not on this NVIDIA H200") != NULL);
}

TEST(nothing_usable_names_the_command_that_helps)
{
    gt_kernel absurd = tiled(64, 64, 1), huge = tiled(64, 64, 1);
    absurd.facts.tile_m = 0;
    huge.facts.smem_bytes = 1 << 20; /* fits no SM */
    gt_measured list[] = {
        row(1, tiled(64, 64, 1), sized(512, 512, 512), 10), row(2, tiled(64, 64, 1), sized(512, 512, 512), 0),
        row(3, absurd, sized(512, 512, 512), 10),           row(4, tiled(64, 64, 1), sized(512, 512, 512), NAN),
        row(5, huge, sized(512, 512, 512), 10),
    };
    const gt_device device = h200();
    const gt_problem problem = sized(300, 200, 100);
    gt_selection selection = {.index = 77};
    list[0].trial.outcome = GT_TRIAL_WRONG_RESULT;
    const gt_measurements measured = {.list = list, .count = COUNT(list)}, none = {0};
    CHECK_STATUS(gt_select(&device, &problem, &anything, &measured, &selection), GT_ERROR_NOT_TUNED);
    CHECK_STATUS(gt_select(&device, &problem, &anything, &none, &selection), GT_ERROR_NOT_TUNED);
    CHECK(selection.index == 77);
    CHECK_STR(gt_error_message(),
              "no kernel for f32 nn 300x200x100 on NVIDIA H200 in the database: run `gemmtune --device 0 --type f32 "
              "--layout nn --shapes 300x200x100`");
    CHECK_STATUS(gt_select(&device, &problem, &(gt_demands){.db_option = " --db ours.db"}, &none, &selection),
                 GT_ERROR_NOT_TUNED);
    CHECK(strstr(gt_error_message(), " --shapes 300x200x100 --db ours.db`"));
    gt_device software = h200();
    strcpy(software.soft, "soft:h200");
    CHECK_STATUS(gt_select(&software, &problem, &anything, &none, &selection), GT_ERROR_NOT_TUNED);
    CHECK(strstr(gt_error_message(), "run `gemmtune --device soft:h200 --type f32 ") != NULL);
}

/* 70,000 products of 33x17x5 once went to a kernel that wanted 1.1 TB. */
TEST(a_workspace_that_cannot_be_had_rules_a_kernel_out)
{
    gt_kernel split = tiled(64, 64, 8), whole = tiled(64, 64, 1);
    split.facts.ws_tile = 8 * 64 * 64 * 4;
    const gt_measured list[] = {
        row(1, split, sized(64, 64, 4096), 5), row(2, whole, sized(64, 64, 4096), 50),
        row(1, split, sized(64, 64, 64), 5),   row(2, whole, sized(64, 64, 64), 50),
    };
    gt_problem many = sized(33, 17, 5);
    gt_selection selection;
    CHECK_INT(choose(sized(60, 60, 4000), anything, list, COUNT(list), &selection), 1);
    CHECK_INT(choose(sized(60, 60, 4000), (gt_demands){.refused = 1000}, list, COUNT(list), &selection), 2);
    many.batch = 60000;
    const gt_measured batches[] = {row(1, split, many, 5), row(2, whole, many, 500)};
    const gt_measurements measured = {.list = (gt_measured *)batches, .count = COUNT(batches)};
    gt_device large = h200(), small = large;
    many.batch = 70000;
    large.memory_bytes = 1ll << 40;
    small.memory_bytes = 1ll << 30; /* of 9.2 GB that it would take */
    CHECK_OK(gt_select(&large, &many, &anything, &measured, &selection));
    CHECK_INT(batches[selection.index].kernel_id, 1);
    CHECK_OK(gt_select(&small, &many, &anything, &measured, &selection));
    CHECK_INT(batches[selection.index].kernel_id, 2);
}

/* As plans are made where there is no memory: what is chosen next needs less, until nothing is needed. */
TEST(a_workspace_that_cannot_be_had_rules_out_the_parts_that_need_it_also_where_they_were_measured)
{
    const gt_problem tuned = sized(2048, 2048, 512);
    gt_kernel kernel = tiled(64, 64, 16);
    gt_launch launch;
    kernel.facts.ws_tile = 16 * 64 * 64 * 4;
    kernel.facts.any_split = 1;
    CHECK_OK(gt_params_add(&kernel.params, "split_k", 16));
    const gt_measured list[] = {row(1, kernel, tuned, 50)};
    const gt_measurements measured = {.list = (gt_measured *)list, .count = COUNT(list)};
    gt_selection selection;
    CHECK_INT(choose(tuned, anything, list, COUNT(list), &selection), 1);
    CHECK(selection.choice == GT_CHOICE_EXACT && selection.parts == 0);
    CHECK_OK(gt_launch_init(NULL, &kernel, &tuned, &launch));
    const gt_demands demands = {.refused = gt_launch_memory(&launch) / 2 + 1};
    CHECK_INT(choose(tuned, demands, list, COUNT(list), &selection), 1);
    const gt_kernel chosen = gt_selection_kernel(&measured, &selection);
    CHECK_INT(chosen.facts.split_k, 1); /* 1024 tiles fill the GPU */
    CHECK_OK(gt_launch_init(NULL, &chosen, &tuned, &launch));
    CHECK_INT(gt_launch_memory(&launch), 0);
}

TEST(parts_of_k_are_as_many_as_whole_clusters_find_room_for)
{
    const gt_device device = h200();
    const gt_problem problem = sized(9 * 64, 64, 65536);
    gt_kernel kernel = tiled(64, 64, 2);
    CHECK_INT(gt_estimate_parts(&device, &kernel, &problem, 1), 132 / 9);
    kernel.facts.cluster_x = 4;
    CHECK_OK(gt_params_add(&kernel.params, "cluster_m", 4));
    CHECK_INT(gt_estimate_parts(&device, &kernel, &problem, 1), 120 / 12);
    kernel.facts.tile_m = 0;
    CHECK_INT(gt_estimate_parts(&device, &kernel, &problem, 1), 1);
}

/* Warps of mma.sync add up eight parts in a round. */
TEST(parts_of_k_are_no_more_than_a_round_adds_up_where_another_round_costs_more_than_they_save)
{
    gt_kernel kernel = tiled(16, 16, 2);
    gt_selection selection;
    kernel.facts.ws_tile = 2 * 16 * 16 * 4;
    kernel.facts.any_split = 1;
    CHECK_OK(gt_params_add(&kernel.params, "split_k", 2));
    CHECK_OK(gt_params_add(&kernel.params, "bk", 64));
    CHECK_OK(gt_params_add(&kernel.params, "stages", 8));
    CHECK_OK(gt_params_add(&kernel.params, "fragments", 2));
    strcpy(kernel.family, "mma");
    const gt_measured list[] = {row(1, kernel, sized(16, 32, 2048), 3)};
    CHECK_INT(choose(sized(16, 16, 1280), anything, list, COUNT(list), &selection), 1);
    CHECK_INT(selection.parts, 8); /* of 10 that are worth a block */
}

TEST(the_least_estimate_is_that_of_the_best_kernel_whatever_was_measured)
{
    const gt_device device = h200();
    const gt_problem problem = sized(1024, 1024, 1024);
    gt_measured list[] = {
        row(1, tiled(128, 128, 1), sized(1024, 1024, 1024), 60), row(2, tiled(64, 64, 1), sized(1024, 1024, 1024), 5),
        row(3, tiled(16, 16, 1), sized(1024, 1024, 1024), 1),
    };
    double each[COUNT(list)], all, slower;
    for (size_t i = 0; i < COUNT(list); i++) {
        const gt_measurements one = {.list = &list[i], .count = 1};
        CHECK_OK(gt_select_least_estimate(&device, &problem, &one, &each[i]));
        CHECK(isfinite(each[i]) && each[i] > 0);
    }
    const gt_measurements measured = {.list = list, .count = COUNT(list)}, none = {0};
    CHECK_OK(gt_select_least_estimate(&device, &problem, &measured, &all));
    CHECK_NEAR(all, fmin(each[0], fmin(each[1], each[2])), 1e-9);
    CHECK(fmax(each[0], fmax(each[1], each[2])) > 1.2 * all);
    for (size_t i = 0; i < COUNT(list); i++)
        list[i].trial.us *= 100;
    CHECK_OK(gt_select_least_estimate(&device, &problem, &measured, &slower));
    CHECK_NEAR(slower, all, 1e-9);
    CHECK_OK(gt_select_least_estimate(&device, &problem, &none, &all));
    CHECK(isinf(all));
}

TEST(of_all_prospects_the_least_score_is_chosen)
{
    const gt_device device = h200();
    const gt_problem problem = sized(900, 1100, 1000);
    gt_measured list[] = {
        row(1, tiled(128, 128, 1), sized(1024, 1024, 1024), 60), row(2, tiled(64, 64, 1), sized(1024, 1024, 1024), 50),
        row(2, tiled(64, 64, 1), sized(512, 512, 512), 9),       row(3, tiled(16, 16, 1), sized(2048, 64, 64), 7),
    };
    const gt_measurements measured = {.list = list, .count = COUNT(list)}, none = {0};
    gt_prospect prospects[COUNT(list)];
    gt_selection selection;
    size_t count, least = 0;
    CHECK_OK(gt_select_prospects(&device, &problem, &anything, &measured, prospects, COUNT(list), &count));
    CHECK_INT(count, 3);
    for (size_t i = 0; i < count; i++)
        least = prospects[i].score < prospects[least].score ? i : least;
    CHECK_INT(list[prospects[least].nearest].kernel_id, choose(problem, anything, list, COUNT(list), &selection));
    CHECK_NEAR(prospects[least].us, selection.expected_us, 1e-9);
    CHECK_OK(gt_select_prospects(&device, &problem, &anything, &none, prospects, COUNT(list), &count));
    CHECK_INT(count, 0);
}

TEST(ties_go_to_the_smallest_id_in_any_order)
{
    const gt_measured list[] = {
        row(9, tiled(64, 64, 1), sized(512, 512, 512), 10), row(4, tiled(64, 64, 1), sized(512, 512, 512), 10),
        row(7, tiled(64, 64, 1), sized(512, 512, 512), 10),
    };
    gt_selection selection;
    CHECK_INT(choose(sized(512, 512, 512), anything, list, 3, &selection), 4);
    CHECK_INT(choose(sized(600, 600, 600), anything, list, 3, &selection), 4);
    CHECK_INT(choose(sized(600, 600, 0), anything, list, 3, &selection), 4);
}

TEST(expectation_respects_the_memory)
{
    /* 67 MB in 20 us. The predicted compute time of a product twice as large in bytes may be less than the time its
     * bytes take; the expectation may not. */
    const gt_measured list[] = {row(1, tiled(16, 64, 8), sized(1, 4096, 4096), 20),
                                row(2, tiled(16, 64, 32), sized(16, 256, 256), 3)};
    gt_selection selection;
    choose(sized(1, 8192, 4096), anything, list, COUNT(list), &selection);
    CHECK(selection.expected_us > 34); /* nearly twice as long: some of it is there for any size */
}

TEST(what_serves_a_math_is_taken_where_it_is_expected_to_be_faster_and_split_must_promise_more)
{
    gt_selection own = {.choice = GT_CHOICE_PREDICTED, .expected_us = 10},
                 serving = {.choice = GT_CHOICE_EXACT, .expected_us = 14};
    CHECK(gt_selection_serves(&serving, &own, GT_MATH_SPLIT));
    CHECK(!gt_selection_serves(&serving, &own, GT_MATH_TF32));
    serving.expected_us = 16;
    CHECK(!gt_selection_serves(&serving, &own, GT_MATH_SPLIT));
    serving.expected_us = 9;
    CHECK(gt_selection_serves(&serving, &own, GT_MATH_TF32));
    own = (gt_selection){.choice = GT_CHOICE_FALLBACK, .expected_us = 1}; /* measured on another GPU */
    CHECK(gt_selection_serves(&serving, &own, GT_MATH_TF32));
    own.choice = GT_CHOICE_PREDICTED;
    serving = (gt_selection){.choice = GT_CHOICE_FALLBACK, .expected_us = 0.1};
    CHECK(!gt_selection_serves(&serving, &own, GT_MATH_TF32));
}

CHECK_MAIN
