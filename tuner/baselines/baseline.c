#include "baseline.h"

static const char *const names[] = {
    [GT_BASELINE_CUBLAS] = "cublas", [GT_BASELINE_CUBLASLT] = "cublaslt", [GT_BASELINE_AUTOTUNE] = "cublas_autotune"};
_Static_assert(sizeof names / sizeof names[0] == GT_BASELINE_COUNT, "every baseline has its name");

const char *gt_baseline_name(size_t id)
{
    return id < GT_BASELINE_COUNT ? names[id] : "unknown";
}

int gt_baseline_best(const gt_baseline baselines[GT_BASELINE_COUNT])
{
    int best = -1;
    for (int i = 0; i < GT_BASELINE_COUNT; i++) {
        const gt_trial *trial = &baselines[i].trial;
        if (trial->outcome == GT_TRIAL_OK && trial->us > 0 && (best < 0 || trial->us < baselines[best].trial.us))
            best = i;
    }
    return best;
}

double gt_baseline_cold_us(const gt_baseline baselines[GT_BASELINE_COUNT])
{
    double least = 0;
    for (int i = 0; i < GT_BASELINE_COUNT; i++) {
        const gt_trial *trial = &baselines[i].trial;
        if (trial->outcome == GT_TRIAL_OK && trial->us_cold > 0 && (least == 0 || trial->us_cold < least))
            least = trial->us_cold;
    }
    return least;
}
