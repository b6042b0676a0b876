#include "laps.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"
#include "../engine/claims.h"
#include "../engine/lanes.h"
#include "../fit/drawn.h"
#include "../fit/fit.h"
#include "../search/winners.h"
#include "../timer.h"
#include "cover.h"
#include "tuned.h"

/* Lets other lanes go on for some time. */
static void rest(const gt_engine *engine, double seconds)
{
    gt_engine_give_turn(engine);
    gt_rest(seconds);
    gt_engine_take_turn(engine);
}

#define CLAIM_S 0.2 /* seconds between two looks at a problem that another tuner works on */

/* Tunes one problem, if it can be claimed or must be waited for; *reached says whether it was. What is only shown needs no
 * claim, and no row of its own, each of which would take the disk's time. */
static gt_status tune_claimed(gt_tuning *tuning, const gt_problem *problem, bool wait, gt_tuned *tuned, bool *reached)
{
    const gt_engine *engine = tuning->engine;
    int64_t id;
    *reached = tuning->showing;
    if (tuning->showing)
        return gt_tune(tuning, problem, tuned);
    gt_status status = gt_store_problem(engine->store, problem, &id);
    if (status != GT_OK)
        return status;
    *reached = gt_claims_take(engine->claims, engine->gpu, id);
    if (!*reached && wait) {
        char name[GT_PROBLEM_NAME_LENGTH];
        gt_problem_name(problem, name);
        gt_progress_line(tuning->progress, "%s: another tuner of this database works on it; waiting", name);
    }
    while (!*reached && wait && !gt_engine_interrupted() &&
           (tuning->deadline == 0 || gt_engine_elapsed(engine) < tuning->deadline)) {
        rest(engine, CLAIM_S);
        *reached = gt_claims_take(engine->claims, engine->gpu, id);
    }
    if (*reached) {
        status = gt_tune(tuning, problem, tuned);
        gt_claims_drop(engine->claims, engine->gpu, id);
    }
    return status;
}

/* Whether a row of the cover list has winners that a problem of it can follow: of its alignment, as aligned operands are
 * loaded by other code (but for even rows of f32, where that of other alignments does); and with vectors of its layout, as
 * reading a matrix along K and across it are different problems. */
static bool has_leader(gt_winners *winners, int row, const gt_problem *problem)
{
    const bool vector = problem->m == 1, even = problem->class.align == 8 && gt_class_element(&problem->class) == 4;
    return even ? gt_winners_of_row(winners, row) > 0 : gt_winners_has(winners, row, &problem->class, vector);
}

/* Chooses the effort and the seeds of a problem's search. The first problem of a row of the cover list is searched
 * quickly; on the others of that row what won there is tried, and little else. */
static void choose_search(gt_tuning *tuning, gt_winners *winners, bool covers, const gt_problem *problem)
{
    const int row = covers ? gt_cover_row(problem) : -1;
    const bool led = row >= 0 && has_leader(winners, row, problem);
    tuning->effort = tuning->engine->options.effort;
    if (tuning->brief && tuning->effort == GT_EFFORT_NORMAL)
        tuning->effort = GT_EFFORT_QUICK;
    tuning->seeds = winners->seeds;
    tuning->covering = row >= 0;
    tuning->seed_count = row >= 0 ? gt_winners_of_row(winners, row) : 0;
    if (row >= 0 && tuning->effort != GT_EFFORT_FULL)
        tuning->effort = led ? GT_EFFORT_COVER : GT_EFFORT_QUICK;
    if (tuning->seed_count == 0)
        tuning->seed_count = gt_winners_all(winners);
}

/* Whether the time is up. The first problem of a run is never left out. */
static bool is_over(const gt_engine *engine, double deadline, size_t reached)
{
    return deadline > 0 && reached > 0 && gt_engine_elapsed(engine) >= deadline;
}

/* What became of a problem so far. */
typedef enum fate {
    WAITING,
    CLAIMED, /* another tuner of the database works on it */
    UNDER_WAY,
    DONE,
} fate;

