/* Which candidates are tried, in which order, and when the search ends. */
#include "../tuner/search/search.h"
#include "params_fixture.h"

typedef struct fixture {
    gt_families families;
    gt_device device;
    gt_problem problem;
    gt_search *search;
} fixture;

static void open_search_of(fixture *f, const gt_search_options *options, const gt_gemm *gemm)
{
    CHECK_OK(gt_families_init(NULL, &f->families));
    CHECK_OK(gt_device_model(90, &f->device));
    f->device.sm_count = 132;
    f->device.clock_khz = 1980000;
    f->device.l2_bytes = 60 << 20;
    CHECK_OK(gt_problem_init(gemm, &f->problem));
    CHECK_OK(gt_search_create(&f->families, &f->device, &f->problem, options, &f->search));
}

static void open_search(fixture *f, const gt_search_options *options, int64_t m, int64_t n, int64_t k)
{
    const gt_gemm gemm = GT_GEMM(GT_F32, m, n, k);
    open_search_of(f, options, &gemm);
}

static void close_search(fixture *f)
{
    gt_search_destroy(f->search);
    gt_families_finish(&f->families);
}

/* A pretended measurement: 128x256 tiles with three stages, one row at a time, are the fastest. */
static double pretend_us(const gt_candidate *c)
{
    const gt_params *p = &c->kernel.params;
    const int64_t bm = value_of(p, "bm"), bn = value_of(p, "bn"), stages = value_of(p, "stages");
    int64_t group = 1;
    gt_params_find(p, "group", &group);
    return 100 + 20 * (bm != 128) + 20 * (bn != 256) + 5 * (group != 1) + 3 * (stages != 3);
}

/* Runs a whole search on pretended times; returns how many were tried. */
static size_t run_search(fixture *f)
{
    gt_candidate **round;
    size_t count, total = 0;
    while (gt_search_round(f->search, &round, &count) == GT_OK && count > 0)
        for (size_t i = 0; i < count; i++, total++) {
            CHECK(!round[i]->tried);
            round[i]->tried = true;
            round[i]->trial = (gt_trial){.outcome = GT_TRIAL_OK, .us = pretend_us(round[i])};
        }
    return total;
}

/* A candidate as the winner of another problem. */
static gt_seed seed_of(const gt_candidate *c)
{
    gt_seed seed = {.params = c->kernel.params};
    snprintf(seed.family, sizeof seed.family, "%s", c->kernel.family);
    return seed;
}

TEST(refinement_finds_details_the_model_does_not_know)
{
    fixture f;
    gt_candidate *best;
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_NORMAL}, 4096, 4096, 4096);
    const size_t tried = run_search(&f);
    CHECK(tried <= 24);
    CHECK_INT(gt_search_best(f.search, &best, 1), 1);
    CHECK_NEAR(best->trial.us, 100, 0);
    close_search(&f);
}

/* On an H200 the fastest known kernel of 128^3 is of simt_cluster, 16x64; who has measured otherwise goes by that. */
TEST(candidates_come_in_the_order_of_the_fitted_estimate)
{
    fixture f;
    gt_candidate **round;
    size_t count;
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_QUICK}, 128, 128, 128);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    CHECK_STR(round[0]->kernel.family, "simt_cluster");
    CHECK(value_of(&round[0]->kernel.params, "bm") == 16 && value_of(&round[0]->kernel.params, "bn") == 64);
    close_search(&f);
    gt_fitted fitted = {.family = "simt_cluster", .coefficients = *gt_coefficients_shipped("simt_cluster", NULL)};
    fitted.coefficients.compute *= 10;
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_QUICK, .fitted = &fitted, .fitted_count = 1}, 128, 128, 128);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    CHECK_STR(round[0]->kernel.family, "simt");
    close_search(&f);
}

