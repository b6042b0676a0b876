/* Candidates go into the compiler's threads and come out again: in order, or with their error, or not at all. */
#include "../tuner/compile.h"
#include "check.h"

static gt_nvrtc *nvrtc_or_skip(void)
{
    gt_nvrtc *nvrtc;
    if (gt_nvrtc_open(NULL, &nvrtc) != GT_OK)
        SKIP(gt_error_message());
    return nvrtc;
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

TEST(a_dependent_launch_that_does_not_wait_is_refused)
{
    gt_nvrtc *nvrtc = nvrtc_or_skip();
    gt_compiler *compiler;
    gt_compiled compiled;
    gt_kernel kernel = {.family = "mine", .arch = "sm_90a", .facts.dependent_launch = 1};
    CHECK_OK(gt_compiler_create(nvrtc, 1, &compiler));
    CHECK_OK(gt_compiler_submit(compiler, &kernel, strdup("extern \"C\" __global__ void gemm() {}\n"), NULL));
    CHECK_OK(gt_compiler_submit(compiler, &kernel, strdup("extern \"C\" __global__ void gemm()\n"
                                                          "{ asm volatile(\"griddepcontrol.wait;\"); }\n"), NULL));
    CHECK(gt_compiler_next(compiler, &compiled));
    CHECK_STATUS(compiled.status, GT_ERROR_COMPILE);
    CHECK(strstr(compiled.detail, "mine.sql") && !compiled.code.cubin);
    CHECK(gt_compiler_next(compiler, &compiled));
    CHECK_OK(compiled.status);
    gt_code_finish(&compiled.code);
    gt_compiler_destroy(compiler);
    gt_nvrtc_close(nvrtc);
}

/* The order of multiply-adds is the author's at the first level only: the code is another. */
TEST(a_source_chooses_the_assemblers_level)
{
    static const char body[] = "extern \"C\" __global__ void gemm(float *a) { float s[32];\n"
                               "for (int i = 0; i < 32; i++) s[i] = a[i];\n"
                               "for (int k = 0; k < 99; k++)\n#pragma unroll\n"
                               "for (int i = 0; i < 32; i++) s[i] += s[(i + 5) % 32] * a[i + k];\n"
                               "for (int i = 0; i < 32; i++) a[i] = s[i]; }\n";
    gt_nvrtc *nvrtc = nvrtc_or_skip();
    gt_code plain, third, first;
    char source[sizeof body + 32];
    CHECK_OK(gt_nvrtc_compile(nvrtc, body, "sm_80", &plain, NULL));
    snprintf(source, sizeof source, "#define PTXAS 3\n%s", body);
    CHECK_OK(gt_nvrtc_compile(nvrtc, source, "sm_80", &third, NULL));
    snprintf(source, sizeof source, "#define PTXAS 1\n%s", body);
    CHECK_OK(gt_nvrtc_compile(nvrtc, source, "sm_80", &first, NULL));
    CHECK(plain.cubin_bytes == third.cubin_bytes && memcmp(plain.cubin, third.cubin, plain.cubin_bytes) == 0);
    CHECK(plain.cubin_bytes != first.cubin_bytes || memcmp(plain.cubin, first.cubin, plain.cubin_bytes) != 0);
    gt_code_finish(&plain);
    gt_code_finish(&third);
    gt_code_finish(&first);
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
