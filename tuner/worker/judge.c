#include "judge.h"

#include <stdlib.h>
#include <string.h>

#include "parallel.h"
#include "runner.h"

/* What is right of one case, and what became of it. */
typedef struct outcome {
    gt_status status; /* GT_OK: there is the reference */
    gt_reference reference;
    bool good;
    gt_errors errors;
    gt_trial trial;
} outcome;

struct gt_judgement {
    const gt_cases *cases;
    size_t first, count;
    const char *before, *after;
    gt_parallel_work references;
    outcome *outcomes;
};

typedef struct gt_judgement judgement;

/* Says what lies at a place of a case's memory that changed, and should not have. */
static bool fail_changed(const gt_case *c, size_t at, gt_trial *trial)
{
    const gt_stored of_bias = {c->problem.class.type_c, 1, gt_case_bias(c), gt_case_bias(c), 0};
    const size_t element = (size_t)gt_type_find(of_bias.type)->bytes;
    const struct {
        const char *name, *written;
        size_t begin, bytes;
        gt_stored stored;
    } pieces[] = {
        {"A", "A", c->place[GT_A], gt_problem_bytes(&c->problem, GT_A), gt_problem_stored(&c->problem, GT_A)},
        {"B", "B", c->place[GT_B], gt_problem_bytes(&c->problem, GT_B), gt_problem_stored(&c->problem, GT_B)},
        {"C", c->beside ? "C" : "C's padding", c->place[GT_C], gt_problem_bytes(&c->problem, GT_C),
         gt_problem_stored(&c->problem, GT_C)},
        {"the bias", "the bias", c->bias, (size_t)of_bias.columns * element, of_bias},
        {"D", "D's padding", c->beside ? c->result : 0, gt_problem_bytes(&c->problem, GT_C),
         gt_problem_stored(&c->problem, GT_C)},
    };
    size_t piece = 0, least = SIZE_MAX;
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        const size_t first = pieces[i].begin, last = first + pieces[i].bytes;
        const size_t away = first == 0 ? SIZE_MAX : at < first ? first - at : at >= last ? at - last + 1 : 0;
        piece = away < least ? i : piece; /* the nearest of those that there are */
        least = away < least ? away : least;
    }
    const size_t begin = pieces[piece].begin, end = begin + pieces[piece].bytes;
    const gt_stored o = pieces[piece].stored;
    char name[GT_CASE_NAME];
    gt_case_name(c, name);
    if (at < begin || at >= end)
        return gt_trial_fail(trial, GT_TRIAL_OUT_OF_BOUNDS, "wrote %zu bytes %s %s (%s)",
                             at < begin ? begin - at : at - end, at < begin ? "before" : "behind",
                             pieces[piece].name, name);
    const size_t row = (size_t)o.ld * (size_t)gt_type_find(o.type)->bytes;
    return gt_trial_fail(trial, GT_TRIAL_OUT_OF_BOUNDS, "wrote into %s: row %zu, byte %zu of it (%s)",
                         pieces[piece].written, (at - begin) / row, (at - begin) % row, name);
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

/* All of a case's memory but the rows of its results. */
static bool check_surroundings(const judgement *j, size_t index, gt_trial *trial)
{
    const gt_case *c = &j->cases->list[index];
    const gt_stored o = gt_problem_stored(&c->problem, GT_C);
    const size_t bytes = (size_t)gt_type_find(o.type)->bytes;
    size_t at = c->begin;
    for (int64_t row = 0; row < c->problem.batch * o.rows; row++) {
        const size_t begin = c->result + (size_t)(row / o.rows * o.stride + row % o.rows * o.ld) * bytes;
        if (!check_kept(j, c, at, begin, trial))
            return false;
        at = begin + (size_t)o.columns * bytes;
    }
    return check_kept(j, c, at, gt_cases_end(j->cases, index), trial);
}

static bool check_results(const judgement *j, const gt_case *c, outcome *o)
{
    bool good = true;
    if (o->status != GT_OK)
        return gt_trial_fail(&o->trial, GT_TRIAL_NOT_TRIED, "out of memory for what is right");
    for (int64_t i = 0; good && i < c->problem.batch; i++)
        good = gt_compare_product(c, &o->reference, i, j->before + c->place[GT_C], j->before + c->bias,
                                  j->after + c->result, &o->errors, &o->trial);
    return good;
}

static void work_out(void *data, size_t index)
{
    const judgement *j = data;
    const gt_case *c = &j->cases->list[j->first + index];
    outcome *o = &j->outcomes[index];
    o->status =
        gt_reference_init(&c->problem, j->before + c->place[GT_A], j->before + c->place[GT_B], &o->reference);
}

static void judge_case(void *data, size_t index)
{
    const judgement *j = data;
    outcome *o = &j->outcomes[index];
    o->good = check_surroundings(j, j->first + index, &o->trial) &&
              check_results(j, &j->cases->list[j->first + index], o);
}

gt_judgement *gt_judge_begin(const gt_cases *cases, size_t first, size_t end, const void *before)
{
    judgement *j = calloc(1, sizeof *j); /* threads of its own read it */
    outcome *outcomes = calloc(end - first, sizeof *outcomes);
    if (!j || !outcomes) {
        free(outcomes);
        free(j);
        return NULL;
    }
    j->cases = cases;
    j->first = first;
    j->count = end - first;
    j->before = before;
    j->outcomes = outcomes;
    gt_parallel_begin(j->count, work_out, j, &j->references);
    return j;
}

static void free_judgement(judgement *j)
{
    for (size_t i = 0; i < j->count; i++)
        gt_reference_finish(&j->outcomes[i].reference);
    free(j->outcomes);
    free(j);
}

void gt_judge_drop(gt_judgement *j)
{
    if (!j)
        return;
    gt_parallel_drop(&j->references);
    free_judgement(j);
}

bool gt_judge_end(gt_judgement *j, const void *after, gt_errors *errors, gt_trial *trial)
{
    const gt_trial *bad = NULL;
    if (!j)
        return gt_trial_fail(trial, GT_TRIAL_NOT_TRIED, "out of memory");
    gt_parallel_end(&j->references);
    j->after = after;
    gt_parallel(j->count, judge_case, j);
    for (size_t i = 0; i < j->count; i++) {
        const outcome *o = &j->outcomes[i];
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
        errors->far_sum += o->errors.far_sum;
        errors->far_count += o->errors.far_count;
    }
    if (bad)
        gt_trial_fail(trial, bad->outcome, "%s", bad->detail);
    free_judgement(j);
    return !bad;
}
