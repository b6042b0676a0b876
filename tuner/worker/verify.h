/*
 * Verification on small problems, element by element against the host's reference, and of all memory around them bit by
 * bit. cases.h says what they are; residual.h has the check at the tuned size.
 */
#ifndef GT_VERIFY_H
#define GT_VERIFY_H

#include "compare.h"
#include "far.h"
#include "runner.h"

typedef struct gt_verifier {
    const gt_checks *checks;
    uint64_t seed; /* of what is prepared */
    CUdeviceptr memory; /* where cases are run, `capacity` bytes */
    size_t capacity;
    CUdeviceptr counters; /* two words for a runner's inspection */
    gt_class class; /* that the cases are of */
    gt_cases cases;
    void *after; /* what the memory holds behind the launches */
    gt_far far;
} gt_verifier;

void gt_verifier_init(const gt_checks *checks, gt_verifier *verifier);

/* Draws the small problems of a kernel from a seed and puts them on the device. No candidate runs. */
bool gt_verify_prepare(gt_verifier *verifier, const gt_class *class, const gt_kernel *kernel, uint64_t seed,
                       gt_trial *trial);

/* Runs the candidate on all of them. trial->error becomes the largest error seen, trial->detail what was covered. */
bool gt_verify_cases(gt_verifier *verifier, const gt_kernel *kernel, gt_runner *runner, gt_trial *trial);

#endif