/* What the lanes share, by turns. */
typedef struct lap {
    const gt_tuning *tuning; /* what is the same for all problems */
    gt_winners *winners;
    bool covers, others;
    const gt_problem *problems;
    const double *shares; /* of the time; NULL: equal ones */
    size_t total;
    fate *fates;
    int *first; /* kernels that were tried on each as its first choice */
    int lanes;
    size_t begun;
    gt_tuned *tuned; /* in the order in which they ended */
    size_t count;
    int failed; /* candidates rejected */
    bool over;  /* a lane failed */
    const gt_problem *few; /* on which try_few tries a few kernels */
    size_t few_count;
    size_t *order; /* in which it takes those of the list; NULL: they are others */
} lap;

/* A lane's own copy of what all lanes share. */
typedef struct lane_tuning {
    gt_tuning tuning;
    gt_seed *seeds; /* copied: other lanes choose seeds while this one waits */
} lane_tuning;

static gt_status begin_lane(const lap *l, gt_engine *engine, lane_tuning *lane)
{
    *lane = (lane_tuning){.tuning = *l->tuning, .seeds = calloc(l->winners->room + 1, sizeof *lane->seeds)};
    lane->tuning.engine = engine;
    return lane->seeds ? GT_OK : gt_fail_memory();
}

static double share_of(const double *shares, size_t at)
{
    return shares ? shares[at] : 1;
}

static double sum_shares(const double *shares, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += share_of(shares, i);
    return sum;
}

/* The shares that are left, a problem's own counted as one: it, the problems that wait, and an average one for the last
 * lap. */
static double count_shares(const lap *l, size_t at)
{
    const double own = share_of(l->shares, at);
    double left = own + sum_shares(l->shares, l->total) / (double)l->total;
    for (size_t i = 0; i < l->total; i++)
        if (l->fates[i] == WAITING || l->fates[i] == CLAIMED)
            left += share_of(l->shares, i);
    return left / own;
}

/* A problem with less time than this may not be raced: in a race's time several candidates are tried. */
#define RACE_WORTH_S 1.0

/* Tunes one problem with the seeds that were chosen for it. It gets one share of the time that is left, multiplied by the
 * number of lanes; `left` counts the shares. */
static gt_status tune_next(lap *l, lane_tuning *lane, const gt_problem *problem, double left, bool wait, gt_tuned *tuned,
                           bool *reached)
{
    gt_tuning *tuning = &lane->tuning;
    const double elapsed = gt_engine_elapsed(tuning->engine);
    const int failed = tuning->state.failed = l->failed;
    tuning->until = 0;
    if (tuning->deadline > 0) {
        const double lanes = l->lanes < left ? l->lanes : left;
        tuning->until = elapsed + (tuning->deadline - elapsed) * lanes / left;
    }
    tuning->hurried = tuning->deadline > 0 && tuning->until - elapsed < RACE_WORTH_S;
    tuning->awaited = left > 2;
    memcpy(lane->seeds, tuning->seeds, tuning->seed_count * sizeof *lane->seeds);
    tuning->seeds = lane->seeds;
    const gt_status status = tune_claimed(tuning, problem, wait, tuned, reached);
    l->failed += tuning->state.failed - failed;
    return status;
}

/* Whether a problem is to wait for another one of its row of the cover list, which a lane works on: the first one that it
 * can follow. */
static bool awaits_leader(const lap *l, const gt_problem *problem)
{
    const int row = l->covers ? gt_cover_row(problem) : -1;
    for (size_t i = 0; row >= 0 && i < l->total; i++)
        if (l->fates[i] == UNDER_WAY && gt_cover_row(&l->problems[i]) == row)
            return !has_leader(l->winners, row, problem);
    return false;
}

#define ROW_S 0.02 /* seconds between two looks at the rows that are under way */

/* The next problem, in order. One whose row of the cover list has no winner yet that it can follow waits while others of the
 * row are under way; those that another tuner works on come last. false where none is left. */
