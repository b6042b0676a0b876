/* The estimate of time: its terms, a fit to trials of an H200, and what a database may say of it. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "../src/runtime/select.h"
#include "../tuner/fit/fit.h"
#include "../tuner/fit/trials.h"
#include "store_fixture.h"

static gt_trials read_table(const char *variable)
{
    const char *path = getenv(variable);
    gt_trials trials;
    if (!path)
        SKIP("GEMMTUNE_TRIALS and GEMMTUNE_TRIALS_A100 name the tables");
    CHECK_OK(gt_trials_read(path, &trials));
    return trials;
}

static gt_trials h200(void)
{
    return read_table("GEMMTUNE_TRIALS");
}

/* A tile of 128 x 128 by eight warps of tensor cores, and its terms on a product in bf16. */
static gt_kernel tensor_tile(int wm, int wn)
{
    gt_kernel kernel = {.family = "mma", .arch = "sm_90a", .registers = 128};
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        *gt_fact(&kernel.facts, i) = gt_fact_rows[i].absent;
    kernel.facts.tile_m = kernel.facts.tile_n = 128;
    kernel.facts.threads = 256;
    kernel.facts.smem_bytes = 65536;
    CHECK_OK(gt_params_add(&kernel.params, "bk", 64));
    CHECK_OK(gt_params_add(&kernel.params, "wm", wm));
    CHECK_OK(gt_params_add(&kernel.params, "wn", wn));
    return kernel;
}

static gt_terms terms_of_k(const gt_kernel *kernel, int64_t m, int64_t k, int64_t batch, int align)
{
    gt_trials trials = h200();
    const gt_types *types = gt_types_parse("bf16", GT_MATH_STRICT);
    const gt_gemm gemm = {.m = m, .n = 1024, .k = k, .batch = batch, .type_ab = types->a, .type_c = types->c};
    gt_problem problem;
    gt_terms terms;
    CHECK_OK(gt_problem_init(&gemm, &problem));
    problem.class.align = align;
    CHECK(gt_estimate_terms(&trials.device, kernel, &problem, &terms, NULL));
    gt_trials_finish(&trials);
    return terms;
}

static gt_terms terms_of(const gt_kernel *kernel, int64_t m, int64_t batch, int align)
{
    return terms_of_k(kernel, m, 1024, batch, align);
}

TEST(small_tiles_of_warps_take_as_long_as_shared_memory_feeds_them)
{
    const gt_kernel large = tensor_tile(64, 64), small = tensor_tile(16, 16);
    CHECK(terms_of(&small, 1024, 1, 16).compute > 2 * terms_of(&large, 1024, 1, 16).compute);
}

TEST(elements_of_rows_that_are_not_aligned_are_stored_one_by_one)
{
    const gt_kernel kernel = tensor_tile(64, 64);
    CHECK(terms_of(&kernel, 1024, 1, 2).store > 4 * terms_of(&kernel, 1024, 1, 16).store);
    CHECK(terms_of(&kernel, 1024, 1, 2).store == terms_of(&kernel, 1024, 1, 8).store);
    gt_kernel rows = tensor_tile(0, 0); /* of whole vectors, wherever they begin */
    CHECK_OK(gt_params_add(&rows.params, "tm", 4));
    CHECK_OK(gt_params_add(&rows.params, "down", 8));
    CHECK(terms_of(&rows, 1024, 1, 2).store == terms_of(&rows, 1024, 1, 16).store);
    /* 128 rows, 32 in a turn, of which a thread has four */
    CHECK_NEAR(terms_of(&rows, 1024, 1, 16).step / terms_of(&kernel, 1024, 1, 16).step, 4 * (1 + 4 / 2.0), 1e-9);
    gt_kernel whole = rows;
    whole.params.list[0].value = 1024; /* all of K in a step: columns are read once */
    CHECK(terms_of(&rows, 1024, 1, 16).l2 > 4 * terms_of(&whole, 1024, 1, 16).l2);
}

TEST(few_warps_wait_for_elements_that_are_stored_one_by_one)
{
    gt_kernel many = tensor_tile(64, 64), few;
    many.facts.smem_bytes = 150000; /* an SM has one block */
    few = many;
    few.facts.threads = 64;
    CHECK_NEAR(terms_of(&few, 1024, 1, 2).store / terms_of(&many, 1024, 1, 2).store, (1 + 2.0 / 2) / (1 + 2.0 / 4), 1e-9);
    CHECK(terms_of(&few, 1024, 1, 16).store == terms_of(&many, 1024, 1, 16).store);
}

