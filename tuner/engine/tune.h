/* Tuning one problem, from its space to its stored winner. */
#ifndef GT_TUNE_H
#define GT_TUNE_H

#include "../progress.h"
#include "../search/search.h"
#include "engine.h"
#include "rejections.h"

/* How a problem ended. */
typedef struct gt_tuned {
    gt_problem problem;
    bool won;         /* there is a verified winner */
    gt_kernel kernel; /* the winner */
    gt_trial trial;   /* its race, or its stored one */
    double winner_us; /* where only one family was asked for: the time of another one's winner, which stays; else 0 */
    gt_trial cublas;  /* outcome GT_TRIAL_OK: the better time of cuBLAS's libraries, of the same race */
    bool cut;         /* the budget ended its search */
    int tried, skipped; /* candidates: run now, known from earlier runs */
    int missed; /* that could not be tried for the machine's fault; the next run tries them */
    int rejected[GT_OUTCOME_COUNT]; /* of those run now, by outcome */
} gt_tuned;

typedef struct gt_tuning {
    gt_engine *engine;
    gt_progress *progress;
    gt_progress_state state; /* kept from problem to problem */
    double deadline;         /* when, by the engine's clock, the share of these types ends; 0: never */
    double until;            /* when, by the engine's clock, this problem's share of the budget ends; 0: never */
    bool hurried;            /* that share is too short for a whole race: candidates tell more */
    bool awaited;            /* other problems wait for this one's end */
    char best[GT_PARAMS_TEXT]; /* the configuration that the progress shows */
    gt_effort effort;     /* of the next problem */
    const gt_seed *seeds; /* winners on other problems, tried first */
    size_t seed_count;
    const gt_fitted *fitted; /* coefficients of the estimate by which searches are ordered */
    size_t fitted_count;
    gt_rejections *rejections; /* of all problems so far; NULL: nobody counts */
    bool verbose; /* a line for each of them */
    bool brief;      /* less usual types, among all: searched no longer than quickly */
    bool covering;   /* the problem is one of the cover list */
    bool asked;      /* programs asked for it: first choices race, as a program is answered only where cuBLAS was timed */
    bool revalidating; /* winners and runners-up as they are stored, and nothing else */
    bool showing;    /* what is stored, and nothing is tried */
    bool only_seeds; /* the last lap: winners of other problems and the library's choice, and nothing else */
    bool only_choices; /* of these only the library's choices */
    bool drawn; /* a size that nobody asked for: besides, a kernel is tried that the store lacks */
} gt_tuning;

/*
 * Tries candidates until the search is over, the share of the budget is spent or somebody interrupts, races the best
 * against the winner of earlier runs, if there is one, and stores each attempt as it comes. What earlier runs tried is
 * not tried again. Failures of candidates are rows, not failures of this call: it fails only where going on makes no
 * sense (the store, the worker).
 */
gt_status gt_tune(gt_tuning *tuning, const gt_problem *problem, gt_tuned *tuned);

#endif
