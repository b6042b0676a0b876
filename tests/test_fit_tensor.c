/* The estimate of time of kernels on tensor cores: what the copy engine moves, what warps wait for, and trials of an H200. */
#include <math.h>
#include <string.h>

#include "../src/estimate/coefficients.h"
#include "../src/core/copies.h"
#include "../src/core/residence.h"
#include "../tuner/fit/fit.h"
#include "../tuner/fit/trials.h"
#include "check.h"

static gt_device h200(void)
{
    gt_device device;
    CHECK_OK(gt_device_model(90, &device));
    device.sm_count = 132;
    device.clock_khz = 1980000;
    device.l2_bytes = 60 << 20;
    return device;
}

static void set(gt_kernel *kernel, const char *name, int64_t value)
{
    for (int64_t i = 0; i < kernel->params.count; i++)
        if (strcmp(kernel->params.list[i].name, name) == 0) {
            kernel->params.list[i].value = value;
            return;
        }
    CHECK_OK(gt_params_add(&kernel->params, name, value));
}

static gt_kernel kernel_of(const char *family, int tile_m, int tile_n)
{
    gt_kernel kernel = {.arch = "sm_90a", .registers = 128};
    strcpy(kernel.family, family);
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        *gt_fact(&kernel.facts, i) = gt_fact_rows[i].absent;
    kernel.facts.tile_m = tile_m;
    kernel.facts.tile_n = tile_n;
    kernel.facts.dependent_launch = 1;
    set(&kernel, "bk", 64);
    return kernel;
}

/* Operands by boxes of 128 bytes a line, of a layout. */
static gt_kernel boxed(const char *layout, int tile_m, int tile_n)
{
    gt_kernel kernel = kernel_of("wgmma", tile_m, tile_n);
    kernel.facts.threads = 256;
    kernel.facts.smem_bytes = 200000;
    kernel.facts.box_a_rows = layout[0] == 'n' ? tile_m : 64;
    kernel.facts.box_b_rows = layout[1] == 't' ? tile_n : 64;
    kernel.facts.box_a_columns = kernel.facts.box_b_columns = 64;
    kernel.facts.swizzle_ab = 3;
    set(&kernel, "swap", 0);
    set(&kernel, "stages", 8);
    return kernel;
}

static gt_kernel warps(int tile_m, int tile_n, int load)
{
    gt_kernel kernel = kernel_of("mma", tile_m, tile_n);
    kernel.facts.threads = 128;
    kernel.facts.smem_bytes = 40000;
    set(&kernel, "wm", 16);
    set(&kernel, "wn", 16);
    set(&kernel, "stages", 2);
    set(&kernel, "fragments", 2);
    set(&kernel, "load", load);
    return kernel;
}

static gt_problem problem_of(const char *layout, int64_t m, int64_t n, int64_t k)
{
    const gt_types *types = gt_types_parse("bf16", GT_MATH_STRICT);
    const gt_gemm gemm = {.m = m, .n = n, .k = k, .batch = 1, .type_ab = types->a, .type_c = types->c,
                          .op_a = layout[0] == 't' ? GT_T : GT_N, .op_b = layout[1] == 't' ? GT_T : GT_N};
    gt_problem problem;
    CHECK_OK(gt_problem_init(&gemm, &problem));
    return problem;
}

static gt_terms terms_of(const gt_kernel *kernel, const char *layout, int64_t m, int64_t n, int64_t k)
{
    const gt_problem problem = problem_of(layout, m, n, k);
    const gt_device device = h200();
    gt_terms terms;
    CHECK(gt_estimate_terms(&device, kernel, &problem, &terms, NULL));
    return terms;
}