TEST(persistent_blocks_that_a_matrix_of_a_batch_has_no_tile_for_cost_no_products)
{
    gt_kernel few = tensor_tile(64, 64), many = few;
    few.facts.blocks = 132;
    many.facts.blocks = 264;
    CHECK_NEAR(terms_of(&few, 128, 99, 16).compute, terms_of(&many, 128, 99, 16).compute, 1e-9); /* 8 tiles each */
}

TEST(an_sm_with_two_whole_tiles_takes_twice_as_long_as_one_with_one)
{
    gt_kernel kernel = tensor_tile(64, 64);
    kernel.facts.blocks = 264;
    kernel.facts.smem_bytes = 110000; /* an SM holds 2 */
    const double one = terms_of(&kernel, 2048, 1, 16).compute, two = terms_of(&kernel, 2304, 1, 16).compute;
    CHECK_NEAR(two / one, 2 * (1 + 2.0 / 8) / (1 + 2.0 / 4), 1e-9); /* 144 tiles and 128; eight warps cover more */
}

TEST(clusters_do_not_find_an_sm_for_each_of_their_blocks)
{
    gt_kernel plain = tensor_tile(64, 64), clustered; /* an SM holds 2 */
    plain.facts.smem_bytes = 110000;
    clustered = plain;
    clustered.facts.cluster_x = 8;
    CHECK(terms_of(&clustered, 2048, 1, 16).compute > 1.5 * terms_of(&plain, 2048, 1, 16).compute); /* 128 blocks */
    CHECK(terms_of(&clustered, 1024, 1, 16).compute == terms_of(&plain, 1024, 1, 16).compute);      /* 64 */
    CHECK(terms_of(&clustered, 4096, 1, 16).compute == terms_of(&plain, 4096, 1, 16).compute);      /* 256 */
    CHECK(terms_of(&clustered, 8448, 1, 16).compute > terms_of(&plain, 8448, 1, 16).compute); /* 528: 66 clusters */
}

TEST(more_than_half_of_the_blocks_that_the_gpu_holds_lie_unevenly_after_a_dependent_launch)
{
    gt_kernel plain = tensor_tile(64, 64), dependent;
    plain.facts.smem_bytes = 49152; /* an SM holds 4, all of them 528 */
    plain.registers = 64;
    dependent = plain;
    dependent.facts.dependent_launch = 1;
    CHECK(terms_of(&dependent, 5120, 1, 16).compute > 1.2 * terms_of(&plain, 5120, 1, 16).compute); /* 320 blocks */
    CHECK(terms_of(&dependent, 4224, 1, 16).compute == terms_of(&plain, 4224, 1, 16).compute);      /* 264 */
    CHECK(terms_of(&dependent, 1024, 1, 16).begin < terms_of(&plain, 1024, 1, 16).begin);           /* 64 */
    CHECK(terms_of(&dependent, 5120, 1, 16).memory > 1.2 * terms_of(&plain, 5120, 1, 16).memory);
    CHECK(terms_of(&dependent, 4224, 1, 16).memory == terms_of(&plain, 4224, 1, 16).memory);
}

TEST(nothing_hides_what_a_block_stores_that_has_its_sm_alone)
{
    gt_kernel pair = tensor_tile(64, 64), lone = pair;
    lone.facts.smem_bytes = 150000;
    CHECK_NEAR(terms_of(&lone, 1024, 1, 16).store / terms_of(&pair, 1024, 1, 16).store, 2, 1e-9);
    gt_kernel persistent = lone, engine;
    persistent.facts.blocks = 132;
    engine = persistent;
    engine.facts.box_c_rows = engine.facts.box_c_columns = 64;
    CHECK(terms_of(&persistent, 16384, 1, 16).store > 1.2 * terms_of(&engine, 16384, 1, 16).store);
}

TEST(l2_takes_c_though_it_does_not_hold_all_operands)
{
    const gt_kernel kernel = tensor_tile(64, 64);
    const double held = 2 * 8192 + 1024, read = 16384 + 1024, stored = 16384; /* rows of all operands, of A and B, of C */
    CHECK_NEAR(terms_of(&kernel, 16384, 1, 16).memory / terms_of(&kernel, 8192, 1, 16).memory,
               (read * 28 / 18 + stored) / held, 1e-9);
}

