/* The figures of a report. One that has nothing to show is left out. */
#ifndef GT_FIGURES_H
#define GT_FIGURES_H

#include <stdio.h>

#include "best_rows.h"

/* Winners of one GPU, type and math: against cuBLAS, beside what the GPU can do, and their errors. */
void gt_figure_ratios(FILE *out, const gt_best_row *list, size_t count);
void gt_figure_roofline(FILE *out, const gt_best_row *list, size_t count);
void gt_figure_errors(FILE *out, const gt_best_row *list, size_t count);

/* How soon searches on a GPU come near their best. */
gt_status gt_figure_progress(gt_store *store, FILE *out, const char *gpu_id);

/* The class that colours a ratio to cuBLAS: "good", "tie", "bad"; "any" where there is none. */
const char *gt_figure_rate(double ratio);

#endif