TEST(the_copy_engine_fills_in_what_a_box_has_beyond_the_matrix)
{
    const gt_kernel wide = boxed("nt", 64, 64), narrow = boxed("nt", 64, 16);
    CHECK(terms_of(&wide, "nt", 4096, 64, 1024).narrow == 0);
    CHECK(terms_of(&narrow, "nt", 4096, 16, 1024).narrow == 0);
    CHECK(terms_of(&wide, "nt", 4096, 16, 1024).narrow > 0);
    CHECK_NEAR(terms_of(&wide, "nt", 4096, 16, 1024).l2 / terms_of(&wide, "nt", 4096, 64, 1024).l2, 80.0 / 128, 1e-9);
    CHECK(terms_of(&wide, "nt", 4096, 64, 16).narrow > 0); /* K, too */
}

/* 3 x 43 tiles are one for each of 132 blocks, but 86 pairs for 66 clusters: some of these take two. */
TEST(persistent_clusters_take_tiles_beyond_c_in_turn)
{
    gt_kernel alone = boxed("tn", 128, 192), pairs = alone;
    alone.facts.blocks = pairs.facts.blocks = 132;
    pairs.facts.cluster_x = 2;
    set(&pairs, "cluster_m", 2);
    CHECK_NEAR(terms_of(&pairs, "tn", 320, 8192, 6144).compute / terms_of(&alone, "tn", 320, 8192, 6144).compute, 2, 1e-9);
    CHECK_NEAR(terms_of(&pairs, "tn", 512, 6144, 6144).compute / terms_of(&alone, "tn", 512, 6144, 6144).compute, 1, 1e-9);
}

TEST(zeros_take_longer_where_many_sms_fill_them_in)
{
    const gt_kernel kernel = boxed("nt", 64, 64);
    CHECK(terms_of(&kernel, "nt", 8448, 16, 1024).narrow > 2 * terms_of(&kernel, "nt", 64, 16, 1024).narrow);
}

TEST(boxes_take_whole_lines_where_operands_do_not_lie_along_k)
{
    const gt_kernel across = boxed("tn", 16, 64), along = boxed("nn", 16, 64);
    CHECK_NEAR(terms_of(&across, "tn", 8448, 64, 1024).l2 / terms_of(&along, "nn", 8448, 64, 1024).l2, 128.0 / 80, 5e-3);
}

/* A side of 96 in three strips of 64 bytes a line, each as 96 bytes, beside one of 64. */
TEST(lines_of_64_bytes_take_longer_than_half_of_whole_ones)
{
    gt_kernel whole = boxed("tn", 64, 64), strips = boxed("tn", 96, 64);
    strips.facts.box_a_columns = 32;
    strips.facts.swizzle_ab = 4;
    CHECK_NEAR(terms_of(&strips, "tn", 96 * 128, 64, 1024).l2 / terms_of(&whole, "tn", 64 * 128, 64, 1024).l2,
               (3 * 96.0 + 128) / (128 + 128), 1e-9);
}

TEST(lines_that_begin_within_sectors_take_twice_as_long)
{
    const gt_kernel kernel = boxed("nt", 64, 64);
    const double whole = terms_of(&kernel, "nt", 4096, 64, 1024).l2 / 1024;
    CHECK_NEAR(terms_of(&kernel, "nt", 4096, 64, 1040).l2 / 1040 / whole, 1.2, 1e-9);
    CHECK_NEAR(terms_of(&kernel, "nt", 4096, 64, 1032).l2 / 1032 / whole, 1.9, 1e-9);
    /* Rows of 16 bytes that begin so are worse than what is beyond them. */
    CHECK(terms_of(&kernel, "nt", 4096, 64, 8).narrow > 1.2 * terms_of(&kernel, "nt", 4096, 64, 16).narrow);
}

/* Such a kernel in clusters of two, which share A. */
static gt_kernel paired(void)
{
    gt_kernel pair = boxed("nt", 64, 64);
    pair.facts.cluster_x = 2;
    pair.facts.box_a_rows = 32;
    set(&pair, "cluster_n", 2);
    return pair;
}

TEST(what_two_blocks_of_a_cluster_share_takes_less_time_but_not_half)
{
    const gt_kernel alone = boxed("nt", 64, 64), pair = paired();
    const double both = terms_of(&pair, "nt", 4096, 128, 1024).l2, each = terms_of(&alone, "nt", 4096, 128, 1024).l2;
    CHECK_NEAR(both / each, (1 + sqrt(0.5)) / 2, 1e-9);
}

