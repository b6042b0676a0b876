/* What results err by. */
#ifndef GT_COMMAND_ACCURACY_H
#define GT_COMMAND_ACCURACY_H

#include "options.h"

/* Prints the errors of the kernels that applications would get for the shapes of the options, on each kind of data,
 * beside those of cuBLAS and what is proved of them; returns an exit code. */
int gt_bench_errors(const gt_options_cli *options);

#endif
