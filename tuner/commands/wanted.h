/* What programs asked for under `gemmtune run`. */
#ifndef GT_COMMANDS_WANTED_H
#define GT_COMMANDS_WANTED_H

#include "options.h"

/* The problems that programs asked for on the engine's GPU, of the options' types: for tune --wanted; and their shares of
 * the time. Of the types those are kept that some problem has. What does not fit the GPU's memory any more is left out.
 * Owned: free(). */
gt_status gt_wanted_problems(const gt_engine *engine, gt_options_cli *options, gt_problem **problems, double **shares,
                             size_t *count);

#endif