TEST(blocks_that_share_operands_meet_first_and_ask_for_zeros_once)
{
    gt_kernel alone = boxed("nt", 64, 64), pair = paired();
    CHECK(terms_of(&pair, "nt", 64, 4096, 1024).begin > 0.2 + terms_of(&alone, "nt", 64, 4096, 1024).begin);
    CHECK_NEAR(terms_of(&pair, "nt", 16, 4096, 1024).narrow / terms_of(&alone, "nt", 16, 4096, 1024).narrow, 0.5, 1e-9);
    pair.facts.blocks = 132; /* persistent blocks meet while others multiply */
    alone.facts.blocks = 132;
    CHECK_NEAR(terms_of(&pair, "nt", 4096, 4096, 1024).begin, terms_of(&alone, "nt", 4096, 4096, 1024).begin, 1e-9);
}

TEST(a_tile_beyond_the_matrix_counts_as_one_at_its_edge)
{
    const gt_kernel pair = paired();
    const double beyond = terms_of(&pair, "nt", 1024, 192, 1024).narrow, half = terms_of(&pair, "nt", 1024, 224, 1024).narrow;
    CHECK(terms_of(&pair, "nt", 1024, 256, 1024).narrow == 0 && half > 0);
    CHECK_NEAR(beyond / half, 2, 1e-9);
}

/* Whether a product launches before what the stream ran before is done. */
static bool is_dependent(const gt_kernel *kernel, const char *layout, int64_t m, int64_t n, int64_t k)
{
    const gt_problem problem = problem_of(layout, m, n, k);
    const gt_device device = h200();
    gt_launch launch;
    CHECK_OK(gt_launch_init(&device, kernel, &problem, &launch));
    return launch.dependent;
}

TEST(a_launch_waits_where_its_blocks_would_leave_operands_in_the_other_half_of_l2)
{
    const gt_kernel some = boxed("nt", 64, 64), most = boxed("nt", 48, 64), half = boxed("nt", 96, 64);
    CHECK(!is_dependent(&some, "nt", 6144, 64, 3072));                                    /* 96 blocks on 132 SMs */
    CHECK(is_dependent(&most, "nt", 6144, 64, 3072));                                     /* 128 */
    CHECK(is_dependent(&half, "nt", 6144, 64, 3072));                                     /* 64: two launches fit */
    CHECK(is_dependent(&some, "nt", 6144, 64, 1024) && is_dependent(&some, "nt", 6144, 64, 8192)); /* 13 and 102 MB */
    CHECK(!is_dependent(&some, "nt", 6144, 64, 1536) && is_dependent(&some, "nt", 7680, 64, 1280)); /* 96 and 120 blocks */
    gt_kernel clusters = boxed("nt", 128, 64), copies = some, before = some;
    clusters.facts.cluster_x = 4;
    CHECK(is_dependent(&clusters, "nt", 128 * 112, 64, 1280));  /* of room for 30 clusters 28 take all but two */
    CHECK(!is_dependent(&clusters, "nt", 128 * 80, 64, 1728));
    copies.facts.repack = 3 | GT_COPY_AS_STORED;
    copies.align = 2;
    CHECK(is_dependent(&copies, "nt", 6144, 64, 3071));
    before.facts.dependent_launch = 0;
    CHECK(!is_dependent(&before, "nt", 64, 64, 64));
}

TEST(operands_that_need_both_halves_of_l2_take_longer_where_blocks_move)
{
    const gt_kernel most = boxed("nt", 48, 64), half = boxed("nt", 96, 64), waiting = boxed("nt", 64, 64);
    const double settled = terms_of(&waiting, "nt", 6144, 64, 3072).memory;
    CHECK_NEAR(terms_of(&most, "nt", 6144, 64, 3072).memory / settled, 1 + 4.0 / 128, 1e-9); /* 4 of 132 SMs are free */
    CHECK_NEAR(terms_of(&half, "nt", 6144, 64, 3072).memory / settled, 1 + 4.0 / 64, 1e-9);
    CHECK_NEAR(terms_of(&waiting, "nt", 6144, 64, 1024).memory, terms_of(&most, "nt", 6144, 64, 1024).memory, 1e-9);
}