static bool pick(const lap *l, const gt_engine *engine, size_t *picked)
{
    for (bool waiting = true; waiting;) {
        waiting = false;
        for (size_t i = 0; i < l->total; i++) {
            if (l->fates[i] != WAITING)
                continue;
            if (!awaits_leader(l, &l->problems[i])) {
                *picked = i;
                return true;
            }
            waiting = true;
        }
        if (waiting)
            rest(engine, ROW_S);
    }
    for (size_t i = 0; i < l->total; i++)
        if (l->fates[i] == CLAIMED) {
            *picked = i;
            return true;
        }
    return false;
}

/* Tunes problems until none is left or the time is up. What is stored for the remaining ones is still shown: under a
 * budget each one's first choice, and with --device all what other processes have tuned before this one. */
static gt_status tune_some(gt_engine *engine, void *data)
{
    lap *l = data;
    lane_tuning lane;
    gt_tuning *tuning = &lane.tuning;
    size_t i;
    gt_status status = begin_lane(l, engine, &lane);
    while (status == GT_OK && !l->over && !gt_engine_interrupted() && pick(l, engine, &i)) {
        gt_tuned t;
        bool reached = false;
        const bool wait = l->fates[i] == CLAIMED;
        tuning->showing = is_over(engine, tuning->deadline, l->begun);
        if (l->over)
            break;
        l->fates[i] = UNDER_WAY;
        tuning->state.step = l->tuning->state.step + (int)l->begun++;
        choose_search(tuning, l->winners, l->covers, &l->problems[i]);
        status = tune_next(l, &lane, &l->problems[i], count_shares(l, i), wait, &t, &reached);
        l->fates[i] = reached || wait ? DONE : CLAIMED;
        l->begun -= !reached;
        if (status != GT_OK || !reached || (tuning->showing && !t.won))
            continue;
        t.tried += l->first[i];
        t.skipped -= t.skipped < l->first[i] ? t.skipped : l->first[i]; /* known from this very run */
        t.cut = t.cut || (tuning->showing && !l->others);
        l->tuned[l->count++] = t;
        gt_tuned_line(tuning, &t);
        if (t.won)
            gt_winners_add(l->winners, &t.kernel, &t.problem.class, l->covers ? gt_cover_row(&t.problem) : -1);
    }
    l->over = l->over || status != GT_OK;
    free(lane.seeds);
    return status;
}

/* The last lap: tries every winner of a class on every problem of that class, and what the library would take there; on
 * problems of the cover list only the latter. So problems that were tuned early get what was found late, and the library
 * has measurements of each kernel on many sizes to predict from. */
static gt_status tune_again(gt_engine *engine, void *data)
{
    lap *l = data;
    lane_tuning lane;
    gt_tuning *tuning = &lane.tuning;
    gt_status status = begin_lane(l, engine, &lane);
    tuning->state.step += (int)l->total - 1; /* all have been counted */
    tuning->only_seeds = true;
    while (status == GT_OK && l->begun < l->count && !l->over && !gt_engine_interrupted() &&
           !is_over(engine, tuning->deadline, l->count)) {
        gt_tuned again, *before = &l->tuned[l->begun++];
        bool reached = false;
        choose_search(tuning, l->winners, l->covers, &before->problem);
        tuning->only_choices = tuning->covering;
        tuning->seed_count = gt_winners_of_class(l->winners, &before->problem.class);
        tuning->seeds = l->winners->seeds;
        if (tuning->seed_count < 2)
            continue;
        status = tune_next(l, &lane, &before->problem, (double)(l->count - l->begun + 1), false, &again, &reached);
        if (status != GT_OK || !reached) /* another tuner is on its last lap */
            continue;
        before->tried += again.tried;
        again.cut = before->cut = before->cut || again.cut;
        if (!again.won || gt_params_same(&again.kernel.params, &before->kernel.params))
            continue;
        again.tried = before->tried;
        *before = again;
        gt_tuned_line(tuning, &again);
    }
    l->over = l->over || status != GT_OK;
    free(lane.seeds);
    return status;
}

