/*
 * The search space of a family for one device and problem: the rows of its query. Columns of launch facts (facts.h) say
 * how a configuration is launched; regs, penalty, clocks, rung and technique are notes about it; every other column is
 * a parameter, an integer, and becomes a macro of its name in capitals, and so do those facts that are parameters too.
 * penalty is what the family's author knows and the model does not: by how many thousandths a configuration is slower
 * than the model thinks; clocks is the author's own estimate of a launch in an SM's clocks, instead of the model's.
 */
#ifndef GT_SPACE_H
#define GT_SPACE_H

#include "../../src/core/device.h"
#include "../../src/core/problem.h"
#include "family.h"

#define GT_SPACE_COLUMNS 64

/* One configuration. values follow the space's columns. */
typedef struct gt_space {
    const gt_family *family;
    int columns;
    char names[GT_SPACE_COLUMNS][GT_PARAM_NAME];
    bool tunable[GT_SPACE_COLUMNS];
    int facts[GT_FACT_COUNT]; /* columns; -1: the space does not say it */
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

/* The kernel of a row, without source hash, compiler and registers. GT_ERROR_INVALID if the query lacks a fact that
 * every space must say, or has too many parameters. */
gt_status gt_space_kernel(const gt_space *space, size_t row, const gt_device *device, gt_kernel *kernel);

#endif
