/* Winners that were proved and timed under other conditions than those of now. */
#ifndef GT_STALE_H
#define GT_STALE_H

#include "../../db/store.h"
#include "../search/family.h"

typedef struct gt_stale {
    gt_problem problem;
    gt_kernel kernel;
    gt_trial trial;
    double use;                   /* us that programs' calls of it took in all, as far as somebody counted */
    char why[GT_CONDITIONS_TEXT]; /* "driver 12.9, now 13.0"; "" for one that is not stale */
} gt_stale;

typedef struct gt_stales {
    gt_stale *list; /* what programs spend most time in comes first, then what takes longest */
    size_t count, room;
    size_t winners, stale; /* of all: how many there are, and how many of them are stale */
} gt_stales;

/* What is compared with. */
typedef struct gt_stale_terms {
    const gt_device *device;
    gt_conditions now;            /* what is "" is not compared */
    const gt_families *families;  /* whose templates are; those of other families are not compared */
    const gt_types *const *types; /* whose winners are looked at */
    size_t type_count;
    bool all; /* lists winners that are not stale, too */
} gt_stale_terms;

/*
 * Finds the stale winners of a GPU model. A winner is stale by its template if its configuration is rendered to another
 * source now and nobody has tried that on its problem; once it was tried the race has decided, whichever won. *stales:
 * gt_stales_finish.
 */
gt_status gt_stales_find(gt_store *store, const gt_stale_terms *terms, gt_stales *stales);
void gt_stales_finish(gt_stales *stales);

#endif
