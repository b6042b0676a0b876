#include "launch.h"

#include "residence.h"

/* Limits of every architecture: blocks in x, and in y and z. */
#define GRID_X 0x7fffffffll
#define GRID_YZ 65535

/* The workspace behind the counters begins where any memory of its own would. */
#define PLACE_ALIGN 256

gt_scalar gt_scalar_make(const gt_types *types, double value)
{
    gt_scalar scalar = {.bits = 0};
    gt_type_find(types->accumulator)->store(&scalar, 0, value);
    return scalar;
}

static int64_t round_up(int64_t number, int64_t unit)
{
    return (number + unit - 1) / unit * unit;
}

/* Tiles along a side of C, in whole clusters where a parameter says how many blocks of a cluster lie along it: clusters at
 * the edge have tiles beyond C. With fewer blocks some would have a second tile, which takes twice as long. */
static int64_t count_tiles(const gt_kernel *kernel, int64_t size, int64_t tile, const char *along)
{
    int64_t cluster;
    if (!gt_params_find(&kernel->params, along, &cluster) || cluster < 1 || kernel->facts.cluster_x % cluster != 0)
        cluster = 1;
    return round_up((size - 1) / tile + 1, cluster);
}

bool gt_launch_tiles(const gt_kernel *kernel, const gt_problem *problem, int64_t *tiles)
{
    const gt_facts *f = &kernel->facts;
    return f->tile_m > 0 && f->tile_n > 0 &&
           !__builtin_mul_overflow(count_tiles(kernel, problem->m, f->tile_m, "cluster_m"),
                                   count_tiles(kernel, problem->n, f->tile_n, "cluster_n"), tiles);
}

gt_status gt_launch_init(const gt_device *device, const gt_kernel *kernel, const gt_problem *problem, gt_launch *out)
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
        .scalar = gt_type_find(gt_class_types(&problem->class)->accumulator),
        .empty = problem->m == 0 || problem->n == 0,
        .threads = (unsigned)f->threads,
        .smem_bytes = (unsigned)f->smem_bytes,
        .cluster = {(unsigned)f->cluster_x, (unsigned)f->cluster_y},
    };
    if (launch.empty) {
        *out = launch;
        return GT_OK;
    }
    if (!gt_launch_tiles(kernel, problem, &tiles) || tiles > GRID_X)
        return gt_fail(GT_ERROR_INVALID, "%lld x %lld has more than 2^31 tiles of %lld x %lld", (long long)problem->m,
                       (long long)problem->n, (long long)f->tile_m, (long long)f->tile_n);
    if (f->split_k % f->cluster_y != 0)
        return gt_fail(GT_ERROR_INVALID, "split_k is %lld, no multiple of the cluster's %lld along K",
                       (long long)f->split_k, (long long)f->cluster_y);
    /* Persistent blocks: no more than there are tiles, unless they split K among themselves. */
    if (f->blocks > 0 && (f->blocks < tiles || gt_facts_stream_k(f)))
        tiles = f->blocks;
    launch.grid[0] = (unsigned)round_up(tiles, f->cluster_x);
    launch.grid[1] = (unsigned)f->split_k;
    const int64_t deep = (problem->batch - 1) / f->products + 1;
    launch.grid[2] = deep < GRID_YZ ? (unsigned)deep : GRID_YZ;
    launch.products = (unsigned)f->products;
    /* Where a tile's K is one part, or one cluster's, nobody leaves partial sums for others. */
    const bool alone = f->any_split && f->split_k == f->cluster_y;
    if (f->ws_tile > 0 && !alone) {
        int64_t counters;
        units = tiles * launch.grid[2];
        if (__builtin_mul_overflow(units, f->ws_tile, &workspace) ||
            __builtin_mul_overflow(units * (int64_t)sizeof(unsigned), f->split_k, &counters))
            return gt_fail(GT_ERROR_INVALID, "the workspace overflows 64 bits");
        launch.counter_bytes = (size_t)counters;
    }
    int64_t copies;
    if ((status = gt_copies_init(f, problem, &launch.copies)) != GT_OK)
        return status;
    if (__builtin_mul_overflow((int64_t)(launch.copies.bytes[GT_A] + launch.copies.bytes[GT_B]), launch.grid[2],
                               &copies) ||
        __builtin_add_overflow(workspace, copies, &workspace))
        return gt_fail(GT_ERROR_INVALID, "the workspace overflows 64 bits");
    if ((status = gt_maps_init(f, problem, &launch.copies, &launch.maps)) != GT_OK)
        return status;
    launch.workspace_bytes = (size_t)workspace;
    launch.dependent = f->dependent_launch && !(device && gt_residence_waits(device, kernel, &launch));
    *out = launch;
    return GT_OK;
}