TEST(memory_waits_for_sms_that_have_no_block)
{
    const gt_kernel most = boxed("nt", 48, 64), some = boxed("nt", 64, 64);
    const double all = terms_of(&most, "nt", 6144, 64, 8192).memory;
    CHECK(terms_of(&some, "nt", 6144, 64, 8192).memory > 1.05 * all); /* 96 blocks on 132 SMs, 128 */
    const double once = terms_of(&some, "nt", 64 * 132, 64, 8192).memory, twice = terms_of(&some, "nt", 64 * 165, 64, 8192).memory;
    CHECK(twice > 1.35 * once); /* a quarter more operands, and 99 SMs without a second block */
    CHECK(terms_of(&some, "nt", 64 * 165, 64, 1024).memory < 1.26 * terms_of(&some, "nt", 64 * 132, 64, 1024).memory); /* in L2 */
}

/* Of a kernel that takes any parts of K, in so many of them. */
static double sums_in(const gt_kernel *kernel, int64_t parts)
{
    gt_kernel split = *kernel;
    gt_kernel_split(&split, parts);
    return terms_of(&split, "nn", 16, 16, 8192).sums;
}

TEST(more_parts_than_a_block_adds_up_take_a_round_more)
{
    gt_kernel kernel = warps(16, 16, 1);
    const gt_kernel boxes = boxed("nt", 64, 64);
    kernel.facts.any_split = 1;
    kernel.facts.split_k = 8;
    kernel.facts.ws_tile = 8 * 16 * 16 * 4;
    set(&kernel, "split_k", 8);
    const double eight = sums_in(&kernel, 8), nine = sums_in(&kernel, 9), most = sums_in(&kernel, 64);
    CHECK(nine > 1.9 * eight && nine < 2 * eight && most < 1.05 * nine && sums_in(&kernel, 65) > 1.4 * most);
    CHECK_INT(gt_estimate_fewer_parts(&kernel, 65), 64);
    CHECK_INT(gt_estimate_fewer_parts(&kernel, 64), 8);
    CHECK_INT(gt_estimate_fewer_parts(&kernel, 8), 0);
    CHECK_INT(gt_estimate_fewer_parts(&boxes, 65), 0);
}

TEST(few_stages_leave_the_copy_engine_idle)
{
    gt_kernel many = boxed("nt", 64, 64), few = many;
    few.facts.smem_bytes = 30000;
    set(&few, "stages", 2);
    CHECK(terms_of(&few, "nt", 4096, 64, 1024).l2 > 2 * terms_of(&many, "nt", 4096, 64, 1024).l2);
}

TEST(operands_that_boxes_read_as_they_are_stored_are_not_copied)
{
    gt_kernel kernel = boxed("nt", 64, 64);
    kernel.facts.repack = 3 | GT_COPY_AS_STORED;
    kernel.align = 2;
    const double odd = terms_of(&kernel, "nt", 1024, 1024, 1023).copies;
    CHECK(odd > 0 && terms_of(&kernel, "nt", 1024, 1024, 1024).copies == 0);
    CHECK(terms_of(&kernel, "nt", 1024, 1023, 1024).copies == 0); /* rows of C alone are odd */
    CHECK(terms_of(&kernel, "nn", 1024, 1023, 1024).copies > 0 && terms_of(&kernel, "nn", 1024, 1023, 1024).copies < odd);
}

TEST(first_loads_of_warp_groups_are_hidden_by_other_launches_and_blocks)
{
    gt_kernel lone = boxed("nt", 64, 64), pair = lone;
    pair.facts.smem_bytes = 100000; /* an SM holds 2 */
    CHECK(terms_of(&lone, "nt", 64, 64, 1024).begin < 0.5 * terms_of(&lone, "nt", 8448, 64, 1024).begin);
    CHECK(terms_of(&pair, "nt", 64 * 1056, 64, 64).begin < terms_of(&lone, "nt", 64 * 528, 64, 64).begin); /* 4 sets each */
}

