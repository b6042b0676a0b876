/*
 * Tune, reopen, load only, execute, verify: the library on a database that the program has just made. Needs a GPU.
 */
#include <sys/wait.h>

#include "../src/core/driver.h"
#include "check.h"

static struct {
    const gt_driver *driver;
    char database[512];
} shared;

/* Tunes a small size in all layouts, once for all tests. */
static void prepare(void)
{
    static const char *const layouts[] = {"nn", "nt", "tn", "tt"};
    const char *program = getenv("GEMMTUNE");
    gt_driver *driver;
    CUdevice device;
    CUcontext context;
    if (shared.driver)
        return;
    if (!program)
        SKIP("GEMMTUNE names the program");
    if (gt_driver_open(NULL, &driver) != GT_OK)
        SKIP(gt_error_message());
    CHECK(driver->cuDeviceGet(&device, 0) == CUDA_SUCCESS);
    CHECK(driver->cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS);
    CHECK(driver->cuCtxSetCurrent(context) == CUDA_SUCCESS);
    snprintf(shared.database, sizeof shared.database, "%s/library.db", check_folder());
    for (int i = 0; i < 8; i++) {
        char command[1200];
        /* An odd size too: its kernels take pointers and rows of any alignment. Runs of their own find something. */
        snprintf(command, sizeof command,
                 "%s tune --quiet --effort quick --budget 5s --no-cublas --device 0 --db %s --type f32 --layout %s "
                 "--shapes %s >/dev/null",
                 program, shared.database, layouts[i / 2], i % 2 ? "131x67x45" : "128");
        const int code = system(command);
        CHECK(WIFEXITED(code) && WEXITSTATUS(code) == 0);
    }
    shared.driver = driver;
}

/* The library speaks up where a stored kernel cannot be used; in these databases each one can. */
static void surprise(void *data, const char *message)
{
    (void)data;
    check_fail(__FILE__, __LINE__, "%s", message);
}

static gt_context *open_library(void)
{
    gt_context *gt = NULL;
    prepare();
    const gt_options options = {.database = shared.database, .log = surprise};
    CHECK_OK(gt_open(&options, &gt));
    return gt;
}

/* A matrix with a copy on the device. */
typedef struct matrix {
    float *host;
    CUdeviceptr device;
    size_t count;
} matrix;

static matrix make_matrix(size_t count)
{
    const size_t bytes = (count + 1) * sizeof(float); /* one more: an operand may be empty */
    matrix x = {.host = calloc(1, bytes), .count = count};
    for (size_t i = 0; i < count; i++)
        x.host[i] = (float)(int)(check_random() % 17) - 8; /* sums of products stay exact */
    CHECK(shared.driver->cuMemAlloc(&x.device, bytes) == CUDA_SUCCESS);
    CHECK(shared.driver->cuMemcpyHtoD(x.device, x.host, bytes) == CUDA_SUCCESS);
    return x;
}

static void free_matrix(matrix *x)
{
    free(x->host);
    shared.driver->cuMemFree(x->device);
}