TEST(blocks_that_end_their_tiles_together_store_more_than_memory_takes)
{
    gt_kernel whole = tensor_tile(64, 64), split;
    whole.facts.smem_bytes = 150000;
    whole.facts.blocks = 132;
    split = whole;
    split.facts.ws_tile = 65536;
    CHECK(terms_of(&whole, 32768, 1, 16).store > 1.5 * terms_of(&split, 32768, 1, 16).store); /* C has 67 MB */
    CHECK(terms_of(&whole, 16384, 1, 16).store < 1.1 * terms_of(&split, 16384, 1, 16).store); /* L2 holds it */
    gt_kernel pair = split; /* an SM has two, which share what memory takes */
    pair.facts.smem_bytes = 110000;
    pair.facts.blocks = 264;
    CHECK_NEAR(terms_of(&pair, 32768, 1, 16).store / terms_of(&split, 32768, 1, 16).store, 1, 1e-9);
    CHECK(terms_of(&split, 32768, 1, 16).store > 2.2 * terms_of(&split, 16384, 1, 16).store);
}

TEST(lanes_with_small_tiles_issue_more_than_multiply_adds)
{
    gt_kernel small = tensor_tile(0, 0), large;
    CHECK_OK(gt_params_add(&small.params, "lanes_k", 4));
    large = small;
    CHECK_OK(gt_params_add(&small.params, "tm", 1));
    CHECK_OK(gt_params_add(&small.params, "tn", 4));
    CHECK_OK(gt_params_add(&large.params, "tm", 4));
    CHECK_OK(gt_params_add(&large.params, "tn", 16));
    CHECK(terms_of(&small, 1024, 1, 16).compute > 2 * terms_of(&large, 1024, 1, 16).compute);
    /* Of bf16 8 bytes are four elements, or one by one in rows at 2 bytes; A, which is kept, does not go with B here. */
    CHECK_NEAR(terms_of(&large, 1024, 1, 2).compute / terms_of(&large, 1024, 1, 8).compute,
               (256 + 4 + 64 + 30.0) / (256 + 4 + 16 + 30.0), 1e-9);
}

TEST(threads_with_small_tiles_load_more_for_each_multiply_add)
{
    gt_kernel small = tensor_tile(64, 64), large = small;
    CHECK_OK(gt_params_add(&small.params, "tm", 4));
    CHECK_OK(gt_params_add(&small.params, "tn", 4));
    CHECK_OK(gt_params_add(&large.params, "tm", 8));
    CHECK_OK(gt_params_add(&large.params, "tn", 16));
    CHECK_NEAR(terms_of(&small, 1024, 1, 16).compute / terms_of(&large, 1024, 1, 16).compute,
               (1 + 0.3 * 8 / 16) / (1 + 0.3 * 24 / 128), 1e-9);
}

TEST(a_block_begins_when_its_first_stage_is_there)
{
    gt_kernel staged = tensor_tile(64, 64), persistent;
    const double none = terms_of(&staged, 8192, 1, 16).begin; /* 512 blocks, two an SM: two sets */
    CHECK_OK(gt_params_add(&staged.params, "stages", 3));
    persistent = staged;
    persistent.facts.blocks = 264;
    const double first = 2 * 256 * 64 * 2 / 40.0 / 1980; /* rows and columns, steps, bytes of bf16 */
    CHECK_NEAR(terms_of(&staged, 8192, 1, 16).begin - none, 2 * first, 1e-6);
    CHECK_NEAR(terms_of(&persistent, 8192, 1, 16).begin - none, first, 1e-6);
    CHECK(terms_of(&staged, 8192, 1, 4).begin > terms_of(&staged, 8192, 1, 16).begin);
}

TEST(elements_that_are_transposed_on_their_way_come_one_by_one)
{
    gt_kernel transposed = tensor_tile(64, 64), copied;
    CHECK(terms_of(&transposed, 1024, 1, 16).narrow == 0); /* tensor cores take either */
    CHECK_OK(gt_params_add(&transposed.params, "tm", 8));
    copied = transposed;
    copied.facts.repack = 1; /* A, the other way round */
    CHECK(terms_of(&transposed, 1024, 1, 16).narrow > 0 && terms_of(&copied, 1024, 1, 16).narrow == 0);
    CHECK(terms_of(&transposed, 1024, 1, 16).compute > terms_of(&copied, 1024, 1, 16).compute);
    transposed.facts.blocks = copied.facts.blocks = 132; /* other warps do it */
    CHECK(terms_of(&transposed, 1024, 1, 16).compute == terms_of(&copied, 1024, 1, 16).compute);
}

/* Threads that load the tiles they multiply in a way of simt's. */
static gt_kernel loading(int load)
{
    gt_kernel kernel = tensor_tile(64, 64);
    CHECK_OK(gt_params_add(&kernel.params, "tm", 8));
    CHECK_OK(gt_params_add(&kernel.params, "tn", 8));
    CHECK_OK(gt_params_add(&kernel.params, "load", load));
    return kernel;
}

