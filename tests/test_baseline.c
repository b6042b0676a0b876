/*
 * The way of cuBLAS and cuBLASLt into a race, on the software GPU with libraries that pretend to be them and compute on
 * the host: LD_LIBRARY_PATH names their folder. The software GPU's memory is the host's.
 */
#include <dlfcn.h>

#include "../tuner/baselines/cublaslt_abi.h"
#include "../tuner/compile/kept.h"
#include "../tuner/baselines/entrance.h"
#include "../src/dropin/cublas_abi.h"
#include "driver_fixture.h"
#include "fake/cublas.h"
#include "fake/cublaslt.h"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define SAME(a, b) _Static_assert((int)(a) == (int)(b), #a)
SAME(GT_LT_SUCCESS, CUBLAS_STATUS_SUCCESS);
SAME(GT_LT_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED);
SAME(GT_LT_N, CUBLAS_OP_N);
SAME(GT_LT_T, CUBLAS_OP_T);
SAME(GT_LT_32F, CUDA_R_32F);
SAME(GT_LT_16F, CUDA_R_16F);
SAME(GT_LT_COMPUTE_32F, CUBLAS_COMPUTE_32F);
SAME(GT_LT_TRANSPOSE_A, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(GT_LT_TRANSPOSE_B, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(GT_LT_FAST_ACCUM, CUBLASLT_MATMUL_DESC_FAST_ACCUM);
SAME(GT_LT_BATCH, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(GT_LT_STRIDE, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(GT_LT_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(sizeof(gt_lt_offer), sizeof(cublasLtMatmulHeuristicResult_t));
SAME(sizeof(gt_lt_algorithm), sizeof(cublasLtMatmulAlgo_t));
SAME(offsetof(gt_lt_offer, workspace_bytes), offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
SAME(offsetof(gt_lt_offer, state), offsetof(cublasLtMatmulHeuristicResult_t, state));
#endif

#if __has_include(<cublas_api.h>)
#include <cublas_api.h>
SAME(GT_CUBLAS_SUCCESS, CUBLAS_STATUS_SUCCESS);
SAME(GT_CUBLAS_NOT_INITIALIZED, CUBLAS_STATUS_NOT_INITIALIZED);
SAME(GT_CUBLAS_OP_C, CUBLAS_OP_C);
SAME(GT_CUBLAS_HOST_SCALARS, CUBLAS_POINTER_MODE_HOST);
SAME(GT_CUBLAS_ALGORITHM_DEFAULT, CUBLAS_GEMM_DEFAULT);
SAME(GT_CUBLAS_ALGORITHM_DEFAULT_TENSOR, CUBLAS_GEMM_DEFAULT_TENSOR_OP);
SAME(GT_CUBLAS_MATH_DEFAULT, CUBLAS_DEFAULT_MATH);
SAME(GT_CUBLAS_MATH_PEDANTIC, CUBLAS_PEDANTIC_MATH);
SAME(GT_CUBLAS_MATH_TF32, CUBLAS_TF32_TENSOR_OP_MATH);
SAME(GT_CUBLAS_MATH_NO_REDUCED_SUMS, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
SAME(GT_CUDA_64F, CUDA_R_64F);
SAME(GT_CUDA_8I, CUDA_R_8I);
SAME(GT_CUDA_32I, CUDA_R_32I);
SAME(GT_CUDA_16BF, CUDA_R_16BF);
SAME(GT_CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_COMPUTE_32F_PEDANTIC);
SAME(GT_CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_64F);
SAME(GT_CUBLAS_COMPUTE_64F_PEDANTIC, CUBLAS_COMPUTE_64F_PEDANTIC);
SAME(GT_CUBLAS_COMPUTE_32I, CUBLAS_COMPUTE_32I);
SAME(GT_CUBLAS_COMPUTE_32I_PEDANTIC, CUBLAS_COMPUTE_32I_PEDANTIC);
SAME(GT_CUBLAS_COMPUTE_32F_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);
#endif

extern const char gt_embedded_checks_cu[];

static gt_checks checks;
static gt_buffers buffers;
static gt_residual residual;
static gt_meter meter;
static gt_entrance entrance;
static fake_control *fake;
static fake_cublas_control *fake_cublas;
static int phases[GT_PHASE_COUNT];

static void count_phase(void *data, gt_phase phase)
{
    (void)data;
    phases[phase]++;
}

/* What a worker sets up, in this process. */
static void set_up(void)
{
    gt_nvrtc *nvrtc;
    gt_code code;
    gt_device device;
    CUstream stream;
    void *lt = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_LOCAL);
    void *plain = dlopen("libcublas.so.13", RTLD_NOW | RTLD_LOCAL);
    fake = lt ? dlsym(lt, "fake_cublaslt") : NULL;
    fake_cublas = plain ? dlsym(plain, "fake_cublas") : NULL;
    if (!fake || !fake_cublas)
        SKIP("the pretended libraries are not on the loader's path");
    open_context();
    if (gt_nvrtc_open(NULL, &nvrtc) != GT_OK)
        SKIP(gt_error_message());
    CHECK_OK(gt_device_query(cu, 0, &device));
    CHECK_OK(gt_kept_compile(nvrtc, gt_embedded_checks_cu, device.arch, &code));
    OK(cu->cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    CHECK_OK(gt_checks_init(cu, stream, &code, &checks));
    CHECK_OK(gt_meter_init(cu, stream, &device, &meter));
    gt_buffers_init(&checks, &buffers);
    gt_residual_init(&checks, &buffers, &residual);
    entrance = (gt_entrance){.driver = cu, .stream = stream, .meter = &meter, .residual = &residual, .seed = 1};
}

static gt_problem make(gt_type ab, gt_op op_a, gt_op op_b, int64_t batch)
{
    const gt_gemm gemm = {.m = 33, .n = 20, .k = 47, .batch = batch, .lda = 50, .ldb = 53, .ldc = 24, .op_a = op_a,
                          .op_b = op_b, .type_ab = ab, .type_c = ab == GT_S32 ? GT_S32 : GT_F32};
    gt_problem problem;
    CHECK_OK(gt_problem_init(&gemm, &problem));
    return problem;
}

static gt_runner *enter_as(gt_baseline_id id, const gt_problem *problem, gt_baseline *baseline)
{
    gt_launch_operands operands;
    *baseline = (gt_baseline){0};
    memset(phases, 0, sizeof phases);
    return gt_baseline_enter(&entrance, id, problem, 10, count_phase, NULL, &operands, baseline);
}

static gt_runner *enter(const gt_problem *problem, gt_baseline *baseline)
{
    return enter_as(GT_BASELINE_CUBLASLT, problem, baseline);
}

DEVICE_TEST(baselines_are_right_in_all_layouts_types_and_batches)
{
    set_up();
    for (int round = 0; round < 4 * 2 * 2 * GT_BASELINE_COUNT; round++) {
        const int id = round % GT_BASELINE_COUNT, layout = round / GT_BASELINE_COUNT % 4;
        const int half = round / GT_BASELINE_COUNT / 4 % 2, batch = round / GT_BASELINE_COUNT / 8 * 2 + 1;
        const gt_problem problem = make(half ? GT_F16 : GT_F32, (gt_op)(layout / 2), (gt_op)(layout % 2), batch);
        gt_baseline baseline;
        if (!enter_as((gt_baseline_id)id, &problem, &baseline))
            check_fail(__FILE__, __LINE__, "%s layout %d batch %d: %s", gt_baseline_name((size_t)id), layout, batch,
                       baseline.trial.detail);
        CHECK_STR(baseline.version, "13.1.0");
        CHECK_INT(baseline.algorithms, 1);
    }
    gt_cublas_close(entrance.cublas);
    gt_cublaslt_close(entrance.cublaslt);
    CHECK_INT(fake->objects, 0);
}

DEVICE_TEST(autotuning_is_over_before_anything_is_checked_or_timed)
{
    gt_baseline baseline;
    set_up();
    const gt_problem problem = make(GT_F32, GT_N, GT_N, 1);
    gt_launch_operands operands;
    gt_runner *runner = gt_baseline_enter(&entrance, GT_BASELINE_AUTOTUNE, &problem, 10, count_phase, NULL, &operands,
                                          &baseline);
    CHECK(runner == gt_cublas_runner(entrance.cublas, GT_CUBLAS_AUTOTUNE));
    CHECK_INT(fake_cublas->tuned, 1); /* and the checks, which saw the product, took what had been tuned */
    CHECK(fake_cublas->runs > 0);
    CHECK_INT(phases[GT_PHASE_TIMING], 1);
    /* Both entrances of the library are in one race; neither takes the other's problem or algorithm. */
    const gt_problem other = make(GT_F32, GT_N, GT_T, 1);
    CHECK(enter_as(GT_BASELINE_CUBLAS, &other, &baseline) == gt_cublas_runner(entrance.cublas, GT_CUBLAS_HEURISTIC));
    CHECK_INT(fake_cublas->tuned, 1);
    const int before = fake_cublas->runs;
    OK(runner->launch(runner, &operands));
    CHECK_INT(fake_cublas->tuned, 1);
    CHECK_INT(fake_cublas->runs, before + 1);
}

DEVICE_TEST(a_cublas_that_cannot_autotune_races_without)
{
    gt_baseline baseline;
    set_up();
    const gt_problem problem = make(GT_F32, GT_N, GT_N, 1);
    fake_cublas->refusing = 1;
    CHECK(!enter_as(GT_BASELINE_AUTOTUNE, &problem, &baseline));
    CHECK_INT(baseline.trial.outcome, GT_TRIAL_LAUNCH_ERROR);
    CHECK(enter_as(GT_BASELINE_CUBLAS, &problem, &baseline));
    *fake_cublas = (fake_cublas_control){.release = 130100, .lying = 1};
    CHECK(!enter_as(GT_BASELINE_AUTOTUNE, &problem, &baseline));
    CHECK_INT(baseline.trial.outcome, GT_TRIAL_WRONG_RESULT);
    gt_cublas_close(entrance.cublas);
    entrance.cublas = NULL;
    *fake_cublas = (fake_cublas_control){.release = 120805};
    CHECK(!enter_as(GT_BASELINE_AUTOTUNE, &problem, &baseline));
    CHECK_INT(baseline.trial.outcome, GT_TRIAL_LAUNCH_ERROR);
    CHECK_STR(baseline.trial.detail, "cuBLAS 12.8.5 has no autotuning");
    CHECK_INT(fake_cublas->tuned, 0);
    CHECK(enter_as(GT_BASELINE_CUBLAS, &problem, &baseline));
}

DEVICE_TEST(cublas_leaves_8_bit_floats_to_cublaslt_and_says_so)
{
    const gt_gemm gemm = {.m = 32, .n = 32, .k = 32, .op_b = GT_T, .type_ab = GT_E4M3, .type_c = GT_BF16};
    gt_problem problem;
    gt_baseline baseline;
    set_up();
    CHECK_OK(gt_problem_init(&gemm, &problem));
    CHECK(!enter_as(GT_BASELINE_CUBLAS, &problem, &baseline));
    CHECK_INT(baseline.trial.outcome, GT_TRIAL_LAUNCH_ERROR);
    CHECK_STR(baseline.trial.detail, "cuBLAS takes 8-bit floats through cuBLASLt only");
}

/* The pretended library refuses 8-bit operands later, when it is asked for algorithms. */
DEVICE_TEST(only_sums_of_8_bit_floats_are_told_to_be_fast_or_not)
{
    set_up();
    for (size_t i = 0; gt_types_at(i); i++) {
        const gt_types *types = gt_types_at(i);
        const bool narrow = gt_type_find(types->a)->bytes == 1 && !types->exact;
        const gt_gemm gemm = {.m = 32, .n = 32, .k = 32, .type_ab = types->a, .type_c = types->c, .math = types->math};
        gt_problem problem;
        gt_baseline baseline;
        if (types->a != types->b)
            continue;
        CHECK_OK(gt_problem_init(&gemm, &problem));
        fake->fast = -1;
        enter(&problem, &baseline);
        if (fake->fast != (narrow ? types->math != GT_MATH_STRICT : -1))
            check_fail(__FILE__, __LINE__, "%s %s: FAST_ACCUM is %d", types->name, gt_math_name(types->math),
                       fake->fast);
    }
}

DEVICE_TEST(every_algorithm_that_can_run_is_timed_and_the_first_right_one_races)
{
    gt_baseline baseline;
    set_up();
    const gt_problem problem = make(GT_F32, GT_N, GT_N, 1);
    *fake = (fake_control){.offers = 7, .lying = 1 << 0, .refusing = 1 << 3};
    CHECK(enter(&problem, &baseline) == gt_cublaslt_runner(entrance.cublaslt));
    CHECK_INT(baseline.trial.outcome, GT_TRIAL_OK);
    /* Of seven the second cannot run, the third wants too much workspace, the fourth refuses. */
    CHECK_INT(baseline.algorithms, 4);
    CHECK_INT(fake->ran, 1 << 0 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6);
    CHECK_INT(fake->last, 4); /* times are equal here: the first one lies, the next is taken */
    CHECK_INT(phases[GT_PHASE_TIMING], 5);
    CHECK_INT(phases[GT_PHASE_VERIFYING], 2);
    /* What is chosen stays so: the race prepares nothing. */
    gt_launch_operands operands = {
        .a = (void *)buffers.a.data, .b = (void *)buffers.b.data, .c = (void *)buffers.c.data};
    OK(gt_cublaslt_runner(entrance.cublaslt)->launch(gt_cublaslt_runner(entrance.cublaslt), &operands));
    CHECK_INT(fake->last, 4);
}

DEVICE_TEST(a_search_ends_with_its_time_but_not_before_one_ran)
{
    gt_baseline baseline;
    gt_launch_operands operands;
    set_up();
    const gt_problem problem = make(GT_F32, GT_N, GT_N, 1);
    *fake = (fake_control){.offers = 7, .refusing = 1 << 0};
    CHECK(gt_baseline_enter(&entrance, GT_BASELINE_CUBLASLT, &problem, 0, count_phase, NULL, &operands, &baseline));
    CHECK_INT(fake->ran, 1 << 0 | 1 << 3);
}

DEVICE_TEST(what_gives_other_bits_on_the_same_data_is_noticed)
{
    gt_baseline baseline;
    set_up();
    const gt_problem problem = make(GT_F32, GT_N, GT_N, 1);
    *fake = (fake_control){.offers = 1};
    CHECK(enter(&problem, &baseline) && !baseline.trial.varied);
    *fake = (fake_control){.offers = 1, .wavering = 1};
    CHECK(enter(&problem, &baseline)); /* it is right all the same */
    CHECK(baseline.trial.varied);
}

DEVICE_TEST(a_baseline_that_cannot_race_says_why)
{
    gt_baseline baseline;
    set_up();
    const gt_problem problem = make(GT_F32, GT_N, GT_N, 1), integers = make(GT_S32, GT_N, GT_N, 1);
    *fake = (fake_control){.offers = 4, .lying = -1};
    CHECK(!enter(&problem, &baseline));
    CHECK_INT(baseline.trial.outcome, GT_TRIAL_WRONG_RESULT);
    *fake = (fake_control){.offers = 4, .refusing = -1};
    CHECK(!enter(&problem, &baseline));
    CHECK_INT(baseline.trial.outcome, GT_TRIAL_LAUNCH_ERROR);
    CHECK(!enter(&integers, &baseline));
    CHECK_STR(baseline.trial.detail, "cuBLASLt has no s32");
    fake->offers = 0;
    CHECK(!enter(&problem, &baseline));
    CHECK_STR(baseline.trial.detail, "cuBLASLt has no algorithm for this problem");
    *fake = (fake_control){.offers = 1};
    CHECK(enter(&problem, &baseline)); /* and the next time all is well */
    entrance.other_driver = true;
    CHECK(!enter(&problem, &baseline));
    CHECK_STR(baseline.trial.detail, "cublaslt runs on the CUDA driver only");
}

CHECK_MAIN