/* Tries a few kernels on each of some problems and races none. */
static gt_status try_few(gt_engine *engine, void *data)
{
    lap *l = data;
    lane_tuning lane;
    gt_status status = begin_lane(l, engine, &lane);
    lane.tuning.seeds = l->winners->seeds; /* none of them */
    while (status == GT_OK && l->begun < l->few_count && !l->over && !gt_engine_interrupted() &&
           !is_over(engine, lane.tuning.deadline, l->begun)) {
        const size_t turn = l->begun++, at = l->order ? l->order[turn] : turn;
        gt_tuned tuned = {0};
        bool reached;
        lane.tuning.covering = !l->order || (l->covers && gt_cover_row(&l->few[at]) >= 0);
        status = tune_next(l, &lane, &l->few[at], 1, false, &tuned, &reached);
        if (l->order)
            l->first[at] = tuned.tried;
    }
    l->over = l->over || status != GT_OK;
    free(lane.seeds);
    return status;
}

bool gt_laps_tried_any(const gt_tuned *tuned, size_t count)
{
    int tried = 0;
    for (size_t i = 0; i < count; i++)
        tried += tuned[i].tried;
    return tried > 0;
}

/* Whether a kernel is out of service. */
static gt_status find_convicted(const gt_engine *engine, const gt_tuned *tuned, bool *convicted)
{
    int64_t id;
    bool found = false;
    gt_trial trial;
    gt_status status = gt_store_problem(engine->store, &tuned->problem, &id);
    if (status == GT_OK)
        status = gt_store_find_trial(engine->store, engine->gpu, id, &tuned->kernel, &found, &trial);
    if (status == GT_OK)
        *convicted = found && gt_outcome_convicts(trial.outcome);
    return status;
}

/* A winner that turned out wrong on a later problem has won nothing: its problems are tuned again, without it, for
 * which a race of what was tried is enough. Once the time is up that is what was tried so far, or a few candidates. */
static gt_status replace_convicted(gt_tuning *tuning, gt_tuned *tuned, size_t count)
{
    const gt_engine *engine = tuning->engine;
    tuning->only_seeds = tuning->showing = false;
    tuning->effort = engine->options.effort;
    tuning->until = tuning->deadline;
    for (size_t i = 0; i < count && !gt_engine_interrupted(); i++) {
        gt_tuned *t = &tuned[i], again = {0};
        bool convicted = false, reached = false;
        gt_status status = t->won ? find_convicted(engine, t, &convicted) : GT_OK;
        tuning->hurried = tuning->deadline > 0 && tuning->deadline - gt_engine_elapsed(engine) < RACE_WORTH_S;
        if (status == GT_OK && convicted)
            status = tune_claimed(tuning, &t->problem, true, &again, &reached);
        if (status == GT_OK && convicted && !reached) { /* another tuner works on it */
            tuning->showing = true;
            status = gt_tune(tuning, &t->problem, &again);
            tuning->showing = false;
        }
        if (status != GT_OK)
            return status;
        if (!convicted)
            continue;
        again.tried += t->tried;
        *t = again;
        gt_tuned_line(tuning, t);
    }
    return GT_OK;
}

/* Puts the results in the order of the list. */
static void restore_order(const gt_problem *problems, size_t total, gt_tuned *tuned, size_t count)
{
    size_t placed = 0;
    for (size_t i = 0; i < total; i++)
        for (size_t j = placed; j < count; j++)
            if (gt_problem_same(&tuned[j].problem, &problems[i])) {
                const gt_tuned moved = tuned[j];
                tuned[j] = tuned[placed];
                tuned[placed++] = moved;
                break;
            }
}

/* Seconds for drawn sizes, which take turns in layout and alignment: of types that have the cover list whole, and of the other
 * usual ones; or such a share of a budget. A kernel that they lack is worth more than one of the list: by the estimate, sizes
 * that nobody tuned take 1.16 to 1.19 of the least possible with what the short list gives tf32, f64, s8 and e4m3, and 1.04 to
 * 1.06 with 25 such kernels a layout. */
