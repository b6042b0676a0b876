/* One problem under way: what is known of it, and the stages that it passes. */
#ifndef GT_WORK_H
#define GT_WORK_H

#include "tune.h"

/* A kernel that earlier runs left, kernel_id 0 where none did. */
typedef struct gt_known {
    int64_t kernel_id;
    gt_kernel kernel;
    gt_trial trial;
} gt_known;

/* Of merged files: winners, besides the newest one, that race too. */
#define GT_RIVALS 8

typedef struct gt_work {
    gt_tuning *tuning;
    gt_engine *engine;
    const gt_problem *problem;
    int64_t problem_id;
    gt_search *search;
    gt_tuned *tuned;
    double best_us;
    int missed_now; /* candidates, up to the last one, that the machine failed to try */
    /* What earlier runs found for this problem. winner: defends its place in every race. own: the best of the family
     * that was asked for, else the same; shown if this run finds nothing better. */
    gt_known winner, own;
    bool raced; /* whether any of the family that was asked for, or of all, was in a race */
    gt_known rivals[GT_RIVALS]; /* other winners, which the newest has never raced */
    size_t rival_count;
    gt_known fastest; /* of all that were ever measured on it */
    bool served; /* a kernel of another math won on its size: no other one of that math is tried */
    /* Revalidating: the winner's configuration as it is rendered and compiled now. Its source hash is known first. */
    gt_known anew;
} gt_work;

/* Whether to stop: the user interrupts, or the budget is spent and the search has found something or tried a few. */
bool gt_work_out_of_time(const gt_work *w);

/* Reads what earlier runs, and this one so far, have stored of the problem. */
gt_status gt_work_recall(gt_work *w);

/* Notes how a candidate did, and tells of one that was rejected where somebody wants to know. */
void gt_work_note(gt_work *w, const gt_kernel *kernel, const gt_trial *trial, bool now);

/* A kernel this many times slower than the best one is still stored with its code, for sizes that nobody tunes. */
#define GT_WORTH_KEEPING 1.1

/* The part of a kernel's code that is stored. A GPU launches the cubin. PTX, three times as large, is kept for winners
 * of the list of sizes; and for all on the software GPU, which runs nothing else. */
gt_code gt_work_code(const gt_work *w, const gt_code *code, bool winner);

bool gt_is_same_code(const gt_kernel *a, const gt_kernel *b);

/* Screens round after round. */
gt_status gt_screen(gt_work *w);

/* One candidate: compiled, proved right, timed and stored. */
gt_status gt_screen_try(gt_work *w, gt_candidate *candidate);

/* Stores the code of the best of each shape of tile that is not far behind: they may be the best for sizes that nobody
 * tunes. Others can never be chosen. */
gt_status gt_screen_keep(gt_work *w);

/* Tries what the library would take for the problem, of all that is stored for its class, if nobody had tuned it: an estimate
 * that promises too much is found out where it can be measured, and is corrected for all sizes nearby. */
gt_status gt_try_expected(gt_work *w, const gt_measurements *stored);

/* Tries what the library would take now. */
gt_status gt_try_choice(gt_work *w, const gt_measurements *stored);

/* The finalists once more, interleaved, with the winners of earlier runs, cuBLAS and cuBLASLt among them. */
gt_status gt_race(gt_work *w);

/* The winner and its runners-up, proved right and raced again: the order may have changed. */
gt_status gt_revalidate(gt_work *w);

#endif
