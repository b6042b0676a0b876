/* From a kernel and a problem to a grid, a workspace and arguments; and the driver's table where there is none. */
#include "../src/core/launch.h"
#include "../src/runtime/plan.h"
#include "check.h"

static gt_kernel tile(int m, int n)
{
    gt_kernel kernel = {.family = "simt"};
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        *gt_fact(&kernel.facts, i) = gt_fact_rows[i].absent;
    kernel.facts.tile_m = m;
    kernel.facts.tile_n = n;
    kernel.facts.threads = 128;
    return kernel;
}

static gt_problem sized(int64_t m, int64_t n, int64_t k, int64_t batch)
{
    gt_gemm gemm = GT_GEMM(GT_F32, m, n, k);
    gt_problem problem;
    gemm.batch = batch;
    CHECK_OK(gt_problem_init(&gemm, &problem));
    return problem;
}

TEST(grid_covers_tails)
{
    const gt_kernel kernel = tile(128, 64);
    const gt_problem problem = sized(129, 65, 7, 3);
    gt_launch launch;
    CHECK_OK(gt_launch_init(NULL, &kernel, &problem, &launch));
    CHECK_INT(launch.grid[0], 4);
    CHECK_INT(launch.grid[1], 1);
    CHECK_INT(launch.grid[2], 3);
    CHECK_INT(launch.workspace_bytes, 0);
}

TEST(split_kernels_get_workspace_for_each_tile_and_matrix)
{
    gt_kernel kernel = tile(128, 64);
    const gt_problem problem = sized(129, 65, 7, 3);
    gt_launch launch;
    kernel.facts.split_k = 5;
    kernel.facts.ws_tile = 5 * 128 * 64 * 4;
    CHECK_OK(gt_launch_init(NULL, &kernel, &problem, &launch));
    CHECK_INT(launch.grid[1], 5);
    CHECK_INT(launch.counter_bytes, 4 * 3 * 5 * 4);
    CHECK_INT(launch.workspace_bytes, 4ll * 3 * 5 * 128 * 64 * 4);
}

TEST(one_part_of_k_needs_no_workspace_where_a_kernel_takes_any_number)
{
    gt_kernel kernel = tile(128, 64);
    const gt_problem problem = sized(129, 65, 7, 3);
    gt_launch launch;
    kernel.facts.split_k = 5;
    kernel.facts.ws_tile = 5 * 128 * 64 * 4;
    kernel.facts.any_split = 1;
    gt_kernel_split(&kernel, 2);
    CHECK_OK(gt_launch_init(NULL, &kernel, &problem, &launch));
    CHECK_INT(launch.workspace_bytes, 4 * 3 * 2 * 128 * 64 * 4);
    gt_kernel_split(&kernel, 1);
    CHECK_OK(gt_launch_init(NULL, &kernel, &problem, &launch));
    CHECK_INT(gt_launch_memory(&launch), 0);
    kernel.facts.cluster_y = kernel.facts.split_k = 2; /* nor does a cluster that shares K alone */
    CHECK_OK(gt_launch_init(NULL, &kernel, &problem, &launch));
    CHECK_INT(gt_launch_memory(&launch), 0);
}

TEST(a_fixed_number_of_blocks_shares_all_tiles)
{
    gt_kernel kernel = tile(128, 64);
    const gt_problem problem = sized(129, 65, 7, 3);
    gt_launch launch;
    kernel.facts.blocks = 132;
    kernel.facts.ws_tile = 2 * 128 * 64 * 4;
    CHECK_OK(gt_launch_init(NULL, &kernel, &problem, &launch));
    CHECK_INT(launch.grid[0], 132);
    CHECK_INT(launch.grid[2], 3);
    CHECK_INT(launch.counter_bytes, 132 * 3 * 4);
    CHECK_INT(launch.workspace_bytes, 132ll * 3 * 2 * 128 * 64 * 4);
}

