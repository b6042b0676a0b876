/*
 * Verification on small problems, element by element against the host's reference: tails in every dimension, K longer
 * than any pipeline, batches, leading dimensions larger than the row, alpha and beta of every kind, operands that must
 * not be read. residual.h has the check at the tuned size.
 */
#ifndef GT_VERIFY_H
#define GT_VERIFY_H

#include "buffers.h"
#include "reference.h"

#define GT_CASE_SETS  6
#define GT_CASE_CACHE 4

/* One small problem on the host: operands as they are uploaded (padding poisoned) and what is right. */
typedef struct gt_case {
    gt_problem problem;
    void *a, *b, *c;
    gt_reference reference;
} gt_case;

/* All small problems of one class. */
typedef struct gt_cases {
    bool made;
    gt_class class;
    gt_case sets[GT_CASE_SETS];
} gt_cases;

typedef struct gt_verifier {
    const gt_checks *checks;
    uint64_t seed;
    gt_buffers buffers;
    gt_cases cache[GT_CASE_CACHE];
    int oldest; /* of the cache, the next to be replaced */
} gt_verifier;

void gt_verifier_init(const gt_checks *checks, uint64_t seed, gt_verifier *verifier);

/* Makes the small problems of a class and their references: some tenths of a second the first time. No candidate runs.
 * *cases belong to the verifier and hold until the next call. */
bool gt_verify_prepare(gt_verifier *verifier, const gt_class *class, const gt_cases **cases, gt_trial *trial);

/* Runs a candidate on all of them; trial->error becomes the largest error seen. */
bool gt_verify_cases(gt_verifier *verifier, const gt_cases *cases, gt_runner *runner, gt_trial *trial);

#endif