TEST(a_family_far_behind_gets_one_candidate)
{
    fixture f;
    gt_candidate **round;
    size_t count, behind = 0;
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_NORMAL}, 128, 128, 128);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    for (size_t i = 0; i < count; i++)
        behind += strcmp(round[i]->kernel.family, "simt_ws") == 0; /* tiles as large as the whole product */
    CHECK(count >= 12 && behind <= 1);
    close_search(&f);
}

/* An H200's threads multiply f64 at half the rate of its tensor cores. */
TEST(threads_are_not_expected_to_be_as_fast_as_tensor_cores)
{
    fixture f;
    gt_candidate **round;
    size_t count, by_threads = 0;
    const gt_gemm gemm = GT_GEMM(GT_F64, 512, 512, 512);
    open_search_of(&f, &(gt_search_options){.effort = GT_EFFORT_NORMAL}, &gemm);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    for (size_t i = 0; i < count; i++)
        by_threads += strcmp(round[i]->kernel.family, "simt") == 0;
    CHECK(count >= 12 && by_threads <= 1);
    close_search(&f);
}

TEST(candidates_are_ranked_by_both_times)
{
    fixture f;
    gt_candidate **round, *best[2];
    size_t count;
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_QUICK}, 128, 128, 128);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    for (int i = 0; i < 2; i++) {
        round[i]->tried = true;
        round[i]->trial = (gt_trial){.outcome = GT_TRIAL_OK, .us = 10 + i, .us_cold = 20 - 4 * i};
    }
    CHECK_INT(gt_search_best(f.search, best, 2), 2);
    CHECK(best[0] == round[1] && best[1] == round[0]); /* 11 and 16 before 10 and 20 */
    close_search(&f);
}

/* Six that passed, each 1% slower than the one before. */
static void try_six(fixture *f, gt_candidate ***round)
{
    size_t count;
    open_search(f, &(gt_search_options){.effort = GT_EFFORT_QUICK}, 1024, 1024, 1024);
    CHECK_OK(gt_search_round(f->search, round, &count));
    CHECK(count >= 6);
    for (int i = 0; i < 6; i++) {
        (*round)[i]->tried = true;
        (*round)[i]->trial = (gt_trial){.outcome = GT_TRIAL_OK, .us = 100 + i, .clock_mhz = 1965};
    }
}

TEST(who_was_screened_at_a_low_clock_races_too)
{
    fixture f;
    gt_candidate **round, *finalists[GT_FINALISTS];
    try_six(&f, &round);
    round[4]->trial.clock_mhz = 1850; /* 192.4 thousand clocks, the fastest has 196.5 */
    round[5]->trial.clock_mhz = 1740; /* 182.7 */
    CHECK_INT(gt_search_finalists(f.search, finalists), 5);
    CHECK(finalists[0] == round[0] && finalists[3] == round[3] && finalists[4] == round[5]);
    round[5]->trial.outcome = GT_TRIAL_WRONG_RESULT;
    CHECK_INT(gt_search_finalists(f.search, finalists), 5);
    CHECK(finalists[4] == round[4]);
    round[1]->trial.clock_mhz = 1740; /* races anyway */
    CHECK_INT(gt_search_finalists(f.search, finalists), 4);
    close_search(&f);
}

TEST(at_one_clock_or_none_the_fastest_race)
{
    fixture f;
    gt_candidate **round, *finalists[GT_FINALISTS];
    try_six(&f, &round);
    CHECK_INT(gt_search_finalists(f.search, finalists), 4);
    for (int i = 0; i < 6; i++)
        round[i]->trial.clock_mhz = 0; /* not known */
    CHECK_INT(gt_search_finalists(f.search, finalists), 4);
    round[3]->trial.us = 107; /* 7% slower */
    round[4]->trial.us = round[5]->trial.us = 108;
    CHECK_INT(gt_search_finalists(f.search, finalists), 3);
    close_search(&f);
}

