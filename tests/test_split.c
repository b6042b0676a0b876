/*
 * Products in f32 by parts (GT_MATH_SPLIT) as applications run them: whatever the operands hold, results are as close
 * as is promised, and NaN and infinities are where strict sums have them. CHECK_PLANTED=N in the environment: so many
 * random products with planted values, not some.
 */
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/runtime/plan.h"
#include "check.h"

enum { M = 70, N = 45, K = 131 };

/* The bound of kernel_templates/split.cu for this K, sums of 64 products on tensor cores, and of 32 in three parts. */
#define BOUND (4 * 0x1p-22 + 0x1p-19 + 1.002 * 64 / 16 * (17 * 0x1p-25 + 0x1p-23) + 6 * 0x1p-24)

static gt_driver *driver;

static void open_driver(void)
{
    if (!driver && gt_driver_open(NULL, &driver) != GT_OK)
        SKIP(gt_error_message());
}

/* A configuration of the family with two warp groups that take turns; all launch facts follow. */
static const char space[] =
    "SELECT 128 AS bm, 32 AS bn, 32 AS bk, 2 AS warp_groups, 4 AS stages, 2 AS interval, 1 AS ordered, 1 AS \"group\","
    " 19 AS repack, 1 AS occ, 0 AS blocks, 384 AS threads, 4 * 160 * 128 + 2 * 8192 + 80 AS smem_bytes, 168 AS regs,"
    " 128 AS box_a_rows, 64 AS box_a_columns, 32 AS box_b_rows, 64 AS box_b_columns, 3 AS swizzle_ab, 1 AS "
    "dependent_launch"
    " WHERE :math = 'split' AND :cc = 90";

/* A folder with the family's template and that space. */
static const char *templates(void)
{
    static char folder[512];
    const char *families = getenv("GEMMTUNE_FAMILIES");
    char command[2048];
    if (!families)
        SKIP("GEMMTUNE_FAMILIES names a folder beside that of the templates");
    snprintf(folder, sizeof folder, "%s/templates", check_folder());
    snprintf(command, sizeof command, "mkdir -p %s && cp %s/../../kernel_templates/split.cu %s", folder, families,
             folder);
    CHECK(system(command) == 0);
    snprintf(command, sizeof command, "%s/split.sql", folder);
    FILE *file = fopen(command, "w");
    CHECK(file && fputs(space, file) >= 0 && fclose(file) == 0);
    return folder;
}

/* A database of that name. */
static const char *path_of(const char *name)
{
    static const char *folder;
    static char path[512];
    folder = folder ? folder : check_folder();
    snprintf(path, sizeof path, "%s/%s.db", folder, name);
    return path;
}

/* Tunes the size with some options. */
static void tune(const char *name, const char *options)
{
    const char *program = getenv("GEMMTUNE");
    char command[2048];
    if (!program)
        SKIP("GEMMTUNE names the program");
    snprintf(command, sizeof command,
             "%s tune --quiet --no-cublas --device 0 --db %s --type f32 --effort quick --budget 1s --shapes %dx%dx%d "
             "--family %s > /dev/null",
             program, path_of(name), M, N, K, options);
    const int code = system(command);
    CHECK(WIFEXITED(code) && WEXITSTATUS(code) == 0);
}

