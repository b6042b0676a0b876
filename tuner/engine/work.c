#include "work.h"

#include <string.h>

/* The fastest besides the winner that are proved and raced with it after a change. */
#define RUNNERS_UP 3

bool gt_work_out_of_time(const gt_work *w)
{
    const bool spent = w->tuning->until > 0 && gt_engine_elapsed(w->engine) >= w->tuning->until;
    return gt_engine_interrupted() || (spent && (w->best_us > 0 || w->tuned->tried >= 4));
}

void gt_work_note(gt_work *w, const gt_kernel *kernel, const gt_trial *trial, bool now)
{
    gt_tuning *tuning = w->tuning;
    char line[GT_REJECTION_LENGTH];
    if (tuning->rejections)
        gt_rejections_note(tuning->rejections, w->problem, kernel, trial, now);
    if (trial->outcome == GT_TRIAL_OK)
        return;
    const bool missed = trial->outcome == GT_TRIAL_NOT_TRIED;
    if (missed) {
        w->tuned->missed++;
    } else if (now) {
        w->tuned->rejected[trial->outcome]++;
        tuning->state.failed++;
    }
    if (!tuning->verbose)
        return;
    gt_rejection_describe(w->problem, kernel, trial, line);
    gt_progress_line(tuning->progress, "%s: %s", missed ? "missed" : now ? "rejected" : "rejected before", line);
}

gt_code gt_work_code(const gt_work *w, const gt_code *code, bool winner)
{
    if ((winner && !w->tuning->covering) || w->engine->driver->soft)
        return *code;
    return (gt_code){.cubin = code->cubin, .cubin_bytes = code->cubin_bytes};
}

bool gt_is_same_code(const gt_kernel *a, const gt_kernel *b)
{
    return strcmp(a->source_hash, b->source_hash) == 0 && strcmp(a->nvrtc, b->nvrtc) == 0;
}

static void keep(gt_known *to, const gt_measured *row)
{
    *to = (gt_known){row->kernel_id, *row->kernel, row->trial};
}

/* Keeps a kernel that races with the winner; where there are too many, the slowest goes. */
static void keep_rival(gt_work *w, const gt_measured *row)
{
    const size_t most = w->tuning->revalidating ? RUNNERS_UP : GT_RIVALS;
    size_t slowest = 0;
    if (w->rival_count < most) {
        keep(&w->rivals[w->rival_count++], row);
        return;
    }
    for (size_t i = 1; i < most; i++)
        if (w->rivals[i].trial.us > w->rivals[slowest].trial.us)
            slowest = i;
    if (row->trial.us < w->rivals[slowest].trial.us)
        keep(&w->rivals[slowest], row);
}

gt_status gt_work_recall(gt_work *w)
{
    gt_measurements measured;
    const char *family = w->engine->options.family;
    gt_status status = gt_store_find_measured_on(w->engine->store, &w->engine->device, w->problem, &measured);
    if (status != GT_OK)
        return status;
    w->rival_count = 0;
    for (size_t i = 0; i < measured.count; i++) {
        const gt_measured *row = &measured.list[i];
        const bool asked = !family || strcmp(row->kernel->family, family) == 0;
        if (!row->same_gpu)
            continue;
        w->raced = w->raced || (asked && row->trial.stage == GT_STAGE_RACE);
        if (row->winner)
            keep(&w->winner, row);
        else if (gt_is_same_code(row->kernel, &w->anew.kernel))
            keep(&w->anew, row);
        else if (row->unbeaten || w->tuning->revalidating)
            keep_rival(w, row);
        if (w->fastest.kernel_id == 0 || row->trial.us < w->fastest.trial.us)
            keep(&w->fastest, row);
        if (family && asked && (w->own.kernel_id == 0 || row->trial.us < w->own.trial.us))
            keep(&w->own, row);
    }
    if (!family || strcmp(w->winner.kernel.family, family) == 0)
        w->own = w->winner;
    gt_measurements_finish(&measured);
    return GT_OK;
}
