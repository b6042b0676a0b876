/*
 * Verification on small problems: runs the cases of cases.h, whose results judge.h looks at. residual.h has the check at
 * the tuned size.
 */
#ifndef GT_VERIFY_H
#define GT_VERIFY_H

#include "cases.h"
#include "far.h"
#include "judge.h"
#include "runner.h"

typedef struct gt_verifier {
    const gt_checks *checks;
    uint64_t seed;              /* of what is prepared */
    gt_extent extent;           /* of the cases; where not all are wanted, none far apart */
    gt_pool pools[GT_OPERANDS]; /* of the class's types and the seed; taken from at other places for each kernel */
    CUdeviceptr memory;         /* where cases are run, `capacity` bytes */
    char *before, *after;       /* what it holds before and behind the launches, as many bytes on the host */
    size_t capacity;
    CUdeviceptr words; /* a one, and two words for each case, for the runner's inspection */
    unsigned *reached; /* on the host: one for each case that is behind its launches; then those two words of each */
    CUdeviceptr mapped; /* the same as the device sees it; 0: it does not, and copies */
    size_t room;       /* cases that there are such words for */
    gt_class class;    /* that the cases are of */
    gt_cases cases;
    gt_judgement *judgement; /* of the cases that are run next, or ran last */
    gt_errors errors;        /* of those before */
    gt_far far;
} gt_verifier;

void gt_verifier_init(const gt_checks *checks, gt_verifier *verifier);

/* Draws the small problems of a kernel from a seed, none far apart where not all are wanted, and begins to compute what is
 * right. Only the host works. */
bool gt_verify_prepare(gt_verifier *verifier, const gt_class *class, const gt_kernel *kernel, uint64_t seed,
                       gt_extent extent, gt_trial *trial);

/* Runs the candidate on all of them. On the software GPU, which takes longer than the comparison, each is judged before the
 * next one runs. */
bool gt_verify_run(gt_verifier *verifier, gt_runner *runner, gt_trial *trial);

/* Judges what is left to judge, on the host alone. trial->error becomes the largest error seen, trial->detail what was
 * covered. */
bool gt_verify_judge(gt_verifier *verifier, const gt_kernel *kernel, gt_trial *trial);

#endif
