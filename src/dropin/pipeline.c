#include "pipeline.h"

#include <stdlib.h>

#include "front.h"

/* A place for a tile on the GPU. */
typedef struct slot {
    CUdeviceptr data;
    size_t bytes;
    int64_t row, column; /* of the tile that it holds, in tiles; -1: none */
    CUevent ready;       /* the tile has come */
    CUevent used;        /* the last kernel with it is done */
} slot;

enum { A, B, C, OPERANDS };

typedef struct operand {
    slot slots[2];
    size_t turn;
} operand;

struct gt_pipeline {
    const gt_driver *driver;
    CUcontext context;
    CUstream up, run, down;
    gt_staging *uploads, *downloads;
    gt_drain *drain; /* made with the first product of several tiles */
    operand operands[OPERANDS];
};

/* A product on its way. */
typedef struct job {
    gt_pipeline *pipeline;
    const gt_host_product *product;
    const gt_tiles *tiles;
    const gt_tile_answers *answers;
    int64_t rows, columns, depth; /* tiles along m, n and k */
    size_t element;
} job;

static int64_t divide(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static size_t element_bytes(const gt_host_product *p)
{
    return p->type == GT_F64 ? 8 : 4;
}

static bool make_slot(const gt_driver *driver, slot *s)
{
    return driver->cuEventCreate(&s->ready, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS &&
           driver->cuEventCreate(&s->used, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS;
}

/* What could be made of one that fails stays: the process has no second try. */
gt_pipeline *gt_pipeline_create(const gt_driver *driver, CUcontext context)
{
    gt_pipeline *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->driver = driver;
    p->context = context;
    bool made = driver->cuStreamCreate(&p->up, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS &&
                driver->cuStreamCreate(&p->run, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS &&
                driver->cuStreamCreate(&p->down, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS;
    for (int i = 0; made && i < OPERANDS * 2; i++)
        made = make_slot(driver, &p->operands[i / 2].slots[i % 2]);
    if (made)
        p->uploads = gt_staging_create(driver, context, p->up);
    if (p->uploads)
        p->downloads = gt_staging_create(driver, context, p->down);
    if (p->downloads)
        return p;
    free(p);
    return NULL;
}

CUstream gt_pipeline_stream(const gt_pipeline *pipeline)
{
    return pipeline->run;
}

size_t gt_pipeline_held(const gt_pipeline *pipeline)
{
    size_t bytes = 0;
    for (int i = 0; i < OPERANDS * 2; i++)
        bytes += pipeline->operands[i / 2].slots[i % 2].bytes;
    return bytes;
}

static bool reserve(const gt_driver *driver, slot *s, size_t bytes)
{
    if (s->bytes >= bytes)
        return true;
    if (s->data)
        driver->cuMemFree(s->data);
    s->data = 0;
    s->bytes = 0;
    if (driver->cuMemAlloc(&s->data, bytes) != CUDA_SUCCESS)
        return false;
    s->bytes = bytes;
    return true;
}

bool gt_pipeline_reserve(gt_pipeline *pipeline, const gt_host_product *p, const gt_tiles *t)
{
    const int64_t rows = divide(p->m, t->m), columns = divide(p->n, t->n), depth = divide(p->k, t->k);
    const struct {
        int64_t rows, columns, count;
    } of[OPERANDS] = {{t->m, t->k, rows * depth}, {t->k, t->n, depth * columns}, {t->m, t->n, rows * columns}};
    for (int i = 0; i < OPERANDS; i++)
        for (int j = 0; j < GT_TILE_SLOTS(of[i].count); j++)
            if (!reserve(pipeline->driver, &pipeline->operands[i].slots[j],
                         gt_tile_bytes(of[i].rows, of[i].columns, element_bytes(p))))
                return false;
    return true;
}

/* Size of a tile, and of the last one, along a side. */
static int64_t tile_size(int64_t size, int64_t tile, bool last)
{
    return last ? size - (divide(size, tile) - 1) * tile : tile;
}

static int64_t row_pitch(int64_t columns, size_t element)
{
    return (int64_t)(((size_t)columns * element + GT_TILE_ALIGN - 1) & -GT_TILE_ALIGN);
}

gt_gemm gt_pipeline_problem(const gt_host_product *p, const gt_tiles *t, const bool last[3])
{
    const size_t element = element_bytes(p);
    const int64_t m = tile_size(p->m, t->m, last[0]), n = tile_size(p->n, t->n, last[1]),
                  k = tile_size(p->k, t->k, last[2]), size = (int64_t)element;
    return (gt_gemm){.m = m, .n = n, .k = k, .batch = 1, .op_a = p->op_a, .op_b = p->op_b, .type_ab = p->type,
                     .type_c = p->type, .align = GT_TILE_ALIGN, .deterministic = 1,
                     .lda = row_pitch(p->op_a == GT_T ? m : k, element) / size,
                     .ldb = row_pitch(p->op_b == GT_T ? k : n, element) / size,
                     .ldc = row_pitch(n, element) / size};
}

int64_t gt_pipeline_count(const gt_host_product *p, const gt_tiles *t, const bool last[3])
{
    return (last[0] ? 1 : divide(p->m, t->m) - 1) * (last[1] ? 1 : divide(p->n, t->n) - 1) *
           (last[2] ? 1 : divide(p->k, t->k) - 1);
}

/* Rows of a matrix as it is stored: those of the tile of op(X) that begins at (row, column). */
static gt_staged find_rows(const job *j, const gt_host_matrix *x, gt_op op, int64_t row, int64_t column, int64_t rows,
                           int64_t columns)
{
    const bool flip = op == GT_T;
    const int64_t first = flip ? column : row, left = flip ? row : column, width = flip ? rows : columns;
    return (gt_staged){.host = (char *)x->data + (size_t)(first * x->ld + left) * j->element,
                       .rows = (size_t)(flip ? columns : rows), .row_bytes = (size_t)width * j->element,
                       .host_pitch = (size_t)x->ld * j->element, .pitch = (size_t)row_pitch(width, j->element)};
}

/* The place of an operand's tile: where it is already, or the next one, once its last kernel is done with it. */
static slot *find_slot(operand *x, int64_t row, int64_t column, int64_t count, bool *there)
{
    for (int i = 0; i < 2; i++)
        if (x->slots[i].row == row && x->slots[i].column == column) {
            *there = true;
            return &x->slots[i];
        }
    slot *s = &x->slots[x->turn++ % GT_TILE_SLOTS(count)];
    s->row = row;
    s->column = column;
    *there = false;
    return s;
}

/* Brings rows to a place. The copies wait for the kernels before; the host waits for its own threads only. */
static bool upload(gt_pipeline *p, slot *s, gt_staged rows)
{
    rows.device = s->data;
    return p->driver->cuStreamWaitEvent(p->up, s->used, 0) == CUDA_SUCCESS && gt_staging_upload(p->uploads, &rows) &&
           p->driver->cuEventRecord(s->ready, p->up) == CUDA_SUCCESS;
}

/* An operand's tile, which is there when the stream of kernels gets to it; NULL on failure. */
static slot *bring(const job *j, int which, int64_t row, int64_t column, const gt_gemm *tile)
{
    const gt_host_product *p = j->product;
    gt_pipeline *pipeline = j->pipeline;
    const bool is_a = which == A;
    bool there;
    slot *s = find_slot(&pipeline->operands[which], row, column, is_a ? j->rows * j->depth : j->depth * j->columns, &there);
    if (!there) {
        const gt_staged rows =
            is_a ? find_rows(j, &p->a, p->op_a, row * j->tiles->m, column * j->tiles->k, tile->m, tile->k)
                 : find_rows(j, &p->b, p->op_b, row * j->tiles->k, column * j->tiles->n, tile->k, tile->n);
        if (!upload(pipeline, s, rows))
            return NULL;
    }
    return pipeline->driver->cuStreamWaitEvent(pipeline->run, s->ready, 0) == CUDA_SUCCESS ? s : NULL;
}

/* One product of tiles. The first along k takes the program's beta, the others add. */
static bool multiply(const job *j, int64_t row, int64_t column, int64_t depth, slot *c, const gt_staged *result)
{
    static const float one = 1;
    static const double wide_one = 1;
    const gt_host_product *p = j->product;
    gt_pipeline *pipeline = j->pipeline;
    const gt_driver *driver = pipeline->driver;
    const bool last[3] = {row == j->rows - 1, column == j->columns - 1, depth == j->depth - 1};
    const gt_gemm tile = gt_pipeline_problem(p, j->tiles, last);
    const slot *a = bring(j, A, row, depth, &tile), *b = a ? bring(j, B, depth, column, &tile) : NULL;
    if (!b)
        return false;
    if (depth == 0 && p->reads_c &&
        (!upload(pipeline, c, *result) || driver->cuStreamWaitEvent(pipeline->run, c->ready, 0) != CUDA_SUCCESS))
        return false;
    const gt_operands operands = {.alpha = p->alpha, .a = (void *)a->data, .b = (void *)b->data, .c = (void *)c->data,
                                  .beta = depth == 0          ? p->beta
                                          : p->type == GT_F64 ? (const void *)&wide_one
                                                              : (const void *)&one};
    return gt_front_execute(j->answers->of[last[0]][last[1]][last[2]], pipeline->run, &operands) == GT_FATE_ANSWERED &&
           driver->cuEventRecord(a->used, pipeline->run) == CUDA_SUCCESS &&
           driver->cuEventRecord(b->used, pipeline->run) == CUDA_SUCCESS &&
           driver->cuEventRecord(c->used, pipeline->run) == CUDA_SUCCESS;
}

/* A tile of C, and its way back. */
static bool compute(const job *j, int64_t row, int64_t column, bool *written)
{
    const gt_host_product *p = j->product;
    gt_pipeline *pipeline = j->pipeline;
    const bool last[3] = {row == j->rows - 1, column == j->columns - 1, true}, alone = j->rows * j->columns == 1;
    const gt_gemm tile = gt_pipeline_problem(p, j->tiles, last);
    operand *x = &pipeline->operands[C];
    slot *c = &x->slots[x->turn++ % GT_TILE_SLOTS(j->rows * j->columns)];
    gt_staged rows = find_rows(j, &p->c, GT_N, row * j->tiles->m, column * j->tiles->n, tile.m, tile.n);
    rows.device = c->data;
    if (!alone)
        gt_drain_wait(pipeline->drain, 1); /* the tile before the last, which had this place */
    for (int64_t depth = 0; depth < j->depth; depth++)
        if (!multiply(j, row, column, depth, c, &rows))
            return false;
    if (!alone) {
        gt_drain_put(pipeline->drain, c->used, &rows);
        return true;
    }
    if (pipeline->driver->cuStreamSynchronize(pipeline->run) != CUDA_SUCCESS)
        return false;
    *written = true;
    return gt_staging_download(pipeline->downloads, &rows);
}

bool gt_pipeline_run(gt_pipeline *pipeline, const gt_host_product *p, const gt_tiles *tiles,
                     const gt_tile_answers *answers, bool *written)
{
    const job j = {.pipeline = pipeline, .product = p, .tiles = tiles, .answers = answers, .rows = divide(p->m, tiles->m),
                   .columns = divide(p->n, tiles->n), .depth = divide(p->k, tiles->k), .element = element_bytes(p)};
    const bool alone = j.rows * j.columns == 1;
    bool done = true;
    *written = false;
    for (int i = 0; i < OPERANDS * 2; i++)
        pipeline->operands[i / 2].slots[i % 2].row = -1; /* what is there is of another product */
    for (int i = 0; i < OPERANDS; i++)
        pipeline->operands[i].turn = 0;
    if (!alone && !pipeline->drain &&
        !(pipeline->drain = gt_drain_create(pipeline->driver, pipeline->context, pipeline->downloads)))
        return false;
    for (int64_t at = 0; done && at < j.rows * j.columns; at++)
        done = compute(&j, at % j.rows, at / j.rows, written);
    if (!alone)
        done = gt_drain_finish(pipeline->drain, written) && done;
    /* Whatever happens to these, nothing that the host or the next product touches is in use. */
    pipeline->driver->cuStreamSynchronize(pipeline->up);
    pipeline->driver->cuStreamSynchronize(pipeline->run);
    return done;
}
