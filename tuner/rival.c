#include "rival.h"

static const char *const names[] = {[GT_RIVAL_CUBLAS] = "cublas", [GT_RIVAL_CUBLASLT] = "cublaslt"};
_Static_assert(sizeof names / sizeof names[0] == GT_RIVAL_COUNT, "every rival has its name");

const char *gt_rival_name(size_t id)
{
    return id < GT_RIVAL_COUNT ? names[id] : "unknown";
}

int gt_rival_best(const gt_rival rivals[GT_RIVAL_COUNT])
{
    int best = -1;
    for (int i = 0; i < GT_RIVAL_COUNT; i++) {
        const gt_trial *trial = &rivals[i].trial;
        if (trial->outcome == GT_TRIAL_OK && trial->us > 0 && (best < 0 || trial->us < rivals[best].trial.us))
            best = i;
    }
    return best;
}