/* A context on a database that is tuned with some options, now or before. */
static gt_context *tuned(const char *name, const char *options)
{
    CUcontext context;
    gt_context *gt;
    open_driver();
    CHECK(driver->cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    CHECK(driver->cuCtxSetCurrent(context) == CUDA_SUCCESS);
    if (access(path_of(name), F_OK) != 0)
        tune(name, options);
    const gt_options where = {.database = path_of(name)};
    CHECK_OK(gt_open(&where, &gt));
    return gt;
}

/* Operands on both sides, and C as it came out. */
typedef struct product {
    float a[M * K], b[K * N], c[M * N];
    CUdeviceptr on_a, on_b, on_c;
} product;

static product *make_product(void)
{
    product *p = calloc(1, sizeof *p);
    CHECK(driver->cuMemAlloc(&p->on_a, sizeof p->a) == CUDA_SUCCESS);
    CHECK(driver->cuMemAlloc(&p->on_b, sizeof p->b) == CUDA_SUCCESS);
    CHECK(driver->cuMemAlloc(&p->on_c, sizeof p->c) == CUDA_SUCCESS);
    return p;
}

static void finish_product(product *p)
{
    CHECK(driver->cuMemFree(p->on_a) == CUDA_SUCCESS);
    CHECK(driver->cuMemFree(p->on_b) == CUDA_SUCCESS);
    CHECK(driver->cuMemFree(p->on_c) == CUDA_SUCCESS);
    free(p);
}

static void draw(product *p)
{
    const gt_type_info *type = gt_type_find(GT_F32);
    for (int i = 0; i < M * K; i++)
        type->draw(p->a, i, check_random());
    for (int i = 0; i < K * N; i++)
        type->draw(p->b, i, check_random());
}

static void upload(const product *p)
{
    CHECK(driver->cuMemcpyHtoD(p->on_a, p->a, sizeof p->a) == CUDA_SUCCESS);
    CHECK(driver->cuMemcpyHtoD(p->on_b, p->b, sizeof p->b) == CUDA_SUCCESS);
    CHECK(driver->cuMemsetD8(p->on_c, 0xff, sizeof p->c) == CUDA_SUCCESS);
    CHECK(driver->cuCtxSynchronize() == CUDA_SUCCESS);
}

/* Every element against a chain of multiply-adds in f32, for what is not finite, and against f64. */
static void check_product(product *p)
{
    CHECK(driver->cuMemcpyDtoH(p->c, p->on_c, sizeof p->c) == CUDA_SUCCESS);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            const float got = p->c[i * N + j];
            double exact = 0, magnitude = 0;
            float strict = 0;
            for (int l = 0; l < K; l++) {
                const float x = p->a[i * K + l], y = p->b[l * N + j];
                strict = fmaf(x, y, strict);
                exact += (double)x * y;
                magnitude += fabs((double)x * y);
            }
            const bool good = isnan(strict)   ? isnan(got)
                              : isinf(strict) ? got == strict
                                              : fabs(got - exact) <= BOUND * magnitude + K * 0x1p-150; /* subnormal */
            if (!good)
                check_fail(__FILE__, __LINE__, "element (%d,%d) is %.9g, strictly %.9g, exactly %.17g, bound %g", i, j,
                           (double)got, (double)strict, exact, BOUND * magnitude);
        }
}

/* Values that parts cannot hold, or hold at the end of their range; those beside each other are never both multiplied
 * up to the largest number and back. */
static const float planted[] = {NAN, INFINITY, -INFINITY, 1e-40f, -1e-45f, 0x1p-126f, -0.0f,
                                0,   1e30f,    -1e30f,    3e38f,  1e-20f,  1e-30f};

static void plant(product *p)
{
    const int count = (int)(check_random() % 6);
    for (int i = 0; i < count; i++) {
        const float value = planted[check_random() % (sizeof planted / sizeof planted[0])];
        const int line = (int)(check_random() % N), at = (int)(check_random() % K);
        switch (check_random() % 4) {
        case 0: /* one element */
            p->a[line * K + at] = value;
            break;
        case 1:
            p->b[at * N + line] = value;
            break;
        case 2: /* a row of A as tiny as that, or as large */
            for (int l = 0; isfinite(value) && fabsf(value) < 1e20f && l < K; l++)
                p->a[line * K + l] *= value;
            break;
        default: /* and zeros where it is, so that it does not show */
            p->a[line * K + at] = isfinite(value) ? value : 1e30f;
            for (int j = 0; j < N; j++)
                p->b[at * N + j] = 0;
        }
    }
}

static gt_gemm split_gemm(void)
{
    gt_gemm gemm = GT_GEMM(GT_F32, M, N, K);
    gemm.math = GT_MATH_SPLIT;
    gemm.align = 4;
    return gemm;
}

static gt_context *tuned_by_parts_in(const char *name)
{
    char options[1024];
    gt_device device;
    open_driver();
    CHECK_OK(gt_device_query(driver, 0, &device));
    if (device.cc != 90)
        SKIP("the family split is for Hopper");
    snprintf(options, sizeof options, "split --math split --templates %s", templates());
    return tuned(name, options);
}
static gt_context *tuned_by_parts(void)
{
    return tuned_by_parts_in("parts");
}

static void check_executed(const gt_plan *plan, product *p)
{
    const float one = 1, zero = 0;
    upload(p);
    CHECK_OK(gt_execute(plan, NULL, &one, (void *)p->on_a, (void *)p->on_b, &zero, (void *)p->on_c));
    check_product(p);
}