TEST(of_blocks_that_only_take_tiles_there_are_no_more_than_tiles)
{
    gt_kernel kernel = tile(128, 64);
    const gt_problem few = sized(129, 65, 7, 3), many = sized(1281, 1281, 7, 1);
    gt_launch launch;
    kernel.facts.blocks = 132;
    CHECK_OK(gt_launch_init(NULL, &kernel, &few, &launch));
    CHECK_INT(launch.grid[0], 4);
    CHECK_INT(launch.grid[2], 3);
    kernel.facts.cluster_x = 3;
    CHECK_OK(gt_launch_init(NULL, &kernel, &few, &launch));
    CHECK_INT(launch.grid[0], 6);
    CHECK_OK(gt_launch_init(NULL, &kernel, &many, &launch));
    CHECK_INT(launch.grid[0], 132);
}

/* Each tile has a counter and room for the sums of its parts. */
TEST(a_persistent_kernel_has_a_block_for_each_tile_where_k_is_split)
{
    gt_kernel kernel = tile(128, 64);
    const gt_problem few = sized(129, 65, 7, 3), many = sized(1281, 1281, 7, 1);
    gt_launch launch;
    kernel.facts.blocks = 132;
    kernel.facts.ws_tile = 128 * 64 * 4;
    kernel.facts.any_split = 1;
    CHECK_OK(gt_launch_init(NULL, &kernel, &few, &launch));
    CHECK_INT(launch.grid[0], 4);
    CHECK_INT(gt_launch_memory(&launch), 0);
    CHECK_OK(gt_launch_init(NULL, &kernel, &many, &launch));
    CHECK_INT(launch.grid[0], 132);
    gt_kernel_split(&kernel, 3);
    CHECK_OK(gt_launch_init(NULL, &kernel, &many, &launch));
    CHECK_INT(launch.grid[0], 11 * 21);
    CHECK_INT(launch.grid[1], 3);
    CHECK_INT(launch.workspace_bytes, 11ll * 21 * 3 * 128 * 64 * 4);
}

TEST(clusters_at_an_edge_are_whole_so_that_no_block_has_two_tiles)
{
    gt_kernel kernel = tile(128, 64);
    const gt_problem odd = sized(3 * 128, 5 * 64, 7, 1); /* 3 x 5 tiles */
    gt_launch launch;
    kernel.facts.cluster_x = 2;
    kernel.params = (gt_params){.list = {{"cluster_m", 2}, {"cluster_n", 1}}, .count = 2};
    CHECK_OK(gt_launch_init(NULL, &kernel, &odd, &launch));
    CHECK_INT(launch.grid[0], 4 * 5);
    kernel.facts.cluster_x = 8;
    kernel.params = (gt_params){.list = {{"cluster_m", 2}, {"cluster_n", 4}}, .count = 2};
    CHECK_OK(gt_launch_init(NULL, &kernel, &odd, &launch));
    CHECK_INT(launch.grid[0], 4 * 8);
    kernel.facts.blocks = 24;
    CHECK_OK(gt_launch_init(NULL, &kernel, &odd, &launch));
    CHECK_INT(launch.grid[0], 24);
    kernel.params.list[0].value = 3; /* of a file that somebody has changed: not of a cluster of eight */
    kernel.facts.blocks = 0;
    CHECK_OK(gt_launch_init(NULL, &kernel, &odd, &launch));
    CHECK_INT(launch.grid[0], 3 * 8);
}

