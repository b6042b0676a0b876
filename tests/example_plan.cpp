// Plans one matrix product from C++, runs it, and checks it on the CPU. Usage: example_plan_cpp [DATABASE [DRIVER]].
#include <gemmtune.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "example.h"

int main(int argc, char **argv)
{
    const int64_t m = 300, n = 260, k = 200;
    gt_options options = gt_options();
    options.database = argc > 1 ? argv[1] : nullptr;
    options.driver = argc > 2 ? argv[2] : nullptr;
    const gt_driver *driver = example_open(options.driver);
    if (!driver)
        return EXAMPLE_SKIP;
    std::vector<float> a(m * k), b(k * n), c(m * n);
    example_fill(a.data(), a.size(), 1);
    example_fill(b.data(), b.size(), 2);
    void *device_a = example_upload(driver, a.data(), a.size() * sizeof(float));
    void *device_b = example_upload(driver, b.data(), b.size() * sizeof(float));
    void *device_c = example_upload(driver, c.data(), c.size() * sizeof(float));

    gt_context *opened = nullptr;
    gt_status status = gt_open(&options, &opened);
    if (status != GT_OK)
        return example_status(status);
    const std::unique_ptr<gt_context, void (*)(gt_context *)> gt(opened, gt_close);

    gt_gemm gemm = GT_GEMM(GT_F32, m, n, k);
    gemm.deterministic = 1;
    gt_plan *planned = nullptr;
    if ((status = gt_plan_gemm(gt.get(), &gemm, &planned)) != GT_OK)
        return example_status(status);
    const std::unique_ptr<gt_plan, void (*)(gt_plan *)> plan(planned, gt_plan_destroy);

    const float alpha = 1.5f, beta = 0;
    if ((status = gt_execute(plan.get(), nullptr, &alpha, device_a, device_b, &beta, device_c)) != GT_OK)
        return example_status(status);
    example_download(driver, device_c, c.data(), c.size() * sizeof(float)); // waits for the product
    const bool good = example_is_product(m, n, k, alpha, a.data(), b.data(), nullptr, c.data());
    example_free(driver, device_a);
    example_free(driver, device_b);
    example_free(driver, device_c);
    std::puts(good ? "correct" : "wrong");
    return good ? 0 : 1;
}
