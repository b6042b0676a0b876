#include "choose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Code that failed by one database's trials is out of service in the other, too. */
static gt_status drop_convicted(const gt_context *context, const gt_source *source, gt_measurements *measured)
{
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && i < context->source_count; i++)
        if (&context->sources[i] != source)
            status = gt_measurements_drop_convicted(measured, context->sources[i].store, &context->device);
    return status;
}

/* The measurements for a class, read now or before. */
static gt_status read_source(const gt_context *context, gt_source *source, const gt_class *class, gt_reading **out)
{
    gt_measurements measured;
    for (size_t i = 0; i < GT_READINGS; i++)
        if (source->readings[i].is_read && gt_class_same(&source->readings[i].class, class)) {
            *out = &source->readings[i];
            return GT_OK;
        }
    gt_status status = gt_store_find_measured(source->store, &context->device, class, &measured);
    if (status == GT_OK && (status = drop_convicted(context, source, &measured)) != GT_OK)
        gt_measurements_finish(&measured);
    if (status != GT_OK)
        return status;
    gt_reading *reading = &source->readings[source->oldest];
    source->oldest = (source->oldest + 1) % GT_READINGS;
    gt_measurements_finish(&reading->measured);
    *reading = (gt_reading){.is_read = true, .class = *class, .measured = measured};
    *out = reading;
    if (measured.damaged > 1)
        gt_context_tell(context, "%s (not used, and neither are %zu more that are damaged)", measured.damage,
                        measured.damaged - 1);
    else if (measured.damaged > 0)
        gt_context_tell(context, "%s (not used)", measured.damage);
    if (measured.misfits > 0)
        gt_context_tell(context, "%s: the coefficients of %zu families make no sense (not used; run `gemmtune fit%s`)",
                        gt_store_path(source->store), measured.misfits, context->db_option);
    return GT_OK;
}

/* Loads a kernel, or finds it loaded; one more choice uses it. */
static gt_status load(gt_context *context, const gt_source *source, const gt_measured *row, gt_loaded **out)
{
    gt_code code = {0};
    gt_status status;
    gt_loaded *loaded = gt_choices_find_loaded(&context->choices, row->kernel);
    if (loaded) {
        *out = loaded;
        return GT_OK;
    }
    if (!(loaded = calloc(1, sizeof *loaded)))
        return gt_fail_memory();
    if ((status = gt_store_find_code(source->store, row->kernel_id, row->kernel, &code)) == GT_OK)
        status = gt_module_load(context->driver, row->kernel, &code, &loaded->module);
    gt_code_finish(&code);
    if (status != GT_OK) {
        free(loaded);
        return status;
    }
    loaded->kernel = *row->kernel;
    gt_choices_add_loaded(&context->choices, loaded);
    *out = loaded;
    return GT_OK;
}

/* Tells of a winner that was proved and timed under another driver or clock: both may have changed since. */
static void tell_stale(const gt_context *context, const gt_source *source, const gt_chosen *chosen,
                       const gt_measured *row)
{
    gt_conditions then, now = {.clock_mhz = context->device.clock_khz / 1e3};
    char why[GT_CONDITIONS_TEXT], name[GT_PROBLEM_NAME_LENGTH];
    snprintf(now.driver, sizeof now.driver, "%s", context->driver->release);
    if (!context->log || chosen->selection.choice != GT_CHOICE_EXACT ||
        gt_store_find_conditions(source->store, row->run, &then) != GT_OK)
        return;
    then.clock_mhz = row->trial.clock_mhz;
    if (!*gt_conditions_compare(&then, &now, why))
        return;
    gt_problem_name(&chosen->problem, name);
    gt_context_tell(context, "the winner for %s was proved under %s; `gemmtune revalidate%s` proves it again", name, why,
                    context->db_option);
}

/* The best kernel of one source that can be loaded. One that cannot is told of and the next best taken. Where one is gone,
 * another process has forgotten it since the database was read: more may be gone, and others new, so it is read again. */