/* Plans and runs a gemm on fresh data and compares each element of C, its padding included. */
static void check_product(gt_context *gt, const gt_gemm *g, float alpha, float beta)
{
    const int64_t batch = g->batch ? g->batch : 1;
    const int64_t a_rows = g->op_a == GT_N ? g->m : g->k, b_rows = g->op_b == GT_N ? g->k : g->n;
    const int64_t lda = g->lda ? g->lda : (g->op_a == GT_N ? g->k : g->m);
    const int64_t ldb = g->ldb ? g->ldb : (g->op_b == GT_N ? g->n : g->k);
    const int64_t ldc = g->ldc ? g->ldc : g->n;
    matrix a = make_matrix((size_t)(batch * a_rows * lda)), b = make_matrix((size_t)(batch * b_rows * ldb));
    matrix c = make_matrix((size_t)(batch * g->m * ldc));
    float *result = malloc(c.count * sizeof *result);
    gt_plan *plan = NULL;
    CHECK_OK(gt_plan_gemm(gt, g, &plan));
    CHECK_OK(gt_execute(plan, NULL, &alpha, (void *)a.device, (void *)b.device, &beta, (void *)c.device));
    CHECK(shared.driver->cuMemcpyDtoH(result, c.device, c.count * sizeof *result) == CUDA_SUCCESS);
    for (int64_t z = 0; z < batch; z++)
        for (int64_t i = 0; i < g->m; i++)
            for (int64_t j = 0; j < ldc; j++) {
                const int64_t at = (z * g->m + i) * ldc + j;
                double expected = (double)c.host[at];
                if (j < g->n) {
                    double sum = 0;
                    for (int64_t p = 0; p < g->k; p++)
                        sum += (double)a.host[z * a_rows * lda + (g->op_a == GT_N ? i * lda + p : p * lda + i)] *
                               (double)b.host[z * b_rows * ldb + (g->op_b == GT_N ? p * ldb + j : j * ldb + p)];
                    expected = alpha * sum + (double)beta * expected;
                }
                if (!((double)result[at] == expected))
                    check_fail(__FILE__, __LINE__, "element (%d, %d) is %g, not %g", (int)i, (int)j, (double)result[at],
                               expected);
            }
    gt_plan_destroy(plan);
    free(result);
    free_matrix(&a);
    free_matrix(&b);
    free_matrix(&c);
}

TEST(a_tuned_size_is_right_in_every_layout)
{
    gt_context *gt = open_library();
    for (int layout = 0; layout < 4; layout++) {
        gt_gemm g = GT_GEMM(GT_F32, 128, 128, 128);
        g.op_a = (gt_op)(layout / 2);
        g.op_b = (gt_op)(layout % 2);
        check_product(gt, &g, 2, 3);
        check_product(gt, &g, 1, 0);
    }
    gt_close(gt);
}

TEST(sizes_nobody_tuned_are_right_too)
{
    gt_context *gt = open_library();
    static const int64_t sizes[][3] = {{1, 1, 1}, {7, 300, 5}, {300, 7, 65}, {131, 67, 45}, {257, 129, 33}, {64, 64, 0}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int layout = 0; layout < 4; layout++) {
            gt_gemm g = GT_GEMM(GT_F32, sizes[i][0], sizes[i][1], sizes[i][2]);
            g.op_a = (gt_op)(layout / 2);
            g.op_b = (gt_op)(layout % 2);
            check_product(gt, &g, -1, 2);
        }
    gt_close(gt);
}

TEST(batches_and_padded_rows_are_right)
{
    gt_context *gt = open_library();
    gt_gemm g = GT_GEMM(GT_F32, 50, 60, 70);
    g.batch = 3;
    check_product(gt, &g, 1, 1);
    g.lda = 80;
    g.ldb = 64;
    g.ldc = 72;
    check_product(gt, &g, 1, 1);
    g.lda = 71;
    check_product(gt, &g, 1, 1);
    gt_close(gt);
}

TEST(a_plan_tells_what_was_chosen)
{
    gt_context *gt = open_library();
    const gt_gemm tuned = GT_GEMM(GT_F32, 128, 128, 128), other = GT_GEMM(GT_F32, 160, 128, 128);
    gt_plan *plan;
    gt_description d;
    CHECK_OK(gt_plan_gemm(gt, &tuned, &plan));
    CHECK_OK(gt_plan_describe(plan, &d));
    CHECK_INT(d.choice, GT_CHOICE_EXACT);
    CHECK(strncmp(d.family, "simt", 4) == 0); /* or one of its kin */
    CHECK(d.expected_us > 0 && d.threads >= 32);
    gt_plan_destroy(plan);
    CHECK_OK(gt_plan_gemm(gt, &other, &plan));
    CHECK_OK(gt_plan_describe(plan, &d));
    CHECK_INT(d.choice, GT_CHOICE_PREDICTED);
    gt_plan_destroy(plan);
    gt_close(gt);
}

