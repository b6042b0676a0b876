#include "judge.h"

#include <stdlib.h>
#include <string.h>

#include "parallel.h"
#include "runner.h"

/* What became of one case. */
typedef struct outcome {
    bool good;
    gt_errors errors;
    gt_trial trial;
} outcome;

typedef struct judgement {
    const gt_cases *cases;
    size_t first;
    const char *before, *after;
    outcome *outcomes;
} judgement;

/* Says what lies at a place of a case's memory that changed, and should not have. */
static bool fail_changed(const gt_case *c, size_t at, gt_trial *trial)
{
    static const char *const names[] = {"A", "B", "C"};
    gt_operand operand = GT_A;
    for (gt_operand o = GT_A; o < GT_OPERANDS; o++)
        operand = c->place[o] <= at + GT_CASE_GUARD ? o : operand;
    const gt_stored o = gt_problem_stored(&c->problem, operand);
    const size_t begin = c->place[operand], end = begin + gt_problem_bytes(&c->problem, operand);
    char name[GT_CASE_NAME];
    gt_case_name(c, name);
    if (at < begin || at >= end)
        return gt_trial_fail(trial, GT_TRIAL_OUT_OF_BOUNDS, "wrote %zu bytes %s %s (%s)",
                             at < begin ? begin - at : at - end, at < begin ? "before" : "behind", names[operand],
                             name);
    const size_t row = (size_t)o.ld * (size_t)gt_type_find(o.type)->bytes;
    return gt_trial_fail(trial, GT_TRIAL_OUT_OF_BOUNDS, "wrote into %s: row %zu, byte %zu of it (%s)",
                         operand == GT_C ? "C's padding" : names[operand], (at - begin) / row, (at - begin) % row,
                         name);
}

/* Whether bytes are as they were. */
static bool check_kept(const judgement *j, const gt_case *c, size_t at, size_t end, gt_trial *trial)
{
    if (memcmp(j->before + at, j->after + at, end - at) == 0)
        return true;
    while (j->before[at] == j->after[at])
        at++;
    return fail_changed(c, at, trial);
}

/* All of a case's memory but the rows of its C. */
static bool check_surroundings(const judgement *j, size_t index, gt_trial *trial)
{
    const gt_case *c = &j->cases->list[index];
    const gt_stored o = gt_problem_stored(&c->problem, GT_C);
    const size_t bytes = (size_t)gt_type_find(o.type)->bytes;
    size_t at = c->begin;
    for (int64_t row = 0; row < c->problem.batch * o.rows; row++) {
        const size_t begin = c->place[GT_C] + (size_t)(row / o.rows * o.stride + row % o.rows * o.ld) * bytes;
        if (!check_kept(j, c, at, begin, trial))
            return false;
        at = begin + (size_t)o.columns * bytes;
    }
    return check_kept(j, c, at, gt_cases_end(j->cases, index), trial);
}

static bool check_results(const judgement *j, const gt_case *c, gt_errors *errors, gt_trial *trial)
{
    gt_reference reference;
    bool good = true;
    if (gt_reference_init(&c->problem, j->before + c->place[GT_A], j->before + c->place[GT_B], &reference) != GT_OK)
        return gt_trial_fail(trial, GT_TRIAL_OVER_RESOURCES, "%s", gt_error_message());
    for (int64_t i = 0; good && i < c->problem.batch; i++)
        good = gt_compare_product(c, &reference, i, j->before + c->place[GT_C], j->after + c->place[GT_C], errors,
                                  trial);
    gt_reference_finish(&reference);
    return good;
}

static void judge_case(void *data, size_t index)
{
    const judgement *j = data;
    outcome *o = &j->outcomes[index];
    o->good = check_surroundings(j, j->first + index, &o->trial) &&
              check_results(j, &j->cases->list[j->first + index], &o->errors, &o->trial);
}

bool gt_judge_cases(const gt_cases *cases, size_t first, size_t end, const void *before, const void *after,
                    gt_errors *errors, gt_trial *trial)
{
    judgement j = {cases, first, before, after, calloc(end - first, sizeof *j.outcomes)};
    const gt_trial *bad = NULL;
    if (!j.outcomes)
        return gt_trial_fail(trial, GT_TRIAL_OVER_RESOURCES, "out of memory");
    gt_parallel(end - first, judge_case, &j);
    for (size_t i = 0; i < end - first; i++) {
        const outcome *o = &j.outcomes[i];
        const bool strays = !o->good && o->trial.outcome == GT_TRIAL_OUT_OF_BOUNDS;
        if (!o->good && (!bad || (strays && bad->outcome != GT_TRIAL_OUT_OF_BOUNDS)))
            bad = &o->trial;
        trial->error = o->trial.error > trial->error ? o->trial.error : trial->error;
        errors->sum += o->errors.sum;
        errors->count += o->errors.count;
        errors->sums_sum += o->errors.sums_sum;
        errors->sums_count += o->errors.sums_count;
        errors->promoted_sum += o->errors.promoted_sum;
        errors->promoted_count += o->errors.promoted_count;
    }
    if (bad)
        gt_trial_fail(trial, bad->outcome, "%s", bad->detail);
    free(j.outcomes);
    return !bad;
}
