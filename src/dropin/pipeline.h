/*
 * A product of host memory, tile by tile: while one is multiplied, the operands of the next ones come to the GPU and the
 * results of those before go back.
 */
#ifndef GT_PIPELINE_H
#define GT_PIPELINE_H

#include "answers.h"
#include "host.h"
#include "staging.h"
#include "tiles.h"

typedef struct gt_pipeline gt_pipeline;

/* In the current context; NULL where something that it needs cannot be had. It is there until the process ends. */
gt_pipeline *gt_pipeline_create(const gt_driver *driver, CUcontext context);

/* The stream that kernels run in. */
CUstream gt_pipeline_stream(const gt_pipeline *pipeline);

/* Bytes on the GPU that are kept for the next product. */
size_t gt_pipeline_held(const gt_pipeline *pipeline);

/* Makes room for the tiles of a product, of what is held where that is enough. Between two runs. */
bool gt_pipeline_reserve(gt_pipeline *pipeline, const gt_host_product *product, const gt_tiles *tiles);

/* What multiplies tiles, by whether they are the last along m, n and k. */
typedef struct gt_tile_answers {
    gt_answer *of[2][2][2];
} gt_tile_answers;

/* The problem that such tiles are. */
gt_gemm gt_pipeline_problem(const gt_host_product *product, const gt_tiles *tiles, const bool last[3]);

/* How many such tiles there are. */
int64_t gt_pipeline_count(const gt_host_product *product, const gt_tiles *tiles, const bool last[3]);

/* Runs it in tiles whose rows and columns take no more than GT_STAGING_LINE, and that room was made for. False: *written says
 * whether some of C was overwritten. */
bool gt_pipeline_run(gt_pipeline *pipeline, const gt_host_product *product, const gt_tiles *tiles,
                     const gt_tile_answers *answers, bool *written);

#endif