TEST(what_blas_does_not_read_may_be_missing)
{
    gt_context *gt = open_library();
    const gt_gemm g = GT_GEMM(GT_F32, 128, 128, 128), empty = GT_GEMM(GT_F32, 0, 128, 128);
    const float zero = 0, one = 1, nan = NAN;
    float *host = malloc(128 * 128 * sizeof *host);
    matrix a = make_matrix(128 * 128), c = make_matrix(128 * 128);
    gt_plan *plan;
    CHECK_OK(gt_plan_gemm(gt, &g, &plan));
    CHECK_OK(gt_execute(plan, NULL, &zero, NULL, NULL, &one, (void *)c.device));
    CHECK(shared.driver->cuMemcpyDtoH(host, c.device, 128 * 128 * sizeof *host) == CUDA_SUCCESS);
    CHECK(memcmp(host, c.host, 128 * 128 * sizeof *host) == 0);
    for (int i = 0; i < 128 * 128; i++)
        host[i] = nan;
    CHECK(shared.driver->cuMemcpyHtoD(c.device, host, 128 * 128 * sizeof *host) == CUDA_SUCCESS);
    CHECK_OK(gt_execute(plan, NULL, &one, (void *)a.device, (void *)a.device, &zero, (void *)c.device));
    CHECK(shared.driver->cuMemcpyDtoH(host, c.device, 128 * 128 * sizeof *host) == CUDA_SUCCESS);
    for (int i = 0; i < 128 * 128; i++)
        CHECK(isfinite(host[i]));
    gt_plan_destroy(plan);
    CHECK_OK(gt_plan_gemm(gt, &empty, &plan));
    CHECK_OK(gt_execute(plan, NULL, &one, NULL, NULL, &one, NULL));
    gt_plan_destroy(plan);
    free(host);
    free_matrix(&a);
    free_matrix(&c);
    gt_close(gt);
}

TEST(bad_pointers_are_refused_by_name)
{
    gt_context *gt = open_library();
    const gt_gemm g = GT_GEMM(GT_F32, 128, 128, 128);
    const float one = 1;
    matrix x = make_matrix(128 * 128 + 4);
    char *good = (char *)x.device;
    gt_plan *plan;
    CHECK_OK(gt_plan_gemm(gt, &g, &plan));
    CHECK_STATUS(gt_execute(plan, NULL, &one, NULL, good, &one, good), GT_ERROR_INVALID);
    CHECK(strstr(gt_error_message(), "A "));
    CHECK_STATUS(gt_execute(plan, NULL, &one, good, good, &one, NULL), GT_ERROR_INVALID);
    CHECK_STATUS(gt_execute(plan, NULL, NULL, good, good, &one, good), GT_ERROR_INVALID);
    CHECK_STATUS(gt_execute(NULL, NULL, &one, good, good, &one, good), GT_ERROR_INVALID);
    CHECK_STATUS(gt_execute(plan, NULL, &one, good, good + 4, &one, good), GT_ERROR_ALIGNMENT);
    CHECK(strstr(gt_error_message(), "16"));
    gt_plan_destroy(plan);
    CHECK_STATUS(gt_plan_gemm(gt, NULL, &plan), GT_ERROR_INVALID);
    gt_gemm narrow = g;
    narrow.lda = 100;
    CHECK_STATUS(gt_plan_gemm(gt, &narrow, &plan), GT_ERROR_INVALID);
    CHECK(strstr(gt_error_message(), "lda"));
    free_matrix(&x);
    gt_close(gt);
}

TEST(what_is_not_there_is_named_with_the_command_that_makes_it)
{
    gt_context *gt = open_library();
    const gt_gemm s32 = GT_GEMM(GT_S32, 64, 64, 64);
    gt_plan *plan;
    CHECK_STATUS(gt_plan_gemm(gt, &s32, &plan), GT_ERROR_NOT_TUNED);
    char option[600];
    snprintf(option, sizeof option, " --db %s`", shared.database);
    CHECK(strstr(gt_error_message(), "--type s32") && strstr(gt_error_message(), option));
    gt_close(gt);
    const gt_options missing = {.database = "/nowhere/at/all.db"};
    CHECK_STATUS(gt_open(&missing, &gt), GT_ERROR_NO_DATABASE);
    CHECK(strstr(gt_error_message(), "/nowhere/at/all.db"));
}

CHECK_MAIN
