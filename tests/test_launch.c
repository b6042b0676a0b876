/* From a kernel and a problem to a grid, a workspace and arguments; and the driver's table where there is none. */
#include "../src/core/launch.h"
#include "check.h"

static gt_kernel tile(int m, int n)
{
    return (gt_kernel){.family = "simt", .tile_m = m, .tile_n = n, .split_k = 1, .threads = 128, .cluster = 1};
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
    CHECK_OK(gt_launch_init(&kernel, &problem, &launch));
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
    kernel.split_k = 5;
    kernel.ws_tile = 5 * 128 * 64 * 4;
    CHECK_OK(gt_launch_init(&kernel, &problem, &launch));
    CHECK_INT(launch.grid[1], 5);
    CHECK_INT(launch.counter_bytes, 4 * 3 * 5 * 4);
    CHECK_INT(launch.workspace_bytes, 4ll * 3 * 5 * 128 * 64 * 4);
}

TEST(a_fixed_number_of_blocks_shares_all_tiles)
{
    gt_kernel kernel = tile(128, 64);
    const gt_problem problem = sized(129, 65, 7, 3);
    gt_launch launch;
    kernel.blocks = 132;
    kernel.ws_tile = 2 * 128 * 64 * 4;
    CHECK_OK(gt_launch_init(&kernel, &problem, &launch));
    CHECK_INT(launch.grid[0], 132);
    CHECK_INT(launch.grid[2], 3);
    CHECK_INT(launch.counter_bytes, 132 * 3 * 4);
    CHECK_INT(launch.workspace_bytes, 132ll * 3 * 2 * 128 * 64 * 4);
}

TEST(copies_of_operands_have_room_in_the_workspace)
{
    gt_kernel kernel = tile(128, 64);
    const gt_problem problem = sized(129, 65, 7, 3);
    gt_launch launch;
    kernel.repack = 3;
    CHECK_OK(gt_launch_init(&kernel, &problem, &launch));
    CHECK_INT(launch.repack, 5); /* squares of 64 */
    CHECK_INT(launch.counter_bytes, 0);
    CHECK_INT(launch.workspace_bytes, 3 * 7 * (640 + 384)); /* lines of 516 and 260 bytes */
    kernel.repack = 1;
    CHECK_OK(gt_launch_init(&kernel, &problem, &launch));
    CHECK_INT(launch.repack, 3);
    CHECK_INT(launch.workspace_bytes, 3 * 7 * 640);
    kernel.repack = 2;
    CHECK_OK(gt_launch_init(&kernel, &problem, &launch));
    CHECK_INT(launch.repack, 2);
    CHECK_INT(launch.workspace_bytes, 3 * 7 * 384);
    kernel.repack = 4;
    CHECK_STATUS(gt_launch_init(&kernel, &problem, &launch), GT_ERROR_INVALID);
}

TEST(nothing_is_launched_for_an_empty_result)
{
    const gt_kernel kernel = tile(16, 16);
    const gt_problem problem = sized(0, 65, 7, 1);
    gt_launch launch;
    CHECK_OK(gt_launch_init(&kernel, &problem, &launch));
    CHECK(launch.empty);
}

TEST(absurd_facts_of_a_stored_kernel_are_refused)
{
    const gt_problem problem = sized(64, 64, 64, 1);
    gt_launch launch;
    gt_kernel bad[7];
    for (int i = 0; i < 7; i++)
        bad[i] = tile(16, 16);
    bad[0].tile_m = 0;
    bad[1].threads = 4096;
    bad[2].smem_bytes = -1;
    bad[3].split_k = 1 << 20;
    bad[4].cluster = 99;
    bad[5].ws_tile = INT64_MAX;
    bad[6].blocks = -1;
    for (int i = 0; i < 7; i++)
        CHECK_STATUS(gt_launch_init(&bad[i], &problem, &launch), GT_ERROR_INVALID);
}

TEST(more_tiles_than_a_grid_holds_are_refused)
{
    const gt_kernel kernel = tile(1, 1);
    const gt_problem problem = sized(1 << 20, 1 << 20, 1, 1);
    gt_launch launch;
    CHECK_STATUS(gt_launch_init(&kernel, &problem, &launch), GT_ERROR_INVALID);
}