TEST(the_fastest_of_a_shape_of_tile_leads)
{
    fixture f;
    gt_candidate **round;
    size_t count;
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_FULL, .family = "vectorised"}, 512, 512, 512);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    gt_candidate *slow = NULL, *fast = round[0];
    for (size_t i = 1; !slow && i < count; i++) {
        bool same = true;
        for (const char *const *name = (const char *const[]){"bm", "bn", "tm", "tn", NULL}; *name; name++) {
            int64_t a = 0, b = 0;
            gt_params_find(&fast->kernel.params, *name, &a);
            gt_params_find(&round[i]->kernel.params, *name, &b);
            same = same && a == b;
        }
        slow = same ? round[i] : NULL;
    }
    CHECK(slow != NULL);
    slow->trial = (gt_trial){.outcome = GT_TRIAL_OK, .us = 20};
    CHECK(gt_search_leads(f.search, slow)); /* the first of its kind */
    slow->tried = true;
    fast->trial = (gt_trial){.outcome = GT_TRIAL_OK, .us = 10};
    CHECK(gt_search_leads(f.search, fast));
    fast->tried = true;
    CHECK(!gt_search_leads(f.search, slow));
    fast->trial.outcome = GT_TRIAL_WRONG_RESULT;
    CHECK(!gt_search_leads(f.search, fast) && gt_search_leads(f.search, slow));
    close_search(&f);
}

TEST(nothing_is_tried_twice)
{
    fixture f;
    gt_candidate *all[4096];
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_NORMAL}, 1000, 1000, 1000);
    const size_t tried = run_search(&f), listed = gt_search_best(f.search, all, 4096);
    CHECK_INT(tried, listed);
    for (size_t i = 0; i < listed; i++)
        for (size_t j = 0; j < i; j++)
            CHECK(all[i]->space != all[j]->space || !gt_params_same(&all[i]->kernel.params, &all[j]->kernel.params));
    close_search(&f);
}

TEST(quick_tries_less_than_normal)
{
    fixture f;
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_QUICK}, 1024, 1024, 1024);
    const size_t quick = run_search(&f);
    close_search(&f);
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_NORMAL}, 1024, 1024, 1024);
    const size_t normal = run_search(&f);
    close_search(&f);
    CHECK(quick >= 8 && quick < normal && normal <= 24);
}

TEST(normal_tries_no_more_than_24_with_the_last_lap)
{
    fixture f;
    gt_candidate **all;
    gt_seed seeds[16];
    size_t count;
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_FULL}, 4096, 4096, 4096);
    CHECK(gt_search_round(f.search, &all, &count) == GT_OK && count > 16);
    for (int i = 0; i < 16; i++)
        seeds[i] = seed_of(all[i]);
    close_search(&f);
    gt_search_options options = {.effort = GT_EFFORT_NORMAL, .seeds = seeds, .seed_count = 8};
    open_search(&f, &options, 4096, 4096, 4096);
    const size_t tried = run_search(&f);
    close_search(&f);
    options.seeds = seeds + 8; /* winners that have come since */
    options.only_seeds = true;
    open_search(&f, &options, 4096, 4096, 4096);
    const size_t again = run_search(&f);
    close_search(&f);
    CHECK(tried > 12 && again > 0 && tried + again <= 24);
}

TEST(full_is_every_configuration)
{
    fixture f;
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_FULL, .family = "tile1d"}, 512, 512, 512);
    gt_candidate **round;
    size_t count;
    CHECK_OK(gt_search_round(f.search, &round, &count));
    CHECK_INT(count, gt_search_size(f.search));
    close_search(&f);
}

