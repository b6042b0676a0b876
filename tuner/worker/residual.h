/*
 * Verification at the tuned size: C times a random vector against A times (B times the vector), for rows and for
 * columns, in f64, with sampled elements recomputed exactly. O(n^2) where the product is O(n^3). The first, a middle
 * and the last product of a batch are checked. A bias is part of that; what relu or gelu made is seen in the samples.
 */
#ifndef GT_RESIDUAL_H
#define GT_RESIDUAL_H

#include "buffers.h"

#define GT_RESIDUAL_PRODUCTS 3

/* What is known of one side, per row or per column of C; host arrays. */
typedef struct gt_residual_side {
    int64_t length;
    double *product;  /* op(A) (op(B) x), or (y' op(A)) op(B) */
    double *square;   /* of the squared products, added up along the row or column */
    double *c, *c_square; /* the same of the C that is read where beta is not 0 */
} gt_residual_side;

typedef struct gt_residual_product {
    int64_t index; /* in the batch */
    gt_residual_side sides[2]; /* rows, columns */
    double *samples; /* sum, square, magnitude of each sampled element */
    double *samples_c;
} gt_residual_product;

typedef struct gt_residual {
    const gt_checks *checks;
    uint64_t seed; /* of the data that is ready */
    gt_buffers *buffers; /* the problem's operands, shared with the timing */
    bool ready;
    uint64_t operands; /* stands for the bits of A and B */
    int count;
    gt_residual_product products[GT_RESIDUAL_PRODUCTS];
    double *bias;                  /* as C's type holds it */
    double bias_row, bias_columns; /* the vectors for rows times the bias, and the sum of those for columns */
    double bias_square;            /* of all of it */
    int64_t sample_count;
    int64_t *places;    /* i, j of each sample */
    double *scratch;    /* host, for what comes back */
    CUdeviceptr device; /* all device vectors, in one allocation */
    CUdeviceptr vectors[2], between, result, places_device, samples_device, found, bias_device;
} gt_residual;

void gt_residual_init(const gt_checks *checks, gt_buffers *buffers, gt_residual *residual);

/* Gives everything back; may be used again. */
void gt_residual_clear(gt_residual *residual);

/*
 * A smaller problem that a kernel meets as it meets this one: as many rows, columns and steps of K beyond whole tiles,
 * some tiles in every direction, three products of a batch. For devices on which the problem itself would take minutes,
 * and of which some blocks are checked besides (sampled.h). The problem itself where that is not much larger.
 */
gt_problem gt_residual_stand_in(const gt_problem *problem, const gt_kernel *kernel);

/* Fills the operands of a problem from a seed and works out what is right; quick where that is done already. */
bool gt_residual_prepare(gt_residual *residual, const gt_problem *problem, uint64_t seed, gt_trial *trial);

/* To be called when a candidate went wrong: it may have spoilt the operands. */
void gt_residual_spoilt(gt_residual *residual);

/* Runs a candidate on the prepared problem: with alpha and beta; where it has epilogues, with a bias too, and then with
 * relu or gelu; and twice as it will be timed. Checks all, and compares the bits of the last two (trial->varied). The
 * runner is left prepared for the problem, operands for timing are in *timed. */
bool gt_residual_verify(gt_residual *residual, gt_runner *runner, gt_launch_operands *timed, gt_trial *trial);

/* Checks what the timed launches of a candidate left in C and around it: back to back they must not disturb each other.
 * Only where nobody else was timed since. */
bool gt_residual_verify_left(gt_residual *residual, const gt_runner *runner, gt_trial *trial);

/* Launches once more after timing: that must be as right as the first time. */
bool gt_residual_verify_again(gt_residual *residual, const gt_runner *runner, const gt_launch_operands *timed,
                              gt_trial *trial);

#endif
