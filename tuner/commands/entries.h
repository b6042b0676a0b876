/* The problems of the options, one after the other: each has an entry that a command fills, and then prints. */
#ifndef GT_ENTRIES_H
#define GT_ENTRIES_H

#include "../engine/engine.h"
#include "options.h"

typedef struct gt_entries {
    void *list;    /* of a command's own struct, whose first member is its gt_problem; all else is zero */
    size_t bytes;  /* of one */
    size_t count;
} gt_entries;

/* One entry for each problem of the options. Owned: gt_entries_finish. */
gt_status gt_entries_init(const gt_options_cli *options, size_t bytes, gt_entries *entries);
void gt_entries_finish(gt_entries *entries);

typedef gt_status gt_entry_step(gt_engine *engine, const gt_options_cli *options, void *entry);

/* Takes the step with one entry after the other, with a progress bar, until one fails, the budget is spent or the user
 * interrupts. *done: how many succeeded. */
gt_status gt_entries_run(const gt_entries *entries, gt_engine *engine, const gt_options_cli *options,
                         gt_entry_step *step, size_t *done);

#endif