TEST(a_seed_repeats_a_search)
{
    fixture f, g, h;
    gt_candidate **a, **b, **c;
    size_t na, nb, nc, same = 0;
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_NORMAL, .seed = 5}, 2048, 2048, 2048);
    open_search(&g, &(gt_search_options){.effort = GT_EFFORT_NORMAL, .seed = 5}, 2048, 2048, 2048);
    open_search(&h, &(gt_search_options){.effort = GT_EFFORT_NORMAL, .seed = 6}, 2048, 2048, 2048);
    CHECK_OK(gt_search_round(f.search, &a, &na));
    CHECK_OK(gt_search_round(g.search, &b, &nb));
    CHECK_OK(gt_search_round(h.search, &c, &nc));
    CHECK_INT(na, nb);
    for (size_t i = 0; i < na; i++) {
        CHECK(gt_params_same(&a[i]->kernel.params, &b[i]->kernel.params));
        same += i < nc && gt_params_same(&a[i]->kernel.params, &c[i]->kernel.params);
    }
    CHECK(same < na);
    close_search(&f);
    close_search(&g);
    close_search(&h);
}

TEST(what_won_elsewhere_is_tried_first)
{
    fixture f;
    gt_candidate **round;
    size_t count;
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_NORMAL}, 4096, 4096, 4096);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    const gt_seed seed = seed_of(round[count - 1]);
    close_search(&f);
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_NORMAL, .seeds = &seed, .seed_count = 1}, 4096, 4096, 4096);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    CHECK(gt_params_same(&round[0]->kernel.params, &seed.params));
    close_search(&f);
}

TEST(what_won_elsewhere_is_left_out_where_it_is_far_behind_its_family)
{
    fixture f;
    gt_candidate **all, **round;
    size_t count, size;
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_FULL, .family = "simt"}, 4096, 4096, 4096);
    CHECK_OK(gt_search_round(f.search, &all, &size));
    CHECK(all[size - 1]->estimate_us > 2 * all[0]->estimate_us);
    const gt_seed last = seed_of(all[size - 1]);
    close_search(&f);
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_NORMAL, .seeds = &last, .seed_count = 1}, 4096, 4096, 4096);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    for (size_t i = 0; i < count; i++)
        CHECK(!gt_params_same(&round[i]->kernel.params, &last.params));
    close_search(&f);
}

TEST(a_first_choice_is_the_estimates_favourite_alone)
{
    fixture f;
    gt_candidate **round;
    size_t count;
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_NORMAL}, 4096, 4096, 4096);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    const gt_seed favourite = seed_of(round[0]), last = seed_of(round[count - 1]);
    close_search(&f);
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_FIRST, .seeds = &last, .seed_count = 1}, 4096, 4096, 4096);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    CHECK_INT(count, 1);
    CHECK(gt_params_same(&round[0]->kernel.params, &favourite.params));
    round[0]->tried = true;
    round[0]->trial = (gt_trial){.outcome = GT_TRIAL_OK, .us = 100};
    CHECK_OK(gt_search_round(f.search, &round, &count));
    CHECK_INT(count, 0);
    close_search(&f);
}

TEST(families_are_compared_by_the_estimate_more_than_by_their_models)
{
    /* By its model `simt` is the faster one here; on an H200 it takes 83.7 us and `simt_ws` 75.7. */
    fixture f;
    gt_candidate **round;
    size_t count;
    gt_gemm gemm = GT_GEMM(GT_F32, 383, 383, 383);
    gemm.batch = 24;
    open_search_of(&f, &(gt_search_options){.effort = GT_EFFORT_FIRST}, &gemm);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    CHECK_INT(count, 1);
    CHECK_STR(round[0]->kernel.family, "simt_ws");
    close_search(&f);
}

TEST(what_won_in_a_math_that_serves_this_one_is_tried_first_and_nothing_else_of_that_math)
{
    fixture f;
    gt_candidate **round;
    size_t count;
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_FULL}, 4096, 4096, 4096);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    const gt_seed served = seed_of(round[count - 1]); /* the model's last choice */
    close_search(&f);
    gt_gemm gemm = GT_GEMM(GT_F32, 4096, 4096, 4096);
    gemm.math = GT_MATH_SPLIT;
    open_search_of(&f, &(gt_search_options){.effort = GT_EFFORT_QUICK, .served = &served}, &gemm);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    CHECK(count > 2);
    CHECK_STR(round[0]->kernel.family, served.family);
    CHECK(gt_params_same(&round[0]->kernel.params, &served.params));
    for (size_t i = 1; i < count; i++)
        CHECK_STR(round[i]->kernel.family, "split");
    close_search(&f);
}

