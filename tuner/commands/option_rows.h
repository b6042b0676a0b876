/* The tables of commands and options, for the files that fill and read them. */
#ifndef GT_OPTION_ROWS_H
#define GT_OPTION_ROWS_H

#include "options.h"

/* A bit for each command. */
#define TUNE   (1u << GT_COMMAND_TUNE)
#define BEST   (1u << GT_COMMAND_BEST)
#define LADDER (1u << GT_COMMAND_LADDER)
#define BENCH  (1u << GT_COMMAND_BENCH)
#define SPACE  (1u << GT_COMMAND_SPACE)
#define RENDER (1u << GT_COMMAND_RENDER)
#define PROFILE (1u << GT_COMMAND_PROFILE)
#define VERIFY (1u << GT_COMMAND_VERIFY)
#define FORGET (1u << GT_COMMAND_FORGET)
#define DOCTOR (1u << GT_COMMAND_DOCTOR)
#define RUN    (1u << GT_COMMAND_RUN)
#define MERGE  (1u << GT_COMMAND_MERGE)
#define FIT    (1u << GT_COMMAND_FIT)
#define WANTS  (1u << GT_COMMAND_WANTED)
#define WHY    (1u << GT_COMMAND_WHY)
#define REPORT (1u << GT_COMMAND_REPORT)
#define REVALIDATE (1u << GT_COMMAND_REVALIDATE)
#define SLURM  (1u << GT_COMMAND_SLURM)
#define NO_PROBLEMS (DOCTOR | RUN | MERGE | WANTS | REPORT | SLURM) /* those that work on no sizes and types */
#define RUNS   (TUNE | LADDER | BENCH | VERIFY | REVALIDATE) /* those that launch kernels */
#define LISTS  (TUNE | BENCH | VERIFY | BEST | FORGET | FIT | REVALIDATE) /* those that take several types */
#define ALL    ((1u << GT_COMMAND_COUNT) - 1)

/* Each option's place in the table and its bit in the set of those given. */
enum {
    DEVICE, DB, SHAPES, RANDOM, WANTED, TOP, SHARD, TYPE, MATH, LAYOUT, BATCH, ALIGN, FAMILY, KERNEL, EFFORT, BUDGET, TIMEOUT,
    SEED, JOBS, TEMPLATES, NVRTC, ARCH, PARAMS, ALL_ROWS, ROUNDS, CHECKED, UNTUNED, REGRET, ERRORS, TRIALS, SAVE, CAPTURE_ONLY, MARGIN,
    F32, BLAS, DLSYM, NO_CUBLAS, OUTPUT, SHARDS, GPUS, DRY_RUN, JSON, VERBOSE, QUIET, HELP, VERSION,
    OPTION_COUNT,
};

/* Sets what an option says; text is its value. GT_ERROR_INVALID names the option and what it takes. */
gt_status gt_setting_apply(int option, const char *text, gt_options_cli *options);

#endif