#define DRAWN_WHOLE_S 60.0
#define DRAWN_S       20.0
#define DRAWN_SHARE   0.25
#define DRAWN_LEAST_S 2.0 /* in which one is searched, compiled and tried */

/* The seconds for a type. The software GPU would take hours. */
static double share_of_drawn(const gt_engine *engine, const gt_types *types, bool named, bool covers, double deadline)
{
    const bool whole = gt_cover_is_whole(types, named);
    if (!covers || engine->driver->soft || !(whole || gt_types_are_usual(types)))
        return 0;
    const double most = whole ? DRAWN_WHOLE_S : DRAWN_S, share = DRAWN_SHARE * (deadline - gt_engine_elapsed(engine));
    return deadline == 0 || share > most ? most : share < DRAWN_LEAST_S ? 0 : share;
}

/* Behind the last lap: tries what the library would take on drawn sizes, so that it knows where it is mistaken, and what it
 * lacks. */
static gt_status lap_drawn(gt_engine *engine, const gt_types *types, lap *l, gt_tuning *tuning)
{
    gt_problem *drawn = calloc(GT_DRAWN_MOST, sizeof *drawn);
    if (!drawn)
        return gt_fail_memory();
    gt_status status = gt_draw_problems(types, drawn, &l->few_count);
    tuning->only_seeds = tuning->only_choices = tuning->drawn = true;
    tuning->state.step += (int)l->total - 1; /* all have been counted */
    l->few = drawn;
    l->begun = 0;
    if (status == GT_OK)
        status = gt_lanes_run(engine, l->lanes, try_few, l);
    tuning->only_seeds = tuning->only_choices = tuning->drawn = false;
    free(drawn);
    return status;
}

/* What serves any size of a layout comes first: whatever a budget leaves out, no size is without a kernel then. */
static size_t *order_first(const lap *l)
{
    size_t *order = malloc((l->total + 1) * sizeof *order), count = 0;
    for (int rest = 0; order && rest < 2; rest++)
        for (size_t i = 0; i < l->total; i++)
            if ((l->covers && gt_cover_serves_all(&l->problems[i])) == !rest)
                order[count++] = i;
    return order;
}

/* Before all else where there is a budget: the first choice of every problem comes before the second one of any, and so does
 * its race where programs asked for the problem. */
static gt_status lap_first(gt_engine *engine, lap *l, gt_tuning *tuning)
{
    l->few = l->problems;
    l->few_count = l->total;
    if (!(l->order = order_first(l)))
        return gt_fail_memory();
    tuning->effort = GT_EFFORT_FIRST;
    const gt_status status = gt_lanes_run(engine, gt_lanes_count(engine, l->problems, l->total, true), try_few, l);
    tuning->effort = engine->options.effort;
    free(l->order);
    l->order = NULL;
    return status;
}

/* Reads the coefficients of the estimate, by which the laps that follow are ordered. Owned by the caller: tuning->fitted. */
static gt_status read_fitted(const gt_engine *engine, const gt_types *types, gt_tuning *tuning)
{
    gt_fitted *fitted = NULL;
    size_t misfits;
    free((void *)tuning->fitted);
    const gt_status status =
        gt_store_find_fitted(engine->store, &engine->device, types, &fitted, &tuning->fitted_count, &misfits);
    tuning->fitted = fitted;
    return status;
}

