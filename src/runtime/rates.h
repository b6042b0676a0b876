/* What a preloaded front has measured of a machine, kept for the next program there. */
#ifndef GT_RATES_H
#define GT_RATES_H

#include "wanted.h"

typedef struct gt_rate {
    char name[16]; /* "cpu f32 30", "link 24 out" */
    double value;  /* > 0 */
} gt_rate;

/* Finds the newest value of each name; where none is stored, or no database, it stays as it is. Calls nothing of CUDA. */
GT_API void gt_rates_load(gt_rate *list, size_t count);

/* Stores them in the user's database. Calls nothing of CUDA. */
GT_API gt_status gt_rates_store(const gt_counted_gpu *gpu, const gt_rate *list, size_t count);

#endif
