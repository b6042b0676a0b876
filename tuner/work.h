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

/* Winners besides the newest, of files that were merged, that race too. */
#define GT_RIVALS 8

typedef struct gt_work {
    gt_tuning *tuning;
    gt_engine *engine;
    const gt_problem *problem;
    int64_t problem_id;
    gt_search *search;
    gt_tuned *tuned;
    double best_us;
    /* What earlier runs left of this problem: the winner, which defends its place in every race, and what this run
     * would show, which is of its family where that is given. */
    gt_known winner, own;
    gt_known rivals[GT_RIVALS]; /* other winners, which the newest has never raced */
    size_t rival_count;
    gt_known fastest; /* of all that were ever measured on it */
    gt_known anew; /* revalidating: the winner's configuration as it is rendered and compiled now; its source is known
                      first */
} gt_work;

/* A budget ends a search, but not before it has found something or seen that little can be found. */
bool gt_work_out_of_time(const gt_work *w);

/* Reads what earlier runs, and this one so far, have stored of the problem. */
gt_status gt_work_recall(gt_work *w);

/* Notes how a candidate did, and tells of one that was rejected where somebody wants to know. */
void gt_work_note(gt_work *w, const gt_kernel *kernel, const gt_trial *trial, bool now);

/* Times the best one's that a kernel may take and still be stored with its code, for other sizes. */
#define GT_WORTH_KEEPING 1.1

/* What is stored of a kernel's code. A GPU launches the cubin; PTX, three times as large, is kept for winners only, and
 * not of the many that are there for other sizes. The software GPU runs nothing without it. */
gt_code gt_work_code(const gt_work *w, const gt_code *code, bool winner);

bool gt_is_same_code(const gt_kernel *a, const gt_kernel *b);

/* Screens round after round. */
gt_status gt_screen(gt_work *w);

/* One candidate: compiled, proved right, timed and stored. */
gt_status gt_screen_try(gt_work *w, gt_candidate *candidate);

/* Stores the code of the best of each shape of tile that is not far behind: they may be the best for sizes that nobody
 * tunes. Others can never be chosen. */
gt_status gt_screen_keep(gt_work *w);

/* The finalists once more, interleaved, with the winners of earlier runs, cuBLAS and cuBLASLt among them. */
gt_status gt_race(gt_work *w);

/* The winner and its runners-up, proved right and raced again: the order may have changed. */
gt_status gt_revalidate(gt_work *w);

#endif
