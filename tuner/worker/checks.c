#include "checks.h"

#include <stdio.h>

#include "../../src/core/module.h"

#define THREADS 256
#define LANES   32
/* Blocks of the kernels that walk over elements: some for every SM of any GPU. */
#define BLOCKS 4096
/* Columns a warp of rows_* takes, rows a thread of columns_* takes: enough blocks for a thin matrix too. */
#define ROWS_CHUNK    2048
#define COLUMNS_CHUNK 128
#define GRID_Y        65535

/* checks.cu has the other side of these. */
typedef struct matrix_argument {
    CUdeviceptr data;
    int64_t rows, columns, ld;
} matrix_argument;

typedef struct product_argument {
    CUdeviceptr a, b;
    int64_t a_row, a_step, b_step, b_column, k;
} product_argument;

static matrix_argument argument(const gt_matrix *m)
{
    return (matrix_argument){m->data, m->rows, m->columns, m->ld};
}

gt_matrix gt_matrix_of(const gt_problem *p, gt_operand operand, CUdeviceptr first, int64_t index)
{
    const gt_stored o = gt_problem_stored(p, operand);
    const CUdeviceptr offset = (CUdeviceptr)(index * o.stride * gt_type_find(o.type)->bytes);
    return (gt_matrix){first ? first + offset : 0, o.type, o.rows, o.columns, o.ld};
}

static CUresult find(const gt_checks *checks, const char *name, CUfunction *function)
{
    CUkernel kernel;
    CUresult result = checks->driver->cuLibraryGetKernel(&kernel, checks->library, name);
    if (result == CUDA_SUCCESS)
        *function = (CUfunction)kernel;
    return result;
}

/* The same of a kernel that is not there where the code is for other types only. */
static CUresult find_some(const gt_checks *checks, const char *name, CUfunction *function)
{
    const CUresult result = find(checks, name, function);
    return result == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : result;
}

gt_status gt_checks_init(const gt_driver *driver, CUstream stream, const gt_code *code, gt_checks *out)
{
    gt_checks checks = {.driver = driver, .stream = stream};
    CUresult result = gt_code_load(driver, code, &checks.library);
    if (result != CUDA_SUCCESS)
        return gt_driver_check(driver, result, "loading the check kernels");
    const struct {
        const char *verb;
        CUfunction *functions;
    } wanted[] = {
        {"fill", checks.fill},     {"rows", checks.rows},           {"columns", checks.columns},
        {"gather", checks.gather}, {"nonfinite", checks.nonfinite},
    };
    char name[64];
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        for (gt_type type = 0; gt_type_find(type) && result == CUDA_SUCCESS; type++) {
            snprintf(name, sizeof name, "%s_%s", wanted[i].verb, gt_type_find(type)->name);
            result = find_some(&checks, name, &wanted[i].functions[type]);
        }
    const gt_types *types;
    for (size_t i = 0; (types = gt_types_at(i)) && result == CUDA_SUCCESS; i++) {
        snprintf(name, sizeof name, "sample_%s_%s", gt_type_find(types->a)->name, gt_type_find(types->b)->name);
        result = find_some(&checks, name, &checks.sample[types->a][types->b]);
    }
    if (result == CUDA_SUCCESS)
        result = find(&checks, "count_changed", &checks.count_changed);
    if (result == CUDA_SUCCESS)
        result = find(&checks, "checksum_1", &checks.checksum[0]);
    if (result == CUDA_SUCCESS)
        result = find(&checks, "checksum_2", &checks.checksum[1]);
    if (result != CUDA_SUCCESS) {
        gt_checks_finish(&checks);
        return gt_driver_check(driver, result, "finding a check kernel");
    }
    *out = checks;
    return GT_OK;
}

void gt_checks_finish(gt_checks *checks)
{
    if (checks->library)
        checks->driver->cuLibraryUnload(checks->library);
    *checks = (gt_checks){0};
}

static CUresult launch(const gt_checks *checks, CUfunction function, int64_t blocks, int64_t chunks, void **arguments)
{
    if (blocks == 0 || chunks == 0)
        return CUDA_SUCCESS;
    if (!function)
        return CUDA_ERROR_NOT_FOUND;
    if (blocks > 0x7fffffff || chunks > GRID_Y)
        return CUDA_ERROR_INVALID_VALUE;
    return checks->driver->cuLaunchKernel(function, (unsigned)blocks, (unsigned)chunks, 1, THREADS, 1, 1, 0,
                                          checks->stream, arguments, NULL);
}

