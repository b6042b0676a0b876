#include "environment.h"

#include <stdlib.h>

static const char *const names[] = {
    [GT_ENV_DATABASE] = "GEMMTUNE_DB",
    [GT_ENV_SYSTEM_DATABASE] = "GEMMTUNE_SYSTEM_DB",
    [GT_ENV_DRIVER] = "GEMMTUNE_DRIVER",
    [GT_ENV_SOFTGPU] = "GEMMTUNE_SOFTGPU",
    [GT_ENV_NVRTC] = "GEMMTUNE_NVRTC",
    [GT_ENV_CUDA_HOME] = "CUDA_HOME",
    [GT_ENV_DATA_HOME] = "XDG_DATA_HOME",
    [GT_ENV_CACHE_HOME] = "XDG_CACHE_HOME",
    [GT_ENV_HOME] = "HOME",
    [GT_ENV_TMPDIR] = "TMPDIR",
    [GT_ENV_NO_COLOR] = "NO_COLOR",
    [GT_ENV_TERM] = "TERM",
    [GT_ENV_PYTHON] = "VIRTUAL_ENV",
    [GT_ENV_DISABLE] = "GEMMTUNE_DISABLE",
    [GT_ENV_SUMMARY] = "GEMMTUNE_SUMMARY",
    [GT_ENV_CAPTURE] = "GEMMTUNE_CAPTURE",
    [GT_ENV_MARGIN] = "GEMMTUNE_MARGIN",
    [GT_ENV_F32] = "GEMMTUNE_F32",
    [GT_ENV_BLAS_THRESHOLD] = "GEMMTUNE_BLAS_THRESHOLD",
    [GT_ENV_BLAS_MEMORY] = "GEMMTUNE_BLAS_MEMORY",
    [GT_ENV_TF32_OVERRIDE] = "NVIDIA_TF32_OVERRIDE",
    [GT_ENV_BATCH_INVARIANCE] = "CUBLAS_BATCH_INVARIANCE_FLAGS",
};

const char *gt_environment(gt_variable variable)
{
    const char *value = secure_getenv(names[variable]);
    return value && *value ? value : NULL;
}
