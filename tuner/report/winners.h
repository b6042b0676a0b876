/* The winners of a database, as a report shows them. */
#ifndef GT_WINNERS_H
#define GT_WINNERS_H

#include "../../db/store.h"

/* One winner. Numbers that the database does not have are 0. */
typedef struct gt_winner {
    char gpu[96], type[24], math[16], layout[4], family[GT_FAMILY_LENGTH], timing[16], tuned_at[24], stale[160];
    char params[GT_PARAMS_TEXT];
    int64_t m, n, k, batch;
    double us, tflops, peak_percent, ratio, error, margin, peak, copy_tbs, bytes;
} gt_winner;

typedef struct gt_winners {
    gt_winner *list;
    size_t count, room;
    gt_status status; /* of reading them */
} gt_winners;

/* Reads them, in the order of `gemmtune best`. *winners: gt_winners_finish. */
gt_status gt_winners_read(gt_store *store, gt_winners *winners);
void gt_winners_finish(gt_winners *winners);

/* How many, from the first on, are of its GPU; and of its types and math, too. */
size_t gt_winners_of_gpu(const gt_winner *list, size_t count);
size_t gt_winners_of_types(const gt_winner *list, size_t count);

#endif
