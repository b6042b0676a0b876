/* What bench measures, and how it is printed. */
#ifndef GT_BENCH_H
#define GT_BENCH_H

#include "chosen.h"
#include "options.h"
#include "ratings.h"

/* One shape's race: an entry of entries.h. */
typedef struct gt_bench_race {
    gt_problem problem;
    double share_s; /* of a budget; 0: no limit */
    gt_chosen chosen;
    gt_trial ours;
    gt_trial strict; /* of math other than strict: what strict math would run, in the same race; us is 0 of none */
    gt_baseline baselines[GT_BASELINE_COUNT];
} gt_bench_race;

/* What all races come to. */
typedef struct gt_bench_summary {
    gt_rating ratings[GT_TYPES_MOST][GT_FIGURE_COUNT]; /* by type, in the order of the list */
    int wrong;
    double low_mhz, high_mhz; /* SM clock over all races; 0: not known */
    int fewest, most;         /* algorithms that cuBLASLt tried on a shape; 0: it never raced */
    bool autotuned;           /* cuBLAS's own choice raced somewhere */
    const char *version;      /* cuBLAS's; "" if it did not race */
} gt_bench_summary;

/* The table of all races, the ratings of each type and the machine; then what did not race, or is wrong. limits has
 * what the GPU can do with each of the options' types. */
void gt_bench_print(const gt_engine *engine, const gt_options_cli *options, const gt_limits *limits,
                    const gt_bench_race *races, size_t count, const gt_bench_summary *summary);

#endif
