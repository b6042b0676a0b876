#include "guarded.h"

#include "../../src/softgpu/softgpu.h"

size_t gt_guarded_size(size_t bytes)
{
    return 2 * GT_GUARD_BYTES + (bytes + 31) / 16 * 16;
}

CUresult gt_guarded_place(const gt_driver *driver, CUstream stream, gt_guarded *guarded, size_t bytes)
{
    const size_t needed = gt_guarded_size(bytes);
    CUresult result;
    if (guarded->capacity < needed) {
        gt_guarded_free(driver, guarded);
        if ((result = driver->cuMemAlloc(&guarded->base, needed)) != CUDA_SUCCESS) {
            guarded->base = 0;
            return result;
        }
        guarded->capacity = needed;
    }
    guarded->data = guarded->base + GT_GUARD_BYTES;
    guarded->bytes = bytes;
    return driver->cuMemsetD32Async(guarded->base, GT_POISON, needed / 4, stream);
}

CUresult gt_guarded_count(const gt_checks *checks, const gt_guarded *guarded, CUdeviceptr counter)
{
    if (!guarded->base)
        return CUDA_SUCCESS;
    const int64_t before = (int64_t)(guarded->data - guarded->base), behind = (int64_t)GT_GUARD_BYTES;
    CUresult result = gt_checks_count(checks, guarded->base, 1, before, before, GT_POISON_HALF, counter);
    if (result != CUDA_SUCCESS)
        return result;
    return gt_checks_count(checks, guarded->data + guarded->bytes, 1, behind, behind, GT_POISON_HALF, counter);
}

void gt_guarded_protect(const gt_driver *driver, const gt_guarded *guarded, bool on)
{
    if (!driver->soft || !guarded->base)
        return;
    const CUdeviceptr end = guarded->data + guarded->bytes;
    driver->soft->protect(guarded->base, guarded->data - guarded->base, !on);
    driver->soft->protect(end, guarded->base + guarded->capacity - end, !on);
}

void gt_guarded_free(const gt_driver *driver, gt_guarded *guarded)
{
    if (guarded->base)
        driver->cuMemFree(guarded->base);
    *guarded = (gt_guarded){0};
}
