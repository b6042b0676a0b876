#include "pipeline.h"

#include <stdlib.h>

#include "front.h"

/* A place for a tile on the GPU. */
typedef struct place {
    CUdeviceptr data;    /* in the pipeline's memory */
    int64_t row, column; /* of the tile that it holds, in tiles; -1: none */
    int64_t step;        /* that needs it last, as far as operands have been sent for */
    size_t ticket;       /* of its way here, for C of its way back */
    CUevent ready;       /* the tile has come */
    CUevent used;        /* the last kernel with it is done */
} place;

enum { A, B, C, OPERANDS };
#define PLACES (OPERANDS * GT_TILE_PLACES)

struct gt_pipeline {
    const gt_driver *driver;
    CUstream up, run, down;
    gt_staging *uploads, *downloads;
    CUdeviceptr memory; /* of all places, cut up anew for each product */
    size_t held;        /* bytes of it */
    place places[OPERANDS][GT_TILE_PLACES];
};

/* A product on its way. Its steps are products of tiles: along k, then m, then n. */
typedef struct job {
    gt_pipeline *pipeline;
    const gt_host_product *product;
    const gt_tiles *tiles;
    const gt_tile_answers *answers;
    int64_t rows, columns, depth; /* tiles along m, n and k */
    size_t element;
} job;

typedef struct position {
    int64_t row, column, depth;
    bool last[3];
} position;

