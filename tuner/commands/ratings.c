#include "ratings.h"

#include <math.h>

static const char *const names[] = {
    [GT_FIGURE_WARM] = "back to back", [GT_FIGURE_COLD] = "cold", [GT_FIGURE_SMALLER] = "smaller of both"};
_Static_assert(sizeof names / sizeof names[0] == GT_FIGURE_COUNT, "every figure has its name");

const char *gt_figure_name(gt_figure figure)
{
    return names[figure];
}

double gt_race_ratio(const gt_trial *ours, const gt_baseline baselines[GT_BASELINE_COUNT], gt_figure figure)
{
    const int best = gt_baseline_best(baselines);
    if (ours->outcome != GT_TRIAL_OK || best < 0)
        return 0;
    const double warm = ours->us > 0 ? baselines[best].trial.us / ours->us : 0;
    const double cold = ours->us_cold > 0 ? gt_baseline_cold_us(baselines) / ours->us_cold : 0;
    return figure == GT_FIGURE_WARM ? warm : figure == GT_FIGURE_COLD ? cold : fmin(warm, cold);
}

void gt_rating_add(gt_rating *rating, double ratio, size_t race)
{
    if (!(ratio > 0))
        return;
    if (rating->count == 0 || ratio < rating->least) {
        rating->least = ratio;
        rating->weakest = race;
    }
    rating->count++;
    rating->logs += log(ratio);
    *(ratio > 1 + GT_TIE ? &rating->ahead : ratio < 1 - GT_TIE ? &rating->behind : &rating->tied) += 1;
}

double gt_rating_mean(const gt_rating *rating)
{
    return rating->count > 0 ? exp(rating->logs / rating->count) : 0;
}
