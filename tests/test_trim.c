/* Which code a database keeps. */
#include "../tuner/fit/trim.h"
#include "store_fixture.h"

static gt_kernel make_tile(int number)
{
    gt_kernel kernel = make_kernel(number);
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        *gt_fact(&kernel.facts, i) = gt_fact_rows[i].absent;
    kernel.facts.tile_m = kernel.facts.tile_n = 64;
    kernel.facts.threads = 128;
    return kernel;
}

static void put_measured(const fixture *f, int number, const gt_device *device, gt_trial trial)
{
    const gt_kernel kernel = make_tile(number);
    int64_t gpu;
    CHECK_OK(gt_store_gpu(f->store, device, &gpu));
    CHECK_OK(gt_store_put_trial(f->store, f->run, gpu, f->problem_id, &kernel, &code_of_tests, &trial));
}

TEST(only_code_that_won_or_would_be_chosen_or_is_of_another_gpu_is_kept)
{
    fixture f = fixture_open();
    const gt_device other = make_device("NVIDIA H100");
    const gt_types *types = gt_types_parse("f32", GT_MATH_STRICT);
    size_t dropped = 9;
    put_measured(&f, 1, &f.device, make_trial(90)); /* chosen for every size: the same tile as the next ones, and faster */
    put_measured(&f, 2, &f.device, make_trial(120));
    put_measured(&f, 3, &f.device, make_win(100, 0.1));
    put_measured(&f, 4, &f.device, make_trial(130));
    put_measured(&f, 4, &other, make_trial(130));
    CHECK_OK(gt_trim(f.store, &f.device, f.gpu, types, &dropped));
    CHECK_INT(dropped, 1);
    CHECK_STR(ask(f.store, "SELECT group_concat(value) FROM (SELECT p.value FROM kernel k JOIN kernel_param p ON"
                           " p.kernel = k.id AND p.name = 'stages' WHERE k.cubin IS NOT NULL AND k.ptx IS NOT NULL"
                           " ORDER BY 1)"), "1,3,4");
    CHECK_STR(ask(f.store, "SELECT count(*) FROM trial"), "5");
    CHECK_OK(gt_trim(f.store, &f.device, f.gpu, types, &dropped));
    CHECK_INT(dropped, 0);
    fixture_close(&f);
}

static char large_code[10 << 20] = "code";

/* Worth is counted for megabytes. */
static void put_large(const fixture *f, int number, size_t megabytes, const gt_problem *problem, double us)
{
    const gt_kernel kernel = make_tile(number);
    const gt_code code = {.cubin = large_code, .cubin_bytes = megabytes << 20};
    const gt_trial trial = make_trial(us);
    int64_t id;
    CHECK_OK(gt_store_problem(f->store, problem, &id));
    CHECK_OK(gt_store_put_trial(f->store, f->run, f->gpu, id, &kernel, &code, &trial));
}

static const char *kept(const fixture *f)
{
    return ask(f->store, "SELECT group_concat(value) FROM (SELECT p.value FROM kernel k JOIN kernel_param p ON"
                         " p.kernel = k.id AND p.name = 'stages' WHERE k.cubin IS NOT NULL ORDER BY p.value)");
}

/* Both are the choice of many sizes, each near the one where it is better. */
TEST(code_that_many_sizes_choose_and_hardly_miss_is_dropped)
{
    static const struct {
        double better; /* so many times */
        const char *kept;
    } cases[] = {{1.00001, "1"}, {1.2, "1,2"}};
    for (size_t i = 0; i < 2; i++) {
        fixture f = fixture_open();
        const gt_problem small = make_problem(64, 64, 64), large = make_problem(4096, 4096, 4096);
        size_t dropped;
        put_large(&f, 1, 1, &small, 10);
        put_large(&f, 2, 1, &small, 10 * cases[i].better);
        put_large(&f, 1, 1, &large, 3000 * cases[i].better);
        put_large(&f, 2, 1, &large, 3000);
        CHECK_OK(gt_trim(f.store, &f.device, f.gpu, gt_types_parse("f32", GT_MATH_STRICT), &dropped));
        CHECK_STR(kept(&f), cases[i].kept);
        fixture_close(&f);
    }
}

static double estimate(const fixture *f, const gt_problem *problem)
{
    const gt_kernel kernel = make_tile(1);
    gt_terms terms;
    CHECK(gt_estimate_terms(&f->device, &kernel, problem, &terms, NULL));
    return gt_estimate_us(&terms, gt_coefficients_find(NULL, 0, "simt", &problem->class));
}

/* Each of four is missed near the size where it was measured, the last one least: fewer of those that are drawn are so large. */
TEST(code_that_is_missed_least_goes_where_there_is_too_much)
{
    fixture f = fixture_open();
    size_t dropped;
    for (int i = 0; i < 4; i++) {
        const gt_problem problem = make_problem(i % 2 ? 4096 : 16, i / 2 ? 4096 : 16, 1024);
        put_large(&f, 1 + i, 10, &problem, estimate(&f, &problem));
    }
    CHECK_OK(gt_trim(f.store, &f.device, f.gpu, gt_types_parse("f32", GT_MATH_STRICT), &dropped));
    CHECK_STR(kept(&f), "1,2,3");
    fixture_close(&f);
}

TEST(the_file_shrinks_and_a_kernel_without_code_gets_it_anew)
{
    fixture f = fixture_open();
    const gt_code code = {.cubin = large_code, .cubin_bytes = 1 << 20};
    const gt_kernel kernel = make_tile(1);
    gt_measurements found;
    size_t dropped = 0;
    CHECK_OK(put(&f, &kernel, &code, make_trial(90)));
    const int before = atoi(ask(f.store, "SELECT page_count FROM pragma_page_count"));
    const int64_t id = atoi(ask(f.store, "SELECT id FROM kernel"));
    CHECK_OK(gt_store_drop_code(f.store, f.gpu, &id, 1, &dropped));
    CHECK_INT(dropped, 1);
    CHECK(atoi(ask(f.store, "SELECT page_count FROM pragma_page_count")) < before - 200);
    CHECK_OK(put(&f, &kernel, &code, make_trial(91)));
    CHECK_OK(gt_store_find_measured(f.store, &f.device, &f.problem.class, &found));
    CHECK(found.count == 1 && found.damaged == 0 && found.list[0].kernel_id == id);
    gt_measurements_finish(&found);
    fixture_close(&f);
}

CHECK_MAIN