/* 128x128x128 takes strict kernels a fraction of what splitting operands takes. */
TEST(where_a_math_is_served_better_than_its_own_kernels_can_one_of_them_is_tried)
{
    fixture f;
    gt_candidate **round;
    size_t count;
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_QUICK}, 128, 128, 128);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    const gt_seed served = seed_of(round[0]);
    close_search(&f);
    gt_gemm gemm = GT_GEMM(GT_F32, 128, 128, 128);
    gemm.math = GT_MATH_SPLIT;
    open_search_of(&f, &(gt_search_options){.effort = GT_EFFORT_NORMAL, .served = &served}, &gemm);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    CHECK_INT((int64_t)count, 2);
    CHECK_STR(round[1]->kernel.family, "split");
    for (size_t i = 0; i < count; i++) { /* and no neighbours of it, as it was as far behind as expected */
        round[i]->tried = true;
        round[i]->trial = (gt_trial){.outcome = GT_TRIAL_OK, .us = i == 0 ? 2.3 : 11};
    }
    CHECK_OK(gt_search_round(f.search, &round, &count));
    CHECK_INT((int64_t)count, 0);
    close_search(&f);
}

TEST(a_lap_of_seeds_tries_none_of_the_math_that_serves_the_problem)
{
    fixture f;
    gt_candidate **round;
    size_t count;
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_NORMAL}, 2048, 2048, 2048);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    const gt_seed served = seed_of(round[0]), other = seed_of(round[count - 1]);
    CHECK(!gt_params_same(&served.params, &other.params));
    close_search(&f);
    gt_gemm gemm = GT_GEMM(GT_F32, 2048, 2048, 2048);
    gemm.math = GT_MATH_SPLIT;
    open_search_of(&f, &(gt_search_options){.effort = GT_EFFORT_NORMAL, .served = &served, .seeds = &other,
                                            .seed_count = 1, .only_seeds = true}, &gemm);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    CHECK_INT((int64_t)count, 1);
    CHECK(gt_params_same(&round[0]->kernel.params, &served.params));
    close_search(&f);
}

TEST(a_lap_of_seeds_tries_nothing_else)
{
    fixture f;
    gt_candidate **round;
    size_t count;
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_NORMAL}, 512, 512, 512);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    const gt_seed seeds[2] = {{.family = "simt", .params = params_of("bm=77")} /* not in this space */, seed_of(round[5])};
    close_search(&f);
    open_search(&f,
                &(gt_search_options){.effort = GT_EFFORT_NORMAL, .seeds = seeds, .seed_count = 2, .only_seeds = true},
                512, 512, 512);
    CHECK_INT(run_search(&f), 1);
    close_search(&f);
}

TEST(rejected_candidates_do_not_win)
{
    fixture f;
    gt_candidate **round, *best;
    size_t count;
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_QUICK}, 1024, 1024, 1024);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    for (size_t i = 0; i < count; i++) {
        round[i]->tried = true;
        round[i]->trial = (gt_trial){.outcome = i == 3 ? GT_TRIAL_OK : GT_TRIAL_WRONG_RESULT, .us = i == 3 ? 50 : 1};
    }
    CHECK_INT(gt_search_best(f.search, &best, 1), 1);
    CHECK(best == round[3]);
    close_search(&f);
}