static int64_t divide(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static size_t element_bytes(const gt_host_product *p)
{
    return p->type == GT_F64 ? 8 : 4;
}

static bool make_place(const gt_driver *driver, place *s)
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
    bool made = driver->cuStreamCreate(&p->up, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS &&
                driver->cuStreamCreate(&p->run, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS &&
                driver->cuStreamCreate(&p->down, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS;
    for (int i = 0; made && i < PLACES; i++)
        made = make_place(driver, &p->places[i / GT_TILE_PLACES][i % GT_TILE_PLACES]);
    if (made)
        p->uploads = gt_staging_create(driver, context, p->up, true);
    if (p->uploads)
        p->downloads = gt_staging_create(driver, context, p->down, false);
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
    return pipeline->held;
}

/* What is held goes first: both may not fit. */
static bool hold(gt_pipeline *p, size_t bytes)
{
    if (p->held >= bytes)
        return true;
    if (p->held > 0)
        p->driver->cuMemFree(p->memory);
    p->held = p->driver->cuMemAlloc(&p->memory, bytes) == CUDA_SUCCESS ? bytes : 0;
    return p->held > 0;
}

bool gt_pipeline_reserve(gt_pipeline *pipeline, const gt_host_product *p, const gt_tiles *t)
{
    const int64_t rows = divide(p->m, t->m), columns = divide(p->n, t->n), depth = divide(p->k, t->k);
    const size_t element = element_bytes(p);
    const struct {
        size_t bytes;
        int places;
    } of[OPERANDS] = {{gt_tile_bytes(t->m, t->k, element), gt_tile_places(t, rows * depth)},
                      {gt_tile_bytes(t->k, t->n, element), gt_tile_places(t, depth * columns)},
                      {gt_tile_bytes(t->m, t->n, element), gt_tile_places(t, rows * columns)}};
    size_t bytes = 0;
    for (int i = 0; i < OPERANDS; i++)
        bytes += of[i].bytes * (size_t)of[i].places;
    if (!hold(pipeline, bytes))
        return false;
    CUdeviceptr next = pipeline->memory;
    for (int i = 0; i < OPERANDS; i++)
        for (int j = 0; j < of[i].places; j++, next += of[i].bytes)
            pipeline->places[i][j].data = next;
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

static position find_position(const job *j, int64_t step)
{
    const int64_t tile = step / j->depth;
    position at = {.row = tile % j->rows, .column = tile / j->rows, .depth = step % j->depth};
    at.last[0] = at.row == j->rows - 1;
    at.last[1] = at.column == j->columns - 1;
    at.last[2] = at.depth == j->depth - 1;
    return at;
}

/* The place of an operand's tile: where it is already, or the one that was needed least recently. Operands are sent for as
 * many steps ahead as there are places, and a step needs one tile of each: so the kernels that needed what was there have
 * been launched. */
static place *find_place(const job *j, int which, int64_t row, int64_t column)
{
    const int count = gt_tile_places(j->tiles, which == A ? j->rows * j->depth : j->depth * j->columns);
    place *const places = j->pipeline->places[which], *oldest = &places[0];
    for (int i = 0; i < count; i++) {
        if (places[i].row == row && places[i].column == column)
            return &places[i];
        if (places[i].step < oldest->step)
            oldest = &places[i];
    }
    return oldest;
}

/* Sends for rows. The copies wait for the kernels that were launched with what was there. */
static bool upload(gt_pipeline *p, place *s, const gt_staged *rows)
{
    gt_staged staged = *rows;
    staged.device = s->data;
    if (p->driver->cuStreamWaitEvent(p->up, s->used, 0) != CUDA_SUCCESS)
        return false;
    s->ticket = gt_staging_put(p->uploads, &staged, s->ready);
    return true;
}

/* Kernels that are launched from now on run when the rows have come. */
static bool await(gt_pipeline *p, const place *s)
{
    return gt_staging_wait(p->uploads, s->ticket) && p->driver->cuStreamWaitEvent(p->run, s->ready, 0) == CUDA_SUCCESS;
}

/* Sends for a tile that a step needs, unless it is there or on its way. */
static bool send_for(const job *j, int64_t step, int which, int64_t row, int64_t column, const gt_staged *rows)
{
    place *s = find_place(j, which, row, column);
    s->step = step;
    if (s->row == row && s->column == column)
        return true;
    s->row = row;
    s->column = column;
    return upload(j->pipeline, s, rows);
}

static bool send_for_operands(const job *j, int64_t step)
{
    const gt_host_product *p = j->product;
    const gt_tiles *t = j->tiles;
    const position at = find_position(j, step);
    const gt_gemm tile = gt_pipeline_problem(p, t, at.last);
    const gt_staged a = find_rows(j, &p->a, p->op_a, at.row * t->m, at.depth * t->k, tile.m, tile.k);
    const gt_staged b = find_rows(j, &p->b, p->op_b, at.depth * t->k, at.column * t->n, tile.k, tile.n);
    return send_for(j, step, A, at.row, at.depth, &a) && send_for(j, step, B, at.depth, at.column, &b);
}

/* A tile of the result, in the order in which they are computed: its place, and where it belongs. */
static place *find_result(const job *j, int64_t index, gt_staged *rows)
{
    const gt_host_product *p = j->product;
    const position at = find_position(j, index * j->depth);
    const gt_gemm tile = gt_pipeline_problem(p, j->tiles, at.last);
    place *c = &j->pipeline->places[C][index % gt_tile_places(j->tiles, j->rows * j->columns)];
    *rows = find_rows(j, &p->c, GT_N, at.row * j->tiles->m, at.column * j->tiles->n, tile.m, tile.n);
    rows->device = c->data;
    return c;
}

/* Makes a tile of C ready for its first step: what had its place is back, and what it is added to has come. */
static bool open_result(const job *j, place *c, const gt_staged *rows)
{
    gt_pipeline *pipeline = j->pipeline;
    if (c->row >= 0 && !gt_staging_wait(pipeline->downloads, c->ticket))
        return false;
    c->row = 0;
    return !j->product->reads_c || (upload(pipeline, c, rows) && await(pipeline, c));
}

/* One product of tiles, whose operands were sent for. The first along k takes the program's beta, the others add. */
static bool multiply(const job *j, int64_t step)
{
    static const float one = 1;
    static const double wide_one = 1;
    const gt_host_product *p = j->product;
    gt_pipeline *pipeline = j->pipeline;
    const gt_driver *driver = pipeline->driver;
    const position at = find_position(j, step);
    gt_staged rows;
    const place *a = find_place(j, A, at.row, at.depth), *b = find_place(j, B, at.depth, at.column);
    place *c = find_result(j, step / j->depth, &rows);
    if (!await(pipeline, a) || !await(pipeline, b) || (at.depth == 0 && !open_result(j, c, &rows)))
        return false;
    const gt_operands operands = {.alpha = p->alpha, .a = (void *)a->data, .b = (void *)b->data, .c = (void *)c->data,
                                  .beta = at.depth == 0       ? p->beta
                                          : p->type == GT_F64 ? (const void *)&wide_one
                                                              : (const void *)&one};
    return gt_front_execute(j->answers->of[at.last[0]][at.last[1]][at.last[2]], pipeline->run, &operands) ==
               GT_FATE_ANSWERED &&
           driver->cuEventRecord(a->used, pipeline->run) == CUDA_SUCCESS &&
           driver->cuEventRecord(b->used, pipeline->run) == CUDA_SUCCESS &&
           driver->cuEventRecord(c->used, pipeline->run) == CUDA_SUCCESS;
}

/* Begins a tile's way back once it is computed: threads that copy do not wait for kernels. */
static bool download(const job *j, int64_t index, bool *written)
{
    gt_pipeline *pipeline = j->pipeline;
    gt_staged rows;
    place *c = find_result(j, index, &rows);
    if (pipeline->driver->cuEventSynchronize(c->used) != CUDA_SUCCESS)
        return false;
    *written = true;
    c->ticket = gt_staging_put(pipeline->downloads, &rows, NULL);
    return true;
}

/* A tile is brought back once the next one's first step is in the stream, so that the GPU goes on meanwhile. */
static bool run_steps(const job *j, bool *written)
{
    const int64_t steps = j->rows * j->columns * j->depth;
    for (int64_t step = 0, sent = 0; step < steps; step++) {
        for (; sent < steps && sent < step + j->tiles->places; sent++)
            if (!send_for_operands(j, sent))
                return false;
        if (!multiply(j, step) || (step > 0 && step % j->depth == 0 && !download(j, step / j->depth - 1, written)))
            return false;
    }
    return download(j, j->rows * j->columns - 1, written);
}

bool gt_pipeline_run(gt_pipeline *pipeline, const gt_host_product *p, const gt_tiles *tiles,
                     const gt_tile_answers *answers, bool *written)
{
    const job j = {.pipeline = pipeline, .product = p, .tiles = tiles, .answers = answers, .rows = divide(p->m, tiles->m),
                   .columns = divide(p->n, tiles->n), .depth = divide(p->k, tiles->k), .element = element_bytes(p)};
    for (int i = 0; i < PLACES; i++) { /* what is there is of another product */
        place *s = &pipeline->places[i / GT_TILE_PLACES][i % GT_TILE_PLACES];
        s->row = s->step = -1;
    }
    *written = false;
    const bool ran = run_steps(&j, written);
    /* Whatever happened, nothing that the host or the next product touches is in use. */
    const bool sent = gt_staging_finish(pipeline->uploads), came = gt_staging_finish(pipeline->downloads);
    pipeline->driver->cuStreamSynchronize(pipeline->up);
    pipeline->driver->cuStreamSynchronize(pipeline->run);
    return ran && sent && came;
}
