#include "launch.h"

#include <string.h>

#include "../softgpu/softgpu.h"

/* Limits of every architecture: blocks in x, and in y and z. */
#define GRID_X 0x7fffffffll
#define GRID_YZ 65535

/* Copies of operands: a block for each square of 64 x 64, or for every so many of them where there are more. */
#define REPACK_BLOCKS  65536
#define REPACK_THREADS 256
#define REPACK_SQUARE  64
#define REPACK_LINE    128 /* bytes that a line is a multiple of */

/* A database may come from anybody: what it says of a launch is held against what any GPU allows. */
static gt_status check_facts(const gt_kernel *kernel)
{
    const struct {
        const char *name;
        int64_t value, low, high;
    } facts[] = {
        {"tile_m", kernel->tile_m, 1, 1 << 16},         {"tile_n", kernel->tile_n, 1, 1 << 16},
        {"split_k", kernel->split_k, 1, GRID_YZ},       {"threads", kernel->threads, 1, 1024},
        {"smem_bytes", kernel->smem_bytes, 0, 1 << 20}, {"cluster", kernel->cluster, 1, 16},
        {"ws_tile", kernel->ws_tile, 0, 1ll << 32},     {"blocks", kernel->blocks, 0, 1 << 16},
        {"repack", kernel->repack, 0, 3},
    };
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (facts[i].value < facts[i].low || facts[i].value > facts[i].high)
            return gt_fail(GT_ERROR_INVALID, "kernel %s (%s): %s is %lld, outside %lld to %lld", kernel->family,
                           kernel->params, facts[i].name, (long long)facts[i].value, (long long)facts[i].low,
                           (long long)facts[i].high);
    return GT_OK;
}

/* Bytes of an operand's copy, a padded line for each k-step. False where they pass 64 bits. */
static bool copy_bytes(int64_t k, int64_t outer, int64_t bytes, int64_t *total)
{
    int64_t line;
    return !__builtin_mul_overflow(outer, bytes, &line) && !__builtin_add_overflow(line, REPACK_LINE - 1, &line) &&
           !__builtin_mul_overflow(line / REPACK_LINE * REPACK_LINE, k, total);
}

/* Room for the copies of operands of as many matrices as are launched at once, and blocks that make them.
 * kernel_templates/gemm.cuh has the other side. */
static gt_status add_copies(const gt_problem *p, int which, int64_t *workspace, gt_launch *launch)
{
    const int64_t bytes = gt_type_find(p->type_ab)->bytes;
    const int64_t outer[] = {p->m, p->n};
    int64_t all = 0, squares = 0;
    bool fit = true;
    for (int i = 0; fit && i < 2; i++) {
        int64_t one;
        if (!(which >> i & 1))
            continue;
        fit = copy_bytes(p->k, outer[i], bytes, &one) && !__builtin_add_overflow(all, one, &all);
        squares += fit ? (p->k / REPACK_SQUARE + 1) * (outer[i] / REPACK_SQUARE + 1) : 0;
    }
    if (!fit || __builtin_mul_overflow(all, launch->grid[2], &all) || __builtin_add_overflow(*workspace, all, workspace))
        return gt_fail(GT_ERROR_INVALID, "the copies of A and B overflow 64 bits");
    launch->repack = squares < REPACK_BLOCKS ? (unsigned)squares : REPACK_BLOCKS;
    return GT_OK;
}

gt_status gt_launch_init(const gt_kernel *kernel, const gt_problem *problem, gt_launch *out)
{
    int64_t tiles, units, workspace = 0;
    gt_status status = check_facts(kernel);
    if (status != GT_OK)
        return status;
    gt_launch launch = {
        .empty = problem->m == 0 || problem->n == 0,
        .threads = (unsigned)kernel->threads,
        .smem_bytes = (unsigned)kernel->smem_bytes,
        .cluster = (unsigned)kernel->cluster,
        .early = kernel->early,
        .batch = problem->batch,
    };
    if (launch.empty) {
        *out = launch;
        return GT_OK;
    }
    if (__builtin_mul_overflow((problem->m - 1) / kernel->tile_m + 1, (problem->n - 1) / kernel->tile_n + 1, &tiles) ||
        tiles > GRID_X)
        return gt_fail(GT_ERROR_INVALID, "%lld x %lld has more than 2^31 tiles of %d x %d", (long long)problem->m,
                       (long long)problem->n, kernel->tile_m, kernel->tile_n);
    if (kernel->blocks > 0)
        tiles = kernel->blocks;
    launch.grid[0] = (unsigned)((tiles + kernel->cluster - 1) / kernel->cluster * kernel->cluster);
    launch.grid[1] = (unsigned)kernel->split_k;
    launch.grid[2] = problem->batch < GRID_YZ ? (unsigned)problem->batch : GRID_YZ;
    if (kernel->ws_tile > 0) {
        int64_t counters;
        units = tiles * launch.grid[2];
        if (__builtin_mul_overflow(units, kernel->ws_tile, &workspace) ||
            __builtin_mul_overflow(units * (int64_t)sizeof(unsigned), kernel->split_k, &counters))
            return gt_fail(GT_ERROR_INVALID, "the workspace overflows 64 bits");
        launch.counter_bytes = (size_t)counters;
    }
    if (kernel->repack && (status = add_copies(problem, kernel->repack, &workspace, &launch)) != GT_OK)
        return status;
    launch.workspace_bytes = (size_t)workspace;
    *out = launch;
    return GT_OK;
}

void gt_args_init(const gt_problem *p, gt_args *args)
{
    *args = (gt_args){
        .m = p->m, .n = p->n, .k = p->k,
        .lda = p->lda, .ldb = p->ldb, .ldc = p->ldc,
        .stride_a = p->stride_a, .stride_b = p->stride_b, .stride_c = p->stride_c,
    };
}

