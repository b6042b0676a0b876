/*
 * What a context has chosen and loaded: a kernel for each problem that was planned, found again by its hash, and each
 * kernel's module once. Both are bounded: of the choices that no plan uses the one goes first that was used the longest
 * ago, and a module goes with the last choice that runs it.
 */
#ifndef GT_CHOICES_H
#define GT_CHOICES_H

#include "../core/launch.h"
#include "select.h"

#define GT_CHOICE_LIMIT 512 /* choices kept that no plan uses */

/* A kernel, loaded once for all choices. */
typedef struct gt_loaded {
    gt_kernel kernel; /* as it was made; a row's id may become another's */
    gt_module module;
    size_t users; /* choices */
    struct gt_loaded *next;
} gt_loaded;

/* A choice once made: the next plan of the same problem starts here. Never changed after it is made. */
typedef struct gt_chosen {
    gt_problem problem; /* where operands lie is part of it: there are kernels that cannot read them anywhere */
    gt_demands demands;
    gt_math math; /* of the kernel, which may be another than was asked for */
    gt_selection selection;
    gt_kernel kernel;
    char params[GT_PARAMS_TEXT]; /* the kernel's, for people */
    gt_loaded *loaded;
    size_t users; /* plans */
    struct gt_chosen *next;          /* in its bucket */
    struct gt_chosen *newer, *older; /* of those that no plan uses, by when the last one gave it back */
} gt_chosen;

typedef struct gt_choices {
    const gt_driver *driver;
    gt_chosen **buckets;
    size_t bucket_count, count;
    gt_chosen *newest, *oldest; /* unused ones */
    size_t unused;
    gt_loaded *loaded;
} gt_choices;

/* Unloads and frees everything. */
void gt_choices_finish(gt_choices *choices);

/* The choice for a problem, the same in every field, now in use; NULL if there is none. */
gt_chosen *gt_choices_find(gt_choices *choices, const gt_problem *problem, const gt_demands *demands);

/* Takes a new choice in, in use. It is freed after GT_ERROR_MEMORY. */
gt_status gt_choices_add(gt_choices *choices, gt_chosen *chosen);

/* Frees a choice that was never added, and unloads its kernel if that was the last to use it; NULL is allowed. */
void gt_choices_discard(gt_choices *choices, gt_chosen *chosen);

/* Gives a choice back that was found or added. The oldest unused one goes where there are too many. */
void gt_choices_release(gt_choices *choices, gt_chosen *chosen);

/* A loaded kernel, for one more choice; NULL if it is not loaded. One that was loaded now, for its first. */
gt_loaded *gt_choices_find_loaded(gt_choices *choices, const gt_kernel *kernel);
void gt_choices_add_loaded(gt_choices *choices, gt_loaded *loaded);

#endif
