#include "trial.h"

#include <math.h>
#include <stdlib.h>
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
    [GT_TRIAL_NOT_TRIED] = "not_tried",
};
_Static_assert(sizeof outcomes / sizeof outcomes[0] == GT_OUTCOME_COUNT + 1, "every outcome has its name");

static const char *const stages[] = {
    [GT_STAGE_SCREEN] = "screen",
    [GT_STAGE_RACE] = "race",
    [GT_STAGE_VERIFY] = "verify",
};
_Static_assert(sizeof stages / sizeof stages[0] == GT_STAGE_COUNT, "every stage has its name");

const char *gt_outcome_name(gt_outcome outcome)
{
    return (unsigned)outcome <= GT_TRIAL_NOT_TRIED ? outcomes[outcome] : "unknown";
}

const char *gt_stage_name(gt_stage stage)
{
    return (unsigned)stage < GT_STAGE_COUNT ? stages[stage] : "unknown";
}

bool gt_outcome_convicts(gt_outcome outcome)
{
    return outcome == GT_TRIAL_WRONG_RESULT || outcome == GT_TRIAL_OUT_OF_BOUNDS || outcome == GT_TRIAL_TIMEOUT ||
           outcome == GT_TRIAL_CRASH;
}

double gt_trial_deciding_us(const gt_trial *trial)
{
    return trial->us_cold > 0 ? sqrt(trial->us * trial->us_cold) : trial->us;
}

static bool parse_outcome(const char *name, gt_outcome *outcome)
{
    for (unsigned i = 0; i < GT_OUTCOME_COUNT; i++)
        if (strcmp(outcomes[i], name) == 0) {
            *outcome = (gt_outcome)i;
            return true;
        }
    return false;
}

static bool parse_stage(const char *name, gt_stage *stage)
{
    for (unsigned i = 0; i < GT_STAGE_COUNT; i++)
        if (strcmp(stages[i], name) == 0) {
            *stage = (gt_stage)i;
            return true;
        }
    return false;
}

uint64_t gt_take_seed(gt_take *take)
{
    char text[24], *end;
    if (sqlite3_column_type(take->row, take->at) == SQLITE_NULL) {
        take->at++;
        return 0;
    }
    gt_take_text(take, text, sizeof text);
    const uint64_t seed = strtoull(text, &end, 10);
    if (*end || text[0] < '0' || text[0] > '9')
        take->bad = true;
    return seed;
}

void gt_take_trial(gt_take *take, gt_trial *trial)
{
    char outcome[32], stage[8], timing[16];
    *trial = (gt_trial){0};
    gt_take_text(take, outcome, sizeof outcome);
    gt_take_text(take, stage, sizeof stage);
    gt_take_text(take, trial->detail, sizeof trial->detail);
    trial->us = gt_take_real(take, 0, GT_LONGEST_US, 0);
    trial->us_min = gt_take_real(take, 0, GT_LONGEST_US, 0);
    trial->us_spread = gt_take_real(take, 0, HUGE_VAL, 0);
    trial->us_cold = gt_take_real(take, 0, GT_LONGEST_US, 0);
    trial->samples = (int)gt_take_int(take, 0, INT_MAX);
    trial->stopped_early = gt_take_int(take, 0, 1) != 0;
    gt_take_text(take, timing, sizeof timing);
    trial->clock_mhz = gt_take_real(take, 0, 1e6, 0);
    trial->error = gt_take_real(take, 0, HUGE_VAL, NAN);
    trial->margin = gt_take_real(take, 0, HUGE_VAL, -1);
    trial->registers = (int)gt_take_int(take, 0, INT_MAX);
    trial->spills = (int)gt_take_int(take, 0, INT_MAX);
    trial->seed = gt_take_seed(take);
    trial->modelled = strcmp(timing, "measured") != 0; /* what is not said to be measured never passes for it */
    if (!parse_outcome(outcome, &trial->outcome) || !parse_stage(stage, &trial->stage))
        take->bad = true;
}