TEST(what_threads_carry_in_registers_comes_in_vectors_and_costs_half_of_a_copy)
{
    const gt_kernel carried = loading(0), copied = loading(1), both = loading(2); /* A is transposed, B is not */
    CHECK(terms_of(&carried, 1024, 1, 16).narrow == 0 && terms_of(&both, 1024, 1, 16).narrow == 0);
    CHECK(terms_of(&copied, 1024, 1, 16).narrow > 0);
    CHECK_NEAR(terms_of(&carried, 1024, 1, 2).narrow / terms_of(&copied, 1024, 1, 2).narrow, 0.5, 1e-9);
    CHECK_NEAR(terms_of(&both, 1024, 1, 2).narrow / terms_of(&copied, 1024, 1, 2).narrow, 0.75, 1e-9);
}

TEST(the_last_tile_of_k_is_multiplied_as_far_as_k_goes_by_threads_that_load_it)
{
    const gt_kernel stops = loading(1), whole = tensor_tile(64, 64); /* 64 of K are a tile */
    CHECK_NEAR(terms_of_k(&stops, 1024, 66, 1, 16).compute / terms_of_k(&stops, 1024, 128, 1, 16).compute, 72.0 / 128, 1e-9);
    CHECK(terms_of_k(&whole, 1024, 66, 1, 16).compute == terms_of_k(&whole, 1024, 128, 1, 16).compute);
}

TEST(a_kernel_takes_as_long_on_aligned_rows_as_it_was_rendered_for_others)
{
    gt_kernel kernel = tensor_tile(64, 64), odd = kernel;
    odd.align = 2;
    const gt_terms aligned = terms_of(&kernel, 1024, 1, 16), others = terms_of(&kernel, 1024, 1, 2);
    const gt_terms of_odd = terms_of(&odd, 1024, 1, 16);
    CHECK(aligned.narrow == 0 && others.narrow > 0 && of_odd.narrow == others.narrow);
    CHECK(others.store != aligned.store && of_odd.store == aligned.store); /* stores of neighbours meet in a line */
    odd.align = 16; /* one for aligned rows is never faster on others: it does not run there */
    CHECK(terms_of(&odd, 1024, 1, 2).narrow == others.narrow);
}

/* A vector times a matrix with so many columns. */
static gt_terms terms_of_row(const gt_kernel *kernel, int64_t columns)
{
    gt_trials trials = h200();
    const gt_gemm gemm = GT_GEMM(GT_F32, 1, columns, 6144);
    gt_problem problem;
    gt_terms terms;
    CHECK_OK(gt_problem_init(&gemm, &problem));
    CHECK(gt_estimate_terms(&trials.device, kernel, &problem, &terms, NULL));
    gt_trials_finish(&trials);
    return terms;
}

/* The same in tiles of so many. With lanes over K whole vectors are read, of which
 * lanes have four times `cols` on their way; hint 1: evicted first. */
static gt_terms terms_of_stream(int64_t columns, int tile, int lanes_k, int cols, int hint)
{
    gt_kernel kernel = tensor_tile(0, 0);
    kernel.facts.tile_m = 1;
    kernel.facts.tile_n = tile;
    kernel.facts.dependent_launch = 1;
    CHECK_OK(gt_params_add(&kernel.params, "unroll", 4));
    CHECK_OK(gt_params_add(&kernel.params, "lanes_k", lanes_k));
    CHECK_OK(gt_params_add(&kernel.params, "cols", cols));
    CHECK_OK(gt_params_add(&kernel.params, "hint", hint));
    return terms_of_row(&kernel, columns);
}

/* The same with all on its way that memory can give. */
static gt_terms terms_of_vector(int64_t columns, int tile, int lanes_k)
{
    return terms_of_stream(columns, tile, lanes_k, 4096, 1);
}

TEST(requests_and_tiles_share_sectors_where_rows_begin_within_them)
{
    const double whole = terms_of_vector(8448, 32, 4).memory;
    CHECK_NEAR(terms_of_vector(8448, 1024, 4).memory / whole, 1, 1e-9);
    CHECK_NEAR(terms_of_vector(8447, 32, 4).memory / whole, 1 + 1.0 / 4 + 1.0 / 4, 1e-3); /* a tile is a request */
    CHECK_NEAR(terms_of_vector(8447, 1024, 4).memory / whole, 1 + 1.0 / 4 + 1.0 / 128, 1e-3);
    CHECK_NEAR(terms_of_vector(8440, 32, 4).memory / whole, 1 + 1.0 / 4, 2e-3); /* rows begin with sectors, not with lines */
    CHECK(terms_of_vector(8447, 32, 4).narrow < 0.1 * terms_of_vector(8447, 32, 0).narrow);
    gt_kernel staged = tensor_tile(0, 0); /* by copies to shared memory, too, where they are of whole vectors */
    staged.facts.tile_n = 32;
    CHECK_OK(gt_params_add(&staged.params, "lanes_k", 4));
    CHECK_NEAR(terms_of_row(&staged, 8444).memory / terms_of_row(&staged, 8448).memory, 1 + 1.0 / 4 + 1.0 / 4, 1e-3);
    CHECK_NEAR(terms_of_row(&staged, 8440).memory / terms_of_row(&staged, 8448).memory, 1 + 1.0 / 4, 2e-3);
    CHECK_NEAR(terms_of_row(&staged, 8447).memory / terms_of_row(&staged, 8448).memory, 1, 1e-3);
    /* L2 holds 37 MB, and gives what is read of them again as fast as the rest. */
    CHECK_NEAR(terms_of_vector(1503, 32, 4).memory / terms_of_vector(1504, 32, 4).memory, 1.5, 5e-3);
}

