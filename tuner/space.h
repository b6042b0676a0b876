/*
 * The search space of a family for one device and problem: the rows of its query. Columns threads, smem_bytes,
 * cluster, ws_tile, regs, penalty, clocks, rung and technique are facts about a configuration; every other column is a tunable,
 * an integer, and becomes a macro of its name in capitals. penalty is what the family's author knows and the model does
 * not: by how many thousandths a configuration is slower than the model thinks; clocks is the author's own estimate of a
 * launch in an SM's clocks, instead of the model's.
 */
#ifndef GT_SPACE_H
#define GT_SPACE_H

#include "family.h"

#define GT_SPACE_COLUMNS 32
#define GT_COLUMN_LENGTH 24

/* One configuration. values follow the space's columns. */
typedef struct gt_space {
    const gt_family *family;
    int columns;
    char names[GT_SPACE_COLUMNS][GT_COLUMN_LENGTH];
    bool tunable[GT_SPACE_COLUMNS];
    size_t rows;
    int64_t *values; /* rows x columns; text columns hold 0 */
    char **techniques; /* one a row where the query has the column, else NULL */
} gt_space;

/* Evaluates a space. An empty one is no error. GT_ERROR_INVALID with SQLite's message and the family's name. */
gt_status gt_space_init(const gt_family *family, const gt_device *device, const gt_problem *problem, gt_space *space);
void gt_space_finish(gt_space *space);

/* The index of a column; -1 if there is none. */
int gt_space_column(const gt_space *space, const char *name);

/* A value, or fallback where the space has no such column. */
int64_t gt_space_value(const gt_space *space, size_t row, const char *name, int64_t fallback);

/* "bm=128 bn=256": the tunables of a row. */
void gt_space_params(const gt_space *space, size_t row, char params[GT_PARAMS_LENGTH]);

/* The launch facts of a row, without source hash, compiler and registers. GT_ERROR_INVALID if bm, bn or threads is
 * missing. */
gt_status gt_space_kernel(const gt_space *space, size_t row, const gt_device *device, gt_kernel *kernel);

#endif