static size_t placed_counters(const gt_launch *launch)
{
    return (size_t)round_up((int64_t)launch->counter_bytes, PLACE_ALIGN);
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

/* Makes the copies of operands, but of those that are read as they are stored, and says where the product finds each
 * and whether there are any. To the kernel that copies, an operand without rows or columns is one without elements. */
static CUresult launch_copies(const gt_driver *driver, const gt_module *module, const gt_launch *launch,
                              const gt_args *args, const bool stored[GT_OPERANDS], bool dependent, CUstream stream,
                              const void *addresses[GT_OPERANDS], bool *any)
{
    const gt_copies *copies = &launch->copies;
    const unsigned batch = (unsigned)args->batch, cluster[2] = {copies->cluster, 1};
    const CUlaunchConfig config = {
        .gridDimX = copies->blocks, .gridDimY = 1, .gridDimZ = batch,
        .blockDimX = copies->threads, .blockDimY = 1, .blockDimZ = 1, .hStream = stream,
    };
    gt_args copied = *args;
    copied.m = stored[GT_A] ? 0 : args->m;
    copied.n = stored[GT_B] ? 0 : args->n;
    for (gt_operand i = GT_A; i <= GT_B; i++) {
        if (!copies->copied[i] || stored[i])
            continue;
        addresses[i] = gt_copies_find(copies, i, batch, stored[GT_A], args->workspace);
        *any = true;
    }
    return *any ? launch_kernel(driver, module->repack, config, cluster, dependent, (void *[]){&copied}) : CUDA_SUCCESS;
}

/* Launches the first `batch` matrices from where the arguments point. */
static CUresult launch_once(const gt_driver *driver, const gt_module *module, const gt_launch *launch,
                            unsigned batch, bool serial, gt_args *args, CUstream stream)
{
    args->batch = batch;
    const CUlaunchConfig product = {
        .gridDimX = launch->grid[0], .gridDimY = launch->grid[1], .gridDimZ = (batch - 1) / launch->products + 1,
        .blockDimX = launch->threads, .blockDimY = 1, .blockDimZ = 1,
        .sharedMemBytes = launch->smem_bytes, .hStream = stream,
    };
    const void *addresses[GT_OPERANDS] = {args->a, args->b, args->c};
    bool stored[GT_OPERANDS] = {false}, dependent = launch->dependent && !serial, copied = false;
    CUtensorMap maps[GT_OPERANDS];
    void *parameters[GT_OPERANDS + 1];
    int count = 0;
    for (gt_operand i = GT_A; i <= GT_B; i++)
        stored[i] = gt_maps_read_stored(&launch->maps, i, addresses[i]);
    CUresult result = CUDA_SUCCESS;
    if (launch->copies.blocks)
        result = launch_copies(driver, module, launch, args, stored, dependent, stream, addresses, &copied);
    dependent = dependent || (launch->dependent && copied);
    if (result == CUDA_SUCCESS && launch->maps.count > 0)
        result = gt_maps_encode(driver, &launch->maps, addresses, stored, maps);
    for (int i = 0; i < launch->maps.count; i++)
        parameters[count++] = &maps[i];
    parameters[count] = args;
    return result == CUDA_SUCCESS
               ? launch_kernel(driver, module->function, product, launch->cluster, dependent, parameters)
               : result;
}

bool gt_launch_reads(const gt_launch *launch, const gt_scalar *alpha)
{
    return launch->problem.k > 0 && launch->scalar->load(alpha, 0) != 0;
}

/* What kernels are told of a product. */
static gt_args make_args(const gt_launch *launch, const gt_launch_operands *o)
{
    const gt_problem *p = &launch->problem;
    const bool reads = gt_launch_reads(launch, &o->alpha), apart = o->d && launch->scalar->load(&o->beta, 0) != 0;
    const int64_t element = gt_type_find(p->class.type_c)->bytes;
    return (gt_args){
        .a = reads ? o->a : NULL, .b = reads ? o->b : NULL, /* never read, they need not be good pointers */
        .c = o->d ? o->d : o->c,
        .workspace = o->workspace, .counters = o->counters,
        .m = p->m, .n = p->n, .k = reads ? p->k : 0,
        .lda = p->lda, .ldb = p->ldb, .ldc = p->ldc,
        .stride_a = p->stride_a, .stride_b = p->stride_b, .stride_c = p->stride_c,
        .alpha = reads ? o->alpha : (gt_scalar){.bits = 0}, /* an infinite one would make NaN of no products */
        .beta = o->beta,
        .bias = o->bias, .apart = apart ? ((intptr_t)o->c - (intptr_t)o->d) / element : 0,
        .epilogue = (uint32_t)o->epilogue,
    };
}

CUresult gt_launch_run(const gt_driver *driver, const gt_module *module, const gt_launch *launch,
                       const gt_launch_operands *operands, CUstream stream)
{
    if (launch->empty)
        return CUDA_SUCCESS;
    const gt_problem *p = &launch->problem;
    gt_args args = make_args(launch, operands);
    const int64_t most = (int64_t)launch->grid[2] * launch->products; /* matrices of one launch */
    if (p->batch <= most)
        return launch_once(driver, module, launch, (unsigned)p->batch, operands->serial, &args, stream);
    const int64_t a = gt_type_find(p->class.type_a)->bytes, b = gt_type_find(p->class.type_b)->bytes,
                  c = gt_type_find(p->class.type_c)->bytes;
    for (int64_t done = 0; done < p->batch; done += most) {
        const int64_t left = p->batch - done;
        const unsigned batch = (unsigned)(left < most ? left : most);
        const CUresult result = launch_once(driver, module, launch, batch, operands->serial, &args, stream);
        if (result != CUDA_SUCCESS)
            return result;
        args.a = args.a ? (const char *)args.a + batch * args.stride_a * a : NULL;
        args.b = args.b ? (const char *)args.b + batch * args.stride_b * b : NULL;
        args.c = (char *)args.c + batch * args.stride_c * c;
    }
    return CUDA_SUCCESS;
}