TEST(copies_of_operands_have_room_in_the_workspace)
{
    gt_kernel kernel = tile(128, 64);
    const gt_problem problem = sized(129, 65, 7, 3);
    gt_launch launch;
    kernel.facts.repack = 3;
    CHECK_OK(gt_launch_init(NULL, &kernel, &problem, &launch));
    CHECK_INT(launch.copies.blocks, 4); /* three squares of 64 of A, and lines of B, which stay lines */
    CHECK_INT(launch.counter_bytes, 0);
    CHECK_INT(launch.workspace_bytes, 3 * 7 * (640 + 384)); /* lines of 516 and 260 bytes */
    kernel.facts.repack = 1;
    CHECK_OK(gt_launch_init(NULL, &kernel, &problem, &launch));
    CHECK_INT(launch.copies.blocks, 3);
    CHECK_INT(launch.workspace_bytes, 3 * 7 * 640);
    kernel.facts.repack = 2;
    CHECK_OK(gt_launch_init(NULL, &kernel, &problem, &launch));
    CHECK_INT(launch.copies.blocks, 1);
    CHECK_INT(launch.workspace_bytes, 3 * 7 * 384);
    kernel.facts.repack = 7; /* as stored: 129 lines of 28 bytes, 7 of 260 */
    CHECK_OK(gt_launch_init(NULL, &kernel, &problem, &launch));
    CHECK_INT(launch.copies.blocks, 5 + 1);
    CHECK_INT(launch.workspace_bytes, 3 * (129 * 128 + 7 * 384));
    kernel.facts.repack = 11; /* along K: 129 lines of 28 bytes, and 65 */
    CHECK_OK(gt_launch_init(NULL, &kernel, &problem, &launch));
    CHECK_INT(launch.workspace_bytes, 3 * (129 + 65) * 128);
    kernel.facts.repack = 27; /* in two parts: 7 of K are 32, twice, of two bytes each; and eight bytes a line */
    CHECK_OK(gt_launch_init(NULL, &kernel, &problem, &launch));
    CHECK_INT(launch.workspace_bytes, 3 * ((129 + 65) * 128 + 1152 + 640));
    CHECK_INT(launch.copies.blocks, 17 + 3); /* of eight lines along K, and of strips of 32 */
    CHECK_INT(launch.copies.copy[GT_A].type, GT_F16);
    CHECK_INT(launch.copies.copy[GT_A].columns, 64);
    kernel.facts.repack = 19; /* B, stored across K, has a row for each column and 32 of K */
    const gt_problem longer = sized(129, 65, 40, 3);
    CHECK_OK(gt_launch_init(NULL, &kernel, &longer, &launch));
    CHECK_INT(launch.workspace_bytes, 3 * ((129 + 65) * 256 + 1152 + 640));
    CHECK_INT(launch.copies.copy[GT_A].rows, 129);
    CHECK_INT(launch.copies.copy[GT_A].columns, 128);
    CHECK_INT(launch.copies.copy[GT_B].rows, 2 * 65);
    CHECK_INT(launch.copies.copy[GT_B].columns, 64);
    const int wrong[] = {4, 12, 15, 20, 23, 24};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        kernel.facts.repack = wrong[i];
        CHECK_STATUS(gt_launch_init(NULL, &kernel, &problem, &launch), GT_ERROR_INVALID);
    }
}

TEST(nothing_is_launched_for_an_empty_result)
{
    const gt_kernel kernel = tile(16, 16);
    const gt_problem problem = sized(0, 65, 7, 1);
    gt_launch launch;
    CHECK_OK(gt_launch_init(NULL, &kernel, &problem, &launch));
    CHECK(launch.empty);
}

TEST(a_tensor_map_of_an_operand_without_elements_is_one_element)
{
    gt_kernel kernel = tile(16, 16);
    gt_launch launch;
    kernel.facts.box_a_rows = kernel.facts.box_a_columns = 8;
    for (int64_t batch = 1; batch <= 3; batch += 2) {
        const gt_problem problem = sized(64, 64, 0, batch);
        CHECK_OK(gt_launch_init(NULL, &kernel, &problem, &launch));
        CHECK_INT(launch.maps.count, 1);
        for (int i = 0; i < 3; i++)
            CHECK_INT(launch.maps.list[0].size[i], 1);
        for (int i = 0; i < 2; i++) /* what cuTensorMapEncodeTiled takes */
            CHECK(launch.maps.list[0].stride[i] > 0 && launch.maps.list[0].stride[i] % 16 == 0);
    }
}

