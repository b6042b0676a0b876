/* Retrials: kernels out of service get the chance to pass the checks that they failed. */
#ifndef GT_RETRIAL_H
#define GT_RETRIAL_H

#include "engine.h"

/* One check that a kernel failed. */
typedef struct gt_retrial {
    const gt_convicted *convicted;
    bool checked;   /* it was made again; not where the same code failed another before */
    gt_trial trial; /* how it went, or a fresh check that went wrong after it */
    bool cleared;   /* its kernel is back in service */
} gt_retrial;

typedef struct gt_retrials {
    gt_convictions convictions; /* the list points into these */
    gt_retrial *list;           /* checks of the same code stand together */
    size_t count;
} gt_retrials;

/* Finds the checks that can be made here, for all kernels of these types: their code is stored, and all that it failed
 * was on this GPU. *retrials: gt_retrials_finish. */
gt_status gt_retrials_find(gt_engine *engine, const gt_types *const *types, size_t type_count, gt_retrials *retrials);
void gt_retrials_finish(gt_retrials *retrials);

/* The index behind the checks of one code, which begin at `first`. */
size_t gt_retrials_end(const gt_retrials *retrials, size_t first);

/*
 * Tries one code, whose checks begin at `first`: every check that it failed, with the very seed, and then as many
 * rounds of them with fresh seeds. Where all pass that is put on record, and it is back in service. A fresh check that
 * goes wrong is put on record, too. Fails where the worker or the store does.
 */
gt_status gt_retrials_run(gt_engine *engine, gt_retrials *retrials, size_t first, int rounds);

#endif