static gt_status choose_from(gt_context *context, gt_source *source, const gt_problem *problem, gt_chosen *chosen)
{
    gt_status failure = GT_OK;
    bool again = false;
    char first[512];
    for (;;) {
        gt_reading *reading;
        gt_status status = read_source(context, source, &problem->class, &reading);
        if (status != GT_OK)
            return status;
        status = gt_select(&context->device, problem, &chosen->demands, &reading->measured, &chosen->selection);
        if (status == GT_ERROR_NOT_TUNED && failure == GT_OK && reading->measured.damaged > 0) {
            failure = GT_ERROR_CORRUPT;
            snprintf(first, sizeof first, "%s", reading->measured.damage);
        }
        if (status == GT_ERROR_NOT_TUNED && failure != GT_OK) {
            reading->is_read = false; /* what was dropped may have been a passing trouble */
            return gt_fail(failure, "%s; no other kernel for this problem can be loaded", first);
        }
        if (status != GT_OK)
            return status;
        const gt_measured *row = &reading->measured.list[chosen->selection.index];
        status = load(context, source, row, &chosen->loaded);
        if (status == GT_OK) {
            chosen->kernel = gt_selection_kernel(&reading->measured, &chosen->selection);
            gt_params_text(&chosen->kernel.params, chosen->params);
            tell_stale(context, source, chosen, row);
            return GT_OK;
        }
        if (status == GT_ERROR_NOT_TUNED && !again) {
            gt_context_tell(context, "%s (reading the database again)", gt_error_message());
            reading->is_read = false;
            again = true;
            continue;
        }
        if (status != GT_ERROR_CORRUPT && status != GT_ERROR_DRIVER && status != GT_ERROR_NOT_TUNED)
            return status;
        if (failure == GT_OK) {
            failure = status;
            snprintf(first, sizeof first, "%s", gt_error_message());
        }
        gt_context_tell(context, "%s (taking the next best kernel instead)", gt_error_message());
        gt_measurements_drop_kernel(&reading->measured, row->kernel_id);
    }
}

/* Whether a failure is about kernels of one database or math, and those of another may still be had. */
static bool is_of_kernels(gt_status status)
{
    return status == GT_ERROR_NOT_TUNED || status == GT_ERROR_CORRUPT || status == GT_ERROR_DRIVER;
}

/* The user's rows stand before the system's; but what was tuned for this very problem stands before what is only
 * expected to be good at it, and that before what was measured on another GPU model. Kernels are those that serve
 * `served`. */
static gt_status choose_among(gt_context *context, const gt_problem *problem, const gt_problem *served,
                              const gt_demands *demands, gt_chosen **out)
{
    gt_chosen *best = NULL;
    gt_status status = GT_ERROR_NOT_TUNED;
    char message[512] = "";
    for (size_t i = 0; i < context->source_count; i++) {
        gt_chosen *chosen = calloc(1, sizeof *chosen);
        if (chosen) {
            chosen->problem = *problem;
            chosen->demands = *demands;
            chosen->math = served->class.math;
        }
        const gt_status found = chosen ? choose_from(context, &context->sources[i], served, chosen) : gt_fail_memory();
        const bool exact = found == GT_OK && chosen->selection.choice == GT_CHOICE_EXACT;
        const bool better = found == GT_OK && (!best || chosen->selection.choice < best->selection.choice);
        if (chosen)
            gt_choices_discard(&context->choices, better ? best : chosen);
        if (better)
            best = chosen;
        else if (!best && (status == GT_ERROR_NOT_TUNED || !is_of_kernels(found))) { /* why a kernel failed says more */
            status = found;
            snprintf(message, sizeof message, "%s", gt_error_message());
        }
        if (exact || (found != GT_OK && !is_of_kernels(found)))
            break;
    }
    *out = best;
    return best ? GT_OK : gt_fail(status, "%s", message);
}

