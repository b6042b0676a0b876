#include "far.h"

#include <stdlib.h>

#include "../random.h"
#include "compare.h"

#define ROWS  3                  /* rows, or matrices, of an operand */
#define WIDE  19                 /* elements of a row that may be long */
#define APART ((int64_t)1 << 31) /* elements from one to the next, and some more */
#define MORE  32

/* Operands begin this far apart in the first chunk, and in every other. */
#define OPERAND_BYTES ((size_t)1 << 19)

/* Elements from row to row: above 2^31, and of the alignment of a class. */
static int64_t stride_of(const gt_class *class)
{
    const int bytes = gt_type_find(class->type_a)->bytes;
    const int64_t unit = class->align > bytes ? class->align / bytes : 1;
    return ((APART + MORE) / unit + 1) * unit;
}

static CUdeviceptr operand_at(const gt_far *far, const gt_class *class, gt_operand operand)
{
    const gt_type type = operand == GT_C ? class->type_c : class->type_a;
    return far->base + (CUdeviceptr)operand * OPERAND_BYTES + (CUdeviceptr)gt_class_pointer(class, type);
}

/* Pages for one chunk at a multiple of its size from the base; nothing to do where it is mapped already. */
static CUresult map_chunk(const gt_driver *driver, const CUmemAllocationProp *property, size_t offset, gt_far *far)
{
    const CUdeviceptr at = far->base + offset;
    const CUmemAccessDesc access = {.location = property->location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    for (int i = 0; i < far->count; i++)
        if (far->mapped[i] == at)
            return CUDA_SUCCESS;
    CUmemGenericAllocationHandle handle;
    CUresult result = driver->cuMemCreate(&handle, far->chunk, property, 0);
    if (result != CUDA_SUCCESS)
        return result;
    if ((result = driver->cuMemMap(at, far->chunk, 0, handle, 0)) != CUDA_SUCCESS) {
        driver->cuMemRelease(handle);
        return result;
    }
    far->handles[far->count] = handle;
    far->mapped[far->count++] = at;
    return driver->cuMemSetAccess(at, far->chunk, &access, 1);
}

void gt_far_finish(const gt_driver *driver, gt_far *far)
{
    for (int i = 0; i < far->count; i++) {
        driver->cuMemUnmap(far->mapped[i], far->chunk);
        driver->cuMemRelease(far->handles[i]);
    }
    if (far->base)
        driver->cuMemAddressFree(far->base, far->bytes);
    *far = (gt_far){0};
}

/* Makes the memory for operands of a class; quick where it is there already. */
static CUresult prepare(const gt_driver *driver, const gt_class *class, gt_far *far)
{
    const int elements[] = {gt_type_find(class->type_a)->bytes, gt_type_find(class->type_c)->bytes};
    CUmemAllocationProp property = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    if (far->base && far->elements[0] == elements[0] && far->elements[1] == elements[1])
        return CUDA_SUCCESS;
    gt_far_finish(driver, far);
    far->elements[0] = elements[0];
    far->elements[1] = elements[1];
    CUresult result = driver->cuCtxGetDevice(&property.location.id);
    if (result == CUDA_SUCCESS)
        result = driver->cuMemGetAllocationGranularity(&far->chunk, &property, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    /* All operands of one row are in one chunk. */
    while (result == CUDA_SUCCESS && far->chunk < (GT_OPERANDS + 1) * OPERAND_BYTES)
        far->chunk *= 2;
    const size_t largest = (size_t)(elements[0] > elements[1] ? elements[0] : elements[1]);
    far->bytes = (ROWS - 1) * (size_t)APART * largest + far->chunk;
    if (result == CUDA_SUCCESS)
        result = driver->cuMemAddressReserve(&far->base, far->bytes, 0, 0, 0);
    for (int row = 0; row < ROWS && result == CUDA_SUCCESS; row++)
        for (int i = 0; i < 2 && result == CUDA_SUCCESS; i++)
            result = map_chunk(driver, &property, (size_t)row * (size_t)APART * (size_t)elements[i], far);
    if (result != CUDA_SUCCESS)
        gt_far_finish(driver, far);
    return result;
}

/* One product: packed on the host, far apart on the device. */
typedef struct product {
    gt_case packed;
    gt_problem far;
    char *data[GT_OPERANDS]; /* packed */
    char *after;             /* C as it came back, packed */
} product;

/* What lies far apart. */
typedef enum apart {
    APART_ROWS,     /* rows of a few elements, ROWS of them */
    APART_MATRICES, /* small matrices, ROWS of them */
    APART_TILES,    /* the same of a whole tile, C not read: kernels have a way of their own for these */
    APART_KINDS,
} apart;

/* Elements from row to row of an operand: those of a row, aligned. */
static int64_t aligned_ld(const gt_class *class, const gt_problem *packed, gt_operand operand)
{
    const gt_stored o = gt_problem_stored(packed, operand);
    const int bytes = gt_type_find(o.type)->bytes;
    const int64_t unit = class->align > bytes ? class->align / bytes : 1;
    return (o.columns + unit - 1) / unit * unit;
}

static gt_status make_product(const gt_class *class, const gt_facts *facts, apart kind, uint64_t seed, product *p)
{
    /* A side along which no operand has rows is as long as vectors and their rest need. */
    const int64_t n = class->op_b == GT_N ? WIDE : ROWS, k = class->op_b == GT_T && class->op_a == GT_N ? WIDE : ROWS;
    const int64_t sizes[][3] = {[APART_ROWS] = {ROWS, n, k},
                                [APART_MATRICES] = {5, 6, 7},
                                [APART_TILES] = {facts->tile_m, facts->tile_n, 16}}, *size = sizes[kind];
    const int64_t far = stride_of(class);
    const bool matrices = kind != APART_ROWS;
    gt_gemm gemm = gt_class_gemm(class, size[0], size[1], size[2]);
    gemm.batch = matrices ? ROWS : 1;
    gt_status status = gt_problem_init(&gemm, &p->packed.problem);
    if (status != GT_OK)
        return status;
    gemm.lda = matrices ? aligned_ld(class, &p->packed.problem, GT_A) : far;
    gemm.ldb = matrices ? aligned_ld(class, &p->packed.problem, GT_B) : far;
    gemm.ldc = matrices ? aligned_ld(class, &p->packed.problem, GT_C) : far;
    gemm.stride_a = gemm.stride_b = gemm.stride_c = matrices ? far : 0;
    if ((status = gt_problem_init(&gemm, &p->far)) != GT_OK)
        return status;
    p->packed.alpha = -1.25;
    p->packed.beta = 0.75;
    if (gt_class_types(class)->exact)
        p->packed.alpha = p->packed.beta = -3;
    if (kind == APART_TILES)
        p->packed.beta = 0;
    for (gt_operand o = GT_A; o < GT_OPERANDS; o++) {
        const gt_type_info *type = gt_type_find(gt_problem_stored(&p->packed.problem, o).type);
        const size_t bytes = gt_problem_bytes(&p->packed.problem, o);
        if (!(p->data[o] = malloc(bytes)))
            return gt_fail_memory();
        for (int64_t i = 0; i < (int64_t)bytes / type->bytes; i++)
            type->draw(p->data[o], i, gt_random_bits(seed + o, (uint64_t)i));
    }
    p->after = malloc(gt_problem_bytes(&p->packed.problem, GT_C));
    return p->after ? GT_OK : gt_fail_memory();
}

static void finish_product(product *p)
{
    for (gt_operand o = GT_A; o < GT_OPERANDS; o++)
        free(p->data[o]);
    free(p->after);
}

/* Copies an operand to the device or, for C, back: row by row, or matrices at once where their rows are as far apart. */
static CUresult copy(const gt_driver *driver, const product *p, gt_operand operand, CUdeviceptr base, bool back)
{
    const gt_stored packed = gt_problem_stored(&p->packed.problem, operand), far = gt_problem_stored(&p->far, operand);
    const int64_t rows = packed.ld == far.ld ? far.rows : 1;
    const size_t bytes = (size_t)gt_type_find(far.type)->bytes, some = (size_t)(rows * far.columns) * bytes;
    CUresult result = CUDA_SUCCESS;
    for (int64_t i = 0; i < p->far.batch && result == CUDA_SUCCESS; i++)
        for (int64_t row = 0; row < far.rows && result == CUDA_SUCCESS; row += rows) {
            const size_t at = (size_t)(i * packed.stride + row * packed.ld) * bytes;
            const CUdeviceptr device = base + (CUdeviceptr)(i * far.stride + row * far.ld) * bytes;
            result = back ? driver->cuMemcpyDtoH(p->after + at, device, some)
                          : driver->cuMemcpyHtoD(device, p->data[operand] + at, some);
        }
    return result;
}

static bool run_product(const gt_far *far, const gt_checks *checks, const gt_class *class, product *p,
                        gt_runner *runner, gt_trial *trial)
{
    const gt_driver *driver = checks->driver;
    const gt_types *types = gt_class_types(class);
    CUdeviceptr at[GT_OPERANDS];
    gt_reference reference;
    gt_errors errors = {0};
    CUresult result = CUDA_SUCCESS;
    for (gt_operand o = GT_A; o < GT_OPERANDS && result == CUDA_SUCCESS; o++) {
        at[o] = operand_at(far, class, o);
        result = copy(driver, p, o, at[o], false);
    }
    if (!gt_trial_check(trial, driver, result, "uploading operands that lie far apart") ||
        !runner->prepare(runner, &p->far, trial))
        return false;
    const gt_launch_operands operands = {.a = (void *)at[GT_A], .b = (void *)at[GT_B], .c = (void *)at[GT_C],
                                         .alpha = gt_scalar_make(types, p->packed.alpha),
                                         .beta = gt_scalar_make(types, p->packed.beta)};
    result = runner->launch(runner, &operands);
    if (result == CUDA_SUCCESS)
        result = driver->cuStreamSynchronize(checks->stream);
    if (result == CUDA_SUCCESS)
        result = copy(driver, p, GT_C, at[GT_C], true);
    if (!gt_trial_check(trial, driver, result, "running (rows or matrices more than 2^31 elements apart)"))
        return false;
    if (gt_reference_init(&p->packed.problem, p->data[GT_A], p->data[GT_B], &reference) != GT_OK)
        return gt_trial_fail(trial, GT_TRIAL_OVER_RESOURCES, "%s", gt_error_message());
    bool good = true;
    for (int64_t i = 0; good && i < p->far.batch; i++)
        good = gt_compare_product(&p->packed, &reference, i, p->data[GT_C], p->after, &errors, trial);
    gt_reference_finish(&reference);
    if (!good)
        gt_trial_add(trial, ", %s more than 2^31 elements apart", p->far.batch > 1 ? "matrices" : "rows");
    return good;
}

/* Whether each matrix of a product fits between two operands of a chunk. */
static bool fits(const product *p)
{
    bool all = true;
    for (gt_operand o = GT_A; o < GT_OPERANDS && p->far.batch > 1; o++) {
        const gt_stored stored = gt_problem_stored(&p->far, o);
        all &= (size_t)(stored.rows * stored.ld + 1) * (size_t)gt_type_find(stored.type)->bytes + 16 <= OPERAND_BYTES;
    }
    return all;
}

bool gt_far_verify(gt_far *far, const gt_checks *checks, const gt_class *class, const gt_facts *facts, uint64_t seed,
                   gt_runner *runner, bool *had, gt_trial *trial)
{
    bool good = true;
    *had = prepare(checks->driver, class, far) == CUDA_SUCCESS;
    for (apart kind = APART_ROWS; *had && good && kind < APART_KINDS; kind++) {
        product p = {0};
        if (make_product(class, facts, kind, seed + 16 * (uint64_t)kind, &p) != GT_OK)
            good = gt_trial_fail(trial, GT_TRIAL_OVER_RESOURCES, "%s", gt_error_message());
        good = good && (!fits(&p) || run_product(far, checks, class, &p, runner, trial));
        finish_product(&p);
    }
    return good;
}
