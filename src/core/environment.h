/* The environment, read in one place. */
#ifndef GT_ENVIRONMENT_H
#define GT_ENVIRONMENT_H

#include "status.h"

typedef enum gt_variable {
    GT_ENV_DATABASE,  /* GEMMTUNE_DB: the database file */
    GT_ENV_SYSTEM_DATABASE, /* GEMMTUNE_SYSTEM_DB: the file behind it, which all users read */
    GT_ENV_DRIVER,    /* GEMMTUNE_DRIVER: the driver to load instead of libcuda.so.1; "soft" is the software GPU */
    GT_ENV_SOFTGPU,   /* GEMMTUNE_SOFTGPU: the software GPU's library */
    GT_ENV_NVRTC,     /* GEMMTUNE_NVRTC: the NVRTC library to load */
    GT_ENV_CUDA_HOME, /* CUDA_HOME: a toolkit's folder */
    GT_ENV_DATA_HOME, /* XDG_DATA_HOME */
    GT_ENV_CACHE_HOME, /* XDG_CACHE_HOME */
    GT_ENV_HOME,      /* HOME */
    GT_ENV_TMPDIR,    /* TMPDIR: where files go that nobody needs afterwards */
    GT_ENV_NO_COLOR,  /* NO_COLOR: any value turns colours off */
    GT_ENV_TERM,      /* TERM */
    GT_ENV_PYTHON,    /* VIRTUAL_ENV: a Python environment that may hold NVRTC's wheel */
    GT_ENV_DISABLE,   /* GEMMTUNE_DISABLE: preloaded, do nothing, unless it is 0 */
    GT_ENV_SUMMARY,   /* GEMMTUNE_SUMMARY: preloaded, end with a line on stderr; the process that also tells of nothing */
    GT_ENV_CAPTURE,   /* GEMMTUNE_CAPTURE: preloaded, store which products a program asks for; "only": answer none */
    GT_ENV_MARGIN,    /* GEMMTUNE_MARGIN: preloaded, percent that cuBLAS must be slower by */
    GT_ENV_F32,       /* GEMMTUNE_F32: preloaded, "tf32" or "split": products of f32 may be computed so */
    GT_ENV_BLAS_THRESHOLD, /* GEMMTUNE_BLAS_THRESHOLD: multiply-adds of a product of host memory that goes to the GPU */
    GT_ENV_BLAS_MEMORY, /* GEMMTUNE_BLAS_MEMORY: bytes of the GPU's memory that products of host memory may take */
    GT_ENV_TF32_OVERRIDE, /* NVIDIA_TF32_OVERRIDE: whether NVIDIA's libraries use tf32, whatever programs say */
    GT_ENV_BATCH_INVARIANCE, /* CUBLAS_BATCH_INVARIANCE_FLAGS: whether NVIDIA's give a row the same bits in every batch */
} gt_variable;

/* A variable's value; NULL where it is unset, empty, or the process runs with another user's rights. */
const char *gt_environment(gt_variable variable);

#endif
