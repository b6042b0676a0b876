#include "launch.h"

#include "../softgpu/softgpu.h"

/* Limits of every architecture: blocks in x, and in y and z. */
#define GRID_X 0x7fffffffll
#define GRID_YZ 65535

/* Copies of operands: a block for each square of 64 x 64, or for every so many of them where there are more. */
#define REPACK_BLOCKS  65536
#define REPACK_THREADS 256
#define REPACK_SQUARE  64
#define REPACK_LINE    128 /* bytes that a line is a multiple of */

/* Of tensor maps: what addresses and strides are a multiple of, elements along a side, bytes of a stride. */
#define MAP_ALIGN  16
#define MAP_SIDE   ((int64_t)1 << 32)
#define MAP_STRIDE ((int64_t)1 << 40)

/* The workspace behind the counters begins where any memory of its own would. */
#define PLACE_ALIGN 256

gt_scalar gt_scalar_make(const gt_types *types, double value)
{
    gt_scalar scalar = {.bits = 0};
    gt_type_find(types->accumulator)->store(&scalar, 0, value);
    return scalar;
}

/* Bytes of an operand's copy, a padded line for each k-step. False where they pass 64 bits. */
static bool copy_bytes(int64_t k, int64_t outer, int64_t bytes, int64_t *total)
{
    int64_t line;
    return !__builtin_mul_overflow(outer, bytes, &line) && !__builtin_add_overflow(line, REPACK_LINE - 1, &line) &&
           !__builtin_mul_overflow(line / REPACK_LINE * REPACK_LINE, k, total);
}

/* Room for the copies of operands of as many matrices as are launched at once, and blocks that make them.
 * kernel_templates/repack.cuh has the other side. */
