/* The public header stands alone, and its calls answer bad arguments with a status: no GPU is needed for that. */
#include <gemmtune.h>

#include <stdio.h>
#include <string.h>

#include "check.h"

TEST(gemm_initialiser_leaves_every_other_field_at_its_default)
{
    const gt_gemm gemm = GT_GEMM(GT_S32, 3, 4, 5);
    CHECK(gemm.m == 3 && gemm.n == 4 && gemm.k == 5);
    CHECK(gemm.type_ab == GT_S32 && gemm.type_c == GT_S32);
    CHECK(gemm.lda == 0 && gemm.batch == 0 && gemm.align == 0 && gemm.op_a == GT_N);
}

TEST(version_matches_the_header)
{
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", GT_VERSION_MAJOR, GT_VERSION_MINOR, GT_VERSION_PATCH);
    CHECK(strcmp(gt_version(), version) == 0);
}

TEST(null_arguments_are_refused_and_named)
{
    const gt_gemm gemm = GT_GEMM(GT_F32, 3, 4, 5);
    const float one = 1;
    gt_plan *plan = (gt_plan *)&gemm;
    gt_description description;
    CHECK_STATUS(gt_open(NULL, NULL), GT_ERROR_INVALID);
    CHECK_STR(gt_error_message(), "context is NULL");
    CHECK_STATUS(gt_plan_gemm(NULL, &gemm, &plan), GT_ERROR_INVALID);
    CHECK(plan == (gt_plan *)&gemm);
    CHECK_STATUS(gt_execute(NULL, NULL, &one, NULL, NULL, &one, NULL), GT_ERROR_INVALID);
    CHECK_STR(gt_error_message(), "plan is NULL");
    CHECK_STATUS(gt_plan_describe(NULL, &description), GT_ERROR_INVALID);
}

TEST(destructors_accept_null)
{
    gt_plan_destroy(NULL);
    gt_close(NULL);
}

TEST(missing_database_says_where_and_what_to_run)
{
    const gt_options options = {.database = "/nonexistent/gemmtune.db"};
    gt_context *context = NULL;
    CHECK_STATUS(gt_open(&options, &context), GT_ERROR_NO_DATABASE);
    CHECK(context == NULL);
    CHECK(strstr(gt_error_message(), "/nonexistent/gemmtune.db") != NULL);
    CHECK(strstr(gt_error_message(), "gemmtune --device 0") != NULL);
}

CHECK_MAIN