TEST(a_stream_is_slower_where_some_sms_have_more_blocks_than_others)
{
    const double even = terms_of_vector(8448, 32, 4).memory / 8448; /* 264 blocks for 132 SMs */
    CHECK_NEAR(terms_of_vector(6336, 32, 4).memory / 6336 / even, 1 + 0.5 / 3, 1e-4); /* 198 */
    CHECK_NEAR(terms_of_vector(4096, 32, 4).memory / 4096 / even, 1, 1e-3);           /* an SM each, or none */
    CHECK_NEAR(terms_of_vector(6336, 32, 0).memory / 6336 / even, 1, 1e-4);           /* no stream */
}

TEST(a_stream_comes_as_fast_as_lanes_have_it_on_its_way)
{
    CHECK_NEAR(terms_of_stream(8448, 1024, 4, 1, 1).memory / terms_of_stream(8448, 1024, 4, 2, 1).memory, 2, 1e-3);
    CHECK(terms_of_stream(8448, 32, 4, 1, 1).memory < 1.01 * terms_of_stream(8448, 32, 4, 2, 1).memory);
}

TEST(a_stream_that_l2_does_not_hold_is_slower_unless_it_is_evicted_first)
{
    CHECK_NEAR(terms_of_stream(8448, 32, 4, 4096, 0).memory / terms_of_vector(8448, 32, 4).memory, 1.15, 1e-6);
    CHECK_NEAR(terms_of_stream(1504, 32, 4, 4096, 0).memory / terms_of_vector(1504, 32, 4).memory, 1, 1e-6); /* 37 MB */
}

TEST(l2_gives_a_stream_faster_where_the_next_one_is_beside_it)
{
    /* 47 blocks and 188 where the GPU holds 264; some SMs have two */
    CHECK_NEAR(terms_of_vector(1504, 8, 4).memory / terms_of_vector(1504, 32, 4).memory,
               (1 + 0.5 * (264.0 / 188 - 1)) / 0.75, 1e-3);
}

/* Tiles of f32 whose threads keep eight steps of four columns, 64 threads side by side and four below each other; C has 1024
 * rows. */
static gt_terms terms_of_columns(int tile_m, int tm, int registers, int64_t n, int64_t k, gt_op op_a, int align)
{
    gt_trials trials = h200();
    gt_kernel kernel = tensor_tile(0, 0);
    const gt_types *types = gt_types_parse("f32", GT_MATH_STRICT);
    const gt_gemm gemm = {.m = 1024, .n = n, .k = k, .batch = 1, .op_a = op_a, .type_ab = types->a, .type_c = types->c};
    gt_problem problem;
    gt_terms terms;
    kernel.params.count = 0;
    kernel.registers = registers;
    kernel.facts.tile_m = tile_m;
    kernel.facts.tile_n = 256;
    CHECK_OK(gt_params_add(&kernel.params, "bk", 8));
    CHECK_OK(gt_params_add(&kernel.params, "tm", tm));
    CHECK_OK(gt_params_add(&kernel.params, "down", 4));
    CHECK_OK(gt_params_add(&kernel.params, "wide", 16));
    CHECK_OK(gt_problem_init(&gemm, &problem));
    problem.class.align = align;
    CHECK(gt_estimate_terms(&trials.device, &kernel, &problem, &terms, NULL));
    gt_trials_finish(&trials);
    return terms;
}