TEST(absurd_facts_of_a_stored_kernel_are_refused)
{
    const gt_problem problem = sized(64, 64, 64, 1);
    gt_launch launch;
    gt_kernel bad[9];
    for (int i = 0; i < 9; i++)
        bad[i] = tile(16, 16);
    bad[0].facts.tile_m = 0;
    bad[1].facts.threads = 4096;
    bad[2].facts.smem_bytes = -1;
    bad[3].facts.split_k = 1 << 20;
    bad[4].facts.cluster_y = 99;
    bad[5].facts.ws_tile = INT64_MAX;
    bad[6].facts.blocks = -1;
    bad[7].facts.cluster_y = 2; /* of one part of K */
    bad[8].facts.products = 8;
    bad[8].facts.repack = 7; /* room for copies of one product in eight */
    for (int i = 0; i < 9; i++)
        CHECK_STATUS(gt_launch_init(NULL, &bad[i], &problem, &launch), GT_ERROR_INVALID);
    CHECK(strstr(gt_error_message(), "repack with products 8"));
}

TEST(more_tiles_than_a_grid_holds_are_refused)
{
    const gt_kernel kernel = tile(1, 1);
    const gt_problem problem = sized(1 << 20, 1 << 20, 1, 1);
    gt_launch launch;
    CHECK_STATUS(gt_launch_init(NULL, &kernel, &problem, &launch), GT_ERROR_INVALID);
}

/* Notes what a driver is asked to launch. */
static struct {
    unsigned z[5], cluster[5][2];
    gt_args args[5];
    bool dependent[5];
    int calls;
} seen;

static CUresult CUDAAPI record_launch(const CUlaunchConfig *config, CUfunction f, void **parameters, void **extra)
{
    (void)f, (void)extra;
    const int i = seen.calls++;
    seen.z[i] = config->gridDimZ;
    seen.args[i] = *(const gt_args *)parameters[0];
    for (unsigned n = 0; n < config->numAttrs; n++)
        if (config->attrs[n].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            seen.cluster[i][0] = config->attrs[n].value.clusterDim.x;
            seen.cluster[i][1] = config->attrs[n].value.clusterDim.y;
        } else if (config->attrs[n].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
            seen.dependent[i] = config->attrs[n].value.programmaticStreamSerializationAllowed;
        }
    return CUDA_SUCCESS;
}

/* Launches a kernel once on a driver that only notes it. */
static void launch(const gt_driver *driver, const gt_kernel *kernel, const gt_problem *problem,
                   const gt_launch_operands *operands)
{
    const gt_module module = {0};
    gt_launch l;
    CHECK_OK(gt_launch_init(NULL, kernel, problem, &l));
    CHECK(gt_launch_run(driver, &module, &l, operands, NULL) == CUDA_SUCCESS);
}

static gt_launch_operands plain(void)
{
    return (gt_launch_operands){.a = (void *)0x1000, .b = (void *)0x2000, .c = (void *)0x3000, .alpha.f32 = 1};
}

TEST(only_what_waits_itself_is_launched_before_the_stream_is_done)
{
    gt_driver driver = {.cuLaunchKernelEx = record_launch, .version = 13000};
    gt_kernel kernel = tile(16, 16);
    const gt_problem problem = sized(2, 2, 2, 1);
    const gt_launch_operands operands = plain();
    memset(&seen, 0, sizeof seen);
    launch(&driver, &kernel, &problem, &operands);
    CHECK(seen.calls == 1 && !seen.dependent[0] && seen.cluster[0][0] == 0);
    kernel.facts.dependent_launch = 1;
    kernel.facts.repack = 2;
    kernel.facts.split_k = 4;
    kernel.facts.cluster_y = 2;
    launch(&driver, &kernel, &problem, &operands);
    CHECK(seen.calls == 3 && seen.dependent[1] && seen.cluster[1][0] == 0 && seen.dependent[2]);
    CHECK(seen.cluster[2][0] == 1 && seen.cluster[2][1] == 2);
    driver.version = 12020; /* whose graphs do not know it */
    kernel.facts.repack = 0;
    kernel.facts.cluster_x = 4;
    launch(&driver, &kernel, &problem, &operands);
    CHECK(seen.calls == 4 && !seen.dependent[3] && seen.cluster[3][0] == 4 && seen.cluster[3][1] == 2);
}