/* Where nobody tuned the problem in its math, a kernel of one that serves it, too. */
static gt_status choose_served(gt_context *context, const gt_problem *problem, const gt_demands *demands,
                               gt_chosen **out)
{
    const gt_status status = choose_among(context, problem, problem, demands, out);
    gt_problem served = *problem;
    gt_chosen *other;
    char message[512];
    served.class.math = gt_math_served_by(problem->class.math);
    if (served.class.math == problem->class.math || (status != GT_OK && status != GT_ERROR_NOT_TUNED) ||
        (status == GT_OK && (*out)->selection.choice == GT_CHOICE_EXACT))
        return status;
    snprintf(message, sizeof message, "%s", gt_error_message());
    if (choose_among(context, problem, &served, demands, &other) != GT_OK)
        return status == GT_OK ? GT_OK : gt_fail(status, "%s", message);
    const bool better = status != GT_OK || gt_selection_serves(&other->selection, &(*out)->selection, problem->class.math);
    gt_choices_discard(&context->choices, better ? *out : other);
    *out = better ? other : *out;
    return GT_OK;
}

/* The problem in the math of a row; false where that row is of other types. */
static bool in_math_of(const gt_problem *problem, const gt_types *types, gt_problem *out)
{
    *out = *problem;
    out->class.math = types->math;
    return gt_class_types(&out->class) == types;
}

/* Says that no kernel is accurate enough, where that is so, and which bound the best one has. */
static gt_status fail_unbounded(gt_context *context, const gt_problem *problem, const gt_demands *demands)
{
    char name[GT_PROBLEM_NAME_LENGTH];
    double least = INFINITY;
    gt_problem served;
    for (size_t i = 0; gt_types_at(i); i++)
        for (size_t j = 0; in_math_of(problem, gt_types_at(i), &served) && j < context->source_count; j++) {
            gt_reading *reading;
            if (read_source(context, &context->sources[j], &served.class, &reading) == GT_OK)
                least = fmin(least, gt_select_least_bound(&served, &reading->measured));
        }
    if (least <= demands->max_error || !isfinite(least))
        return GT_ERROR_NOT_TUNED;
    gt_problem_name(problem, name);
    return gt_fail(GT_ERROR_UNSUPPORTED, "max_error is %g; the smallest bound of the kernels for %s is %g",
                   demands->max_error, name, least);
}

/* Of all maths of the problem's types, the fastest kernel whose errors are within the bound that is asked for. What keeps one
 * math from being read keeps the others from it too, or would be a slower choice that is remembered. */
static gt_status choose_bounded(gt_context *context, const gt_problem *problem, const gt_demands *demands,
                                gt_chosen **out)
{
    gt_chosen *best = NULL;
    gt_problem served;
    for (size_t i = 0; gt_types_at(i); i++) {
        gt_chosen *chosen = NULL;
        if (!in_math_of(problem, gt_types_at(i), &served))
            continue;
        const gt_status status = choose_among(context, problem, &served, demands, &chosen);
        if (status != GT_OK && !is_of_kernels(status)) {
            gt_choices_discard(&context->choices, best);
            return status;
        }
        const bool better =
            status == GT_OK && (!best || chosen->selection.expected_us < best->selection.expected_us);
        gt_choices_discard(&context->choices, better ? best : chosen);
        if (better)
            best = chosen;
    }
    *out = best;
    if (best)
        return GT_OK;
    const gt_status status = fail_unbounded(context, problem, demands);
    return status == GT_ERROR_NOT_TUNED ? choose_among(context, problem, problem, demands, out) : status;
}

gt_status gt_choose(gt_context *context, const gt_problem *problem, const gt_demands *demands, gt_chosen **out)
{
    gt_chosen *chosen = gt_choices_find(&context->choices, problem, demands);
    if (chosen) {
        *out = chosen;
        return GT_OK;
    }
    gt_status status = demands->max_error > 0 ? choose_bounded(context, problem, demands, &chosen)
                                              : choose_served(context, problem, demands, &chosen);
    if (status == GT_OK && (status = gt_choices_add(&context->choices, chosen)) == GT_OK)
        *out = chosen;
    return status;
}