void gt_args_scale(gt_args *args, const gt_types *types, int64_t k, const void *alpha, const void *beta)
{
    static const gt_scalar zero;
    args->alpha = args->beta = zero;
    memcpy(&args->alpha, alpha, (size_t)types->scalar_bytes);
    memcpy(&args->beta, beta, (size_t)types->scalar_bytes);
    const bool nothing = types->exact ? args->alpha.s32 == 0 : args->alpha.f32 == 0;
    args->k = nothing ? 0 : k;
}

CUresult gt_code_load(const gt_driver *driver, const gt_code *code, CUlibrary *library)
{
    if (driver->soft && code->ptx)
        driver->soft->attach_ptx(code->cubin, code->cubin_bytes, code->ptx, code->ptx_bytes);
    return driver->cuLibraryLoadData(library, code->cubin, NULL, NULL, 0, NULL, NULL, 0);
}

gt_status gt_module_load(const gt_driver *driver, const gt_kernel *kernel, const gt_code *code, gt_module *out)
{
    gt_module module = {0};
    CUkernel handle;
    CUdevice device;
    CUresult result = gt_code_load(driver, code, &module.library);
    if (result != CUDA_SUCCESS)
        return gt_driver_check(driver, result, "loading the kernel");
    if ((result = driver->cuLibraryGetKernel(&handle, module.library, GT_ENTRY)) != CUDA_SUCCESS ||
        (result = driver->cuCtxGetDevice(&device)) != CUDA_SUCCESS)
        goto fail;
    /* Above 48 KB, the kernel's own static arrays included, shared memory must be asked for. */
    if (kernel->smem_bytes > 0 &&
        (result = driver->cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel->smem_bytes,
                                               handle, device)) != CUDA_SUCCESS)
        goto fail;
    if ((result = driver->cuKernelGetAttribute(&module.registers, CU_FUNC_ATTRIBUTE_NUM_REGS, handle, device)) !=
            CUDA_SUCCESS ||
        (result = driver->cuKernelGetAttribute(&module.spills, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, handle, device)) !=
            CUDA_SUCCESS)
        goto fail;
    /* A CUkernel launches in whatever context is current: a plan is not tied to the one it was made in. */
    module.function = (CUfunction)handle;
    if (kernel->repack && (result = driver->cuLibraryGetKernel(&handle, module.library, GT_REPACK_ENTRY)) != CUDA_SUCCESS)
        goto fail;
    module.repack = kernel->repack ? (CUfunction)handle : NULL;
    *out = module;
    return GT_OK;
fail:
    driver->cuLibraryUnload(module.library);
    return gt_driver_check(driver, result, "preparing the kernel");
}

void gt_module_unload(const gt_driver *driver, gt_module *module)
{
    if (module->library)
        driver->cuLibraryUnload(module->library);
    *module = (gt_module){0};
}

/* From this driver on a graph keeps what a stream was told of early launches. */
#define EARLY_DRIVER 12030

/* One kernel: with its clusters, and where it may, before what the stream ran before is done. */
static CUresult launch_kernel(const gt_driver *driver, CUfunction function, CUlaunchConfig config, unsigned cluster,
                              bool early, const gt_args *args)
{
    void *parameters[] = {(void *)args};
    CUlaunchAttribute attributes[2];
    if (cluster > 1)
        attributes[config.numAttrs++] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                                            .value.clusterDim = {cluster, 1, 1}};
    if (early && driver->version >= EARLY_DRIVER)
        attributes[config.numAttrs++] =
            (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                .value.programmaticStreamSerializationAllowed = 1};
    config.attrs = attributes;
    return driver->cuLaunchKernelEx(&config, function, parameters, NULL);
}

static CUresult launch_once(const gt_driver *driver, const gt_module *module, const gt_launch *launch,
                            unsigned batch, const gt_args *args, CUstream stream)
{
    const CUlaunchConfig copies = {
        .gridDimX = launch->repack, .gridDimY = 1, .gridDimZ = batch,
        .blockDimX = REPACK_THREADS, .blockDimY = 1, .blockDimZ = 1, .hStream = stream,
    };
    const CUlaunchConfig product = {
        .gridDimX = launch->grid[0], .gridDimY = launch->grid[1], .gridDimZ = batch,
        .blockDimX = launch->threads, .blockDimY = 1, .blockDimZ = 1,
        .sharedMemBytes = launch->smem_bytes, .hStream = stream,
    };
    const CUresult result =
        launch->repack ? launch_kernel(driver, module->repack, copies, 1, launch->early, args) : CUDA_SUCCESS;
    return result == CUDA_SUCCESS
               ? launch_kernel(driver, module->function, product, launch->cluster, launch->early, args)
               : result;
}

CUresult gt_launch_run(const gt_driver *driver, const gt_module *module, const gt_launch *launch,
                       const gt_problem *problem, const gt_args *args, CUstream stream)
{
    if (launch->empty)
        return CUDA_SUCCESS;
    if (launch->batch <= launch->grid[2])
        return launch_once(driver, module, launch, launch->grid[2], args, stream);
    const int64_t ab = gt_type_find(problem->type_ab)->bytes, c = gt_type_find(problem->type_c)->bytes;
    gt_args part = *args;
    for (int64_t done = 0; done < launch->batch; done += launch->grid[2]) {
        const int64_t left = launch->batch - done;
        const unsigned batch = left < launch->grid[2] ? (unsigned)left : launch->grid[2];
        part.a = (const char *)args->a + done * args->stride_a * ab;
        part.b = (const char *)args->b + done * args->stride_b * ab;
        part.c = (char *)args->c + done * args->stride_c * c;
        CUresult result = launch_once(driver, module, launch, batch, &part, stream);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}