TEST(rows_at_an_edge_of_c_take_longer_the_more_of_them_a_tile_has)
{
    const double step = terms_of_columns(64, 4, 128, 8191, 8, GT_N, 4).step;
    CHECK(step > 0 && terms_of_columns(64, 4, 128, 8192, 8, GT_N, 16).step == 0); /* no edge within a vector */
    CHECK_NEAR(terms_of_columns(256, 4, 128, 8191, 8, GT_N, 4).step / step, 4, 1e-9);
    CHECK_NEAR(terms_of_columns(64, 4, 128, 8191, 16, GT_N, 4).step / step, 2 * 2, 1e-9); /* all blocks, of two sets, twice */
    /* Lanes beyond C go the same way. All rows begin alike: 16 of a thread, twice, where it had two times 8 and 8. */
    CHECK_NEAR(terms_of_columns(64, 4, 128, 8188, 8, GT_N, 16).step / step, 4.0 / 3, 1e-9);
}

TEST(threads_that_spill_store_more_than_c)
{
    const double all = terms_of_columns(64, 4, 112, 8191, 8, GT_N, 4).store; /* 32, 4 * (2 * 4 + 8), 16 */
    CHECK(terms_of_columns(64, 4, 128, 8191, 8, GT_N, 4).store == all);
    CHECK(terms_of_columns(64, 2, 80, 8191, 8, GT_N, 4).store == all);
    CHECK_NEAR(terms_of_columns(64, 4, 80, 8191, 8, GT_N, 4).store / all, 1 + 1.5 * 32 / 16 / 1.125, 1e-9);
    CHECK_NEAR(terms_of_columns(64, 4, 80, 8191, 8, GT_T, 4).store / all, 1 + 1.5 * 20 / 16 / 1.125, 1e-9);
}

TEST(threads_read_their_columns_again_for_rows_that_begin_otherwise)
{
    const double anywhere = terms_of_columns(64, 4, 128, 8192, 8, GT_N, 4).l2;
    const double alike = terms_of_columns(64, 4, 128, 8192, 8, GT_N, 16).l2;
    const double blocks = 4, elements = blocks * 4 * 256 * 8; /* four more threads below each other read all columns */
    CHECK_NEAR(anywhere - alike, elements / 16 / 1980, 1e-9);
}

TEST(one_part_of_k_has_nothing_to_add)
{
    gt_kernel kernel = tensor_tile(64, 64);
    kernel.facts.split_k = 4;
    kernel.facts.ws_tile = 4 * 128 * 128 * 4;
    kernel.facts.any_split = 1;
    CHECK(terms_of(&kernel, 1024, 1, 16).sums > 0);
    gt_kernel_split(&kernel, 1);
    CHECK(terms_of(&kernel, 1024, 1, 16).sums == 0);
}

static double sums_of_slices(int slices)
{
    gt_kernel kernel = tensor_tile(64, 64);
    CHECK_OK(gt_params_add(&kernel.params, "slices", slices));
    return terms_of(&kernel, 1024, 1, 16).sums;
}

TEST(more_k_slice_groups_have_more_to_add)
{
    CHECK(sums_of_slices(1) == 0);
    CHECK_NEAR(sums_of_slices(8) / sums_of_slices(4), 2, 1e-9);
}

TEST(a_stream_begins_beside_the_one_before_it_where_both_find_room)
{
    /* 96 and 192 blocks where the GPU holds 264 */
    CHECK_NEAR(terms_of_vector(6144, 32, 4).begin / terms_of_vector(6144, 64, 4).begin, 2, 1e-9);
    CHECK_NEAR(terms_of_vector(6144, 32, 0).begin / terms_of_vector(6144, 64, 0).begin, 1, 1e-9); /* no stream */
}

TEST(producer_warps_hide_no_latency)
{
    gt_kernel consumers = tensor_tile(64, 64), both;
    consumers.facts.threads = 128;
    both = consumers;
    both.facts.threads = 256; /* four warps bring operands */
    CHECK(terms_of(&both, 1024, 1, 16).compute == terms_of(&consumers, 1024, 1, 16).compute);
}

TEST(shipped_coefficients_agree_with_the_trials_in_the_repository)
{
    gt_trials trials = h200();
    gt_fit fit;
    CHECK_OK(gt_fit_init(&trials.device, trials.lists, trials.count, true, &fit));
    CHECK(fit.count >= 4);
    for (size_t i = 0; i < fit.count; i++) {
        const gt_fit_family *f = &fit.families[i];
        printf("%s: %zu trials, %.1f%% shipped, %.1f%% fitted, %.1f%% held out\n", f->fitted.family, f->trials,
               100 * f->shipped, 100 * f->error, 100 * f->held_out);
        CHECK(f->trials < 40 || f->shipped < 0.18); /* unlike any other coefficients: see below */
        CHECK(f->error < f->shipped * 1.05 + 0.01);
    }
    printf("left out: %.3f, %.2f at most, of %zu\n", fit.before.mean, fit.before.worst, fit.before.problems);
    CHECK(fit.before.problems >= 15 && fit.before.mean < 1.05 && fit.before.among_first >= 0.9);
    gt_fit_finish(&fit);
    gt_trials_finish(&trials);
}

