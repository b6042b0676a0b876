/* The winners of a database, as a report shows them. */
#ifndef GT_BEST_ROWS_H
#define GT_BEST_ROWS_H

#include "../../db/store.h"

/* One winner. Numbers that the database does not have are 0. */
typedef struct gt_best_row {
    char gpu_id[24], gpu[128], type[24], math[16], layout[4], family[GT_FAMILY_LENGTH], timing[16], tuned_at[24], stale[160];
    char params[GT_PARAMS_TEXT];
    int64_t m, n, k, batch;
    double us, tflops, peak_percent, ratio, error, margin, peak, copy_tbs, bytes;
} gt_best_row;

typedef struct gt_best_rows {
    gt_best_row *list;
    size_t count, room;
    gt_status status; /* of reading them */
} gt_best_rows;

/* Reads them, in the order of `gemmtune best`. *winners: gt_best_rows_finish. */
gt_status gt_best_rows_read(gt_store *store, gt_best_rows *winners);
void gt_best_rows_finish(gt_best_rows *winners);

/* How many, from the first on, are of its GPU; and of its types and math, too. */
size_t gt_best_rows_of_gpu(const gt_best_row *list, size_t count);
size_t gt_best_rows_of_types(const gt_best_row *list, size_t count);

#endif