TEST(planted_values_give_what_strict_sums_give)
{
    const char *asked = getenv("CHECK_PLANTED");
    const int count = asked ? atoi(asked) : 15;
    gt_context *gt = tuned_by_parts();
    const gt_gemm gemm = split_gemm();
    gt_plan *plan;
    gt_description d;
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    CHECK_OK(gt_plan_describe(plan, &d));
    CHECK_STR(d.family, "split");
    CHECK(d.workspace > 0);
    product *p = make_product();
    for (int i = 0; i < count; i++) {
        draw(p);
        plant(p);
        check_executed(plan, p);
    }
    finish_product(p);
    gt_plan_destroy(plan);
    gt_close(gt);
}

/* The largest element of each row of A and column of B is 2^width times the others, and meets zeros, so that it says
 * nothing of the sums. */
static void widen(product *p, int width)
{
    for (int i = 0; i < M * K; i++)
        p->a[i] = i % K == 0 ? ldexpf(1, width / 2 - 3) : i % K == 1 ? 0 : ldexpf(p->a[i], -width / 2 - 3);
    for (int i = 0; i < K * N; i++)
        p->b[i] = i / N == 1 ? ldexpf(1, width / 2 - 3) : i / N == 0 ? 0 : ldexpf(p->b[i], -width / 2 - 3);
}

TEST(elements_as_far_apart_as_f32_holds_them_are_summed_within_the_bound)
{
    static const int widths[] = {20, 60, 100, 118};
    gt_context *gt = tuned_by_parts();
    const gt_gemm gemm = split_gemm();
    gt_plan *plan;
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    product *p = make_product();
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        draw(p);
        widen(p, widths[i]);
        check_executed(plan, p);
    }
    finish_product(p);
    gt_plan_destroy(plan);
    gt_close(gt);
}

/* As they are in f32, and on tensor cores with whole operands: what is given back of cuts must not show. */
TEST(small_integers_are_multiplied_exactly)
{
    gt_context *gt = tuned_by_parts();
    const gt_gemm gemm = split_gemm();
    gt_plan *plan;
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    product *p = make_product();
    for (int i = 0; i < M * K; i++)
        p->a[i] = (float)(check_random() % 201) - 100;
    for (int i = 0; i < K * N; i++)
        p->b[i] = (float)(check_random() % 201) - 100;
    check_executed(plan, p);
    for (int i = 0; i < M * N; i++) {
        long long exact = 0;
        for (int l = 0; l < K; l++)
            exact += (long long)p->a[i / N * K + l] * (long long)p->b[l * N + i % N];
        CHECK((long long)p->c[i] == exact && p->c[i] == floorf(p->c[i]));
    }
    finish_product(p);
    gt_plan_destroy(plan);
    gt_close(gt);
}