/* Notes what a driver is asked to launch. */
static struct {
    unsigned z[4], cluster[4];
    const void *a[4];
    bool early[4];
    int calls;
} seen;

static CUresult CUDAAPI record_launch(const CUlaunchConfig *config, CUfunction f, void **parameters, void **extra)
{
    (void)f, (void)extra;
    const int i = seen.calls++;
    seen.z[i] = config->gridDimZ;
    seen.a[i] = ((const gt_args *)parameters[0])->a;
    for (unsigned n = 0; n < config->numAttrs; n++)
        if (config->attrs[n].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            seen.cluster[i] = config->attrs[n].value.clusterDim.x;
        else if (config->attrs[n].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            seen.early[i] = config->attrs[n].value.programmaticStreamSerializationAllowed;
    return CUDA_SUCCESS;
}

TEST(only_what_waits_itself_is_launched_early)
{
    gt_driver driver = {.cuLaunchKernelEx = record_launch, .version = 13000};
    gt_kernel kernel = tile(16, 16);
    const gt_problem problem = sized(2, 2, 2, 1);
    const gt_module module = {0};
    gt_launch launch;
    gt_args args;
    gt_args_init(&problem, &args);
    memset(&seen, 0, sizeof seen);
    CHECK_OK(gt_launch_init(&kernel, &problem, &launch));
    CHECK(gt_launch_run(&driver, &module, &launch, &problem, &args, NULL) == CUDA_SUCCESS);
    CHECK(seen.calls == 1 && !seen.early[0] && seen.cluster[0] == 0);
    kernel.early = true;
    kernel.repack = 2;
    kernel.cluster = 2;
    CHECK_OK(gt_launch_init(&kernel, &problem, &launch));
    CHECK(gt_launch_run(&driver, &module, &launch, &problem, &args, NULL) == CUDA_SUCCESS);
    CHECK(seen.calls == 3 && seen.early[1] && seen.cluster[1] == 0 && seen.early[2] && seen.cluster[2] == 2);
    driver.version = 12020; /* whose graphs do not know it */
    kernel.repack = 0;
    CHECK_OK(gt_launch_init(&kernel, &problem, &launch));
    CHECK(gt_launch_run(&driver, &module, &launch, &problem, &args, NULL) == CUDA_SUCCESS);
    CHECK(seen.calls == 4 && !seen.early[3] && seen.cluster[3] == 2);
}

TEST(large_batches_are_launched_in_turns)
{
    const gt_driver driver = {.cuLaunchKernelEx = record_launch};
    const gt_kernel kernel = tile(16, 16);
    const gt_problem problem = sized(2, 2, 2, 70000);
    const gt_module module = {0};
    gt_launch launch;
    gt_args args;
    CHECK_OK(gt_launch_init(&kernel, &problem, &launch));
    gt_args_init(&problem, &args);
    args.a = (const void *)0x1000;
    memset(&seen, 0, sizeof seen);
    CHECK(gt_launch_run(&driver, &module, &launch, &problem, &args, NULL) == CUDA_SUCCESS);
    CHECK_INT(seen.calls, 2);
    CHECK_INT(seen.z[0], 65535);
    CHECK_INT(seen.z[1], 70000 - 65535);
    CHECK(seen.a[1] == (const char *)0x1000 + 65535ll * 4 * 4);
}

TEST(zero_alpha_makes_k_zero)
{
    const gt_problem problem = sized(2, 2, 9, 1);
    const gt_types *f32 = gt_types_find(GT_F32, GT_F32), *s32 = gt_types_find(GT_S32, GT_S32);
    gt_args args;
    gt_args_init(&problem, &args);
    gt_args_scale(&args, f32, 9, &(float){2.5f}, &(float){0.5f});
    CHECK_INT(args.k, 9);
    CHECK(args.alpha.f32 == 2.5f && args.beta.f32 == 0.5f);
    gt_args_scale(&args, f32, 9, &(float){-0.0f}, &(float){0.5f});
    CHECK_INT(args.k, 0);
    gt_args_scale(&args, s32, 9, &(int32_t){0}, &(int32_t){3});
    CHECK_INT(args.k, 0);
    CHECK_INT(args.beta.s32, 3);
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