TEST(a_serial_launch_waits_for_the_stream_and_its_product_for_its_copies)
{
    const gt_driver driver = {.cuLaunchKernelEx = record_launch, .version = 13000};
    const gt_problem problem = sized(2, 2, 2, 1);
    gt_kernel kernel = tile(16, 16);
    gt_launch_operands operands = plain();
    kernel.facts.dependent_launch = 1;
    operands.serial = true;
    memset(&seen, 0, sizeof seen);
    launch(&driver, &kernel, &problem, &operands);
    CHECK(seen.calls == 1 && !seen.dependent[0]);
    kernel.facts.repack = 2;
    launch(&driver, &kernel, &problem, &operands);
    CHECK(seen.calls == 3 && !seen.dependent[1] && seen.dependent[2]);
}

TEST(a_product_that_lasts_waits_for_that_of_another_kernel_in_its_stream)
{
    static char streams[2], kernels[2];
    const gt_driver driver = {.cuLaunchKernelEx = record_launch, .version = 13000};
    const struct {
        int stream, kernel;
        bool lasts, dependent;
    } products[] = {{0, 0, true, true}, {0, 0, true, true}, {0, 1, true, false}, {1, 0, true, true},
                    {1, 1, false, true}};
    const gt_problem problem = sized(2, 2, 2, 1);
    gt_kernel kernel = tile(16, 16);
    gt_plan plan = {.driver = &driver};
    const float one = 1, zero = 0;
    kernel.facts.dependent_launch = 1;
    CHECK_OK(gt_launch_init(NULL, &kernel, &problem, &plan.launch));
    memset(&seen, 0, sizeof seen);
    for (int i = 0; i < 5; i++) {
        plan.module.function = (CUfunction)&kernels[products[i].kernel];
        plan.lasts = products[i].lasts;
        CHECK_OK(gt_execute(&plan, (CUstream)&streams[products[i].stream], &one, (void *)0x1000, (void *)0x2000, &zero,
                            (void *)0x3000));
        CHECK(seen.dependent[i] == products[i].dependent);
    }
}

TEST(large_batches_are_launched_in_turns)
{
    const gt_driver driver = {.cuLaunchKernelEx = record_launch};
    const gt_kernel kernel = tile(16, 16);
    const gt_problem problem = sized(2, 2, 2, 70000);
    const gt_launch_operands operands = plain();
    memset(&seen, 0, sizeof seen);
    launch(&driver, &kernel, &problem, &operands);
    CHECK_INT(seen.calls, 2);
    CHECK_INT(seen.z[0], 65535);
    CHECK_INT(seen.z[1], 70000 - 65535);
    CHECK(seen.args[1].a == (const char *)0x1000 + 65535ll * 4 * 4);
    CHECK(seen.args[1].c == (const char *)0x3000 + 65535ll * 4 * 4);
}

TEST(a_block_of_several_products_is_told_how_many_there_are)
{
    const gt_driver driver = {.cuLaunchKernelEx = record_launch};
    gt_kernel kernel = tile(16, 16);
    const gt_problem few = sized(2, 2, 2, 13), many = sized(2, 2, 2, 600000);
    const gt_launch_operands operands = plain();
    kernel.facts.products = 8;
    memset(&seen, 0, sizeof seen);
    launch(&driver, &kernel, &few, &operands);
    CHECK(seen.calls == 1 && seen.z[0] == 2 && seen.args[0].batch == 13);
    memset(&seen, 0, sizeof seen);
    launch(&driver, &kernel, &many, &operands);
    CHECK(seen.calls == 2 && seen.z[0] == 65535 && seen.args[0].batch == 65535 * 8);
    CHECK(seen.args[1].batch == 600000 - 65535 * 8 && seen.z[1] == (600000 - 65535 * 8 + 7) / 8);
    CHECK(seen.args[1].a == (const char *)0x1000 + 65535ll * 8 * 4 * 4);
}