TEST(warps_take_longer_for_products_of_short_types_than_tensor_cores_do)
{
    gt_kernel kernel = warps(128, 128, 1), others = kernel;
    set(&kernel, "wm", 64);
    set(&kernel, "wn", 64);
    others = kernel;
    set(&others, "fragments", 0);
    const double warps_on_sm = 4;
    CHECK_NEAR(terms_of(&kernel, "nt", 128, 128, 1024).compute / terms_of(&others, "nt", 128, 128, 1024).compute,
               1.6 * (1 + 1 / warps_on_sm) / (1 + 2 / warps_on_sm), 1e-9);
}

TEST(warps_wait_for_elements_and_for_stages)
{
    gt_kernel words = warps(32, 32, 1), elements = warps(32, 32, 2), more = words;
    CHECK(terms_of(&elements, "nt", 191, 191, 191).step > 3 * terms_of(&words, "nt", 191, 191, 191).step);
    CHECK(terms_of(&elements, "nt", 191, 191, 191).narrow == 0); /* no copies to shared memory */
    set(&more, "stages", 8);
    CHECK(terms_of(&words, "nt", 192, 192, 192).step > 2 * terms_of(&more, "nt", 192, 192, 192).step);
}

TEST(all_sms_wait_for_lines_of_l2_that_hold_several_of_a_matrix)
{
    gt_kernel alone = boxed("tn", 128, 64), shared;
    const double whole = terms_of(&alone, "tn", 13144, 64, 96).narrow, part = terms_of(&alone, "tn", 13144, 40, 96).narrow;
    CHECK(part > whole + 1.5); /* microseconds */
    shared = alone;
    shared.facts.cluster_x = 4;
    set(&shared, "cluster_m", 4);
    CHECK(terms_of(&shared, "tn", 13144, 40, 96).narrow < 0.5 * part);
    CHECK(terms_of(&alone, "tn", 200, 40, 96).narrow < 0.2 * part); /* nobody else asks */
}

TEST(few_warps_with_large_tiles_wait_for_their_own_copies)
{
    gt_kernel four = warps(64, 64, 1), two;
    set(&four, "wm", 32);
    set(&four, "wn", 32);
    two = four;
    set(&two, "wm", 64);
    two.facts.threads = 64;
    CHECK_NEAR(terms_of(&two, "nt", 64, 64, 510).narrow / terms_of(&four, "nt", 64, 64, 510).narrow, sqrt(4.0 * 2 / 2), 1e-9);
}

/* 1536x768 has 288 tiles for 132 SMs, of which each has room for four. */
TEST(a_dependent_launch_that_needs_more_than_half_of_the_places_lies_unevenly)
{
    gt_kernel kernel = warps(64, 64, 2), serial;
    kernel.facts.threads = 128;
    kernel.facts.smem_bytes = 50000;
    serial = kernel;
    serial.facts.dependent_launch = 0;
    const double dependent = terms_of(&kernel, "nt", 1536, 768, 32).compute;
    CHECK_NEAR(dependent / terms_of(&serial, "nt", 1536, 768, 32).compute, 3.5 / 3 * (1 + 1.0 / 14) / (1 + 1.0 / 12), 1e-9);
    CHECK_NEAR(terms_of(&kernel, "nt", 704, 768, 32).compute, terms_of(&serial, "nt", 704, 768, 32).compute, 1e-9);
}

TEST(lanes_that_store_elements_apart_take_longer_than_rows_from_shared_memory)
{
    gt_kernel apart = warps(64, 64, 1), rows;
    set(&apart, "inst_k", 16);
    set(&apart, "store", 0);
    rows = apart;
    set(&rows, "store", 1);
    CHECK(terms_of(&apart, "nt", 511, 511, 64).store > 2 * terms_of(&rows, "nt", 511, 511, 64).store);
    CHECK_NEAR(terms_of(&apart, "nt", 512, 512, 64).store, terms_of(&rows, "nt", 512, 512, 64).store, 1e-9);
}