/* The way of a user with another GPU: the table was made by `gemmtune --device soft:a100` and `gemmtune fit --save`. */
TEST(a_fit_to_the_trials_of_another_gpu_orders_them_better_than_what_was_shipped)
{
    gt_trials trials = read_table("GEMMTUNE_TRIALS_A100");
    gt_fit fit;
    CHECK_OK(gt_fit_init(&trials.device, trials.lists, trials.count, true, &fit));
    printf("Spearman of %zu problems: %.3f shipped, %.3f fitted\n", fit.order.problems, fit.order.before, fit.order.after);
    CHECK(fit.order.problems >= 8 && fit.order.after > fit.order.before + 0.2 && fit.order.after > 0.5);
    gt_fit_finish(&fit);
    gt_trials_finish(&trials);
}

TEST(no_kernel_takes_less_than_its_blocks_take_to_be_dispatched)
{
    gt_kernel kernel = tensor_tile(0, 0);
    kernel.facts.tile_m = 2;
    kernel.facts.tile_n = 8;
    kernel.facts.threads = 32;
    kernel.facts.smem_bytes = 0;
    const gt_terms *coefficients = gt_coefficients_shipped("batched", NULL);
    const gt_terms many = terms_of_k(&kernel, 64, 2, 1, 16), few = terms_of_k(&kernel, 2, 2, 1, 16); /* 4,096 blocks and 128 */
    CHECK_NEAR(gt_estimate_us(&many, coefficients), 0.4 + 4096 * 2.5 / 1980, 1e-9);
    CHECK(gt_estimate_us(&few, coefficients) < 2 && gt_estimate_us(&few, coefficients) > few.dispatch);
}

/* A family that nobody fitted begins with what the terms are meant to be, and its own trials mend that. */
TEST(a_fit_finds_what_makes_times_up)
{
    gt_trials trials = h200();
    const gt_terms truth = {.launch = 2, .begin = 3, .compute = 1.5, .step = 0.2, .l2 = 0.7, .narrow = 0.4, .memory = 1.3,
                            .store = 2, .sums = 0.5, .copies = 1, .dispatch = 1};
    gt_fit fit;
    for (size_t i = 0; i < trials.count; i++)
        for (size_t j = 0; j < trials.lists[i].count; j++) {
            gt_measured *row = &trials.lists[i].list[j];
            gt_terms terms;
            strcpy(((gt_kernel *)row->kernel)->family, "unheard_of");
            CHECK(gt_estimate_terms(&trials.device, row->kernel, &row->problem, &terms, NULL));
            row->trial.us = gt_estimate_us(&terms, &truth);
        }
    CHECK_OK(gt_fit_init(&trials.device, trials.lists, trials.count, true, &fit));
    CHECK_INT(fit.count, 1);
    CHECK(fit.families[0].shipped > 0.1 && fit.families[0].error < 0.01 && fit.families[0].held_out < 0.02);
    CHECK(fit.after.mean < 1.05); /* kernels that were measured nearer are trusted more, right or wrong */
    gt_fit_finish(&fit);
    gt_trials_finish(&trials);
}