/* All laps over the problems of one type, until the deadline. */
static gt_status run_laps(gt_engine *engine, const gt_options_cli *options, double deadline, lap *l, gt_tuning *tuning)
{
    const gt_types *types = gt_class_types(&l->problems[0].class);
    const double drawn_s = share_of_drawn(engine, types, !options->all_types, l->covers, deadline);
    gt_status status = read_fitted(engine, types, tuning);
    tuning->deadline = deadline > 0 ? deadline - drawn_s : 0;
    tuning->brief = options->all_types && !gt_types_are_usual(types);
    if (status == GT_OK && deadline > 0)
        status = lap_first(engine, l, tuning);
    l->begun = 0;
    if (status == GT_OK)
        status = gt_lanes_run(engine, l->lanes, tune_some, l);
    l->begun = 0;
    /* Where nothing new was tried, an earlier run has made the last lap; not with --device all, whose processes have
     * each seen a part of the list. */
    if (status != GT_OK || !(gt_laps_tried_any(l->tuned, l->count) || options->all_devices))
        return status;
    status = gt_fit_stored(engine->store, &engine->device, engine->gpu, types);
    if (status == GT_OK)
        status = read_fitted(engine, types, tuning);
    if (status == GT_OK)
        status = gt_lanes_run(engine, l->lanes, tune_again, l);
    tuning->deadline = gt_engine_elapsed(engine) + drawn_s;
    return status == GT_OK && drawn_s > 0 ? lap_drawn(engine, types, l, tuning) : status;
}

/* The problems of one type, until the deadline. state->step says how many of others came before. */
static gt_status tune_type(gt_engine *engine, const gt_options_cli *options, double deadline, gt_progress_state *state,
                           const gt_problem *problems, const double *shares, size_t total, gt_tuned *tuned, size_t *count)
{
    gt_winners winners;
    gt_rejections rejections = {0};
    gt_tuning tuning = {.engine = engine, .progress = gt_progress_create(options->quiet), .state = *state,
                        .verbose = options->verbose, .rejections = &rejections, .asked = shares != NULL};
    lap l = {.tuning = &tuning, .winners = &winners, .covers = options->shapes.cover || options->few.cover,
             .others = options->all_devices, .problems = problems, .shares = shares, .total = total, .tuned = tuned,
             .failed = state->failed, .lanes = gt_lanes_count(engine, problems, total, false)};
    const int room = gt_lanes_room(engine, problems, total);
    gt_status status = gt_winners_init(total, &winners);
    l.fates = calloc(total, sizeof *l.fates);
    l.first = calloc(total, sizeof *l.first);
    if (status == GT_OK && (!l.fates || !l.first))
        status = gt_fail_memory();
    gt_lanes_limit(engine, room);
    if (status == GT_OK)
        status = run_laps(engine, options, deadline, &l, &tuning);
    if (room < GT_LANES_MOST)
        gt_lanes_limit(engine, 1); /* they keep their last problem's memory, which may be most of the GPU's */
    tuning.deadline = deadline;
    if (status == GT_OK)
        status = replace_convicted(&tuning, tuned, l.count);
    state->failed = l.failed;
    *count = l.count;
    gt_progress_destroy(tuning.progress);
    restore_order(problems, total, tuned, *count);
    gt_tuned_explain(&rejections, options, tuned, *count);
    gt_rejections_finish(&rejections);
    gt_winners_finish(&winners);
    free(l.fates);
    free(l.first);
    free((void *)tuning.fitted);
    return status;
}

gt_status gt_laps_run(gt_engine *engine, const gt_options_cli *options, const gt_problem *problems, const double *shares,
                      size_t total, gt_tuned *tuned, size_t *count)
{
    const double budget = options->budget_s;
    gt_progress_state state = {.steps = (int)total, .budget = budget};
    gt_status status = GT_OK;
    for (size_t i = 0, group; status == GT_OK && i < total && !gt_engine_interrupted(); i += group) {
        const double elapsed = gt_engine_elapsed(engine);
        if (is_over(engine, budget, *count) && !options->all_devices)
            break;
        size_t more = 0;
        group = gt_options_group(problems + i, total - i);
        const double *const left = shares ? shares + i : NULL;
        const double part = sum_shares(left, group) / sum_shares(left, total - i);
        state.step = (int)i;
        status = tune_type(engine, options, budget > 0 ? elapsed + (budget - elapsed) * part : 0, &state, problems + i,
                           left, group, tuned + *count, &more);
        *count += more;
    }
    return status;
}