TEST(zero_alpha_makes_k_zero_and_gives_no_operands)
{
    const gt_driver driver = {.cuLaunchKernelEx = record_launch};
    const gt_kernel kernel = tile(16, 16);
    const gt_problem problem = sized(2, 2, 9, 1);
    gt_problem integers = problem;
    integers.class.type_a = integers.class.type_b = integers.class.type_c = GT_S32;
    gt_launch_operands operands = plain();
    memset(&seen, 0, sizeof seen);
    operands.alpha.f32 = 2.5f;
    operands.beta.f32 = 0.5f;
    launch(&driver, &kernel, &problem, &operands);
    CHECK_INT(seen.args[0].k, 9);
    CHECK(seen.args[0].alpha.f32 == 2.5f && seen.args[0].beta.f32 == 0.5f && seen.args[0].a == (void *)0x1000);
    operands.alpha.f32 = -0.0f;
    launch(&driver, &kernel, &problem, &operands);
    CHECK(seen.args[1].k == 0 && !seen.args[1].a && !seen.args[1].b);
    operands.alpha = (gt_scalar){.s32 = 0};
    operands.beta = (gt_scalar){.s32 = 3};
    launch(&driver, &kernel, &integers, &operands);
    CHECK(seen.args[2].k == 0 && seen.args[2].beta.s32 == 3);
}

TEST(an_infinite_alpha_is_nothing_to_a_product_without_k)
{
    const gt_driver driver = {.cuLaunchKernelEx = record_launch};
    const gt_kernel kernel = tile(16, 16);
    const gt_problem problem = sized(2, 2, 0, 1);
    gt_launch_operands operands = plain();
    memset(&seen, 0, sizeof seen);
    operands.alpha.f32 = INFINITY;
    operands.beta.f32 = 0.5f;
    launch(&driver, &kernel, &problem, &operands);
    CHECK(seen.args[0].k == 0 && seen.args[0].alpha.f32 == 0 && seen.args[0].beta.f32 == 0.5f);
}

static struct {
    const void *address[3];
    cuuint64_t row_bytes[3];
    CUtensorMapSwizzle swizzle[3];
    int count;
} mapped;

static CUresult CUDAAPI record_map(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                   const cuuint64_t *size, const cuuint64_t *stride, const cuuint32_t *box,
                                   const cuuint32_t *every, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                   CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    (void)map, (void)type, (void)rank, (void)size, (void)box, (void)every, (void)interleave, (void)promotion, (void)fill;
    mapped.swizzle[mapped.count] = swizzle;
    mapped.row_bytes[mapped.count] = stride[0];
    mapped.address[mapped.count++] = address;
    return CUDA_SUCCESS;
}

TEST(an_operand_that_is_aligned_itself_is_not_copied)
{
    const gt_driver driver = {.cuLaunchKernelEx = record_launch, .cuTensorMapEncodeTiled = record_map};
    gt_kernel kernel = tile(64, 64);
    gt_gemm gemm = GT_GEMM(GT_BF16, 128, 65, 64); /* rows of C are odd */
    gemm.op_b = GT_T;
    gt_problem problem;
    CHECK_OK(gt_problem_init(&gemm, &problem));
    CHECK_INT(problem.class.align, 2);
    kernel.facts.repack = 7;
    kernel.facts.box_a_rows = kernel.facts.box_b_rows = kernel.facts.box_a_columns = kernel.facts.box_b_columns = 64;
    const char *const workspace = (const char *)0x8000;
    const struct {
        uintptr_t a, b;
        const void *map_a, *map_b;
        int calls;
        int64_t m, n; /* of the copies */
    } cases[] = {{0x1000, 0x2000, (void *)0x1000, (void *)0x2000, 1, 0, 0},
                 {0x1002, 0x2000, workspace, (void *)0x2000, 2, 128, 0},
                 {0x1000, 0x2002, (void *)0x1000, workspace, 2, 0, 65},
                 {0x1002, 0x2002, workspace, workspace + 128 * 128, 2, 128, 65}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gt_launch_operands operands = plain();
        operands.a = (void *)cases[i].a;
        operands.b = (void *)cases[i].b;
        operands.workspace = (void *)workspace;
        memset(&seen, 0, sizeof seen);
        memset(&mapped, 0, sizeof mapped);
        launch(&driver, &kernel, &problem, &operands);
        CHECK(seen.calls == cases[i].calls && mapped.count == 2);
        CHECK(mapped.address[0] == cases[i].map_a && mapped.address[1] == cases[i].map_b);
        if (seen.calls == 2)
            CHECK(seen.args[0].m == cases[i].m && seen.args[0].n == cases[i].n && seen.args[0].k == 64);
    }
    gemm.lda = 65; /* rows of A are odd too, those of B have a gap and are not */
    gemm.ldb = 72;
    CHECK_OK(gt_problem_init(&gemm, &problem));
    gt_launch_operands operands = plain();
    operands.workspace = (void *)workspace;
    memset(&seen, 0, sizeof seen);
    memset(&mapped, 0, sizeof mapped);
    launch(&driver, &kernel, &problem, &operands);
    CHECK(seen.calls == 2 && mapped.address[0] == workspace && mapped.address[1] == (void *)0x2000);
    CHECK(mapped.row_bytes[0] == 128 && mapped.row_bytes[1] == 144);
}