TEST(a_table_is_written_as_it_was_read_and_a_bad_line_is_named)
{
    gt_trials trials = h200(), again;
    const char *path = in_folder(check_folder(), "trials.txt");
    FILE *file = fopen(path, "w");
    CHECK(file && gt_trials_write_device(file, &trials.device));
    for (size_t i = 0; i < trials.count; i++)
        CHECK(gt_trials_write(file, &trials.lists[i]));
    CHECK(fclose(file) == 0);
    CHECK_OK(gt_trials_read(path, &again));
    CHECK_INT(again.count, trials.count);
    for (size_t i = 0; i < trials.count; i++) {
        CHECK_INT(again.lists[i].count, trials.lists[i].count);
        for (size_t j = 0; j < trials.lists[i].count; j++) {
            const gt_measured *a = &again.lists[i].list[j], *b = &trials.lists[i].list[j];
            CHECK(a->kernel_id == b->kernel_id && a->trial.us == b->trial.us &&
                  gt_problem_same_size(&a->problem, &b->problem) &&
                  memcmp(&a->kernel->facts, &b->kernel->facts, sizeof a->kernel->facts) == 0 &&
                  a->kernel->align == b->kernel->align);
        }
    }
    gt_trials_finish(&again);
    gt_trials_finish(&trials);
    static const char *const bad[] = {"f32 strict none nn 16\t1x1x1x1\t0\tsimt\t0\ttile_m=1 tile_n=1 threads=32\t",
                                      "f32 strict none nn 16\t1x1x1\t5\tsimt\t0\ttile_m=1 tile_n=1 threads=32\t",
                                      "f32 strict none nn 16\t1x1x1x1\t5\tsimt\t0\ttile_m=1 tile_n=1 threads=9999\t",
                                      "f32 strict none nn 16\t1x1x1x1\t5\tsimt\t0\tnothing=1\t",
                                      "f32 strict none nn 16\t1x1x1x1\t5\tsimt\t256\ttile_m=1 tile_n=1 threads=32\t",
                                      "f32 strict none nn 16\t1x1x1x1\t5\tsimt\tx\ttile_m=1 tile_n=1 threads=32\t",
                                      "f32 strict none nn 16\t1x1x1x1\t5\tsimt\t0\ttile_m=1 tile_n=1 threads=32 align=32\t",
                                      "anything"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK((file = fopen(path, "w")) != NULL);
        fprintf(file, "device cc=90 sm_count=132 clock_khz=1980000 name=x\n%s\n", bad[i]);
        CHECK(fclose(file) == 0);
        CHECK_STATUS(gt_trials_read(path, &again), GT_ERROR_INVALID);
        CHECK(strstr(gt_error_message(), "line 2") != NULL);
        gt_trials_finish(&again);
    }
    CHECK_STATUS(gt_trials_read("/dev/zero", &again), GT_ERROR_INVALID); /* a line that never ends is none */
    CHECK(strstr(gt_error_message(), "line 1") != NULL);
    CHECK_STATUS(gt_trials_read(check_folder(), &again), GT_ERROR_INVALID);
    CHECK(strstr(gt_error_message(), "directory") != NULL);
}

/* Whatever a file says, families take sensible coefficients. */
TEST(absurd_coefficients_are_left_out)
{
    static const char *const values[] = {"-1", "1e300", "9e999", "0.0"};
    fixture f = fixture_open();
    gt_store *store = f.store;
    const gt_device device = make_device("a GPU");
    const gt_types *types = gt_types_parse("f32", GT_MATH_STRICT);
    gt_fitted good = {.family = "simt", .coefficients = *gt_coefficients_shipped("simt", NULL)}, *found;
    int64_t gpu;
    size_t count, left_out;
    CHECK_OK(gt_store_gpu(store, &device, &gpu));
    CHECK_OK(gt_store_put_fitted(store, gpu, types, &good, 1));
    CHECK_OK(gt_store_find_fitted(store, &device, types, &found, &count, &left_out));
    CHECK(count == 1 && left_out == 0 && memcmp(&found[0].coefficients, &good.coefficients, sizeof(gt_terms)) == 0);
    free(found);
    good.coefficients.memory = NAN;
    CHECK_STATUS(gt_store_put_fitted(store, gpu, types, &good, 1), GT_ERROR_INVALID);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char sql[200];
        snprintf(sql, sizeof sql, "PRAGMA ignore_check_constraints = 1;"
                                  " UPDATE coefficient SET value = %s WHERE term LIKE 'compute.%%'", values[i]);
        vandalise(gt_store_path(store), sql);
        CHECK_OK(gt_store_find_fitted(store, &device, types, &found, &count, &left_out));
        CHECK(count == 0 && left_out == 1);
        free(found);
    }
    fixture_close(&f);
}

/* After an update that changes what terms mean, what was fitted before would be wrong by any factor. */
TEST(coefficients_of_terms_that_meant_something_else_are_not_taken)
{
    fixture f = fixture_open();
    const gt_device device = make_device("a GPU");
    const gt_types *types = gt_types_parse("f32", GT_MATH_STRICT);
    const gt_fitted good = {.family = "simt", .coefficients = *gt_coefficients_shipped("simt", NULL)};
    gt_fitted *found;
    int64_t gpu;
    size_t count, left_out;
    CHECK_OK(gt_store_gpu(f.store, &device, &gpu));
    CHECK_OK(gt_store_put_fitted(f.store, gpu, types, &good, 1));
    vandalise(gt_store_path(f.store), "UPDATE coefficient SET term = rtrim(term, '.0123456789')");
    CHECK_OK(gt_store_find_fitted(f.store, &device, types, &found, &count, &left_out));
    CHECK(count == 0 && left_out == 0);
    free(found);
    CHECK_OK(gt_store_put_fitted(f.store, gpu, types, &good, 1));
    CHECK_OK(gt_store_find_fitted(f.store, &device, types, &found, &count, &left_out));
    CHECK(count == 1 && left_out == 0);
    free(found);
    fixture_close(&f);
}

CHECK_MAIN
