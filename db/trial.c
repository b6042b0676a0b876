#include "trial.h"

#include <string.h>

#include "internal.h"

static const char *const outcomes[] = {
    [GT_TRIAL_OK] = "ok",
    [GT_TRIAL_COMPILE_ERROR] = "compile_error",
    [GT_TRIAL_LAUNCH_ERROR] = "launch_error",
    [GT_TRIAL_WRONG_RESULT] = "wrong_result",
    [GT_TRIAL_OUT_OF_BOUNDS] = "out_of_bounds",
    [GT_TRIAL_TIMEOUT] = "timeout",
    [GT_TRIAL_CRASH] = "crash",
    [GT_TRIAL_OVER_RESOURCES] = "over_resources",
};
_Static_assert(sizeof outcomes / sizeof outcomes[0] == GT_OUTCOME_COUNT, "every outcome has its name");

const char *gt_outcome_name(gt_outcome outcome)
{
    return (unsigned)outcome < GT_OUTCOME_COUNT ? outcomes[outcome] : "unknown";
}

bool gt_outcome_parse(const char *name, gt_outcome *outcome)
{
    for (unsigned i = 0; i < GT_OUTCOME_COUNT; i++)
        if (strcmp(outcomes[i], name) == 0) {
            *outcome = (gt_outcome)i;
            return true;
        }
    return false;
}
