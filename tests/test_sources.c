/* Databases that fail, are locked or replaced while a program plans. */
#include <sqlite3.h>

#include "plan_fixture.h"

static int refusing;

/* A driver that is too old for the first kernel that it is given. */
static CUresult CUDAAPI refuse_the_first(CUlibrary *library, const void *code, CUjit_option *options, void **values,
                                         unsigned count, CUlibraryOption *library_options, void **library_values,
                                         unsigned library_count)
{
    return refusing-- > 0 ? CUDA_ERROR_NO_BINARY_FOR_GPU
                          : driver->cuLibraryLoadData(library, code, options, values, count, library_options,
                                                      library_values, library_count);
}

TEST(where_the_driver_takes_no_kernel_of_one_database_the_other_has_some)
{
    gt_context *gt = tuned("partial_sums", "--shapes 64x64x200 --effort quick --align 4");
    gt_gemm gemm = GT_GEMM(GT_F32, SIDE, SIDE, DEPTH);
    char another[512];
    gt_plan *plan;
    gt_description d;
    snprintf(another, sizeof another, "%s/another.db", check_folder());
    tune(another, "any_parts", "--shapes 64x64x200 --effort quick");
    CHECK_OK(gt_store_open(another, GT_STORE_READ, &gt->sources[gt->source_count++].store));
    gt->driver->cuLibraryLoadData = refuse_the_first;
    refusing = 1;
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    CHECK_OK(gt_plan_describe(plan, &d));
    CHECK_STR(d.family, "any_parts");
    gt_plan_destroy(plan);
    gemm.align = 4; /* the other has none: that is not what is told */
    refusing = 1;
    CHECK_STATUS(gt_plan_gemm(gt, &gemm, &plan), GT_ERROR_DRIVER);
    CHECK(strstr(gt_error_message(), "CUDA_ERROR_NO_BINARY_FOR_GPU"));
    gt_close(gt);
}

TEST(a_locked_database_is_waited_for_once_whatever_errors_are_accepted)
{
    gt_context *gt = tuned("partial_sums", "--shapes 64x64x200 --effort quick");
    gt_gemm gemm = GT_GEMM(GT_F32, SIDE, SIDE, DEPTH);
    gt_plan *plan;
    sqlite3 *other;
    gemm.max_error = 1;
    CHECK(sqlite3_open(gt_store_path(gt->sources[0].store), &other) == SQLITE_OK);
    CHECK(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK);
    const time_t begun = time(NULL);
    CHECK_STATUS(gt_plan_gemm(gt, &gemm, &plan), GT_ERROR_BUSY);
    CHECK(time(NULL) - begun < 4); /* a reader waits for two seconds */
    CHECK(sqlite3_close(other) == SQLITE_OK);
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    gt_plan_destroy(plan);
    gt_close(gt);
}

/* As many classes as a context remembers, and more, so that it reads the database again. */
static void plan_other_classes(gt_context *gt)
{
    for (int i = 0; i < 2 * GT_READINGS; i++) {
        gt_gemm gemm = GT_GEMM(i / 12 ? GT_F64 : GT_F32, 8, 8, 8);
        gt_plan *plan;
        gemm.op_a = i & 1 ? GT_T : GT_N;
        gemm.op_b = i & 2 ? GT_T : GT_N;
        gemm.align = i / 12 ? 8 << (i / 4 & 1) : 4 << i / 4;
        if (gt_plan_gemm(gt, &gemm, &plan) == GT_OK)
            gt_plan_destroy(plan);
    }
}

/* As an operator does who copies one database over another while programs run. */
TEST(kernels_of_a_file_that_another_was_copied_over_run_their_own_code)
{
    gt_context *gt = tuned("partial_sums", "--shapes 64x64x200 --effort quick");
    const gt_gemm gemm = GT_GEMM(GT_F32, SIDE, SIDE, DEPTH), larger = GT_GEMM(GT_F32, 2 * SIDE, 2 * SIDE, DEPTH);
    char another[512], command[1100];
    gt_plan *old, *plan;
    gt_description d;
    CHECK_OK(gt_plan_gemm(gt, &larger, &old)); /* stays loaded */
    snprintf(another, sizeof another, "%s/another.db", check_folder());
    tune(another, "any_parts", "--shapes 64x64x200,8 --effort quick");
    snprintf(command, sizeof command, "cp %s %s", another, gt_store_path(gt->sources[0].store));
    CHECK_INT(system(command), 0);
    plan_other_classes(gt);
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    CHECK_OK(gt_plan_describe(plan, &d));
    CHECK_STR(d.family, "any_parts");
    CHECK(plan->module.function != old->module.function);
    job j = make_job(plan, 1, 1);
    run_job(&j);
    CHECK(!j.wrong);
    finish_job(&j);
    gt_plan_destroy(plan);
    gt_plan_destroy(old);
    gt_close(gt);
}

CHECK_MAIN
