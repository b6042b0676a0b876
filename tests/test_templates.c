/* Every family's configurations, sampled, render and compile with NVRTC for Ampere and for Hopper. */
#include "../src/environment.h"
#include "../tuner/compile.h"
#include "check.h"

/* For each family and each problem class below: so many configurations, spread over the space. */
#define SAMPLES_LADDER 2
#define SAMPLES_OTHER 10

static const struct {
    gt_type ab, c;
    gt_op op_a, op_b;
    int64_t m, n, k;
    int align;
} classes[] = {
    {GT_F32, GT_F32, GT_N, GT_N, 2048, 2048, 2048, 16}, {GT_F32, GT_F32, GT_N, GT_T, 20, 1024, 1024, 4},
    {GT_F32, GT_F32, GT_T, GT_N, 512, 512, 512, 16},    {GT_S32, GT_S32, GT_T, GT_T, 1024, 50, 1024, 8},
    {GT_F16, GT_F32, GT_N, GT_N, 512, 512, 512, 16},    {GT_F16, GT_F32, GT_T, GT_T, 512, 512, 512, 4},
};

static const int architectures[] = {80, 90};

static gt_nvrtc *nvrtc_or_skip(void)
{
    gt_nvrtc *nvrtc;
    if (gt_nvrtc_open(NULL, &nvrtc) != GT_OK)
        SKIP(gt_error_message());
    return nvrtc;
}

/* Queues samples of one space; returns how many. */
static size_t submit_samples(gt_compiler *compiler, const gt_families *families, const gt_family *family,
                             const gt_device *device, const gt_problem *problem)
{
    gt_space space;
    CHECK_OK(gt_space_init(family, device, problem, &space));
    const size_t wanted = gt_space_column(&space, "rung") >= 0 ? SAMPLES_LADDER : SAMPLES_OTHER;
    const size_t count = space.rows < wanted ? space.rows : wanted;
    for (size_t i = 0; i < count; i++) {
        const size_t row = space.rows <= wanted ? i : check_random() % space.rows;
        gt_kernel kernel;
        char *source;
        CHECK_OK(gt_space_kernel(&space, row, device, &kernel));
        CHECK_OK(gt_render(families, family, problem, kernel.params, &source, kernel.source_hash));
        CHECK_OK(gt_compiler_submit(compiler, &kernel, source, NULL));
    }
    gt_space_finish(&space);
    return count;
}

TEST(sampled_configurations_of_every_family_compile)
{
    gt_nvrtc *nvrtc = nvrtc_or_skip();
    gt_families families;
    gt_compiler *compiler;
    gt_compiled compiled;
    size_t submitted = 0, failed = 0;
    CHECK_OK(gt_families_init(NULL, &families));
    CHECK_OK(gt_compiler_create(nvrtc, 0, &compiler));
    for (size_t a = 0; a < 2; a++)
        for (size_t c = 0; c < sizeof classes / sizeof classes[0]; c++)
            for (size_t f = 0; f < families.count; f++) {
                gt_device device;
                gt_problem problem;
                const gt_gemm gemm = {.m = classes[c].m, .n = classes[c].n, .k = classes[c].k,
                                      .type_ab = classes[c].ab, .type_c = classes[c].c, .op_a = classes[c].op_a,
                                      .op_b = classes[c].op_b, .align = classes[c].align};
                CHECK_OK(gt_device_model(architectures[a], &device));
                device.sm_count = 108;
                CHECK_OK(gt_problem_init(&gemm, &problem));
                submitted += submit_samples(compiler, &families, &families.list[f], &device, &problem);
            }
    while (gt_compiler_next(compiler, &compiled)) {
        if (compiled.status != GT_OK) {
            printf("%s %s for %s: %s\n", compiled.kernel.family, compiled.kernel.params, compiled.kernel.arch,
                   compiled.detail);
            failed++;
        } else {
            CHECK(compiled.code.cubin_bytes > 0 && strstr(compiled.code.ptx, ".entry " GT_ENTRY));
        }
        gt_code_finish(&compiled.code);
    }
    printf("%zu configurations compiled\n", submitted);
    CHECK_INT(failed, 0);
    CHECK(submitted >= 200);
    gt_compiler_destroy(compiler);
    gt_families_finish(&families);
    gt_nvrtc_close(nvrtc);
}

TEST(what_does_not_compile_comes_back_with_the_first_error)
{
    gt_nvrtc *nvrtc = nvrtc_or_skip();
    gt_compiler *compiler;
    gt_compiled compiled;
    gt_kernel kernel = {.arch = "sm_80"};
    CHECK_OK(gt_compiler_create(nvrtc, 2, &compiler));
    CHECK_OK(gt_compiler_submit(compiler, &kernel, strdup("extern \"C\" __global__ void gemm() { nonsense; }\n"), NULL));
    CHECK_OK(gt_compiler_submit(compiler, &kernel, strdup("extern \"C\" __global__ void gemm() {}\n"), &kernel));
    CHECK(gt_compiler_next(compiler, &compiled));
    CHECK_STATUS(compiled.status, GT_ERROR_COMPILE);
    CHECK(strstr(compiled.detail, "nonsense"));
    CHECK(gt_compiler_next(compiler, &compiled)); /* in the order of submission */
    CHECK_OK(compiled.status);
    CHECK(compiled.tag == &kernel);
    gt_code_finish(&compiled.code);
    CHECK(!gt_compiler_next(compiler, &compiled));
    gt_compiler_destroy(compiler);
    gt_nvrtc_close(nvrtc);
}

TEST(dropped_work_does_not_come_back)
{
    gt_nvrtc *nvrtc = nvrtc_or_skip();
    gt_compiler *compiler;
    gt_compiled compiled;
    gt_kernel kernel = {.arch = "sm_80"};
    int taken = 0;
    CHECK_OK(gt_compiler_create(nvrtc, 1, &compiler));
    for (int i = 0; i < 50; i++)
        CHECK_OK(gt_compiler_submit(compiler, &kernel, strdup("extern \"C\" __global__ void gemm() {}\n"), NULL));
    gt_compiler_drop(compiler);
    for (; gt_compiler_next(compiler, &compiled); taken++)
        gt_code_finish(&compiled.code);
    CHECK(taken < 50);
    gt_compiler_destroy(compiler);
    gt_nvrtc_close(nvrtc);
}

TEST(a_missing_compiler_is_named)
{
    gt_nvrtc *nvrtc;
    CHECK_STATUS(gt_nvrtc_open("/nowhere/libnvrtc.so", &nvrtc), GT_ERROR_NO_COMPILER);
    CHECK(strstr(gt_error_message(), "/nowhere/libnvrtc.so"));
}

CHECK_MAIN
