#include "entries.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"
#include "../progress.h"
#include "output.h"

gt_status gt_entries_init(const gt_options_cli *options, size_t bytes, gt_entries *entries)
{
    gt_problem *problems;
    size_t count;
    gt_status status = gt_options_problems(options, &problems, &count);
    if (status != GT_OK)
        return status;
    char *list = calloc(count, bytes);
    if (!list)
        status = gt_fail_memory();
    for (size_t i = 0; list && i < count; i++)
        memcpy(list + i * bytes, &problems[i], sizeof problems[i]);
    free(problems);
    if (list)
        *entries = (gt_entries){.list = list, .bytes = bytes, .count = count};
    return status;
}

void gt_entries_finish(gt_entries *entries)
{
    free(entries->list);
    *entries = (gt_entries){0};
}

gt_status gt_entries_run(const gt_entries *entries, gt_engine *engine, const gt_options_cli *options,
                         gt_entry_step *step, size_t *done)
{
    gt_status status = GT_OK;
    gt_progress *progress = gt_progress_create(options->quiet);
    for (*done = 0; *done < entries->count && !gt_engine_interrupted(); ++*done) {
        if (*done > 0 && options->budget_s > 0 && gt_engine_elapsed(engine) >= options->budget_s)
            break;
        char name[GT_PROBLEM_NAME_LENGTH];
        void *entry = (char *)entries->list + *done * entries->bytes;
        gt_problem_name(entry, name);
        const gt_progress_state state = {.step = (int)*done, .steps = (int)entries->count, .what = name,
                                         .elapsed = gt_engine_elapsed(engine)};
        gt_progress_update(progress, &state);
        if ((status = step(engine, options, entry)) != GT_OK)
            break;
    }
    gt_progress_destroy(progress);
    if (status == GT_OK && *done < entries->count && !gt_engine_interrupted() && !options->quiet)
        gt_print_note("the budget ended before %zu of %zu shapes", entries->count - *done, entries->count);
    return status;
}