TEST(tiles_for_tensor_cores_are_copied_whole)
{
    const gt_kernel kernel = warps(64, 32, 1);
    CHECK_NEAR(terms_of(&kernel, "nt", 1, 1024, 510).narrow, terms_of(&kernel, "nt", 64, 1024, 510).narrow, 1e-9);
}

/* Lanes over K. */
static gt_kernel lanes(int tile_m, int tile_n)
{
    gt_kernel kernel = kernel_of("skinny", tile_m, tile_n);
    kernel.facts.threads = 128;
    kernel.facts.smem_bytes = 40000;
    set(&kernel, "lanes_k", 32);
    set(&kernel, "stages", 4);
    return kernel;
}

TEST(blocks_with_lanes_over_k_wait_for_elements_of_two_bytes)
{
    const gt_kernel kernel = lanes(1, 16);
    const gt_terms odd = terms_of(&kernel, "nt", 1, 1024, 1023), even = terms_of(&kernel, "nt", 1, 1024, 1022);
    CHECK(odd.step > 5 * even.step && odd.narrow == 0 && even.narrow > 0);
}

/* Of B's rows of 128 bytes a tile of two columns reads 32; of rows of 16 bytes, which lie in the same sectors, what they have. On
 * an H200 11x66x8475 takes 18.7 us in such tiles; by what they hold alone 5.6 are estimated. */
TEST(rows_across_k_that_are_longer_than_a_tile_are_read_by_sectors)
{
    const gt_kernel kernel = lanes(4, 2);
    const double along = terms_of(&kernel, "nt", 4, 64, 8192).l2, across = terms_of(&kernel, "nn", 4, 64, 8192).l2;
    CHECK_NEAR(across / along, (4 * 2.0 + 32) / (4 * 2 + 2 * 2), 1e-9);
    const double few_along = terms_of(&kernel, "nt", 4, 8, 8192).l2, few = terms_of(&kernel, "nn", 4, 8, 8192).l2;
    CHECK_NEAR(few / few_along, (4 * 2.0 + 16) / (4 * 2 + 2 * 2), 1e-9);
}

/* Shipped coefficients are fitted to this table: of bf16 sizes of one run's cover list and 88 others, and first choices of two
 * more runs; of f64 the default list; of f32 in parts of f16 first choices. */
static void judge(const gt_trials *trials, size_t begin, size_t end, size_t problems)
{
    gt_fit fit;
    CHECK_OK(gt_fit_init(&trials->device, trials->lists + begin, end - begin, true, &fit));
    for (size_t i = 0; i < fit.count; i++) {
        const gt_fit_family *f = &fit.families[i];
        const bool many = strstr(f->fitted.family, "mma") != NULL;
        printf("%s: %zu trials, %.1f%% shipped, %.1f%% fitted, %.1f%% held out\n", f->fitted.family, f->trials,
               100 * f->shipped, 100 * f->error, 100 * f->held_out);
        CHECK(!many || (f->trials >= 50 && f->shipped < 0.10 && f->held_out < 0.10));
        CHECK(f->shipped < 0.15);
    }
    printf("left out: %.3f, %.2f at most, of %zu\n", fit.before.mean, fit.before.worst, fit.before.problems);
    CHECK(fit.before.problems >= problems && fit.before.mean < 1.03 && fit.before.worst < 1.6 &&
          fit.before.among_first >= 0.95);
    gt_fit_finish(&fit);
}

TEST(shipped_coefficients_agree_with_trials_on_tensor_cores)
{
    gt_trials trials;
    size_t bf16 = 0;
    CHECK_OK(gt_trials_read(getenv("GEMMTUNE_TRIALS_TENSOR"), &trials));
    while (bf16 < trials.count && trials.lists[bf16].list[0].problem.class.type_a == GT_BF16)
        bf16++;
    judge(&trials, 0, bf16, 300);
    judge(&trials, bf16, trials.count, 10);
    gt_trials_finish(&trials);
}

CHECK_MAIN