/* Blocks for `count` threads, each with one thing to do. */
static int64_t blocks_for(int64_t count)
{
    return (count + THREADS - 1) / THREADS;
}

/* Blocks for a walk over `count` elements. */
static int64_t blocks_to_walk(int64_t count)
{
    const int64_t blocks = blocks_for(count);
    return blocks < BLOCKS ? blocks : BLOCKS;
}

CUresult gt_checks_fill(const gt_checks *checks, const gt_matrix *matrix, int64_t batch, int64_t stride, uint64_t seed)
{
    matrix_argument m = argument(matrix);
    void *arguments[] = {&m, &batch, &stride, &seed};
    return launch(checks, checks->fill[matrix->type], blocks_to_walk(m.rows * m.columns * batch), 1, arguments);
}

CUresult gt_checks_multiply(const gt_checks *checks, const gt_matrix *matrix, bool transposed, bool squares_,
                            CUdeviceptr v, CUdeviceptr out)
{
    matrix_argument m = argument(matrix);
    const int64_t along = transposed ? m.rows : m.columns, across = transposed ? m.columns : m.rows;
    const int64_t least = transposed ? COLUMNS_CHUNK : ROWS_CHUNK;
    int64_t chunk = (along + GRID_Y - 1) / GRID_Y;
    int squares = squares_;
    void *arguments[] = {&m, &v, &out, &chunk, &squares};
    if (chunk < least)
        chunk = least;
    if (across == 0)
        return CUDA_SUCCESS;
    /* The kernels add to what is there. */
    CUresult result = checks->driver->cuMemsetD32Async(out, 0, (size_t)across * 2, checks->stream);
    if (result != CUDA_SUCCESS)
        return result;
    return launch(checks, (transposed ? checks->columns : checks->rows)[matrix->type],
                  blocks_for(transposed ? across : across * LANES), (along + chunk - 1) / chunk, arguments);
}

CUresult gt_checks_sample(const gt_checks *checks, const gt_problem *p, CUdeviceptr a, CUdeviceptr b, int64_t index,
                          CUdeviceptr places, int64_t count, CUdeviceptr out)
{
    product_argument product = {
        .a = gt_matrix_of(p, GT_A, a, index).data, .b = gt_matrix_of(p, GT_B, b, index).data, .k = p->k,
        .a_row = p->class.op_a == GT_N ? p->lda : 1, .a_step = p->class.op_a == GT_N ? 1 : p->lda,
        .b_step = p->class.op_b == GT_N ? p->ldb : 1, .b_column = p->class.op_b == GT_N ? 1 : p->ldb,
    };
    void *arguments[] = {&product, &places, &count, &out};
    return launch(checks, checks->sample[p->class.type_a][p->class.type_b], blocks_for(count * LANES), 1, arguments);
}

CUresult gt_checks_gather(const gt_checks *checks, const gt_matrix *matrix, CUdeviceptr places, int64_t count,
                          CUdeviceptr out)
{
    matrix_argument m = argument(matrix);
    void *arguments[] = {&m, &places, &count, &out};
    return launch(checks, checks->gather[matrix->type], blocks_for(count), 1, arguments);
}

CUresult gt_checks_nonfinite(const gt_checks *checks, const gt_matrix *matrix, CUdeviceptr found)
{
    matrix_argument m = argument(matrix);
    void *arguments[] = {&m, &found};
    return launch(checks, checks->nonfinite[matrix->type], blocks_to_walk(m.rows * m.columns), 1, arguments);
}

CUresult gt_checks_checksum(const gt_checks *checks, const gt_matrix *matrix, CUdeviceptr sum)
{
    const int bytes = gt_type_find(matrix->type)->bytes, units = bytes > 1 ? bytes / 2 : 1;
    CUdeviceptr region = matrix->data;
    int64_t rows = matrix->rows, width = matrix->columns * units, pitch = matrix->ld * units;
    void *arguments[] = {&region, &rows, &width, &pitch, &sum};
    return launch(checks, checks->checksum[bytes > 1], blocks_to_walk(rows * width), 1, arguments);
}

CUresult gt_checks_count(const gt_checks *checks, CUdeviceptr region, int64_t rows, int64_t width, int64_t pitch,
                         unsigned pattern, CUdeviceptr counter)
{
    void *arguments[] = {&region, &rows, &width, &pitch, &pattern, &counter};
    return launch(checks, checks->count_changed, blocks_to_walk(rows * width), 1, arguments);
}