TEST(what_is_expected_to_take_too_long_is_not_tried)
{
    fixture f;
    gt_candidate **round;
    size_t count, before;
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_FIRST}, 1024, 1024, 1024);
    CHECK_OK(gt_search_round(f.search, &round, &before));
    CHECK_INT(before, 1);
    const double us = round[0]->estimate_us;
    close_search(&f);
    for (int longer = 0; longer < 2; longer++) {
        open_search(&f, &(gt_search_options){.effort = GT_EFFORT_FIRST, .most_us = us * (longer ? 1.01 : 0.99)}, 1024,
                    1024, 1024);
        CHECK_OK(gt_search_round(f.search, &round, &count));
        CHECK_INT(count, longer);
        close_search(&f);
    }
}

/* Why no configuration of a space, given as text, can be launched; "" where one can. */
static const char *refusal_of(const char *sql)
{
    static char reason[GT_DETAIL_LENGTH];
    fixture f = {0};
    gt_family family = {.name = "mine", .source = "", .space = sql};
    gt_kernel kernel;
    const gt_gemm gemm = GT_GEMM(GT_F32, 64, 64, 64);
    const gt_families families = {.list = &family, .count = 1};
    reason[0] = '\0';
    CHECK_OK(gt_device_model(90, &f.device));
    CHECK_OK(gt_problem_init(&gemm, &f.problem));
    CHECK_OK(gt_search_create(&families, &f.device, &f.problem, &(gt_search_options){.effort = GT_EFFORT_QUICK}, &f.search));
    if (gt_search_refused(f.search, 0, &kernel, reason) > 0) {
        CHECK_STR(kernel.family, "mine");
        CHECK_INT(run_search(&f), 0);
    }
    gt_search_destroy(f.search);
    return reason;
}

TEST(a_family_that_cannot_be_launched_says_why)
{
    CHECK_STR(refusal_of("SELECT 16 AS bm, 16 AS bn, 256 AS threads"), "");
    CHECK_STR(refusal_of("SELECT 16 AS bm, 16 AS bn, 12800 AS threads"), "threads is 12800, outside 1 to 1024");
    CHECK_STR(refusal_of("SELECT 16 AS bm, 16 AS bn, 0 AS threads"), "threads is 0, outside 1 to 1024");
    CHECK_STR(refusal_of("SELECT 16 AS bm, 16 AS bn, 256 AS threads, 0 AS split_k"), "split_k is 0, outside 1 to 65535");
    CHECK_STR(refusal_of("SELECT 16 AS bm, 16 AS bn, 12800 AS threads UNION ALL SELECT 16, 16, 128"), "");
    CHECK(strstr(refusal_of("SELECT 16 AS bm, 16 AS bn, 256 AS threads, 999999 AS smem_bytes"),
                 "smem_bytes is 999999, more than the 232448 that a block"));
    CHECK(strstr(refusal_of("SELECT 16 AS bm, 16 AS bn, 1024 AS threads, 255 AS regs"), "1024 threads with 255 registers"));
}

TEST(the_ladder_is_not_searched_unless_asked_for)
{
    fixture f;
    gt_candidate **round;
    size_t count;
    open_search(&f, &(gt_search_options){.effort = GT_EFFORT_NORMAL}, 512, 512, 512);
    CHECK_OK(gt_search_round(f.search, &round, &count));
    for (size_t i = 0; i < count; i++)
        CHECK(gt_space_column(round[i]->space, "rung") < 0);
    close_search(&f);
}

TEST(an_unknown_family_is_named)
{
    fixture f = {0};
    const gt_gemm gemm = GT_GEMM(GT_F32, 64, 64, 64);
    CHECK_OK(gt_families_init(NULL, &f.families));
    CHECK_OK(gt_device_model(90, &f.device));
    CHECK_OK(gt_problem_init(&gemm, &f.problem));
    CHECK_STATUS(gt_search_create(&f.families, &f.device, &f.problem,
                                  &(gt_search_options){.effort = GT_EFFORT_QUICK, .family = "sgemm"}, &f.search),
                 GT_ERROR_INVALID);
    CHECK(strstr(gt_error_message(), "sgemm"));
    gt_families_finish(&f.families);
}

CHECK_MAIN
