#include "rejections.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gt_rejection_describe(const gt_problem *problem, const gt_kernel *kernel, const gt_trial *trial,
                           char line[GT_REJECTION_LENGTH])
{
    char name[GT_PROBLEM_NAME_LENGTH], params[GT_PARAMS_TEXT];
    gt_problem_name(problem, name);
    snprintf(line, GT_REJECTION_LENGTH, "%s, %s %s: %s%s%s", name, kernel->family,
             gt_params_text(&kernel->params, params), gt_outcome_name(trial->outcome), trial->detail[0] ? ": " : "",
             trial->detail);
}

void gt_rejection_counts(const int counts[GT_OUTCOME_COUNT], char text[GT_REJECTION_COUNTS])
{
    size_t length = 0;
    bool told[GT_OUTCOME_COUNT] = {[GT_TRIAL_OK] = true};
    text[0] = '\0';
    for (int i = 1; i < GT_OUTCOME_COUNT; i++) {
        int most = GT_TRIAL_OK;
        for (int j = 1; j < GT_OUTCOME_COUNT; j++)
            if (!told[j] && counts[j] > 0 && (most == GT_TRIAL_OK || counts[j] > counts[most]))
                most = j;
        if (most == GT_TRIAL_OK)
            return;
        told[most] = true;
        length += (size_t)snprintf(text + length, GT_REJECTION_COUNTS - length, "%s%d %s", length > 0 ? ", " : "",
                                   counts[most], gt_outcome_name((gt_outcome)most));
    }
}

static gt_family_trials *find_family(gt_rejections *r, const char *family)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->families[i].family, family) == 0)
            return &r->families[i];
    gt_family_trials *families = realloc(r->families, (r->count + 1) * sizeof *families);
    if (!families)
        return NULL;
    r->families = families;
    families[r->count] = (gt_family_trials){0};
    snprintf(families[r->count].family, GT_FAMILY_LENGTH, "%s", family);
    return &families[r->count++];
}

void gt_rejections_note(gt_rejections *r, const gt_problem *problem, const gt_kernel *kernel, const gt_trial *trial,
                        bool now)
{
    if (trial->outcome == GT_TRIAL_NOT_TRIED) {
        if (r->missed++ == 0)
            gt_rejection_describe(problem, kernel, trial, r->first_missed);
        return;
    }
    gt_family_trials *family = find_family(r, kernel->family);
    if (now && trial->outcome != GT_TRIAL_OK)
        r->counts[trial->outcome]++;
    if (!family)
        return;
    if (trial->outcome == GT_TRIAL_OK)
        family->passed++;
    else if (family->tried == family->passed)
        gt_rejection_describe(problem, kernel, trial, family->first);
    family->tried++;
}

void gt_rejections_refuse(gt_rejections *r, const gt_problem *problem, const gt_kernel *kernel, const char *reason)
{
    gt_family_trials *family = find_family(r, kernel->family);
    char name[GT_PROBLEM_NAME_LENGTH], params[GT_PARAMS_TEXT];
    if (!family || family->first[0])
        return;
    gt_problem_name(problem, name);
    snprintf(family->first, GT_REJECTION_LENGTH, "%s, %s %s: %s", name, kernel->family,
             gt_params_text(&kernel->params, params), reason);
}

void gt_rejections_finish(gt_rejections *r)
{
    free(r->families);
    *r = (gt_rejections){0};
}