TEST(boxes_are_swizzled_as_the_kernel_says_or_by_the_length_of_their_lines)
{
    const gt_driver driver = {.cuLaunchKernelEx = record_launch, .cuTensorMapEncodeTiled = record_map};
    gt_kernel kernel = tile(64, 32);
    const gt_gemm gemm = GT_GEMM(GT_BF16, 128, 64, 64);
    const gt_launch_operands operands = plain();
    gt_problem problem;
    gt_launch l;
    CHECK_OK(gt_problem_init(&gemm, &problem));
    kernel.facts.box_a_rows = kernel.facts.box_b_rows = kernel.facts.box_a_columns = 64;
    kernel.facts.box_b_columns = 32;
    kernel.facts.swizzle_ab = 2;
    memset(&mapped, 0, sizeof mapped);
    launch(&driver, &kernel, &problem, &operands);
    CHECK(mapped.swizzle[0] == CU_TENSOR_MAP_SWIZZLE_64B && mapped.swizzle[1] == CU_TENSOR_MAP_SWIZZLE_64B);
    kernel.facts.swizzle_ab = 4;
    memset(&mapped, 0, sizeof mapped);
    launch(&driver, &kernel, &problem, &operands);
    CHECK(mapped.swizzle[0] == CU_TENSOR_MAP_SWIZZLE_128B && mapped.swizzle[1] == CU_TENSOR_MAP_SWIZZLE_64B);
    kernel.facts.box_b_columns = 48;
    CHECK_STATUS(gt_launch_init(NULL, &kernel, &problem, &l), GT_ERROR_INVALID);
    CHECK(strstr(gt_error_message(), "96 bytes"));
}

TEST(counters_and_workspace_share_one_piece_of_memory)
{
    gt_kernel kernel = tile(16, 16);
    const gt_problem problem = sized(40, 40, 9, 1);
    gt_launch l;
    gt_launch_operands operands = {0};
    kernel.facts.split_k = 2;
    kernel.facts.ws_tile = 100;
    CHECK_OK(gt_launch_init(NULL, &kernel, &problem, &l));
    CHECK_INT(gt_launch_memory(&l), 256 + 9 * 100);
    gt_launch_place(&l, (void *)0x1000, &operands);
    CHECK(operands.counters == (void *)0x1000 && operands.workspace == (void *)0x1100);
    kernel = tile(16, 16);
    CHECK_OK(gt_launch_init(NULL, &kernel, &problem, &l));
    CHECK_INT(gt_launch_memory(&l), 0);
}

TEST(a_missing_driver_is_named)
{
    gt_driver *driver = NULL;
    CHECK_STATUS(gt_driver_open("/nowhere/libcuda.so", &driver), GT_ERROR_NO_DRIVER);
    CHECK(strstr(gt_error_message(), "/nowhere/libcuda.so"));
    CHECK(!driver);
    CHECK_STATUS(gt_driver_open("libm.so.6", &driver), GT_ERROR_NO_DRIVER);
    CHECK(strstr(gt_error_message(), "cuInit"));
}

CHECK_MAIN
