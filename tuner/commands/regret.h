/* What shapes lose that are searched for normally, or not at all. */
#ifndef GT_REGRET_H
#define GT_REGRET_H

#include "options.h"

/* Tunes the shapes of the options normally, then with every configuration until their share of the budget is spent,
 * both in a scratch database, and races the winners against what the library would take untuned. Prints what each
 * loses; returns an exit code. */
int gt_bench_regret(const gt_options_cli *options);

#endif
