// The public header stands alone in C++ too, links as C, and GT_GEMM is an expression there.
#include <gemmtune.h>

#include <cstdio>
#include <cstring>
#include <type_traits>

static_assert(std::is_standard_layout<gt_gemm>::value, "C and C++ see the same fields");
using execute = gt_status (*)(const gt_plan *, CUstream_st *, const void *, const void *, const void *, const void *,
                              void *);
static_assert(std::is_same<decltype(&gt_execute), execute>::value, "streams of the driver and the runtime fit");

int main()
{
    gt_gemm gemm = GT_GEMM(GT_F32, 3, 4, 5);
    gt_plan *plan = nullptr;
    const bool good = gemm.m == 3 && gemm.k == 5 && gemm.type_c == GT_F32 && gemm.batch == 0 &&
                      gt_plan_gemm(nullptr, &gemm, &plan) == GT_ERROR_INVALID && plan == nullptr &&
                      std::strcmp(gt_error_message(), "context is NULL") == 0 && *gt_version() != '\0';
    std::puts(good ? "ok" : "not ok");
    return good ? 0 : 1;
}