/* Tensor cores cut little off them, and no more is given back: of a whole interval it would be twice what is left here. */
TEST(sums_of_few_products_err_less_than_long_ones_are_cut_by)
{
    gt_context *gt = tuned_by_parts();
    gt_gemm gemm = split_gemm();
    const float one = 1, zero = 0;
    gt_plan *plan;
    double errors = 0;
    gemm.k = 3;
    gemm.lda = K;
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    product *p = make_product();
    draw(p);
    upload(p);
    CHECK_OK(gt_execute(plan, NULL, &one, (void *)p->on_a, (void *)p->on_b, &zero, (void *)p->on_c));
    CHECK(driver->cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(driver->cuMemcpyDtoH(p->c, p->on_c, sizeof p->c) == CUDA_SUCCESS);
    for (int i = 0; i < M * N; i++) {
        double exact = 0, square = 0;
        for (int l = 0; l < gemm.k; l++) {
            const double term = (double)p->a[i / N * K + l] * p->b[l * N + i % N];
            exact += term;
            square += term * term;
        }
        errors += square > 0 ? (p->c[i] - exact) * (p->c[i] - exact) / square : 0;
    }
    CHECK(sqrt(errors / (M * N)) < 1.1e-7);
    finish_product(p);
    gt_plan_destroy(plan);
    gt_close(gt);
}

TEST(a_graph_multiplies_by_parts_or_strictly_as_the_operands_of_each_replay_ask)
{
    gt_context *gt = tuned_by_parts();
    const gt_gemm gemm = split_gemm();
    const float one = 1, zero = 0;
    gt_plan *plan;
    CUstream stream;
    CUgraph graph;
    CUgraphExec ready;
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    product *p = make_product();
    CHECK(driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    CHECK(driver->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
    CHECK_OK(gt_execute(plan, stream, &one, (void *)p->on_a, (void *)p->on_b, &zero, (void *)p->on_c));
    CHECK(driver->cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
    CHECK(driver->cuGraphInstantiate(&ready, graph, 0) == CUDA_SUCCESS);
    for (int i = 0; i < 4; i++) {
        draw(p);
        if (i == 1)
            p->a[3 * K + 7] = INFINITY; /* a strict tile */
        if (i == 2)
            widen(p, 60); /* three parts */
        if (i == 3)
            p->b[K * N - 1] = NAN;
        upload(p);
        CHECK(driver->cuGraphLaunch(ready, stream) == CUDA_SUCCESS);
        CHECK(driver->cuStreamSynchronize(stream) == CUDA_SUCCESS);
        check_product(p);
    }
    driver->cuGraphExecDestroy(ready);
    driver->cuGraphDestroy(graph);
    CHECK(driver->cuStreamDestroy(stream) == CUDA_SUCCESS);
    finish_product(p);
    gt_plan_destroy(plan);
    gt_close(gt);
}

TEST(where_nobody_tuned_split_a_strict_kernel_serves_it)
{
    gt_context *gt = tuned("strict", "naive");
    gt_gemm gemm = split_gemm();
    gt_plan *plan;
    gt_description d;
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    CHECK_OK(gt_plan_describe(plan, &d));
    CHECK_STR(d.family, "naive");
    gt_plan_destroy(plan);
    gemm.op_a = GT_T; /* neither: the command that is missing tunes what was asked for */
    CHECK_STATUS(gt_plan_gemm(gt, &gemm, &plan), GT_ERROR_NOT_TUNED);
    CHECK(strstr(gt_error_message(), "--type f32 --math split --layout tn"));
    gt_close(gt);
}

static void check_served(gt_context *gt, int64_t side, const char *family, gt_math math)
{
    gt_gemm gemm = split_gemm();
    gt_plan *plan;
    gt_description d;
    gemm.m = gemm.n = gemm.k = side;
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    CHECK_OK(gt_plan_describe(plan, &d));
    CHECK_STR(d.family, family);
    CHECK_INT(d.math, math);
    gt_plan_destroy(plan);
}

TEST(a_size_that_nobody_tuned_is_served_by_whichever_math_is_expected_to_be_faster)
{
    gt_context *gt = tuned_by_parts_in("both");
    check_served(gt, 24, "split", GT_MATH_SPLIT); /* there is nothing else */
    gt_close(gt);
    tune("both", "simt");
    gt = tuned_by_parts_in("both");
    check_served(gt, 24, "simt", GT_MATH_STRICT);
    check_served(gt, 2048, "split", GT_MATH_SPLIT);
    gt_close(gt);
}

TEST(max_error_takes_any_math_whose_bound_is_small_enough)
{
    gt_context *parts = tuned_by_parts(), *strict = tuned("strict", "naive");
    gt_gemm gemm = split_gemm();
    gt_plan *plan;
    gt_description d;
    gemm.math = GT_MATH_STRICT;
    CHECK_STATUS(gt_plan_gemm(parts, &gemm, &plan), GT_ERROR_NOT_TUNED);
    gemm.max_error = 6e-6; /* parts have 5.8e-6 */
    CHECK_OK(gt_plan_gemm(parts, &gemm, &plan));
    CHECK_OK(gt_plan_describe(plan, &d));
    CHECK_STR(d.family, "split");
    CHECK_INT(d.math, GT_MATH_SPLIT);
    CHECK(d.error_bound >= BOUND && d.error_bound <= gemm.max_error);
    gt_plan_destroy(plan);
    CHECK_STATUS(gt_plan_gemm(strict, &gemm, &plan), GT_ERROR_UNSUPPORTED);
    CHECK(strstr(gt_error_message(), "max_error is 6e-06; the smallest bound of the kernels for f32 nn 70x45x131"));
    CHECK(strstr(gt_error_message(), "is 7.80821e-06"));
    gemm.max_error = 1e-5;
    CHECK_OK(gt_plan_gemm(strict, &gemm, &plan));
    CHECK_OK(gt_plan_describe(plan, &d));
    CHECK_NEAR(d.error_bound, K * 0x1p-24, 1e-12);
    gt_plan_destroy(plan);
    gemm.op_a = GT_T; /* nothing at all */
    CHECK_STATUS(gt_plan_gemm(strict, &gemm, &plan), GT_ERROR_NOT_TUNED);
    gt_close(parts);
    gt_close(strict);
}

CHECK_MAIN
