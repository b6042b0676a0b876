/* Rivals: other libraries' products on the same problem, in the same race. */
#ifndef GT_RIVAL_H
#define GT_RIVAL_H

#include <stddef.h>

#include "../db/trial.h"

typedef enum gt_rival_id {
    GT_RIVAL_CUBLAS,   /* as a program calls it that names no algorithm */
    GT_RIVAL_CUBLASLT, /* the fastest of all algorithms that its heuristics offer */
} gt_rival_id;

#define GT_RIVAL_COUNT      2
#define GT_RIVAL_BIT(id)    (1u << (id))
#define GT_RIVALS_ALL       ((1u << GT_RIVAL_COUNT) - 1)
#define GT_RIVAL_VERSION    16

/* How one fared. No pointers inside: a worker sends it as it is. */
typedef struct gt_rival {
    gt_trial trial;                 /* outcome other than GT_TRIAL_OK: it did not race */
    char version[GT_RIVAL_VERSION]; /* "13.1.0"; "" if it is not there */
    int algorithms;                 /* of how many the fastest ran */
    int reserved;
} gt_rival;

/* The name in the database and on the screen, "cublas", "cublaslt"; never NULL. */
const char *gt_rival_name(size_t id);

/* The index of the faster one; -1 if none has a time. */
int gt_rival_best(const gt_rival rivals[GT_RIVAL_COUNT]);

#endif