static gt_status add_copies(const gt_problem *p, int64_t which, int64_t *workspace, gt_launch *launch)
{
    const int64_t bytes = gt_type_find(p->class.type_ab)->bytes;
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

static int64_t round_up(int64_t bytes, int64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* Describes one operand as it is stored. A map has no empty side, and a side of one has any stride: an operand that is
 * not read (alpha = 0, k = 0) is described as if it were one element. */
static gt_status describe_map(const char *name, gt_type type, int64_t rows, int64_t columns, int64_t ld, int64_t stride,
                              int64_t batch, const int64_t box[2], int64_t swizzle, gt_map *map)
{
    const gt_type_info *info = gt_type_find(type);
    rows = rows > 0 ? rows : 1;
    columns = columns > 0 ? columns : 1;
    if (rows > MAP_SIDE || columns > MAP_SIDE || batch > MAP_SIDE || ld >= MAP_STRIDE / info->bytes ||
        (batch > 1 && stride >= MAP_STRIDE / info->bytes))
        return gt_fail(GT_ERROR_INVALID, "%s is larger than a tensor map describes: sides up to 2^32, strides below 2^40 "
                       "bytes", name);
    const int64_t row = rows > 1 ? ld * info->bytes : round_up(columns * info->bytes, MAP_ALIGN);
    const int64_t matrix = batch > 1 ? stride * info->bytes : rows < MAP_STRIDE / row ? rows * row : MAP_STRIDE - MAP_ALIGN;
    *map = (gt_map){
        .used = true,
        .type = (CUtensorMapDataType)info->tensor_map,
        .swizzle = (CUtensorMapSwizzle)swizzle,
        .size = {(cuuint64_t)columns, (cuuint64_t)rows, (cuuint64_t)batch},
        .stride = {(cuuint64_t)row, (cuuint64_t)matrix},
        .box = {(cuuint32_t)box[1], (cuuint32_t)box[0], 1},
    };
    return GT_OK;
}

static gt_status describe_maps(const gt_facts *f, const gt_problem *p, gt_launch *launch)
{
    const gt_class *class = &p->class;
    const bool a_transposed = class->op_a == GT_T, b_transposed = class->op_b == GT_T;
    const struct {
        const char *name;
        gt_type type;
        int64_t rows, columns, ld, stride, box[2], swizzle;
    } operands[] = {
        [GT_OPERAND_A] = {"A", class->type_ab, a_transposed ? p->k : p->m, a_transposed ? p->m : p->k, p->lda,
                          p->stride_a, {f->box_a_rows, f->box_a_columns}, f->swizzle_ab},
        [GT_OPERAND_B] = {"B", class->type_ab, b_transposed ? p->n : p->k, b_transposed ? p->k : p->n, p->ldb,
                          p->stride_b, {f->box_b_rows, f->box_b_columns}, f->swizzle_ab},
        [GT_OPERAND_C] = {"C", class->type_c, p->m, p->n, p->ldc, p->stride_c, {f->box_c_rows, f->box_c_columns},
                          f->swizzle_c},
    };
    gt_status status = GT_OK;
    for (int i = 0; status == GT_OK && i < GT_OPERANDS; i++) {
        if (operands[i].box[0] == 0 || operands[i].box[1] == 0)
            continue;
        if (class->align < MAP_ALIGN)
            return gt_fail(GT_ERROR_INVALID, "a tensor map needs pointers and rows aligned to %d bytes, not %d", MAP_ALIGN,
                           class->align);
        status = describe_map(operands[i].name, operands[i].type, operands[i].rows, operands[i].columns, operands[i].ld,
                              operands[i].stride, p->batch, operands[i].box, operands[i].swizzle, &launch->maps[i]);
        launch->mapped = true;
    }
    return status;
}

gt_status gt_launch_init(const gt_kernel *kernel, const gt_problem *problem, gt_launch *out)
{
    const gt_facts *f = &kernel->facts;
    int64_t tiles, units, workspace = 0;
    char params[GT_PARAMS_TEXT];
    gt_status status = gt_facts_check(f);
    if (status != GT_OK)
        return gt_fail(status, "kernel %s (%s): %s", kernel->family, gt_params_text(&kernel->params, params),
                       gt_error_message());
    gt_launch launch = {
        .problem = *problem,
        .empty = problem->m == 0 || problem->n == 0,
        .threads = (unsigned)f->threads,
        .smem_bytes = (unsigned)f->smem_bytes,
        .cluster = {(unsigned)f->cluster_x, (unsigned)f->cluster_y},
        .dependent = f->dependent_launch != 0,
    };
    if (launch.empty) {
        *out = launch;
        return GT_OK;
    }
    if (__builtin_mul_overflow((problem->m - 1) / f->tile_m + 1, (problem->n - 1) / f->tile_n + 1, &tiles) ||
        tiles > GRID_X)
        return gt_fail(GT_ERROR_INVALID, "%lld x %lld has more than 2^31 tiles of %lld x %lld", (long long)problem->m,
                       (long long)problem->n, (long long)f->tile_m, (long long)f->tile_n);
    if (f->split_k % f->cluster_y != 0)
        return gt_fail(GT_ERROR_INVALID, "split_k is %lld, no multiple of the cluster's %lld along K",
                       (long long)f->split_k, (long long)f->cluster_y);
    if (f->blocks > 0)
        tiles = f->blocks;
    launch.grid[0] = (unsigned)round_up(tiles, f->cluster_x);
    launch.grid[1] = (unsigned)f->split_k;
    launch.grid[2] = problem->batch < GRID_YZ ? (unsigned)problem->batch : GRID_YZ;
    if (f->ws_tile > 0) {
        int64_t counters;
        units = tiles * launch.grid[2];
        if (__builtin_mul_overflow(units, f->ws_tile, &workspace) ||
            __builtin_mul_overflow(units * (int64_t)sizeof(unsigned), f->split_k, &counters))
            return gt_fail(GT_ERROR_INVALID, "the workspace overflows 64 bits");
        launch.counter_bytes = (size_t)counters;
    }
    if (f->repack && (status = add_copies(problem, f->repack, &workspace, &launch)) != GT_OK)
        return status;
    if ((status = describe_maps(f, problem, &launch)) != GT_OK)
        return status;
    launch.workspace_bytes = (size_t)workspace;
    *out = launch;
    return GT_OK;
}

static size_t placed_counters(const gt_launch *launch)
{
    return (launch->counter_bytes + PLACE_ALIGN - 1) / PLACE_ALIGN * PLACE_ALIGN;
}

size_t gt_launch_memory(const gt_launch *launch)
{
    return placed_counters(launch) + launch->workspace_bytes;
}

void gt_launch_place(const gt_launch *launch, void *memory, gt_launch_operands *operands)
{
    operands->counters = launch->counter_bytes > 0 ? memory : NULL;
    operands->workspace = (char *)memory + placed_counters(launch);
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
    if (kernel->facts.smem_bytes > 0 &&
        (result = driver->cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                               (int)kernel->facts.smem_bytes, handle, device)) != CUDA_SUCCESS)
        goto fail;
    if ((result = driver->cuKernelGetAttribute(&module.registers, CU_FUNC_ATTRIBUTE_NUM_REGS, handle, device)) !=
            CUDA_SUCCESS ||
        (result = driver->cuKernelGetAttribute(&module.spills, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, handle, device)) !=
            CUDA_SUCCESS)
        goto fail;
    /* A CUkernel launches in whatever context is current: a plan is not tied to the one it was made in. */
    module.function = (CUfunction)handle;
    if (kernel->facts.repack &&
        (result = driver->cuLibraryGetKernel(&handle, module.library, GT_REPACK_ENTRY)) != CUDA_SUCCESS)
        goto fail;
    module.repack = kernel->facts.repack ? (CUfunction)handle : NULL;
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

/* From this driver on a graph keeps what a stream was told of dependent launches. */
#define DEPENDENT_DRIVER 12030

/* One kernel: with its cluster and, where it may, before what the stream ran before is done. */
static CUresult launch_kernel(const gt_driver *driver, CUfunction function, CUlaunchConfig config,
                              const unsigned cluster[2], bool dependent, void **parameters)
{
    CUlaunchAttribute attributes[2];
    if (cluster[0] * cluster[1] > 1)
        attributes[config.numAttrs++] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                                            .value.clusterDim = {cluster[0], cluster[1], 1}};
    if (dependent && driver->version >= DEPENDENT_DRIVER)
        attributes[config.numAttrs++] =
            (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                .value.programmaticStreamSerializationAllowed = 1};
    config.attrs = attributes;
    return driver->cuLaunchKernelEx(&config, function, parameters, NULL);
}

/* The tensor maps of a launch, in the order of the operands, and their parameters. A map's address must be memory, also
 * where nothing of it is read: an operand that is not given takes C's. */
static __attribute__((noinline)) CUresult encode_maps(const gt_driver *driver, const gt_launch *launch,
                                                      const gt_args *args, CUtensorMap maps[GT_OPERANDS],
                                                      void **parameters, int *count)
{
    static const cuuint32_t every[3] = {1, 1, 1};
    const void *const addresses[] = {args->a ? args->a : args->c, args->b ? args->b : args->c, args->c};
    for (int i = 0; i < GT_OPERANDS; i++) {
        const gt_map *m = &launch->maps[i];
        if (!m->used)
            continue;
        const CUresult result = driver->cuTensorMapEncodeTiled(
            &maps[i], m->type, 3, (void *)addresses[i], m->size, m->stride, m->box, every,
            CU_TENSOR_MAP_INTERLEAVE_NONE, m->swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
            CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
        if (result != CUDA_SUCCESS)
            return result;
        parameters[(*count)++] = &maps[i];
    }
    return CUDA_SUCCESS;
}

/* Launches the first `batch` matrices from where the arguments point. */
static CUresult launch_once(const gt_driver *driver, const gt_module *module, const gt_launch *launch,
                            unsigned batch, const gt_args *args, CUstream stream)
{
    static const unsigned alone[2] = {1, 1};
    const CUlaunchConfig copies = {
        .gridDimX = launch->repack, .gridDimY = 1, .gridDimZ = batch,
        .blockDimX = REPACK_THREADS, .blockDimY = 1, .blockDimZ = 1, .hStream = stream,
    };
    const CUlaunchConfig product = {
        .gridDimX = launch->grid[0], .gridDimY = launch->grid[1], .gridDimZ = batch,
        .blockDimX = launch->threads, .blockDimY = 1, .blockDimZ = 1,
        .sharedMemBytes = launch->smem_bytes, .hStream = stream,
    };
    CUtensorMap maps[GT_OPERANDS];
    void *parameters[GT_OPERANDS + 1], *block[] = {(void *)args};
    int count = 0;
    CUresult result = CUDA_SUCCESS;
    if (launch->repack)
        result = launch_kernel(driver, module->repack, copies, alone, launch->dependent, block);
    if (result == CUDA_SUCCESS && launch->mapped)
        result = encode_maps(driver, launch, args, maps, parameters, &count);
    parameters[count] = block[0];
    return result == CUDA_SUCCESS
               ? launch_kernel(driver, module->function, product, launch->cluster, launch->dependent, parameters)
               : result;
}

/* What kernels are told of a product. */
static gt_args make_args(const gt_launch *launch, const gt_launch_operands *o)
{
    const gt_problem *p = &launch->problem;
    const gt_type_info *scalar = gt_type_find(gt_class_types(&p->class)->accumulator);
    const bool reads = p->k > 0 && scalar->load(&o->alpha, 0) != 0;
    return (gt_args){
        .a = reads ? o->a : NULL, .b = reads ? o->b : NULL, .c = o->c, /* never read, they need not be good pointers */
        .workspace = o->workspace, .counters = o->counters,
        .m = p->m, .n = p->n, .k = reads ? p->k : 0,
        .lda = p->lda, .ldb = p->ldb, .ldc = p->ldc,
        .stride_a = p->stride_a, .stride_b = p->stride_b, .stride_c = p->stride_c,
        .alpha = o->alpha, .beta = o->beta,
        .d = o->c, .ldd = p->ldc, .stride_d = p->stride_c,
    };
}

CUresult gt_launch_run(const gt_driver *driver, const gt_module *module, const gt_launch *launch,
                       const gt_launch_operands *operands, CUstream stream)
{
    if (launch->empty)
        return CUDA_SUCCESS;
    const gt_problem *p = &launch->problem;
    gt_args args = make_args(launch, operands);
    if (p->batch <= launch->grid[2])
        return launch_once(driver, module, launch, launch->grid[2], &args, stream);
    const int64_t ab = gt_type_find(p->class.type_ab)->bytes, c = gt_type_find(p->class.type_c)->bytes;
    for (int64_t done = 0; done < p->batch; done += launch->grid[2]) {
        const int64_t left = p->batch - done;
        const unsigned batch = left < launch->grid[2] ? (unsigned)left : launch->grid[2];
        const CUresult result = launch_once(driver, module, launch, batch, &args, stream);
        if (result != CUDA_SUCCESS)
            return result;
        args.a = args.a ? (const char *)args.a + batch * args.stride_a * ab : NULL;
        args.b = args.b ? (const char *)args.b + batch * args.stride_b * ab : NULL;
        args.c = args.d = (char *)args.c + batch * args.stride_c * c;
    }
    return CUDA_SUCCESS;
}
